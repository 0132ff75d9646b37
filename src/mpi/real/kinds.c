#include "mpi/real/kinds.h"

#include <string.h>

#include "mpi/real/handles.h"

int tutti_info_asks_device(MPI_Info info)
{
    char kinds[256] = "";
    int flag = 0;
    if (info == tutti_handles.no_info || !tutti_next.MPI_Info_get)
        return 0;
    if (tutti_next.MPI_Info_get(info, "mpi_memory_alloc_kinds", (int)sizeof kinds - 1, kinds, &flag) != MPI_SUCCESS)
        return 0;
    char *rest = NULL;
    for (char *kind = flag ? strtok_r(kinds, ",", &rest) : NULL; kind; kind = strtok_r(NULL, ",", &rest)) {
        char *restrictor = strchr(kind, ':');
        if (restrictor && strcmp(restrictor, ":device") == 0)
            return 1;
    }
    return 0;
}

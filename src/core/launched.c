#include "core/launched.h"

#include <stdlib.h>

int tutti_launched_local_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (int i = 0; i < 3; i++) {
        const char *text = getenv(names[i]);
        char *end;
        const long rank = text ? strtol(text, &end, 10) : -1;
        if (text && end != text && *end == '\0' && rank >= 0)
            return (int)rank;
    }
    return -1;
}

/* Which MPI this is, and what it answers. Questions that may be errors must not end the program: they are asked on a
 * communicator of Tutti's own, which returns them. */
#include <stdlib.h>

#include "core/log.h"
#include "mpi/real/quirks.h"
#include "mpi/real/self.h"

/* Whether the MPI refuses equal send and receive buffers of so many elements. Without MPI_COMM_WORLD, where it raises
 * the error, it is not asked: what it refuses in one version is taken for refused. */
static int refuses_alias(int count)
{
    int words[2] = {0};
    MPI_Errhandler before = tutti_handles.errors_return;
    const int world_too = tutti_quirks.raises_on_world; /* a handler that is set back is as before there */
    if (world_too && tutti_handles.world != MPI_COMM_WORLD)
        return count > 1;
    if (world_too) {
        tutti_next.MPI_Comm_get_errhandler(tutti_handles.world, &before);
        tutti_next.MPI_Comm_set_errhandler(tutti_handles.world, tutti_handles.errors_return);
    }
    int code = tutti_next.MPI_Allreduce(words, words, count, MPI_INT, tutti_handles.sum, tutti_self_quiet());
    if (world_too) {
        tutti_next.MPI_Comm_set_errhandler(tutti_handles.world, before);
        tutti_next.MPI_Errhandler_free(&before);
    }
    return code != MPI_SUCCESS;
}

const struct tutti_quirks *tutti_quirks_row(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
    int length = 0;
    tutti_next.MPI_Get_library_version(version, &length);
    return tutti_quirks_find(TUTTI_INTERFACE, version);
}

void tutti_quirks_open(void)
{
    tutti_quirks = *tutti_quirks_row();
    const char *offload = tutti_quirks.offload_variable ? getenv(tutti_quirks.offload_variable) : NULL;
    tutti_quirks.offloads = offload && atoi(offload) != 0;
    tutti_debug("the MPI is treated as %s", tutti_quirks.mpi);
    if (tutti_quirks.refuses_alias == TUTTI_QUIRK_ASK)
        tutti_quirks.refuses_alias = refuses_alias(1);
    if (tutti_quirks.refuses_alias_allreduce == TUTTI_QUIRK_ASK)
        tutti_quirks.refuses_alias_allreduce = refuses_alias(2);
}

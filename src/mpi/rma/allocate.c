/* MPI_Win_allocate. With the info key mpi_memory_alloc_kinds as MPI_Alloc_mem takes it, on all ranks, the window is one
 * of MPI_Win_create in memory of the device, which is freed with it. Otherwise it is the MPI's, in host memory. */
#include "mpi/move/mover.h"
#include "mpi/real/errors.h"
#include "mpi/real/kinds.h"
#include "mpi/rma/windows.h"

/* Collective: memory on all ranks, or an error on all. An MPI code. */
static int memory_take(MPI_Aint size, MPI_Info info, MPI_Comm comm, void **memory)
{
    int all = 0;
    *memory = NULL;
    const int taken = size == 0 ? MPI_SUCCESS : tutti_door_MPI_Alloc_mem(size, info, memory);
    const int code = tutti_ranks_agree(comm, taken == MPI_SUCCESS, &all);
    if (code == MPI_SUCCESS && all)
        return MPI_SUCCESS;
    if (*memory)
        tutti_door_MPI_Free_mem(*memory);
    return taken != MPI_SUCCESS ? taken : code != MPI_SUCCESS ? code : tutti_fail_comm(comm, MPI_ERR_NO_MEM);
}

/* After the window is made, or not. */
static int memory_keep(void *memory, int code, MPI_Comm comm, MPI_Win *win, void *baseptr)
{
    struct tutti_window *window = code == MPI_SUCCESS ? tutti_window_of(*win) : NULL;
    if (window) {
        window->allocated = 1;
        window->own = memory;
        *(void **)baseptr = memory;
        return code;
    }
    if (code != MPI_SUCCESS && memory)
        tutti_door_MPI_Free_mem(memory);
    return code != MPI_SUCCESS ? code : tutti_fail_comm(comm, tutti_error_code(TUTTI_ERR_MEMORY));
}

#define WIDTHS_OF "mpi/rma/allocate.inc"
#include "mpi/real/widths.inc"

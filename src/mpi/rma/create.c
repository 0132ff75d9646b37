/* MPI_Win_create. All ranks agree whether any brings device memory; a window of host memory alone is the MPI's. A rank
 * with device memory gives the MPI a copy of it in host memory (shadow.c). */
#include "mpi/move/mover.h"
#include "mpi/real/errors.h"
#include "mpi/rma/windows.h"

struct creation {
    int device; /* on some rank */
    struct tutti_shadow *shadow;
    void *base; /* what the MPI is given */
};

/* Collective: the least of what the ranks say. An MPI code. */
static int ranks_agree(MPI_Comm comm, int mine, int *least)
{
    TUTTI_INSIDE();
    return tutti_next.MPI_Allreduce(&mine, least, 1, MPI_INT, tutti_handles.min, comm);
}

/* 1 where all ranks of the communicator ask each other. */
static int ranks_ask(MPI_Comm comm)
{
    int inter = 1;
    if (tutti_inside || tutti_door.aware || !tutti_door.node || comm == tutti_handles.no_comm)
        return 0;
    return tutti_next.MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter &&
           tutti_whose(comm) != TUTTI_OF_OTHERS;
}

/* An MPI code, of an error that has been raised. */
static int creation_begin(struct creation *creation, const char *call, void *base, MPI_Aint size, MPI_Comm comm)
{
    const int device = size > 0 && tutti_must_stage(base);
    int least = 1, status = TUTTI_OK;
    *creation = (struct creation){.base = base};
    if (!ranks_ask(comm)) {
        if (!device)
            return MPI_SUCCESS;
        tutti_refuse(call, "base");
        return tutti_fail_comm(comm, MPI_ERR_BUFFER);
    }
    int code = ranks_agree(comm, !device, &least);
    if (code != MPI_SUCCESS || least)
        return code;
    creation->device = 1;
    if (device && (status = tutti_shadow_open(&creation->shadow, base, (size_t)size)) == TUTTI_OK)
        creation->base = tutti_shadow_memory(creation->shadow);
    code = ranks_agree(comm, status == TUTTI_OK, &least);
    if (code == MPI_SUCCESS && least)
        return MPI_SUCCESS;
    tutti_shadow_close(creation->shadow);
    if (code != MPI_SUCCESS)
        return code;
    if (status == TUTTI_OK) /* another rank's */
        status = TUTTI_ERR_MEMORY;
    tutti_stage_report(call, status);
    return tutti_fail_comm(comm, tutti_error_code(status));
}

/* After the MPI's call. */
static int creation_end(struct creation *creation, const char *call, void *base, MPI_Comm comm, int code, MPI_Win *win)
{
    struct tutti_window *window = NULL;
    if (!creation->device)
        return code;
    if (code == MPI_SUCCESS && (window = tutti_window_of(*win)) != NULL) {
        window->separate = 1;
        window->shadow = creation->shadow;
        window->base = base;
        return MPI_SUCCESS;
    }
    tutti_shadow_close(creation->shadow);
    if (code != MPI_SUCCESS)
        return code;
    tutti_stage_report(call, TUTTI_ERR_MEMORY);
    return tutti_fail_comm(comm, tutti_error_code(TUTTI_ERR_MEMORY));
}

#define WIDTHS_OF "mpi/rma/create.inc"
#include "mpi/real/widths.inc"

/* MPI_Win_create. All ranks agree whether any brings device memory; a window of host memory alone is the MPI's. Where
 * all ranks can map each other's device memory, ranks with device memory give the MPI's window no bytes. Otherwise they
 * give it a copy in host memory (shadow.c). */
#include <limits.h>

#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/move/mover.h"
#include "mpi/real/errors.h"
#include "mpi/rma/mapped.h"
#include "mpi/rma/trial.h"

struct creation {
    int device; /* on some rank */
    struct tutti_mapped *mapped;
    struct tutti_shadow *shadow;
    void *base; /* what the MPI is given */
    MPI_Aint size, unit;
    struct tutti_trial trial; /* while the MPI makes a window of no bytes */
};

int tutti_ranks_agree(MPI_Comm comm, int mine, int *least)
{
    TUTTI_INSIDE();
    return tutti_next.MPI_Allreduce(&mine, least, 1, MPI_INT, tutti_handles.min, comm);
}

static int ranks_may_be_asked(MPI_Comm comm)
{
    int inter = 1;
    return !tutti_inside && !tutti_door.aware && tutti_door.node && comm != tutti_handles.no_comm &&
           tutti_next.MPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

enum tutti_whose tutti_ranks_asked(MPI_Comm comm, int **world, int *n)
{
    *world = NULL;
    return ranks_may_be_asked(comm) ? tutti_whose_ranks(comm, world, n) : TUTTI_OF_OTHERS;
}

int tutti_ranks_ask(MPI_Comm comm)
{
    return ranks_may_be_asked(comm) && tutti_whose(comm) != TUTTI_OF_OTHERS;
}

static int creation_is_alone(const struct creation *creation)
{
    return creation->mapped && !creation->mapped->beside;
}

/* After the MPI's call for a mapped window. An MPI may make no windows of the program's memory on some machines, but
 * those that share memory on all. An MPI code. */
static int mapped_handle(struct creation *creation, MPI_Comm comm, int code, MPI_Win *win)
{
    void *none = NULL;
    TUTTI_INSIDE();
    if (!creation_is_alone(creation))
        return code;
    if (code != MPI_SUCCESS && creation->unit <= INT_MAX)
        code = tutti_next.MPI_Win_allocate_shared(0, (int)creation->unit, tutti_handles.no_info, comm, &none, win);
    tutti_trial_end(&creation->trial, comm);
    return code == MPI_SUCCESS ? code : tutti_fail_comm(comm, code);
}

/* Collective; all ranks take the same way. An MPI code. */
static int mapped_begin(struct creation *creation, int device, MPI_Comm comm)
{
    const struct tutti_mapped_wish wish = {.base = creation->base, .size = creation->size, .unit = creation->unit};
    const char *why = "ranks of several nodes";
    int code = MPI_SUCCESS;
    if (tutti_whose(comm) == TUTTI_OURS)
        code = tutti_mapped_open(&creation->mapped, comm, &wish, &why);
    if (!creation->mapped)
        tutti_info("MPI_Win_create: the window has a copy in host memory: %s", why);
    if (creation->mapped && device) {
        creation->base = NULL;
        creation->size = 0;
    }
    if (creation_is_alone(creation))
        tutti_trial_begin(&creation->trial, comm);
    return code;
}

/* An MPI code, of an error that has been raised. */
static int creation_begin(struct creation *creation, const char *call, void *base, MPI_Aint size, MPI_Aint unit,
                          MPI_Comm comm)
{
    const int device = size > 0 && tutti_must_stage(base);
    int least = 1, status = TUTTI_OK;
    *creation = (struct creation){.base = base, .size = size, .unit = unit};
    if (!tutti_ranks_ask(comm)) {
        if (!device)
            return MPI_SUCCESS;
        tutti_refuse(call, "base");
        return tutti_fail_comm(comm, MPI_ERR_BUFFER);
    }
    int code = tutti_ranks_agree(comm, !device, &least);
    if (code != MPI_SUCCESS || least)
        return code;
    creation->device = 1;
    code = mapped_begin(creation, device, comm);
    if (code != MPI_SUCCESS || creation->mapped)
        return code;
    if (device && (status = tutti_shadow_open(&creation->shadow, base, (size_t)size)) == TUTTI_OK)
        creation->base = tutti_shadow_memory(creation->shadow);
    code = tutti_ranks_agree(comm, status == TUTTI_OK, &least);
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
static int creation_end(struct creation *creation, const char *call, void *base, MPI_Aint size, MPI_Comm comm, int code,
                        MPI_Win *win)
{
    struct tutti_window *window = NULL;
    if (!creation->device)
        return code;
    if (creation->mapped)
        code = mapped_handle(creation, comm, code, win);
    if (code == MPI_SUCCESS && (window = tutti_window_of(*win)) != NULL) {
        window->separate = !creation->mapped;
        window->shadow = creation->shadow;
        window->mapped = creation->mapped;
        window->base = base;
        window->size = size;
        return MPI_SUCCESS;
    }
    tutti_mapped_close(creation->mapped);
    tutti_shadow_close(creation->shadow);
    if (code != MPI_SUCCESS)
        return code;
    tutti_stage_report(call, TUTTI_ERR_MEMORY);
    return tutti_fail_comm(comm, tutti_error_code(TUTTI_ERR_MEMORY));
}

#define WIDTHS_OF "mpi/rma/create.inc"
#include "mpi/real/widths.inc"

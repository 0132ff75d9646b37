/* MPI_Allreduce: what Tutti can reduce goes to coll/, the rest to the MPI. */
#include "core/log.h"
#include "mpi/stage.h"

static const char *not_reducible(const struct tutti_type_row *type, int operation)
{
    if (operation == TUTTI_OP_NONE)
        return "user-defined operator";
    return type ? "operator and type do not go together" : "type without kernels";
}

/* What this rank brings. Managed memory counts as device memory: kernels reach it. */
static void look_at_buffers(struct tutti_reduce *call)
{
    struct tutti_memory in, out;
    tutti_door.device->classify(call->out, &out);
    if (out.kind != TUTTI_MEMORY_DEVICE && out.kind != TUTTI_MEMORY_MANAGED)
        return;
    if (call->in == call->out)
        in = out;
    else
        tutti_door.device->classify(call->in, &in);
    if (in.kind != TUTTI_MEMORY_DEVICE && in.kind != TUTTI_MEMORY_MANAGED)
        return;
    if (in.gpu >= 0 && out.gpu >= 0 && in.gpu != out.gpu)
        return;
    call->kind = TUTTI_ARRIVAL_DEVICE;
    call->gpu = in.gpu >= 0 ? in.gpu : out.gpu;
}

/* 1 while this process cannot have memory of the device. */
static inline int host_memory_only(void)
{
    return !tutti_door.device || !tutti_door.device->active();
}

/* What tutti_collective() does for a rank with host memory, in short: a program without device memory is to notice
 * nothing. 0: the team wants the long way. */
static inline int announce(struct tutti_team *team, int type, int operation, uint64_t count)
{
    if (team->size == 1)
        return 1;
    if (unlikely(!team->whole || team->state == TUTTI_TEAM_BROKEN))
        return 0;
    tutti_team_announce(team, TUTTI_COLLECTIVE_ALLREDUCE, type, operation, count);
    return 1;
}

#define WIDTHS_OF "mpi/allreduce.inc"
#include "mpi/widths.inc"

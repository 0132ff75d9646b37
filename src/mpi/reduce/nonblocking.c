/* Starting nonblocking reductions. */
#include "mpi/reduce/nonblocking.h"

#include <stdatomic.h>

#include "core/log.h"
#include "mpi/comm/comms.h"
#include "mpi/real/collective_args.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/reduce/host_path.h"

static void nonblocking_announce(const struct tutti_read *read)
{
    struct tutti_team *nonblocking = read->team->nonblocking;
    const struct tutti_call *call = &read->call;
    if (!nonblocking || nonblocking->size == 1 || !nonblocking->slot[nonblocking->rank])
        return;
    if (nonblocking->state == TUTTI_TEAM_BROKEN) {
        tutti_team_leave(nonblocking);
        return;
    }
    tutti_team_announce(nonblocking, call->collective, call->type, call->op, call->count,
                        tutti_detail(call->collective, call->root, call->counts, nonblocking->size));
}

/* Announces to the peers that this rank gives the call to the MPI. */
static void announce_host(const struct tutti_reduction_args *args, const struct tutti_read *read)
{
    struct tutti_comm *state = tutti_comm_find(args->comm);
    const int early = read->early && state;
    if (unlikely(early))
        tutti_comm_hold(state);
    nonblocking_announce(read);
    if (unlikely(early))
        tutti_comm_unlend(state);
}

/* 1 if the MPI can make the call at once: this rank has no device memory in it, and the communicator has no earlier
 * call that may still go to the MPI. *over: the turn of a call over several nodes, if it has been taken. */
static int nonblocking_simple(const struct tutti_reduction_args *args, struct tutti_read *read,
                              enum tutti_reading reading, struct tutti_over_nodes_call *over)
{
    struct tutti_comm *state = tutti_comm_find(args->comm);
    if (state && atomic_load_explicit(&state->queued, memory_order_acquire) > 0)
        return 0;
    if (reading == TUTTI_READ_TEAM && tutti_over_nodes_concerns(state, &read->call, 1) &&
        !tutti_over_nodes_turn(state, &read->call, over))
        return 0;
    switch (reading) {
    case TUTTI_READ_UNTOUCHED:
        return 1;
    case TUTTI_READ_STAGED:
        return tutti_host_only() || (!tutti_needs_staging(args->sendbuf, args->datatype) &&
                                     !tutti_needs_staging(args->recvbuf, args->datatype));
    case TUTTI_READ_TEAM:
        if (read->call.kind != TUTTI_ARRIVAL_HOST || !read->call.host_ok)
            return 0;
        return tutti_host_only() || tutti_door.aware || tutti_reduction_on_host(&read->there);
    default:
        return 0;
    }
}

/* For a call that makes a persistent request. */
static int tutti_init_is_refused(const struct tutti_reduction_args *args)
{
    return unlikely(tutti_alias_of_call_is_refused(args)) ||
           (unlikely(!tutti_type_find(args->datatype)) && !tutti_type_is_fine(args->datatype));
}

/* A call that the short path takes: 1, and it has been announced. Its communicator has no earlier call that may still
 * go to the MPI. */
static inline int host_announced(const struct tutti_reduction_args *args)
{
    const struct tutti_comm *state = tutti_comm_find(args->comm);
    struct tutti_announced announced;
    int type, operation;
    if (args->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER || args->count <= 0 || !state || state->over_nodes ||
        atomic_load_explicit(&state->queued, memory_order_acquire) > 0)
        return 0;
    struct tutti_team *team = tutti_host_team(args->datatype, args->op, args->comm, &type, &operation);
    if (!team || !team->nonblocking ||
        !tutti_host_elements_fine(args->collective, team, args->sendbuf, args->recvbuf, args->count, args->root,
                                  &announced))
        return 0;
    if (team->size > 1 && unlikely(team->nonblocking->state == TUTTI_TEAM_BROKEN))
        return 0;
    tutti_reduction_announce(team->nonblocking, args->collective, type, operation, &announced);
    tutti_count(args->name, TUTTI_OUTCOME_PASSED, "host memory");
    return 1;
}

static int nonblocking_begin(struct tutti_open_call *open, MPI_Request *request)
{
    *request = open->request;
    tutti_open_call_start(open);
    return MPI_SUCCESS;
}

/* The whole call, from reading to the error handler. Does not wait for other ranks. */
static int reduce_nonblocking(const struct tutti_reduction_args *args, MPI_Request *request)
{
    struct tutti_read read;
    struct tutti_over_nodes_call over = {.at = TUTTI_OVER_NODES_NEW};
    struct tutti_open_call *open;
    if (args->comm == tutti_handles.no_comm || !request || unlikely(tutti_alias_of_call_is_refused(args)))
        return tutti_ireduction_real(args, args->sendbuf, args->recvbuf, request);
    if (likely(!tutti_progress_busy()) && likely(host_announced(args))) {
        TUTTI_INSIDE();
        return tutti_ireduction_real(args, args->sendbuf, args->recvbuf, request);
    }
    tutti_progress_poll();
    if ((open = tutti_open_call_again(tutti_comm_find(args->comm), args, NULL)) != NULL)
        return nonblocking_begin(open, request);
    TUTTI_FOUND_OF(args->sendbuf == MPI_IN_PLACE ? NULL : args->sendbuf, args->recvbuf);
    enum tutti_reading reading = tutti_read_nonblocking(args, &read);
    if (reading == TUTTI_READ_FAILED) {
        tutti_read_end(&read);
        return tutti_fail_comm(args->comm, tutti_error_code(read.status));
    }
    if (likely(nonblocking_simple(args, &read, reading, &over))) {
        if (reading == TUTTI_READ_TEAM) {
            announce_host(args, &read);
            tutti_count(args->name, TUTTI_OUTCOME_PASSED, "host memory");
        } else if (reading == TUTTI_READ_STAGED) {
            tutti_count(args->name, TUTTI_OUTCOME_PASSED, read.why);
        }
        tutti_read_end(&read);
        TUTTI_INSIDE();
        return tutti_ireduction_real(args, args->sendbuf, args->recvbuf, request);
    }
    tutti_read_end(&read);
    if (!(open = tutti_open_call_new(args, 0))) {
        tutti_error("%s: out of memory", args->name);
        return tutti_fail_comm(args->comm, MPI_ERR_NO_MEM);
    }
    open->over_nodes = over;
    return nonblocking_begin(open, request);
}

#define WIDTHS_OF "mpi/reduce/nonblocking.inc"
#include "mpi/real/widths.inc"

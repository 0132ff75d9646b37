/* Nonblocking and persistent collectives that move data, if the ranks of a node can make them without the MPI: jobs
 * of the communicator's worker, in one order with its nonblocking reductions. Every rank announces every such call
 * to the nonblocking team, so all ranks know whether all can take part. If one cannot, the MPI makes the call on all
 * ranks. */
#include <stdatomic.h>

#include "coll/move.h"
#include "core/log.h"
#include "mpi/comm/clone.h"
#include "mpi/comm/hints.h"
#include "mpi/move/mover.h"
#include "mpi/move/mover_job.h"
#include "mpi/move/nodes_job.h"
#include "mpi/move/pattern.h"
#include "mpi/real/collective_args.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/deferred_call.h"
#include "mpi/reduce/nonblocking.h"

/* ---- in the list of open calls ---- */

/* Gives the call to the MPI, staged. */
static int moves_start(struct tutti_deferred_call *later)
{
    const int depth = tutti_inside; /* staging ignores calls that the MPI itself makes */
    tutti_deferred_call_starting++;
    tutti_inside = 0;
    const int code = tutti_collective_staged(&later->args, later->reason, later->request, &later->exchange);
    tutti_inside = depth;
    tutti_deferred_call_starting--;
    return code;
}

/* The MPI's call has ended. */
static int moves_finish(struct tutti_deferred_call *later, int code)
{
    struct tutti_exchange *exchange = later->exchange;
    later->exchange = NULL;
    return tutti_collective_staged_end(exchange, code);
}

static void moves_end(struct tutti_deferred_call *later)
{
    tutti_mover_job_close(later->job);
    tutti_nodes_job_close(later->nodes);
    tutti_deferred_call_free(later);
}

/* 0: there is no memory for it. */
static int moves_give(struct tutti_open_call *open, struct tutti_team *team)
{
    struct tutti_comm *const state = open->state;
    struct tutti_deferred_call *const later = open->later;
    if (open->repeats)
        tutti_mover_job_again(later->job, team);
    else if (!later->job)
        later->job = tutti_mover_job_open(&later->args, team, 0);
    if (later->job && open->persistent) /* the ranks have agreed when the request was made */
        tutti_mover_job_join(later->job);
    if (later->job && !state->worker)
        state->worker = tutti_worker_new();
    return later->job && state->worker && tutti_mover_job_give(later->job, state->worker) == TUTTI_OK;
}

static enum tutti_open_call_phase moves_read(struct tutti_open_call *open, int *status)
{
    struct tutti_deferred_call *later = open->later;
    struct tutti_team *team = open->state ? tutti_mover_team_nonblocking(open->state) : TUTTI_NONE(COMM);
    if (open->persistent && !open->repeats) {
        tutti_mover_job_close(later->job); /* of the previous start */
        later->job = NULL;
    }
    *status = TUTTI_OK;
    if (later->made) {
        open->code = later->code;
        return TUTTI_OPEN_DONE;
    }
    if (later->counted && tutti_over_nodes_moves(open->state))
        return TUTTI_OPEN_NODES;
    if (!team) {
        later->reason = tutti_why_take(TUTTI_REASON_COMM);
        return TUTTI_OPEN_PASSED;
    }
    if (!open->state->calls.gives_up && moves_give(open, team))
        return TUTTI_OPEN_WORKING;
    later->reason = TUTTI_REASON_MEMORY;
    return tutti_open_call_give_up(open);
}

static int moves_done(const struct tutti_open_call *open)
{
    return tutti_mover_job_done(open->later->job);
}

static enum tutti_open_call_phase moves_ended(struct tutti_open_call *open, int *code)
{
    return tutti_mover_job_result(open->later->job, code, &open->later->reason) ? TUTTI_OPEN_DONE : TUTTI_OPEN_PASSED;
}

/* Over several nodes. */
static enum tutti_open_call_phase moves_over_nodes(struct tutti_open_call *open, int *code)
{
    struct tutti_deferred_call *later = open->later;
    if (!later->nodes && !(later->nodes = tutti_nodes_job_open(&later->args, open->state))) {
        *code = tutti_error_code(TUTTI_ERR_MEMORY);
        return TUTTI_OPEN_DONE;
    }
    const int done = tutti_nodes_job_poll(later->nodes, open->state, &open->over_nodes, code);
    if (done == 0)
        return TUTTI_OPEN_NODES;
    tutti_nodes_job_close(later->nodes);
    later->nodes = NULL;
    (void)tutti_mover_team_nonblocking(open->state);
    later->reason = tutti_why_take(TUTTI_REASON_COMM);
    return done > 0 ? TUTTI_OPEN_DONE : TUTTI_OPEN_PASSED;
}

static const struct tutti_open_call_work moves_work = {
    .read = moves_read, .over_nodes = moves_over_nodes, .done = moves_done, .ended = moves_ended};

/* NULL without memory. The call holds all objects that it names. */
static struct tutti_deferred_call *moves_later(const struct tutti_collective_args *args)
{
    struct tutti_deferred_call *later = tutti_deferred_call_new(args->name, moves_start);
    if (!later)
        return NULL;
    later->args = *args;
    later->end = moves_end;
    later->finish = moves_finish;
    later->work = &moves_work;
    if (tutti_deferred_call_hold(later))
        return later;
    moves_end(later);
    return NULL;
}

/* ---- nonblocking calls ---- */

/* 1 if no call of the communicator is open before this one: then `*team` is the team in which its ranks meet, or
 * NULL with the reason. */
static int moves_is_first(const struct tutti_comm *state, struct tutti_team **team)
{
    *team = NULL;
    if (atomic_load_explicit(&((struct tutti_comm *)(uintptr_t)state)->queued, memory_order_acquire) > 0)
        return 0;
    if (atomic_load_explicit(&state->opening, memory_order_acquire))
        return 0;
    *team = tutti_mover_team_nonblocking(state);
    return 1;
}

static void moves_announce(struct tutti_team *team, enum tutti_collective collective, int root)
{
    if (!team || !team->slot[team->rank])
        return;
    if (team->state == TUTTI_TEAM_BROKEN)
        tutti_team_leave(team);
    else
        tutti_team_announce(team, collective, 0, 0, 0, (uint64_t)(unsigned)root);
}

/* For a rank that has no device memory. 1: the call is announced if peers read it, and goes to the MPI; 0: the call
 * must wait for its turn. */
static int moves_pass_new(enum tutti_collective collective, int root, MPI_Comm comm)
{
    struct tutti_comm *state = tutti_comm_find(comm);
    struct tutti_team *team, *early = NULL;
    if (!state && !(state = tutti_comm_begin(comm)))
        return 1;
    if (atomic_load_explicit(&state->queued, memory_order_acquire) > 0)
        return 0;
    if (state->opening && !tutti_comm_ready(state, 0) && (early = tutti_comm_early(state)) != NULL) {
        tutti_comm_hold(state);
        if (early->size > 1)
            moves_announce(early->nonblocking, collective, root);
        tutti_comm_unlend(state);
        return 1;
    }
    if (!moves_is_first(state, &team))
        return 0;
    moves_announce(team, collective, root);
    return 1;
}

static inline int moves_pass(enum tutti_collective collective, int root, MPI_Comm comm)
{
    if (likely(!tutti_endpoint_everywhere) || unlikely(tutti_inside))
        return 1;
    const struct tutti_comm *state = tutti_comm_find(comm);
    if (unlikely(!state || state->opening ||
                 atomic_load_explicit(&((struct tutti_comm *)(uintptr_t)state)->queued, memory_order_acquire) > 0))
        return moves_pass_new(collective, root, comm);
    const struct tutti_team *team = state->team;
    if (team && team->size > 1 && team->whole)
        moves_announce(team->nonblocking, collective, root);
    return 1;
}

static int moves_no_memory(const struct tutti_collective_args *args)
{
    tutti_error("%s: out of memory", args->name);
    return tutti_fail_comm(args->comm, MPI_ERR_NO_MEM);
}

/* An entry of the list of open calls, which is not in the list yet; NULL without memory. */
static struct tutti_open_call *moves_open(const struct tutti_collective_args *args)
{
    struct tutti_deferred_call *later = moves_later(args);
    struct tutti_open_call *open = later ? tutti_deferred_call_open(later, args->comm, 0) : NULL;
    if (later && !open)
        moves_end(later);
    return open;
}

/* Puts the call into the list of open calls. 0: there was no memory for the entry. */
static int moves_begin(struct tutti_open_call *open, MPI_Request *request)
{
    if (!open)
        return 0;
    *request = open->request;
    tutti_open_call_start(open);
    return 1;
}

/* A call on a communicator of one rank, and its entry. */
struct moves_alone {
    const struct tutti_collective_args *args;
    struct tutti_open_call *open; /* NULL: not taken, or there was no memory */
};

static int moves_alone_ready(void *with)
{
    struct moves_alone *alone = with;
    return (alone->open = moves_open(alone->args)) ? 1 : TUTTI_NO(MEMORY);
}

/* No rank is waited for, so the call is made at once: on a communicator of one rank, if no call of it is open. Such
 * calls get a request that is complete. Without memory the MPI makes the call. */
static int moves_without_team(const struct tutti_collective_args *args, const struct tutti_comm *state,
                              MPI_Request *request)
{
    struct moves_alone alone = {.args = args};
    int code;
    const int made = tutti_mover_run_alone(args, state, moves_alone_ready, &alone, &code);
    if (!alone.open)
        return tutti_collective_nonblocking(args, request);
    alone.open->later->made = made;
    alone.open->later->code = code;
    (void)moves_begin(alone.open, request);
    return MPI_SUCCESS;
}

/* The first call of a communicator is described now: 1, and it has begun. 0: this rank cannot take part, which it has
 * announced, and the reason is set. */
static int moves_first(const struct tutti_collective_args *args, struct tutti_team *team, MPI_Request *request)
{
    struct tutti_deferred_call *const later = moves_later(args);
    struct tutti_mover_job *const job = later ? tutti_mover_job_open(&later->args, team, 1) : NULL;
    if (job) {
        later->job = job;
        if (tutti_mover_job_able(job) && moves_begin(tutti_deferred_call_open(later, args->comm, 0), request))
            return 1;
        tutti_mover_job_decline(job);
    } else {
        moves_announce(team, args->collective, args->root);
        tutti_why_set(TUTTI_REASON_MEMORY);
    }
    if (later)
        moves_end(later);
    return 0;
}

static int moves_nonblocking(const struct tutti_collective_args *args, MPI_Request *request)
{
    struct tutti_comm *state;
    struct tutti_team *team;
    if (!tutti_endpoint_everywhere || args->comm == tutti_handles.no_comm || !request) {
        tutti_why_set(tutti_endpoint ? TUTTI_REASON_APART : tutti_endpoints_why(tutti_handles.no_comm, -1));
        return tutti_collective_nonblocking(args, request);
    }
    tutti_progress_poll();
    state = tutti_comm_find(args->comm);
    if (moves_begin(tutti_open_call_again(state, NULL, args), request))
        return MPI_SUCCESS;
    TUTTI_FOUND_OF(tutti_buffer_own(&args->in), tutti_buffer_own(&args->out));
    if (!state && !(state = tutti_comm_begin(args->comm)))
        return tutti_collective_nonblocking(args, request);
    if (unlikely(state->opening))
        tutti_comm_ready(state, 0);
    if (!moves_is_first(state, &team)) /* it cannot be announced now */
        return moves_begin(moves_open(args), request) ? MPI_SUCCESS : moves_no_memory(args);
    if (!team)
        return moves_without_team(args, state, request);
    if (tutti_mover_on_host(args) && !tutti_move_is_asked(team, args->collective)) {
        moves_announce(team, args->collective, args->root);
        return tutti_collective_real(args, TUTTI_NONBLOCKING, tutti_handles.no_info, request); /* nothing is staged */
    }
    return moves_first(args, team, request) ? MPI_SUCCESS : tutti_collective_nonblocking(args, request);
}

/* A call that all ranks of a communicator over several nodes count, of any memory. 1: it is started, or has failed,
 * with *code; 0: the MPI makes it. */
static int moves_counted(const struct tutti_collective_args *args, MPI_Request *request, int *code)
{
    struct tutti_comm *state = tutti_comm_find(args->comm);
    struct tutti_over_nodes_call over = {.at = TUTTI_OVER_NODES_NEW};
    struct tutti_open_call *open;
    struct tutti_call call;
    if (!request || !tutti_nodes_job_counts(args, state, &call))
        return 0;
    tutti_progress_poll();
    if (atomic_load_explicit(&state->queued, memory_order_acquire) == 0 && tutti_over_nodes_turn(state, &call, &over))
        return 0;
    if (!(open = moves_open(args))) {
        *code = moves_no_memory(args);
        return 1;
    }
    open->later->counted = 1;
    open->over_nodes = over;
    *code = MPI_SUCCESS;
    return moves_begin(open, request);
}

/* ---- persistent calls ----
 *
 * The buffers of a persistent call stay the same. So its ranks agree once, when it is made, whether Tutti or the MPI
 * makes it. If all ranks can take part, the request has a communicator of its own, over which every start makes the
 * nonblocking call: requests of one communicator may be started in any order. */

/* 1 if all ranks can take part; 0: the reason is set. */
static int moves_agree(const struct tutti_collective_args *args, int *code)
{
    uint32_t able = 0;
    int status = tutti_mover_agree(args, &able);
    *code = status == TUTTI_OK ? MPI_SUCCESS : tutti_fail_comm(args->comm, tutti_error_code(status));
    return status == TUTTI_OK && able != 0;
}

static int moves_make(const struct tutti_collective_args *args, int counted, MPI_Request *request)
{
    MPI_Comm own;
    struct tutti_deferred_call *later = moves_later(args);
    int code = tutti_comm_clone(args->comm, tutti_pattern_has_neighbours(args->collective), &own);
    if (code == MPI_SUCCESS) {
        tutti_next.MPI_Comm_set_errhandler(own, tutti_handles.errors_return);
        tutti_comm_hints_copy(args->comm, own);
        tutti_comm_make(own);
        if (later && tutti_deferred_call_persistent(later, own, args->comm, request)) {
            later->args.comm = own;
            later->counted = counted;
            return MPI_SUCCESS;
        }
        tutti_next.MPI_Comm_free(&own);
        code = moves_no_memory(args);
    }
    if (later)
        moves_end(later);
    return code;
}

static int moves_persistent(const struct tutti_collective_args *args, MPI_Info info, MPI_Request *request)
{
    int code = MPI_SUCCESS;
    if (args->comm == tutti_handles.no_comm || !request)
        return tutti_collective_persistent(args, info, request);
    if (!moves_agree(args, &code))
        return code == MPI_SUCCESS ? tutti_collective_persistent(args, info, request) : code;
    TUTTI_INSIDE();
    return moves_make(args, 0, request);
}

/* As moves_counted(): each start may go over nodes, on the communicator of the request. */
static int moves_counted_persistent(const struct tutti_collective_args *args, MPI_Request *request, int *code)
{
    struct tutti_call call;
    if (!request || !tutti_nodes_job_counts(args, tutti_comm_find(args->comm), &call))
        return 0;
    TUTTI_INSIDE();
    *code = moves_make(args, 1, request);
    return 1;
}

/* ---- the calls ---- */

#define WIDTHS_OF "mpi/reduce/moves.inc"
#include "mpi/real/widths.inc"

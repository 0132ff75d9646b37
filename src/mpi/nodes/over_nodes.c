#include "mpi/nodes/own.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/phases.h"
#include "core/settings.h"
#include "core/status.h"
#include "mpi/comm/starting.h"
#include "mpi/comm/streams.h"
#include "mpi/message/endpoints.h"
#include "mpi/message/far.h"
#include "mpi/real/errors.h"
#include "progress/engine.h"

struct tutti_over_nodes *tutti_over_nodes_new(int ranks)
{
    struct tutti_over_nodes *over = calloc(1, sizeof *over);
    if (over && !(over->nodes = tutti_nodes_new(ranks))) {
        free(over);
        return NULL;
    }
    return over;
}

void tutti_over_nodes_free(struct tutti_over_nodes *over)
{
    if (!over)
        return;
    const int alive = tutti_device_active(tutti_door.device);
    tutti_nodes_free(over->nodes, alive);
    tutti_carry_free(over->carry, alive);
    if (!over->failed)
        free(over);
}

/* A nonblocking call needs its ranks' progress also while they are in blocking calls of the MPI. */
int tutti_over_nodes_concerns(const struct tutti_comm *comm, const struct tutti_call *call, int nonblocking)
{
    return (!nonblocking || tutti_far_progresses) && comm && comm->team && comm->team->size > 1 && !comm->team->whole &&
           comm->over_nodes && tutti_nodes_knows(call->collective);
}

/* ---- steps that both forms share ---- */

static const char *why_not(const struct tutti_call *call)
{
    return call->kind == TUTTI_ARRIVAL_DEVICE ? TUTTI_REASON_TEXT(NODES) : TUTTI_REASON_TEXT(HOST_MEMORY);
}

/* By the rules, for a call whose ranks have agreed; bytes: of the largest block of any rank. */
static int over_nodes_takes(const struct tutti_over_nodes *over, const struct tutti_call *call, uint64_t bytes)
{
    struct tutti_call move = *call;
    move.count = bytes;
    return tutti_nodes_knows(call->collective) ? tutti_nodes_takes(over->nodes, call)
                                               : tutti_carry_takes(over->rules, &move);
}

/* What the words have said: 1 if the call may be taken. Then the hierarchy is begun. */
static int after_agreement(struct tutti_comm *comm, const struct tutti_call *call)
{
    int rules;
    uint64_t bytes;
    if (!tutti_nodes_said(call, comm->over_nodes->words, &rules, &bytes)) {
        tutti_nodes_agreed(&comm->over_nodes->kinds, call, 0, bytes);
        return 0;
    }
    tutti_comm_hierarchy_begin(comm);
    return 1;
}

/* The hierarchy has been made, or cannot be: 1 if the call is taken. */
static int after_opening(struct tutti_comm *comm, const struct tutti_call *call)
{
    struct tutti_over_nodes *over = comm->over_nodes;
    int rules;
    uint64_t bytes;
    (void)tutti_nodes_said(call, over->words, &rules, &bytes);
    if (comm->hierarchy && !over->over) {
        tutti_nodes_over(over->nodes, comm->hierarchy, rules);
        over->rules = rules;
        over->over = 1;
    }
    const int taken = comm->hierarchy && over_nodes_takes(over, call, bytes);
    tutti_nodes_agreed(&over->kinds, call, taken, bytes);
    return taken;
}

/* A rank with host memory waits as long as the MPI's own call would. */
static long limit_of(const struct tutti_call *call)
{
    return call->kind == TUTTI_ARRIVAL_DEVICE ? tutti_settings()->timeout_seconds : 0;
}

static int agreement_fails(struct tutti_comm *comm, const char *name, int status)
{
    tutti_error("rank %d: not all ranks of %s have started %s, in which they agree on its algorithm: %s",
                comm->transport.base.rank, comm->transport.base.label, name, tutti_status_text(status));
    return comm->over_nodes->failed = status;
}

static int over_nodes_is_made(void *with)
{
    struct tutti_comm *comm = with;
    return tutti_comm_hierarchy(comm) || !comm->hierarchy_opening;
}

const struct tutti_nodes_moves *tutti_over_nodes_moves_of(struct tutti_comm *comm, const char *name)
{
    struct tutti_over_nodes *over = comm->over_nodes;
    struct tutti_p2p_worker *const blocking = &over->moves.blocking;
    over->moves.name = name;
    *blocking = (struct tutti_p2p_worker){.endpoint = tutti_endpoint_everywhere ? tutti_endpoint : NULL,
                                          .node = tutti_p2p.node,
                                          .transport = tutti_p2p.transport,
                                          .pipelined = tutti_p2p.pipelined};
    over->moves.nonblocking = *blocking;
    if (tutti_p2p.transport) {
        tutti_deferred_over(&over->transport, tutti_p2p.transport);
        over->moves.nonblocking.transport = &over->transport.base;
    }
    return &over->moves;
}

/* ---- blocking ---- */

static int none_queued(void *with)
{
    struct tutti_comm *comm = with;
    return atomic_load_explicit(&comm->queued, memory_order_acquire) == 0;
}

static int is_agreed(void *with)
{
    struct tutti_comm *comm = with;
    struct tutti_transport *transport = &comm->transport.base;
    int done = 0;
    const int status = transport->ops->pending_test(transport, &comm->over_nodes->pending, &done);
    return status != TUTTI_OK ? status : done;
}

int tutti_over_nodes_agree(struct tutti_comm *comm, const struct tutti_call *call, uint64_t bytes, const char *name)
{
    struct tutti_transport *transport = &comm->transport.base;
    struct tutti_over_nodes *of = comm->over_nodes;
    char what[160];
    tutti_phase(TUTTI_PHASE_MPI);
    tutti_nodes_words(call, bytes, of->words);
    int status = transport->ops->iallreduce(transport, of->words, TUTTI_NODES_WORDS, TUTTI_COMBINE_MIN, &of->pending);
    snprintf(what, sizeof what, "not all ranks of %s have started %s, in which they agree on its algorithm",
             transport->label, name);
    struct tutti_wait wait = {.done = is_agreed, .with = comm, .what = what, .seconds = limit_of(call), .watched = 1};
    if (status == TUTTI_OK)
        status = tutti_progress_wait(&wait);
    if (status != TUTTI_OK)
        return agreement_fails(comm, name, status);
    if (!after_agreement(comm, call))
        return 0;
    wait.done = over_nodes_is_made;
    wait.what = "for the ranks of a communicator over several nodes";
    status = tutti_progress_wait(&wait);
    return status != TUTTI_OK ? status : after_opening(comm, call);
}

int tutti_over_nodes_await(struct tutti_comm *comm)
{
    int status = TUTTI_OK;
    if (!none_queued(comm))
        status = tutti_progress_wait(&(const struct tutti_wait){.done = none_queued, .with = comm, .watched = 1});
    return status == TUTTI_OK ? comm->over_nodes->failed : status;
}

/* 1: Tutti has made the call, *status and *why are set; 0: the MPI makes it, for the reason *why. */
static int over_nodes_run(struct tutti_comm *comm, const struct tutti_call *call, const char *name, int *status,
                          const char **why)
{
    TUTTI_INSIDE();
    *status = tutti_over_nodes_await(comm);
    if (*status == TUTTI_OK && unlikely(comm->stream) && call->kind == TUTTI_ARRIVAL_DEVICE)
        *status = tutti_comm_stream_await(comm);
    if (*status != TUTTI_OK)
        return 1;
    comm->over_nodes->kinds.nonblocking = 0;
    const enum tutti_nodes_turn turn = tutti_nodes_turn(&comm->over_nodes->kinds, call);
    const int taken =
        turn == TUTTI_NODES_AGREE ? tutti_over_nodes_agree(comm, call, 0, name) : turn == TUTTI_NODES_TAKEN;
    if (taken == 0) {
        *why = why_not(call);
        return 0;
    }
    *status =
        taken < 0 ? taken : tutti_nodes_run(comm->over_nodes->nodes, call, tutti_over_nodes_moves_of(comm, name), why);
    if (*status != TUTTI_OK)
        comm->over_nodes->failed = *status;
    return 1;
}

int tutti_over_nodes_or_team(MPI_Comm handle, struct tutti_team *team, const struct tutti_call *call, const char *name,
                             enum tutti_reduce_outcome *taken, const char **why)
{
    struct tutti_comm *comm = tutti_comm_find(handle);
    int status;
    if (likely(!tutti_over_nodes_concerns(comm, call, 0)))
        return tutti_reduce_run(team, call, taken, why);
    *taken = TUTTI_REDUCE_DONE;
    tutti_phase_begin(name);
    const int made = over_nodes_run(comm, call, name, &status, why);
    tutti_phase_end();
    if (made)
        return status;
    *taken = TUTTI_REDUCE_DECLINED;
    return call->host_ok ? TUTTI_OK : tutti_reduce_run(team, call, taken, why);
}

/* ---- nonblocking ---- */

int tutti_over_nodes_turn(struct tutti_comm *comm, const struct tutti_call *call, struct tutti_over_nodes_call *over)
{
    over->at = TUTTI_OVER_NODES_TURN;
    comm->over_nodes->kinds.nonblocking = 1;
    over->turn = tutti_over_nodes_move_left(comm->over_nodes, call) ? TUTTI_NODES_TO_MPI
                                                                    : tutti_nodes_turn(&comm->over_nodes->kinds, call);
    return over->turn == TUTTI_NODES_TO_MPI;
}

static int start_call(struct tutti_comm *comm, const struct tutti_call *call, struct tutti_over_nodes_call *over,
                      const char *name)
{
    if (!comm->worker && !(comm->worker = tutti_worker_new()))
        return TUTTI_ERR_MEMORY;
    (void)tutti_over_nodes_moves_of(comm, name);
    if (!tutti_nodes_knows(call->collective))
        return tutti_over_nodes_move_begin(comm, call, over);
    over->call = tutti_nodes_begin(comm->over_nodes->nodes, call, &comm->over_nodes->moves, comm->worker);
    over->at = TUTTI_OVER_NODES_RUNS;
    return over->call ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* A nonblocking call that agrees, or waits for the hierarchy. A status. */
static int over_nodes_look_at_time(struct tutti_comm *comm, const struct tutti_call *call,
                                   const struct tutti_over_nodes_call *over, const char *name)
{
    const long limit = limit_of(call);
    if (limit == 0 || tutti_now_ns() - over->since <= (uint64_t)limit * UINT64_C(1000000000))
        return TUTTI_OK;
    return agreement_fails(comm, name, TUTTI_ERR_TIMEOUT);
}

/* As far as it goes now; 0, 1 to go on with the call, -1: the MPI makes it. */
static int over_nodes_decide(struct tutti_comm *comm, const struct tutti_call *call, struct tutti_over_nodes_call *over,
                             const char *name, int *status)
{
    struct tutti_transport *transport = &comm->transport.base;
    struct tutti_over_nodes *of = comm->over_nodes;
    int done = 0;
    if (over->at == TUTTI_OVER_NODES_NEW)
        (void)tutti_over_nodes_turn(comm, call, over);
    if (over->at == TUTTI_OVER_NODES_TURN) {
        if (over->turn != TUTTI_NODES_AGREE)
            return over->turn == TUTTI_NODES_TAKEN ? 1 : -1;
        tutti_nodes_words(call, over->bytes, of->words);
        *status = transport->ops->iallreduce(transport, of->words, TUTTI_NODES_WORDS, TUTTI_COMBINE_MIN, &of->pending);
        over->at = TUTTI_OVER_NODES_AGREES;
        over->since = tutti_now_ns();
        if (*status != TUTTI_OK)
            return 1;
    }
    if (over->at == TUTTI_OVER_NODES_AGREES) {
        *status = transport->ops->pending_test(transport, &of->pending, &done);
        if (*status == TUTTI_OK && !done)
            *status = over_nodes_look_at_time(comm, call, over, name);
        if (*status != TUTTI_OK || !done)
            return *status != TUTTI_OK;
        if (!after_agreement(comm, call))
            return -1;
        over->at = TUTTI_OVER_NODES_OPENS;
    }
    if (!over_nodes_is_made(comm)) {
        *status = over_nodes_look_at_time(comm, call, over, name);
        return *status != TUTTI_OK;
    }
    return after_opening(comm, call) ? 1 : -1;
}

int tutti_over_nodes_poll(struct tutti_comm *comm, const struct tutti_call *call, struct tutti_over_nodes_call *over,
                          const char *name, int *status, const char **why)
{
    *status = comm->over_nodes->failed;
    if (*status != TUTTI_OK && over->at != TUTTI_OVER_NODES_RUNS)
        return 1;
    if (over->at != TUTTI_OVER_NODES_RUNS) {
        tutti_deferred_call_starting++; /* calls that it makes of the MPI are this call, the first in turn */
        const int go = over_nodes_decide(comm, call, over, name, status);
        tutti_deferred_call_starting--;
        if (go <= 0) {
            *why = why_not(call);
            return go;
        }
        if (*status == TUTTI_OK)
            *status = start_call(comm, call, over, name);
        if (*status != TUTTI_OK)
            return 1;
    }
    const int done = over->move ? tutti_carry_poll(over->move, status, why) : tutti_nodes_poll(over->call, status, why);
    if (done)
        over->move = NULL;
    if (done && *status != TUTTI_OK)
        comm->over_nodes->failed = *status;
    return done;
}

#include "mpi/nodes/over_nodes.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/status.h"
#include "mpi/message/endpoints.h"
#include "mpi/real/errors.h"
#include "progress/engine.h"

struct tutti_over_nodes {
    struct tutti_nodes *nodes;
    struct tutti_carry *carry; /* NULL: no move has gone in two levels yet */
    struct tutti_nodes_kinds kinds;
    struct tutti_nodes_moves moves;
    int64_t words[TUTTI_NODES_WORDS];
    int over;  /* 1: `nodes` has its hierarchy */
    int rules; /* where those in force begin, then */
};

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
    const int alive = tutti_door.device && tutti_door.device->active();
    tutti_nodes_free(over->nodes, alive);
    tutti_carry_free(over->carry, alive);
    free(over);
}

/* 1 if the call may go in two levels; the same on all ranks. */
static int over_nodes_concerns(const struct tutti_comm *comm, const struct tutti_call *call)
{
    return comm && comm->team && comm->team->size > 1 && !comm->team->whole && comm->over_nodes &&
           tutti_nodes_knows(call->collective);
}

static const char *why_not(const struct tutti_call *call)
{
    return call->kind == TUTTI_ARRIVAL_DEVICE ? TUTTI_REASON_TEXT(NODES) : TUTTI_REASON_TEXT(HOST_MEMORY);
}

static int is_made(void *with)
{
    struct tutti_comm *comm = with;
    return tutti_comm_hierarchy(comm) || !comm->hierarchy_opening;
}

static const struct tutti_nodes_moves *moves_of(struct tutti_comm *comm, const char *name)
{
    struct tutti_over_nodes *over = comm->over_nodes;
    over->moves.name = name;
    over->moves.worker = (struct tutti_p2p_worker){.endpoint = tutti_endpoint_everywhere ? tutti_endpoint : NULL,
                                                   .node = tutti_p2p.node,
                                                   .transport = tutti_p2p.transport,
                                                   .pipelined = tutti_p2p.pipelined};
    return &over->moves;
}

static int none_queued(void *with)
{
    struct tutti_comm *comm = with;
    return atomic_load_explicit(&comm->queued, memory_order_acquire) == 0;
}

/* By the rules, for a call whose ranks have agreed. */
static int takes(const struct tutti_over_nodes *over, const struct tutti_call *call, int rules, uint64_t bytes)
{
    struct tutti_call move = *call;
    move.count = bytes;
    return tutti_nodes_knows(call->collective) ? tutti_nodes_takes(over->nodes, call) : tutti_carry_takes(rules, &move);
}

/* The agreement, and the hierarchy that the first call needs which is taken. 1: the call is taken; 0; a status. */
static int agree(struct tutti_comm *comm, const struct tutti_call *call, uint64_t bytes)
{
    struct tutti_over_nodes *over = comm->over_nodes;
    struct tutti_transport *transport = &comm->transport.base;
    int rules;
    tutti_nodes_words(call, bytes, over->words);
    int status = transport->ops->allreduce(transport, over->words, TUTTI_NODES_WORDS, TUTTI_COMBINE_MIN);
    if (status != TUTTI_OK)
        return status;
    int taken = tutti_nodes_said(call, over->words, &rules, &bytes);
    if (taken) {
        tutti_comm_hierarchy_begin(comm);
        status = tutti_progress_wait(&(const struct tutti_wait){
            .done = is_made, .with = comm, .what = "for the ranks of a communicator over several nodes", .watched = 1});
        if (status != TUTTI_OK)
            return status;
        if (comm->hierarchy && !over->over) {
            tutti_nodes_over(over->nodes, comm->hierarchy, rules);
            over->rules = rules;
            over->over = 1;
        }
        taken = comm->hierarchy && takes(over, call, over->rules, bytes);
    }
    tutti_nodes_agreed(&over->kinds, call, taken, bytes);
    return taken;
}

/* Collective calls of the program on the communicator that are not begun yet are before this one. A status. */
static int await_queue(struct tutti_comm *comm)
{
    if (none_queued(comm))
        return TUTTI_OK;
    return tutti_progress_wait(&(const struct tutti_wait){.done = none_queued, .with = comm, .watched = 1});
}

/* 1: Tutti has made the call, *status and *why are set; 0: the MPI makes it, for the reason *why. */
static int over_nodes_run(struct tutti_comm *comm, const struct tutti_call *call, const char *name, int *status,
                          const char **why)
{
    TUTTI_INSIDE();
    *status = await_queue(comm);
    if (*status != TUTTI_OK)
        return 1;
    const enum tutti_nodes_turn turn = tutti_nodes_turn(&comm->over_nodes->kinds, call);
    const int taken = turn == TUTTI_NODES_AGREE ? agree(comm, call, 0) : turn == TUTTI_NODES_TAKEN;
    if (taken == 0) {
        *why = why_not(call);
        return 0;
    }
    *status = taken < 0 ? taken : tutti_nodes_run(comm->over_nodes->nodes, call, moves_of(comm, name), why);
    return 1;
}

int tutti_over_nodes_or_team(MPI_Comm handle, struct tutti_team *team, const struct tutti_call *call, const char *name,
                             enum tutti_reduce_outcome *taken, const char **why)
{
    struct tutti_comm *comm = tutti_comm_find(handle);
    int status;
    if (likely(!over_nodes_concerns(comm, call)))
        return tutti_reduce_run(team, call, taken, why);
    *taken = TUTTI_REDUCE_DONE;
    if (over_nodes_run(comm, call, name, &status, why))
        return status;
    *taken = TUTTI_REDUCE_DECLINED;
    return call->host_ok ? TUTTI_OK : tutti_reduce_run(team, call, taken, why);
}

/* ---- moves ---- */

int tutti_over_nodes_moves(const struct tutti_comm *comm)
{
    return comm->team && comm->team->size > 1 && !comm->team->whole && comm->over_nodes;
}

int tutti_over_nodes_turn(struct tutti_comm *comm, const struct tutti_call *call, enum tutti_nodes_turn *turn)
{
    TUTTI_INSIDE();
    const int status = await_queue(comm);
    struct tutti_over_nodes *over = comm->over_nodes;
    *turn = status == TUTTI_OK ? tutti_nodes_turn(&over->kinds, call) : TUTTI_NODES_TO_MPI;
    if (*turn == TUTTI_NODES_TAKEN && !takes(over, call, over->rules, tutti_nodes_agreed_bytes(&over->kinds, call)))
        *turn = TUTTI_NODES_TO_MPI; /* tutti_rules_follow(): all ranks have other rules now */
    return status;
}

int tutti_over_nodes_agree(struct tutti_comm *comm, const struct tutti_call *call, uint64_t bytes)
{
    TUTTI_INSIDE();
    return agree(comm, call, bytes);
}

int tutti_over_nodes_carry(struct tutti_comm *comm, const struct tutti_call *call, const char **how)
{
    TUTTI_INSIDE();
    struct tutti_over_nodes *over = comm->over_nodes;
    struct tutti_call move = *call;
    move.count = tutti_nodes_agreed_bytes(&over->kinds, call);
    move.move->worker = &over->moves.worker;
    (void)moves_of(comm, call->move->name);
    if (!over->carry && !(over->carry = tutti_carry_new(comm->hierarchy, over->rules)))
        return tutti_team_break(comm->hierarchy->team, TUTTI_ERR_MEMORY); /* peers would wait for this rank */
    return tutti_carry_run(over->carry, &move, how);
}

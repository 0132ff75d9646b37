/* Moves on a communicator over several nodes. */
#include "core/status.h"
#include "mpi/nodes/own.h"
#include "rules/rules.h"

int tutti_over_nodes_moves(const struct tutti_comm *comm)
{
    return comm->team && comm->team->size > 1 && !comm->team->whole && comm->over_nodes;
}

/* tutti_rules_follow(): 1 if all ranks have other rules now, which leave the call to the MPI. It is not counted, so
 * what the ranks have agreed on under their own rules stays. */
int tutti_over_nodes_move_left(const struct tutti_over_nodes *over, const struct tutti_call *call)
{
    return !tutti_nodes_knows(call->collective) && tutti_rules_begin(-1) >= 0 && !tutti_carry_takes(over->rules, call);
}

int tutti_over_nodes_move_turn(struct tutti_comm *comm, const struct tutti_call *call, enum tutti_nodes_turn *turn)
{
    TUTTI_INSIDE();
    struct tutti_over_nodes *over = comm->over_nodes;
    const int status = tutti_over_nodes_await(comm);
    over->kinds.nonblocking = 0;
    *turn = status == TUTTI_OK && !tutti_over_nodes_move_left(over, call) ? tutti_nodes_turn(&over->kinds, call)
                                                                          : TUTTI_NODES_TO_MPI;
    return status;
}

int tutti_over_nodes_move_agree(struct tutti_comm *comm, const struct tutti_call *call, uint64_t bytes,
                                const char *name)
{
    TUTTI_INSIDE();
    return tutti_over_nodes_agree(comm, call, bytes, name);
}

int tutti_over_nodes_move_break(struct tutti_comm *comm, int status)
{
    struct tutti_team *const team[] = {comm->hierarchy->team, comm->hierarchy->team->nonblocking};
    for (int i = 0; i < 2 && comm->hierarchy->size > 1; i++) {
        if (team[i] && team[i]->state != TUTTI_TEAM_BROKEN)
            (void)tutti_team_break(team[i], status);
    }
    return comm->over_nodes->failed = status;
}

int tutti_over_nodes_move_begin(struct tutti_comm *comm, const struct tutti_call *call,
                                struct tutti_over_nodes_call *over)
{
    struct tutti_over_nodes *of = comm->over_nodes;
    struct tutti_call move = *call;
    of->kinds.nonblocking = 1;
    move.count = tutti_nodes_agreed_bytes(&of->kinds, call);
    *move.move->worker = of->moves.nonblocking;
    if (!of->carry && !(of->carry = tutti_carry_new(comm->hierarchy, of->rules)))
        return tutti_over_nodes_move_break(comm, TUTTI_ERR_MEMORY);
    over->move = tutti_carry_begin(of->carry, &move, comm->worker);
    over->at = TUTTI_OVER_NODES_RUNS;
    return over->move ? TUTTI_OK : tutti_over_nodes_move_break(comm, TUTTI_ERR_MEMORY);
}

int tutti_over_nodes_move(struct tutti_comm *comm, const struct tutti_call *call, const char **how)
{
    TUTTI_INSIDE();
    struct tutti_over_nodes *over = comm->over_nodes;
    struct tutti_call move = *call;
    move.count = tutti_nodes_agreed_bytes(&over->kinds, call);
    move.move->worker = &over->moves.blocking;
    (void)tutti_over_nodes_moves_of(comm, call->move->name);
    if (!over->carry && !(over->carry = tutti_carry_new(comm->hierarchy, over->rules)))
        return tutti_over_nodes_move_break(comm, TUTTI_ERR_MEMORY);
    const int status = tutti_carry_run(over->carry, &move, how);
    if (status != TUTTI_OK)
        over->failed = status;
    return status;
}

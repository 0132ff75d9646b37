/* Blocking calls that move data, from the communicator's team to the result. */
#include "mpi/move/mover_own.h"
#include "mpi/real/errors.h"

enum tutti_reason tutti_mover_teamless(const struct tutti_comm *state)
{
    const struct tutti_team *team = state->team;
    if (!team)
        return state->passed ? tutti_reason_of(state->passed) : TUTTI_REASON_COMM;
    if (team->size == 1)
        return TUTTI_REASON_ONE_RANK;
    return team->whole ? TUTTI_REASON_COMM : tutti_reason_of(team->why);
}

/* The team of a communicator whose ranks meet in moves; NULL, with the reason, if the MPI makes its calls. */
static struct tutti_team *mover_team_of(const struct tutti_comm *state)
{
    struct tutti_team *team = state->team;
    if (team && team->size > 1 && team->whole && team->state != TUTTI_TEAM_BROKEN)
        return team;
    if (team && team->size > 1 && team->whole)
        tutti_team_leave(team);
    tutti_why_set(tutti_mover_teamless(state));
    return NULL;
}

/* The same for a communicator whose team may have to be made. alone: also a team of one rank. */
static struct tutti_team *mover_team(MPI_Comm comm, int alone)
{
    struct tutti_comm *state = tutti_comm_find(comm);
    if (!state && !(state = tutti_comm_make(comm)))
        return NULL;
    if (state->opening)
        tutti_comm_ready(state, 1);
    struct tutti_team *team = state->team;
    return alone && team && team->size == 1 && team->whole ? team : mover_team_of(state);
}

void tutti_mover_pass_new(enum tutti_collective collective, int root, MPI_Comm comm)
{
    struct tutti_comm *state = tutti_comm_find(comm);
    struct tutti_team *team = NULL;
    const int begun = !state; /* the records of the others are still under way then */
    if (!state && !(state = tutti_comm_begin(comm)))
        return;
    if (state->opening && (begun || !tutti_comm_ready(state, 0)) && (team = tutti_comm_early(state)) != NULL) {
        tutti_comm_announce(state, team, collective, 0, 0, 0, (uint64_t)(unsigned)root);
        return;
    }
    team = mover_team(comm, 0);
    if (team)
        tutti_team_announce(team, collective, 0, 0, 0, (uint64_t)(unsigned)root);
}

/* ready: for a call on a team of one rank, see tutti_mover_run_alone(); NULL: there is nothing to do. */
static int mover_call(struct tutti_mover *x, int (*ready)(void *with), void *with, const char **how)
{
    TUTTI_INSIDE();
    const int able = tutti_mover_describe(x, tutti_p2p.transport);
    const struct tutti_call call = {
        .collective = x->call->collective, .root = x->call->root, .may_open_later = 1, .move = able ? &x->move : NULL};
    if (x->team->size > 1)
        return tutti_move_run(x->team, &call, how);
    const int can = tutti_move_alone_can(x->team, &call) && (!ready || ready(with));
    return can ? tutti_move_alone(x->team, &call, how) : TUTTI_OK;
}

/* 1: the call is done, or has failed with *code, which is not raised yet. */
static int mover_made(struct tutti_mover *x, int (*ready)(void *with), void *with, int *code)
{
    const char *how = NULL;
    const int status = mover_call(x, ready, with, &how);
    tutti_mover_close(x);
    *code = tutti_mover_code(x, status);
    if (*code != MPI_SUCCESS)
        tutti_count(x->call->name, TUTTI_OUTCOME_FAILED,
                    status != TUTTI_OK ? tutti_status_text(status) : "the data received were not expected");
    else if (how)
        tutti_mover_count(x, how);
    return *code != MPI_SUCCESS || how;
}

int tutti_mover_run(const struct tutti_collective_args *call, int on_host, int *code)
{
    struct tutti_mover x;
    *code = MPI_SUCCESS;
    if (tutti_inside || !tutti_endpoint_everywhere) {
        tutti_why_set(tutti_endpoint ? TUTTI_REASON_APART : tutti_endpoints_why(tutti_handles.no_comm, -1));
        return 0;
    }
    tutti_mover_begin(&x, call, mover_team(call->comm, 1), 0);
    if (!x.team)
        return 0;
    x.on_host = on_host;
    x.begins = 1;
    const int made = mover_made(&x, NULL, NULL, code);
    const int owed = made ? TUTTI_OK : tutti_coll_owed(x.team);
    if (*code != MPI_SUCCESS)
        tutti_fail_comm(call->comm, *code);
    if (unlikely(owed != TUTTI_OK))
        *code = tutti_error_code(owed);
    return made;
}

int tutti_mover_run_alone(const struct tutti_collective_args *call, const struct tutti_comm *state,
                          int (*ready)(void *with), void *with, int *code)
{
    struct tutti_mover x;
    struct tutti_team *const team = state->team;
    *code = MPI_SUCCESS;
    if (!team || team->size != 1 || !team->whole)
        return 0;
    tutti_mover_begin(&x, call, team, 1);
    return mover_made(&x, ready, with, code);
}

int tutti_mover_agree(const struct tutti_collective_args *args, uint32_t *able)
{
    struct tutti_mover x;
    *able = 0;
    if (tutti_inside || !tutti_endpoint_everywhere) {
        tutti_why_set(tutti_endpoint ? TUTTI_REASON_APART : tutti_endpoints_why(tutti_handles.no_comm, -1));
        return TUTTI_OK;
    }
    tutti_mover_begin(&x, args, mover_team(args->comm, 0), 1);
    if (!x.team)
        return TUTTI_OK;
    TUTTI_INSIDE();
    struct tutti_call call = {.collective = args->collective, .root = args->root};
    if (tutti_mover_describe(&x, tutti_p2p.transport))
        call.move = &x.move;
    x.move.joins = 1; /* the call is collective by itself, and all starts follow its answer */
    const int status = tutti_move_agree(x.team, &call, able);
    tutti_mover_close(&x);
    return status;
}

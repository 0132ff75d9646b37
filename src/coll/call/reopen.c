#include "coll/call/reopen.h"

#include "coll/call/reservation.h"
#include "coll/state.h"
#include "core/log.h"

enum tutti_arrival_kind tutti_reopen_kind(const struct tutti_team *team, const struct tutti_call *call)
{
    if (call->kind == TUTTI_ARRIVAL_HOST || team->state != TUTTI_TEAM_OPEN)
        return call->kind;
    if (team->life != tutti_gpu_life(team->gpu))
        return TUTTI_ARRIVAL_RESET;
    return call->gpu < 0 || call->gpu == team->gpu ? TUTTI_ARRIVAL_DEVICE : TUTTI_ARRIVAL_OTHER;
}

/* Why some rank has left the call to the MPI; NULL: none has. What the program can change goes first. */
static const char *reopen_left(const struct tutti_team *team, const struct tutti_arrival *const all[])
{
    const char *why = NULL;
    for (int r = 0; r < team->size; r++) {
        if (all[r]->kind == TUTTI_ARRIVAL_HOST)
            return TUTTI_REASON_TEXT(HOST_SOME);
        if (all[r]->kind == TUTTI_ARRIVAL_FIRST)
            why = all[r]->blocks == TUTTI_REASON_HOST_BEFORE ? TUTTI_REASON_TEXT(HOST_BEFORE)
                                                             : TUTTI_REASON_TEXT(FIRST_CALLS);
        else if (all[r]->kind == TUTTI_ARRIVAL_AHEAD && !why)
            why = TUTTI_REASON_TEXT(AHEAD);
    }
    return why;
}

const char *tutti_reopen_look(struct tutti_team *team, const struct tutti_arrival *const all[], int *again,
                              uint64_t *resets)
{
    enum { SERVED_MANY = 64, MOST = 1 << 20 };
    struct tutti_coll_state *state = tutti_coll_of(team);
    const char *const left = reopen_left(team, all);
    int other = 0;
    *again = 0;
    *resets = 0;
    if (left)
        return left;
    for (int r = 0; r < team->size; r++) {
        *resets |= (uint64_t)(all[r]->kind == TUTTI_ARRIVAL_RESET) << r;
        other |= all[r]->kind == TUTTI_ARRIVAL_OTHER;
    }
    const int reset = *resets != 0;
    state->served += state->served < SERVED_MANY;
    if (!reset && !other)
        return NULL;
    if (team->share)
        return reset ? TUTTI_REASON_TEXT(RESET) : TUTTI_REASON_TEXT(GPU_CHANGED);
    if (!reset && state->other_left > 0) {
        state->other_left--;
        return TUTTI_REASON_TEXT(GPU_CHANGED);
    }
    if (!reset) {
        const unsigned twice = state->other_backoff < MOST / 2 ? state->other_backoff * 2 : MOST;
        state->other_backoff = state->served >= SERVED_MANY || twice == 0 ? 1 : twice;
        state->other_left = state->other_backoff;
    }
    *again = 1;
    return NULL;
}

int tutti_reopen_close(struct tutti_team *team, uint64_t resets)
{
    tutti_info("%s is opened again: %s", team->transport->label,
               team->life != tutti_gpu_life(team->gpu) ? "its GPU has been reset"
                                                       : "a rank has another GPU, or has reset its own");
    tutti_reservation_end(team);
    tutti_coll_renew(team);
    return tutti_team_close(team, resets);
}

/* Calls of a team that a rank has given up. Such a rank, which was refused a launch for example, leaves its later calls
 * to the MPI. So do the others, each of which notices it when it waits for that rank's arrival. */
#ifndef TUTTI_COLL_CALL_LEFT_H
#define TUTTI_COLL_CALL_LEFT_H

#include "coll/state.h"
#include "core/status.h"
#include "team/team.h"

/* Local, with the status of tutti_team_await(). 1 if the MPI makes the call on all ranks, since no rank has begun it.
 */
static inline int tutti_call_is_left(const struct tutti_team *team, int status)
{
    return __builtin_expect(status != TUTTI_OK, 0) && tutti_team_is_left(team);
}

/* Local, before the arrival at a call that is to go to the MPI: 1 if it does, as on all ranks; 0: the team is lost. */
static inline int tutti_call_leave(const struct tutti_team *team)
{
    if (tutti_team_is_lost(team))
        return 0;
    tutti_team_leave(team);
    return 1;
}

/* Local, before the arrival at a call of device memory: tutti_coll_settle(). If the program's work in its stream has
 * failed, this rank gives the team up: *leaves is 1, and the MPI makes the call, after which tutti_coll_owed() returns
 * the failure. */
static inline int tutti_call_settle(struct tutti_team *team, int *leaves)
{
    const int status = tutti_coll_settle(team);
    *leaves = 0;
    if (__builtin_expect(status == TUTTI_OK || status == TUTTI_ERR_UNAVAILABLE, 1))
        return status;
    (void)tutti_team_break(team, status);
    *leaves = tutti_call_leave(team);
    tutti_coll_of(team)->owed = *leaves ? status : TUTTI_OK;
    return *leaves ? TUTTI_OK : status;
}

#endif

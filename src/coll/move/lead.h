/* Moves of ranks that share GPUs: of the ranks on a GPU one, the leader, launches over all their buffers. Private to
 * coll/. */
#ifndef TUTTI_COLL_LEAD_H
#define TUTTI_COLL_LEAD_H

#include "coll/move/runs.h"

/* 1 if leaders must launch: ranks share GPUs. */
static inline int tutti_lead_is(const struct tutti_team *team, const struct tutti_call *call)
{
    return team->state == TUTTI_TEAM_OPEN && team->gpus < team->size && call->move;
}
/* Local. 1 if leaders can run the call by the kernels of `shape`: blocks of one length, one behind the other on each
 * side. */
int tutti_lead_can(const struct tutti_team *team, const struct tutti_call *call, tutti_runs_shape *shape);
/* Local, before this rank arrives at the call: shares its buffers with its leader, and takes scratch. Without it no
 * rank's call is run by leaders. */
void tutti_lead_offer(struct tutti_team *team, const struct tutti_call *call);
/* Collective over the team's ranks. *fits = 0 on all ranks if some buffer cannot be mapped. */
int tutti_lead_run(struct tutti_team *team, const struct tutti_call *call, int *fits, tutti_runs_shape *shape);

#endif

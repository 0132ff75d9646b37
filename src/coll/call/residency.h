/* Multiprocessors for the kernels of a call; team/budget.h says why. Private to coll/. */
#ifndef TUTTI_COLL_RESIDENCY_H
#define TUTTI_COLL_RESIDENCY_H

#include "coll/coll.h"

/* Local, before this rank arrives at the call: fills in what its arrival says of multiprocessors. */
void tutti_residency_arrive(struct tutti_team *team, const struct tutti_call *call, struct tutti_arrival *mine);
/* Local, when all have arrived: what the ranks have, from their records. */
void tutti_residency_agree(struct tutti_team *team, const struct tutti_arrival *const all[]);
/* The same where the caller has looked at the records: the least blocks of all, and 1 where some rank has streams. */
void tutti_residency_agreed(struct tutti_team *team, unsigned least, int streams);
/* Collective, before kernels that wait are launched: on return all ranks have that many: tutti_coll_blocks(). */
int tutti_residency_take(struct tutti_team *team, const struct tutti_call *call);
/* Collective: a share of the GPU's multiprocessors for as long as the team lives, team->share and team->blocks, alike
 * on all ranks; TUTTI_ERR_UNAVAILABLE where some rank has none left. */
int tutti_residency_share(struct tutti_team *team);
/* 1 for calls so large that few blocks cost much time. */
int tutti_residency_may_narrow(const struct tutti_call *call);
/* 1 where far fewer are granted than the call has use for, and it may go another way: mapping buffers may wait for what
 * runs on a GPU, so not while communicators with a stream live on some rank (team/discard.h says why). */
int tutti_residency_narrow(const struct tutti_team *team, const struct tutti_call *call);
/* Local, at the end of the call. */
void tutti_residency_end(struct tutti_team *team);

#endif

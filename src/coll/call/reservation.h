/* Multiprocessors for the kernels of a call; team/sm_budget.h says why. Private to coll/. */
#ifndef TUTTI_COLL_RESERVATION_H
#define TUTTI_COLL_RESERVATION_H

#include "coll/coll.h"

/* Local, before this rank arrives at the call: sets the multiprocessors in its arrival. */
void tutti_reservation_arrive(struct tutti_team *team, const struct tutti_call *call, struct tutti_arrival *mine);
/* Local, after all have arrived: reads the multiprocessors of the ranks from their records. */
void tutti_reservation_agree(struct tutti_team *team, const struct tutti_arrival *const all[]);
/* The same if the caller has read the records: the least blocks of all, and 1 if some rank has streams. */
void tutti_reservation_agreed(struct tutti_team *team, unsigned least, int streams);
/* Collective, before kernels that wait are launched: on return all ranks have the same number: tutti_coll_blocks(). */
int tutti_reservation_take(struct tutti_team *team, const struct tutti_call *call);
/* Collective: a share of the GPU's multiprocessors for the life of the team, team->share and team->blocks, the same
 * on all ranks; TUTTI_ERR_UNAVAILABLE if some rank has no free one. */
int tutti_reservation_share(struct tutti_team *team);
/* 1 for calls so large that few blocks cost much time. */
int tutti_reservation_may_narrow(const struct tutti_call *call);
/* 1 if far fewer are granted than the call can use, and it may take another way. Mapping buffers may wait for
 * running kernels, so not while communicators with a stream live on some rank (see team/deferred_free.h). */
int tutti_reservation_narrow(const struct tutti_team *team, const struct tutti_call *call);
/* Local, at the end of the call. */
void tutti_reservation_end(struct tutti_team *team);

#endif

/* The first calls of a communicator. Opening its team and loading kernels take a GPU milliseconds. Until the calls have
 * lost as much by staging (opening_price.h), the MPI makes them. A rank keeps its own account, from the numbers and the
 * bytes of its calls. It declines a call in its arrival, and the MPI makes a call that any rank has declined. A
 * reduction whose bits depend on the order is made in rank order by Tutti instead. */
#ifndef TUTTI_COLL_CALL_OPENING_H
#define TUTTI_COLL_CALL_OPENING_H

#include "coll/coll.h"

/* 1: the MPI cannot make the call, or the order of the contributions may change the bits of its result, and the MPI has
 * an order of its own. The first calls are staged in rank order by Tutti then, as later ones are reduced by kernels; a
 * nonblocking one, which Tutti does not stage, opens the team. */
int tutti_opening_keeps_order(const struct tutti_team *team, const struct tutti_call *call);
/* Local, before the arrival at a call of device memory, whose kernels are those of the pair. 1: this rank leaves the
 * call to the MPI, and the reason is set. */
int tutti_opening_waits(struct tutti_team *team, const struct tutti_call *call, int type, int op);
/* Local: a team of the process has been opened. */
void tutti_opening_done(void);

#endif

/* The first calls of a communicator. Opening its team and loading kernels take a GPU tens of milliseconds. Until the
 * calls have lost as much by staging, the MPI makes them (the rule of ski rental, as for mappings:
 * team/endpoint/endpoint_price.c). So a program with few calls is as fast as without Tutti, and one with many loses at
 * most twice what the better way takes. A rank keeps its own account, from the numbers and the bytes of its calls. It
 * declines a call in its arrival, and the MPI makes a call that any rank has declined. A reduction whose bits depend on
 * the order is made in rank order by Tutti instead. */
#ifndef TUTTI_COLL_CALL_OPENING_H
#define TUTTI_COLL_CALL_OPENING_H

#include "coll/coll.h"
#include "progress/beside.h"

/* 1: the MPI cannot make the call, or the order of the contributions may change the bits of its result, and the MPI has
 * an order of its own. The first calls are staged in rank order by Tutti then, as later ones are reduced by kernels; a
 * nonblocking one, which Tutti does not stage, opens the team. */
int tutti_opening_keeps_order(const struct tutti_team *team, const struct tutti_call *call);
/* Local, before the arrival at a call of `bytes` bytes of device memory, whose kernels are those of the pair. 1: this
 * rank leaves the call to the MPI, and the reason is set. */
int tutti_opening_waits(struct tutti_team *team, const struct tutti_call *call, int type, int op, uint64_t bytes);
/* Local. A kernel of the image that the first calls of the pair need: one image has all that move data, another one
 * those of short reductions. */
int tutti_opening_kernel(int type, int op);
/* Local, any thread: the state of the image of the pair's kernels on `gpu` (-1: not known). The first call of the
 * process for which the device loads images begins to load it on a thread beside, once; NONE for other images. */
enum tutti_beside_state tutti_opening_load(const struct tutti_device *device, int gpu, int type, int op, int packs);
/* What calls lose before the first team of the process opens in advance, for a call that moves data. */
enum { TUTTI_OPENING_ADVANCE_NS = 240000 };
/* Local, any thread. lost: ns that all calls so far have lost. 1: as much as lets the kernels of the pair be loaded in
 * the background, for the first team of the process. */
int tutti_opening_first_begins(int type, int op, uint64_t lost);
/* The same. 1 if the first team does not pay yet, of whose calls, on `gpu`, the kernels are those of the pair: they are
 * being loaded from the first of these calls on, and are no part of the price once they are. packs: the packing kernels
 * are loaded besides, since the call's data are not fetched by the others. */
int tutti_opening_first_waits(const struct tutti_device *device, int gpu, int type, int op, int packs, uint64_t lost);
/* Local: a team of the process has been opened. */
void tutti_opening_done(struct tutti_team *team);

#endif

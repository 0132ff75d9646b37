/* The multiprocessors of a GPU that kernels which wait may occupy. A block of such a kernel may occupy a multiprocessor
 * for as long as it waits. So every block of all such kernels that run on a GPU at once needs its own multiprocessor.
 * Without one, a kernel could queue behind another call whose peers queue behind this one: a deadlock. Each process
 * counts the blocks that it has given away on each of its GPUs, of two kinds:
 * - shares: of communicators with a stream, for as long as they live: their graphs may be launched at any time.
 *   Communicators with the default stream of CUDA have their blocks together, since it runs one kernel at a time, and
 *   cannot be captured. Each of them has one more for what runs beside the stream;
 * - calls: of blocking and nonblocking calls, from just before the launch until the call has ended.
 *
 * A call takes blocks in one of two ways. If one thread alone makes reductions, the thread takes the blocks when it
 * arrives and writes their number into its arrival: the ranks use the least number. With several threads, a call that
 * waits for late ranks must not block other calls. Then the ranks take blocks after all ranks have arrived, without
 * waiting, and vote. If one rank got no block, all ranks return theirs and try again. If all ranks got blocks, the call
 * launches, completes and returns them. So no call waits while it holds blocks. */
#ifndef TUTTI_TEAM_BUDGET_H
#define TUTTI_TEAM_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

struct tutti_team;

enum { TUTTI_BUDGET_GPUS = 64 };

/* Of one GPU, in the node of this process. */
struct tutti_sm_budget {
    _Atomic uint64_t word;    /* blocks of calls, blocks of shares, several threads */
    _Atomic uint64_t turns;   /* of teams that take turns: their blocks, which are shares, and how many teams */
    _Atomic uintptr_t thread; /* the first that made a reduction here */
    _Atomic uint32_t all;     /* blocks that the GPU holds at once; 0: not known yet, or without limit */
};

/* All local, of an open team. */

/* Sets how many blocks the team's GPU holds. */
void tutti_sm_budget_open(struct tutti_team *team);
/* When a call arrives: up to `want` blocks, kept in team->held; 0 if other threads make reductions too. */
unsigned tutti_sm_budget_alone(struct tutti_team *team, unsigned want);
/* After all ranks have arrived: up to `want` blocks, added to team->held. 0 if no block is free, or, for a caller
 * that can wait, if less than half of the blocks is free that an idle GPU would have. */
unsigned tutti_sm_budget_try(struct tutti_team *team, unsigned want, int can_wait);
/* Frees the call's blocks beyond the first `keep`. */
void tutti_sm_budget_give(struct tutti_team *team, unsigned keep);
/* A share for a communicator's stream, of at most `most` blocks: three quarters for the first on a GPU, half of the
 * rest for others; at least one. The first team that takes turns gets a share like that, and others may use as much. 0:
 * no block is left, or, for a caller that can wait, running calls hold too many blocks. */
unsigned tutti_sm_budget_share(struct tutti_team *team, unsigned most, int can_wait);
/* 1 if there is room for one more share once the calls under way have ended. */
int tutti_sm_budget_ends(const struct tutti_team *team);
/* The team's share has so many blocks, at most as it got: frees what it does not need. 0: all. */
void tutti_sm_budget_settle(struct tutti_team *team, unsigned share);

#endif

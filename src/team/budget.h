/* Room for kernels that wait. A block of such a kernel may keep a multiprocessor for as long as it waits, so all blocks
 * of all of them that are under way on a GPU at once must have one each: one that found none would wait behind another
 * call, whose peers may wait behind this one. Each process counts the blocks that it has given away on each of its
 * GPUs: shares   of communicators with a stream, for as long as they live: their graphs may be launched at any time
 *   calls    blocking and nonblocking ones, from when they are about to launch until they have ended
 * A call takes blocks in one of two ways. While one thread alone makes reductions, it takes them when it arrives, since
 * nobody else can want them, and says in its arrival how many: the ranks use the least of them. Once there are several
 * threads, a call that waits for late ranks must not keep the others out. Then blocks are taken when all have arrived,
 * without waiting for any, the ranks vote, and where one has got none all give theirs back and try again; whoever has
 * got some on all ranks launches, ends and gives them back. So nobody waits while it keeps others waiting. */
#ifndef TUTTI_TEAM_BUDGET_H
#define TUTTI_TEAM_BUDGET_H

#include <stdatomic.h>
#include <stdint.h>

struct tutti_team;

enum { TUTTI_BUDGET_GPUS = 64 };

/* Of one GPU, in the node of this process. */
struct tutti_budget {
    _Atomic uint64_t word;    /* blocks of calls, blocks of shares, several threads */
    _Atomic uintptr_t thread; /* the first that made a reduction here */
    _Atomic uint32_t all;     /* blocks that the GPU holds at once; 0: not known yet, or without limit */
};

/* All local, of an open team. */

/* Tells how many blocks the team's GPU holds. */
void tutti_budget_open(struct tutti_team *team);
/* When a call arrives: up to `want` blocks, kept in team->held; 0 where other threads make reductions too. */
unsigned tutti_budget_alone(struct tutti_team *team, unsigned want);
/* When all have arrived: up to `want` blocks, added to team->held; 0 where there are none, or, for a patient one, less
 * than half of what could be had if no other call were under way. */
unsigned tutti_budget_try(struct tutti_team *team, unsigned want, int patient);
/* Gives back what the call has beyond `keep` blocks. */
void tutti_budget_give(struct tutti_team *team, unsigned keep);
/* A share for a communicator's stream: of at most `most` blocks three quarters for the first on a GPU, half of what is
 * left for others; at least one. 0: none is left, or, for a patient one, calls under way have too many of them. */
unsigned tutti_budget_share(struct tutti_team *team, unsigned most, int patient);
/* 1 where there is room for one more share once the calls under way have ended. */
int tutti_budget_ends(const struct tutti_team *team);
void tutti_budget_unshare(struct tutti_team *team, unsigned blocks);

#endif

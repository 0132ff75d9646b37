/* Collectives over a team: choice by rule, then one algorithm. Used by src/mpi/. Moves of data: coll/move.h. */
#ifndef TUTTI_COLL_COLL_H
#define TUTTI_COLL_COLL_H

#include <stddef.h>

#include "core/reasons.h"
#include "rules/rules.h"
#include "team/team.h"

struct tutti_move; /* defined in move.h, as: */
struct tutti_move_flow;

/* One call, as this rank makes it: a reduction, or a move of data. */
struct tutti_call {
    enum tutti_collective collective;
    const void *in; /* equal to `out` where in place; for both kinds of reduce-scatter in place too: the contribution
                       lies where the result will, as MPI has it */
    void *out;      /* ignored, and may be NULL, on ranks that get nothing: all but the root of a REDUCE */
    size_t count;   /* elements of one rank's contribution: for both kinds of reduce-scatter those of all segments
                       together (the segments of REDUCE_SCATTER_BLOCK are count / ranks long) */
    const size_t *counts; /* REDUCE_SCATTER alone: elements of each rank's segment, some may be zero; the caller's, read
                             during the call */
    int root;             /* REDUCE, and moves with a root */
    int type, op;         /* a pair for which tutti_has_kernel() holds */
    int kind;             /* enum tutti_arrival_kind of this rank's buffers (those that count) */
    int gpu;              /* DEVICE: GPU of the buffers, -1: any */
    int near;             /* 1: `out` is that GPU's own memory, and neither managed nor pinned */
    int host_ok; /* 1: the MPI can reduce this type itself. 0 (half precision that the MPI does not know): Tutti always
                     does.  The same on all ranks. */
    struct tutti_move *move; /* of a move, which has no other members but `collective` and `root`: its blocks. NULL: a
                                reduction, or a move that this rank cannot take part in */
    const struct tutti_move_flow *flow; /* of a move in stream order: its runs of bytes */
};

/* Elements that `rank` gets as its result, out of the reduced vector: where they begin in it, and how many. EXSCAN:
 * none on rank 0. */
struct tutti_result {
    size_t begin, count;
};
struct tutti_result tutti_result_of(const struct tutti_call *call, int rank, int ranks);
/* Ranks whose contributions `rank` gets combined, in rank order from 0: all; SCAN rank + 1; EXSCAN rank. */
int tutti_result_depth(const struct tutti_call *call, int rank, int ranks);

/* Local. From now on calls of device memory on the team that are not in stream order call settle() first: it waits for
 * what the program has put into its own stream of the communicator, and returns a status. */
void tutti_coll_settle_by(struct tutti_team *team, int (*settle)(void *with), void *with);
/* Calls it, where there is one. */
int tutti_coll_settle(const struct tutti_team *team);

/* What became of a call. */
enum tutti_taken {
    TUTTI_TAKEN,  /* done: the result is in `out` */
    TUTTI_PASSED, /* nothing was done: give the call to the MPI, staging device buffers; the same on all ranks with
                     device buffers */
};

/* Collective over the team's ranks; blocking. Device buffers must be ready (the program has synchronised, as for any
 * blocking MPI call); on return the result is visible to all later work. Returns a status; *taken and *why (static
 * text) are set on success alone. A rank with host buffers returns TUTTI_PASSED at once where host_ok. `why` names the
 * algorithm or the reason. */
int tutti_collective(struct tutti_team *team, const struct tutti_call *call, enum tutti_taken *taken, const char **why);

/* Collective over the team's ranks, in stream order: returns when the kernels have been put into `stream` (of the
 * team's GPU), in which the buffers will be ready. All ranks bring memory that kernels reach; the team is open. May be
 * captured in a graph and replayed, in the same order on all ranks; launches nothing but kernels, never waits for a
 * peer, takes no memory (but for reduce-scatters in place
 * with unequal counts: scratch for the largest so far, also while a graph is captured). TUTTI_ERR_UNAVAILABLE, the same
 * on all ranks, where no algorithm in stream order can run the call. */
int tutti_enqueue(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                  const char **why);
/* Collective over the team's ranks; blocking: opens the team on `gpu` for tutti_enqueue() where it is not open yet,
 * loads all kernels, takes a share of the GPU's multiprocessors and has a thread look after what will be in the stream
 * (team/watcher.h), until tutti_team_free(), or tutti_team_unshare() before. TUTTI_ERR_UNAVAILABLE where it cannot be;
 * team->why says the reason. */
int tutti_enqueue_open(struct tutti_team *team, int gpu);

/* Local. out = in op out over `count` elements that kernels reach on `gpu` (-1: the current one); `in` is the left
 * operand, as MPI_Reduce_local has it. Done on return. */
int tutti_reduce_local(int gpu, const void *in, void *out, size_t count, int type, int op);
/* Local. The same in stream order, of at least one element; the kernels of the pair need not be ready. */
int tutti_reduce_local_enqueue(struct tutti_stream *stream, const void *in, void *out, size_t count, int type, int op);

/* 1 where the calling thread waits for kernels that are under way: nothing may be allocated on the device then. */
int tutti_waiting_now(void);

/* Name of the algorithm that the rules choose for a call of `collective` (allreduce, reduce, reduce_scatter, scan; both
 * kinds of reduce-scatter and of scan share their rules), before it is known whether it can run. Local. */
const char *tutti_rules_choice(const char *collective, size_t bytes, int ranks, int gpus);

#endif

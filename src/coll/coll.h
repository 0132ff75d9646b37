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
    const void *in; /* equal to `out` in place; also for both kinds of reduce-scatter, where the contribution lies where
                       MPI puts the result */
    void *out;      /* ignored, and may be NULL, on ranks without a result: all but the root of a REDUCE */
    size_t count;   /* elements of one rank's contribution: for both kinds of reduce-scatter those of all segments
                       together (the segments of REDUCE_SCATTER_BLOCK are count / ranks long) */
    const size_t *counts; /* REDUCE_SCATTER alone: elements of each rank's segment, some may be zero; the caller's, read
                             during the call */
    int root;             /* REDUCE, and moves with a root */
    int type, op;         /* a pair for which tutti_has_kernel() holds */
    int kind;             /* enum tutti_arrival_kind of this rank's buffers (those that it uses) */
    int gpu;              /* DEVICE: GPU of the buffers, -1: any */
    int may_open_later;   /* 1: the MPI may make the call until opening the team pays, call/opening.h */
    int near;             /* 1: `out` is that GPU's own memory, and neither managed nor pinned */
    uint64_t in_id, out_id; /* DEVICE: identities of the buffers' allocations (memory.classify); 0: not known */
    int host_ok; /* 1: the MPI can reduce this type itself. 0 (half precision that the MPI does not know): always
                    Tutti's. The same on all ranks. */
    struct tutti_move *move; /* blocks of a move, which uses only `collective` and `root` besides. NULL: a reduction, or
                                a move in which this rank cannot take part */
    const struct tutti_move_flow *flow; /* of a move in stream order: its runs of bytes */
    int spare;                          /* of a move in stream order: 1: it is to take no multiprocessor, alike on all
                                           ranks */
};

/* Position and number of elements of `rank`'s result in the reduced vector. EXSCAN: no elements on rank 0. */
struct tutti_result {
    size_t begin, count;
};
struct tutti_result tutti_result_of(const struct tutti_call *call, int rank, int ranks);
/* Ranks whose contributions `rank`'s result combines, in rank order from 0: all; SCAN rank + 1; EXSCAN rank. */
int tutti_result_depth(const struct tutti_call *call, int rank, int ranks);

/* Local. From now on calls of device memory on the team that are not in stream order call settle() first: it waits
 * for the program's work in its own stream of the communicator, and returns a status. */
void tutti_coll_settle_by(struct tutti_team *team, int (*settle)(void *with), void *with);
/* Calls it, if it is set. */
int tutti_coll_settle(const struct tutti_team *team);
/* Local, once a call has been left to the MPI: the failure of the program's work in its own stream that the call has
 * found before. The call returns it, but makes the MPI's call first, in which peers wait for this rank. TUTTI_OK: no
 * such failure, also for later calls. */
int tutti_coll_owed(struct tutti_team *team);

/* Local. Sets `kind`, `gpu`, `near` and the identities of a reduction. Managed memory counts as device memory: kernels
 * reach it. The device is asked once for each buffer, and the answers are *in and *out. */
void tutti_reduce_look(const struct tutti_device *device, struct tutti_call *call, struct tutti_memory *in,
                       struct tutti_memory *out);

/* The outcome of a call. */
enum tutti_reduce_outcome {
    TUTTI_REDUCE_DONE,     /* the result is in `out` */
    TUTTI_REDUCE_DECLINED, /* nothing was done: the MPI must make the call, with staged device buffers; the same on all
                     ranks with device buffers */
};

/* Collective over the team's ranks; blocking. Device buffers must be ready (the program has synchronised, as for any
 * blocking MPI call); on return the result is visible to all later work. Returns a status; *taken and *why (static
 * text) are set on success alone. A rank with host buffers returns TUTTI_REDUCE_DECLINED at once if host_ok. `why`: the
 * algorithm or the reason. */
int tutti_reduce_run(struct tutti_team *team, const struct tutti_call *call, enum tutti_reduce_outcome *taken,
                     const char **why);

/* Local. 1 if this rank leaves the call of device memory to the MPI at once, since peers have left those before: then
 * tutti_reduce_run() waits for no rank. */
int tutti_reduce_leaves(const struct tutti_team *team, const struct tutti_call *call);

/* Collective over the team's ranks, in stream order: returns when the kernels have been put into `stream` (of the
 * team's GPU), in which the buffers will be ready. All ranks have memory that kernels reach; the team is open. May
 * be captured in a graph and replayed, in the same order on all ranks. Launches only kernels and copies, never waits
 * for a peer, and takes no memory, with one exception, also while a graph is captured: reduce-scatters in place with
 * unequal counts need scratch for the largest so far.
 * TUTTI_ERR_UNAVAILABLE, the same on all ranks, if no algorithm in stream order can run the call. */
int tutti_enqueue(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                  const char **why);
/* Collective over the team's ranks; blocking: opens the team on `gpu` for tutti_enqueue() if it is not open yet,
 * loads all kernels, takes a share of the GPU's multiprocessors and starts the watcher of the stream
 * (team/watcher.h), until tutti_team_free(), or tutti_team_unshare() before. TUTTI_ERR_UNAVAILABLE if it is
 * impossible, with the reason in team->why. */
int tutti_enqueue_open(struct tutti_team *team, int gpu);

/* Local. out = in op out over `count` elements that kernels reach on `gpu` (-1: the current one); `in` is the left
 * operand, as MPI_Reduce_local has it. Done on return. */
int tutti_reduce_local(int gpu, const void *in, void *out, size_t count, int type, int op);
/* Local. The same in stream order, of at least one element; the kernels of the pair need not be ready. */
int tutti_reduce_local_enqueue(struct tutti_stream *stream, const void *in, void *out, size_t count, int type, int op);

/* 1 if the calling thread waits for kernels that are under way: then nothing may be allocated on the device. */
int tutti_waiting_now(void);

#endif

/* Shared by rows whose kernels pass runs of bytes from rank to rank through the channels. Private to coll/. */
#ifndef TUTTI_COLL_RUNS_H
#define TUTTI_COLL_RUNS_H

#include "coll/launch/flow.h"
#include "coll/move/moves.h"

/* How a row launches its kernel. All but `threads` follows from facts that all ranks share, as both sides cut a run
 * alike. */
struct tutti_runs {
    enum tutti_kernel kernel;
    enum tutti_region_id region;
    uint64_t most;    /* bytes of the longest run */
    uint64_t room;    /* bytes of a slot in the channel */
    uint64_t worth;   /* the least bytes of a run for a block */
    unsigned blocks;  /* the most parts that a run is cut into */
    unsigned apart;   /* further blocks, which copy this rank's own run if it is no longer than others */
    unsigned threads; /* of a block; 0: the kernels' own */
    unsigned grain;   /* bytes of which a warp packs one unit a thread; 0: not packets */
    int tells;        /* 1: the kernel starts with tokens: a rank stores one at each peer, and waits for theirs */
    uint64_t direct;  /* not 0: longer runs are stored into mapped results (move_direct.inc) */
    int hands_on;     /* 1: a broadcast that stores into the buffers of all ranks, which have mapped each other's
                         (move_split_direct.inc) */
};

/* Collectives of which all ranks know the length of the longest run, without a message. */
#define TUTTI_RUNS_KNOWN                                                                                               \
    (TUTTI_ON(BCAST) | TUTTI_ON(GATHER) | TUTTI_ON(SCATTER) | TUTTI_ON(ALLGATHER) | TUTTI_ON(ALLGATHERV) |             \
     TUTTI_ON(ALLTOALL))

/* Those in which some rank sends itself other bytes than its peers while it sends to them. */
#define TUTTI_RUNS_APART                                                                                               \
    (TUTTI_ON(SCATTER) | TUTTI_ON(SCATTERV) | TUTTI_ON(ALLTOALL) | TUTTI_ON(ALLTOALLV) | TUTTI_ON(ALLTOALLW))

/* Sets *runs for a kernel that moves chunks through the slots of the region of chunks, of which every peer has one in
 * each set: any length. Team open. */
void tutti_runs_in_chunks(const struct tutti_team *team, enum tutti_kernel kernel, struct tutti_runs *runs);

/* 1 if the row can move call->flow; for a team that is not open, as far as known. Local. */
int tutti_runs_can(const struct tutti_team *team, const struct tutti_call *call, tutti_runs_shape *shape);
/* Collective over the open team's ranks: the launch on the team's stream, waiting for the end. */
int tutti_runs_run(struct tutti_team *team, const struct tutti_call *call, tutti_runs_shape *shape);
/* The same into `stream`. */
int tutti_runs_put(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                   tutti_runs_shape *shape);
/* Puts a barrier of kernels of one block each into `stream`: what is in the streams of all ranks before it has been
 * done when it ends. notice: as tutti_flow_notice() has it; 0: none. */
int tutti_runs_barrier(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                       uint32_t notice);
/* 1 if a launch of packets whose participants are n, this one `own`, has one unit at most for each thread and side. */
int tutti_runs_few(const struct tutti_runs *runs, const struct tutti_move_flow *flow, int n, int own);
/* Bytes of the longest run to or from a peer. */
uint64_t tutti_runs_longest(const struct tutti_team *team, const struct tutti_move_flow *flow);
/* Local. Prepares the kernels, as tutti_prepare() does. */
int tutti_runs_prepare(const struct tutti_team *team);

/* Local. For blocks that another rank's kernel moves: pack() runs what goes before that kernel, unpack() what goes
 * after it. Both wait for the end. */
int tutti_runs_pack(struct tutti_team *team, struct tutti_move *move);
int tutti_runs_unpack(struct tutti_team *team, struct tutti_move *move);

/* Packing launches before and after the kernel. */
struct tutti_runs_around {
    const struct tutti_pack_job *before, *after;
    unsigned befores, afters;
};
/* Collective over the leaders of an open team whose ranks share GPUs: tutti_runs_run() of runs by GPU, between these
 * launches. */
int tutti_runs_lead(struct tutti_team *team, const struct tutti_call *call, const struct tutti_runs_around *around,
                    tutti_runs_shape *shape);

/* Of `split`, which split_direct takes for what goes through the windows. */
tutti_runs_shape tutti_split_shape;
int tutti_split_can(const struct tutti_team *team, const struct tutti_call *call);

#endif

/* Collectives that move data among the ranks of one node: a call as blocks that this rank sends and receives, and
 * how to run it. Used by src/mpi/move/ and src/shmem/stream/. */
#ifndef TUTTI_COLL_MOVE_H
#define TUTTI_COLL_MOVE_H

#include "coll/coll.h"
#include "kernels/args.h"
#include "p2p/p2p.h"
#include "team/endpoint/seen.h"

enum { TUTTI_BLOCK_PINNED = 2 }; /* of tutti_move_block.host */

/* A block that is sent to one rank, or received from it. Several blocks of one rank are in matching order. */
struct tutti_move_block {
    struct tutti_elements elements; /* plan NULL: there are no elements */
    uint64_t bytes;                 /* of its packed form */
    int rank;
    int gpu;             /* that holds it; set by the algorithm, where bytes > 0 */
    uint64_t allocation; /* likewise: struct tutti_places.id */
    const char *lowest;  /* likewise: the lowest byte; NULL: it is not known to be in one allocation */
    int host;            /* likewise: 1: in memory of the host; PINNED: which kernels of this process reach */
};

/* A move in stream order: one run of bytes to each rank of the team and one from each, by rank. Every run may begin
 * at any address. Both sides of a run know its length, and no other rank needs it. Lengths may be zero, and differ
 * from rank to rank; the address of an empty run is not used. Sent runs may overlap each other (a broadcast's root
 * sends the same one to all). A received run overlaps no other run of the call but one: receive[rank] may equal the
 * run send[rank], which then stays as it is. If both are empty, this rank's own run stays as well (MPI_IN_PLACE). */
struct tutti_move_flow {
    struct tutti_move_send {
        const void *at;
        uint64_t bytes;
    } send[TUTTI_MAX_GPUS];
    struct tutti_move_receive {
        void *at;
        uint64_t bytes;
    } receive[TUTTI_MAX_GPUS];
};

/* Why runs have no address yet: blocks have gaps, are in memory of the host, or are put aside; or none is, and several
 * blocks are joined. */
enum tutti_packed { TUTTI_PACKED_NOT, TUTTI_PACKED, TUTTI_PACKED_JOINED };

/* Which blocks of a rank that have bytes lie in memory of the host. */
enum tutti_hosted { TUTTI_HOSTED_NONE, TUTTI_HOSTED_SOME, TUTTI_HOSTED_ALL };

/* The blocks of one call on this rank. */
struct tutti_move {
    struct tutti_move_block *send, *receive;
    int sends, receives;
    int aside;        /* 1: blocks are received where others are sent from, which have to be copied first */
    int spare;        /* 1: the program asks for moves that take no multiprocessor */
    int joins;        /* 1: the rank takes part also if all its blocks lie in memory of the host; the peers decide */
    int current;      /* GPU of the thread that makes the call, for blocks in memory that all GPUs reach; -1: unknown */
    const char *name; /* of the program's call, for reports */
    struct tutti_p2p_worker *worker; /* of this call alone: it lists no other sends */
    /* Set by the algorithm: a status, the first failure after which blocks are not complete; and 1 if a block was
     * longer than its buffer. TUTTI_OK and 0 at first. */
    int failed, truncated;
    /* From here on, what each run of the call changes: see tutti_move_clear(). Another thread reads what is above. */
    struct tutti_seen seen; /* begins as memory of the host */
    int engines; /* 1: copy engines store what is received, where it is a run of bytes; set by the algorithm */
    /* Of rows that post (coll/move/blocks.h): the rendezvous of the blocks that are sent, NULL: none is posted; and 1
     * if all ranks have posted theirs before they arrived. */
    struct tutti_p2p_send *posted;
    int all_posted;
    /* The same blocks as runs of bytes, set by coll/ if possible: */
    struct tutti_move_runs {
        int are, gpu, near; /* are: 1: they are runs; near: 1: received blocks lie in memory of that GPU alone */
        int before;         /* 1: the team was not open when these were set */
        int packed;         /* enum tutti_packed: whether some runs have no address yet (move/packing.h) */
        int host;           /* enum tutti_hosted */
        int ordinary;       /* 1: some of that memory is not pinned */
        int why; /* enum tutti_reason: why this rank has no row for blocks in device memory alone; 0: it has */
        /* piece: where the call goes in pieces the power of two of their bytes of each run, first this rank's own, then
         * that of all ranks; 0: in one piece. pieces: how many. */
        unsigned piece, pieces;
        /* Bit r: the run to, or from, rank r consists of several blocks that do not follow each other in memory. */
        uint64_t joined_sends, joined_receives;
        struct tutti_move_flow flow;
    } runs;
};

/* Collective over the team's ranks, in stream order, as tutti_enqueue(): returns when the kernels have been put into
 * `stream`, in which the runs will be ready; may be captured in a graph; never waits for a peer, takes no memory.
 * tutti_enqueue_open() has opened the team. call: `collective`, one of those that move data (its rules decide),
 * `root` and `flow`; no other member is used. Copied before it returns. The runs lie in memory that kernels of the
 * team's GPU reach. Any size. On success *why is the algorithm's name. TUTTI_ERR_UNAVAILABLE, the same on all ranks,
 * if the team's GPUs have no kernels for it (ranks that share a GPU); then nothing was put into the stream. */
int tutti_move_enqueue(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                       const char **why);

/* Collective over the team's ranks; blocking. The first algorithm that all ranks can run moves call->move; NULL
 * there: this rank cannot take part, for the reason set by tutti_why_set(). *how: how the call was done;
 * call->move->failed then. NULL: nothing was done, on all ranks, and tutti_why_take() returns the reason. A status; the
 * team is whole. */
int tutti_move_run(struct tutti_team *team, const struct tutti_call *call, const char **how);

/* The same on a team of one rank, which need not be open: the rank's own blocks. Local. can: 1 if the call can be made,
 * but for a lack of memory; 0: the reason is set. alone: only where it can. */
int tutti_move_alone_can(const struct tutti_team *team, const struct tutti_call *call);
int tutti_move_alone(struct tutti_team *team, const struct tutti_call *call, const char **how);

/* The same in parts, for calls that run later than they are made (job.h). able: local, while no call of the team is
 * under way; rows that this rank can run, bit i of row i; 0: it cannot take part, and the reason is set. The result
 * is valid until the team's next call, which may open the team, also on another GPU. decline: local; announces a
 * call in which this rank cannot take part, for the reason that is set and stays set. run_rows: all of a call whose
 * rows are known. */
uint32_t tutti_move_able(struct tutti_team *team, const struct tutti_call *call);
/* Local. Before a run of the call: forgets what the last one has found out, or found in this memory. */
void tutti_move_clear(struct tutti_move *move);
void tutti_move_decline(struct tutti_team *team, const struct tutti_call *call);
/* Local. 1: this rank, whose blocks of `largest` bytes at most lie in memory of `gpu` on one side and in memory of the
 * host on the other (ordinary: not pinned), leaves such a call to the MPI by the rules. What tutti_move_run() finds out
 * too, without a description of the blocks. call->move: all that is needed is that there is one. */
int tutti_move_leaves(const struct tutti_team *team, const struct tutti_call *call, size_t largest, int ordinary,
                      int gpu);
/* Local, blocking calls, before the call's blocks are described: 1: this rank leaves the call, with blocks of `largest`
 * bytes at most, to the MPI, since peers are expected to do so, as in the calls before (declined.h). 0: that is not
 * known yet, and tutti_move_run() finds it out. call->move: its `spare` alone is needed. */
int tutti_move_declines(struct tutti_team *team, const struct tutti_call *call, size_t largest);
/* Local. 1: peers with device memory have asked this rank to take part in the next call of the collective on the team
 * though its blocks lie in memory of the host. */
int tutti_move_is_asked(const struct tutti_team *team, enum tutti_collective collective);
int tutti_move_run_rows(struct tutti_team *team, const struct tutti_call *call, uint32_t able, const char **how);
/* Collective over the team's ranks, blocking, and a call of its own: the rows that all ranks can run; 0: none, and
 * the reason is set. A status. */
int tutti_move_agree(struct tutti_team *team, const struct tutti_call *call, uint32_t *able);

#endif

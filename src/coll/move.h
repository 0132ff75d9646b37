/* Collectives that move data among the ranks of one node: a call as blocks that this rank sends and receives, and
 * running it. Used by src/mpi/move/ and src/shmem/stream/. */
#ifndef TUTTI_COLL_MOVE_H
#define TUTTI_COLL_MOVE_H

#include "coll/coll.h"
#include "kernels/args.h"
#include "p2p/p2p.h"
#include "p2p/seen.h"

/* What goes to one rank, or comes from it. The blocks of one rank are in the order in which they meet. */
struct tutti_move_block {
    struct tutti_elements elements; /* plan NULL where there are no elements */
    uint64_t bytes;                 /* of its packed form */
    int rank;
    int gpu; /* that holds it; set by the algorithm, where bytes > 0 */
};

/* Block i of those to be received, as its sender has posted it. */
struct tutti_move_arrival {
    struct tutti_rndv *rndv; /* NULL: the sender has posted none, an error of the program */
    uint32_t number;         /* of the rendezvous */
    int peer;                /* its sender's rank in the node */
};

/* Messages by which an algorithm moves blocks. The caller of tutti_move_run() has them; they keep what fails, as the
 * caller's own code. All are local. */
struct tutti_move_ops {
    /* Posts block i of those to be sent as a rendezvous for a rank of the node, without a notice to that rank. NULL:
     * the block cannot be posted. job->bytes > 0: the job has to run on the send's GPU before peers may look. */
    struct tutti_p2p_send *(*post)(void *with, int i, int peer, struct tutti_pack_job *job);
    /* Each posted send gets one of these: `withdraw` while no peer knows it; `list` once peers do, to have it polled.
     */
    void (*withdraw)(void *with, struct tutti_p2p_send *sent);
    void (*list)(void *with, struct tutti_p2p_send *sent);
    /* Of a listed one: waits until the data have left the program's buffer, and lets it go. */
    void (*await)(void *with, struct tutti_p2p_send *sent);
    /* Fetches all blocks to be received, and waits for them. */
    void (*fetch)(void *with, const struct tutti_move_arrival *from);
};

/* A move in stream order: one run of bytes to each rank of the team and one from each, by rank. Every run may begin at
 * any address. What a rank sends to another one is as long as what that one receives from it: both know the length, and
 * no other rank has to. Bytes may be zero, and differ from rank to rank; where they are zero the address is not looked
 * at. Runs that are sent may overlap each other (a broadcast's root sends the same one to all). A run that is received
 * overlaps no other run of the call but one: receive[rank] may be the very run send[rank], which stays as it is. With
 * bytes of zero in both, this rank's own run stays as well (MPI_IN_PLACE). */
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

/* The blocks of one call on this rank. */
struct tutti_move {
    struct tutti_move_block *send, *receive;
    int sends, receives;
    struct tutti_endpoint *endpoint;
    struct tutti_seen seen; /* begins as memory of the host */
    const struct tutti_move_ops *ops;
    void *with;  /* of ops */
    int current; /* GPU of the thread that makes the call, for blocks in memory that all GPUs reach; -1: unknown */
    /* The same blocks as runs of bytes, set by coll/ where they are such: */
    struct tutti_move_runs {
        int are, gpu, near; /* are: 1: they are; near: 1: what is received lies in memory of that GPU alone */
        int before;         /* 1: the team was not open when this was found out */
        struct tutti_move_flow flow;
    } runs;
};

/* Collective over the team's ranks, in stream order, as tutti_enqueue() is: returns when the kernels have been put into
 * `stream`, in which the runs will be ready; may be captured in a graph; never waits for a peer, takes no memory. The
 * team is open by tutti_enqueue_open(). call: `collective`, one of those that move data (its rules decide), `root` and
 * `flow`; no other member counts. Copied before it returns. The runs lie in memory that kernels of the team's GPU
 * reach. Any size. On success *why is the algorithm's name. TUTTI_ERR_UNAVAILABLE, the same on all ranks, where the
 * team's GPUs have no kernels for it (ranks that share a GPU); then nothing was put into the stream. */
int tutti_move_enqueue(struct tutti_team *team, const struct tutti_call *call, struct tutti_stream *stream,
                       const char **why);

/* Collective over the team's ranks; blocking. The first algorithm that all ranks can run moves call->move; NULL there:
 * this rank cannot take part, for the reason set by tutti_why_set(). *how says how the call was done, as far as the ops
 * have not failed; NULL: nothing was done, on all ranks, and tutti_why_take() says why. A status; the team is whole. */
int tutti_move_run(struct tutti_team *team, const struct tutti_call *call, const char **how);

/* The same in parts, for calls that run later than they are made (job.h). able: local, while no call of the team is
 * under way; rows that this rank can run, bit i of row i; 0: it cannot take part, and the reason is set. They stay true
 * until the team's next call: it may open the team, also on another GPU. decline: local; announces a call that this
 * rank cannot take part in, for the reason that is set and stays set. run_rows: all of a call whose rows are known. */
uint32_t tutti_move_able(const struct tutti_team *team, const struct tutti_call *call);
void tutti_move_decline(struct tutti_team *team, const struct tutti_call *call);
int tutti_move_run_rows(struct tutti_team *team, const struct tutti_call *call, uint32_t able, const char **how);
/* Collective over the team's ranks, blocking, and a call of its own: the rows that all ranks can run; 0: none, and the
 * reason is set. A status. */
int tutti_move_agree(struct tutti_team *team, const struct tutti_call *call, uint32_t *able);

#endif

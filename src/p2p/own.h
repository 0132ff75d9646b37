/* Private to the protocols among ranks of a node: direct.c, packed.c, carried.c and what they share. */
#ifndef TUTTI_P2P_OWN_H
#define TUTTI_P2P_OWN_H

#include <stdatomic.h>

#include "core/status.h"
#include "p2p/p2p.h"

enum { TUTTI_CARRY_BYTES = 4 << 20 }; /* bytes of a part that the transport carries: both sides count in these */
enum { TUTTI_BATCH = 64 };            /* jobs of one launch */

/* 1 if messages to or from this rank of the node are the rank's messages to itself. */
static inline int tutti_p2p_is_self(const struct tutti_p2p_worker *worker, int peer)
{
    return peer == tutti_node_rank(worker->node);
}

/* ---- sender ---- */

/* Packing jobs of one poll. */
struct tutti_p2p_batch {
    struct tutti_pack_job job[TUTTI_BATCH];
    struct tutti_p2p_send *of[TUTTI_BATCH];
    unsigned pieces[TUTTI_BATCH];
    unsigned n;
};

static inline enum tutti_must tutti_send_asked(const struct tutti_p2p_send *send)
{
    return (enum tutti_must)atomic_load_explicit(&send->rndv->must, memory_order_acquire);
}

/* A failure ends the send if the receiver has no other way to the data: a part was sent, or it has asked for them. A
 * lack of memory is tried again. */
static inline void tutti_send_note(struct tutti_p2p_send *send, int status, int begun)
{
    if (status != TUTTI_OK && status != TUTTI_ERR_MEMORY && (begun || tutti_send_asked(send) > TUTTI_MUST_HURRY))
        send->failed = status;
}

/* The receiver does not fetch, or has asked for it: the message is packed into scratch, or carried. waited: ns. */
void tutti_packed_urge(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_p2p_batch *batch,
                       uint64_t waited);
/* Those pieces are packed. */
void tutti_packed_add(struct tutti_p2p_send *send, uint64_t pieces);
/* Gives the transport the remaining parts, as far as there is room. */
void tutti_carried_send(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);
/* Frees the parts that have been sent. */
void tutti_carried_sweep(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);
/* direct.c: describes the buffer in the rendezvous: send->shown. */
void tutti_direct_show(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);
/* 1 if the MPI is to have the message, as mapping the buffer's allocation does not pay yet. */
int tutti_direct_leaves(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send);
/* Shared by direct, packed and those made of them: the receiver takes rendezvous, and maps the scratch, into which each
 * of these protocols may have to pack. */
int tutti_rndv_reaches(struct tutti_p2p_worker *worker, int peer, int gpu);
void tutti_rndv_cancel(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send);

/* ---- receiver ---- */

/* One rendezvous while it is fetched. */
struct tutti_p2p_fetch {
    struct tutti_p2p_worker *worker;
    struct tutti_p2p_recv *recv;
    struct tutti_rndv *rndv;
    struct tutti_mapping *held;
    struct tutti_mapping *like; /* of the message before in the same launch: this one may lie there too; or NULL */
    const struct tutti_protocol_ops *ops;
    enum tutti_rndv_state state;   /* state from which it is moved on: GETTING, BOUNCE, AM */
    int gpu;                       /* GPU whose kernels fetch it */
    const struct tutti_plan *from; /* of the sender; held */
    uint64_t pieces;               /* pieces that the job takes */
    int engines;                   /* 1: by copy engines: the job is one run of bytes */
    const int *used;               /* the GPUs that the program has used, `uses` of them */
    int uses;
    uint64_t waiting; /* bytes of messages that have arrived and that this rank does not fetch yet, this one too */
    int gpus[TUTTI_ENDPOINT_GPUS + 1], n; /* candidates, the best first */
};

/* engines.c. 1 if the sender asks for copy engines, and both sides are one run of bytes on the GPU. */
int tutti_engines_take(const struct tutti_p2p_fetch *fetch);
/* put.c. 1: the sender of an offered message was asked to store it; 0: this rank fetches it. The candidates of
 * tutti_fetch_gpus() are known. */
int tutti_put_ask(struct tutti_p2p_fetch *fetch);
/* meanwhile.c. As tutti_pack_copies(), for a caller that has found the kernels of the GPU not loaded
 * (tutti_endpoint_lacks_kernels()), of jobs within its memory; own: all are messages of this rank to itself.
 * TUTTI_ERR_UNAVAILABLE: nothing was done, and kernels do it. */
int tutti_engines_meanwhile(struct tutti_p2p_worker *worker, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                            int own);
/* Packs messages of one GPU into scratch there: tutti_pack_reached(), or engines if all of them are this rank's own and
 * the kernels are not loaded. */
int tutti_engines_pack(struct tutti_p2p_worker *worker, struct tutti_p2p_send *const sends[],
                       const struct tutti_pack_job *jobs, unsigned n);
/* store.c. Releases what was held for a job. */
void tutti_fetch_release(struct tutti_p2p_fetch *fetch);
/* The GPUs to fetch by, the best first: fetch->gpus. */
void tutti_fetch_gpus(struct tutti_p2p_fetch *fetch);
/* 1 if the receiver's buffer lies on fetch->gpu. Kernels reach pinned memory too, but copy engines fill it faster. */
int tutti_fetch_is_direct(const struct tutti_p2p_fetch *fetch);
/* 1 if all of a job's bytes are stored in one allocation of the GPU that fetches them. */
int tutti_fetch_is_near(const struct tutti_p2p_fetch *fetch);
/* The message has ended with this status. */
void tutti_recv_end(struct tutti_p2p_recv *recv, int status);
/* The whole message has arrived, or failed. The rendezvous leaves its state once: its owner may use it again at
 * once. */
void tutti_fetch_end(struct tutti_p2p_fetch *fetch, int status);
/* to_host.c. A message has been fetched. */
void tutti_to_host_note(const struct tutti_p2p_fetch *fetch);
/* Releases the sender of a message that is too long for the buffer. 0: the rendezvous has moved on: later. */
int tutti_fetch_drop(struct tutti_p2p_fetch *fetch);
/* Stores bytes [first, first + bytes) of the message: of the sender's elements if they have a plan, otherwise packed
 * ones at `data`. 1: `job` must be run by kernels of fetch->gpu, which reach all of it; TUTTI_OK: the bytes are
 * stored; negative: a status. */
int tutti_fetch_move(struct tutti_p2p_fetch *fetch, const struct tutti_elements *theirs, char *data, uint64_t first,
                     uint64_t bytes, struct tutti_pack_job *job);
/* Stores packed bytes of the host into the program's buffer. Elements without a plan are collected, and unpacked
 * with the last of them. A status. */
int tutti_recv_store(struct tutti_p2p_recv *recv, char *packed, uint64_t first, uint64_t bytes);

#endif

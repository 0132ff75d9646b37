/* Protocol `packed`: the sender packs the message into its scratch, and the receiver's kernel fetches it from there.
 * A message larger than the scratch passes through it piece after piece. */
#include "core/clock.h"
#include "core/log.h"
#include "p2p/own.h"
#include "team/node.h"

enum {
    GRACE_BYTES = 100,            /* the receiver gets a nanosecond more for so many bytes */
    GRACE_ROOM_NS = 5000000,      /* how long scratch may be full for a message that its receiver has asked for */
    GRACE_CARRIED_NS = 100000000, /* how long the receiver may be absent before the data go through host memory */
    /* How long a message waits before it takes scratch: SCRATCH_NS if the receiver has mapped the allocation;
       SCRATCH_MAPPING_NS if it may be mapping it now, or is this rank. */
    SCRATCH_NS = 100000,
    SCRATCH_MAPPING_NS = 20000000,
    OWN_LOOKS = 100 /* how often before, for a message of this rank to itself */
};

/* ---- sender ---- */

/* Takes the next free pieces. 0: there is no room. */
static unsigned packed_next(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send,
                            struct tutti_pack_job *job)
{
    const struct tutti_rndv *rndv = send->rndv;
    const unsigned n = tutti_endpoint_room(worker->endpoint, rndv, send->bytes, send->packed);
    const uint64_t first = send->packed * rndv->piece, most = n * rndv->piece;
    if (n)
        *job = tutti_elements_job(TUTTI_PACK, &send->elements, first,
                                  most < send->bytes - first ? most : send->bytes - first,
                                  send->scratch + send->packed % rndv->slots * rndv->piece);
    return n;
}

void tutti_packed_add(struct tutti_p2p_send *send, uint64_t pieces)
{
    send->packed += pieces;
    atomic_store_explicit(&send->rndv->packed, send->packed, memory_order_release);
}

/* In a collective the rendezvous also names the allocation to its receiver. */
static int packed_can(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    if (send->agreed)
        tutti_direct_show(worker, send);
    else
        TUTTI_RNDV_SET(send->rndv->share.shared, 0);
    return 1;
}

/* With scratch for the whole message the sender needs no other rank. If the receiver fetches every piece, less scratch
 * is enough. */
static enum tutti_protocol_cost packed_cost(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    if (tutti_direct_leaves(worker, send)) {
        tutti_why_set(TUTTI_REASON_UNMAPPED);
        return TUTTI_COST_NEVER;
    }
    send->scratch = tutti_endpoint_scratch(worker->endpoint, send->rndv, send->bytes, !send->agreed);
    return send->scratch ? TUTTI_COST_READY : TUTTI_COST_NEVER;
}

static int packed_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    struct tutti_pack_job piece;
    unsigned n;
    if (job) {
        tutti_packed_add(send, packed_next(worker, send, job));
        tutti_rndv_move(send->rndv, TUTTI_RNDV_FREE, TUTTI_RNDV_BOUNCE);
        return 1;
    }
    do {
        n = packed_next(worker, send, &piece);
        if (n && tutti_engines_pack(worker, &send, &piece, 1) != TUTTI_OK)
            return 0;
        tutti_packed_add(send, n);
    } while (send->now && n);
    tutti_rndv_move(send->rndv, TUTTI_RNDV_FREE, TUTTI_RNDV_BOUNCE);
    return 1;
}

/* 1: a rank fetches from itself as soon as it polls its receive, so that a message for which scratch would have to
 * be allocated waits for that. */
static int packed_own_waits(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, enum tutti_must must)
{
    if (must != TUTTI_MUST_NOT || !tutti_p2p_is_self(worker, (int)send->rndv->to) ||
        !tutti_endpoint_scratch_takes(worker->endpoint, send->gpu))
        return 0;
    send->looks++;
    return 1;
}

/* Packs piece after piece only if the receiver has asked for it, so that it fetches each piece; otherwise the whole
 * message. If the receiver has not mapped the scratch, or cannot use it, the message is carried. */
void tutti_packed_urge(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_p2p_batch *batch,
                       uint64_t waited)
{
    const enum tutti_must must = tutti_send_asked(send);
    const int later = packed_own_waits(worker, send, must);
    if (!send->scratch && must != TUTTI_MUST_CARRY && !later)
        send->scratch = tutti_endpoint_scratch(worker->endpoint, send->rndv, send->bytes, must != TUTTI_MUST_PACK);
    if (!send->scratch) {
        const uint64_t usual = send->shown == TUTTI_SHOWN_KNOWN && !later ? SCRATCH_NS : SCRATCH_MAPPING_NS;
        if (must == TUTTI_MUST_NOT && waited > usual + send->extra_grace &&
            (!later || send->looks > OWN_LOOKS)) /* the next one need not wait */
            tutti_endpoint_offer_soon(worker->endpoint, send->gpu);
        const uint64_t grace = must == TUTTI_MUST_NOT ? GRACE_CARRIED_NS : must == TUTTI_MUST_PACK ? GRACE_ROOM_NS : 0;
        tutti_endpoint_urge(worker->endpoint, send->rndv);
        if (grace == 0 || waited > grace + send->extra_grace + send->bytes / GRACE_BYTES)
            tutti_carried_send(worker, send);
        return;
    }
    if (!tutti_rndv_win(send->rndv, TUTTI_RNDV_MOVING))
        return;
    batch->pieces[batch->n] = packed_next(worker, send, &batch->job[batch->n]);
    batch->of[batch->n++] = send;
}

static int packed_out(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send)
{
    (void)worker;
    return send->bytes == 0 || send->packed == tutti_pieces(send->bytes, send->rndv->piece);
}

/* Packs further pieces of a message in scratch; asks the receiver to take some if there is no room. */
static void packed_poll(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_p2p_batch *batch,
                        uint64_t now)
{
    (void)now;
    if (!send->scratch || send->failed != TUTTI_OK || packed_out(worker, send))
        return;
    batch->pieces[batch->n] = packed_next(worker, send, &batch->job[batch->n]);
    if (batch->pieces[batch->n])
        batch->of[batch->n++] = send;
    else
        tutti_endpoint_urge(worker->endpoint, send->rndv);
}

/* ---- receiver ---- */

/* Those pieces have been taken. 1: they were the last. */
static int packed_fetched(struct tutti_p2p_fetch *f)
{
    f->recv->taken += f->pieces;
    atomic_store_explicit(&f->rndv->taken, f->recv->taken, memory_order_release);
    return f->recv->taken == tutti_pieces(f->recv->bytes, f->rndv->piece);
}

/* The address of the pieces, for the first of these GPUs that reaches them. One GPU has the scratch mapped. The
 * sender may be in a call in which it does not send descriptors. */
static enum tutti_reaching find_pieces(struct tutti_p2p_fetch *f, const int *gpus, int n,
                                       struct tutti_endpoint_run *run)
{
    const struct tutti_p2p_recv *recv = f->recv;
    enum tutti_reaching there = TUTTI_REACH_NOT;
    int later = 0;
    for (int i = 0; i < n && there != TUTTI_REACHED; i++) {
        there = tutti_endpoint_pieces(f->worker->endpoint, recv->rts.rank, f->rndv, f->gpu = gpus[i], recv->bytes,
                                      recv->taken, run);
        later |= there == TUTTI_REACH_LATER;
    }
    return there != TUTTI_REACHED && later ? TUTTI_REACH_LATER : there;
}

/* The sender has packed them when this process had mapped its scratch, for a GPU that the program has since reset.
 * That GPU is used once more, since the data exist only there. */
static enum tutti_reaching find_after_reset(struct tutti_p2p_fetch *f, struct tutti_endpoint_run *run)
{
    int gpus[TUTTI_ENDPOINT_GPUS];
    const int n = tutti_endpoint_reset_gpus(f->worker->endpoint, gpus);
    for (int i = 0; i < n; i++)
        tutti_endpoint_use(f->worker->endpoint, gpus[i]);
    const enum tutti_reaching there = find_pieces(f, gpus, n, run);
    if (there == TUTTI_REACH_NOT)
        tutti_error("a message from rank %d cannot be taken: it lies in memory of a GPU that no GPU of this process "
                    "reaches",
                    tutti_node_world(f->worker->node, f->recv->rts.rank));
    return there;
}

static int packed_fetch(struct tutti_p2p_fetch *f, struct tutti_pack_job *job)
{
    static const struct tutti_elements packed;
    struct tutti_p2p_recv *recv = f->recv;
    struct tutti_endpoint_run run;
    f->state = TUTTI_RNDV_BOUNCE;
    tutti_fetch_gpus(f);
    enum tutti_reaching there = find_pieces(f, f->gpus, f->n, &run);
    if (there == TUTTI_REACH_NOT)
        there = find_after_reset(f, &run);
    if (there == TUTTI_REACH_LATER)
        return 0;
    if (recv->taken == 0)
        tutti_endpoint_meet(f->worker->endpoint, recv->rts.rank, f->rndv, f->gpu);
    int status =
        there == TUTTI_REACHED ? tutti_fetch_move(f, &packed, run.data, run.first, run.bytes, job) : TUTTI_ERR_ARGUMENT;
    f->pieces = there == TUTTI_REACHED ? run.pieces : 0;
    if (status == 1)
        return 1;
    if (status == TUTTI_OK && !packed_fetched(f))
        return 0;
    tutti_fetch_end(f, status);
    return -1;
}

const struct tutti_protocol_ops tutti_packed_ops = {.reaches = tutti_rndv_reaches,
                                                    .can = packed_can,
                                                    .cost = packed_cost,
                                                    .post = packed_post,
                                                    .poll = packed_poll,
                                                    .out = packed_out,
                                                    .cancel = tutti_rndv_cancel,
                                                    .fetch = packed_fetch,
                                                    .fetched = packed_fetched,
                                                    .drop = tutti_fetch_drop,
                                                    .instead = TUTTI_PROTOCOL_direct};

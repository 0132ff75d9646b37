/* Protocol `carried`: the receiver can map no memory of the sender, or is still mapping it; or the receiver is absent
 * and there is no scratch. The transport carries the packed message through pinned memory, part after part, with the
 * rendezvous's number as tag. No rule names it: it is the fallback of `packed`. */
#include <stdlib.h>

#include "bounce/bounce.h"
#include "core/clock.h"
#include "p2p/own.h"
#include "team/node.h"

/* Parts under way at a time, and the time without progress after which one more is sent. After LEAVE_NS without
 * progress a send ends whose receiver may be in a call of the MPI in which it takes no parts. */
enum { PARTS = 2, MORE_NS = 5000000, LEAVE_NS = 100000000 };

/* ---- sender ---- */

struct tutti_carried {
    struct tutti_carried *next;
    struct tutti_bounce *bounce; /* pinned */
    struct tutti_transfer data;
};

static void end_part(struct tutti_carried *part)
{
    tutti_bounce_give(part->bounce);
    free(part);
}

void tutti_carried_sweep(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    struct tutti_carried **at = &send->parts;
    while (*at) {
        struct tutti_carried *part = *at;
        int done = 0;
        if (worker->transport->ops->test(worker->transport, &part->data, NULL, &done) != TUTTI_OK)
            done = 1;
        if (!done) {
            at = &part->next;
            continue;
        }
        *at = part->next;
        end_part(part);
        send->part_count--;
        send->carried_at = tutti_now_ns();
    }
}

static int send_part(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    const uint64_t left = send->bytes - send->carried, bytes = left < TUTTI_CARRY_BYTES ? left : TUTTI_CARRY_BYTES;
    struct tutti_carried *part = calloc(1, sizeof *part);
    if (!part)
        return TUTTI_ERR_MEMORY;
    part->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    int status = TUTTI_ERR_MEMORY;
    if (part->bounce) {
        const struct tutti_pack_job job =
            tutti_elements_job(TUTTI_PACK, &send->elements, send->carried, bytes, part->bounce->memory);
        status = tutti_pack_now(send->gpu, &job, 1);
    }
    if (status == TUTTI_OK)
        status = worker->transport->ops->send(worker->transport, part->bounce->memory, bytes,
                                              tutti_node_world(worker->node, (int)send->rndv->to),
                                              tutti_endpoint_number(worker->endpoint, send->rndv), 0, &part->data);
    if (status != TUTTI_OK) {
        end_part(part);
        return status;
    }
    part->next = send->parts;
    send->parts = part;
    send->part_count++;
    send->carried += bytes;
    send->carried_at = tutti_now_ns();
    return TUTTI_OK;
}

/* Packs part after part into pinned memory, for the transport to carry. After a while a receiver that takes no parts
 * gets all of them, so that the program's buffer does not wait for it. A lack of memory is tried again. Any other
 * failure ends the message: the receiver waits for the rest until this process has ended. The first part is sent only
 * if the rendezvous is won: a receiver may have begun to fetch since the caller looked. */
void tutti_carried_send(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    struct tutti_rndv *rndv = send->rndv;
    const int begins = !tutti_rndv_is(rndv, TUTTI_RNDV_AM);
    if (begins && !tutti_rndv_win(rndv, TUTTI_RNDV_MOVING))
        return;
    if (begins && tutti_send_asked(send) != TUTTI_MUST_HURRY)
        tutti_endpoint_distrust(worker->endpoint, rndv);
    int status = TUTTI_OK;
    tutti_carried_sweep(worker, send);
    while (send->carried < send->bytes && status == TUTTI_OK &&
           (send->part_count < PARTS || tutti_now_ns() - send->carried_at > MORE_NS))
        status = send_part(worker, send);
    if (begins) /* the receiver may still fetch the rest */
        tutti_rndv_move(rndv, TUTTI_RNDV_MOVING, send->carried > 0 ? TUTTI_RNDV_AM : TUTTI_RNDV_GET);
    tutti_send_note(send, status, send->carried > 0);
}

/* The transport may need this rank for parts that it has not sent, and after the send the program may wait for the
 * receiver outside the MPI. So the send lasts as long as one of the MPI would. */
static int carried_out(const struct tutti_p2p_worker *worker, const struct tutti_p2p_send *send)
{
    if (send->carried < send->bytes)
        return 0;
    return !send->parts || send->local || (!worker->takes_always && tutti_now_ns() - send->carried_at > LEAVE_NS);
}

static void carried_poll(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_p2p_batch *batch,
                         uint64_t now)
{
    (void)batch;
    (void)now;
    if (send->failed == TUTTI_OK && send->carried < send->bytes)
        tutti_carried_send(worker, send);
    else if (send->parts)
        tutti_carried_sweep(worker, send);
    if (send->parts)
        tutti_endpoint_urge(worker->endpoint, send->rndv);
}

/* ---- receiver ---- */

/* A part that is being received. */
struct tutti_carried_part {
    struct tutti_transfer transfer;
    struct tutti_bounce *packed; /* pinned */
};

static void carried_part_end(struct tutti_p2p_recv *recv)
{
    tutti_bounce_give(recv->part->packed);
    free(recv->part);
    recv->part = NULL;
}

static uint64_t part_bytes(const struct tutti_p2p_recv *recv)
{
    const uint64_t left = recv->bytes - recv->came;
    return left < TUTTI_CARRY_BYTES ? left : TUTTI_CARRY_BYTES;
}

/* A lack of memory is tried again: otherwise the parts already sent would be taken for the next message of this
 * rendezvous. */
static int part_begin(struct tutti_p2p_worker *worker, struct tutti_p2p_recv *recv)
{
    struct tutti_transport *transport = worker->transport;
    struct tutti_carried_part *part = calloc(1, sizeof *part);
    if (!part || !(part->packed = tutti_bounce_take(&tutti_bounce_pinned, -1, part_bytes(recv)))) {
        free(part);
        return 0;
    }
    recv->part = part;
    if (transport->ops->receive(transport, part->packed->memory, part_bytes(recv),
                                tutti_node_world(worker->node, recv->rts.rank), recv->rts.number,
                                &part->transfer) == TUTTI_OK)
        return 1;
    carried_part_end(recv);
    return TUTTI_ERR_TRANSPORT;
}

/* 1: a part has arrived, in recv->part; 0: not yet; negative: a status. */
static int part_receive(struct tutti_p2p_worker *worker, struct tutti_p2p_recv *recv)
{
    struct tutti_transport *transport = worker->transport;
    int done = 0, status = recv->part ? 1 : part_begin(worker, recv);
    if (status != 1)
        return status;
    return transport->ops->test(transport, &recv->part->transfer, NULL, &done) == TUTTI_OK ? done : TUTTI_ERR_TRANSPORT;
}

/* Takes the parts that the transport has brought; keep: into the buffer. 1: all have arrived; 0: not yet; negative:
 * a status. */
static int parts_take(struct tutti_p2p_fetch *f, int keep)
{
    struct tutti_p2p_recv *recv = f->recv;
    while (recv->came < recv->bytes) {
        int status = part_receive(f->worker, recv);
        if (status != 1)
            return status;
        const uint64_t bytes = part_bytes(recv);
        status = keep ? tutti_recv_store(recv, recv->part->packed->memory, recv->came, bytes) : TUTTI_OK;
        recv->came += bytes;
        carried_part_end(recv);
        if (status != TUTTI_OK)
            return status;
    }
    return 1;
}

static int carried_fetch(struct tutti_p2p_fetch *f, struct tutti_pack_job *job)
{
    (void)job;
    f->state = TUTTI_RNDV_AM;
    const int status = parts_take(f, 1);
    if (status == 0)
        return 0;
    tutti_fetch_end(f, status == 1 ? TUTTI_OK : status);
    return -1;
}

static int carried_drop(struct tutti_p2p_fetch *f)
{
    return parts_take(f, 0) != 0;
}

const struct tutti_protocol_ops tutti_carried_ops = {
    .poll = carried_poll, .out = carried_out, .fetch = carried_fetch, .drop = carried_drop, .instead = TUTTI_PROTOCOLS};

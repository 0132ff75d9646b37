#include "p2p/rendezvous.h"

#include <stdlib.h>

#include "core/clock.h"
#include "core/status.h"
#include "team/node.h"

enum {
    GRACE_NS = 20000,             /* how long the receiver may come first: about what a packing kernel takes */
    GRACE_BYTES = 100,            /* and a nanosecond more for so many bytes */
    GRACE_ROOM_NS = 5000000,      /* how long scratch may have no room for a message that its receiver has asked for */
    GRACE_CARRIED_NS = 100000000, /* how long the receiver may stay away where the data must go through host memory */
    PARTS = 2                     /* under way at a time, and one more each time that none has gone for GRACE_ROOM_NS */
};

struct tutti_rendezvous {
    struct tutti_endpoint *endpoint;
    struct tutti_node *node;
    struct tutti_transport *transport;
    struct tutti_rendezvous_send *all; /* with a rendezvous */
};

struct tutti_rendezvous *tutti_rendezvous_new(struct tutti_endpoint *endpoint, struct tutti_node *node,
                                              struct tutti_transport *transport)
{
    struct tutti_rendezvous *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->endpoint = endpoint;
    r->node = node;
    r->transport = transport;
    return r;
}

void tutti_rendezvous_free(struct tutti_rendezvous *rendezvous)
{
    free(rendezvous);
}

void tutti_rendezvous_list(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send)
{
    send->next = rendezvous->all;
    send->at = &rendezvous->all;
    if (send->next)
        send->next->at = &send->next;
    rendezvous->all = send;
}

static void list_out(struct tutti_rendezvous_send *send)
{
    if (!send->at)
        return;
    *send->at = send->next;
    if (send->next)
        send->next->at = send->at;
    send->at = NULL;
}

static enum tutti_must asked_for(const struct tutti_rendezvous_send *send)
{
    return (enum tutti_must)atomic_load_explicit(&send->rndv->must, memory_order_acquire);
}

static int overdue(const struct tutti_rendezvous_send *send, uint64_t now)
{
    return asked_for(send) != TUTTI_MUST_NOT ||
           now - send->since > GRACE_NS + send->patience + send->bytes / GRACE_BYTES;
}

/* A failure ends the send if the receiver has no other way to the data: a part has gone, or it has asked for them. A
 * lack of memory may end: it is tried again. */
static void note(struct tutti_rendezvous_send *send, int status, int begun)
{
    if (status != TUTTI_OK && status != TUTTI_ERR_MEMORY && (begun || asked_for(send) != TUTTI_MUST_NOT))
        send->failed = status;
}

/* ---- pieces through scratch ---- */

/* The next pieces that there is room for. 0: none. */
static unsigned next_pieces(const struct tutti_rendezvous *r, const struct tutti_rendezvous_send *send,
                            struct tutti_pack_job *job)
{
    const struct tutti_rndv *rndv = send->rndv;
    const unsigned n = tutti_endpoint_room(r->endpoint, rndv, send->bytes, send->packed);
    const uint64_t first = send->packed * rndv->piece, most = n * rndv->piece;
    if (n)
        *job = tutti_rendezvous_packing(send, send->scratch + send->packed % rndv->slots * rndv->piece, first,
                                        most < send->bytes - first ? most : send->bytes - first);
    return n;
}

static void packed(struct tutti_rendezvous_send *send, uint64_t pieces)
{
    send->packed += pieces;
    atomic_store_explicit(&send->rndv->packed, send->packed, memory_order_release);
}

int tutti_rendezvous_begin_packing(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send,
                                   struct tutti_pack_job *job)
{
    send->scratch = tutti_endpoint_scratch(rendezvous->endpoint, send->rndv, send->bytes, 0);
    if (!send->scratch)
        return 0;
    packed(send, next_pieces(rendezvous, send, job));
    tutti_rndv_set(send->rndv, TUTTI_RNDV_BOUNCE);
    return 1;
}

int tutti_rendezvous_pack(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send, int now)
{
    struct tutti_pack_job job;
    unsigned n;
    send->scratch = tutti_endpoint_scratch(rendezvous->endpoint, send->rndv, send->bytes, 1);
    if (!send->scratch)
        return 0;
    do {
        n = next_pieces(rendezvous, send, &job);
        if (n && tutti_pack_now(send->gpu, &job, 1) != TUTTI_OK)
            return 0;
        packed(send, n);
    } while (now && n);
    tutti_rndv_set(send->rndv, TUTTI_RNDV_BOUNCE);
    return 1;
}

/* ---- parts that the transport carries ---- */

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

/* Lets go of the parts that have gone. */
static void sweep_parts(struct tutti_rendezvous *r, struct tutti_rendezvous_send *send)
{
    struct tutti_carried **at = &send->parts;
    while (*at) {
        struct tutti_carried *part = *at;
        int done = 0;
        if (r->transport->ops->test(r->transport, &part->data, NULL, &done) != TUTTI_OK)
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

static int send_part(struct tutti_rendezvous *r, struct tutti_rendezvous_send *send)
{
    const uint64_t left = send->bytes - send->carried, bytes = left < TUTTI_CARRY_BYTES ? left : TUTTI_CARRY_BYTES;
    struct tutti_carried *part = calloc(1, sizeof *part);
    if (!part)
        return TUTTI_ERR_MEMORY;
    part->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    int status = TUTTI_ERR_MEMORY;
    if (part->bounce) {
        const struct tutti_pack_job job = tutti_rendezvous_packing(send, part->bounce->memory, send->carried, bytes);
        status = tutti_pack_now(send->gpu, &job, 1);
    }
    if (status == TUTTI_OK)
        status = r->transport->ops->send(r->transport, part->bounce->memory, bytes,
                                         tutti_node_world(r->node, (int)send->rndv->to),
                                         tutti_endpoint_number(r->endpoint, send->rndv), 0, &part->data);
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

/* Packs into pinned memory, part after part, which the transport carries. A receiver that takes none gets them all the
 * same, in time: the program's buffer is not to wait for it. Without memory it is tried again. What else fails ends the
 * message: the receiver waits for the rest of it until this process has gone. */
static void carry(struct tutti_rendezvous *r, struct tutti_rendezvous_send *send)
{
    struct tutti_rndv *rndv = send->rndv;
    const int begins = tutti_rndv_is(rndv, TUTTI_RNDV_GET);
    if (begins && !tutti_rndv_win(rndv, TUTTI_RNDV_MOVING))
        return;
    int status = TUTTI_OK;
    sweep_parts(r, send);
    while (send->carried < send->bytes && status == TUTTI_OK &&
           (send->part_count < PARTS || tutti_now_ns() - send->carried_at > GRACE_ROOM_NS))
        status = send_part(r, send);
    if (begins) /* the receiver may still come for what has not begun to leave */
        tutti_rndv_set(rndv, send->carried > 0 ? TUTTI_RNDV_AM : TUTTI_RNDV_GET);
    note(send, status, send->carried > 0);
}

/* ---- bringing on ---- */

/* 1 where the data are out of the program's buffer, or are wanted no more. */
static int is_out(const struct tutti_rendezvous_send *send)
{
    switch (atomic_load_explicit(&send->rndv->state, memory_order_acquire)) {
    case TUTTI_RNDV_GET:
    case TUTTI_RNDV_GETTING:
    case TUTTI_RNDV_MOVING:
        return 0;
    case TUTTI_RNDV_BOUNCE:
        return send->bytes == 0 || send->packed == tutti_pieces(send->bytes, send->rndv->piece);
    case TUTTI_RNDV_AM:
        return send->carried == send->bytes;
    default:
        return 1;
    }
}

enum { MOST = 64 };

struct batch {
    struct tutti_pack_job job[MOST];
    struct tutti_rendezvous_send *of[MOST];
    unsigned pieces[MOST];
    unsigned n;
};

/* One launch for each GPU. */
static void run(struct batch *all)
{
    for (unsigned done = 0; done < all->n;) {
        struct tutti_pack_job jobs[MOST];
        unsigned of[MOST], n = 0;
        int gpu = -1;
        for (unsigned i = 0; i < all->n; i++) {
            if (!all->of[i] || (n > 0 && all->of[i]->gpu != gpu))
                continue;
            gpu = all->of[i]->gpu;
            jobs[n] = all->job[i];
            of[n++] = i;
        }
        const int status = tutti_pack_now(gpu, jobs, n);
        for (unsigned k = 0; k < n; k++) {
            struct tutti_rendezvous_send *send = all->of[of[k]];
            all->of[of[k]] = NULL;
            note(send, status, send->packed > 0);
            if (status == TUTTI_OK)
                packed(send, all->pieces[of[k]]);
            if (tutti_rndv_is(send->rndv, TUTTI_RNDV_MOVING))
                tutti_rndv_set(send->rndv, status == TUTTI_OK ? TUTTI_RNDV_BOUNCE : TUTTI_RNDV_GET);
        }
        done += n;
    }
}

/* Offered, and not fetched in time: into scratch, where the receiver has mapped it. Piece after piece only if the
 * receiver has asked for it, which then comes for each; otherwise whole. */
static void urge(struct tutti_rendezvous *r, struct tutti_rendezvous_send *send, struct batch *all, uint64_t now)
{
    if (!overdue(send, now))
        return;
    const enum tutti_must must = asked_for(send);
    const uint64_t waited = now - send->since;
    if (!send->scratch && must != TUTTI_MUST_CARRY)
        send->scratch = tutti_endpoint_scratch(r->endpoint, send->rndv, send->bytes, must == TUTTI_MUST_NOT);
    if (!send->scratch) {
        const uint64_t grace = must == TUTTI_MUST_NOT ? GRACE_CARRIED_NS : must == TUTTI_MUST_PACK ? GRACE_ROOM_NS : 0;
        tutti_endpoint_urge(r->endpoint, send->rndv);
        if (grace == 0 || waited > grace + send->patience + send->bytes / GRACE_BYTES)
            carry(r, send);
        return;
    }
    if (!tutti_rndv_win(send->rndv, TUTTI_RNDV_MOVING))
        return;
    all->pieces[all->n] = next_pieces(r, send, &all->job[all->n]);
    all->of[all->n++] = send;
}

/* Further pieces of a message in scratch; the receiver is to take some where there is no room. */
static void go_on(struct tutti_rendezvous *r, struct tutti_rendezvous_send *send, struct batch *all)
{
    if (!send->scratch || send->failed != TUTTI_OK || is_out(send))
        return;
    all->pieces[all->n] = next_pieces(r, send, &all->job[all->n]);
    if (all->pieces[all->n])
        all->of[all->n++] = send;
    else
        tutti_endpoint_urge(r->endpoint, send->rndv);
}

void tutti_rendezvous_urge(struct tutti_rendezvous *rendezvous)
{
    struct batch all = {.n = 0};
    const uint64_t now = tutti_now_ns();
    for (struct tutti_rendezvous_send *send = rendezvous->all; send && all.n < MOST; send = send->next) {
        switch (atomic_load_explicit(&send->rndv->state, memory_order_acquire)) {
        case TUTTI_RNDV_GET:
            urge(rendezvous, send, &all, now);
            break;
        case TUTTI_RNDV_BOUNCE:
            go_on(rendezvous, send, &all);
            break;
        case TUTTI_RNDV_AM:
            if (send->failed == TUTTI_OK && send->carried < send->bytes)
                carry(rendezvous, send);
            break;
        default:
            break;
        }
    }
    if (all.n)
        run(&all);
}

int tutti_rendezvous_left(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send, int *status)
{
    struct tutti_rndv *rndv = send->rndv;
    if (!rndv)
        return 1;
    if (!is_out(send)) {
        const int alive = tutti_endpoint_watch(rendezvous->endpoint, (int)rndv->to);
        if (alive == TUTTI_OK && send->failed == TUTTI_OK)
            return 0;
        *status = alive != TUTTI_OK ? alive : send->failed;
    }
    list_out(send);
    tutti_endpoint_let_go(rendezvous->endpoint, rndv);
    send->rndv = NULL;
    return 1;
}

int tutti_rendezvous_carried(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send)
{
    if (send->parts)
        sweep_parts(rendezvous, send);
    return !send->parts;
}

int tutti_rendezvous_alive(struct tutti_rendezvous *rendezvous, const struct tutti_rendezvous_send *send)
{
    return send->rndv ? tutti_endpoint_watch(rendezvous->endpoint, (int)send->rndv->to) : TUTTI_OK;
}

#include "p2p/rendezvous.h"

#include <stdlib.h>

#include "core/clock.h"
#include "core/status.h"
#include "team/node.h"

enum {
    GRACE_NS = 20000,          /* how long the receiver may come first: about what a packing kernel takes */
    GRACE_BYTES = 100,         /* and a nanosecond more for so many bytes */
    GRACE_CARRIED_NS = 5000000 /* where the data would have to go through host memory */
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

/* The receiver has said that it cannot fetch it. */
static int is_asked_for(const struct tutti_rendezvous_send *send)
{
    return atomic_load_explicit(&send->rndv->hurry, memory_order_relaxed) != 0;
}

static int overdue(const struct tutti_rendezvous_send *send, uint64_t now)
{
    return is_asked_for(send) || now - send->since > GRACE_NS + send->patience + send->bytes / GRACE_BYTES;
}

/* Packs into pinned memory, from where the transport carries it when the receiver asks. */
static void carry(struct tutti_rendezvous *r, struct tutti_rendezvous_send *send, uint64_t now)
{
    struct tutti_rndv *rndv = send->rndv;
    const int gpu = tutti_endpoint_gpu(r->endpoint);
    if ((!is_asked_for(send) && now - send->since < GRACE_CARRIED_NS + send->patience) ||
        send->bytes > TUTTI_TRANSFER_MOST || !tutti_rndv_win(rndv, TUTTI_RNDV_MOVING))
        return;
    send->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, send->bytes);
    int status = TUTTI_ERR_MEMORY;
    if (send->bounce) {
        const struct tutti_pack_job job = tutti_rendezvous_packing(send, send->bounce->memory);
        status = tutti_pack_now(gpu, &job, 1);
    }
    if (status == TUTTI_OK)
        status = r->transport->ops->send(r->transport, send->bounce->memory, send->bytes,
                                         tutti_node_world(r->node, (int)rndv->to),
                                         tutti_endpoint_number(r->endpoint, rndv), 0, &send->data);
    if (status == TUTTI_OK) {
        tutti_rndv_set(rndv, TUTTI_RNDV_AM);
        return;
    }
    /* The receiver may still come for it. */
    tutti_bounce_give(send->bounce);
    send->bounce = NULL;
    tutti_rndv_set(rndv, TUTTI_RNDV_GET);
}

void tutti_rendezvous_urge(struct tutti_rendezvous *rendezvous)
{
    enum { MOST = 64 };
    struct tutti_rendezvous *r = rendezvous;
    struct tutti_pack_job jobs[MOST];
    struct tutti_rendezvous_send *of[MOST];
    const uint64_t now = tutti_now_ns();
    unsigned n = 0;
    for (struct tutti_rendezvous_send *send = r->all; send && n < MOST; send = send->next) {
        if (!tutti_rndv_is(send->rndv, TUTTI_RNDV_GET) || !overdue(send, now))
            continue;
        void *scratch = tutti_endpoint_scratch(r->endpoint, send->rndv, send->bytes);
        if (!scratch)
            carry(r, send, now);
        if (!scratch || !tutti_rndv_win(send->rndv, TUTTI_RNDV_MOVING))
            continue;
        jobs[n] = tutti_rendezvous_packing(send, scratch);
        of[n++] = send;
    }
    const int status = n ? tutti_pack_now(tutti_endpoint_gpu(r->endpoint), jobs, n) : TUTTI_OK;
    for (unsigned i = 0; i < n; i++)
        tutti_rndv_set(of[i]->rndv, status == TUTTI_OK ? TUTTI_RNDV_BOUNCE : TUTTI_RNDV_GET);
}

int tutti_rendezvous_left(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send, int *status)
{
    struct tutti_rndv *rndv = send->rndv;
    if (!rndv)
        return 1;
    const uint32_t state = atomic_load_explicit(&rndv->state, memory_order_acquire);
    if (state == TUTTI_RNDV_GET || state == TUTTI_RNDV_GETTING || state == TUTTI_RNDV_MOVING) {
        const int alive = tutti_endpoint_watch(rendezvous->endpoint, (int)rndv->to);
        if (alive == TUTTI_OK)
            return 0;
        *status = alive;
    }
    list_out(send);
    tutti_endpoint_let_go(rendezvous->endpoint, rndv);
    send->rndv = NULL;
    return 1;
}

int tutti_rendezvous_carried(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send)
{
    struct tutti_transport *transport = rendezvous->transport;
    int done = 0;
    if (!send->bounce)
        return 1;
    if (transport->ops->test(transport, &send->data, NULL, &done) != TUTTI_OK)
        done = 1;
    if (!done)
        return 0;
    tutti_bounce_give(send->bounce);
    send->bounce = NULL;
    return 1;
}

int tutti_rendezvous_alive(struct tutti_rendezvous *rendezvous, const struct tutti_rendezvous_send *send)
{
    return send->rndv ? tutti_endpoint_watch(rendezvous->endpoint, (int)send->rndv->to) : TUTTI_OK;
}

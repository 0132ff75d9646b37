/* The sender's side of the protocols `direct` and `packed` among ranks of a node (team/endpoint.h), once a rendezvous
 * is posted. What was offered may be fetched by the receiver from where it lies. That is not waited for long: it goes
 * into scratch then, or where that has no room into pinned memory, from where the transport carries it when the
 * receiver asks. So a send is done when the data have left the program's buffer, which never takes the receiver. */
#ifndef TUTTI_P2P_RENDEZVOUS_H
#define TUTTI_P2P_RENDEZVOUS_H

#include "p2p/fragments.h"
#include "progress/transport.h"
#include "team/endpoint.h"

struct tutti_rendezvous; /* of one rank */

/* One send. The caller keeps the memory until tutti_rendezvous_left() and tutti_rendezvous_carried() have said 1. */
struct tutti_rendezvous_send {
    struct tutti_elements elements; /* of which somebody else holds the plan */
    uint64_t bytes, since;          /* since: when the rendezvous was posted */
    uint64_t patience;              /* ns more than usual that the receiver may take to come for it */
    struct tutti_rndv *rndv;        /* NULL: it needs no care any more */
    struct tutti_bounce *bounce;    /* pinned: what the transport carries; NULL: nothing */
    struct tutti_transfer data;
    struct tutti_rendezvous_send *next, **at; /* of the list */
};

/* Local. Messages that must be carried go over the transport, by tags below TUTTI_RNDVS; its ranks are those of the
 * node's world. Both stay as long. NULL without memory. */
struct tutti_rendezvous *tutti_rendezvous_new(struct tutti_endpoint *endpoint, struct tutti_node *node,
                                              struct tutti_transport *transport);
/* No send is listed. Takes NULL. */
void tutti_rendezvous_free(struct tutti_rendezvous *rendezvous);

/* The caller serialises all calls below. */

/* The rendezvous has been posted: it is looked after from now on. */
void tutti_rendezvous_list(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send);
/* Packs what has not been fetched in time, all in one launch. */
void tutti_rendezvous_urge(struct tutti_rendezvous *rendezvous);
/* 1 where the data are out of the program's buffer: the rendezvous is let go. *status: TUTTI_OK, or why they never will
 * be received. */
int tutti_rendezvous_left(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send, int *status);
/* 1 where the transport holds nothing of it. */
int tutti_rendezvous_carried(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send);
/* TUTTI_OK as long as the receiver may come for it. */
int tutti_rendezvous_alive(struct tutti_rendezvous *rendezvous, const struct tutti_rendezvous_send *send);

static inline struct tutti_pack_job tutti_rendezvous_packing(const struct tutti_rendezvous_send *send, void *to)
{
    return (struct tutti_pack_job){.direction = TUTTI_PACK,
                                   .plan = send->elements.plan,
                                   .count = (uint64_t)send->elements.count,
                                   .memory = send->elements.buffer,
                                   .packed = to,
                                   .bytes = send->bytes};
}

#endif

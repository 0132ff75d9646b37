/* The sender's side of the protocols `direct` and `packed` among ranks of a node (team/endpoint.h), once a rendezvous
 * is posted. The receiver may fetch an offered message from where it lies. If the receiver does not come soon, or
 * cannot, the message is packed into scratch, piece after piece; where the receiver can map no memory of the sender's,
 * the transport carries it through pinned memory, part after part. So a send is done when the data have left the
 * program's buffer. That takes the receiver only where the scratch has no room for the whole message: then it is asked
 * to look at its receives wherever it waits, and if it does not come for long, the message goes into pinned memory
 * whole. */
#ifndef TUTTI_P2P_RENDEZVOUS_H
#define TUTTI_P2P_RENDEZVOUS_H

#include "p2p/fragments.h"
#include "progress/transport.h"
#include "team/endpoint.h"

struct tutti_rendezvous; /* of one rank */

enum { TUTTI_CARRY_BYTES = 4 << 20 }; /* of a part that the transport carries: both sides count in these */

struct tutti_carried; /* a part that is under way */

/* One send. The caller keeps the memory until tutti_rendezvous_left() and tutti_rendezvous_carried() have said 1. */
struct tutti_rendezvous_send {
    struct tutti_elements elements; /* of which somebody else holds the plan */
    int gpu;                        /* whose kernels reach the elements */
    uint64_t bytes, since;          /* since: when the rendezvous was posted */
    uint64_t patience;              /* ns more than usual that the receiver may take to come for it */
    struct tutti_rndv *rndv;        /* NULL: it needs no care any more */
    char *scratch;                  /* of its pieces; NULL: none */
    uint64_t packed;                /* pieces that are packed */
    struct tutti_carried *parts;    /* that the transport has */
    unsigned part_count;
    uint64_t carried,
        carried_at; /* bytes that have been given to it so far; when the last part was given, or had gone */
    int failed;     /* a status: what keeps the message from leaving whole */
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
/* Before the rendezvous is posted: packs the first pieces of the message into scratch that has room for all of it, so
 * that the rest needs this rank alone. now: packs all of it. 1: the rendezvous is in state BOUNCE; 0: there is no
 * scratch that the receiver has mapped, or no room in it. */
int tutti_rendezvous_pack(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send, int now);
/* The same of a receiver that comes for every piece, and so that several messages are packed in one launch: *job is to
 * be run on send->gpu; the rendezvous is in state BOUNCE already, and nobody has been told of it yet. */
int tutti_rendezvous_begin_packing(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send,
                                   struct tutti_pack_job *job);
/* Packs what has not been fetched in time, and further pieces of what is under way: one launch for each GPU. */
void tutti_rendezvous_urge(struct tutti_rendezvous *rendezvous);
/* 1 where the data are out of the program's buffer: the rendezvous is let go. *status: TUTTI_OK, or why they never will
 * be received. */
int tutti_rendezvous_left(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send, int *status);
/* 1 where the transport holds nothing of it. */
int tutti_rendezvous_carried(struct tutti_rendezvous *rendezvous, struct tutti_rendezvous_send *send);
/* TUTTI_OK as long as the receiver may come for it. */
int tutti_rendezvous_alive(struct tutti_rendezvous *rendezvous, const struct tutti_rendezvous_send *send);

/* Bytes [first, first + bytes) of the packed message. */
static inline struct tutti_pack_job tutti_rendezvous_packing(const struct tutti_rendezvous_send *send, void *to,
                                                             uint64_t first, uint64_t bytes)
{
    return (struct tutti_pack_job){.direction = TUTTI_PACK,
                                   .plan = send->elements.plan,
                                   .count = (uint64_t)send->elements.count,
                                   .memory = send->elements.buffer,
                                   .packed = to,
                                   .first = first,
                                   .bytes = bytes};
}

#endif

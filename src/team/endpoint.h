/* Endpoints: how a message goes from a rank's memory into that of a rank of its node, itself among them, without the
 * MPI carrying it. A endpoint is open where the receiver has mapped the sender's scratch; a rank's to itself, where it
 * has scratch. This is the part below the MPI: rendezvous, scratch and mappings. All functions are local and safe from
 * any thread. */
#ifndef TUTTI_TEAM_ENDPOINT_H
#define TUTTI_TEAM_ENDPOINT_H

#include "team/team.h"

struct tutti_endpoint;
struct tutti_mapping;
struct tutti_plan;

/* `scratch` bytes of device memory are taken at the first tutti_endpoint_poll() with `sending`. Nothing of the device
 * is touched before. NULL without memory, and where the node has too many ranks. */
struct tutti_endpoint *tutti_endpoint_new(struct tutti_node *node, const struct tutti_device *device, size_t scratch);
/* In MPI_Init, in this order, with a collective call of all ranks in between: this rank may have endpoints; all ranks
 * of the node may. */
void tutti_endpoint_declare(struct tutti_node *node);
int tutti_endpoint_declared(const struct tutti_node *node);
/* Peers send and want nothing any more. alive: the device may be called. */
void tutti_endpoint_free(struct tutti_endpoint *endpoint, int alive);
/* Opens what can be opened: endpoints from peers that have offered their scratch, and with `sending` those from this
 * rank, by offering its own. Frees the rendezvous that have been taken. A few loads where there is nothing to do. */
void tutti_endpoint_poll(struct tutti_endpoint *endpoint, int sending);
/* They are for this GPU, where none has been chosen: otherwise for that of the thread that opens the first. */
void tutti_endpoint_use(struct tutti_endpoint *endpoint, int gpu);
/* GPU of this process that endpoints are for; -1: not known yet. */
int tutti_endpoint_gpu(const struct tutti_endpoint *endpoint);
/* 1 where the peer takes rendezvous of this rank. */
int tutti_endpoint_is_open(const struct tutti_endpoint *endpoint, int peer);
/* 1 where any endpoint to this rank is open. */
int tutti_endpoint_listens(const struct tutti_endpoint *endpoint);
/* TUTTI_ERR_PEER where the process of a rank of the node has died, said once; looks every few milliseconds.
 * TUTTI_ERR_BROKEN where there is no such rank. */
int tutti_endpoint_watch(struct tutti_endpoint *endpoint, int peer);

/* ---- sender ---- */

/* A free rendezvous of this rank, to be filled and posted; NULL where there is none. It is this caller's until
 * tutti_endpoint_let_go(), and freed when it is DONE besides. */
struct tutti_rndv *tutti_endpoint_rndv(struct tutti_endpoint *endpoint, int peer);
int tutti_endpoint_number(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
/* The sender looks at the rendezvous no more. */
void tutti_endpoint_let_go(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
/* A rendezvous that no peer has been told of. */
void tutti_endpoint_withdraw(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv);
/* Scratch for a rendezvous, freed with it; NULL where there is no room. rndv->at is set. */
void *tutti_endpoint_scratch(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, size_t bytes);
/* How another pointer into the same allocation was named, a moment ago: the driver is asked once. `of` NULL: not yet.
 */
struct tutti_endpoint_memo {
    const void *of;
    struct tutti_share share;
};
/* Names the allocation of `pointer` in the rendezvous. 1: the peer has it mapped, and keeps it so until the rendezvous
 * is taken or no longer offered. memo: may be NULL. */
int tutti_endpoint_share(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, const void *pointer,
                         struct tutti_endpoint_memo *memo);

/* ---- receiver ---- */

/* The rendezvous that a peer has announced; NULL where there is none of that sequence, or its data have been taken: the
 * RTS is old, or has come before. */
struct tutti_rndv *tutti_endpoint_find(struct tutti_endpoint *endpoint, int peer, int number, uint64_t sequence);
/* Rendezvous `number` of a rank of the node; NULL where there is none, or none for this rank. */
struct tutti_rndv *tutti_endpoint_at(struct tutti_endpoint *endpoint, int peer, int number);
/* 1 where a rendezvous for this rank from `peer` has this tag: a message that has not been received yet. */
int tutti_endpoint_announces(const struct tutti_endpoint *endpoint, int peer, int tag);
/* A message with this tag from `peer` is about to be taken out of the MPI by a probe, which is no receive: its
 * rendezvous, whichever it is, is held, so that a synchronous sender goes on waiting. unhold: it was rendezvous `but`
 * of this sequence; none with TUTTI_RNDVS. received: that one is held no more. One call of the first two at a time. */
void tutti_endpoint_hold(struct tutti_endpoint *endpoint, int peer, int tag);
void tutti_endpoint_unhold(struct tutti_endpoint *endpoint, int peer, int but, uint64_t sequence);
void tutti_endpoint_received(struct tutti_endpoint *endpoint, int peer, int number, uint64_t sequence);
/* Where this rank's kernels find the `bytes` bytes of a rendezvous in state BOUNCE, or `offered` in the peer's own
 * buffer (with a layout: its lowest byte); NULL where they cannot, or not yet: the peer has been asked for a
 * descriptor, or to pack. *held: a mapping, or NULL, to be released. What the peer says of places is checked against
 * what is mapped. */
void *tutti_endpoint_reach(struct tutti_endpoint *endpoint, int peer, struct tutti_rndv *rndv, int offered,
                           uint64_t bytes, struct tutti_mapping **held);
/* The layout of an offered rendezvous whose data tutti_endpoint_reach() has found: `count` elements by `plan` (one
 * reference more) from `memory`, `bytes` bytes in all. TUTTI_ERR_ARGUMENT, said, where the rendezvous does not say
 * that, or says more than is mapped. */
struct tutti_endpoint_layout {
    const struct tutti_plan *plan;
    uint64_t count;
    char *memory;
};
int tutti_endpoint_layout(const struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv,
                          const struct tutti_mapping *held, char *data, uint64_t bytes,
                          struct tutti_endpoint_layout *out);
void tutti_endpoint_release(struct tutti_endpoint *endpoint, struct tutti_mapping *held);
/* Maps the allocation that a rendezvous names, or asks the peer for its descriptor, so that later messages from it may
 * be taken directly. */
void tutti_endpoint_meet(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv);

static inline int tutti_rndv_is(const struct tutti_rndv *rndv, enum tutti_rndv_state state)
{
    return atomic_load_explicit(&rndv->state, memory_order_acquire) == (uint32_t)state;
}
static inline void tutti_rndv_set(struct tutti_rndv *rndv, enum tutti_rndv_state state)
{
    atomic_store_explicit(&rndv->state, (uint32_t)state, memory_order_release);
}
/* From GET: 1 where this side comes first. */
static inline int tutti_rndv_win(struct tutti_rndv *rndv, enum tutti_rndv_state state)
{
    uint32_t offered = TUTTI_RNDV_GET;
    return atomic_compare_exchange_strong(&rndv->state, &offered, (uint32_t)state);
}

#endif

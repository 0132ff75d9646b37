/* Protocol `pipelined`: a message goes in fragments over the transport. While it carries one, the sender packs the next
 * into pinned memory and the receiver unpacks the previous one.
 *
 * The two sides meet by an RTS, which the MPI matches in place of the message. It is sent synchronously: its match
 * is the grant. Fragments follow over the transport, under a tag that the RTS names. The last one is sent
 * synchronously, which acknowledges them all: then the tag is free. Once the transport has all fragments, the sender
 * needs no further calls of the program. Each side of a message is a schedule. */
#ifndef TUTTI_P2P_PIPELINED_H
#define TUTTI_P2P_PIPELINED_H

#include "p2p/fragments.h"
#include "progress/engine.h"
#include "progress/transport.h"

struct tutti_pipelined; /* of one rank */
struct tutti_outgoing;
struct tutti_incoming;

/* The content of an RTS. Plain bytes. */
struct tutti_pipelined_rts {
    uint64_t key[2], sequence, bytes, fragment; /* fragment: bytes of each but the last */
    int32_t tag, rank;                          /* of the fragments; of the sender in the transport */
};

/* Local. Ranks of the transport recognise RTSs by the key, the same on all, which may be set later. Tags: [tag, tag
 * + tags) are this protocol's. step: open while messages are under way. The transport must outlive the protocol.
 * NULL without memory. */
struct tutti_pipelined *tutti_pipelined_new(struct tutti_transport *transport, const uint64_t key[2], int tag, int tags,
                                            struct tutti_step *step);
void tutti_pipelined_key(struct tutti_pipelined *pipelined, const uint64_t key[2]);
/* No message is under way, or none is waited for any more; alive: the device may be called. Takes NULL. */
void tutti_pipelined_free(struct tutti_pipelined *pipelined, int alive);
/* 1 if `rts` is an RTS. */
int tutti_pipelined_knows(const struct tutti_pipelined *pipelined, const struct tutti_pipelined_rts *rts);

/* ---- sender: kernels of `gpu` reach all elements, and there is a plan, which is held meanwhile ---- */

/* Bytes of a fragment of such a message; 0: this protocol cannot carry it. */
uint64_t tutti_pipelined_fragment(uint64_t bytes);
/* Takes a tag, and memory for the first fragment, so that the message can always be finished. The RTS must be sent,
 * then carry() or withdraw() called. NULL: not possible now. */
struct tutti_outgoing *tutti_pipelined_offer(struct tutti_pipelined *pipelined, const struct tutti_elements *elements,
                                             uint64_t bytes, uint64_t fragment, int gpu, int to,
                                             struct tutti_pipelined_rts *rts);
/* The RTS was not sent. */
void tutti_outgoing_withdraw(struct tutti_outgoing *out);
/* Packs all fragments and gives them to the transport. granted (may be NULL): returns whether the RTS has been
 * matched; then a few fragments at a time are under way as long as the receiver takes them, otherwise as many as
 * needed. Polls everything meanwhile. A status. */
int tutti_outgoing_carry(struct tutti_outgoing *out, int (*granted)(void *with), void *with);

/* ---- receiver ---- */

/* Prepares the message of an RTS. The elements' plan is held; without a plan the packed message arrives as a whole,
 * see tutti_incoming_packed(). capacity: bytes that fit; of a longer message nothing is stored. TUTTI_ERR_ARGUMENT
 * for an RTS that this protocol does not make, TUTTI_ERR_MEMORY. *out is set on success alone. */
int tutti_pipelined_accept(struct tutti_pipelined *pipelined, const struct tutti_pipelined_rts *rts,
                           const struct tutti_elements *elements, uint64_t capacity, struct tutti_incoming **out);
/* Asks for the fragments. TUTTI_ERR_MISMATCH if the RTS is not newer than the last of its sender with this tag: it
 * is a repeated one, and the fragments of that tag are another message's. TUTTI_ERR_MEMORY. After an error nothing
 * was asked for. */
int tutti_incoming_start(struct tutti_incoming *in);
/* 1 if it has ended. */
int tutti_incoming_done(const struct tutti_incoming *in);
/* Afterwards: TUTTI_OK, or the error. */
int tutti_incoming_status(const struct tutti_incoming *in);
/* 1 if it did not fit. */
int tutti_incoming_truncated(const struct tutti_incoming *in);
/* The packed message, if there was no plan; NULL otherwise. Freed with the incoming. */
void *tutti_incoming_packed(const struct tutti_incoming *in);
/* It has ended, or was never started. Takes NULL. */
void tutti_incoming_free(struct tutti_incoming *in);

#endif

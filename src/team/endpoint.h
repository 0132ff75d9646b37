/* Endpoints: how a message goes from a rank's memory into that of a rank of its node, itself among them, without the
 * MPI carrying it. This is the part below the MPI: rendezvous, scratch and mappings. All functions are local and safe
 * from any thread.
 *
 * A process may pass memory of several GPUs. Each GPU that it has passed memory of has a scratch of its own, taken when
 * a message from that GPU needs one. The GPU of a message is the one that holds its buffer, on either side; `gpu` is an
 * ordinal of this process, an index counts a rank's GPUs in the order in which the program passed memory of them. */
#ifndef TUTTI_TEAM_ENDPOINT_H
#define TUTTI_TEAM_ENDPOINT_H

#include "dtype/elements.h"
#include "team/team.h"

struct tutti_endpoint;
struct tutti_mapping;
struct tutti_plan;
struct tutti_step;

/* `scratch` bytes of device memory on each GPU that messages need scratch on. Nothing of the device is touched before
 * tutti_endpoint_use(). NULL without memory, and where the node has too many ranks. */
struct tutti_endpoint *tutti_endpoint_new(struct tutti_node *node, const struct tutti_device *device, size_t scratch);
/* In MPI_Init, in this order, with a collective call of all ranks in between: this rank may have endpoints; all ranks
 * of the node may. */
void tutti_endpoint_declare(struct tutti_node *node);
int tutti_endpoint_declared(const struct tutti_node *node);
/* Frees the endpoint; peers neither send to this rank nor fetch from it any more. alive: the device may be called. */
void tutti_endpoint_free(struct tutti_endpoint *endpoint, int alive);
/* Called once, before there are rendezvous: adds a step that polls the endpoint. The step is open while there are
 * rendezvous: a peer may ask for memory of this rank until it has taken the data of the last one, even if the sender
 * waits for something else. */
void tutti_endpoint_step(struct tutti_endpoint *endpoint, struct tutti_step *step);
/* Frees the rendezvous that have been taken, serves peers. A few loads if there is nothing to do. */
void tutti_endpoint_poll(struct tutti_endpoint *endpoint);
/* Before there are rendezvous. `before` is called before this rank takes any, `after` once peers may send some. Either
 * may be called again, by a thread that meets a GPU at the same time. */
void tutti_endpoint_on_use(struct tutti_endpoint *endpoint, void (*before)(void), void (*after)(void));
/* The program passes memory of this GPU: from now on this rank takes rendezvous. Returns the index of the GPU; negative
 * if the rank has passed memory of too many GPUs. Cheap for a known GPU. */
int tutti_endpoint_use(struct tutti_endpoint *endpoint, int gpu);
/* The GPUs that the program has passed memory of, as ordinals, at most TUTTI_ENDPOINT_GPUS; returns how many. */
int tutti_endpoint_gpus(const struct tutti_endpoint *endpoint, int gpus[]);
/* The GPUs that the program has reset since, and has not passed memory of again. */
int tutti_endpoint_reset_gpus(const struct tutti_endpoint *endpoint, int gpus[]);
/* 1 if the peer takes rendezvous. */
int tutti_endpoint_is_open(const struct tutti_endpoint *endpoint, int peer);
/* Local, a few loads: 1 if kernels of this rank and of rank `peer` take turns on this GPU (device.h, gpu.turns), since
 * both ranks have passed memory of it. */
int tutti_endpoint_takes_turns(const struct tutti_endpoint *endpoint, int peer, int gpu);
/* 1 if this rank takes rendezvous. */
int tutti_endpoint_listens(const struct tutti_endpoint *endpoint);
/* Short RTSs (p2p/short_rts.h): every receive of their receiver must know them, of host memory too. blind: a receive
 * that does not may be open from now on. 1: this rank takes rendezvous already, so the receive has to know them; 0: no
 * peer will send short RTSs to this rank. takes_short: peers may. shorts: 1 if some are on their way to this rank;
 * one load. */
int tutti_endpoint_blind(struct tutti_endpoint *endpoint);
int tutti_endpoint_takes_short(const struct tutti_endpoint *endpoint, int peer);
int tutti_endpoint_shorts(const struct tutti_endpoint *endpoint);
/* RTSs are counted, so that a receiver that has seen all need not look at its receives. It is a hint: RTSs may be lost
 * with their communicator, or be seen twice. announce: the RTS of a rendezvous of this rank has been sent; of a burst
 * of messages some are counted together, since the receiver polls the line of the count. announce_rest: all of
 * them, in each wait of the sender. saw: this rank has received one. rtss: how many it has received. expects: 1 if
 * more were sent to this rank. alone: 1: one thread at a time calls the first three (core/lock.h). */
void tutti_endpoint_announce(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, int alone);
void tutti_endpoint_announce_rest(struct tutti_endpoint *endpoint, int alone);
void tutti_endpoint_saw(struct tutti_endpoint *endpoint, int alone);
uint32_t tutti_endpoint_rtss(const struct tutti_endpoint *endpoint);
int tutti_endpoint_expects(const struct tutti_endpoint *endpoint);
/* A hint: the peer's next rendezvous is probably the one behind this one, which the receiver will move on. Its line
 * comes from the sender's cache meanwhile. */
void tutti_endpoint_fetch_ahead(const struct tutti_endpoint *endpoint, int peer, int number);
/* Takes and offers this rank's scratch on the GPU, so that peers may map it before it is needed. 1: the scratch exists.
 * soon: the same on another thread, since allocating takes milliseconds. */
int tutti_endpoint_offer(struct tutti_endpoint *endpoint, int gpu);
void tutti_endpoint_offer_soon(struct tutti_endpoint *endpoint, int gpu);
/* 1 if the scratch does not exist, and allocating it takes longer than a message. */
int tutti_endpoint_scratch_takes(struct tutti_endpoint *endpoint, int gpu);
/* What the peer has made of this rank's scratch on the GPU, enum tutti_maps. */
int tutti_endpoint_mapped(const struct tutti_endpoint *endpoint, int peer, int gpu);
/* All of `peers` make a communicator with a stream on `gpu`. settle_scratch, to be polled: 1 once this rank's scratch
 * is there, or cannot be; no thread beside allocates any more. connect, to be polled when all peers have settled: 1
 * once each has mapped the others' scratch, or has found that it cannot. connected: the end. */
int tutti_endpoint_settle_scratch(struct tutti_endpoint *endpoint, int gpu);
int tutti_endpoint_connect(struct tutti_endpoint *endpoint, const int *peers, int n, int gpu);
void tutti_endpoint_connected(struct tutti_endpoint *endpoint);
/* 1 if kernels in stream order may be waiting for this process: no launch is made ready, no host memory registered. */
int tutti_endpoint_is_streamed(const struct tutti_endpoint *endpoint);
/* 1 if the packing kernels of the GPU are not loaded and that takes longer than a message: copy engines make the copies
 * of this rank's messages to itself. Takes no lock. */
int tutti_endpoint_lacks_kernels(const struct tutti_endpoint *endpoint, int gpu);
/* ns for tutti_pack_lost(), that an engine takes longer than a kernel: to fetch each message of a launch, to pack the
 * first one. */
enum { TUTTI_ENDPOINT_FETCH_LOSES = 3000, TUTTI_ENDPOINT_PACK_LOSES = 6000 };
/* TUTTI_ERR_PEER if the process of a rank of the node has died, reported once; looks every few milliseconds.
 * TUTTI_ERR_BROKEN if the node has no such rank. */
int tutti_endpoint_watch(struct tutti_endpoint *endpoint, int peer);

/* ---- sender ---- */

enum { TUTTI_NO_GPU = -2 };

/* The first message of an allocation is staged up to here, also where the receiver could fetch it from the scratch: the
 * packing kernels of two ranks take longer than two copies, of which one begins before the call has decided. */
enum { TUTTI_ENDPOINT_FIRST_BYTES = 16 << 10 };
/* All messages of an allocation that is not mapped are staged up to here: two copies take less than two kernels. Single
 * messages up to TUTTI_ENDPOINT_FIRST_BYTES are. */
enum { TUTTI_ENDPOINT_SHORT_BYTES = 2 << 10 };

/* A free rendezvous of this rank for data on `gpu` (TUTTI_NO_GPU: for no bytes), to be filled and posted. NULL: all are
 * in use. The caller owns it until tutti_endpoint_send_release(); it is freed when it is DONE as well. */
struct tutti_rndv *tutti_endpoint_rndv(struct tutti_endpoint *endpoint, int peer, int gpu);
/* The same for a block of a collective, whose caller polls the endpoint until tutti_endpoint_send_release(): the polls
 * of other threads do not look at it, which would keep the caller from the endpoint's lock. */
struct tutti_rndv *tutti_endpoint_rndv_of_call(struct tutti_endpoint *endpoint, int peer, int gpu);
/* The same for a message of so many bytes from `pointer`, in the allocation of this id, whose name the rendezvous has
 * shown before, and which the peer keeps mapped (this rank maps nothing of its own): the rendezvous has a lease, and
 * describes the place of one run of bytes. short_rts: its RTS will be short. All under one lock. NULL: some of it does
 * not hold, and nothing has changed. */
struct tutti_rndv *tutti_endpoint_rndv_like(struct tutti_endpoint *endpoint, int peer, int gpu, uint64_t id,
                                            const void *pointer, uint64_t bytes, int short_rts);
int tutti_endpoint_number(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
/* Marks a new rendezvous whose RTS will be short. */
void tutti_endpoint_shorten(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv);
/* Asks the receiver of a posted rendezvous to look at its receives in any wait: the data cannot leave without it. */
void tutti_endpoint_urge(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
/* 1 once after a peer has asked this rank to look at its receives. */
int tutti_endpoint_urged(const struct tutti_endpoint *endpoint);
/* When the peer was last seen to fetch from this rank; 0: never. */
void tutti_endpoint_saw_fetch(struct tutti_endpoint *endpoint, int peer, uint64_t now);
uint64_t tutti_endpoint_fetched(const struct tutti_endpoint *endpoint, int peer);
/* The sender does not use the rendezvous any more. */
void tutti_endpoint_send_release(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
/* Frees a rendezvous that was not announced to any peer. */
void tutti_endpoint_withdraw(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv);
/* Scratch for a rendezvous of `bytes` bytes, freed with it: slots for its pieces, as many as there is room for;
 * `whole`: for all of them. NULL if there is no room, or if the peer has not mapped the scratch. */
void *tutti_endpoint_scratch(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, uint64_t bytes, int whole);
/* How another pointer into the same allocation was named, a moment ago: the driver is asked once. `of` NULL: not yet.
 */
struct tutti_endpoint_memo {
    const void *of;
    struct tutti_share share;
};
/* Names the allocation of `pointer` in the rendezvous. 1: the peer has it mapped, and keeps it so until the rendezvous
 * is taken or no longer offered. id: of the allocation; 0: the device is asked. memo: may be NULL. */
int tutti_endpoint_share(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, const void *pointer, uint64_t id,
                         struct tutti_endpoint_memo *memo);
/* Before that: 1 if the allocation has no name yet and naming it may take the driver longer than the message. The
 * rendezvous then holds its id and its length alone, which is enough for tutti_endpoint_account(): the peer cannot map
 * it. id, extent: of the allocation, its bytes; 0: not known. */
int tutti_endpoint_share_later(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, const void *pointer,
                               uint64_t id, uint64_t extent);
/* The peer has not mapped the allocation that a rendezvous names, of a message of rndv->bytes bytes: decides whether it
 * is to map it (rndv->pays), by what such messages have cost so far. leaves: 1 if the MPI is to have this message,
 * as it is short and a mapping does not pay yet. needs_scratch: 1 if the peer is to have this rank's scratch.
 * distrust: the peer does not keep the allocation mapped. */
struct tutti_endpoint_verdict {
    int made;     /* 0: not yet */
    int alone;    /* by the caller: 1: the message is no part of a burst, whose kernels would be launched together */
    int unwaited; /* by the caller: 1: of up to TUTTI_LANDING_BYTES, one run of bytes, its call does not wait for it */
    enum tutti_pays pays;
    int scratch_pays;
};
/* verdict: made before the rendezvous was taken, or not yet. */
void tutti_endpoint_account(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv,
                            const struct tutti_endpoint_verdict *verdict);
/* The same before a rendezvous is taken, which a message that the MPI is to have does not need: 1 if it leaves.
 * Otherwise the verdict may be made, for tutti_endpoint_account(). gpu: that holds the allocation of this id, which has
 * `extent` bytes (0: not known); bytes: of the message. */
int tutti_endpoint_leaves_now(struct tutti_endpoint *endpoint, int peer, int gpu, uint64_t id, uint64_t extent,
                              uint64_t bytes, struct tutti_endpoint_verdict *verdict);
/* For a block of a collective from the allocation of this id: 1 if the peer keeps that mapped; or if blocks that went
 * another way have lost as much as mapping it takes. id, extent: of the allocation; 0: not known. lost: a block went
 * another way, and loses `ns` by that. asks: the peer is to fetch the block, and maps the allocation meanwhile if it
 * does not keep it. */
int tutti_endpoint_keeps(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t extent);
void tutti_endpoint_block_lost(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t ns);
void tutti_endpoint_block_asks(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t extent);
int tutti_endpoint_leaves(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
int tutti_endpoint_needs_scratch(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
void tutti_endpoint_distrust(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
/* Pieces that the sender may pack now, [*first, *first + n), in slots that follow each other from the first on: half of
 * the slots at most, so that the receiver takes some while others are packed. `packed` of them are packed already. */
unsigned tutti_endpoint_room(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, uint64_t bytes,
                             uint64_t packed);
static inline uint64_t tutti_pieces(uint64_t bytes, uint64_t piece)
{
    return bytes / piece + (bytes % piece != 0);
}

/* 1 if the peer has received the last short messages of this rank into memory of the host; now and then 0 all the same.
 * Once for each message. */
int tutti_endpoint_goes_to_host(struct tutti_endpoint *endpoint, int peer);

/* Messages that land (endpoint_landing.c). lands: 1 if short messages from this GPU do that no call waits for, so that
 * no copy of them begins early. lands_now: 1 if this one can; after some that cannot a thread beside makes what is
 * necessary. land: begins to copy the message, one run of bytes, and its word: the rendezvous is new. A status;
 * TUTTI_ERR_UNAVAILABLE: the message has to take another way. landed: 1 if it has, so that the program's buffer is not
 * read any more. late: it has not, long after it was sent. by_engine: 1 if copy engines make such copies now.
 * landing_await: waits until it has, in calls that fail. landing_status: why it cannot land any more, or TUTTI_OK. */
int tutti_endpoint_lands(const struct tutti_endpoint *endpoint, int gpu);
int tutti_endpoint_lands_now(struct tutti_endpoint *endpoint, int peer, int gpu);
int tutti_endpoint_lands_by_engine(const struct tutti_endpoint *endpoint, int gpu);
int tutti_endpoint_land(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, const void *from, uint64_t bytes);
int tutti_endpoint_landed(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
void tutti_endpoint_landing_late(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
void tutti_endpoint_landing_await(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);
int tutti_endpoint_landing_status(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv);

/* ---- receiver ---- */

/* A short message of the peer has been fetched; host: into memory of the host. */
void tutti_endpoint_note_to_host(struct tutti_endpoint *endpoint, int peer, int host);

/* Whether kernels of a GPU can reach memory of a peer. LATER: a descriptor or a piece is on its way. */
enum tutti_reaching { TUTTI_REACHED, TUTTI_REACH_LATER, TUTTI_REACH_NOT };

/* Where a message of the peer lands, as memory of the host. LATER: it has not landed; NOT, said: it cannot have. */
enum tutti_reaching tutti_endpoint_landing(const struct tutti_endpoint *endpoint, int peer,
                                           const struct tutti_rndv *rndv, uint64_t sequence, uint64_t bytes,
                                           char **data);
/* The rendezvous that a peer has announced. NULL if no rendezvous has this sequence, or its data have been taken: the
 * RTS is old or a duplicate. */
struct tutti_rndv *tutti_endpoint_find(struct tutti_endpoint *endpoint, int peer, int number, uint64_t sequence);
/* Rendezvous `number` of a rank of the node. NULL if it is not open, or not for this rank. */
struct tutti_rndv *tutti_endpoint_at(struct tutti_endpoint *endpoint, int peer, int number);
/* 1 if a rendezvous for this rank from `peer` has this tag and `most` bytes or fewer: a message that has not been
 * received yet. */
int tutti_endpoint_announces(const struct tutti_endpoint *endpoint, int peer, int tag, uint64_t most);
/* A message with this tag from `peer` is about to be taken out of the MPI by a probe, which is no receive: its
 * rendezvous is held, so that a synchronous sender continues to wait. unhold: the message was rendezvous `but`
 * of this sequence; TUTTI_RNDVS: of no rendezvous. received: ends the hold of a rendezvous. One call of the first two
 * at a time. */
void tutti_endpoint_hold(struct tutti_endpoint *endpoint, int peer, int tag);
void tutti_endpoint_unhold(struct tutti_endpoint *endpoint, int peer, int but, uint64_t sequence);
void tutti_endpoint_received(struct tutti_endpoint *endpoint, int peer, int number, uint64_t sequence);
/* Where kernels of `gpu` find the `bytes` bytes of an offered rendezvous (GET) in the peer's own buffer; with a layout:
 * its lowest byte. *held: a mapping, or NULL, to be released. An allocation that only this message has named so far is
 * not mapped where the peer's scratch can be used: NOT; unanswered: it is. What the peer says of places is checked
 * against what is mapped. */
enum tutti_reaching tutti_endpoint_reach(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv,
                                         int gpu, uint64_t bytes, int unanswered, char **data,
                                         struct tutti_mapping **held);
/* 1 if the peer, which was asked then to pack the message or to have it carried, has not done so for as long as mapping
 * its memory takes: it is in no call. */
int tutti_endpoint_unanswered(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, uint64_t since);
/* The same where the data lie in the allocation that `like` maps, which the caller has a reference of: 1, *data and
 * *held. 0: they do not, or are messages of this rank to itself. */
int tutti_endpoint_reach_like(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv, int gpu,
                              uint64_t bytes, struct tutti_mapping *like, char **data, struct tutti_mapping **held);
/* No GPU of this rank reaches an offered rendezvous: maps the peer's scratch for one of `gpus`, and asks the peer to
 * pack the message, or to have it carried. To be called again until the peer has. 0: the scratch is being mapped. */
int tutti_endpoint_demand(struct tutti_endpoint *endpoint, int peer, struct tutti_rndv *rndv, const int *gpus, int n);
/* Memory of the peer is being mapped for an offered rendezvous of `bytes` bytes, or mapping it does not pay yet: asks
 * the peer to have the message carried meanwhile, where that takes less time. since: when the receiver met the
 * rendezvous. To be called again. */
void tutti_endpoint_meanwhile(struct tutti_endpoint *endpoint, int peer, struct tutti_rndv *rndv, uint64_t bytes,
                              uint64_t since);
/* Pieces of a rendezvous in state BOUNCE, `bytes` bytes in all, that are packed and follow each other in the scratch,
 * from piece `taken` on, for kernels of `gpu`. TUTTI_REACH_NOT, said, where the rendezvous names what is not there. */
struct tutti_endpoint_run {
    char *data;
    uint64_t first, bytes; /* of the packed message */
    uint64_t pieces;
};
enum tutti_reaching tutti_endpoint_pieces(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv,
                                          int gpu, uint64_t bytes, uint64_t taken, struct tutti_endpoint_run *out);
/* The elements of an offered rendezvous whose data tutti_endpoint_reach() has found, `bytes` bytes in all. The caller
 * drops their plan. TUTTI_ERR_ARGUMENT, after an error message: the rendezvous describes other elements, or more than
 * is mapped. */
int tutti_endpoint_elements(const struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv,
                            const struct tutti_mapping *held, char *data, uint64_t bytes, struct tutti_elements *out);
void tutti_endpoint_release(struct tutti_endpoint *endpoint, struct tutti_mapping *held);
/* A message names an allocation. At the second message it is mapped for `gpu`, or the peer is asked for its
 * descriptor, so that later messages from it are fetched directly: mapping takes longer than packing a message once. */
void tutti_endpoint_meet(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv, int gpu);

/* ---- puts: kernels or engines of a peer store into memory of this rank ---- */

/* Names the allocation of `pointer`, for kernels of the peer. id: of the allocation. 0: the peer cannot map it. */
int tutti_endpoint_show(struct tutti_endpoint *endpoint, int peer, const void *pointer, uint64_t id, int gpu,
                        struct tutti_share *out);
/* Where kernels of `gpu` find the `bytes` bytes that the peer has shown. owner: the peer's GPU, by the peer's
 * count; -1: any.
 * *held: a mapping, or NULL, to be released when no kernel uses it. LATER: it is being mapped: to be called again,
 * while the peer polls its endpoint. */
enum tutti_reaching tutti_endpoint_put(struct tutti_endpoint *endpoint, int peer, const struct tutti_share *share,
                                       int owner, int gpu, uint64_t bytes, char **data, struct tutti_mapping **held);

/* Messages that their sender stores into the receiver's buffer. All calls but into() and runs() are the receiver's.
 * pays: 1 if the peer is to store into the allocation of this id: the peer keeps it mapped, or messages into it have
 * lost as much as mapping it takes, of which this one loses `ns`. 0 also for a while after late(): the peer was asked
 * then, was in no wait, and did not begin in time; it counts once for all that were asked before. saw: a put of the
 * peer is under way, or has ended. seen: when one was last. */
int tutti_endpoint_put_pays(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t ns);
void tutti_endpoint_put_late(struct tutti_endpoint *endpoint, int peer, uint64_t asked_at, uint64_t now);
void tutti_endpoint_put_saw(struct tutti_endpoint *endpoint, int peer, uint64_t now);
uint64_t tutti_endpoint_put_seen(const struct tutti_endpoint *endpoint, int peer);
/* runs: this rank has begun to store one more into the peer's memory, or one less is left. puts: how many are. */
void tutti_endpoint_put_runs(struct tutti_endpoint *endpoint, int peer, int more);
int tutti_endpoint_puts(const struct tutti_endpoint *endpoint, int peer);
/* Names the receiver's buffer in an offered rendezvous, before it is moved to CTS. */
void tutti_endpoint_put_into(struct tutti_rndv *rndv, const struct tutti_share *share);

static inline int tutti_rndv_is(const struct tutti_rndv *rndv, enum tutti_rndv_state state)
{
    return atomic_load_explicit(&rndv->state, memory_order_acquire) == (uint32_t)state;
}
/* 1 if the rendezvous was in state `from`. The only way in which a state changes, also where one side alone may
 * change it: a wrong step then does nothing, and cannot undo one of the other side. */
static inline int tutti_rndv_move(struct tutti_rndv *rndv, enum tutti_rndv_state from, enum tutti_rndv_state to)
{
    uint32_t before = (uint32_t)from;
    return atomic_compare_exchange_strong(&rndv->state, &before, (uint32_t)to);
}
/* From GET: 1 if this side comes first. */
static inline int tutti_rndv_win(struct tutti_rndv *rndv, enum tutti_rndv_state state)
{
    return tutti_rndv_move(rndv, TUTTI_RNDV_GET, state);
}

#endif

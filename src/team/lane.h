/* Lanes: how a message goes from a rank's memory into that of a rank of its node, itself among them, without the MPI
 * carrying it. A lane is open where the receiver has mapped the sender's scratch; a rank's to itself, where it has
 * scratch. This is the part below the MPI: letters, scratch and
 * mappings. All functions are local and safe from any thread. */
#ifndef TUTTI_TEAM_LANE_H
#define TUTTI_TEAM_LANE_H

#include "team/team.h"

struct tutti_lane;
struct tutti_mapping;

/* `scratch` bytes of device memory are taken at the first tutti_lane_poll() with `sending`. Nothing of the device is
 * touched before. NULL without memory, and where the node has too many ranks. */
struct tutti_lane *tutti_lane_new(struct tutti_node *node, const struct tutti_device *device, size_t scratch);
/* In MPI_Init, in this order, with a collective call of all ranks in between: this rank may have lanes; all ranks of
 * the node may. */
void tutti_lane_declare(struct tutti_node *node);
int tutti_lane_declared(const struct tutti_node *node);
/* Peers send and want nothing any more. alive: the device may be called. */
void tutti_lane_free(struct tutti_lane *lane, int alive);
/* Opens what can be opened: lanes from peers that have offered their scratch, and with `sending` those from this rank,
 * by offering its own. Frees the letters that have been taken. A few loads where there is nothing to do. */
void tutti_lane_poll(struct tutti_lane *lane, int sending);
/* They are for this GPU, where none has been chosen: otherwise for that of the thread that opens the first. */
void tutti_lane_use(struct tutti_lane *lane, int gpu);
/* GPU of this process that lanes are for; -1: not known yet. */
int tutti_lane_gpu(const struct tutti_lane *lane);
/* 1 where the peer takes letters of this rank. */
int tutti_lane_is_open(const struct tutti_lane *lane, int peer);
/* 1 where any lane to this rank is open. */
int tutti_lane_listens(const struct tutti_lane *lane);
/* TUTTI_ERR_PEER where the process of a rank of the node has died, said once; looks every few milliseconds. */
int tutti_lane_watch(struct tutti_lane *lane, int peer);

/* ---- sender ---- */

/* A free letter of this rank, to be filled and posted; NULL where there is none. It is this caller's until
 * tutti_lane_let_go(), and freed when it is DONE besides. */
struct tutti_letter *tutti_lane_letter(struct tutti_lane *lane, int peer);
int tutti_lane_number(const struct tutti_lane *lane, const struct tutti_letter *letter);
/* 1 where a letter of this rank that is not done has the tag in another scope, and another length: a probe could not
 * tell them apart. */
int tutti_lane_clashes(struct tutti_lane *lane, int peer, int tag, uint64_t scope, uint64_t bytes);
/* The sender looks at the letter no more. */
void tutti_lane_let_go(struct tutti_lane *lane, const struct tutti_letter *letter);
/* A letter that no peer has been told of. */
void tutti_lane_withdraw(struct tutti_lane *lane, struct tutti_letter *letter);
/* Scratch for a letter, freed with it; NULL where there is no room. letter->at is set. */
void *tutti_lane_scratch(struct tutti_lane *lane, struct tutti_letter *letter, size_t bytes);
/* How another pointer into the same allocation was named, a moment ago: the driver is asked once. `of` NULL: not yet.
 */
struct tutti_lane_memo {
    const void *of;
    struct tutti_share share;
};
/* Names the allocation of `pointer` in the letter. 1: the peer has it mapped and can take from it. memo: may be NULL.
 */
int tutti_lane_share(struct tutti_lane *lane, struct tutti_letter *letter, const void *pointer,
                     struct tutti_lane_memo *memo);

/* ---- receiver ---- */

/* The letter that a peer has announced; NULL where there is none of that sequence. */
struct tutti_letter *tutti_lane_find(struct tutti_lane *lane, int peer, int number, uint64_t sequence);
/* Letter `number` (below TUTTI_LETTERS) of a rank of the node. */
struct tutti_letter *tutti_lane_at(struct tutti_lane *lane, int peer, int number);
/* The letter of the oldest message to this rank from `peer` with this tag; NULL: none. */
const struct tutti_letter *tutti_lane_oldest(const struct tutti_lane *lane, int peer, int tag);
/* Where this rank's kernels find the data of a letter in state PACKED, or `offered` in the peer's own buffer; NULL
 * where they cannot. *held: a mapping, or NULL, to be released. */
void *tutti_lane_reach(struct tutti_lane *lane, int peer, struct tutti_letter *letter, int offered,
                       struct tutti_mapping **held);
void tutti_lane_release(struct tutti_lane *lane, struct tutti_mapping *held);
/* Maps the allocation that a letter names, so that the next message from it may be taken directly. */
void tutti_lane_meet(struct tutti_lane *lane, int peer, const struct tutti_letter *letter);

static inline int tutti_letter_is(const struct tutti_letter *letter, enum tutti_letter_state state)
{
    return atomic_load_explicit(&letter->state, memory_order_acquire) == (uint32_t)state;
}
static inline void tutti_letter_set(struct tutti_letter *letter, enum tutti_letter_state state)
{
    atomic_store_explicit(&letter->state, (uint32_t)state, memory_order_release);
}
/* From OFFERED: 1 where this side comes first. */
static inline int tutti_letter_win(struct tutti_letter *letter, enum tutti_letter_state state)
{
    uint32_t offered = TUTTI_LETTER_OFFERED;
    return atomic_compare_exchange_strong(&letter->state, &offered, (uint32_t)state);
}

#endif

/* Reductions in which the kernels of a node's ranks meet (tutti/prequest.h), private to src/part/coll/. The ranks agree
 * in a round that goes by the schedule; later rounds need no message. The engine's lock is held in all calls. */
#ifndef TUTTI_PART_COLL_MEET_H
#define TUTTI_PART_COLL_MEET_H

#include "dtype/places.h"
#include "part/coll/own.h"
#include "part/own.h"
#include "team/marks.h"
#include "tutti/prequest.h"

/* Device memory that peers map: it is kept for later requests, until the end. */
struct tutti_meet_memory {
    struct tutti_meet_memory *next;
    int gpu, used;
    unsigned life; /* of the GPU */
    uint64_t id;   /* of the allocation */
    size_t bytes;
    char *base;
};
struct tutti_meet_memory *tutti_meet_memory_take(int gpu, size_t bytes);
void tutti_meet_memory_give(struct tutti_meet_memory *memory);

/* Whether a rank can meet: QUIET: it may map nothing now. */
enum { TUTTI_MEET_NOT, TUTTI_MEET_FINE, TUTTI_MEET_QUIET };
/* What a rank writes to the others. */
struct tutti_meet_offer {
    int32_t ok, gpu, marks, type, op, partitions, slices, aligned;
    uint32_t base; /* what the rank's words hold beside the number of the round: marks serve one request after the
                      other */
    uint32_t gets; /* 1: the rank has a result */
    uint64_t bytes;
    unsigned char uuid[16];
    struct tutti_share share[3]; /* contribution, result, counters */
};
enum { TUTTI_MEET_IN, TUTTI_MEET_OUT, TUTTI_MEET_COUNT, TUTTI_MEET_SHARES };
struct tutti_meet_vote {
    int32_t ok, pad;
};
struct tutti_meet_agreement {
    struct tutti_meet_offer mine, theirs[TUTTI_MEET_RANKS];
    struct tutti_meet_vote my_vote, vote[TUTTI_MEET_RANKS];
};

/* The first of a rank's marks: rounds that the rank refuses, and that it could not complete. Those of results follow.
 */
enum { TUTTI_MEET_REFUSED, TUTTI_MEET_FAILED, TUTTI_MEET_WORDS };

enum tutti_meet_state {
    TUTTI_MEET_NO,
    TUTTI_MEET_OFFERS, /* waits for offers, then for mappings */
    TUTTI_MEET_COPIES, /* the kernels' view is being copied to the GPU */
    TUTTI_MEET_VOTES,
    TUTTI_MEET_YES
};

struct tutti_meeting {
    enum tutti_meet_state state;
    int by_kernels;       /* 1: kernels of the program combine partitions of this size */
    uint32_t round, next; /* of the request; of the next attempt */
    uint32_t reached;     /* rounds in which kernels have met since the agreement: what marks of results hold */
    atomic_int on;        /* 1: kernels meet in this round */
    int attempt;          /* 1: the ranks try to agree in this round */
    uint32_t base;        /* of this rank's offers */
    uint64_t since;       /* when this rank began to wait for mappings; 0: it has not */
    int complete;         /* results before this one are complete */
    unsigned looks;       /* for peers that have died */
    int broken;           /* 1: a round has failed: kernels may still use what it has */
    struct tutti_places in, out;
    struct tutti_meet_memory *memory;
    struct tutti_stream *stream;
    int half;                                /* of the memory: a round that is refused may still use the other one */
    int marks;                               /* -1: none */
    const uint32_t *words[TUTTI_MEET_RANKS]; /* marks of the ranks, for the host */
    struct tutti_mapping *held[TUTTI_MEET_RANKS][TUTTI_MEET_SHARES];
    struct tutti_meet view;
    struct tutti_meet_agreement agreement;
    int edge[4][TUTTI_MEET_RANKS]; /* offers and votes that are sent, that are received; -1: none */
};
enum { TUTTI_MEET_SENDS_OFFER, TUTTI_MEET_SENDS_VOTE, TUTTI_MEET_GETS_OFFER, TUTTI_MEET_GETS_VOTE };

/* meet.c. The places of the buffers in this round; 1 if kernels can meet there. */
int tutti_meet_places(const struct tutti_pcoll *p, struct tutti_places *in, struct tutti_places *out);
/* meet_memory.c. Local: 1 if kernels on the GPU of this offer have atomics on memory of the GPU with the other UUID. */
int tutti_meet_has_atomics(const struct tutti_meet_offer *mine, const unsigned char other[16]);
static inline char *tutti_meet_in(const struct tutti_pcoll *p)
{
    const struct tutti_pcoll_block *block = p->args.in_place ? p->args.recv.block : p->args.send.block;
    return (char *)(p->args.in_place ? p->args.recv.buffer : p->args.send.buffer) + block->offset +
           block->plan->true_lower;
}
static inline char *tutti_meet_out(const struct tutti_pcoll *p)
{
    return (char *)p->args.recv.buffer + p->args.recv.block->offset + p->args.recv.block->plan->true_lower;
}
static inline uint64_t tutti_meet_bytes(const struct tutti_pcoll *p)
{
    const struct tutti_pcoll_block *block = p->args.in_place ? p->args.recv.block : p->args.send.block;
    return (uint64_t)block->count * block->plan->size;
}
/* Bytes of the memory's parts. */
size_t tutti_meet_counters(const struct tutti_pcoll *p);
static inline size_t tutti_meet_half(const struct tutti_pcoll *p)
{
    return (sizeof(struct tutti_meet) + tutti_meet_counters(p) + 255) / 256 * 256;
}
static inline char *tutti_meet_view(const struct tutti_pcoll *p)
{
    return p->meeting->memory->base + (size_t)p->meeting->half * tutti_meet_half(p);
}
/* Node rank of a rank of the communicator. */
static inline int tutti_meet_peer(const struct tutti_pcoll *p, int rank)
{
    return tutti_node_find(tutti_part_engine.worker.node, p->args.world[rank]);
}

#endif

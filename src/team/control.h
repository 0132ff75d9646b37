/* The control page: host shared memory of one rank, mapped by all ranks of its node, written by its owner alone. One
 * slot a team: arrival records, votes, progress and abort words. Sequences only grow and are compared as signed
 * differences, so that they survive the wrap. */
#ifndef TUTTI_TEAM_CONTROL_H
#define TUTTI_TEAM_CONTROL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "device/device.h"
#include "kernels/args.h"
#include "team/rndv.h"

enum tutti_collective {
#define TUTTI_COLLECTIVE(id, name) TUTTI_COLLECTIVE_##id,
#include "tutti/collectives.def"
#undef TUTTI_COLLECTIVE
    TUTTI_COLLECTIVES
};

/* Kind of buffers that a rank brings to a call. */
enum tutti_arrival_kind {
    TUTTI_ARRIVAL_HOST,   /* host memory: the call goes to the MPI */
    TUTTI_ARRIVAL_DEVICE, /* all buffers are usable by kernels on the team's GPU */
    TUTTI_ARRIVAL_RESET,  /* device memory, and the team's GPU has been reset since the team was opened */
    TUTTI_ARRIVAL_OTHER,  /* device memory of a GPU other than the team's */
    TUTTI_ARRIVAL_LATER,  /* device memory; the rank would have the team opened, or kernels loaded, at a later call */
    TUTTI_ARRIVAL_NONE,   /* no bytes: calls over nodes alone know this kind */
    TUTTI_ARRIVAL_FIRST,  /* device memory; the rank leaves one of its first calls to the MPI, and waits for no rank */
    TUTTI_ARRIVAL_AHEAD,  /* the rank has left the call to the MPI, and its record was overwritten: HOST or FIRST */
};

/* 1: the rank has left the call to the MPI. */
static inline int tutti_arrival_leaves(uint32_t kind)
{
    return kind == TUTTI_ARRIVAL_HOST || kind == TUTTI_ARRIVAL_FIRST || kind == TUTTI_ARRIVAL_AHEAD;
}

/* One rank's arrival at a call. */
struct tutti_arrival {
    uint32_t collective; /* enum tutti_collective */
    int32_t type, op;    /* element type, operator */
    uint32_t kind;       /* enum tutti_arrival_kind */
    uint64_t count;      /* elements of a reduction; of a data mover, whose ranks may differ in it: its rows */
    uint64_t detail;     /* what else must be alike on all ranks: tutti_detail() */
    uint32_t blocks;     /* DEVICE: that this rank has for the call, see sm_budget.h; 0: it takes them later. HOST, of a
                            data mover: enum tutti_reason why; 0: host memory. FIRST: the same */
    uint32_t streams;    /* DEVICE: 1 where communicators with a stream live in its process */
    uint32_t lines;      /* DEVICE, of rank 0: 1 if all links are known by now to deliver lines (lines.c) */
};

/* The same in shared memory, each word written whole. A rank with host memory never waits and may run any number of
 * calls ahead, over records that a peer still wants. So `head` is written first and `ready` last: a reader that finds
 * another sequence in either knows that the record was overwritten. Then device[] of the slot holds the kind of memory
 * that the owner passed: a rank's second call with device memory after this one starts only after all have arrived at
 * the first. */
struct tutti_record {
    _Atomic uint64_t head; /* low half: sequence; high half: bytes of kind, collective, type, op */
    _Atomic uint64_t count, detail;
    _Atomic uint32_t ready;  /* the sequence again */
    _Atomic uint32_t blocks; /* and lines << 30, streams << 31: of ranks with device memory, whose record stays until
                                all have read it */
};

/* Buffers that a rank offers to its peers in a call, written by ranks with device memory, which are never more than one
 * call apart. */
struct tutti_shares {
    struct tutti_share in, out;
    uint32_t listed; /* 1: and which blocks of them, see struct tutti_listed */
};

/* The blocks of a move, at most one to and one from each rank, that a rank offers along with its buffers: by the other
 * rank, and from the beginning of the offered buffer on. Written and read as the shares are. */
struct tutti_listed {
    _Alignas(128) uint64_t even; /* not 0: all blocks have so many bytes, one behind the other, and are not listed */
    uint64_t room;               /* bytes of scratch that a leader has for each run of blocks */
    struct tutti_listed_block {
        uint64_t at, bytes;
    } send[TUTTI_MAX_GPUS], receive[TUTTI_MAX_GPUS];
};

/* What a rank brings when the team is opened: written before the first vote of tutti_team_open(), read after it. */
struct tutti_offer {
    char why[64]; /* empty: this rank is ready */
    unsigned char uuid[16];
    uint64_t bytes;  /* of its channel */
    uint64_t blocks; /* of a kernel that waits, at most */
    uint64_t ticks;  /* that its channel has counted for earlier teams */
    uint64_t words;  /* its set of words */
    struct tutti_share share;
};

/* Sequences and votes of a new team begin here, so that every long run passes the wrap. */
enum { TUTTI_FIRST = -256, TUTTI_RECORDS = 16 };

/* One rank's side of one team, written by its owner alone except for one member; a slot serves another team only
 * when all peers have left the one before. The arrival of sequence s lies in record[s % TUTTI_RECORDS], its shares in
 * shares[s & 1]. */
struct tutti_slot {
    _Alignas(128) _Atomic uint32_t sequence; /* of the last arrival, written after the record */
    _Atomic uint32_t done;                   /* sequence of the last call that this rank has finished */
    _Atomic uint32_t done_status;            /* its status, as a positive number; written before done */
    _Atomic uint32_t broken;                 /* not zero: this rank has given the communicator up; status as above */
    _Atomic uint32_t generation;             /* changes when the owner leaves the communicator */
    _Atomic uint32_t device[2];              /* sequences of the last two arrivals with device memory */
    _Atomic uint32_t report;                 /* not zero: what peers have found while this rank was in the MPI, a status
                                                as above; written by them */
    _Atomic uint32_t asked; /* bit of each data mover whose next call with host memory the owner should not leave to the
                               MPI: peers had device memory in the last one; written by them, cleared by the owner */
    _Atomic uint32_t left;  /* 1: the owner arrives at no more calls: it leaves them to the MPI (tutti_team_leave()) */
    uint32_t pad0[22];
    _Alignas(128) _Atomic uint32_t voted; /* number of the last vote */
    _Atomic uint32_t vote[2];             /* what was voted in vote v: [v & 1], written before `voted` */
    _Atomic uint64_t want;                /* ranks whose descriptors of the current call this rank asks for */
    uint32_t pad1[26];
    _Alignas(128) struct tutti_record record[TUTTI_RECORDS];
    struct tutti_shares shares[2];
    uint16_t rndv[2]
                 [TUTTI_MAX_RANKS]; /* first rendezvous for each rank of the team in the call of sequence s: [s & 1] */
    struct tutti_offer offer;
};

/* Writes the record of `sequence`; a few stores. */
static inline void tutti_record_write(struct tutti_slot *slot, uint32_t sequence, uint32_t collective, int type, int op,
                                      uint32_t kind, uint64_t count, uint64_t detail)
{
    struct tutti_record *record = &slot->record[sequence % TUTTI_RECORDS];
    uint64_t call = kind | collective << 8 | ((uint32_t)type & 0xff) << 16 | ((uint32_t)op & 0xff) << 24;
    atomic_store_explicit(&record->head, call << 32 | sequence, memory_order_relaxed);
    atomic_store_explicit(&record->count, count, memory_order_release); /* not before head */
    atomic_store_explicit(&record->detail, detail, memory_order_release);
    atomic_store_explicit(&record->ready, sequence, memory_order_release);
    atomic_store_explicit(&slot->sequence, sequence, memory_order_release);
}

/* Adds the count of one more segment to a detail, which begins as zero. */
static inline uint64_t tutti_detail_add(uint64_t detail, uint64_t count)
{
    return (detail ^ count) * UINT64_C(0x9e3779b97f4a7c15) + 1;
}
/* counts: REDUCE_SCATTER alone, of all segments. */
static inline uint64_t tutti_detail(enum tutti_collective collective, int root, const size_t *counts, int ranks)
{
    uint64_t detail = 0;
    if (collective == TUTTI_COLLECTIVE_REDUCE)
        return (uint64_t)root;
    for (int r = 0; collective == TUTTI_COLLECTIVE_REDUCE_SCATTER && r < ranks; r++)
        detail = tutti_detail_add(detail, counts[r]);
    return detail;
}

/* Words that kernels of the owner see (mapped host memory), one set a channel. */
struct tutti_words {
    _Alignas(128) uint32_t abort; /* not zero: kernels leave */
    uint32_t pad0[31];
    uint32_t done; /* epoch of the last launch that has ended */
    uint32_t where;
    uint32_t noticed; /* low half of the epoch of the last flow launch that reported its end */
    uint32_t failed;  /* enum tutti_left: a flow launch has left early, and so do those after it */
    uint32_t pad1[28];
    struct tutti_mail mail; /* for a kernel that stays; the host alone writes it */
    uint64_t pad2[8];
    struct tutti_answer answer; /* its answers */
    uint32_t pad3[29];
};
_Static_assert(sizeof(struct tutti_words) == 4 * 128, "whole lines");

enum { TUTTI_SLOTS = 2048, TUTTI_WORDS = 64 };

/* Allocations of the owner that were freed: the last ones of `count`. */
enum { TUTTI_GONE = 128 };
struct tutti_invalidations {
    _Alignas(
        128) _Atomic uint32_t notices; /* not 0: a peer has sent a notice; written by peers, cleared by the owner */
    uint32_t pad[31];
    _Atomic uint32_t count;
    _Atomic uint64_t id[TUTTI_GONE]; /* of the n-th in [n % TUTTI_GONE] */
};

/* Memory that ranks expose to each other's kernels, see expose.h: allocations of the owner, which are numbered without
 * end, and where the owner's kernels find those of its peers. One set for each set of words. */
enum { TUTTI_EXPOSED = 16 };
struct tutti_exposures {
    _Alignas(128) _Atomic uint64_t calls; /* of tutti_expose(), on the team that has the set */
    struct tutti_exposed {
        _Atomic uint64_t number; /* 0: none; written after the share */
        struct tutti_share share;
    } own[TUTTI_EXPOSED];
    struct tutti_exposed_at {
        _Atomic uint64_t number;             /* of the peer's allocation; 0: none; written after the base */
        _Atomic uint64_t base;               /* 0: it cannot be mapped */
    } mapped[TUTTI_MAX_GPUS][TUTTI_EXPOSED]; /* of rank r of the team */
};

/* See marks.h. Page-aligned, so that a device can map them alone. */
enum { TUTTI_MARKS = 16384 };
struct tutti_marks {
    _Alignas(4096) _Atomic uint32_t word[TUTTI_MARKS];
};

/* A GPU that the owner works on (sharing.c). */
enum { TUTTI_PRESENT_GPUS = 16 };
struct tutti_present {
    _Atomic uint32_t there;  /* 1: the UUID is there */
    _Atomic uint32_t shared; /* 1: another rank of the node works on it too; written by both */
    unsigned char uuid[16];
};

/* Of windows of one-sided communication, which lays both out (mpi/rma/slots.h): words, and rows on pages that are made
 * when they are used. Zeros at first. */
enum { TUTTI_WINDOW_WORDS = 256 << 10, TUTTI_WINDOW_ROWS = 3 << 20 };

struct tutti_control {
    _Alignas(4096) uint64_t magic;
    uint32_t version, pid;
    uint64_t nonce[2];
    _Atomic uint32_t closed;               /* 1: the owner has left in good order */
    _Atomic uint32_t steps;                /* of its nonblocking calls, over all communicators */
    struct tutti_words words[TUTTI_WORDS]; /* page-aligned end, so that a device can map this part alone */
    _Alignas(4096) struct tutti_slot slot[TUTTI_SLOTS];
    struct tutti_endpoints endpoints;
    struct tutti_invalidations invalidations;
    struct tutti_marks marks;
    _Alignas(4096) unsigned char window_words[TUTTI_WINDOW_WORDS];
    struct tutti_listed listed[TUTTI_SLOTS][2]; /* of each slot, in the call of sequence s: [s & 1] */
    struct tutti_exposures exposures[TUTTI_WORDS];
    struct tutti_present present[TUTTI_PRESENT_GPUS];
    _Alignas(4096) unsigned char window_rows[TUTTI_WINDOW_ROWS];
    _Alignas(4096) struct tutti_landing landing[TUTTI_LANDINGS];
};
_Static_assert(sizeof(struct tutti_control) < 12 << 20, "every rank maps the page of every rank of its node");

#endif

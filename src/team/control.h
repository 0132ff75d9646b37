/* The control page: host shared memory of one rank, mapped by all ranks of its node, written by its owner alone. One
 * slot a communicator: arrival record, votes, progress and abort words. Sequences only grow and are compared as signed
 * differences, so that they survive the wrap. */
#ifndef TUTTI_TEAM_CONTROL_H
#define TUTTI_TEAM_CONTROL_H

#include <stdatomic.h>
#include <stdint.h>

#include "device/device.h"

enum tutti_collective {
#define TUTTI_COLLECTIVE(id, name) TUTTI_COLLECTIVE_##id,
#include "tutti/collectives.def"
#undef TUTTI_COLLECTIVE
    TUTTI_COLLECTIVES
};

/* Kind of buffers that a rank brings to a call. */
enum tutti_arrival_kind {
    TUTTI_ARRIVAL_HOST,   /* host memory, or device memory of a GPU other than the team's: the call goes to the MPI */
    TUTTI_ARRIVAL_DEVICE, /* all buffers are usable by kernels on the team's GPU */
};

/* A buffer that peers may map. */
struct tutti_share {
    uint32_t shared; /* 0: cannot be mapped, or was not asked for */
    uint32_t pad;
    uint64_t offset; /* of the buffer in the allocation */
    struct tutti_export what;
};

struct tutti_arrival {
    uint32_t collective;        /* enum tutti_collective */
    int32_t type, op;           /* element type, operator */
    uint32_t kind;              /* enum tutti_arrival_kind */
    uint64_t count;             /* elements */
    struct tutti_share in, out; /* filled where the algorithm maps buffers */
};

/* Sequences and votes of a new team begin here, so that every long run passes the wrap. */
enum { TUTTI_FIRST = -256 };

/* One rank's side of one communicator, written by its owner alone; a slot serves another communicator only when all
 * peers have left the one before. An arrival of sequence s lies in arrival[s & 1]: no rank can be two calls ahead of
 * another, because an allreduce of at least one element ends nowhere before it began everywhere. */
struct tutti_slot {
    _Alignas(128) _Atomic uint32_t sequence; /* of the last arrival, written after the record */
    _Atomic uint32_t done;                   /* sequence of the last call that this rank has finished */
    _Atomic uint32_t done_status;            /* its status, as a positive number; written before done */
    _Atomic uint32_t broken;                 /* not zero: this rank has given the communicator up; status as above */
    _Atomic uint32_t generation;             /* changes when the owner leaves the communicator */
    uint32_t pad0[27];
    _Alignas(128) _Atomic uint32_t voted; /* number of the last vote */
    _Atomic uint32_t vote[2];             /* what was voted in vote v: [v & 1], written before `voted` */
    _Atomic uint64_t want;                /* ranks whose descriptors of the current call this rank asks for */
    uint32_t pad1[26];
    struct tutti_arrival arrival[2];
};

/* Words that kernels of the owner see (mapped host memory), one set a channel. */
struct tutti_words {
    _Alignas(128) uint32_t abort; /* not zero: kernels leave */
    uint32_t pad0[31];
    uint32_t done; /* epoch of the last launch that has ended */
    uint32_t where;
    uint32_t pad1[30];
};

enum { TUTTI_SLOTS = 1024, TUTTI_WORDS = 64 };

struct tutti_control {
    _Alignas(4096) uint64_t magic;
    uint32_t version, pid;
    uint64_t nonce[2];
    _Atomic uint32_t closed;               /* 1: the owner has left in good order */
    struct tutti_words words[TUTTI_WORDS]; /* page-aligned end, so that a device can map this part alone */
    _Alignas(4096) struct tutti_slot slot[TUTTI_SLOTS];
};

#endif

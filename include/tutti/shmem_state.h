/*
 * The state of a PE of the global address space, as kernels and the host read it: where the symmetric heaps lie, which
 * teams there are, and how the internal area in front of every heap is laid out. Made by the library at tshmem_init,
 * read by <tutti/device.h>. Programs need none of it.
 */
#ifndef TUTTI_SHMEM_STATE_H
#define TUTTI_SHMEM_STATE_H

#if defined(__CUDACC_RTC__)
/* NVRTC has no host headers; these are the types of the host's <stdint.h> and <stddef.h> on 64-bit Linux. */
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long uint64_t;
typedef unsigned long uintptr_t;
typedef long ptrdiff_t;
#else
#include <stddef.h>
#include <stdint.h>
#endif

#include "tutti/ring_state.h"
#include "tutti/shmem_failure.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TSHMEM_PES_MAX = 4096, /* of an address space */
    TSHMEM_NEAR_MAX = 64,  /* of a node; of those that kernels of a PE reach by loads and stores */
    TSHMEM_TEAMS_MAX = 64,
    TSHMEM_CONTEXTS_MAX = 64,         /* of a PE at a time, the default one among them */
    TSHMEM_STATE_VERSION = 6,         /* of the layouts in this file */
    TSHMEM_PACKETS_BYTES = 96 * 1024, /* of each half of a team's packets */
};

/* Calls on the host and calls in kernels have a sequence each, so they never mix. */
enum { TSHMEM_BY_HOST = 0, TSHMEM_BY_DEVICE = 1 };

struct tshmem_team_state {
    int32_t used, me, size, start,
        stride;      /* me: number of this PE in the team; start, stride: in PEs of the world, stride 0: none */
    uint32_t number; /* of the team, alike on all its PEs: index of its internal area */
    uint32_t far;    /* not 0: some members do not reach each other by loads and stores; alike on all of them */
    int32_t world[TSHMEM_NEAR_MAX]; /* PE of the world of each member, if there are no more */
    const int32_t *list;            /* the same if there are more, and stride is 0; memory that kernels read */
};

/* A context's handle: its number + 1 in the lowest bits, above them which turn of that number it is, which only grows.
 * The default one: number 0, turn 0. */
enum { TSHMEM_CONTEXT_BITS = 8 };

/* What kernels ask of the host by the ring (tutti/ring_state.h), where their own loads and stores do not reach a PE, or
 * copy engines are faster. dest and source of the other PE are offsets in its heap. */
enum tshmem_ring_operation {
    TSHMEM_RING_NOP = TUTTI_RING_NOP,
    TSHMEM_RING_PUT,
    TSHMEM_RING_PUT_VALUE,  /* of at most 16 bytes, which are in `value` and `compare` */
    TSHMEM_RING_PUT_SIGNAL, /* value: of the signal, compare: its offset, what: TSHMEM_SIGNAL_...; 0 bytes: it alone */
    TSHMEM_RING_GET,
    TSHMEM_RING_GET_VALUE,  /* of at most 8 bytes, which the completion contains */
    TSHMEM_RING_AMO,        /* what: enum tshmem_amo, size: 4 or 8; without a completion nothing is fetched */
    TSHMEM_RING_PUT_BLOCKS, /* bytes: number of blocks; value, compare: from one to the next at dest and source, extra:
                               elements of one, size: bytes of an element */
    TSHMEM_RING_GET_BLOCKS,
    TSHMEM_RING_QUIET, /* done when nothing is under way to PEs of other nodes, by whomever it was begun; pe: one of
                          them, of others nothing is waited for */
    TSHMEM_RING_OPERATIONS
};

/* How many threads a call's group has, for cutovers. */
enum { TSHMEM_GROUP_1, TSHMEM_GROUP_32, TSHMEM_GROUP_128, TSHMEM_GROUP_1024, TSHMEM_GROUPS };
enum { TSHMEM_CUT_PUT, TSHMEM_CUT_GET, TSHMEM_CUTS };

/* The ring, as kernels address it. Zero: no ring. */
struct tshmem_ring_state {
    uint64_t slots;             /* a power of two */
    uint32_t shift;             /* of which: slots == 1 << shift */
    uint32_t elements, atomics; /* not 0: p, g and strided ones, atomics and signals go by it to all PEs */
    uint32_t unused;
    struct tutti_ring_slot *request; /* [slots]; host memory, as the next two */
    struct tutti_ring_completion *completion;
    struct tutti_ring_progress *progress;
    struct tutti_ring_counters *own;
    uint64_t cutover[TSHMEM_CUTS][TSHMEM_GROUPS]; /* bytes from which on a transfer goes by it; 0: never */
};

struct tshmem_state {
    uint32_t bytes,
        version; /* sizeof this struct; TSHMEM_STATE_VERSION: a kernel compiled with another header refuses */
    int32_t me, pes;
    char *heap;          /* own, as kernels of this GPU (host device: as the host) address it */
    uint64_t heap_bytes; /* of each heap's addresses, of which those past its present end have no memory yet */
    /* Heaps as mapped here, [of the own one] == heap; NULL: not reached by loads and stores. Of PE p that of number
     *     ((p - near_first) * (near_scale + 1)) rotated to the right by near_shift, in 32 bits, where it is so small:
     * that of PE p itself where all is 0; else the PEs of the node are even steps apart, by whose inverse p is scaled.
     */
    char *peer[TSHMEM_NEAR_MAX];
    uint32_t near_first, near_scale, near_shift, unused_near;
    uint64_t area,
        area_bytes; /* offset in every heap of the internal area of team number 0; bytes of each team's area */
    struct tshmem_team_state *team; /* [TSHMEM_TEAMS_MAX], by tshmem_team_t; memory that kernels and host both read */
    uint32_t *abort;                /* TSHMEM_ABORT_...: memory that kernels and host both see */
    uint64_t limit_ns;              /* of a wait in a kernel, 0: none; then the abort word is set and the wait leaves */
    uint32_t far, unused;           /* far: of the team of all PEs */
    struct tshmem_ring_state ring;
    uint64_t *context; /* [TSHMEM_CONTEXTS_MAX], by number: the turn above the team, which has 32 bits; 0: no
                          such context. Not of the default one. Memory that kernels and host both read */
    struct tshmem_failure *failure; /* of this PE's kernels; NULL: not used. Memory that kernels and host both see */
};

/*
 * The internal area of a team in the heap of each member, area_bytes >= sizeof this, a multiple of 256. Zero when the
 * team is made, on all members before any of them uses it. Counters in it only grow. Members are counted as in the
 * team. Behind it, with more than TSHMEM_NEAR_MAX PEs: words of teams with more members, as many as there
 * are PEs three times: `arrived` of a kernel, told[0], told[1].
 */
struct tshmem_area {
    uint64_t arrived[2]
                    [TSHMEM_NEAR_MAX]; /* [by][member]: sequence at which that member has arrived; it stores it here */
    uint64_t sequence[2];              /* [by]: own: of the last meeting or exchange of this member */
    uint32_t busy[2];                  /* [by]: own: 1 while a collective of the team is under way */
    uint32_t grid_arrived; /* own: blocks of this GPU that have reached the grid's barriers, from the first on */
    uint32_t unused;
    uint64_t told[2][TSHMEM_NEAR_MAX]; /* [sequence % 2][member]: the same as `arrived` of a kernel at a member that is
                                         not reached by loads and stores: the agent of this PE stores it here */
    uint64_t word[4];                  /* own: a value of the first thread of a group for the others */
    char packets[2][TSHMEM_PACKETS_BYTES]; /* [sequence % 2]: what the members send to this one in kernels, a slot each:
                                              tutti/device/packets.h; 16-byte packets */
};

#ifdef __cplusplus
}
#endif

#endif

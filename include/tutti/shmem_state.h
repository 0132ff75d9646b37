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

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TSHMEM_PES_MAX = 64,
    TSHMEM_TEAMS_MAX = 64,
    TSHMEM_STATE_VERSION = 2,         /* of the two layouts in this file */
    TSHMEM_PACKETS_BYTES = 96 * 1024, /* of each half of a team's packets */
};

/* Who counts: calls on the host and calls in kernels have a sequence each, so that they never mix. */
enum { TSHMEM_BY_HOST = 0, TSHMEM_BY_DEVICE = 1 };

struct tshmem_team_state {
    int32_t used, me, size, start,
        stride;      /* me: number of this PE in the team; start, stride: in PEs of the world, stride 0: none */
    uint32_t number; /* of the team, alike on all its PEs: index of its internal area */
    int32_t world[TSHMEM_PES_MAX]; /* PE of the world of each member */
};

struct tshmem_state {
    uint32_t bytes,
        version; /* sizeof this struct; TSHMEM_STATE_VERSION: a kernel compiled with another header refuses */
    int32_t me, pes;
    char *heap; /* own, as kernels of this GPU (host device: as the host) address it */
    uint64_t heap_bytes;
    char *peer[TSHMEM_PES_MAX]; /* heap of PE p as mapped here; [me] == heap; NULL: not reached by loads and stores */
    uint64_t area,
        area_bytes; /* offset in every heap of the internal area of team number 0; bytes of each team's area */
    struct tshmem_team_state *team; /* [TSHMEM_TEAMS_MAX], by tshmem_team_t; memory that kernels and host both read */
    uint32_t *abort;                /* nonzero: every wait in a kernel leaves; memory that kernels and host both see */
    uint64_t limit_ns;              /* of a wait in a kernel, 0: none; then the abort word is set and the wait leaves */
};

/*
 * The internal area of a team in the heap of each member, area_bytes >= sizeof this, a multiple of 256. Zero when the
 * team is made, on all members before any of them uses it. Counters in it only grow. Members are counted as in the
 * team.
 */
struct tshmem_area {
    uint64_t arrived[2]
                    [TSHMEM_PES_MAX]; /* [by][member]: sequence at which that member has arrived; it stores it here */
    uint64_t sequence[2];             /* [by]: own: of the last meeting or exchange that this member came to */
    uint32_t busy[2];                 /* [by]: own: 1 while a collective of the team is under way */
    uint32_t grid_arrived;            /* own: blocks of this GPU that came to the grid's barriers, from the first on */
    uint32_t unused;
    uint64_t word[4];                      /* own: what the first thread of a group tells the others */
    char packets[2][TSHMEM_PACKETS_BYTES]; /* [sequence % 2]: what the members send to this one in kernels, a slot each:
                                              tutti/device/packets.h; 16-byte packets */
};

#ifdef __cplusplus
}
#endif

#endif

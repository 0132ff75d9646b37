/* Calls in kernels, measured between two PEs: on one GPU, or on two that reach each other. The kernels are compiled
 * once for each PE, so that each has its state in constant memory, as a program's do. */
#ifndef TUTTI_BENCH_SHMEM_H
#define TUTTI_BENCH_SHMEM_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/shmem_state.h"

enum { BENCH_PES = 2, BENCH_DATA = 8 << 20, BENCH_MOST = 8 << 20 /* bytes of a message */ };

/* The heap. */
struct bench_heap {
    struct tshmem_area area;
    unsigned char pad[256 - sizeof(struct tshmem_area) % 256];
    uint64_t signal[2], counter, word;
    unsigned char in[BENCH_DATA], out[BENCH_DATA];
};

enum bench_operation {
    BENCH_P_QUIET,   /* one element, and quiet */
    BENCH_PUT_QUIET, /* `bytes` bytes by the group, and quiet */
    BENCH_ADD,       /* atomic add, and quiet */
    BENCH_FETCH_ADD, /* the same that gives the value back */
    BENCH_PINGPONG,  /* put with signal there, and back: both PEs */
    BENCH_BARRIER,   /* both PEs; so are the following */
    BENCH_FCOLLECT,  /* `bytes` a PE */
    BENCH_BROADCAST, /* from PE 0 */
    BENCH_SUM,       /* of floats, `bytes` of them */
    BENCH_PUT,       /* bandwidth: a part of `bytes` by each block, and quiet in the end */
    BENCH_GET,
    BENCH_GET_BLOCKING, /* `bytes` bytes by the group */
    BENCH_RING_TRIP,    /* a request that does nothing, and its completion */
    BENCH_RING_RATE,    /* requests that do nothing, by all threads, and quiet in the end */
    BENCH_OPERATIONS
};

enum bench_group { BENCH_THREAD, BENCH_WARP, BENCH_BLOCK };

/* One measurement, by `rounds` rounds. */
struct bench_call {
    int operation, group;
    unsigned rounds;
    size_t bytes;
    struct bench_heap *heap;
    uint64_t *begin, *end; /* [block]: in ns of the GPU's clock, once the first tenth of the rounds is over; pinned */
    unsigned *wrong;       /* counted: what a call has done wrong, as far as the kernel sees it; pinned */
};

struct bench_pe {
    const void *kernel; /* (struct bench_call) */
    int (*bind)(const struct tshmem_state *state);
};

#ifdef __cplusplus
extern "C" {
#endif
extern const struct bench_pe bench_pe_0, bench_pe_1;
#ifdef __cplusplus
}
#endif

#endif

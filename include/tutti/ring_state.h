/*
 * The ring of requests: how kernels ask the host to do something for them. The host lays it out in host memory that
 * kernels reach; kernels write requests, the host reads them and writes completions and progress. What a request asks
 * for is agreed between the kernels and the room of the library that serves them: the address space
 * (tutti/shmem_state.h) is one. Programs need none of it.
 */
#ifndef TUTTI_RING_STATE_H
#define TUTTI_RING_STATE_H

#ifndef __CUDACC_RTC__ /* NVRTC has no host headers: tutti/shmem_state.h defines the types */
#include <stdint.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Operation 0 asks for nothing. All other numbers belong to the users of the ring. */
enum { TUTTI_RING_NOP = 0 };

/* clang-format off */
/*
 * The slot of a request: eight words. Each has 56 bits of the request above 8 bits of the slot's turn. A word with the
 * right turn has arrived, so the words need no order among them and the writer waits for nothing. The slot of request s
 * is s % slots, its turn s / slots + 1.
 *   word 0   operation 8, what 8, pe 16, size 8, highest bits of value 8 and of compare 8, from bit 8 on
 *   word 1   dest     at the side of the other PE an offset, here an address
 *   word 2   source   the same
 *   word 3   bytes
 *   word 4   value    its lower 56 bits
 *   word 5   compare  the same
 *   word 6   extra
 *   word 7   completion 24, tag 32; tag 0: the kernel needs no completion
 */
/* clang-format on */
struct tutti_ring_slot {
    uint64_t word[8];
};

/* The end of a request. Both words have the tag above one half of the value that the request returns. */
struct tutti_ring_completion {
    uint64_t word[2];
};

/* Written by the host. consumed: the requests that it has read; completed: those before which all are complete. Both
 * count from the first request on. */
struct tutti_ring_progress {
    uint64_t consumed, completed;
};

/* Written by kernels, in memory of their GPU. Kernels claim and release completions one by one, in any order: bit 0 of
 * `taken` is set while one is in use, the bits above count its uses. The tag is that count. */
enum { TUTTI_RING_COMPLETIONS = 4096 };
struct tutti_ring_counters {
    uint64_t next;       /* of the next request */
    uint64_t consumed;   /* the host's, as a kernel saw it last */
    uint64_t completed;  /* the same */
    uint64_t unused[13]; /* the counters have a line for themselves */
    uint32_t taken[TUTTI_RING_COMPLETIONS];
};

#ifdef __cplusplus
}
#endif

#endif

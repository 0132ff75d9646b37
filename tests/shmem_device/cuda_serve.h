/* Rings of PEs, served by a thread of the test by the library's proxy and its path for GPUs, over the CUDA
 * runtime. Known by C and CUDA. */
#ifndef TUTTI_TESTS_SHMEM_CUDA_SERVE_H
#define TUTTI_TESTS_SHMEM_CUDA_SERVE_H

#include "shmem_device/cuda_pes.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cuda_ring {
    CUDA_RING_NONE,
    CUDA_RING_FORCED,
    CUDA_RING_CUT,
    CUDA_RING_NODES, /* kernels reach PEs of their nodes, the others by the ring alone: there copy engines are the wire
                      */
    CUDA_RINGS
};

/* Between cuda_pes_open() and the first launch. slots: a power of two; seed: of cutovers. */
void cuda_serve(struct cuda_pes *pes, enum cuda_ring how, uint64_t slots, uint64_t seed);
/* When no kernel runs. Requests that were made. */
uint64_t cuda_serve_end(struct cuda_pes *pes);

/* An atomic, as a kernel of one thread: cuda_serve.cu. what: enum tshmem_amo. */
struct cuda_amo {
    int what;
    unsigned size;
    char *at;
    uint64_t value, compare, *was; /* NULL: nobody wants it */
};
extern const void *const cuda_amo_kernel; /* (struct cuda_amo) */

#ifdef __cplusplus
}
#endif

#endif

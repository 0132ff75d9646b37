/* The ring by itself on a GPU. Known by C and CUDA. */
#ifndef TUTTI_TESTS_SHMEM_CUDA_MESSAGES_H
#define TUTTI_TESTS_SHMEM_CUDA_MESSAGES_H

#include <stdint.h>

#include "tutti/shmem_state.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { MESSAGES_BLOCKS = 64, MESSAGES_THREADS = 256, MESSAGES_PRODUCERS = MESSAGES_BLOCKS * MESSAGES_THREADS };

/* Each thread is a producer and sends `each` requests. All memory is pinned; the words are as in ring_host.h. */
struct messages {
    uint64_t seed, each;
    uint64_t *sent, *brought, *done;
    uint32_t *wrong;
};

extern const void *const messages_kernel; /* (struct messages) */
int messages_bind(const struct tshmem_state *state);

#ifdef __cplusplus
}
#endif

#endif

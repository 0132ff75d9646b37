/* The host's side of the tests of the ring by itself: what producers, threads of the host device or of a GPU, send as
 * their request number n, and a host that compares every one and answers at once or later, in any order, or has no
 * room. Includes <tutti/device.h>: who has a state defines TSHMEM_STATE() before. */
#ifndef TUTTI_TESTS_SHMEM_RING_HOST_H
#define TUTTI_TESTS_SHMEM_RING_HOST_H

#include "tutti/device.h"

#include "support/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Plain memory that kernels and host both see, one a producer. sent: number of the request that it waits for, written
 * before; brought: written before the answer; done: of its requests. */
struct ring_words {
    uint64_t *sent, *brought, *done;
};

#define RING_PRODUCED(p, n) ((uint64_t)(p) << 40 | (n))

RANDOM_FN struct tutti_dev_request ring_drawn(uint64_t seed, uint64_t p, uint64_t n)
{
    uint64_t random = random_mix(seed ^ random_mix(RING_PRODUCED(p, n)));
    const uint64_t most = ((uint64_t)1 << 56) - 1;
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    r.dest = RING_PRODUCED(p, n);
    r.source = random_next(&random) & most;
    r.bytes = random_next(&random) & most;
    r.value = random_next(&random);
    r.compare = random_next(&random);
    r.extra = random_next(&random) & most;
    r.operation = (int)(1 + random_next(&random) % (TSHMEM_RING_OPERATIONS - 1));
    r.what = (int)(random_next(&random) & 0xff);
    r.pe = (int)(random_next(&random) & 0xffff);
    r.size = (unsigned)(random_next(&random) & 0xff);
    return r;
}

RANDOM_FN uint64_t ring_answer(uint64_t dest, uint64_t source)
{
    return random_mix(dest ^ source);
}

#ifndef __CUDACC__
#include <stdatomic.h>

#include "ring/ring.h"

enum { RING_LATER = 24 };
struct ring_host {
    struct tutti_ring *ring;
    struct ring_words words;
    uint64_t seed, random, producers, *next, wrong;
    struct tutti_ring_request *later[RING_LATER];
    int waiting, held; /* held: so many rounds nothing ends, so that who does not wait for it is seen */
    atomic_int stop;
};

/* What the kernels' counters hold where the first request has that number. */
static inline void ring_counters_init(struct tutti_ring_counters *counters, uint64_t first)
{
    *counters = (struct tutti_ring_counters){.next = first, .consumed = first, .completed = first};
}
/* Registers all operations of the address space on the ring, with this host as their user. */
void ring_host_register(struct ring_host *host);
/* A thread's: until `stop` is set, and nothing is open. */
void *ring_host_thread(void *host);
#endif

#ifdef __cplusplus
}
#endif

#endif

/* Random numbers of the tests: a hash of a counter, so that any rank can make any other rank's values. */
#ifndef TUTTI_TESTS_RANDOM_H
#define TUTTI_TESTS_RANDOM_H

#include <stdint.h>

/* In CUDA for kernels too. */
#ifdef __CUDACC__
#define RANDOM_FN static inline __host__ __device__
#else
#define RANDOM_FN static inline
#endif

/* splitmix64's mixing of one word. */
RANDOM_FN uint64_t random_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* Next number of a sequence. */
RANDOM_FN uint64_t random_next(uint64_t *state)
{
    return random_mix((*state)++);
}

#endif

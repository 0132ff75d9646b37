/* Random numbers of the tests: a hash of a counter, so that any rank can make any other rank's values. */
#ifndef TUTTI_TESTS_RANDOM_H
#define TUTTI_TESTS_RANDOM_H

#include <stddef.h>
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

/* `size` bytes, eight of each word. */
RANDOM_FN void random_bytes(void *out, uint64_t seed, size_t size)
{
    unsigned char *to = (unsigned char *)out;
    for (size_t i = 0; i < size; i += 8) {
        uint64_t word = random_mix(seed + i / 8);
        for (size_t b = i; b < size && b < i + 8; b++, word >>= 8)
            to[b] = (unsigned char)word;
    }
}

/* Next number of a sequence. */
RANDOM_FN uint64_t random_next(uint64_t *state)
{
    return random_mix((*state)++);
}

#endif

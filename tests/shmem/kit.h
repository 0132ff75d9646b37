/* What the tests of the global address space share. One program text is run by forked processes over a transport of the
 * tests (kit_forks.c), and by the ranks of an MPI (kit_mpi.c). */
#ifndef TUTTI_TESTS_SHMEM_KIT_H
#define TUTTI_TESTS_SHMEM_KIT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/random.h"
#include "tutti/shmem.h"

/* What each PE does while the address space is up; failures are counted by check.h. Defined by each test. */
void shmem_test(void);

/* Standard error goes nowhere from begin to end: errors that a test makes are not to be read as its own. */
void shmem_hush_begin(void);
void shmem_hush_end(void);

/* A number that follows from what is given; alike on all PEs. */
static inline uint64_t shmem_draw(uint64_t a, uint64_t b, uint64_t c)
{
    return random_mix(random_mix(random_mix(a) ^ b) ^ c);
}
/* Fills bytes with what follows from the key. */
static inline void shmem_fill(void *to, size_t bytes, uint64_t key)
{
    unsigned char *at = to;
    for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
        const uint64_t word = shmem_draw(key, i, 0);
        memcpy(at + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
    }
}

#endif

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
#include "tutti/tutti.h"

/* What each PE does while the address space is up; failures are counted by check.h. Defined by each test. */
void shmem_test(void);

/* The rank that is this PE where nodes are counted: TUTTI_NODE_RANKS of them are a virtual node. */
int shmem_rank_of(int pe);
/* 1 if that PE is on this one's node. */
static inline int shmem_is_near(int pe)
{
    const char *said = getenv("TUTTI_NODE_RANKS");
    const int ranks = said ? atoi(said) : 0;
    return ranks == 0 || shmem_rank_of(pe) / ranks == shmem_rank_of(tshmem_my_pe()) / ranks;
}
/* Operations of the context that are not known to be complete; -1 if this program cannot see it. */
int shmem_open_operations(tshmem_ctx_t ctx);

/* Standard error goes nowhere from begin to end: errors that a test makes are not to be read as its own. The end gives
 * how many lines were said. */
void shmem_hush_begin(void);
long shmem_hush_end(void);

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

/* The own part of a symmetric object. The heap may lie in memory of a GPU, where a test itself neither loads nor
 * stores: it puts and gets. */
static inline void shmem_store(void *to, const void *from, size_t bytes)
{
    tshmem_putmem(to, from, bytes, tshmem_my_pe());
}
static inline void shmem_load(void *to, const void *from, size_t bytes)
{
    tshmem_getmem(to, from, bytes, tshmem_my_pe());
}
/* 1 if it holds these bytes. */
static inline int shmem_holds(const void *object, const void *bytes, size_t n)
{
    void *here = malloc(n + 1);
    shmem_load(here, object, n);
    const int same = memcmp(here, bytes, n) == 0;
    free(here);
    return same;
}
static inline void shmem_set(void *object, int byte, size_t n)
{
    void *here = malloc(n + 1);
    memset(here, byte, n);
    shmem_store(object, here, n);
    free(here);
}
static inline void shmem_fill_own(void *object, size_t n, uint64_t key)
{
    void *here = malloc(n + 1);
    shmem_fill(here, n, key);
    shmem_store(object, here, n);
    free(here);
}
/* A word of it. */
#define SEE(at)        tshmem_g(at, tshmem_my_pe())
#define SET(at, value) tshmem_p(at, value, tshmem_my_pe())
/* TUTTI_TEST_FILLED: bytes that are taken before a test begins, so that its objects lie where heaps have grown, the
 * first one over the seam. NULL: none. */
static inline void *shmem_fill_heap(void)
{
    const char *said = getenv("TUTTI_TEST_FILLED");
    return said ? tshmem_malloc((size_t)atol(said)) : NULL;
}
/* 1 if the program may load and store it all the same. */
static inline int shmem_is_plain(const void *object)
{
    return !tutti_is_device(object);
}

#endif

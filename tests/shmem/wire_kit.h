/* What the tests of the wire share: PEs that are threads, their heaps, agents that do all at once or later, and waits
 * that are now and then away. */
#ifndef TUTTI_TESTS_SHMEM_WIRE_KIT_H
#define TUTTI_TESTS_SHMEM_WIRE_KIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "shmem/wire/wire.h"
#include "shmem/wire_at_once.h"
#include "support/random.h"

enum { PES = 4, SLOTS = 8, WORDS = 600, LARGE = 300000, SECONDS = 60, DELAY_US = 300 };

struct heap {
    uint64_t area[PES][SLOTS][WORDS]; /* by writer */
    uint64_t signal[PES], answer[PES];
    uint64_t counter, ticket, set, bits;
    double sum;
    uint32_t small;
    char large[PES][LARGE];
};

struct side {
    int pe;
    struct tutti_transport *transport;
    struct tutti_shmem_wire *wire;
    struct heap *heap;
    struct tutti_wire_users users;
    pthread_t helper;
    atomic_int stop;
    _Atomic uint64_t notices[PES];
    atomic_int given_up, by; /* what `ended` was told */
    uint64_t random;
    unsigned char far[PES];
};
static inline uint64_t draw(struct side *s, uint64_t below)
{
    return random_next(&s->random) % below;
}

extern __thread int here; /* the PE of this thread */
extern const struct tutti_wire_local later;
void begin_works(int pe);
/* tutti_wire_users. */
void hear(void *with, int from, const void *note, size_t bytes);
void give_up(void *with, int from, int status);
/* A second thread that brings the wire on, until s->stop. */
void *help(void *s);
void await(struct side *s, int (*done)(struct side *s, const void *with), const void *with, const char *what);
int is_over(struct side *s, const void *op);
int is_quiet(struct side *s, const void *pe);
int is_fenced(struct side *s, const void *unused);
int is_left(struct side *s, const void *unused);
int is_given_up(struct side *s, const void *unused);
/* All PEs: those who have come serve the others. */
void meet(struct side *s, int *times);
void forget_meetings(void);

struct tutti_wire_op put_of(int pe, uint64_t at, const void *from, size_t bytes);
struct tutti_wire_op get_of(int pe, uint64_t at, void *to, size_t bytes);
struct tutti_wire_op amo_of(int pe, int amo, uint64_t word, uint32_t bytes, uint64_t value, int fetches);
/* Begins it and waits; waits for all. */
void run(struct side *s, struct tutti_wire_op *op);
void settle(struct side *s);
/* Another PE. */
int next_pe(const struct side *s, uint64_t by);
#define AT(field) offsetof(struct heap, field)

#endif

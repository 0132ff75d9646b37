/* Typed messages between ranks: the halo exchange and the ping-pong. */
#ifndef TUTTI_BENCH_EXCHANGE_H
#define TUTTI_BENCH_EXCHANGE_H

#include "bench/common/bench.h"
#include "bench/words/exchange_way.h"

struct exchange_plan {
    int radius, quantities; /* halo; sizes of the plan: edges */
    size_t block, stride;   /* pingpong; sizes: bytes of the message */
    unsigned ways;
};

/* One thing that is measured in several ways, which take turns. */
struct exchange {
    char name[64];
    size_t bytes;            /* that a rank sends */
    const char *counted;     /* call whose counter shows the way of the library: "_Send" */
    const char *sending;     /* call whose counter shows it for messages */
    int typed;               /* way whose messages have types: what the BY ones repeat under rules of their own */
    double share;            /* of the time: a half of a round trip */
    int used[EXCHANGE_WAYS]; /* the same on all ranks */
    void *with;
    /* Collective, not timed: new data where `way` reads it, and nothing right where it writes. */
    void (*prepare)(void *with, int way, uint64_t seed);
    void (*call)(void *with, int way);
    /* Local. 1 if all is right here; otherwise 0 with a text. */
    int (*check)(void *with, int way, uint64_t seed, char *text, size_t size);
};
/* Collective. 1 if all results were right. */
int exchange_run(const struct bench_plan *plan, const struct exchange *exchange);
/* Whether a way is wanted and possible, for ways that every benchmark has. */
int exchange_has(const struct exchange_plan *what, int way);
/* 1 if any of the BY ways is used. */
int exchange_has_rules(const struct exchange *exchange);
/* Collective: 1 if no two ranks are on one node. */
int exchange_apart(const struct bench_plan *plan);
void exchange_mpi(int error, const char *call);

void bench_halo(struct bench_plan *plan, const struct exchange_plan *what);
void bench_pingpong(struct bench_plan *plan, const struct exchange_plan *what);

#endif

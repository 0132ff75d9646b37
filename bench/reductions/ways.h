/* The ways in which the bench does one and the same call, and their buffers. */
#ifndef TUTTI_BENCH_WAYS_H
#define TUTTI_BENCH_WAYS_H

#include "bench/common/bench.h"
#include "bench/reductions/calls.h"
#include "bench/words/way.h"

/* Memory that several ways share. Made when the first of them is used. */
enum bench_set_kind { BENCH_SET_DEVICE, BENCH_SET_PLAIN, BENCH_SET_REFERENCE, BENCH_SET_SYMMETRIC, BENCH_SETS };
struct bench_set {
    void *in, *out; /* PLAIN: ordinary memory; otherwise the device's */
    int filled, type, op;
    uint64_t seed;
    size_t count; /* what `in` holds now */
};

struct bench_ways {
    int used[BENCH_WAYS];
    int ordered;                       /* 1: calls in stream order can be made */
    size_t bytes;                      /* of the current size, as asked for */
    struct bench_call call, reference; /* of the current size and pair */
    struct bench_set set[BENCH_SETS];
    void *copy_in, *copy_out; /* host memory of `staged` */
    int pinned;               /* 1: it is registered with the device */
    char *scratch;            /* ordinary memory: data on its way to and from the device */
};

const char *bench_way_name(int way);
/* Collective. Chooses the GPU, decides which ways there are for the plan's order and says why others are not. */
void bench_ways_open(const struct bench_plan *plan, struct bench_ways *out);
void bench_ways_close(struct bench_ways *ways);
/* The next size. */
void bench_ways_size(const struct bench_plan *plan, struct bench_ways *ways, size_t bytes);

struct bench_call *bench_way_calls(struct bench_ways *ways, int way);
struct bench_set *bench_way_set(struct bench_ways *ways, int way);

/* Puts the input of this rank (round `seed`) where `way` reads it, unless it is there. Not timed. */
void bench_way_prepare(const struct bench_plan *plan, struct bench_ways *ways, int way, uint64_t seed);
/* In place: puts the same input again where the last call wrote its result. Otherwise nothing. Not timed. */
void bench_way_restore(const struct bench_plan *plan, struct bench_ways *ways, int way);
/* Not in place: overwrites what earlier calls have written. Not timed. */
void bench_way_spoil(const struct bench_plan *plan, struct bench_ways *ways, int way);
/* The blocking call. */
void bench_way_call(const struct bench_plan *plan, struct bench_ways *ways, int way);
/* Collective. 1 if the result is right on all ranks; otherwise the lowest rank with a wrong one reports it. exact:
 * every bit. Large results are looked at in places spread over all of them. */
int bench_way_check(const struct bench_plan *plan, struct bench_ways *ways, int way, uint64_t seed, int exact);
/* Sizes up to here are checked in full, and with new input in every checked round. */
enum { BENCH_CHECK_FULL = 4 << 20 };

#endif

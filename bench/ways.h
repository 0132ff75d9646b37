/* The ways in which the bench does one and the same allreduce. */
#ifndef TUTTI_BENCH_WAYS_H
#define TUTTI_BENCH_WAYS_H

#include "bench.h"

enum bench_way { BENCH_TUTTI, BENCH_STAGED, BENCH_PLAIN, BENCH_NATIVE, BENCH_NCCL, BENCH_WAYS };

struct bench_buffers {
    void *device_in, *device_out; /* device memory */
    void *copy_in, *copy_out;     /* pinned host memory of `staged` */
    void *plain_in, *plain_out;   /* ordinary memory of `plain`; NULL where that is not measured */
    void *scratch;                /* ordinary memory: data on its way to and from the device */
    int pinned;                   /* 1: copy_in and copy_out are registered with the device */
};

struct bench_ways {
    int used[BENCH_WAYS];
    MPI_Datatype type;
    MPI_Op op;
    struct bench_buffers buffers;
};

const char *bench_way_name(int way);
/* Collective. Chooses the GPU, allocates for plan->most bytes, decides which ways there are and says why others are
 * not. */
void bench_ways_open(const struct bench_plan *plan, struct bench_ways *out);
void bench_ways_close(struct bench_ways *ways);

/* Puts the input of this rank (round `seed`) where `way` reads it, and spoils its output. Not timed. */
void bench_way_prepare(const struct bench_plan *plan, const struct bench_ways *ways, int way, uint64_t seed,
                       size_t count);
/* In place: puts the same input again where the last call wrote its result. Not timed. */
void bench_way_restore(const struct bench_plan *plan, const struct bench_ways *ways, int way, size_t count);
/* The call. */
void bench_way_call(const struct bench_plan *plan, const struct bench_ways *ways, int way, size_t count);
/* Its result in ordinary memory. */
const void *bench_way_result(const struct bench_plan *plan, const struct bench_ways *ways, int way, size_t count);

#endif

/* tutti bench host: calls on host memory, each made many times in a row. */
#ifndef TUTTI_BENCH_HOST_H
#define TUTTI_BENCH_HOST_H

#include "bench/common/bench.h"
#include "bench/words/host.h"

enum { HOST_BYTES = 65536, HOST_REGION = 4096 };

/* What the calls work on. */
struct host {
    int rank, n, left, right;
    MPI_Comm comm, ring; /* ring: a periodic grid of one dimension */
    char in[HOST_BYTES], out[4 * HOST_BYTES];
    MPI_Datatype vector; /* four of eight int */
    MPI_Status status, statuses[2];
    MPI_Win fenced, locked, open; /* open: this rank holds a lock of itself */
    MPI_File file;
    char path[64]; /* a file of this rank */
};

/* A receive and a send. */
void host_begin(struct host *h, int count, MPI_Datatype type, int source, int tag, MPI_Request requests[2]);
void host_wait(int n, MPI_Request requests[], MPI_Status statuses[]);

/* Makes the call so many times. */
#define HOST_CALL(id, group, name) void host_call_##id(struct host *h, long times);
#include "bench/words/host_calls.def"
#undef HOST_CALL
/* Defines such a call. What follows is the body of its loop; i: the turn. */
#define HOST_EACH(id)                                                                                                  \
    static inline void host_each_##id(struct host *h, long i);                                                         \
    void host_call_##id(struct host *h, long times)                                                                    \
    {                                                                                                                  \
        for (long i = 0; i < times; i++)                                                                               \
            host_each_##id(h, i);                                                                                      \
    }                                                                                                                  \
    static inline void host_each_##id(__attribute__((unused)) struct host *h, __attribute__((unused)) long i)

/* groups: a mask of enum host_group; call: enum host_call_id, or negative: all of those groups. Reports each call and
 * the least microseconds that it took. */
void bench_host(struct bench_plan *plan, unsigned groups, int call);

#endif

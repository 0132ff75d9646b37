/* The calls that tutti bench shmem makes inside kernels, and the sides that make them: kernels of this library on a
 * GPU (a library of its own, made by nvcc) or on the host device, and kernels of NVSHMEM. All of them include this
 * header; it knows no MPI. */
#ifndef TUTTI_BENCH_GAS_H
#define TUTTI_BENCH_GAS_H

#include <stddef.h>
#include <stdint.h>

struct tshmem_state;

enum gas_operation {
    GAS_PUT, /* by a group: each block puts its part; quiet after each round */
    GAS_GET,
    GAS_WRITE, /* by a grid: plain stores of 4 bytes to `pe`, to every stride-th place */
    GAS_READ,
    GAS_FCOLLECT, /* by one block: `bytes` of each PE of the team */
    GAS_BROADCAST,
    GAS_REDUCE, /* by a grid: floats; to PE 0 */
    GAS_ALLREDUCE,
    GAS_SUM,   /* by a grid: doubles; one number on all PEs, in in[0] */
    GAS_PARTS, /* the same of this PE alone */
    /* By one thread, on the first words of `in`: */
    GAS_P,         /* seed + round, and quiet */
    GAS_ADD,       /* atomic add of the seed, and quiet */
    GAS_FETCH_ADD, /* each waits for the one before; the sum of what they gave goes to the own second word */
    /* By a group: */
    GAS_BLOCKING_GET,
    GAS_PINGPONG, /* put with signal to `pe`, and back */
    GAS_BARRIER,  /* then, not timed, GAS_ORDER */
    GAS_SYNC,
    GAS_TEAM_SUM, /* of floats */
    /* Of this library alone: */
    GAS_RING_TRIP, /* a request that does nothing, and its completion */
    GAS_RING_RATE, /* such requests by all threads, and quiet in the end */
    /* In streams alone: */
    GAS_ALLTOALL, /* `bytes` from each PE of the team to each */
    GAS_ORDER,    /* the own first word of `out` to the next PE, a barrier, and what arrived in the second word */
    GAS_OPERATIONS
};

enum { GAS_BLOCKS = 64, GAS_THREADS = 1024 /* the most of a launch */ };

/* One launch: `rounds` times the same. Clocks begin past the first fifth. */
struct gas_call {
    int operation, strategy, team, pe;
    int me, pes; /* this PE, and how many take part */
    uint64_t seed;
    unsigned rounds, stride;
    size_t bytes;
    char *in, *out; /* symmetric: received data, data to send */
    double *part;   /* symmetric: GAS_BLOCKS numbers; the first is the signal of a ping-pong, zero before */
    void *work;     /* symmetric, of tutti_grid_work_bytes() */
    size_t work_bytes;
    uint64_t *begin, *end;            /* [block]: ns; allocated by the caller of the launch */
    const struct tshmem_state *state; /* host memory: what kernels of this library find; others do not look */
};

struct gas_side {
    const char *name;
    int groups; /* 1: a launch has the given blocks and threads; 0: one thread */
    /* On PE 0 alone, before open: fills `unique`, of unique_bytes, which all PEs then get; may be NULL. 0, or
     * another number on failure. */
    size_t unique_bytes;
    int (*first)(void *unique);
    /* Collective over all PEs, once; bytes: of the heap. 0, or another number on failure, after a report. */
    int (*open)(const void *unique, int pe, int pes, int gpu, size_t bytes);
    void *(*alloc)(size_t bytes); /* collective; symmetric */
    /* Local. Between host memory and the own part of the heap. */
    int (*fill)(void *to, const void *from, size_t bytes);
    int (*fetch)(void *to, const void *from, size_t bytes);
    /* Collective over all PEs: the team of the first so many; -1 if this PE is not in it, or on an error. */
    int (*team)(int pes);
    /* Local. Launches, waits at most `seconds`; nanoseconds of a round. Negative: failed, reported. */
    double (*run)(const struct gas_call *call, unsigned blocks, unsigned threads, double seconds);
    /* Local. Puts the collective `operation` into a stream of the GPU (a cudaStream_t), which may be captured. 0, or
     * another number on failure. */
    int (*enqueue)(const struct gas_call *call, void *stream);
    void (*close)(void); /* collective */
};

#define GAS_SIDE_SYMBOL "tutti_bench_gas_side"

#endif

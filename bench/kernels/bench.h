/* shmem-bench: calls in kernels, measured between two PEs. Rows and checks (rows.c, measure.c) do not know where
 * kernels run; a machine does: one or two GPUs (cuda.cu), or threads of this process (host.c). The kernels
 * (calls.inc) are compiled once for each PE of a GPU, so that each has its state in constant memory, as a program's
 * do. */
#ifndef TUTTI_BENCH_KERNELS_H
#define TUTTI_BENCH_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "tutti/shmem_state.h"

enum { BENCH_PES = 2, BENCH_DATA = 8 << 20, BENCH_BLOCKS = 32 /* the most of a launch */ };

/* The heap. */
struct bench_heap {
    struct tshmem_area area;
    unsigned char pad[256 - sizeof(struct tshmem_area) % 256];
    uint64_t signal[2], counter, word;
    unsigned char in[BENCH_DATA], out[BENCH_DATA];
};

enum bench_operation {
    BENCH_P_QUIET,   /* one element, and quiet */
    BENCH_ADD,       /* atomic add, and quiet */
    BENCH_FETCH_ADD, /* the same that gives the value back */
    BENCH_PUT_QUIET, /* `bytes` bytes by the group, and quiet */
    BENCH_GET_BLOCKING,
    BENCH_RING_TRIP, /* a request that does nothing, and its completion */
    BENCH_RING_RATE, /* requests that do nothing, by all threads, and quiet in the end */
    BENCH_PINGPONG,  /* put with signal there, and back: both PEs; so are the following */
    BENCH_BARRIER,
    BENCH_FCOLLECT,  /* `bytes` a PE */
    BENCH_BROADCAST, /* from PE 0 */
    BENCH_SUM,       /* of floats, `bytes` of them */
    BENCH_GET,       /* bandwidth: a part of `bytes` by each block, and quiet in the end */
    BENCH_PUT,
    BENCH_OPERATIONS
};

enum bench_group { BENCH_THREAD, BENCH_WARP, BENCH_BLOCK };

/* One measurement, by `rounds` rounds. */
struct bench_call {
    int operation, group;
    unsigned rounds;
    size_t bytes;
    struct bench_heap *heap;
    uint64_t *begin, *end; /* [block]: in ns of the kernels' clock, once the first tenth of the rounds is over */
    unsigned *wrong;       /* counted by the kernel: wrong results of a call */
};

struct bench_machine {
    int groups;                    /* 1: a launch has blocks of many threads; 0: each of its blocks is one thread */
    struct tshmem_state *states;   /* [BENCH_PES]; see bench_state() */
    struct bench_heap **heap;      /* [BENCH_PES] */
    uint64_t **begin_ns, **end_ns; /* [BENCH_PES][BENCH_BLOCKS] */
    unsigned *wrong;
    uint32_t *aborted; /* [BENCH_PES] */
    /* Of the heap of PE `pe`; from NULL: zeros. */
    void (*fill)(int pe, size_t at, const void *from, size_t bytes);
    void (*fetch)(int pe, size_t at, void *to, size_t bytes);
    void (*filled)(void); /* after the last fill() before a launch */
    void (*bind)(int pe); /* kernels of the PE get states[pe] */
    void (*launch)(int pe, struct bench_call *call, unsigned blocks, unsigned threads);
    void (*join)(void); /* waits for all, and leaves the program where they do not end */
    int (*ring_open)(
        void); /* a ring for PE 0, served by a thread, in states[0]; 0, or another number where it failed */
    void (*ring_close)(void);
};

struct bench_pe {
    const void *kernel; /* (struct bench_call) */
    int (*bind)(const struct tshmem_state *state);
};

#ifdef __cplusplus
extern "C" {
#endif
extern const struct bench_pe bench_pe_0, bench_pe_1;

double bench_seconds(void);
/* The state of a PE, of which heaps, areas, teams and abort words are given. */
void bench_state(const struct bench_machine *machine, int pe, struct tshmem_team_state *teams);

/* measure.c. Nanoseconds of a round of at most `rounds`: the best of five launches shows what the hardware can do,
 * the worst their spread. Every launch has new data, which are checked. 0: failed, after a report. bench_until: of
 * bench_seconds(); after it the first launch is enough. */
extern double bench_until;
double bench_measure(const struct bench_machine *machine, int operation, int group, unsigned blocks, unsigned threads,
                     size_t bytes, unsigned rounds, double *worst);
extern const char *const bench_names[BENCH_OPERATIONS];
extern const char *const bench_forms[];

/* rows.c: the program. */
int bench_rows(const struct bench_machine *machine, int argc, char **argv);
#ifdef __cplusplus
}
#endif

#endif

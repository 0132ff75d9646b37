/* NCCL as a peer, opened at run time if it is installed. */
#ifndef TUTTI_BENCH_COMMON_NCCL_H
#define TUTTI_BENCH_COMMON_NCCL_H

#include <stddef.h>

#include "bench/common/bench.h"

/* Communicators over all ranks, each with settings of its own. NCCL keeps what it has read from its environment for as
 * long as it is loaded, so that 32_CTAS takes a second copy of the library in the same process. ENGINES asks for copy
 * engines (NCCL_CTA_POLICY_ZERO) in the communicator's configuration. */
enum bench_nccl_copy { BENCH_NCCL_USUAL, BENCH_NCCL_32_CTAS, BENCH_NCCL_ENGINES, BENCH_NCCL_COPIES };

/* What is needed of nccl.h, whose numbers have not changed since NCCL 2.10 (windows: 2.27). */
typedef struct bench_nccl_comm *bench_nccl_comm;
typedef struct bench_nccl_window *bench_nccl_window;
typedef struct {
    char bytes[128];
} bench_nccl_id;
enum { NCCL_SUM, NCCL_PROD, NCCL_MAX, NCCL_MIN };
enum { NCCL_I8, NCCL_U8, NCCL_I32, NCCL_U32, NCCL_I64, NCCL_U64, NCCL_F16, NCCL_F32, NCCL_F64, NCCL_BF16 };
enum { NCCL_WINDOW_SYMMETRIC = 1 };

struct bench_nccl {
    void *library;
    int (*GetVersion)(int *);
    int (*GetUniqueId)(bench_nccl_id *);
    int (*CommInitRank)(bench_nccl_comm *, int, bench_nccl_id, int);
    int (*CommDestroy)(bench_nccl_comm);
    int (*AllReduce)(const void *, void *, size_t, int, int, bench_nccl_comm, void *);
    int (*Reduce)(const void *, void *, size_t, int, int, int, bench_nccl_comm, void *);
    int (*ReduceScatter)(const void *, void *, size_t, int, int, bench_nccl_comm, void *);
    int (*Broadcast)(const void *, void *, size_t, int, int, bench_nccl_comm, void *);
    int (*AllGather)(const void *, void *, size_t, int, bench_nccl_comm, void *);
    int (*Send)(const void *, size_t, int, int, bench_nccl_comm, void *);
    int (*Recv)(void *, size_t, int, int, bench_nccl_comm, void *);
    int (*GroupStart)(void);
    int (*GroupEnd)(void);
    const char *(*GetErrorString)(int);
    /* NULL before 2.27: */
    int (*MemAlloc)(void **, size_t);
    int (*MemFree)(void *);
    int (*CommWindowRegister)(bench_nccl_comm, void *, size_t, bench_nccl_window *, int);
    int (*CommWindowDeregister)(bench_nccl_comm, bench_nccl_window);
    int (*CommInitRankConfig)(bench_nccl_comm *, int, bench_nccl_id, int, void *);
    /* NULL before 2.28: */
    int (*AlltoAll)(const void *, void *, size_t, int, bench_nccl_comm, void *);
    int (*Gather)(const void *, void *, size_t, int, int, bench_nccl_comm, void *);
    int (*Scatter)(const void *, void *, size_t, int, int, bench_nccl_comm, void *);
    bench_nccl_comm comm;
    bench_nccl_window window[2];
};
const struct bench_nccl *bench_nccl(enum bench_nccl_copy copy);

/* Collective over all ranks. 1 on all of them if NCCL can run: CUDA, a GPU for each rank. Otherwise 0, with the
 * reason in `why`. Turns multicast (NVLS) off unless the environment sets it. With TUTTI_NODE_RANKS the ranks of a
 * virtual node are a host of their own for NCCL (NCCL_HOSTID), with sockets between hosts unless NCCL_NET is set. */
int bench_nccl_open(const struct bench_plan *plan, char *why, size_t size);
/* Collective. Two buffers of these bytes in symmetric memory, registered with all communicators of the mask `wanted`
 * (1 << copy), which are opened. Returns a mask of those that can use them, the same on all ranks; `why`: the reason
 * for the others. */
unsigned bench_nccl_symmetric(const struct bench_plan *plan, unsigned wanted, const size_t bytes[2], void **in,
                              void **out, char *why, size_t size);
/* Fails if `error` is an error. */
void bench_nccl_must(int error, const char *call);
void bench_nccl_close(void);
/* "2.28.9"; over virtual nodes also what lies between them: "2.28.9, NCCL_NET=Socket between nodes of 1 rank". */
void bench_nccl_version(char *text, size_t size);

#endif

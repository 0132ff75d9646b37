/* The same kernels over NVSHMEM, as a library that the ranks of the bench open where it was built. NVSHMEM reduces by
 * one block: it has no reduction of a grid. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdlib.h>

#include "cuda.h"

/* Groups of several threads use the form of a block, but a whole warp its own. */
#define GAS_NV(call, ...)                                                                                              \
    do {                                                                                                               \
        if (gas_by == GAS_BY_THREAD)                                                                                          \
            nvshmem_##call(__VA_ARGS__);                                                                               \
        else if (gas_by == GAS_BY_WARP && threads() == 32)                                                                                      \
            nvshmemx_##call##_warp(__VA_ARGS__);                                                                       \
        else                                                                                                           \
            nvshmemx_##call##_block(__VA_ARGS__);                                                                      \
    } while (0)
#define GAS_DO_PUT(dest, source, bytes, pe) GAS_NV(putmem_nbi, dest, source, bytes, pe)
#define GAS_DO_GET(dest, source, bytes, pe) GAS_NV(getmem_nbi, dest, source, bytes, pe)
#define GAS_DO_QUIET()                                                                                                 \
    do {                                                                                                               \
        block_sync();                                                                                                  \
        nvshmem_quiet();                                                                                               \
    } while (0)
#define GAS_DO_PTR(at, pe) nvshmem_ptr(at, pe)
#define GAS_DO_FCOLLECT(team, dest, source, bytes)                                                                     \
    GAS_NV(float_fcollect, team, (float *)(void *)(dest), (const float *)(const void *)(source),               \
           (bytes) / sizeof(float))
#define GAS_DO_BROADCAST(team, dest, source, bytes)                                                                    \
    GAS_NV(float_broadcast, team, (float *)(void *)(dest), (const float *)(const void *)(source),              \
           (bytes) / sizeof(float), 0)
#define GAS_DO_SUM_OF(type, c, dest, source, n)                                                                        \
    do {                                                                                                               \
        if (block() == 0)                                                                                              \
            nvshmemx_##type##_sum_reduce_block((c).team, (type *)(void *)(dest), (const type *)(const void *)(source), \
                                               n);                                                                     \
    } while (0)
#define GAS_DO_REDUCE(c, n)    GAS_DO_SUM_OF(float, c, (c).in, (c).out, n)
#define GAS_DO_ALLREDUCE(c, n) GAS_DO_SUM_OF(float, c, (c).in, (c).out, n)
#define GAS_DO_SUM(c, n)                                                                                               \
    do {                                                                                                               \
        GAS_DO_SUM_OF(double, c, (c).part, (c).part, (size_t)(n));                                                     \
        grid_sync();                                                                                                   \
    } while (0)

#define GAS_DO_P(word, value, pe)          nvshmem_uint64_p(word, value, pe)
#define GAS_DO_ADD(word, value, pe)        nvshmem_uint64_atomic_add(word, value, pe)
#define GAS_DO_FETCH_ADD(word, value, pe)  nvshmem_uint64_atomic_fetch_add(word, value, pe)
#define GAS_DO_BLOCKING_GET(dest, source, bytes, pe) GAS_NV(getmem, dest, source, bytes, pe)
#define GAS_DO_PUT_SIGNAL(dest, source, bytes, signal, value, pe) \
    GAS_NV(putmem_signal, dest, source, bytes, signal, value, NVSHMEM_SIGNAL_SET, pe)
#define GAS_DO_WAIT(signal, value) \
    do { \
        if (thread() == 0) \
            nvshmem_signal_wait_until(signal, NVSHMEM_CMP_EQ, value); \
        block_sync(); \
    } while (0)
#define GAS_DO_BARRIER(team) GAS_NV(barrier, team)
#define GAS_DO_SYNC(team) GAS_NV(team_sync, team)
#define GAS_DO_TEAM_SUM(team, dest, source, n) GAS_NV(float_sum_reduce, team, dest, source, n)

#include "calls.inc"
#include "latency.inc"

static int first(void *unique)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    const int status = nvshmemx_get_uniqueid(&id);
    memcpy(unique, &id, sizeof id);
    return status;
}

static int side_open(const void *unique, int pe, int pes, int gpu, size_t bytes)
{
    nvshmemx_uniqueid_t id;
    nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
    char text[32];
    memcpy(&id, unique, sizeof id);
    snprintf(text, sizeof text, "%zu", bytes);
    setenv("NVSHMEM_SYMMETRIC_SIZE", text, 0);
    setenv("NVSHMEM_REMOTE_TRANSPORT", "none", 0);
    setenv("NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", "lo", 0); /* all PEs are on this machine */
    if (gas_cuda_open(gpu, gas_kernels_of) != 0)
        return -1;
    if (nvshmemx_set_attr_uniqueid_args(pe, pes, &id, &attributes) != 0 ||
        nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes) != 0)
        return -1;
    return 0;
}

static void *alloc(size_t bytes)
{
    return nvshmem_align(256, bytes);
}

static int copy(void *to, const void *from, size_t bytes)
{
    return gas_failed(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, gas_stream), "a copy") ||
           gas_failed(cudaStreamSynchronize(gas_stream), "a copy");
}

static int team(int pes)
{
    nvshmem_team_t made = NVSHMEM_TEAM_INVALID;
    if (pes == nvshmem_n_pes())
        return NVSHMEM_TEAM_WORLD;
    return nvshmem_team_split_strided(NVSHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &made) == 0 ? made : -1;
}

static double run(const struct gas_call *call, unsigned blocks, unsigned threads, double seconds)
{
    const int reduces = call->operation == GAS_REDUCE || call->operation == GAS_ALLREDUCE;
    return gas_cuda_run(gas_kernels_of[call->operation], call, reduces ? 1 : blocks, reduces ? GAS_THREADS : threads, seconds);
}

static int enqueue(const struct gas_call *c, void *stream)
{
    const cudaStream_t to = (cudaStream_t)stream;
    float *const in = (float *)(void *)c->in, *const out = (float *)(void *)c->out;
    const size_t n = c->bytes / sizeof *in;
    switch (c->operation) {
    case GAS_TEAM_SUM:
        return nvshmemx_float_sum_reduce_on_stream(c->team, in, out, n, to);
    case GAS_BROADCAST:
        return nvshmemx_float_broadcast_on_stream(c->team, in, out, n, 0, to);
    case GAS_FCOLLECT:
        return nvshmemx_float_fcollect_on_stream(c->team, in, out, n, to);
    case GAS_ALLTOALL:
        return nvshmemx_float_alltoall_on_stream(c->team, in, out, n, to);
    case GAS_SYNC:
        return nvshmemx_team_sync_on_stream(c->team, to);
    case GAS_BARRIER:
        return nvshmemx_barrier_on_stream(c->team, to);
    case GAS_ORDER:
        nvshmemx_putmem_on_stream(c->in, c->out, sizeof(uint64_t), (c->me + 1) % c->pes, to);
        if (nvshmemx_barrier_on_stream(c->team, to) != 0)
            return -1;
        nvshmemx_getmem_on_stream(c->in + sizeof(uint64_t), c->in, sizeof(uint64_t), c->me, to);
        return 0;
    default:
        return -1;
    }
}

static void side_close(void)
{
    nvshmem_finalize();
}

static struct gas_side make(void)
{
    struct gas_side side = {};
    side.name = "nvshmem";
    side.groups = 1;
    side.unique_bytes = sizeof(nvshmemx_uniqueid_t);
    side.first = first;
    side.open = side_open;
    side.alloc = alloc;
    side.fill = copy;
    side.fetch = copy;
    side.team = team;
    side.run = run;
    side.enqueue = enqueue;
    side.close = side_close;
    return side;
}

extern "C" __attribute__((visibility("default"))) const struct gas_side tutti_bench_gas_side;
const struct gas_side tutti_bench_gas_side = make();

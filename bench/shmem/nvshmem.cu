/* The same kernels over NVSHMEM, as a library that the ranks of the bench open where it was built. NVSHMEM reduces by
 * one block: it has no reduction of a grid. */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <stdlib.h>

#include "cuda.h"

/* Groups of several threads use the form of a block: that of a warp takes a whole one. */
#define GAS_NV(call, ending, ...)                                                                                      \
    do {                                                                                                               \
        if (threads() == 1)                                                                                            \
            nvshmem_##call(__VA_ARGS__);                                                                               \
        else                                                                                                           \
            nvshmemx_##call##ending(__VA_ARGS__);                                                                      \
    } while (0)
#define GAS_DO_PUT(dest, source, bytes, pe) GAS_NV(putmem_nbi, _block, dest, source, bytes, pe)
#define GAS_DO_GET(dest, source, bytes, pe) GAS_NV(getmem_nbi, _block, dest, source, bytes, pe)
#define GAS_DO_QUIET()                                                                                                 \
    do {                                                                                                               \
        block_sync();                                                                                                  \
        nvshmem_quiet();                                                                                               \
    } while (0)
#define GAS_DO_PTR(at, pe) nvshmem_ptr(at, pe)
#define GAS_DO_FCOLLECT(team, dest, source, bytes)                                                                     \
    GAS_NV(float_fcollect, _block, team, (float *)(void *)(dest), (const float *)(const void *)(source),               \
           (bytes) / sizeof(float))
#define GAS_DO_BROADCAST(team, dest, source, bytes)                                                                    \
    GAS_NV(float_broadcast, _block, team, (float *)(void *)(dest), (const float *)(const void *)(source),              \
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

#include "calls.inc"

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
    if (gas_cuda_open(gpu, (const void *)gas_kernel) != 0)
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

/* One PE has a GPU of its own here: all blocks of a cooperative launch run at once, which is what waits need. */
static int launch(struct gas_call *c, unsigned blocks, unsigned threads)
{
    void *arguments[] = {c};
    return gas_failed(
        cudaLaunchCooperativeKernel((const void *)gas_kernel, dim3(blocks), dim3(threads), arguments, 0, gas_stream),
        "a launch");
}

static double run(const struct gas_call *call, unsigned blocks, unsigned threads, double seconds)
{
    const int reduces = call->operation == GAS_REDUCE || call->operation == GAS_ALLREDUCE;
    return gas_cuda_run(call, reduces ? 1 : blocks, reduces ? GAS_THREADS : threads, seconds, launch);
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
    side.close = side_close;
    return side;
}

extern "C" __attribute__((visibility("default"))) const struct gas_side tutti_bench_gas_side;
const struct gas_side tutti_bench_gas_side = make();

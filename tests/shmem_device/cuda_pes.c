#include "shmem_device/cuda_pes.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"

enum { GPUS = 16 };

/* What a PE has on one of the two GPUs that it may be on: [0] GPU 0, [1] its own where PEs are spread. */
static struct place {
    char *heap;
    struct tshmem_state *state;
    struct tshmem_team_state *team;
    uint64_t *context;
    cudaStream_t stream;
} places[2][PROGRAM_PES];
static int gpus = 1, spread_now;

double cuda_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

char cuda_doing[256];

void cuda_must(int status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "FAILED: %s: %s %s\n", what, cudaGetErrorString((cudaError_t)status), cuda_doing);
    fflush(NULL);
    _exit(1);
}

int cuda_gpus(void)
{
    return gpus;
}

static void choose(int gpu)
{
    cuda_must((int)cudaSetDevice(gpu), "cudaSetDevice");
}

/* 1 if the first `n` GPUs load and store each other's memory, and make atomics there. */
static int all_reach(int n)
{
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < n; b++) {
            int reaches = 0, atomics = 0;
            if (a != b &&
                (cudaDeviceCanAccessPeer(&reaches, a, b) != cudaSuccess || !reaches ||
                 cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, a, b) != cudaSuccess ||
                 !atomics))
                return 0;
        }
    }
    return 1;
}

void cuda_begin(void)
{
    int found = 0;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* what is loaded at a launch may wait for kernels that run */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const cudaError_t status = cudaGetDeviceCount(&found);
    if (status != cudaSuccess || found == 0) {
        printf("skipped: no GPU (%s)\n", cudaGetErrorString(status));
        exit(CHECK_SKIP);
    }
    const int most = (int)check_setting("TUTTI_TEST_GPUS", GPUS);
    gpus = found < most ? found : most;
    gpus = gpus < 1 ? 1 : gpus > GPUS ? GPUS : gpus;
    while (!all_reach(gpus))
        gpus--;
    for (int gpu = gpus - 1; gpu >= 0; gpu--) {
        choose(gpu);
        cuda_must((int)cudaFree(NULL), "the context");
        for (int other = 0; other < gpus; other++) {
            if (other != gpu)
                cuda_must((int)cudaDeviceEnablePeerAccess(other, 0), "peer access");
        }
    }
    printf("PEs on %d of %d GPUs%s\n", gpus, found, gpus < found && gpus < most ? ": the others are not reached" : "");
}

void cuda_pes_settle(const char *what)
{
    for (int gpu = gpus - 1; gpu >= 0; gpu--) {
        choose(gpu);
        cuda_must((int)cudaDeviceSynchronize(), what);
    }
}

void cuda_pes_on(const struct cuda_pes *pes, int pe)
{
    choose(pes->gpu[pe]);
}

/* On the current GPU. */
static void make_place(struct place *place, size_t heap_bytes)
{
    void *memory;
    cuda_must((int)cudaMalloc(&memory, heap_bytes), "a heap");
    place->heap = memory;
    cuda_must((int)cudaMalloc(&memory, sizeof(struct tshmem_state)), "a state");
    place->state = memory;
    cuda_must((int)cudaMalloc(&memory, TSHMEM_TEAMS_MAX * sizeof(struct tshmem_team_state)), "teams");
    place->team = memory;
    cuda_must((int)cudaMalloc(&memory, TSHMEM_CONTEXTS_MAX * sizeof(uint64_t)), "contexts");
    place->context = memory;
    cuda_must((int)cudaStreamCreateWithFlags(&place->stream, cudaStreamNonBlocking), "a stream");
}

void cuda_pes_make(struct cuda_pes *pes, size_t heap_bytes)
{
    void *memory;
    memset(pes, 0, sizeof *pes);
    pes->heap_bytes = heap_bytes;
    cuda_must((int)cudaHostAlloc(&memory, sizeof(uint32_t) * PROGRAM_PES, cudaHostAllocPortable), "pinned memory");
    pes->abort = memory;
    for (int pe = 0; pe < PROGRAM_PES; pe++) {
        choose(0);
        make_place(&places[0][pe], heap_bytes);
        places[1][pe] = places[0][pe];
        if (pe % gpus != 0) {
            choose(pe % gpus);
            make_place(&places[1][pe], heap_bytes);
        }
    }
    choose(0);
}

void cuda_pes_tell(struct cuda_pes *pes)
{
    for (int pe = 0; pe < pes->count; pe++)
        cuda_must((int)cudaMemcpy(pes->state[pe], &pes->told[pe], sizeof pes->told[pe], cudaMemcpyHostToDevice),
                  "writing a state");
}

void cuda_pes_open(struct cuda_pes *pes, int count, uint64_t limit_ms, int spread)
{
    struct tshmem_team_state teams[TSHMEM_TEAMS_MAX];
    uint64_t contexts[TSHMEM_CONTEXTS_MAX];
    pes->count = count;
    spread_now = spread != 0;
    memset(pes->abort, 0, sizeof(uint32_t) * PROGRAM_PES);
    for (int pe = 0; pe < PROGRAM_PES; pe++) {
        const struct place *const place = &places[spread_now][pe];
        pes->gpu[pe] = spread ? pe % gpus : 0;
        pes->heap[pe] = place->heap;
        pes->state[pe] = place->state;
        pes->team[pe] = place->team;
        pes->context[pe] = place->context;
    }
    for (int pe = 0; pe < count; pe++) {
        struct tshmem_state *const state = &pes->told[pe];
        memset(teams, 0, sizeof teams);
        for (int t = 0; t < PROGRAM_TEAMS; t++)
            program_team(&teams[t], count, t, pe);
        *state = (struct tshmem_state){.bytes = sizeof *state,
                                       .version = TSHMEM_STATE_VERSION,
                                       .me = pe,
                                       .pes = count,
                                       .heap = pes->heap[pe],
                                       .heap_bytes = pes->heap_bytes,
                                       .area_bytes = sizeof((struct program_heap *)0)->areas[0],
                                       .team = pes->team[pe],
                                       .abort = &pes->abort[pe],
                                       .limit_ns = limit_ms * 1000000,
                                       .context = pes->context[pe]};
        program_contexts(contexts, count, pe);
        for (int p = 0; p < count; p++)
            state->peer[p] = pes->heap[p];
        cuda_pes_on(pes, pe);
        cuda_must((int)cudaMemcpy(pes->team[pe], teams, sizeof teams, cudaMemcpyHostToDevice), "writing teams");
        cuda_must((int)cudaMemcpy(pes->context[pe], contexts, sizeof contexts, cudaMemcpyHostToDevice),
                  "writing contexts");
        cuda_must((int)cudaMemset(pes->heap[pe], 0, pes->heap_bytes), "clearing a heap");
    }
    cuda_pes_tell(pes);
    cuda_pes_settle("clearing");
}

void cuda_pes_load(const void *kernel)
{
    struct cudaFuncAttributes about;
    for (int gpu = gpus - 1; gpu >= 0; gpu--) {
        choose(gpu);
        cuda_must((int)cudaFuncGetAttributes(&about, kernel), "loading a kernel");
    }
}

void cuda_pes_launch(const struct cuda_pes *pes, int pe, const void *kernel, unsigned blocks, unsigned threads,
                     void **arguments)
{
    const struct dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
    cuda_pes_on(pes, pe);
    cuda_must((int)cudaLaunchKernel(kernel, grid, block, arguments, 16, places[spread_now][pe].stream), "a launch");
}

void cuda_pes_launch_together(const struct cuda_pes *pes, int pe, const void *kernel, unsigned blocks, unsigned threads,
                              void **arguments)
{
    const struct dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
    cuda_pes_on(pes, pe);
    cuda_must((int)cudaLaunchCooperativeKernel(kernel, grid, block, arguments, 16, places[spread_now][pe].stream),
              "a cooperative launch");
}

unsigned cuda_pes_resident(const void *kernel, unsigned threads)
{
    int blocks = 0, processors = 0;
    cuda_must((int)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)threads, 16), "occupancy");
    cuda_must((int)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "multiprocessors");
    return (unsigned)blocks * (unsigned)processors;
}

/* 1: all streams are done. */
static int done_before(const struct cuda_pes *pes, double deadline)
{
    for (int pe = 0; pe < PROGRAM_PES; pe++) {
        cudaError_t status;
        cuda_pes_on(pes, pe);
        while ((status = cudaStreamQuery(places[spread_now][pe].stream)) == cudaErrorNotReady) {
            if (cuda_seconds() > deadline)
                return 0;
            usleep(20);
        }
        cuda_must((int)status, "a kernel");
    }
    return 1;
}

void (*cuda_pes_say)(void);

int cuda_pes_join(struct cuda_pes *pes, double seconds)
{
    if (done_before(pes, cuda_seconds() + seconds))
        return 0;
    fprintf(stderr, "kernels are still there after %.1f s: the abort words are set\n", seconds);
    for (int pe = 0; pe < PROGRAM_PES; pe++)
        __atomic_store_n(&pes->abort[pe], 1, __ATOMIC_RELEASE);
    if (done_before(pes, cuda_seconds() + 2))
        return 1;
    fprintf(stderr, "FAILED: kernels do not leave %s\n", cuda_doing);
    if (cuda_pes_say)
        cuda_pes_say();
    fflush(NULL);
    _exit(1);
}

#include "shmem_device/cuda_pes.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"

static cudaStream_t stream[PROGRAM_PES];

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

void cuda_begin(void)
{
    int gpus = 0;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* what is loaded at a launch may wait for kernels that run */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const cudaError_t status = cudaGetDeviceCount(&gpus);
    if (status != cudaSuccess || gpus == 0) {
        printf("skipped: no GPU (%s)\n", cudaGetErrorString(status));
        exit(CHECK_SKIP);
    }
    cuda_must((int)cudaSetDevice(0), "cudaSetDevice");
    cuda_must((int)cudaFree(NULL), "the context");
}

void cuda_pes_make(struct cuda_pes *pes, size_t heap_bytes)
{
    void *memory;
    memset(pes, 0, sizeof *pes);
    pes->heap_bytes = heap_bytes;
    cuda_must((int)cudaHostAlloc(&memory, sizeof(uint32_t) * PROGRAM_PES, cudaHostAllocPortable), "pinned memory");
    pes->abort = memory;
    for (int pe = 0; pe < PROGRAM_PES; pe++) {
        cuda_must((int)cudaMalloc(&memory, heap_bytes), "a heap");
        pes->heap[pe] = memory;
        cuda_must((int)cudaMalloc(&memory, sizeof(struct tshmem_state)), "a state");
        pes->state[pe] = memory;
        cuda_must((int)cudaMalloc(&memory, TSHMEM_TEAMS_MAX * sizeof(struct tshmem_team_state)), "teams");
        pes->team[pe] = memory;
        cuda_must((int)cudaMalloc(&memory, TSHMEM_CONTEXTS_MAX * sizeof(uint64_t)), "contexts");
        pes->context[pe] = memory;
        cuda_must((int)cudaStreamCreateWithFlags(&stream[pe], cudaStreamNonBlocking), "a stream");
    }
}

void cuda_pes_tell(struct cuda_pes *pes)
{
    for (int pe = 0; pe < pes->count; pe++)
        cuda_must((int)cudaMemcpy(pes->state[pe], &pes->told[pe], sizeof pes->told[pe], cudaMemcpyHostToDevice),
                  "writing a state");
}

void cuda_pes_open(struct cuda_pes *pes, int count, uint64_t limit_ms)
{
    struct tshmem_team_state teams[TSHMEM_TEAMS_MAX];
    uint64_t contexts[TSHMEM_CONTEXTS_MAX];
    pes->count = count;
    memset(pes->abort, 0, sizeof(uint32_t) * PROGRAM_PES);
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
        cuda_must((int)cudaMemcpy(pes->team[pe], teams, sizeof teams, cudaMemcpyHostToDevice), "writing teams");
        cuda_must((int)cudaMemcpy(pes->context[pe], contexts, sizeof contexts, cudaMemcpyHostToDevice),
                  "writing contexts");
        cuda_must((int)cudaMemset(pes->heap[pe], 0, pes->heap_bytes), "clearing a heap");
    }
    cuda_pes_tell(pes);
    cuda_must((int)cudaDeviceSynchronize(), "clearing");
}

void cuda_pes_launch(int pe, const void *kernel, unsigned blocks, unsigned threads, void **arguments)
{
    const struct dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
    cuda_must((int)cudaLaunchKernel(kernel, grid, block, arguments, 16, stream[pe]), "a launch");
}

void cuda_pes_launch_together(int pe, const void *kernel, unsigned blocks, unsigned threads, void **arguments)
{
    const struct dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
    cuda_must((int)cudaLaunchCooperativeKernel(kernel, grid, block, arguments, 16, stream[pe]), "a cooperative launch");
}

unsigned cuda_pes_resident(const void *kernel, unsigned threads)
{
    int blocks = 0, processors = 0;
    cuda_must((int)cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, (int)threads, 16), "occupancy");
    cuda_must((int)cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0), "multiprocessors");
    return (unsigned)blocks * (unsigned)processors;
}

/* 1: all streams are done. */
static int done_before(double deadline)
{
    for (int pe = 0; pe < PROGRAM_PES; pe++) {
        cudaError_t status;
        while ((status = cudaStreamQuery(stream[pe])) == cudaErrorNotReady) {
            if (cuda_seconds() > deadline)
                return 0;
            usleep(20);
        }
        cuda_must((int)status, "a kernel");
    }
    return 1;
}

int cuda_pes_join(struct cuda_pes *pes, double seconds)
{
    if (done_before(cuda_seconds() + seconds))
        return 0;
    fprintf(stderr, "kernels are still there after %.1f s: the abort words are set\n", seconds);
    for (int pe = 0; pe < PROGRAM_PES; pe++)
        __atomic_store_n(&pes->abort[pe], 1, __ATOMIC_RELEASE);
    if (done_before(cuda_seconds() + 2))
        return 1;
    fprintf(stderr, "FAILED: kernels do not leave %s\n", cuda_doing);
    fflush(NULL);
    _exit(1);
}

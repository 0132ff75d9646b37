/* The machine of one GPU, or of two, a PE on each, where there are two that load and store each other's memory and make
 * atomics there, and BENCH_GPUS is not 1. Every wait is
 * bounded. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "serve.h"

enum { SKIPPED = 77, SLOTS = 4096 };

static const struct bench_pe *const kernels[BENCH_PES] = {&bench_pe_0, &bench_pe_1};
static int gpu[BENCH_PES];
static struct bench_heap *heap[BENCH_PES];
static struct tshmem_state states[BENCH_PES];
static cudaStream_t stream[BENCH_PES];
static uint64_t *begin_ns[BENCH_PES], *end_ns[BENCH_PES];
static unsigned *wrong;
static uint32_t *aborted;
static struct tutti_ring_counters *own;
static void *ring_memory;

static void must(cudaError_t status, const char *what)
{
    if (status == cudaSuccess)
        return;
    fprintf(stderr, "FAILED: %s: %s\n", what, cudaGetErrorString(status));
    fflush(NULL);
    _exit(1);
}

static void *pinned(size_t bytes)
{
    void *memory;
    must(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "pinned memory");
    memset(memory, 0, bytes);
    return memory;
}

/* 1 if kernels of one GPU load and store the other's memory, and make atomics there. */
static int reaches(int from, int to)
{
    int can = 0, atomics = 0;
    return cudaDeviceCanAccessPeer(&can, from, to) == cudaSuccess && can &&
           cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, from, to) == cudaSuccess && atomics;
}

static void find_gpus(void)
{
    int gpus = 0;
    cudaDeviceProp about;
    const char *const most = getenv("BENCH_GPUS");
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        printf("skipped: no GPU\n");
        exit(SKIPPED);
    }
    if (gpus > 1 && !(most && atoi(most) == 1) && reaches(0, 1) && reaches(1, 0)) {
        gpu[1] = 1;
        for (int pe = 0; pe < BENCH_PES; pe++) {
            must(cudaSetDevice(pe), "a GPU");
            must(cudaDeviceEnablePeerAccess(1 - pe, 0), "peer access");
        }
    }
    must(cudaGetDeviceProperties(&about, 0), "the GPU's name");
    printf("two PEs on %s of %d: %s\n", gpu[1] ? "two GPUs" : "one GPU", gpus, about.name);
}

static void bind(int pe)
{
    must(cudaSetDevice(gpu[pe]), "a GPU");
    if (kernels[pe]->bind(&states[pe]) != 0)
        must(cudaErrorUnknown, "binding the state");
}

static void set_up(const struct bench_machine *machine)
{
    for (int pe = 0; pe < BENCH_PES; pe++) {
        must(cudaSetDevice(gpu[pe]), "a GPU");
        must(cudaMalloc((void **)&heap[pe], sizeof *heap[pe]), "a heap");
        must(cudaMemset(heap[pe], 0, sizeof *heap[pe]), "a heap");
        must(cudaStreamCreateWithFlags(&stream[pe], cudaStreamNonBlocking), "a stream");
        begin_ns[pe] = (uint64_t *)pinned(BENCH_BLOCKS * sizeof(uint64_t));
        end_ns[pe] = (uint64_t *)pinned(BENCH_BLOCKS * sizeof(uint64_t));
    }
    for (int pe = 0; pe < BENCH_PES; pe++) {
        struct tshmem_team_state *teams;
        must(cudaSetDevice(gpu[pe]), "a GPU");
        must(cudaMalloc((void **)&teams, TSHMEM_TEAMS_MAX * sizeof *teams), "teams");
        must(cudaMemset(teams, 0, TSHMEM_TEAMS_MAX * sizeof *teams), "teams");
        bench_state(machine, pe, teams);
        bind(pe);
        /* The kernel is loaded now: at a launch it would wait until the other PE's, which waits for it, has ended. */
        cudaFuncAttributes about;
        must(cudaFuncGetAttributes(&about, kernels[pe]->kernel), "loading the kernel");
        struct bench_call nothing = {BENCH_ADD, BENCH_THREAD, 0, 0, heap[pe], begin_ns[pe], end_ns[pe], wrong};
        void *arguments[] = {&nothing};
        must(cudaLaunchKernel(kernels[pe]->kernel, dim3(1), dim3(1), arguments, 0, stream[pe]), "a first launch");
        must(cudaDeviceSynchronize(), "set-up");
    }
}

/* Waits for both PEs' kernels, and leaves where they do not end. */
static void join(void)
{
    const double deadline = bench_seconds() + 20;
    for (int pe = 0; pe < BENCH_PES; pe++) {
        cudaError_t status;
        must(cudaSetDevice(gpu[pe]), "a GPU");
        while ((status = cudaStreamQuery(stream[pe])) == cudaErrorNotReady && bench_seconds() < deadline)
            ;
        if (status == cudaErrorNotReady) {
            fprintf(stderr, "FAILED: a kernel does not end\n");
            fflush(NULL);
            _exit(1);
        }
        must(status, "a kernel");
    }
}

static void fill(int pe, size_t at, const void *from, size_t bytes)
{
    char *const to = (char *)heap[pe] + at;
    must(cudaSetDevice(gpu[pe]), "a GPU");
    must(from ? cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) : cudaMemset(to, 0, bytes), "filling");
}

static void filled(void)
{
    for (int pe = 0; pe < BENCH_PES; pe++) {
        must(cudaSetDevice(gpu[pe]), "a GPU");
        must(cudaDeviceSynchronize(), "filling");
    }
}

static void fetch(int pe, size_t at, void *to, size_t bytes)
{
    must(cudaSetDevice(gpu[pe]), "a GPU");
    must(cudaMemcpy(to, (const char *)heap[pe] + at, bytes, cudaMemcpyDeviceToHost), "reading");
}

static void launch(int pe, struct bench_call *call, unsigned blocks, unsigned threads)
{
    void *arguments[] = {call};
    must(cudaSetDevice(gpu[pe]), "a GPU");
    must(cudaLaunchKernel(kernels[pe]->kernel, dim3(blocks), dim3(threads), arguments, 0, stream[pe]), "a launch");
}

static int ring_open(void)
{
    ring_memory = pinned(bench_serve_bytes(SLOTS));
    must(cudaSetDevice(gpu[0]), "a GPU");
    must(cudaMalloc((void **)&own, sizeof *own), "the ring's counters");
    must(cudaMemset(own, 0, sizeof *own), "the ring's counters");
    must(cudaDeviceSynchronize(), "the ring's counters");
    return bench_serve(bench_near_gpu, gpu[0], &states[0], SLOTS, ring_memory, own);
}

static void ring_close(void)
{
    bench_serve_end();
    must(cudaSetDevice(gpu[0]), "a GPU");
    must(cudaFree(own), "freeing");
    must(cudaFreeHost(ring_memory), "freeing");
}

int main(int argc, char **argv)
{
    struct bench_machine machine = {};
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    find_gpus();
    wrong = (unsigned *)pinned(sizeof *wrong);
    aborted = (uint32_t *)pinned(sizeof *aborted * BENCH_PES);
    machine.groups = 1;
    machine.states = states;
    machine.heap = heap;
    machine.begin_ns = begin_ns;
    machine.end_ns = end_ns;
    machine.wrong = wrong;
    machine.aborted = aborted;
    machine.fill = fill;
    machine.fetch = fetch;
    machine.filled = filled;
    machine.bind = bind;
    machine.launch = launch;
    machine.join = join;
    machine.ring_open = ring_open;
    machine.ring_close = ring_close;
    set_up(&machine);
    return bench_rows(&machine, argc, argv);
}

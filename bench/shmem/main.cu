/* shmem-bench [first-word-of-a-row]: calls of the global address space in kernels, between two PEs, as a table. Every row's
 * data are looked at: in the kernel where a call gives something back, and afterwards. Two GPUs where there are two that reach
 * each other and BENCH_GPUS is not 1. Every wait is bounded. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "serve.h"

enum { BLOCKS = 32, SKIPPED = 77, SLOTS = 4096 };

static const struct bench_pe *const kernels[BENCH_PES] = {&bench_pe_0, &bench_pe_1};
static int gpu[BENCH_PES];
static struct bench_heap *heap[BENCH_PES];
static struct tshmem_state states[BENCH_PES];
static cudaStream_t stream[BENCH_PES];
static uint64_t *begin_ns[BENCH_PES], *end_ns[BENCH_PES];
static unsigned *wrong;
static uint32_t *aborted;
static unsigned char *seen, *sent[BENCH_PES];
static int failed;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

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

static void find_gpus(void)
{
    int gpus = 0, there = 0, back = 0;
    const char *const most = getenv("BENCH_GPUS");
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
        printf("skipped: no GPU\n");
        exit(SKIPPED);
    }
    if (gpus > 1 && !(most && atoi(most) == 1) && cudaDeviceCanAccessPeer(&there, 0, 1) == cudaSuccess &&
        cudaDeviceCanAccessPeer(&back, 1, 0) == cudaSuccess && there && back) {
        gpu[1] = 1;
        for (int pe = 0; pe < BENCH_PES; pe++) {
            must(cudaSetDevice(pe), "a GPU");
            must(cudaDeviceEnablePeerAccess(1 - pe, 0), "peer access");
        }
    }
    printf("two PEs on %s\n", gpu[1] ? "two GPUs" : "one GPU");
}

static void set_up(void)
{
    wrong = (unsigned *)pinned(sizeof *wrong);
    aborted = (uint32_t *)pinned(sizeof *aborted * BENCH_PES);
    seen = (unsigned char *)malloc(BENCH_DATA);
    for (int pe = 0; pe < BENCH_PES; pe++) {
        must(cudaSetDevice(gpu[pe]), "a GPU");
        must(cudaMalloc((void **)&heap[pe], sizeof *heap[pe]), "a heap");
        must(cudaMemset(heap[pe], 0, sizeof *heap[pe]), "a heap");
        must(cudaStreamCreateWithFlags(&stream[pe], cudaStreamNonBlocking), "a stream");
        begin_ns[pe] = (uint64_t *)pinned(BLOCKS * sizeof(uint64_t));
        end_ns[pe] = (uint64_t *)pinned(BLOCKS * sizeof(uint64_t));
        sent[pe] = (unsigned char *)malloc(BENCH_DATA);
    }
    for (int pe = 0; pe < BENCH_PES; pe++) {
        struct tshmem_state &state = states[pe];
        struct tshmem_team_state *teams;
        must(cudaSetDevice(gpu[pe]), "a GPU");
        must(cudaMalloc((void **)&teams, TSHMEM_TEAMS_MAX * sizeof *teams), "teams");
        must(cudaMemset(teams, 0, TSHMEM_TEAMS_MAX * sizeof *teams), "teams");
        state.bytes = sizeof state;
        state.version = TSHMEM_STATE_VERSION;
        state.me = pe;
        state.pes = BENCH_PES;
        state.heap = (char *)heap[pe];
        state.heap_bytes = sizeof *heap[pe];
        state.area_bytes = sizeof heap[pe]->area + sizeof heap[pe]->pad;
        state.team = teams;
        state.abort = &aborted[pe];
        state.limit_ns = 2000000000u;
        for (int p = 0; p < BENCH_PES; p++)
            state.peer[p] = (char *)heap[p];
        if (kernels[pe]->bind(&state) != 0)
            must(cudaErrorUnknown, "binding the state");
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
    const double deadline = seconds() + 20;
    for (int pe = 0; pe < BENCH_PES; pe++) {
        cudaError_t status;
        while ((status = cudaStreamQuery(stream[pe])) == cudaErrorNotReady && seconds() < deadline)
            ;
        if (status == cudaErrorNotReady) {
            fprintf(stderr, "FAILED: a kernel does not end\n");
            fflush(NULL);
            _exit(1);
        }
        must(status, "a kernel");
    }
}

static int both(int operation)
{
    return operation >= BENCH_PINGPONG && operation <= BENCH_SUM;
}

/* New data into `out` of both PEs; signals, counters and `in` are cleared. Of a sum: small numbers, whose sums are exact. */
static void fill(int operation)
{
    static unsigned salt;
    salt += 7;
    for (int pe = 0; pe < BENCH_PES; pe++) {
        for (size_t i = 0; i < BENCH_DATA; i++)
            sent[pe][i] = (unsigned char)(i * 31 + i / 251 + salt + (unsigned)pe * 101);
        for (size_t i = 0; operation == BENCH_SUM && i < BENCH_DATA / sizeof(float); i++)
            ((float *)sent[pe])[i] = (float)((i * 7 + salt + (unsigned)pe) % 1000);
        must(cudaMemset(heap[pe], 0, offsetof(struct bench_heap, out)), "clearing");
        must(cudaMemcpy(heap[pe]->out, sent[pe], BENCH_DATA, cudaMemcpyHostToDevice), "filling");
    }
    for (int pe = 0; pe < BENCH_PES; pe++) {
        must(cudaSetDevice(gpu[pe]), "a GPU");
        must(cudaDeviceSynchronize(), "filling");
    }
}

/* What lies in `in` of PE `pe` afterwards. 1: as it should. */
static int right(int operation, size_t bytes, int pe)
{
    must(cudaMemcpy(seen, heap[pe]->in, BENCH_DATA, cudaMemcpyDeviceToHost), "reading");
    switch (operation) {
    case BENCH_PUT_QUIET:
    case BENCH_PUT:
        return pe == 0 || memcmp(seen, sent[0], bytes) == 0;
    case BENCH_GET:
    case BENCH_GET_BLOCKING:
        return pe == 1 || memcmp(seen, sent[1], bytes) == 0;
    case BENCH_FCOLLECT:
        return memcmp(seen, sent[0], bytes) == 0 && memcmp(seen + bytes, sent[1], bytes) == 0;
    case BENCH_BROADCAST:
        return memcmp(seen, sent[0], bytes) == 0;
    case BENCH_SUM:
        for (size_t i = 0; i < bytes / sizeof(float); i++) {
            if (((float *)seen)[i] != ((float *)sent[0])[i] + ((float *)sent[1])[i])
                return 0;
        }
        return 1;
    default:
        return 1; /* seen in the kernel */
    }
}

static const char *const names[] = {"p+quiet",  "put+quiet", "add+quiet", "fetch-add", "pingpong",
                                    "barrier",  "fcollect",  "broadcast", "sum",       "put",
                                    "get",      "get",       "ring-trip", "ring-rate"};
static const char *const groups[] = {"thread", "warp", "block"};

/* Nanoseconds of a round: the best of five launches, which is what the hardware can do; the worst says how far they lie
 * apart. 0: failed. */
static double measure(int operation, int group, unsigned blocks, unsigned threads, size_t bytes, unsigned rounds,
                      double *worst_of)
{
    double best = 0, worst = 0;
    for (int again = 0; again < 5; again++) {
        uint64_t from = UINT64_MAX, to = 0;
        fill(operation);
        *wrong = 0;
        memset(aborted, 0, sizeof *aborted * BENCH_PES);
        for (int pe = 0; pe < (both(operation) ? BENCH_PES : 1); pe++) {
            struct bench_call call = {operation, group, rounds, bytes, heap[pe], begin_ns[pe], end_ns[pe], wrong};
            void *arguments[] = {&call};
            must(cudaSetDevice(gpu[pe]), "a GPU");
            must(cudaLaunchKernel(kernels[pe]->kernel, dim3(blocks), dim3(threads), arguments, 0, stream[pe]), "a launch");
        }
        join();
        for (unsigned b = 0; b < blocks; b++) {
            from = begin_ns[0][b] < from ? begin_ns[0][b] : from;
            to = end_ns[0][b] > to ? end_ns[0][b] : to;
        }
        const double ns = (double)(to - from) / (rounds - rounds / 10);
        best = again == 0 || ns < best ? ns : best;
        worst = ns > worst ? ns : worst;
        if (*wrong != 0 || aborted[0] != 0 || aborted[1] != 0 || !right(operation, bytes, 0) || !right(operation, bytes, 1)) {
            printf("FAILED: %s by %s, %u blocks of %u threads, %zu bytes, launch %d: %u wrong, aborted %u %u, data right %d %d\n",
                   names[operation], groups[group], blocks, threads, bytes, again, *wrong, aborted[0], aborted[1],
                   right(operation, bytes, 0), right(operation, bytes, 1));
            failed = 1;
            return 0;
        }
    }
    *worst_of = worst;
    return best;
}

static void row(int operation, int group, unsigned blocks, unsigned threads, size_t bytes, unsigned rounds)
{
    double worst = 0;
    const double best = measure(operation, group, blocks, threads, bytes, rounds, &worst);
    if (best == 0)
        return;
    if (operation == BENCH_RING_RATE)
        printf("%-10s %-7s %7u %8u %9zu %12.2f M/s  %8.2f\n", names[operation], groups[group], blocks, threads, bytes,
               1e3 * blocks * threads / best, 1e3 * blocks * threads / worst);
    else if (operation == BENCH_PUT || operation == BENCH_GET)
        printf("%-10s %-7s %7u %8u %9zu %12.1f GB/s %8.1f\n", names[operation], groups[group], blocks, threads, bytes,
               (double)bytes / best, (double)bytes / worst);
    else
        printf("%-10s %-7s %7u %8u %9zu %12.3f us   %8.3f\n", names[operation], groups[group], blocks, threads, bytes,
               best / 1000, worst / 1000);
    fflush(stdout);
}

static int wanted(int operation, int argc, char **argv)
{
    return argc < 2 || strcmp(argv[1], names[operation]) == 0;
}

static const unsigned group_sizes[] = {1, 16, 128, 1024};

/* The form that a group of so many threads uses. */
static int form_of(unsigned threads)
{
    return threads == 1 ? BENCH_THREAD : threads <= 32 ? BENCH_WARP : BENCH_BLOCK;
}

static void latencies(int argc, char **argv)
{
    static const size_t sizes[] = {8, 1024, 16384};
    if (wanted(BENCH_P_QUIET, argc, argv))
        row(BENCH_P_QUIET, BENCH_THREAD, 1, 1, 8, 2000);
    if (wanted(BENCH_ADD, argc, argv))
        row(BENCH_ADD, BENCH_THREAD, 1, 1, 8, 2000);
    if (wanted(BENCH_FETCH_ADD, argc, argv))
        row(BENCH_FETCH_ADD, BENCH_THREAD, 1, 1, 8, 2000);
    for (int operation = BENCH_PUT_QUIET; operation <= BENCH_SUM; operation++) {
        const int sized = operation != BENCH_BARRIER;
        if (operation == BENCH_ADD || operation == BENCH_FETCH_ADD || !wanted(operation, argc, argv))
            continue;
        for (size_t s = 0; s < (sized ? sizeof sizes / sizeof *sizes : 1); s++) {
            const size_t bytes = operation == BENCH_SUM && s == 0 ? 4 : sizes[s];
            for (size_t g = 0; g < sizeof group_sizes / sizeof *group_sizes; g++)
                row(operation, form_of(group_sizes[g]), 1, group_sizes[g], bytes, 1000);
        }
    }
}

static void bandwidths(int argc, char **argv)
{
    for (int operation = BENCH_PUT; operation <= BENCH_GET; operation++) {
        if (!wanted(operation, argc, argv))
            continue;
        for (size_t bytes = 64 << 10; bytes <= 4 << 20; bytes *= 8)
            for (size_t g = 0; g < sizeof group_sizes / sizeof *group_sizes; g++)
                for (unsigned blocks = 1; blocks <= BLOCKS && (group_sizes[g] >= 128 || bytes < 1 << 20); blocks *= 2)
                    row(operation, form_of(group_sizes[g]), blocks, group_sizes[g], bytes, group_sizes[g] < 128 ? 10 : 40);
    }
}

/* ---- the ring ---- */

/* PE 0's kernels get it; past which size transfers go by it, 0: none do. */
static void bind_ring(uint64_t cutover)
{
    for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++)
        states[0].ring.cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] = cutover;
    must(cudaSetDevice(gpu[0]), "a GPU");
    if (kernels[0]->bind(&states[0]) != 0)
        must(cudaErrorUnknown, "binding the state");
}

/* Stores and loads, and copy engines by the ring, beside each other; then the rule that follows: copy engines from where
 * they are ahead at every size. */
static void cutover_of(int get, unsigned threads)
{
    const int operation = get ? BENCH_GET_BLOCKING : BENCH_PUT_QUIET;
    static const char *const calls[] = {"put", "get"};
    size_t most_direct = 0;
    for (size_t bytes = 1 << 10; bytes <= 4 << 20; bytes *= 2) {
        const unsigned rounds = threads < 128 && bytes > 64 << 10 ? 20 : 100;
        double us[2], worst;
        for (int engine = 0; engine < 2; engine++) {
            bind_ring((uint64_t)engine);
            us[engine] = measure(operation, form_of(threads), 1, threads, bytes, rounds, &worst) / 1000;
        }
        most_direct = us[0] <= us[1] ? bytes : most_direct;
        printf("%-10s %-7s %8u %9zu %12.2f %12.2f\n", calls[get], groups[form_of(threads)], threads, bytes, us[0], us[1]);
        fflush(stdout);
    }
    printf("# shmem_%s_%u: ", calls[get], threads == 16 ? 32 : threads);
    if (most_direct)
        printf("0-%zu@direct ", most_direct);
    printf(most_direct == 4 << 20 ? "*@direct\n" : "*@copy_engine\n");
}

static void cutovers(void)
{
    printf("%-10s %-7s %8s %9s %12s %12s us\n", "cutover", "form", "threads", "bytes", "direct", "copy_engine");
    for (int get = 0; get < 2; get++)
        for (size_t g = 0; g < sizeof group_sizes / sizeof *group_sizes; g++)
            cutover_of(get, group_sizes[g]);
    bind_ring(0);
}

static void rings(int argc, char **argv)
{
    static const unsigned blocks[] = {1, 8, 32};
    const int compared = argc < 2 || strcmp(argv[1], "cutover") == 0;
    if (!wanted(BENCH_RING_TRIP, argc, argv) && !wanted(BENCH_RING_RATE, argc, argv) && !compared)
        return;
    struct tshmem_ring_own *own;
    void *const memory = pinned(bench_serve_bytes(SLOTS));
    must(cudaSetDevice(gpu[0]), "a GPU");
    must(cudaMalloc((void **)&own, sizeof *own), "the ring's counters");
    must(cudaMemset(own, 0, sizeof *own), "the ring's counters");
    must(cudaDeviceSynchronize(), "the ring's counters");
    if (bench_serve(gpu[0], &states[0], SLOTS, memory, own) != 0)
        must(cudaErrorUnknown, "serving the ring");
    bind_ring(0);
    if (wanted(BENCH_RING_TRIP, argc, argv))
        row(BENCH_RING_TRIP, BENCH_THREAD, 1, 1, 0, 2000);
    for (size_t b = 0; wanted(BENCH_RING_RATE, argc, argv) && b < sizeof blocks / sizeof *blocks; b++)
        for (unsigned threads = 32; threads <= 256; threads *= 8)
            row(BENCH_RING_RATE, BENCH_BLOCK, blocks[b], threads, 0, 4000000 / blocks[b] / threads);
    if (compared)
        cutovers();
    bench_serve_end();
    memset(&states[0].ring, 0, sizeof states[0].ring);
    bind_ring(0);
}

int main(int argc, char **argv)
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    find_gpus();
    set_up();
    printf("%-10s %-7s %7s %8s %9s %12s      %8s\n", "operation", "form", "blocks", "threads", "bytes", "best", "worst");
    latencies(argc, argv);
    bandwidths(argc, argv);
    rings(argc, argv);
    return failed;
}

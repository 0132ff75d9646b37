/* A kernel that NVRTC compiles from the headers alone, with the calls of all groups: two PEs on one GPU, then on two
 * if the machine has two, each a module of its own, into whose symbol the program copies the state. TUTTI_TEST_GPUS=1:
 * on one alone. Argument: the folder of the headers. Without a GPU the kernel is compiled all the same. libnvrtc and
 * libcuda are opened here. */
#include <cuda.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tutti/shmem_state.h"

#include "support/check.h"

enum { PES = 2, THREADS = 96, N = 1000, HEAP = 1 << 20 };

static const char source[] =
    "#include <tutti/device.h>\n"
    "enum { N = 1000 };\n"
    "struct heap { tshmem_area area; unsigned long long signal[2]; long counter; int status;\n"
    "              int from[N], to[N]; float x[N], sum[N]; };\n"
    "extern \"C\" __global__ void run(heap *h)\n"
    "{\n"
    "    const int me = tshmem_my_pe(), next = (me + 1) % tshmem_n_pes();\n"
    "    for (int i = threadIdx.x; i < N; i += blockDim.x) {\n"
    "        h->from[i] = i * 3 + me;\n"
    "        h->x[i] = i * 0.5f + me;\n"
    "    }\n"
    "    tshmem_int_put_signal_block(h->to, h->from, N, (uint64_t *)&h->signal[0], 7, TSHMEM_SIGNAL_SET, next);\n"
    "    tshmem_signal_wait_until_block((uint64_t *)&h->signal[0], TSHMEM_CMP_EQ, 7);\n"
    "    int status = tshmem_float_sum_reduce_block(TSHMEM_TEAM_WORLD, h->sum, h->x, N);\n"
    "    const tshmem_ctx_t ctx = (tshmem_ctx_t)(5ul << TSHMEM_CONTEXT_BITS | 10);\n"
    "    tshmem_atomic_add(ctx, &h->counter, (long)threadIdx.x, 0);\n"
    "    if (threadIdx.x < 32) {\n"
    "        tshmem_put_warp(ctx, &h->to[0], &h->from[0], 1, next);\n"
    "        tshmem_ctx_quiet_warp(ctx);\n"
    "        status |= tshmem_barrier_warp(TSHMEM_TEAM_WORLD);\n"
    "    }\n"
    "    __syncthreads();\n"
    "    const tutti_grid_work work = {h + 1, 4096};\n"
    "    int one = 1 << me, both = 0;\n"
    "    status |= tutti_grid_allreduce(TSHMEM_TEAM_WORLD, TUTTI_GRID_REGISTERS, &both, &one, 1, TSHMEM_INT32,\n"
    "                                   TSHMEM_OP_OR, TUTTI_GRID_ALLGATHER, &work);\n"
    "    if (status != 0 || both != 3)\n"
    "        atomicAdd(&h->status, 1);\n"
    "    if (threadIdx.x == 0 && tshmem_int_g(&h->from[1], next) != 3 + next)\n"
    "        atomicAdd(&h->status, 1);\n"
    "    if (threadIdx.x == 0 && tshmem_ctx_int_g(ctx, &h->from[2], next) != 6 + next)\n"
    "        atomicAdd(&h->status, 1);\n"
    "}\n";

/* As the kernel's, rounded up to 256 bytes by its area and the host's layout alike. */
struct heap {
    struct tshmem_area area;
    uint64_t signal[2];
    long counter;
    int status;
    int from[N], to[N];
    float x[N], sum[N];
};

#define STRING(name) #name
#define NAME(name)   STRING(name)
#define FIELD(name)  __typeof__(&name) name;
#define DRIVER(X)                                                                                                      \
    X(cuInit)                                                                                                          \
    X(cuDeviceGet)                                                                                                     \
    X(cuDeviceGetCount)                                                                                                \
    X(cuDeviceCanAccessPeer)                                                                                           \
    X(cuCtxEnablePeerAccess)                                                                                           \
    X(cuDeviceGetAttribute)                                                                                            \
    X(cuDevicePrimaryCtxRetain)                                                                                        \
    X(cuCtxSetCurrent)                                                                                                 \
    X(cuMemAlloc)                                                                                                      \
    X(cuMemHostAlloc)                                                                                                  \
    X(cuMemsetD8)                                                                                                      \
    X(cuMemcpyHtoD)                                                                                                    \
    X(cuMemcpyDtoH)                                                                                                    \
    X(cuCtxSynchronize)                                                                                                \
    X(cuModuleLoadData)                                                                                                \
    X(cuModuleGetFunction)                                                                                             \
    X(cuModuleGetGlobal)                                                                                               \
    X(cuFuncGetAttribute)                                                                                              \
    X(cuStreamCreate)                                                                                                  \
    X(cuStreamQuery)                                                                                                   \
    X(cuLaunchKernel)
#define COMPILER(X)                                                                                                    \
    X(nvrtcCreateProgram)                                                                                              \
    X(nvrtcCompileProgram) X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN)
static struct {
    DRIVER(FIELD)
} driver;
static struct {
    COMPILER(FIELD)
} compiler;

static void *symbol(void *library, const char *name)
{
    void *const found = dlsym(library, name);
    if (!found) {
        fprintf(stderr, "FAILED: no %s\n", name);
        exit(1);
    }
    return found;
}

static void must(int status, const char *what)
{
    if (status == 0)
        return;
    fprintf(stderr, "FAILED: %s: error %d\n", what, status);
    fflush(NULL);
    _exit(1);
}

static CUcontext contexts[PES]; /* of GPU 0, and of another one that it reaches or of itself */
static int gpus;                /* GPUs that PEs may be on */

static void choose(int pe, int spread)
{
    must(driver.cuCtxSetCurrent(contexts[spread ? pe : 0]), "the context");
}

static int reaches(CUdevice device, CUdevice peer)
{
    int can = 0;
    return driver.cuDeviceCanAccessPeer(&can, device, peer) == 0 && can;
}

/* The second GPU, where there is one. */
static void another(CUdevice first)
{
    CUdevice second;
    int count = 0;
    contexts[1] = contexts[0];
    gpus = 1;
    must(driver.cuDeviceGetCount(&count), "GPUs");
    if (count < 2 || check_setting("TUTTI_TEST_GPUS", 2) < 2)
        return;
    must(driver.cuDeviceGet(&second, 1), "the second GPU");
    if (!reaches(first, second) || !reaches(second, first))
        return;
    must(driver.cuDevicePrimaryCtxRetain(&contexts[1], second), "the second context");
    gpus = 2;
    for (int pe = 0; pe < PES; pe++) {
        choose(pe, 1);
        must(driver.cuCtxEnablePeerAccess(contexts[1 - pe], 0), "peer access");
    }
}

/* 1: there is a GPU. */
static int gpu(int *architecture)
{
    CUdevice device;
    int major, minor;
    void *const library = dlopen("libcuda.so.1", RTLD_NOW);
    *architecture = 90;
    if (!library)
        return 0;
#define LOAD(name) *(void **)&driver.name = symbol(library, NAME(name));
    DRIVER(LOAD)
    if (driver.cuInit(0) != 0 || driver.cuDeviceGet(&device, 0) != 0)
        return 0;
    must(driver.cuDevicePrimaryCtxRetain(&contexts[0], device), "the context");
    another(device);
    must(driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device), "the GPU");
    must(driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device), "the GPU");
    *architecture = major * 10 + minor;
    return 1;
}

static void *compile(const char *include, int architecture, size_t *size)
{
    static const char *const names[] = {"libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"};
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW);
    if (!library) {
        printf("skipped: no libnvrtc\n");
        exit(CHECK_SKIP);
    }
#undef LOAD
#define LOAD(name) *(void **)&compiler.name = symbol(library, NAME(name));
    COMPILER(LOAD)
    nvrtcProgram program;
    char folder[4096], code[64];
    snprintf(folder, sizeof folder, "--include-path=%s", include);
    snprintf(code, sizeof code, "--gpu-architecture=sm_%d", architecture);
    const char *const options[] = {folder, code, "--std=c++17", "-default-device"};
    must((int)compiler.nvrtcCreateProgram(&program, source, "run.cu", 0, NULL, NULL), "a program");
    const struct timespec none = {0, 0};
    struct timespec begin = none, end = none;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const int status = (int)compiler.nvrtcCompileProgram(program, 4, options);
    clock_gettime(CLOCK_MONOTONIC, &end);
    size_t length = 0;
    compiler.nvrtcGetProgramLogSize(program, &length);
    char *const log = calloc(1, length + 1);
    compiler.nvrtcGetProgramLog(program, log);
    if (log[0])
        fprintf(stderr, "%s\n", log);
    free(log);
    must(status, "compiling");
    must((int)compiler.nvrtcGetCUBINSize(program, size), "the code");
    char *const image = malloc(*size);
    must((int)compiler.nvrtcGetCUBIN(program, image), "the code");
    printf("compiled for sm_%d in %.1f s: %zu bytes\n", architecture,
           (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec), *size);
    return image;
}

/* All of PE `pe`'s: memory zeroed, a module with its state. */
static CUfunction prepare(int pe, const CUdeviceptr *heaps, uint32_t *aborted, const void *image)
{
    CUmodule module;
    CUfunction function;
    CUdeviceptr teams, told, symbol_at;
    size_t bytes;
    int local;
    struct tshmem_state state = {.bytes = sizeof state,
                                 .version = TSHMEM_STATE_VERSION,
                                 .me = pe,
                                 .pes = PES,
                                 .heap = (char *)(uintptr_t)heaps[pe],
                                 .heap_bytes = HEAP,
                                 .area_bytes = sizeof(struct tshmem_area),
                                 .abort = aborted + pe,
                                 .limit_ns = 5000000000};
    for (int p = 0; p < PES; p++)
        state.peer[p] = (char *)(uintptr_t)heaps[p];
    must(driver.cuMemAlloc(&teams, TSHMEM_TEAMS_MAX * sizeof(struct tshmem_team_state)), "teams");
    must(driver.cuMemsetD8(teams, 0, TSHMEM_TEAMS_MAX * sizeof(struct tshmem_team_state)), "teams");
    state.team = (struct tshmem_team_state *)(uintptr_t)teams;
    uint64_t words[TSHMEM_CONTEXTS_MAX] = {[9] = (uint64_t)5 << 32}; /* what the kernel names, over all PEs */
    must(driver.cuMemAlloc(&told, sizeof words), "contexts");
    must(driver.cuMemcpyHtoD(told, words, sizeof words), "contexts");
    state.context = (uint64_t *)(uintptr_t)told;
    must(driver.cuModuleLoadData(&module, image), "the module");
    must(driver.cuModuleGetFunction(&function, module, "run"), "the kernel");
    /* It is loaded now: at a launch it would wait until the other PE's, which waits for it, has ended. */
    must(driver.cuFuncGetAttribute(&local, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function), "loading the kernel");
    must(driver.cuModuleGetGlobal(&symbol_at, &bytes, module, "tshmem_state_here"), "the symbol");
    CHECK(bytes == sizeof state, "the symbol has %zu bytes, the state %zu", bytes, sizeof state);
    must(driver.cuMemcpyHtoD(symbol_at, &state, sizeof state), "the state");
    return function;
}

static void look(int pe, CUdeviceptr at)
{
    static struct heap heap;
    long wrong = 0;
    must(driver.cuMemcpyDtoH(&heap, at, sizeof heap), "reading");
    for (int i = 0; i < N; i++) {
        wrong += heap.to[i] != i * 3 + 1 - pe;
        wrong += heap.sum[i] != (float)i * 0.5f + ((float)i * 0.5f + 1);
    }
    CHECK(wrong == 0, "PE %d: %ld elements are wrong", pe, wrong);
    CHECK(heap.status == 0, "PE %d: %d failures in the kernel", pe, heap.status);
    CHECK(pe != 0 || heap.counter == PES * THREADS * (THREADS - 1) / 2, "the counter is %ld", heap.counter);
}

static void run(const void *image, int spread)
{
    CUdeviceptr heaps[PES];
    CUfunction functions[PES];
    CUstream streams[PES];
    void *pinned;
    choose(0, spread);
    must(driver.cuMemHostAlloc(&pinned, PES * sizeof(uint32_t), CU_MEMHOSTALLOC_PORTABLE), "pinned memory");
    memset(pinned, 0, PES * sizeof(uint32_t));
    uint32_t *const aborted = pinned;
    for (int pe = 0; pe < PES; pe++) {
        choose(pe, spread);
        must(driver.cuMemAlloc(&heaps[pe], HEAP), "a heap");
        must(driver.cuMemsetD8(heaps[pe], 0, HEAP), "a heap");
        must(driver.cuStreamCreate(&streams[pe], CU_STREAM_NON_BLOCKING), "a stream");
    }
    for (int pe = 0; pe < PES; pe++) {
        choose(pe, spread);
        functions[pe] = prepare(pe, heaps, aborted, image);
    }
    for (int pe = 0; pe < PES; pe++) {
        choose(pe, spread);
        must(driver.cuCtxSynchronize(), "set-up");
    }
    for (int pe = 0; pe < PES; pe++) {
        void *arguments[] = {&heaps[pe]};
        choose(pe, spread);
        must(driver.cuLaunchKernel(functions[pe], 1, 1, 1, THREADS, 1, 1, 0, streams[pe], arguments, NULL), "a launch");
    }
    for (int pe = 0, turns = 0; pe < PES; pe++) {
        int status;
        choose(pe, spread);
        while ((status = (int)driver.cuStreamQuery(streams[pe])) == CUDA_ERROR_NOT_READY && turns++ < 10000)
            usleep(1000);
        must(status, "the kernel");
    }
    for (int pe = 0; pe < PES; pe++) {
        choose(pe, spread);
        CHECK(aborted[pe] == 0, "PE %d has aborted", pe);
        look(pe, heaps[pe]);
    }
    printf("two PEs on %s\n", spread ? "two GPUs" : "one GPU");
}

int main(int argc, char **argv)
{
    int architecture;
    size_t size;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    const int found = gpu(&architecture);
    void *const image = compile(argc > 1 ? argv[1] : "include", architecture, &size);
    if (!found) {
        printf("skipped: no GPU\n");
        return CHECK_SKIP;
    }
    for (int spread = 0; spread < gpus; spread++)
        run(image, spread);
    free(image);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

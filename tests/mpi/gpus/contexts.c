/* Contexts of the program's own, as PyCUDA, OCCA and other programs of NVIDIA's driver API make: random calls on memory
 * of several contexts of one GPU, the primary one among them, with any context current, and with none. Contexts end
 * with their memory between calls, also the one in which the library works, and new ones come. Copies of the program
 * are not waited for beyond what the driver's call does. TUTTI_TEST_SEED: the random numbers; argument: calls. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { CONTEXTS = 3, MOST = 2 << 20, OPEN = 4 };

typedef unsigned long long address;

static struct {
    int (*init)(unsigned);
    int (*count)(int *);
    int (*retain)(void **, int);
    int (*make)(void **, unsigned, int);
    int (*end)(void *);
    int (*set)(void *);
    int (*alloc)(address *, size_t);
    int (*free)(address);
    int (*in)(address, const void *, size_t);
    int (*out)(void *, address, size_t);
} cuda;

/* Number 0 is the primary one, which stays. */
static struct context {
    void *handle;
    address memory[2];
} contexts[CONTEXTS];

static int gpu;
static unsigned char *data, *came;
static uint64_t own, shared; /* random numbers: of this rank, of all */

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

static void need(int result, const char *what)
{
    if (result == 0)
        return;
    fprintf(stderr, "the program's own call failed: %s: %d\n", what, result);
    abort();
}

static int cuda_open(void)
{
    static const struct {
        const char *name;
        void *entry;
    } entries[] = {
        {"cuInit", &cuda.init},         {"cuDeviceGetCount", &cuda.count}, {"cuDevicePrimaryCtxRetain", &cuda.retain},
        {"cuCtxCreate_v2", &cuda.make}, {"cuCtxDestroy_v2", &cuda.end},    {"cuCtxSetCurrent", &cuda.set},
        {"cuMemAlloc_v2", &cuda.alloc}, {"cuMemFree_v2", &cuda.free},      {"cuMemcpyHtoD_v2", &cuda.in},
        {"cuMemcpyDtoH_v2", &cuda.out}};
    const char *device = getenv("TUTTI_DEVICE");
    void *library = device && strcmp(device, "cuda") == 0 ? dlopen("libcuda.so.1", RTLD_NOW) : NULL;
    for (size_t i = 0; library && i < sizeof entries / sizeof entries[0]; i++) {
        void *found = dlsym(library, entries[i].name);
        need(found == NULL, entries[i].name);
        memcpy(entries[i].entry, &found, sizeof found);
    }
    return library != NULL;
}

static void context_make(struct context *context)
{
    if (context == contexts)
        need(cuda.retain(&context->handle, gpu), "cuDevicePrimaryCtxRetain");
    else
        need(cuda.make(&context->handle, 0, gpu), "cuCtxCreate");
    need(cuda.set(context->handle), "cuCtxSetCurrent");
    for (int i = 0; i < 2; i++)
        need(cuda.alloc(&context->memory[i], MOST), "cuMemAlloc");
    need(cuda.set(NULL), "cuCtxSetCurrent");
}

/* The driver frees the memory of a context with it: half of the time it has to. */
static void context_end(struct context *context)
{
    need(cuda.set(context->handle), "cuCtxSetCurrent");
    for (int i = 0; i < 2 && random_below(&own, 2); i++)
        need(cuda.free(context->memory[i]), "cuMemFree");
    need(cuda.set(NULL), "cuCtxSetCurrent");
    need(cuda.end(context->handle), "cuCtxDestroy");
    context->handle = NULL;
}

static struct context *any_context(void)
{
    struct context *context;
    do
        context = &contexts[random_below(&own, CONTEXTS)];
    while (!context->handle);
    return context;
}

static unsigned char byte_of(int rank, int call, size_t i)
{
    return (unsigned char)(i * 31 + i / 253 + (size_t)rank * 5 + (size_t)call);
}

/* Memory of a random context, with the bytes of this rank. */
static address put(struct context *context, int which, int call, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = byte_of(kit_rank, call, i);
    need(cuda.set(context->handle), "cuCtxSetCurrent");
    need(cuda.in(context->memory[which], data, bytes), "cuMemcpyHtoD");
    return context->memory[which];
}

static void get(struct context *context, int which, size_t bytes)
{
    need(cuda.set(context->handle), "cuCtxSetCurrent");
    memset(came, 0, bytes);
    need(cuda.out(came, context->memory[which], bytes), "cuMemcpyDtoH");
}

static void be_anywhere(void)
{
    need(cuda.set(random_below(&own, 4) ? any_context()->handle : NULL), "cuCtxSetCurrent");
}

static void one_call(int call)
{
    static const size_t sizes[] = {4, 64, 600, 4096, 20000, 65536, 300000, 1 << 20, MOST};
    const size_t bytes = sizes[random_below(&shared, 9)];
    const int kind = (int)random_below(&shared, 4), n = (int)bytes, right = (kit_rank + 1) % kit_size,
              left = (kit_rank + kit_size - 1) % kit_size;
    struct context *from = any_context(), *to = any_context();
    const address send = put(from, 0, call, bytes), receive = put(to, 1, call + 1, bytes);
    be_anywhere();
    if (kind == 0) {
        MPI_Sendrecv((void *)send, n, MPI_BYTE, right, call, (void *)receive, n, MPI_BYTE, left, call, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    } else if (kind == 1) { /* in pieces */
        MPI_Request request[2 * OPEN];
        MPI_Status status[2 * OPEN]; /* MPICH's header lets GCC take MPI_STATUSES_IGNORE for an array */
        const int piece = n / OPEN;
        for (int i = 0; i < OPEN; i++)
            MPI_Irecv((char *)receive + i * piece, piece, MPI_BYTE, left, i, MPI_COMM_WORLD, &request[i]);
        be_anywhere();
        for (int i = 0; i < OPEN; i++)
            MPI_Isend((const char *)send + i * piece, piece, MPI_BYTE, right, i, MPI_COMM_WORLD, &request[OPEN + i]);
        be_anywhere();
        MPI_Waitall(2 * OPEN, request, status);
    } else if (kind == 2) {
        MPI_Allreduce((void *)send, (void *)receive, n, MPI_BYTE, MPI_BXOR, MPI_COMM_WORLD);
    } else {
        MPI_Bcast(kit_rank == 0 ? (void *)send : (void *)receive, n, MPI_BYTE, 0, MPI_COMM_WORLD);
    }
    if (kind == 3 && kit_rank == 0)
        return;
    get(to, 1, bytes);
    size_t wrong = bytes;
    for (size_t i = 0; i < bytes / OPEN * OPEN && wrong == bytes; i++) {
        unsigned char wanted = byte_of(kind == 3 ? 0 : left, call, i);
        if (kind == 2) {
            wanted = 0;
            for (int r = 0; r < kit_size; r++)
                wanted ^= byte_of(r, call, i);
        }
        wrong = came[i] != wanted ? i : bytes;
    }
    CHECK(wrong == bytes, "call %d, kind %d: byte %zu of %zu is %d; from context %d to context %d", call, kind, wrong,
          bytes, wrong < bytes ? came[wrong] : 0, (int)(from - contexts), (int)(to - contexts));
}

int main(int argc, char **argv)
{
    const int calls = argc > 1 ? atoi(argv[1]) : 100;
    int count = 0;
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (!cuda_open())
        kit_skip("contexts", "only NVIDIA's driver has contexts of the program's own");
    need(cuda.init(0), "cuInit");
    need(cuda.count(&count), "cuDeviceGetCount");
    gpu = kit_rank % count;
    data = malloc(MOST);
    came = malloc(MOST);
    shared = random_mix(kit_seed);
    own = random_mix(shared + (uint64_t)kit_rank + 1);
    context_make(&contexts[1 + random_below(&own, CONTEXTS - 1)]);
    for (int call = 0; call < calls; call++) {
        if (random_below(&own, 8) == 0) { /* one comes, or one goes */
            struct context *context = &contexts[random_below(&own, CONTEXTS)];
            int alive = 0;
            for (int i = 0; i < CONTEXTS; i++)
                alive += contexts[i].handle != NULL;
            if (!context->handle)
                context_make(context);
            else if (alive > 1 && context != contexts)
                context_end(context);
        }
        one_call(call);
    }
    need(cuda.set(any_context()->handle), "cuCtxSetCurrent");
    free(data);
    free(came);
    return kit_end("contexts");
}

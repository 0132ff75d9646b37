/* Times of packing on one GPU, without an MPI: call to return of tutti_pack_now(), a kernel's own time in a stream, the
 * host's share of a launch, beside cuMemcpy2D/3D where these can say the layout and beside what the memory allows
 * (payload plus the 32-byte sectors that blocks touch, at the speed of a large copy). All times in microseconds.
 *
 * packbench [GPU] [part of a row's name]: TUTTI_DEVICE=cuda; exit status 77 where there is no GPU. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/status.h"
#include "packbench.h"

enum { CALLS = 60, IN_STREAM = 20, SKIP = 77 };

#define DRIVER(X)                                                                                                      \
    X(cuMemcpy2DAsync_v2)                                                                                              \
    X(cuMemcpy3DAsync_v2)                                                                                              \
    X(cuMemcpyDtoDAsync_v2)                                                                                            \
    X(cuMemsetD8Async)                                                                                                 \
    X(cuEventCreate)                                                                                                   \
    X(cuEventRecord)                                                                                                   \
    X(cuEventSynchronize)                                                                                              \
    X(cuStreamSynchronize)
#define FIELD(name) __typeof__(&name) name;
static struct {
    DRIVER(FIELD)
    CUresult (*elapsed)(float *, CUevent, CUevent);
} cu;

const struct tutti_device *device;
struct tutti_stream *stream;
int gpu;
static CUstream handle;
static CUevent begin, end;
static double bytes_per_us; /* of a large copy, read and written */

void need(int fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "packbench: %s failed\n", what);
    exit(1);
}

static void resolve(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    need(library != NULL, "opening libcuda");
#define RESOLVE(name)                                                                                                  \
    do {                                                                                                               \
        void *entry = dlsym(library, #name);                                                                           \
        need(entry != NULL, #name);                                                                                    \
        memcpy(&cu.name, &entry, sizeof entry);                                                                        \
    } while (0);
    DRIVER(RESOLVE)
    void *entry = dlsym(library, "cuEventElapsedTime");
    need(entry != NULL, "cuEventElapsedTime");
    memcpy(&cu.elapsed, &entry, sizeof entry);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *of, int n)
{
    qsort(of, (size_t)n, sizeof *of, by_value);
    return of[n / 2];
}

/* ---- times ---- */
static void directions(struct row *row, enum tutti_direction direction)
{
    for (unsigned i = 0; i < row->jobs; i++)
        row->job[i].direction = direction;
}

static double time_now(struct row *row)
{
    double at[CALLS];
    for (int i = -5; i < CALLS; i++) {
        const uint64_t start = tutti_now_ns();
        need(tutti_pack_now(gpu, row->job, row->jobs) == TUTTI_OK, "tutti_pack_now");
        if (i >= 0)
            at[i] = (double)(tutti_now_ns() - start) / 1000;
    }
    return median(at, CALLS);
}

/* The kernel alone: many in a stream, between two events. *host: the call's own time. */
static double time_kernel(struct row *row, double *host)
{
    double at[5], calls[5];
    for (int i = 0; i < 5; i++) {
        float ms;
        need(cu.cuEventRecord(begin, handle) == CUDA_SUCCESS, "recording");
        const uint64_t start = tutti_now_ns();
        for (int k = 0; k < IN_STREAM; k++)
            need(tutti_pack_enqueue(stream, gpu, row->job, row->jobs) == TUTTI_OK, "tutti_pack_enqueue");
        calls[i] = (double)(tutti_now_ns() - start) / 1000 / IN_STREAM;
        need(cu.cuEventRecord(end, handle) == CUDA_SUCCESS && cu.cuEventSynchronize(end) == CUDA_SUCCESS, "waiting");
        need(cu.elapsed(&ms, begin, end) == CUDA_SUCCESS, "timing");
        at[i] = (double)ms * 1000 / IN_STREAM;
    }
    *host = median(calls, 5);
    return median(at, 5);
}

static int copy_by_driver(const struct row *row, int unpack)
{
    CUDA_MEMCPY3D three = row->copy;
    if (unpack) { /* the other way round */
        three.srcDevice = row->copy.dstDevice;
        three.srcPitch = row->copy.dstPitch;
        three.srcHeight = row->copy.dstHeight;
        three.dstDevice = row->copy.srcDevice;
        three.dstPitch = row->copy.srcPitch;
        three.dstHeight = row->copy.srcHeight;
    }
    if (row->copies == 3)
        return cu.cuMemcpy3DAsync_v2(&three, handle) == CUDA_SUCCESS;
    const CUDA_MEMCPY2D two = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                               .srcDevice = three.srcDevice,
                               .srcPitch = three.srcPitch,
                               .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                               .dstDevice = three.dstDevice,
                               .dstPitch = three.dstPitch,
                               .WidthInBytes = three.WidthInBytes,
                               .Height = three.Height};
    return cu.cuMemcpy2DAsync_v2(&two, handle) == CUDA_SUCCESS;
}

static double time_copy(const struct row *row, int unpack)
{
    double at[CALLS];
    for (int i = -2; i < CALLS; i++) {
        const uint64_t start = tutti_now_ns();
        if (!copy_by_driver(row, unpack))
            return -1; /* a pitch that it refuses */
        need(cu.cuStreamSynchronize(handle) == CUDA_SUCCESS, "waiting");
        if (i >= 0)
            at[i] = (double)(tutti_now_ns() - start) / 1000;
    }
    return median(at, CALLS);
}

void show(struct row *row)
{
    static int said;
    if (!said++)
        printf("%-34s %10s %9s %9s %9s %9s %9s %9s %9s %9s %9s\n", "layout", "bytes", "pack", "unpack", "kernel",
               "kernel-un", "host", "copy", "copy-un", "limit", "of limit");
    double host, host_un;
    directions(row, TUTTI_PACK);
    const double pack = time_now(row), kernel = time_kernel(row, &host);
    directions(row, TUTTI_UNPACK);
    const double unpack = time_now(row), kernel_un = time_kernel(row, &host_un);
    const double limit = (double)(row->payload + row->touched) / bytes_per_us;
    printf("%-34s %10llu %9.2f %9.2f %9.2f %9.2f %9.2f", row->name, (unsigned long long)row->payload, pack, unpack,
           kernel, kernel_un, host);
    if (row->copies)
        printf(" %9.2f %9.2f", time_copy(row, 0), time_copy(row, 1));
    else
        printf(" %9s %9s", "-", "-");
    printf(" %9.2f %8.0f%%\n", limit, 100 * limit / kernel);
    fflush(stdout);
}

static void measure_copy(void)
{
    const size_t bytes = (size_t)512 << 20;
    void *made = NULL;
    need(device->memory.alloc(gpu, 2 * bytes, &made) == TUTTI_OK, "allocating");
    unsigned char *memory = made;
    double at[9];
    for (int i = 0; i < 9; i++) {
        float ms;
        need(cu.cuEventRecord(begin, handle) == CUDA_SUCCESS, "recording");
        need(cu.cuMemcpyDtoDAsync_v2((CUdeviceptr)memory, (CUdeviceptr)memory + bytes, bytes, handle) == CUDA_SUCCESS,
             "copying");
        need(cu.cuEventRecord(end, handle) == CUDA_SUCCESS && cu.cuEventSynchronize(end) == CUDA_SUCCESS, "waiting");
        need(cu.elapsed(&ms, begin, end) == CUDA_SUCCESS, "timing");
        at[i] = (double)ms * 1000;
    }
    bytes_per_us = 2 * (double)bytes / median(at, 9);
    device->memory.free(memory);
    printf("a copy of 512 MiB reads and writes %.0f GB/s\n", bytes_per_us / 1000);
}

int main(int argc, char **argv)
{
    const char *only = argc > 2 ? argv[2] : NULL;
    char why[256] = "", text[256] = "";
    void *as_handle;
    int of;
    gpu = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0;
    device = tutti_device();
    if (!device || strcmp(device->name, "cuda") != 0 || device->open(why, sizeof why) != TUTTI_OK ||
        device->gpu.count() <= gpu) {
        printf("skipped: no GPU %d (%s)\n", gpu, why[0] ? why : "TUTTI_DEVICE is not cuda");
        return SKIP;
    }
    resolve();
    need(device->gpu.choose(gpu) == TUTTI_OK && device->stream.create(gpu, &stream) == TUTTI_OK &&
             device->stream.identity(stream, &of, &as_handle) == TUTTI_OK,
         "making a stream");
    handle = (CUstream)as_handle;
    need(cu.cuEventCreate(&begin, CU_EVENT_DEFAULT) == CUDA_SUCCESS &&
             cu.cuEventCreate(&end, CU_EVENT_DEFAULT) == CUDA_SUCCESS,
         "making events");
    if (device->gpu.describe(gpu, text, sizeof text) == TUTTI_OK)
        printf("%s\n", text);
    measure_copy();

    rows(only);
    return 0;
}

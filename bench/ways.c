#include "ways.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "core/types.h"
#include "data.h"
#include "device/device.h"
#include "nccl.h"
#include "tutti/tutti.h"

const char *bench_way_name(int way)
{
    static const char *const names[BENCH_WAYS] = {"tutti", "staged", "plain", "native", "nccl"};
    return names[way];
}

static void must(int status, const char *what)
{
    if (status < 0)
        bench_fail("%s: %s", what, tutti_status_text(status));
}

static void *ordinary(size_t bytes)
{
    void *memory = NULL;
    if (posix_memalign(&memory, 4096, bytes) != 0)
        bench_fail("out of memory: %zu bytes", bytes);
    memset(memory, 1, bytes);
    return memory;
}

/* Number of different GPUs that the ranks have chosen. */
static int gpus_used(const struct bench_plan *plan, const struct tutti_device *device, int gpu)
{
    unsigned char mine[16] = {0}, *all = ordinary(16 * (size_t)plan->size);
    if (!device || device->uuid(gpu, mine) != 0)
        bench_fail("rank %d cannot tell which GPU it has", plan->rank);
    bench_mpi.Allgather(mine, 16, MPI_BYTE, all, 16, MPI_BYTE, MPI_COMM_WORLD);
    int n = 0;
    for (int r = 0; r < plan->size; r++) {
        int first = 1;
        for (int s = 0; s < r; s++)
            first &= memcmp(all + 16 * r, all + 16 * s, 16) != 0;
        n += first;
    }
    free(all);
    return n;
}

static void choose_gpu(const struct bench_plan *plan)
{
    int gpus = tutti_gpu_count();
    if (gpus <= 0)
        bench_fail("rank %d sees no GPU of the %s device (%s)", plan->rank, tutti_device_name(),
                   gpus < 0 ? tutti_status_text(gpus) : "none there");
    must(tutti_gpu_set(plan->node_rank % gpus), "choosing a GPU");
    bench_say(plan, "device %s", tutti_device_name());
    const struct tutti_device *device = tutti_device();
    int gpu = plan->node_rank % gpus;
    char text[256];
    if (device && device->describe && device->describe(gpu, text, sizeof text) == 0)
        bench_say(plan, "gpu %s", text);
    bench_say(plan, "gpus %d", gpus_used(plan, device, gpu));
}

static void allocate(const struct bench_plan *plan, struct bench_ways *out)
{
    struct bench_buffers *b = &out->buffers;
    const struct tutti_device *device = tutti_device();
    must(tutti_alloc(plan->most, &b->device_in), "allocating device memory");
    must(tutti_alloc(plan->most, &b->device_out), "allocating device memory");
    b->scratch = ordinary(plan->most);
    if (out->used[BENCH_STAGED]) {
        b->pinned = device && device->alloc_pinned && device->alloc_pinned(plan->most, &b->copy_in) == 0 &&
                    device->alloc_pinned(plan->most, &b->copy_out) == 0;
        if (!b->pinned) {
            b->copy_in = ordinary(plan->most);
            b->copy_out = ordinary(plan->most);
        }
    }
    if (out->used[BENCH_PLAIN]) {
        b->plain_in = ordinary(plan->most);
        b->plain_out = ordinary(plan->most);
    }
}

/* Whether the MPI itself takes device pointers: its own word, Intel MPI's setting, or the user's. */
static int mpi_takes_device(void)
{
    const struct tutti_settings *settings = tutti_settings();
    if (strcmp(tutti_device_name(), "cuda") != 0 || settings->mpi_gpu_aware == TUTTI_SET_NO)
        return 0;
    if (settings->mpi_gpu_aware == TUTTI_SET_YES)
        return 1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    const char *offload = getenv("I_MPI_OFFLOAD"), *mode = getenv("I_MPI_OFFLOAD_MODE");
    if (strstr(text, "Intel"))
        return offload && strcmp(offload, "0") != 0 && mode && strcmp(mode, "cuda") == 0;
    return bench_mpi.Query_cuda_support && bench_mpi.Query_cuda_support() == 1;
}

void bench_ways_open(const struct bench_plan *plan, struct bench_ways *out)
{
    char why[256];
    if (!bench_mpi.preloaded)
        bench_fail("libtutti.so is not in front of the MPI: start this with `tutti bench`");
    *out = (struct bench_ways){.type = bench_mpi_type(plan->type), .op = bench_mpi_op(plan->op)};
    if (out->type == MPI_DATATYPE_NULL)
        bench_fail("this MPI has no type for %s", tutti_type_name(plan->type));
    choose_gpu(plan);
    int known = !bench_type_is_own(plan->type);
    out->used[BENCH_TUTTI] = 1;
    out->used[BENCH_STAGED] = known;
    out->used[BENCH_PLAIN] = known && strcmp(tutti_device_name(), "host") == 0;
    out->used[BENCH_NATIVE] = known && mpi_takes_device();
    if (!known)
        bench_say(plan, "note no staged and no plain: the MPI itself does not know %s", tutti_type_name(plan->type));
    allocate(plan, out); /* also makes the context that NCCL joins */
    out->used[BENCH_NCCL] = bench_nccl_open(plan, why, sizeof why);
    if (out->used[BENCH_NCCL]) {
        bench_nccl_version(why, sizeof why);
        bench_say(plan, "nccl %s", why);
    } else if (strcmp(tutti_device_name(), "cuda") == 0) {
        bench_say(plan, "note no nccl: %s", why);
    }
    if (out->used[BENCH_STAGED])
        bench_say(plan, "staging %s", out->buffers.pinned ? "pinned" : "ordinary");
    for (int way = 0; way < BENCH_WAYS; way++) {
        if (out->used[way])
            bench_say(plan, "way %s", bench_way_name(way));
    }
}

void bench_ways_close(struct bench_ways *ways)
{
    struct bench_buffers *b = &ways->buffers;
    const struct tutti_device *device = tutti_device();
    bench_nccl_close();
    tutti_free(b->device_in);
    tutti_free(b->device_out);
    if (b->pinned) {
        device->free_pinned(b->copy_in);
        device->free_pinned(b->copy_out);
    } else {
        free(b->copy_in);
        free(b->copy_out);
    }
    free(b->plain_in);
    free(b->plain_out);
    free(b->scratch);
}

void bench_way_prepare(const struct bench_plan *plan, const struct bench_ways *ways, int way, uint64_t seed,
                       size_t count)
{
    const struct bench_buffers *b = &ways->buffers;
    size_t bytes = count * tutti_type_size(plan->type);
    if (way == BENCH_PLAIN) {
        bench_fill(plan->type, plan->op, seed, plan->rank, 0, count, b->plain_in);
        memset(b->plain_out, 0xa5, bytes);
    } else {
        bench_fill(plan->type, plan->op, seed, plan->rank, 0, count, b->scratch);
        must(tutti_copy(b->device_in, b->scratch, bytes), "copying to the device");
        memset(b->scratch, 0xa5, bytes);
        must(tutti_copy(b->device_out, b->scratch, bytes), "copying to the device");
    }
    if (plan->in_place)
        bench_way_restore(plan, ways, way, count);
}

void bench_way_restore(const struct bench_plan *plan, const struct bench_ways *ways, int way, size_t count)
{
    const struct bench_buffers *b = &ways->buffers;
    size_t bytes = count * tutti_type_size(plan->type);
    if (way == BENCH_PLAIN)
        memcpy(b->plain_out, b->plain_in, bytes);
    else
        must(tutti_copy(b->device_out, b->device_in, bytes), "copying on the device");
}

static void mpi_must(int error, const char *way)
{
    if (error != MPI_SUCCESS)
        bench_fail("MPI_Allreduce (%s) failed with error %d", way, error);
}

void bench_way_call(const struct bench_plan *plan, const struct bench_ways *ways, int way, size_t count)
{
    const struct bench_buffers *b = &ways->buffers;
    size_t bytes = count * tutti_type_size(plan->type);
    int n = (int)count;
    const void *in = plan->in_place ? MPI_IN_PLACE : b->device_in;
    switch (way) {
    case BENCH_TUTTI:
        mpi_must(MPI_Allreduce(in, b->device_out, n, ways->type, ways->op, MPI_COMM_WORLD), "tutti");
        break;
    case BENCH_STAGED:
        if (plan->in_place) {
            must(tutti_copy(b->copy_out, b->device_out, bytes), "copying from the device");
            mpi_must(bench_mpi.Allreduce(MPI_IN_PLACE, b->copy_out, n, ways->type, ways->op, MPI_COMM_WORLD), "staged");
        } else {
            must(tutti_copy(b->copy_in, b->device_in, bytes), "copying from the device");
            mpi_must(bench_mpi.Allreduce(b->copy_in, b->copy_out, n, ways->type, ways->op, MPI_COMM_WORLD), "staged");
        }
        must(tutti_copy(b->device_out, b->copy_out, bytes), "copying to the device");
        break;
    case BENCH_PLAIN:
        in = plan->in_place ? MPI_IN_PLACE : b->plain_in;
        mpi_must(bench_mpi.Allreduce(in, b->plain_out, n, ways->type, ways->op, MPI_COMM_WORLD), "plain");
        break;
    case BENCH_NATIVE:
        mpi_must(bench_mpi.Allreduce(in, b->device_out, n, ways->type, ways->op, MPI_COMM_WORLD), "native");
        break;
    case BENCH_NCCL:
        bench_nccl_allreduce(plan->in_place ? b->device_out : b->device_in, b->device_out, count);
        break;
    }
}

const void *bench_way_result(const struct bench_plan *plan, const struct bench_ways *ways, int way, size_t count)
{
    const struct bench_buffers *b = &ways->buffers;
    if (way == BENCH_PLAIN)
        return b->plain_out;
    must(tutti_copy(b->scratch, b->device_out, count * tutti_type_size(plan->type)), "copying from the device");
    return b->scratch;
}

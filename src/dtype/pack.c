#include "dtype/pack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"
#include "dtype/pack_channel.h"
#include "dtype/pack_jobs.h"

enum {
    GPUS = 64,
    HOST_MOST = 16 << 10, /* bytes up to which the host is done before a launch would be */
    PIECE = 8 << 10       /* of what the host moves from one layout into another */
};

static atomic_size_t rooms[GPUS]; /* bytes of args that a launch takes; 0: not known yet */

static int open_device(int *gpu, const struct tutti_device **out)
{
    const struct tutti_device *device = tutti_device();
    char why[160];
    if (!device || !device->launch_pack || !device->prepare_pack)
        return TUTTI_ERR_UNAVAILABLE;
    if (device->open(why, sizeof why) != TUTTI_OK) /* said by those who allocate */
        return TUTTI_ERR_UNAVAILABLE;
    if (*gpu < 0 && (device->current(gpu) != TUTTI_OK || *gpu < 0))
        *gpu = 0;
    if (*gpu >= GPUS)
        return TUTTI_ERR_ARGUMENT;
    *out = device;
    return TUTTI_OK;
}

static int room_of(const struct tutti_device *device, int gpu, size_t *room)
{
    *room = atomic_load_explicit(&rooms[gpu], memory_order_relaxed);
    if (*room)
        return TUTTI_OK;
    int status = device->prepare_pack(gpu, room);
    if (status == TUTTI_OK)
        atomic_store_explicit(&rooms[gpu], *room, memory_order_relaxed);
    return status;
}

int tutti_pack_prepare(int gpu, const struct tutti_plan *plan)
{
    const struct tutti_device *device;
    const struct tutti_kept *kept;
    struct tutti_pack_channel *channel;
    size_t room;
    int status = open_device(&gpu, &device);
    if (status == TUTTI_OK)
        status = room_of(device, gpu, &room);
    if (status == TUTTI_OK)
        status = tutti_pack_channel_take(device, gpu, &channel);
    if (status != TUTTI_OK)
        return status;
    if (plan && tutti_kept_useful(plan))
        status = tutti_kept_make(device, channel->stream, plan, gpu, &kept);
    tutti_pack_channel_give(channel);
    return status;
}

/* What the GPU keeps of the plan; `stream` is the one that will be launched into, which may be captured. */
static int kept_of(const struct tutti_device *device, struct tutti_stream *stream, int gpu,
                   const struct tutti_plan *plan, const struct tutti_kept **kept)
{
    *kept = NULL;
    if (!tutti_kept_useful(plan))
        return TUTTI_OK;
    *kept = tutti_kept_find(plan, gpu);
    if (*kept)
        return TUTTI_OK;
    const int captured = device->stream_capturing ? device->stream_capturing(stream) : 0;
    if (captured < 0)
        return captured;
    if (captured && !tutti_kept_needed(plan))
        return TUTTI_OK;
    if (captured) {
        tutti_error("a datatype with a list of blocks is used for the first time on GPU %d while a graph is captured: "
                    "use it once before",
                    gpu);
        return TUTTI_ERR_UNAVAILABLE;
    }
    struct tutti_pack_channel *channel;
    int status = tutti_pack_channel_take(device, gpu, &channel);
    if (status != TUTTI_OK)
        return status;
    status = tutti_kept_make(device, channel->stream, plan, gpu, kept);
    tutti_pack_channel_give(channel);
    return status;
}

static int add_jobs(struct tutti_parts *parts, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    int status = TUTTI_OK;
    for (unsigned i = 0; i < n && status == TUTTI_OK; i++) {
        const struct tutti_kept *kept = NULL, *to_kept = NULL;
        if (jobs[i].bytes == 0)
            continue;
        status = kept_of(parts->device, parts->stream, gpu, jobs[i].plan, &kept);
        if (status == TUTTI_OK && jobs[i].direction == TUTTI_RELAYOUT)
            status = kept_of(parts->device, parts->stream, gpu, jobs[i].to_plan, &to_kept);
        if (status == TUTTI_OK)
            status = tutti_job_add(parts, &jobs[i], kept, to_kept);
    }
    return status;
}

int tutti_pack_enqueue(struct tutti_stream *stream, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    const struct tutti_device *device;
    struct tutti_parts parts;
    size_t room;
    int status = open_device(&gpu, &device);
    if (status == TUTTI_OK)
        status = room_of(device, gpu, &room);
    if (status != TUTTI_OK)
        return status;
    tutti_parts_begin(&parts, device, stream, room);
    return tutti_parts_end(&parts, add_jobs(&parts, gpu, jobs, n));
}

/* ---- the host's way ---- */
/* 1 where the calling thread can load and store it, 0 where kernels alone, and 2 where kernels cannot. */
static int host_reaches(const struct tutti_device *device, const void *pointer)
{
    struct tutti_memory memory;
    device->classify(pointer, &memory);
    if (memory.kind == TUTTI_MEMORY_HOST)
        return device->reaches_host ? 1 : 2;
    return memory.kind != TUTTI_MEMORY_DEVICE;
}

static void relayout_host(const struct tutti_pack_job *job)
{
    unsigned char piece[PIECE];
    for (uint64_t done = 0; done < job->bytes; done += PIECE) {
        const uint64_t bytes = job->bytes - done < PIECE ? job->bytes - done : PIECE;
        tutti_plan_pack_host(job->plan, job->count, job->memory, job->first + done, bytes, piece);
        tutti_plan_unpack_host(job->to_plan, job->to_count, job->to, job->first + done, bytes, piece);
    }
}

static void do_host(const struct tutti_pack_job *job)
{
    if (job->bytes == 0)
        return;
    if (job->direction == TUTTI_PACK)
        tutti_plan_pack_host(job->plan, job->count, job->memory, job->first, job->bytes, job->packed);
    else if (job->direction == TUTTI_UNPACK)
        tutti_plan_unpack_host(job->plan, job->count, job->memory, job->first, job->bytes, job->packed);
    else
        relayout_host(job);
}

static const void *other_side(const struct tutti_pack_job *job)
{
    return job->direction == TUTTI_RELAYOUT ? job->to : job->packed;
}

/* The address that stands for the memory of a layout: MPI_BOTTOM is no address of anything. */
static const void *touched(const void *memory, const struct tutti_plan *plan)
{
    return (const void *)((uintptr_t)memory + (uintptr_t)plan->true_lower);
}

/* 1: all jobs by the host; 0: by a kernel; negative: some memory is out of the reach of both. */
static int by_host(const struct tutti_device *device, const struct tutti_pack_job *jobs, unsigned n)
{
    uint64_t bytes = 0;
    int host = 1, kernel = 1;
    for (unsigned i = 0; i < n; i++)
        bytes += jobs[i].bytes;
    if (bytes > HOST_MOST && device->reaches_host)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        if (jobs[i].bytes == 0)
            continue;
        const int relayout = jobs[i].direction == TUTTI_RELAYOUT;
        const int one = host_reaches(device, touched(jobs[i].memory, jobs[i].plan));
        const int two = host_reaches(device, relayout ? touched(jobs[i].to, jobs[i].to_plan) : other_side(&jobs[i]));
        host = host && one && two;
        kernel = kernel && one != 2 && two != 2;
    }
    if (host && (bytes <= HOST_MOST || !kernel))
        return 1;
    return kernel ? 0 : TUTTI_ERR_ARGUMENT;
}

int tutti_pack_now(int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    const struct tutti_device *device;
    struct tutti_pack_channel *channel;
    struct tutti_parts parts;
    size_t room;
    int status = open_device(&gpu, &device);
    if (status != TUTTI_OK)
        return status;
    const int host = by_host(device, jobs, n);
    if (host < 0) {
        tutti_error("packing between memory of GPU %d and host memory that it cannot reach: pin or register that", gpu);
        return host;
    }
    if (host) {
        for (unsigned i = 0; i < n; i++)
            do_host(&jobs[i]);
        return TUTTI_OK;
    }
    status = room_of(device, gpu, &room);
    if (status == TUTTI_OK)
        status = tutti_pack_channel_take(device, gpu, &channel);
    if (status != TUTTI_OK)
        return status;
    tutti_parts_begin(&parts, device, channel->stream, room);
    channel->ticket = channel->ticket + 1 ? channel->ticket + 1 : 1;
    parts.ticket = channel->ticket;
    parts.done = channel->done_device;
    parts.ended = channel->ended;
    status = add_jobs(&parts, gpu, jobs, n);
    const int some = parts.n > 0;
    status = tutti_parts_end(&parts, status);
    if (status == TUTTI_OK && some)
        status = tutti_pack_channel_wait(device, channel);
    else if (parts.launches > 0)
        channel->broken = device->stream_sync(channel->stream) != TUTTI_OK;
    tutti_pack_channel_give(channel);
    return status;
}

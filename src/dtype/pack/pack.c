#include "dtype/pack.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "dtype/pack/channel.h"
#include "dtype/pack/jobs.h"
#include "dtype/pack/kept.h"
#include "dtype/pack/later.h"
#include "dtype/pack/load.h"
#include "dtype/pack/parts_cache.h"
#include "progress/gate.h"

enum {
    HOST_MOST = 16 << 10, /* bytes up to which the host is done before a launch would be */
    PIECE = 8 << 10       /* of what the host moves from one layout into another */
};

/* What the GPU keeps of the plan; `stream` is the one that will be launched into, which may be captured. */
static int image_of(const struct tutti_device *device, struct tutti_stream *stream, int gpu,
                    const struct tutti_plan *plan, const struct tutti_plan_image **image)
{
    *image = NULL;
    if (device->memory.complete_all && !tutti_plan_is_run(plan, 2)) /* perhaps in several allocations */
        device->memory.complete_all(gpu);
    if (!tutti_image_useful(plan))
        return TUTTI_OK;
    *image = tutti_image_find(plan, gpu);
    if (*image)
        return TUTTI_OK;
    const int captured = device->stream.capturing ? device->stream.capturing(stream) : 0;
    if (captured < 0)
        return captured;
    if (captured && !tutti_image_needed(plan))
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
    tutti_stay_leave(&channel->stay);
    status = tutti_image_make(device, channel->stream, plan, gpu, image);
    tutti_pack_channel_give(channel);
    return status;
}

static int add_job(struct tutti_parts *parts, int gpu, const struct tutti_pack_job *job,
                   const struct tutti_repeat *repeat)
{
    const struct tutti_plan_image *image = NULL, *to_image = NULL;
    const int relayout = job->direction == TUTTI_RELAYOUT;
    if (tutti_parts_cache_add(parts, gpu, job, repeat))
        return TUTTI_OK;
    int status = image_of(parts->device, parts->stream, gpu, job->plan, &image);
    if (status == TUTTI_OK && relayout)
        status = image_of(parts->device, parts->stream, gpu, job->to_plan, &to_image);
    if (status != TUTTI_OK)
        return status;
    const struct tutti_parts_cache_mark mark = tutti_parts_cache_begin(parts);
    status = tutti_job_add(parts, job, image, to_image, repeat);
    /* What was made without a table that could not be uploaded now is not how it is to be done forever. */
    const int bare =
        (!image && tutti_image_useful(job->plan)) || (relayout && !to_image && tutti_image_useful(job->to_plan));
    if (status == TUTTI_OK && !bare)
        tutti_parts_cache_keep(parts, gpu, job, repeat, mark);
    return status;
}

/* Allocations of a GPU that were looked up in this call: jobs of one call have them in common. */
struct seen {
    unsigned n;
    struct {
        uintptr_t base;
        size_t bytes;
        int gpu;
    } of[4];
};

static void look_up(const struct tutti_device *device, uintptr_t at, struct seen *seen, struct tutti_memory *memory)
{
    for (unsigned i = 0; i < seen->n; i++) {
        if (at - seen->of[i].base < seen->of[i].bytes) {
            *memory = (struct tutti_memory){.kind = TUTTI_MEMORY_DEVICE,
                                            .gpu = seen->of[i].gpu,
                                            .base = (void *)seen->of[i].base,
                                            .bytes = seen->of[i].bytes};
            return;
        }
    }
    device->memory.classify((const void *)at, memory);
    if (memory->kind != TUTTI_MEMORY_DEVICE || seen->n == sizeof seen->of / sizeof seen->of[0])
        return;
    seen->of[seen->n].base = (uintptr_t)memory->base;
    seen->of[seen->n].bytes = memory->bytes;
    seen->of[seen->n++].gpu = memory->gpu;
}

/* 1 if all of the repetitions lie in one allocation on both sides: only then are they one box. */
static int pack_together(const struct tutti_device *device, const struct tutti_pack_job *job,
                         const struct tutti_repeat *repeat, struct seen *seen)
{
    const struct tutti_pack_job *const last = &job[repeat->n - 1];
    const int64_t elements = (int64_t)(job->count - 1) * job->plan->extent;
    const int64_t low = job->plan->true_lower + (elements < 0 ? elements : 0);
    const int64_t high = job->plan->true_end + (elements > 0 ? elements : 0);
    const uintptr_t at[2][2] = {{(uintptr_t)job->memory + (uintptr_t)low, (uintptr_t)last->memory + (uintptr_t)low},
                                {(uintptr_t)job->packed, (uintptr_t)last->packed}};
    const uintptr_t bytes[2] = {(uintptr_t)(high - low), (uintptr_t)job->bytes};
    for (int side = 0; side < 2; side++) {
        struct tutti_memory memory;
        look_up(device, at[side][0], seen, &memory);
        const uintptr_t base = (uintptr_t)memory.base;
        for (int end = 0; end < 2; end++) {
            if (memory.kind != TUTTI_MEMORY_DEVICE || at[side][end] < base ||
                at[side][end] - base > memory.bytes - bytes[side] || bytes[side] > memory.bytes)
                return 0;
        }
    }
    return 1;
}

static int add_jobs(struct tutti_parts *parts, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                    struct seen *seen)
{
    static const struct tutti_repeat once = {.n = 1};
    struct tutti_repeat repeat;
    int status = TUTTI_OK;
    for (unsigned i = 0, alike; i < n && status == TUTTI_OK; i += alike) {
        alike = tutti_job_alike(&jobs[i], n - i, &repeat);
        if (alike > 1 && pack_together(parts->device, &jobs[i], &repeat, seen)) {
            status = add_job(parts, gpu, &jobs[i], &repeat);
            continue;
        }
        for (unsigned k = 0; k < alike && status == TUTTI_OK; k++) {
            if (jobs[i + k].bytes > 0)
                status = add_job(parts, gpu, &jobs[i + k], &once);
        }
    }
    return status;
}

static int pack_put(struct tutti_stream *stream, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                    const struct tutti_pack_notice *notice)
{
    const struct tutti_device *device;
    struct seen seen = {.n = 0};
    size_t room;
    int status = tutti_pack_open(&gpu, &device);
    if (status == TUTTI_OK)
        status = tutti_pack_load(device, gpu, jobs, n, &room);
    if (status != TUTTI_OK)
        return status;
    struct tutti_parts *parts = tutti_parts_begin(device, stream, room);
    if (!parts)
        return TUTTI_ERR_MEMORY;
    if (notice) {
        parts->launch_number = notice->number;
        parts->done = notice->done;
        parts->ended = notice->ended;
    }
    return tutti_parts_end(parts, add_jobs(parts, gpu, jobs, n, &seen), NULL);
}

int tutti_pack_enqueue(struct tutti_stream *stream, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    return pack_put(stream, gpu, jobs, n, NULL);
}

int tutti_pack_enqueue_telling(struct tutti_stream *stream, int gpu, const struct tutti_pack_job *job,
                               const struct tutti_pack_notice *notice)
{
    return pack_put(stream, gpu, job, 1, notice);
}

/* ---- the host's way ---- */
enum {
    REACHED_BY_HOST = 1,
    REACHED_BY_KERNELS = 2,
    NEAR = 4 /* in the GPU's own memory */
};

/* Bytes [low, high). The first one says for all what they are: MPI_BOTTOM is no address of anything. */
static unsigned pack_reached(const struct tutti_device *device, int gpu, uintptr_t low, uintptr_t high,
                             struct seen *seen)
{
    struct tutti_memory memory;
    look_up(device, low, seen, &memory);
    const uintptr_t base = (uintptr_t)memory.base;
    switch (memory.kind) {
    case TUTTI_MEMORY_HOST:
        return REACHED_BY_HOST | (device->reaches_host ? REACHED_BY_KERNELS : 0u);
    case TUTTI_MEMORY_DEVICE:
        return REACHED_BY_KERNELS | (memory.gpu == gpu && low >= base && high <= base + memory.bytes ? NEAR : 0u);
    default:
        return REACHED_BY_HOST | REACHED_BY_KERNELS;
    }
}

/* `count` elements at `buffer`. */
static unsigned elements_reached(const struct tutti_device *device, int gpu, const void *buffer,
                                 const struct tutti_plan *plan, uint64_t count, struct seen *seen)
{
    const int64_t last = count ? (int64_t)(count - 1) * plan->extent : 0;
    return pack_reached(device, gpu, (uintptr_t)buffer + (uintptr_t)(plan->true_lower + (last < 0 ? last : 0)),
                        (uintptr_t)buffer + (uintptr_t)(plan->true_end + (last > 0 ? last : 0)), seen);
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

/* 1: all jobs by the host; 0: by a kernel, *near: which stores in its GPU's own memory alone; negative: some memory is
 * out of the reach of both. */
static int by_host(const struct tutti_device *device, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                   uint32_t *near, struct seen *seen)
{
    uint64_t bytes = 0;
    unsigned all = REACHED_BY_HOST | REACHED_BY_KERNELS, stored = NEAR;
    *near = 0;
    for (unsigned i = 0; i < n; i++)
        bytes += jobs[i].bytes;
    if (bytes > HOST_MOST && device->reaches_host)
        return 0;
    for (unsigned i = 0; i < n; i++) {
        if (jobs[i].bytes == 0)
            continue;
        const struct tutti_pack_job *const job = &jobs[i];
        const uintptr_t packed = (uintptr_t)job->packed;
        const unsigned memory = elements_reached(device, gpu, job->memory, job->plan, job->count, seen);
        const unsigned other = job->direction == TUTTI_RELAYOUT
                                   ? elements_reached(device, gpu, job->to, job->to_plan, job->to_count, seen)
                                   : pack_reached(device, gpu, packed, packed + job->bytes, seen);
        all &= memory & other;
        stored &= job->direction == TUTTI_UNPACK ? memory : other;
    }
    *near = stored ? TUTTI_PACK_NEAR : 0;
    if (all & REACHED_BY_HOST && (bytes <= HOST_MOST || !(all & REACHED_BY_KERNELS)))
        return 1;
    return all & REACHED_BY_KERNELS ? 0 : TUTTI_ERR_ARGUMENT;
}

/* One launch, or as few as it takes. */
static int launch_jobs(const struct tutti_device *device, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                       unsigned how, struct seen *seen, struct tutti_pack_flight *out)
{
    struct tutti_pack_channel *channel;
    size_t room;
    int status = tutti_pack_load(device, gpu, jobs, n, &room);
    if (status == TUTTI_OK)
        status = tutti_pack_channel_take(device, gpu, &channel);
    if (status != TUTTI_OK)
        return status;
    struct tutti_parts *parts = tutti_parts_begin(device, channel->stream, room);
    if (!parts) {
        tutti_pack_channel_give(channel);
        return TUTTI_ERR_MEMORY;
    }
    unsigned launches;
    tutti_pack_channel_begin(channel);
    parts->launch_number = TUTTI_PACK_REPORT;
    parts->near = (how & TUTTI_PACK_NEAR) != 0;
    parts->channel = channel;
    tutti_pack_channel_stays(channel, device, how);
    parts->done = channel->done_device;
    parts->ended = channel->ended;
    status = add_jobs(parts, gpu, jobs, n, seen);
    const int some = parts->n > 0;
    status = tutti_parts_end(parts, status, &launches);
    *out = (struct tutti_pack_flight){.device = device, .how = how};
    if (status == TUTTI_OK && some) {
        out->channel = channel;
        out->mailed = channel->stay.mailed;
        return TUTTI_OK;
    }
    if (launches > 0)
        channel->broken = device->stream.sync(channel->stream) != TUTTI_OK;
    tutti_pack_channel_give(channel);
    return status;
}

static void flight_over(struct tutti_pack_flight *flight)
{
    tutti_pack_channel_stayed(flight->channel, flight->how, flight->mailed);
    if (flight->how & TUTTI_PACK_KEEP)
        tutti_pack_channel_keep(flight->channel);
    tutti_pack_channel_give(flight->channel);
    flight->channel = NULL;
}

int tutti_pack_poll(struct tutti_pack_flight *flight)
{
    if (!flight->channel)
        return 1;
    const int ended = tutti_pack_channel_poll(flight);
    if (ended != 0)
        flight_over(flight);
    return ended;
}

int tutti_pack_end(struct tutti_pack_flight *flight)
{
    if (!flight->channel)
        return TUTTI_OK;
    const int status = tutti_pack_channel_wait(flight);
    flight_over(flight);
    return status;
}

/* The same, and the wait for it. */
static int by_kernel(const struct tutti_device *device, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                     unsigned how, struct seen *seen)
{
    struct tutti_pack_flight flight;
    const int status = launch_jobs(device, gpu, jobs, n, how, seen, &flight);
    return status == TUTTI_OK ? tutti_pack_end(&flight) : status;
}

int tutti_pack_where_reached(int gpu, const struct tutti_pack_job *jobs, unsigned n, int *reached)
{
    const struct tutti_device *device;
    const int status = tutti_pack_open(&gpu, &device);
    *reached = 1;
    if (status != TUTTI_OK)
        return status;
    struct seen seen = {.n = 0};
    uint32_t near;
    const int host = by_host(device, gpu, jobs, n, &near, &seen);
    *reached = host >= 0;
    if (host < 0)
        return host;
    if (!host) {
        int launched = tutti_pack_unloaded(device, gpu, jobs, n);
        launched = launched == TUTTI_ERR_UNAVAILABLE ? by_kernel(device, gpu, jobs, n, near, &seen) : launched;
        *reached = launched != TUTTI_ERR_UNAVAILABLE || !tutti_gate_closed();
        return launched;
    }
    for (unsigned i = 0; i < n; i++)
        do_host(&jobs[i]);
    return TUTTI_OK;
}

int tutti_pack_now(int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    int reached;
    const int status = tutti_pack_where_reached(gpu, jobs, n, &reached);
    if (!reached)
        tutti_error("packing between memory of GPU %d and host memory that it cannot reach: pin or register that", gpu);
    return status;
}

int tutti_pack_reached(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how)
{
    const struct tutti_device *device;
    struct seen seen = {.n = 0};
    const int status = tutti_pack_open(&gpu, &device);
    return status == TUTTI_OK ? by_kernel(device, gpu, jobs, n, how, &seen) : status;
}

int tutti_pack_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, unsigned how,
                     struct tutti_pack_flight *out)
{
    const struct tutti_device *device;
    struct seen seen = {.n = 0};
    const int status = tutti_pack_open(&gpu, &device);
    return status == TUTTI_OK ? launch_jobs(device, gpu, jobs, n, how, &seen, out) : status;
}

/* Loading the packing kernels of a GPU: those for few messages first, which is quick, and all when a call needs them.
 */
#include "dtype/pack/load.h"

#include <stdatomic.h>

#include "core/status.h"
#include "dtype/pack/channel.h"
#include "dtype/pack/image.h"
#include "progress/gate.h"

enum {
    GPUS = 64,
    FEW_JOBS = 4 /* runs of bytes that surely have room in TUTTI_PACK_FEW_BYTES */
};

static atomic_size_t rooms[GPUS]; /* bytes of args that a launch takes; 0: not known yet */
static atomic_int whole[GPUS];    /* 1: all kernels are loaded, not those for few messages alone */

int tutti_pack_gpu(const struct tutti_device *device, int gpu)
{
    return gpu >= 0 || (device->gpu.current(&gpu) == TUTTI_OK && gpu >= 0) ? gpu : 0;
}

int tutti_pack_open(int *gpu, const struct tutti_device **out)
{
    const struct tutti_device *device = tutti_device();
    char why[160];
    if (!device || !device->launch.pack || !device->launch.prepare_pack)
        return TUTTI_ERR_UNAVAILABLE;
    if (device->open(why, sizeof why) != TUTTI_OK) /* the allocating call reports it */
        return TUTTI_ERR_UNAVAILABLE;
    *gpu = tutti_pack_gpu(device, *gpu);
    if (*gpu >= GPUS)
        return TUTTI_ERR_ARGUMENT;
    *out = device;
    return TUTTI_OK;
}

/* What the device has not loaded yet, in two steps: first the kernels for few messages, then all. */
static int pack_load_more(const struct tutti_device *device, int gpu, int all, size_t *room)
{
    int status = TUTTI_OK;
    for (int step = *room ? 1 : 0; step <= all && status == TUTTI_OK; step++) {
        status = device->launch.prepare_pack(gpu, step, room);
        if (status == TUTTI_OK && step == 0)
            atomic_compare_exchange_strong(&rooms[gpu], &(size_t){0}, *room);
        if (status == TUTTI_OK && step == 1) {
            atomic_store_explicit(&rooms[gpu], *room, memory_order_relaxed);
            atomic_store_explicit(&whole[gpu], 1, memory_order_release);
        }
    }
    return status;
}

/* Loads the kernels of the GPU, if they are not loaded: *room. all: not those for few messages alone; where nothing may
 * be loaded now, those do it in more launches. */
static int pack_load(const struct tutti_device *device, int gpu, int all, size_t *room)
{
    *room = atomic_load_explicit(&rooms[gpu], memory_order_relaxed);
    if (*room && (!all || atomic_load_explicit(&whole[gpu], memory_order_acquire)))
        return TUTTI_OK;
    if (tutti_gate_closed())
        return *room ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
    return pack_load_more(device, gpu, all, room);
}

/* 1 if the kernel for few messages does the jobs in one launch: runs of bytes, as messages are. */
static int pack_is_few(const struct tutti_pack_job *jobs, unsigned n)
{
    int few = n <= FEW_JOBS;
    for (unsigned i = 0; i < n && few; i++)
        few = jobs[i].plan && tutti_plan_is_run(jobs[i].plan, jobs[i].count) &&
              (jobs[i].direction != TUTTI_RELAYOUT || tutti_plan_is_run(jobs[i].to_plan, jobs[i].to_count));
    return few;
}

int tutti_pack_load(const struct tutti_device *device, int gpu, const struct tutti_pack_job *jobs, unsigned n,
                    size_t *room)
{
    *room = atomic_load_explicit(&rooms[gpu], memory_order_relaxed);
    if (__builtin_expect(atomic_load_explicit(&whole[gpu], memory_order_acquire) && *room, 1))
        return TUTTI_OK;
    return pack_load(device, gpu, !pack_is_few(jobs, n), room);
}

/* Loads the kernels of the GPU (pack_load()), and takes a channel of it: the first one keeps launches ready. */
static int load_and_take(int gpu, int all, struct tutti_pack_channel **out)
{
    const struct tutti_device *device;
    size_t room;
    int status = tutti_pack_open(&gpu, &device);
    if (status == TUTTI_OK)
        status = pack_load(device, gpu, all, &room);
    return status == TUTTI_OK ? tutti_pack_channel_take(device, gpu, out) : status;
}

int tutti_pack_prepare_few(int gpu)
{
    struct tutti_pack_channel *channel;
    const int status = load_and_take(gpu, 0, &channel);
    if (status == TUTTI_OK)
        tutti_pack_channel_give(channel);
    return status;
}

int tutti_pack_prepare(int gpu, const struct tutti_plan *plan)
{
    const struct tutti_plan_image *image;
    struct tutti_pack_channel *channel;
    int status = load_and_take(gpu, 1, &channel);
    if (status != TUTTI_OK)
        return status;
    tutti_stay_leave(&channel->stay);
    if (plan && tutti_image_useful(plan))
        status = tutti_image_make(channel->device, channel->stream, plan, channel->gpu, &image);
    tutti_pack_channel_give(channel);
    return status;
}

/* Simulated GPUs load none, and take no time for it unless they map memory slowly. */
static int pack_loads(const struct tutti_device *device)
{
    return device->launch.prepare || (device->share.usual_ns && device->share.usual_ns() > 0);
}

enum tutti_pack_state tutti_pack_state(int gpu)
{
    const struct tutti_device *device = tutti_device();
    if (!device)
        return TUTTI_PACK_UNLOADED;
    if (!pack_loads(device) && !tutti_gate_closed())
        return TUTTI_PACK_READY;
    gpu = tutti_pack_gpu(device, gpu);
    if (gpu >= GPUS || atomic_load_explicit(&rooms[gpu], memory_order_relaxed) == 0)
        return TUTTI_PACK_UNLOADED;
    return tutti_pack_channel_is_idle(gpu) ? TUTTI_PACK_READY : TUTTI_PACK_LOADED;
}

#include "device/host/work.h"
#include "device/host/asked.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/status.h"
#include "core/types.h"
#include "device/host/arena.h"
#include "device/host/gpus.h"
#include "device/host/host.h"
#include "device/host/places.h"
#include "device/host/work_reach.h"
#include "kernels/lane.h"
#include "kernels/meet.h"
#include "kernels/pack.h"
#include "kernels/reduce.h"
#include "kernels/shmem_kernel.h"

/* Copies of up to so many are made of words; memmove's are too, which the sanitizer does not know. */
#ifdef __SANITIZE_THREAD__
enum { WORDS_BYTES = 1 << 20 };
#else
enum { WORDS_BYTES = 4096 };
#endif

enum { ANY_GPU = -1 };

/* 1 if a kernel of `gpu` (ANY_GPU: a copy) reaches the byte, or it is not of the device. */
static int work_touches(int gpu, const char *what, const void *byte)
{
    struct tutti_host_region region;
    return gpu < 0 || !tutti_host_separate() || !tutti_host_region_find(byte, &region) ||
           tutti_host_reaches(gpu, &region, what, byte);
}

/* Sets *at to the address by which [pointer, pointer + bytes) is reached, as `find` has it. */
static int reach_by(void *(*find)(const void *, size_t), int gpu, const char *what, const void *pointer, size_t bytes,
                    void **at)
{
    *at = find(pointer, bytes);
    if (bytes > 0 && (!work_touches(gpu, what, pointer) || !work_touches(gpu, what, (const char *)pointer + bytes - 1)))
        return TUTTI_ERR_DEVICE;
    if (*at || !pointer)
        return TUTTI_OK;
    tutti_error("host device: %s of %zu bytes at %p, where the device has no such memory", what, bytes, pointer);
    return TUTTI_ERR_DEVICE;
}

int tutti_work_reach(int gpu, const char *what, const void *pointer, size_t bytes, void **at)
{
    return reach_by(tutti_host_reach, gpu, what, pointer, bytes, at);
}

int tutti_work_copy(struct tutti_work *work, void *to, const void *from, size_t bytes)
{
    void *source;
    work->kind = TUTTI_WORK_COPY;
    work->bytes = bytes;
    int status = tutti_work_reach(ANY_GPU, "copy to memory", to, bytes, &work->to);
    if (status == TUTTI_OK)
        status = tutti_work_reach(ANY_GPU, "copy from memory", from, bytes, &source);
    if (status == TUTTI_OK) {
        work->from = source;
        work->within = work->to != to && source != from;
    }
    return status;
}

int tutti_work_fill(struct tutti_work *work, int gpu, void *device, int byte, size_t bytes)
{
    work->kind = TUTTI_WORK_FILL;
    work->bytes = bytes;
    work->byte = byte;
    return tutti_work_reach(gpu, "fill", device, bytes, &work->to);
}

/* Bytes of a channel that a launch may touch. */
static size_t work_channel_bytes(const struct tutti_launch *launch, size_t bytes)
{
    const struct tutti_kernel_args *args = launch->args;
    size_t most = sizeof(struct tutti_channel_flags);
    if (launch->kernel != TUTTI_KERNEL_DIRECT && args->slots + args->ranks * args->slot_bytes > most)
        most = args->slots + args->ranks * args->slot_bytes;
    if (launch->kernel == TUTTI_KERNEL_TWOSHOT && args->result + bytes > most)
        most = args->result + bytes;
    return most;
}

static int flow_launch(struct tutti_work *work, int gpu, const struct tutti_launch *launch)
{
    struct tutti_flow_args *args = &work->flow;
    void *at;
    if (launch->flow->ranks > TUTTI_MAX_GPUS || launch->flow->contributions > TUTTI_MAX_RANKS ||
        launch->flow->locals > TUTTI_MAX_GPUS || launch->flow->outs > TUTTI_MAX_GPUS || launch->blocks < 1 ||
        launch->blocks > TUTTI_MAX_BLOCKS)
        return TUTTI_ERR_ARGUMENT;
    *args = *launch->flow;
    args->host_reach = tutti_host_reach;
    int status = tutti_work_flow(args, gpu, launch);
    for (uint32_t r = 0; r < args->ranks && status == TUTTI_OK; r++) {
        status = tutti_work_reach(gpu, "kernel's window", args->window[r], (size_t)args->bytes, &at);
        args->window[r] = at;
    }
    return status;
}

static int amo_launch(struct tutti_work *work, int gpu, const struct tutti_launch *launch)
{
    void *at;
    work->amo = *launch->amo;
    const int status = tutti_work_reach(gpu, "kernel's word", work->amo.at, tutti_type_size(launch->type), &at);
    work->amo.at = at;
    return status;
}

/* Blocks of a GPU's kernel run in any order: a result may lie where the same elements of a contribution do, and not
 * where other ones do, which some block may still have to read. Blocks here run in order and would find them. */
static int work_apart(const struct tutti_kernel_args *args, size_t bytes)
{
    for (uint32_t i = 0; i < args->outs; i++) {
        for (uint32_t r = 0; r < args->ranks; r++) {
            const uintptr_t out = (uintptr_t)args->out[i], in = (uintptr_t)args->in[r];
            if (args->out[i] && out != in && out < in + bytes && in < out + bytes) {
                tutti_error("host device: a kernel's result at %p lies over other elements of contribution %u at %p",
                            args->out[i], r, args->in[r]);
                return TUTTI_ERR_ARGUMENT;
            }
        }
    }
    return TUTTI_OK;
}

int tutti_work_launch(struct tutti_work *work, int gpu, const struct tutti_launch *launch)
{
    work->kind = TUTTI_WORK_LAUNCH;
    work->kernel = launch->kernel;
    work->type = launch->type;
    work->op = launch->op;
    work->gpu = gpu;
    work->is_flow = launch->flow != NULL;
    work->blocks = launch->blocks;
    work->places = tutti_launched_blocks(launch->blocks, launch->rows);
    work->jitter = 0;
    work->items = NULL;
    if (tutti_host_places() > 0 && tutti_host_waits(launch->kernel) && work->places > tutti_host_places()) {
        tutti_error("host device: a kernel of %u blocks, where a GPU holds %u (TUTTI_HOST_BLOCKS)", work->places,
                    tutti_host_places());
        return TUTTI_ERR_ARGUMENT;
    }
    if (launch->flow)
        return flow_launch(work, gpu, launch);
    if (launch->amo)
        return amo_launch(work, gpu, launch);
    if (launch->update)
        return tutti_work_update(work, gpu, launch);
    struct tutti_kernel_args *args = &work->args;
    void *at;
    if (launch->args->ranks > TUTTI_MAX_RANKS || launch->args->outs > TUTTI_MAX_RANKS ||
        launch->args->gpus > TUTTI_MAX_GPUS || launch->blocks < 1 || launch->blocks > TUTTI_MAX_BLOCKS)
        return TUTTI_ERR_ARGUMENT;
    *args = *launch->args;
    size_t bytes = (size_t)args->count * tutti_type_size(launch->type);
    int status = TUTTI_OK;
    for (uint32_t r = 0; r < args->ranks && status == TUTTI_OK; r++) {
        status = tutti_work_reach(gpu, "kernel's contribution", args->in[r], bytes, &at);
        args->in[r] = at;
    }
    for (uint32_t i = 0; i < args->outs && status == TUTTI_OK; i++) {
        const size_t piece = (size_t)args->n[i] * tutti_type_size(launch->type);
        status = tutti_work_reach(gpu, "kernel's result", args->out[i],
                                  args->shape == TUTTI_SHAPE_SEGMENTS ? piece : bytes, &at);
        args->out[i] = at;
    }
    for (uint32_t g = 0; g < args->gpus && status == TUTTI_OK; g++) {
        status = tutti_work_reach(gpu, "kernel's window", args->window[g], work_channel_bytes(launch, bytes), &at);
        args->window[g] = at;
    }
    if (status == TUTTI_OK && launch->kernel == TUTTI_KERNEL_DIRECT && args->shape == TUTTI_SHAPE_ALL)
        status = work_apart(args, bytes);
    return status;
}

static int reach_match(int gpu, struct tutti_lane_match *match)
{
    void *at[4] = {match->own, match->far, match->from, match->to};
    const size_t bytes[4] = {sizeof *match->own, sizeof *match->far, match->send ? match->bytes : 0,
                             match->send ? match->bytes : 0};
    for (int i = 0; i < 4; i++) {
        const int status = tutti_work_reach(gpu, "matched message in stream order", at[i], bytes[i], &at[i]);
        if (status != TUTTI_OK)
            return status;
    }
    match->own = at[0];
    match->far = at[1];
    match->from = at[2];
    match->to = at[3];
    return TUTTI_OK;
}

int tutti_work_lane(struct tutti_work *work, int gpu, const struct tutti_lane_args *args)
{
    struct tutti_lane_args *made = &work->lane;
    void *at;
    int status = TUTTI_OK;
    work->kind = TUTTI_WORK_LANE;
    work->gpu = gpu;
    work->blocks = args->blocks;
    work->jitter = 0;
    if (args->ranks > TUTTI_MAX_GPUS || args->awaited > TUTTI_LANE_AWAITED || args->matches > TUTTI_LANE_MATCHES ||
        args->parts > TUTTI_LANE_PARTS || args->threads > TUTTI_LANE_THREADS || args->blocks == 0)
        return TUTTI_ERR_ARGUMENT;
    *made = *args;
    made->in_turn = 1;
    for (uint32_t r = 0; r < args->ranks && status == TUTTI_OK; r++) {
        status = tutti_work_reach(gpu, "lanes of a rank", args->area[r], tutti_lane_area_bytes(args->ranks), &at);
        made->area[r] = at;
    }
    for (uint32_t i = 0; i < args->parts && status == TUTTI_OK; i++) {
        status = tutti_work_reach(gpu, "message in stream order", args->part[i].buffer, args->part[i].bytes, &at);
        made->part[i].buffer = at;
    }
    if (status == TUTTI_OK && args->parts == 0 && (args->what == TUTTI_LANE_POST || args->what == TUTTI_LANE_DO)) {
        status = tutti_work_reach(gpu, "message in stream order", args->buffer, args->bytes, &at);
        made->buffer = at;
    }
    for (uint32_t i = 0; i < args->matches && status == TUTTI_OK; i++)
        status = reach_match(gpu, &made->match[i]);
    return status;
}

int tutti_work_meet(struct tutti_work *work, int gpu, const struct tutti_meet_args *args)
{
    struct tutti_meet *made = &work->meet.meet;
    const int n = args->meet.ranks;
    int status = n > 0 && n <= TUTTI_MEET_RANKS && args->blocks > 0 ? TUTTI_OK : TUTTI_ERR_ARGUMENT;
    work->kind = TUTTI_WORK_MEET;
    work->gpu = gpu;
    work->blocks = args->blocks;
    work->meet = *args;
    for (int r = 0; r < n && status == TUTTI_OK; r++) {
        const size_t owned = (size_t)(args->partitions - r + n - 1) / (size_t)n;
        const size_t counts = owned * ((size_t)args->meet.slices + 1) * sizeof(uint64_t);
        uint64_t *const at[] = {&made->in[r], &made->out[r], &made->count[r]};
        const size_t bytes[] = {(size_t)args->partitions * args->meet.bytes,
                                (size_t)args->partitions * args->meet.bytes, counts};
        for (int i = 0; i < 3 && status == TUTTI_OK; i++) {
            void *reached;
            if (*at[i] == 0)
                continue;
            status = tutti_work_reach(gpu, "buffer of a partitioned collective", (void *)(uintptr_t)*at[i], bytes[i],
                                      &reached);
            *at[i] = (uint64_t)(uintptr_t)reached;
        }
    }
    return status;
}

int tutti_work_pack(struct tutti_work *work, int gpu, const struct tutti_pack_launch *launch)
{
    int status = TUTTI_OK;
    struct tutti_pack_args *args = malloc(launch->args->head.bytes);
    if (!args)
        return TUTTI_ERR_MEMORY;
    memcpy(args, launch->args, launch->args->head.bytes);
    for (unsigned i = 0; i < launch->reaches && status == TUTTI_OK; i++) {
        const struct tutti_pack_reach *part = &launch->reach[i];
        uint64_t *pointer = (uint64_t *)(void *)((char *)args + part->at);
        void *at = NULL;
        /* A type with absolute addresses may name several allocations. */
        status = reach_by(tutti_host_reach_over, gpu, "packing kernel", part->start, part->bytes, &at);
        *pointer += (uint64_t)(uintptr_t)at - (uint64_t)(uintptr_t)part->start;
    }
    work->kind = TUTTI_WORK_PACK;
    work->blocks = args->head.blocks;
    work->pack = args;
    if (status != TUTTI_OK)
        tutti_work_drop(work);
    return status;
}

int tutti_work_mail(int gpu, const struct tutti_pack_launch *launch, struct tutti_pack_mailed *out)
{
    struct tutti_work work = {.kind = TUTTI_WORK_PACK};
    const int status = tutti_work_pack(&work, gpu, launch);
    if (status != TUTTI_OK)
        return status;
    memset(out, 0, sizeof *out);
    memcpy(out, work.pack, work.pack->head.bytes);
    tutti_work_drop(&work);
    return TUTTI_OK;
}

int tutti_work_stay(struct tutti_work *work, int gpu, const struct tutti_pack_stay_args *args)
{
    void *relay = NULL;
    const int status = args->stay.blocks > 1
                           ? tutti_work_reach(gpu, "packing kernel", args->stay.relay, sizeof *args->stay.relay, &relay)
                           : TUTTI_OK;
    work->kind = TUTTI_WORK_STAY;
    work->stay = *args;
    work->stay.stay.relay = relay;
    return status;
}

void tutti_work_drop(struct tutti_work *work)
{
    if (work->kind == TUTTI_WORK_PACK)
        free(work->pack);
    else if (work->kind == TUTTI_WORK_LAUNCH)
        free(work->items);
}

static void run_blocks(const struct tutti_work *work)
{
    const unsigned held = tutti_host_places_take(work);
    tutti_kernel_pace(tutti_host_waits((enum tutti_kernel)work->kernel) ? work->jitter : 0);
    for (unsigned block = 0; block < work->blocks; block++)
        tutti_kernel_host(work->kernel, work->type, work->op, &work->args, block);
    tutti_kernel_pace(0);
    tutti_host_places_give(work, held);
}

static void run_lane(const struct tutti_work *work)
{
    const unsigned held = tutti_host_places_take(work);
    for (unsigned block = 0; block < work->blocks; block++)
        tutti_lane_host_block(&work->lane, block);
    tutti_host_places_give(work, held);
}

/* Word by word where they are few, as a copy engine does: kernels may look at such words meanwhile. */
#define COPY_WORDS(type)                                                                                               \
    for (size_t i = 0; i < bytes / sizeof(type); i++)                                                                  \
    __atomic_store_n((type *)to + i, __atomic_load_n((const type *)from + i, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE)
static void work_copy(void *to, const void *from, size_t bytes)
{
    const uintptr_t all = (uintptr_t)to | (uintptr_t)from | bytes, apart = (uintptr_t)to - (uintptr_t)from;
    if (bytes > WORDS_BYTES || apart < bytes || 0 - apart < bytes) {
        if (bytes)
            memmove(to, from, bytes);
    } else if (all % 8 == 0) {
        COPY_WORDS(uint64_t);
    } else if (all % 4 == 0) {
        COPY_WORDS(uint32_t);
    } else if (all % 2 == 0) {
        COPY_WORDS(uint16_t);
    } else {
        COPY_WORDS(uint8_t);
    }
}

static void run_shmem(const struct tutti_work *work)
{
    const int asks = work->shmem.what == TUTTI_SHMEM_DO_ASK && work->shmem.part;
    tutti_host_asked(asks);
    for (unsigned block = 0; block < work->blocks; block++)
        tutti_shmem_host_block(&work->shmem, block);
    tutti_host_asked(-asks);
}

int tutti_work_run(struct tutti_work *work)
{
    switch (work->kind) {
    case TUTTI_WORK_COPY:
        if (work->within)
            tutti_host_take_turn();
        work_copy(work->to, work->from, work->bytes);
        return TUTTI_OK;
    case TUTTI_WORK_FILL:
        if (work->bytes)
            memset(work->to, work->byte, work->bytes);
        return TUTTI_OK;
    case TUTTI_WORK_LAUNCH:
        run_blocks(work);
        tutti_work_drop(work);
        return TUTTI_OK;
    case TUTTI_WORK_PACK:
        tutti_host_take_turn();
        for (unsigned block = 0; block < work->blocks; block++)
            tutti_pack_host(work->pack, block);
        tutti_work_drop(work);
        return TUTTI_OK;
    case TUTTI_WORK_STAY:
        tutti_pack_stay_host(&work->stay);
        return TUTTI_OK;
    case TUTTI_WORK_SHMEM:
        run_shmem(work);
        return TUTTI_OK;
    case TUTTI_WORK_LANE:
        run_lane(work);
        return TUTTI_OK;
    case TUTTI_WORK_MEET:
        for (unsigned block = 0; block < work->blocks; block++)
            tutti_meet_host_block(&work->meet, block);
        return TUTTI_OK;
    case TUTTI_WORK_CALL:
        work->function(work->to);
        return TUTTI_OK;
    default:
        return TUTTI_ERR_ARGUMENT;
    }
}

int tutti_host_copy_now(void *to, const void *from, size_t bytes)
{
    struct tutti_work work;
    tutti_host_asked_pass();
    int status = tutti_work_copy(&work, to, from, bytes);
    if (status != TUTTI_OK || !tutti_host_queues())
        return status == TUTTI_OK ? tutti_work_run(&work) : status;
    struct tutti_host_region region;
    const int gpu = tutti_host_region_find(to, &region) || tutti_host_region_find(from, &region) ? region.gpu : ANY_GPU;
    const struct tutti_host_turn turn = tutti_host_turn_take(gpu, TUTTI_HOST_QUEUE_COPIES, 0);
    tutti_host_turn_await(&turn);
    status = tutti_work_run(&work);
    tutti_host_turn_pass(&turn);
    return status;
}

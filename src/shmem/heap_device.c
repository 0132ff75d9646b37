/* Heaps in memory of GPUs: each PE allocates its heap and maps those of its peers. The host copies and launches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "progress/transport.h"
#include "shmem/copy_queue.h"
#include "shmem/gpu.h"
#include "shmem/near.h"
#include "shmem/space.h"
#include "team/team.h"

enum { CONTROL_PAGE = 4096 };

static int heap_refuse(struct tutti_shmem *space, int status, const char *what)
{
    return tutti_shmem_answer(space, status, "tshmem_init", "%s; TUTTI_SHMEM_HEAP=host gives heaps in host memory",
                              what);
}

/* The current GPU, as for a communicator. If none exists, the PEs of a node take GPUs in turn. */
static int heap_choose(struct tutti_shmem *space, struct tutti_shmem_gpu *gpu)
{
    char why[160] = "";
    const struct tutti_device *device = tutti_device();
    if (!device || device->open(why, sizeof why) != TUTTI_OK) {
        tutti_error("tshmem_init: device %s cannot be used: %s", device ? device->name : "none", why);
        return heap_refuse(space, TUTTI_ERR_UNAVAILABLE, "there is no GPU for the heap");
    }
    gpu->device = device;
    const int gpus = device->gpu.count();
    if (device->gpu.current(&gpu->gpu) != TUTTI_OK)
        gpu->gpu = -1;
    if (gpu->gpu < 0 && gpus > 0)
        gpu->gpu = tutti_node_rank(space->team->node) % gpus;
    return gpu->gpu >= 0 && gpu->gpu < gpus ? TUTTI_OK
                                            : heap_refuse(space, TUTTI_ERR_UNAVAILABLE, "there is no GPU for the heap");
}

/* Kernels read teams, contexts and the abort word in the host's control page. */
static int register_control(struct tutti_shmem *space, struct tutti_shmem_gpu *gpu)
{
    struct tutti_shmem_control *control = space->control[space->state.me];
    const size_t bytes = (sizeof *control + CONTROL_PAGE - 1) / CONTROL_PAGE * CONTROL_PAGE;
    void *seen = NULL;
    const int status = gpu->device->memory.map_host(gpu->gpu, control, bytes, &seen);
    if (status != TUTTI_OK)
        return heap_refuse(space, status, "host memory could not be registered with the GPU");
    gpu->control = control;
    return seen == control
               ? TUTTI_OK
               : heap_refuse(space, TUTTI_ERR_UNAVAILABLE, "the GPU has registered host memory at another address");
}

static int open_gpu(struct tutti_shmem *space)
{
    struct tutti_shmem_gpu *gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return TUTTI_ERR_MEMORY;
    space->gpu = gpu;
    gpu->peer = calloc((size_t)space->transport->size, sizeof *gpu->peer);
    if (!gpu->peer)
        return TUTTI_ERR_MEMORY;
    int status = heap_choose(space, gpu);
    if (status == TUTTI_OK)
        status = register_control(space, gpu);
    return status == TUTTI_OK ? tutti_shmem_queues_open(space, gpu) : status;
}

/* ---- heaps that grow: reserved ranges of the device ---- */

/* The program's part of a heap begins at a multiple of the alignment. The bytes before it in the first piece are
 * skipped, as many on all PEs. */
static size_t skip_of(const struct tutti_shmem *space)
{
    return -space->first & (TUTTI_SHMEM_ALIGN_MOST - 1);
}

static int can_grow(const struct tutti_shmem_gpu *gpu)
{
    const size_t grain = gpu->device->range.grain ? gpu->device->range.grain(gpu->gpu) : 0;
    return grain > 0 && TUTTI_SHMEM_ALIGN_MOST % grain == 0;
}

static int heap_device_reserve(struct tutti_shmem *space, int grows)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    const size_t align = TUTTI_SHMEM_ALIGN_MOST;
    int status = !grows || can_grow(gpu) ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE;
    for (int i = 0; i < space->near->count && status == TUTTI_OK && grows; i++) {
        const int pe = space->near->pe[i];
        void *base;
        status = gpu->device->range.open(gpu->gpu, skip_of(space) + space->state.heap_bytes, &base);
        if (status != TUTTI_OK)
            break;
        gpu->peer[pe].range = base;
        space->heaps[pe] = gpu->peer[pe].range + skip_of(space);
        if ((uintptr_t)base % align != 0)
            status = TUTTI_ERR_UNAVAILABLE;
    }
    return status;
}

static void leave_range(struct tutti_shmem *space, int pe)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    if (gpu->peer[pe].range)
        gpu->device->range.close(gpu->gpu, gpu->peer[pe].range);
    gpu->peer[pe].range = NULL;
}

static void heap_device_unreserve(struct tutti_shmem *space)
{
    for (int pe = 0; pe < space->transport->size; pe++)
        leave_range(space, pe);
}

/* Start and length of a piece in the heap of a PE, as mapped here; the first piece includes the skipped bytes. */
static char *heap_device_place_of(const struct tutti_shmem *space, const struct tutti_shmem_piece *piece, int pe,
                                  size_t *bytes)
{
    const size_t skip = piece->at == 0 ? skip_of(space) : 0;
    *bytes = skip + piece->bytes;
    return space->heaps[pe] + piece->at - skip;
}

/* The areas of collectives, in the first piece, begin as zeros. */
static int heap_device_add_piece(struct tutti_shmem *space, struct tutti_shmem_piece *piece)
{
    const struct tutti_device *device = space->gpu->device;
    struct tutti_shmem_queue *queue = &space->gpu->queue[0]; /* the first piece is made before any PE uses it */
    size_t bytes;
    char *const at = heap_device_place_of(space, piece, space->state.me, &bytes);
    int status = device->range.add(space->gpu->gpu, at, bytes);
    if (status == TUTTI_OK && piece->at == 0) {
        status = device->stream.fill(queue->stream, at, 0, bytes);
        if (status == TUTTI_OK)
            status = device->stream.sync(queue->stream);
    }
    return status;
}

static int import_piece(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe,
                        const struct tutti_shmem_offer *offer, int fd)
{
    size_t bytes;
    char *const at = heap_device_place_of(space, piece, pe, &bytes);
    if (offer->what.bytes != bytes || offer->offset != (piece->at == 0 ? skip_of(space) : 0))
        return TUTTI_ERR_ARGUMENT;
    return space->gpu->device->range.import(space->gpu->gpu, &offer->what, fd, at);
}

static void heap_device_piece_drop(struct tutti_shmem *space, const struct tutti_shmem_piece *piece)
{
    size_t bytes;
    for (int i = 0; i < space->near->count; i++) /* some pieces may not have been mapped */
        space->gpu->device->range.cut(space->gpu->gpu, heap_device_place_of(space, piece, space->near->pe[i], &bytes));
}

/* ---- pieces; a heap that does not grow has one, an allocation ---- */

static int heap_device_no_memory(const struct tutti_shmem_gpu *gpu, struct tutti_shmem_piece *piece, int status)
{
    snprintf(piece->why, sizeof piece->why, "no %zu MiB on GPU %d for the heap (TUTTI_SHMEM_HEAP_MB): %s",
             piece->bytes >> 20, gpu->gpu, tutti_status_text(status));
    return status;
}

static int piece_allocate(struct tutti_shmem *space, struct tutti_shmem_piece *piece)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    const struct tutti_device *device = gpu->device;
    const size_t align = TUTTI_SHMEM_ALIGN_MOST, bytes = piece->bytes + align;
    struct tutti_shmem_queue *queue = &gpu->queue[0]; /* no PE uses it yet */
    int status = (device->memory.alloc_cleared ? device->memory.alloc_cleared : device->memory.alloc)(gpu->gpu, bytes,
                                                                                                      &gpu->heap);
    if (status == TUTTI_OK && !device->memory.alloc_cleared) {
        status = device->stream.fill(queue->stream, gpu->heap, 0, bytes);
        if (status == TUTTI_OK)
            status = device->stream.sync(queue->stream);
    }
    if (status == TUTTI_OK)
        space->heaps[space->state.me] = (char *)gpu->heap + (-((uintptr_t)gpu->heap + space->first) & (align - 1));
    return status;
}

static int heap_device_piece_make(struct tutti_shmem *space, struct tutti_shmem_piece *piece,
                                  struct tutti_shmem_offer *offer, int *fd)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    const int me = space->state.me;
    int status = gpu->peer[me].range ? heap_device_add_piece(space, piece) : piece_allocate(space, piece);
    if (status != TUTTI_OK)
        return heap_device_no_memory(gpu, piece, status);
    const char *const at = space->heaps[me] + piece->at;
    status = gpu->device->share.export(at, &offer->what, fd);
    if (status == TUTTI_OK)
        status = gpu->device->gpu.uuid(gpu->gpu, offer->uuid);
    if (status != TUTTI_OK)
        return heap_refuse(space, status, "memory of the GPU cannot be shared with other processes");
    offer->offset = (uint64_t)(uintptr_t)at - offer->what.base;
    if (piece->at == 0 && tutti_shmem_queues_prepare(gpu) != TUTTI_OK)
        return heap_refuse(space, TUTTI_ERR_DEVICE, "the kernels could not be loaded");
    return TUTTI_OK;
}

static int import_whole(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe,
                        const struct tutti_shmem_offer *offer, int fd)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    if (offer->offset > offer->what.bytes || piece->bytes > offer->what.bytes - offer->offset)
        return TUTTI_ERR_ARGUMENT;
    void *base = NULL;
    const int status = gpu->device->share.import(gpu->gpu, &offer->what, fd, &base);
    if (status != TUTTI_OK)
        return status;
    gpu->peer[pe].what = offer->what;
    gpu->peer[pe].base = base;
    space->heaps[pe] = (char *)base + offer->offset;
    return TUTTI_OK;
}

static int heap_device_piece_reach(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe,
                                   const struct tutti_shmem_offer *offer, int fd)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    if (gpu->device->gpu.reach(gpu->gpu, offer->uuid) == 0)
        return heap_refuse(space, TUTTI_ERR_UNAVAILABLE, "GPUs that cannot reach each other's memory");
    const int status = (gpu->peer[pe].range ? import_piece : import_whole)(space, piece, pe, offer, fd);
    if (status == TUTTI_ERR_ARGUMENT)
        snprintf(piece->why, sizeof piece->why, "PE %d offers a heap that is not where it says", pe);
    return status;
}

static void heap_device_unmap_peers(struct tutti_shmem *space)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    for (int pe = 0; gpu && gpu->peer && pe < space->transport->size; pe++) {
        if (gpu->peer[pe].base)
            gpu->device->share.release(gpu->gpu, &gpu->peer[pe].what, gpu->peer[pe].base);
        gpu->peer[pe].base = NULL;
        if (pe != space->state.me)
            leave_range(space, pe);
    }
}

static void heap_device_unmake(struct tutti_shmem *space)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    if (gpu && gpu->device && gpu->peer) {
        tutti_shmem_queues_close(gpu);
        if (gpu->heap)
            gpu->device->memory.free(gpu->heap);
        leave_range(space, space->state.me);
        if (gpu->parts)
            gpu->device->memory.free(gpu->parts);
        if (gpu->control)
            gpu->device->memory.unmap_host(gpu->gpu, gpu->control);
    }
    if (gpu)
        free(gpu->peer);
    free(gpu);
    space->gpu = NULL;
}

const struct tutti_shmem_kind tutti_shmem_device = {
    .name = "device",
    .open = open_gpu,
    .align_most = TUTTI_SHMEM_ALIGN_MOST,
    .reserve = heap_device_reserve,
    .unreserve = heap_device_unreserve,
    .make = heap_device_piece_make,
    .reach = heap_device_piece_reach,
    .drop = heap_device_piece_drop,
    .unmap_peers = heap_device_unmap_peers,
    .unmake = heap_device_unmake,
    .copy = tutti_shmem_gpu_copy,
    .element = tutti_shmem_gpu_element,
    .blocks = tutti_shmem_gpu_blocks,
    .amo = tutti_shmem_gpu_amo,
    .put_signal = tutti_shmem_gpu_put_signal,
    .quiet = tutti_shmem_gpu_quiet,
    .open_context = tutti_shmem_gpu_open_context,
    .move = tutti_shmem_gpu_move,
    .clear = tutti_shmem_gpu_clear,
    .reduce = tutti_shmem_gpu_reduce,
    .peek = tutti_shmem_gpu_peek,
    .forget = tutti_shmem_gpu_forget,
    .local = &tutti_shmem_gpu_agent,
    .room = tutti_shmem_gpu_room,
    .give = tutti_shmem_gpu_give,
};

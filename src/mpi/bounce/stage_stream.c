/* Copies of stages by kernels, and in streams beside what the caller does meanwhile. */
#include "dtype/pack.h"
#include "mpi/bounce/stage.h"
#include "team/deferred_free.h"
#include "team/sharing.h"

size_t tutti_stage_filled(const struct tutti_stage *stage, MPI_Count bytes)
{
    return bytes >= 0 && (size_t)bytes < stage->bytes ? (size_t)bytes : stage->bytes;
}

/* A GPU for memory that belongs to none in particular. */
static int stage_gpu(int gpu)
{
    if (gpu < 0 && tutti_door.device->gpu.current(&gpu) != TUTTI_OK)
        gpu = -1;
    return gpu < 0 ? 0 : gpu;
}

int tutti_stage_is_run(const struct tutti_stage *stage, int *gpu)
{
    struct tutti_memory memory;
    *gpu = stage->places.gpu;
    if (!stage->prefix || (!stage->plan && stage->places.id != 0))
        return stage->prefix;
    tutti_door.device->memory.classify(stage->user, &memory);
    const char *const base = memory.base;
    *gpu = memory.gpu;
    return memory.kind == TUTTI_MEMORY_DEVICE && stage->user + stage->bytes <= base + memory.bytes;
}

int tutti_stage_streams(const struct tutti_stage *stage, int *gpu)
{
    if (!stage->staged || stage->lazy || stage->scratch.on_device)
        return 0;
    if (stage->packed) {
        *gpu = stage_gpu(stage->places.gpu);
        return tutti_places_reached(&stage->places);
    }
    const int is = tutti_stage_is_run(stage, gpu);
    *gpu = stage_gpu(*gpu);
    return is;
}

static int stage_pack(struct tutti_stage *stage, struct tutti_stream *stream, int gpu, enum tutti_direction direction,
                      size_t bytes)
{
    const struct tutti_pack_job job = {.direction = direction,
                                       .plan = stage->plan,
                                       .count = (uint64_t)stage->count,
                                       .memory = stage->user + stage->origin,
                                       .packed = stage->memory,
                                       .bytes = bytes};
    return tutti_pack_enqueue(stream, gpu, &job, 1);
}

int tutti_stage_begin_in(struct tutti_stage *stage, struct tutti_stream *stream, int gpu)
{
    TUTTI_INSIDE();
    if (!(stage->way & TUTTI_STAGE_IN))
        return TUTTI_OK;
    if (stage->packed)
        return stage_pack(stage, stream, gpu, TUTTI_PACK, stage->bytes);
    return tutti_door.device->stream.copy(stream, stage->memory, stage->user, stage->bytes);
}

int tutti_stage_begin_out(struct tutti_stage *stage, struct tutti_stream *stream, int gpu, MPI_Count bytes)
{
    const size_t n = tutti_stage_filled(stage, bytes);
    TUTTI_INSIDE();
    if (!(stage->way & TUTTI_STAGE_OUT) || n == 0)
        return TUTTI_OK;
    if (stage->packed)
        return stage_pack(stage, stream, gpu, TUTTI_UNPACK, n);
    return tutti_door.device->stream.copy(stream, stage->user, stage->memory, n);
}

unsigned tutti_stage_keeps(void)
{
    const struct tutti_node *node = tutti_door.node;
    return node && tutti_deferred_free_may_load(node) ? TUTTI_PACK_KEEP : 0;
}

/* A kernel of `gpu` copies bytes between memory of the GPU and pinned host memory. how: of tutti_pack_reached(), but
 * NEAR. TUTTI_ERR_UNAVAILABLE, not reported, where that is not possible. */
static int copy_few(int gpu, char *user, char *host, size_t bytes, int out, unsigned how)
{
    const struct tutti_layout *layout = tutti_layout_of(tutti_handles.byte);
    const struct tutti_pack_job job = {.direction = out ? TUTTI_UNPACK : TUTTI_PACK,
                                       .plan = layout ? layout->plan : NULL,
                                       .count = bytes,
                                       .memory = user,
                                       .packed = host,
                                       .bytes = bytes};
    return job.plan ? tutti_pack_reached(gpu, &job, 1, how | (out ? TUTTI_PACK_NEAR : 0)) : TUTTI_ERR_UNAVAILABLE;
}

int tutti_copies_few(int gpu, size_t bytes, enum tutti_few use, int out)
{
    struct tutti_node *const node = tutti_door.node;
    if (node && (use != TUTTI_FEW_ALONE || out))
        tutti_sharing_look(node, tutti_door.device, gpu);
    return tutti_few_by_kernel(gpu, bytes, use, !out && node && tutti_deferred_free_may_load(node));
}

int tutti_copy_known(int gpu, char *user, char *host, size_t bytes, int out)
{
    struct tutti_node *const node = tutti_door.node;
    if (node)
        tutti_sharing_look(node, tutti_door.device, gpu);
    return tutti_run_copy(gpu, out, out ? user : host, out ? host : user, bytes, tutti_stage_keeps(),
                          !out && node && tutti_deferred_free_may_load(node));
}

int tutti_stage_copy_few(const struct tutti_stage *stage, char *user, char *host, size_t bytes, int out)
{
    const int few = bytes <= tutti_door.device->memory.few || stage->way & TUTTI_STAGE_KERNEL;
    const unsigned pair = !(stage->way & TUTTI_STAGE_PAIR) ? 0 : out ? TUTTI_PACK_SECOND : TUTTI_PACK_FIRST;
    return copy_few(stage->places.gpu, user, host, bytes, out, (few ? tutti_stage_keeps() : 0) | pair);
}

/* The agent of this PE on a heap in memory of a GPU: copies and the kernel `amo` for far PEs, in one stream that
 * waits for no other. It runs inside polls: nothing here waits, allocates on the GPU or loads. */
#include <stdlib.h>

#include "core/status.h"
#include "shmem/copy_queue.h"
#include "shmem/gpu.h"
#include "shmem/space.h"

enum { ALIGNMENT = 1 << 16 };
static const size_t parts_bytes = 2 * (size_t)TSHMEM_NEAR_MAX * (64 << 10);

static struct tutti_shmem_gpu *agent_gpu(const struct tutti_shmem *space)
{
    return space->gpu;
}

/* Pinned memory, so that no copy waits for the host. Kernels also store the old value of an atomic there. */
static int gpu_agent_room(void *space, size_t bytes, void **out)
{
    struct tutti_shmem_gpu *gpu = agent_gpu(space);
    void *seen = NULL;
    bytes = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (posix_memalign(out, ALIGNMENT, bytes) != 0)
        return TUTTI_ERR_MEMORY;
    const int status = gpu->device->memory.map_host(gpu->gpu, *out, bytes, &seen);
    if (status != TUTTI_OK)
        free(*out);
    gpu->agent_shift = (char *)seen - (char *)*out;
    return status;
}

static void gpu_agent_give(void *space, void *memory)
{
    struct tutti_shmem_gpu *gpu = agent_gpu(space);
    gpu->device->memory.unmap_host(gpu->gpu, memory);
    free(memory);
}

static int gpu_agent_begin_blocks(void *space, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                                  size_t n, size_t bytes)
{
    struct tutti_shmem_gpu *gpu = agent_gpu(space);
    int status = TUTTI_OK;
    if (dst == (ptrdiff_t)block && sst == (ptrdiff_t)block)
        return gpu->device->stream.copy(gpu->agent, to, from, n * block * bytes);
    for (size_t i = 0; i < n && status == TUTTI_OK; i++)
        status = gpu->device->stream.copy(gpu->agent, (char *)to + (ptrdiff_t)i * dst * (ptrdiff_t)bytes,
                                          (const char *)from + (ptrdiff_t)i * sst * (ptrdiff_t)bytes, block * bytes);
    return status;
}

static int gpu_agent_begin_amo(void *space, int operation, void *at, size_t bytes, uint64_t value, uint64_t compare,
                               uint64_t *was)
{
    uint64_t *seen = was ? (uint64_t *)(void *)((char *)was + agent_gpu(space)->agent_shift) : NULL;
    struct tutti_amo_args args = {.at = at, .value = value, .expected = compare, .was = seen};
    return tutti_shmem_amo_launch(space, agent_gpu(space)->agent, operation, bytes, &args);
}

static int gpu_agent_have_ended(void *space)
{
    return agent_gpu(space)->device->stream.query(agent_gpu(space)->agent);
}

const struct tutti_wire_local tutti_shmem_gpu_agent = {.room = gpu_agent_room,
                                                       .give = gpu_agent_give,
                                                       .blocks = gpu_agent_begin_blocks,
                                                       .amo = gpu_agent_begin_amo,
                                                       .ended = gpu_agent_have_ended};

/* ---- room for reductions ---- */

/* Kept, since freeing memory of a GPU waits for its kernels. */
void *tutti_shmem_gpu_room(struct tutti_shmem *space, size_t bytes)
{
    struct tutti_shmem_gpu *gpu = agent_gpu(space);
    void *made = NULL;
    if (bytes > parts_bytes || atomic_exchange(&gpu->parts_busy, 1))
        return gpu->device->memory.alloc(gpu->gpu, bytes, &made) == TUTTI_OK ? made : NULL;
    if (!gpu->parts && gpu->device->memory.alloc(gpu->gpu, parts_bytes, &gpu->parts) != TUTTI_OK)
        gpu->parts = NULL;
    if (!gpu->parts)
        atomic_store(&gpu->parts_busy, 0);
    return gpu->parts;
}

void tutti_shmem_gpu_give(struct tutti_shmem *space, void *memory)
{
    struct tutti_shmem_gpu *gpu = agent_gpu(space);
    if (memory == gpu->parts)
        atomic_store(&gpu->parts_busy, 0);
    else
        gpu->device->memory.free(memory);
}

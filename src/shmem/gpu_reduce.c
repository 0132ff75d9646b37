/* Reductions of elements in memory of GPUs: the kernel of the algorithm `direct` runs on this PE's slice, over all
 * members' mapped heaps. There is no kernel for long double: it is copied to the host. */
#include <stdlib.h>

#include "core/status.h"
#include "shmem/copy_queue.h"
#include "shmem/gpu.h"
#include "shmem/host.h"
#include "shmem/space.h"

enum { BLOCK_BYTES = 16 * 512, ELEMENTS = 2048 };

int tutti_shmem_gpu_launch(struct tutti_shmem *space, struct tutti_stream *stream, const struct tutti_shmem_job *job)
{
    struct tutti_shmem_gpu *gpu = space->gpu;
    const int op = tutti_shmem_operator(job->op);
    const size_t blocks = (job->count * tutti_type_size(job->type) + BLOCK_BYTES - 1) / BLOCK_BYTES;
    struct tutti_kernel_args args = {.count = job->count,
                                     .slice = job->count,
                                     .ranks = (uint32_t)job->ranks,
                                     .outs = (uint32_t)job->outs,
                                     .gpus = 1,
                                     .blocks = (uint32_t)(blocks < TUTTI_MAX_BLOCKS ? blocks : TUTTI_MAX_BLOCKS),
                                     .shape = job->shape};
    for (int r = 0; r < job->ranks; r++)
        args.in[r] = job->in[r];
    for (int i = 0; i < job->outs; i++)
        args.out[i] = job->out[i];
    const struct tutti_launch what = {.kernel = TUTTI_KERNEL_DIRECT,
                                      .type = job->type,
                                      .op = op,
                                      .blocks = args.blocks,
                                      .gpu = gpu->gpu,
                                      .args = &args};
    return gpu->device->launch.kernel(stream, &what);
}

/* Copies elements [at, at + n) of all contributions to the host, and results back. */
static int long_double(struct tutti_shmem *space, struct tutti_shmem_queue *queue, const struct tutti_shmem_job *job,
                       size_t at, size_t n, long double *room)
{
    const struct tutti_device *device = space->gpu->device;
    struct tutti_shmem_job here = *job;
    int status = TUTTI_OK;
    here.count = n;
    for (int r = 0; r < job->ranks && status == TUTTI_OK; r++) {
        here.in[r] = room + (size_t)r * ELEMENTS;
        status = device->stream.copy(queue->stream, room + (size_t)r * ELEMENTS, (const long double *)job->in[r] + at,
                                     n * sizeof *room);
    }
    status = tutti_shmem_queue_wait(space, queue, status);
    if (status != TUTTI_OK)
        return status;
    for (int i = 0; i < job->outs; i++)
        here.out[i] = job->out[i] ? room + (size_t)(job->ranks + i) * ELEMENTS : NULL;
    tutti_shmem_reduce_host(space, &here);
    for (int i = 0; i < job->outs && status == TUTTI_OK; i++) {
        if (job->out[i])
            status = device->stream.copy(queue->stream, (long double *)job->out[i] + at, here.out[i], n * sizeof *room);
    }
    return tutti_shmem_queue_wait(space, queue, status);
}

static int gpu_reduce_run_long_double(struct tutti_shmem *space, const struct tutti_shmem_job *job)
{
    long double *room = malloc((size_t)(job->ranks + job->outs) * ELEMENTS * sizeof *room);
    struct tutti_shmem_queue *queue = room ? tutti_shmem_queue_take(space) : NULL;
    int status = queue ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (size_t at = 0; at < job->count && status == TUTTI_OK; at += ELEMENTS) {
        const size_t left = job->count - at;
        status = long_double(space, queue, job, at, left < ELEMENTS ? left : ELEMENTS, room);
    }
    if (queue && status == TUTTI_OK)
        tutti_shmem_queue_give(queue);
    free(room);
    return room ? status : tutti_shmem_queue_fail(space, status);
}

int tutti_shmem_gpu_reduce(struct tutti_shmem *space, const struct tutti_shmem_job *job)
{
    if (job->type == TSHMEM_ID_LONGDOUBLE)
        return gpu_reduce_run_long_double(space, job);
    struct tutti_shmem_queue *queue = tutti_shmem_queue_take(space);
    return queue ? tutti_shmem_queue_end(space, queue, tutti_shmem_gpu_launch(space, queue->stream, job))
                 : TUTTI_ERR_BROKEN;
}

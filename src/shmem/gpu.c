/* Copies, atomics and tests of words, on heaps in memory of GPUs. */
#include "shmem/gpu.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "shmem/copy_queue.h"
#include "shmem/space.h"

static const struct tutti_device *space_device(struct tutti_shmem *space)
{
    return space->gpu->device;
}

int tutti_shmem_gpu_copy(struct tutti_shmem *space, void *to, const void *from, size_t bytes, int later)
{
    if (to == from)
        return TUTTI_OK;
    if (later)
        return tutti_shmem_nbi_started(
            space, later - 1, space_device(space)->stream.copy(space->gpu->nbi[later - 1].stream, to, from, bytes));
    struct tutti_shmem_queue *queue = tutti_shmem_queue_take(space);
    return queue ? tutti_shmem_queue_end(space, queue, space_device(space)->stream.copy(queue->stream, to, from, bytes))
                 : TUTTI_ERR_BROKEN;
}

int tutti_shmem_gpu_element(struct tutti_shmem *space, void *to, const void *from, size_t bytes)
{
    return tutti_shmem_gpu_copy(space, to, from, bytes, 0);
}

int tutti_shmem_gpu_blocks(struct tutti_shmem *space, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst,
                           size_t block, size_t n, size_t bytes)
{
    if (dst == (ptrdiff_t)block && sst == (ptrdiff_t)block)
        return tutti_shmem_gpu_copy(space, to, from, n * block * bytes, 0);
    struct tutti_shmem_queue *queue = tutti_shmem_queue_take(space);
    int status = TUTTI_OK;
    if (!queue)
        return TUTTI_ERR_BROKEN;
    for (size_t i = 0; i < n && status == TUTTI_OK; i++) {
        char *here = (char *)to + (ptrdiff_t)i * dst * (ptrdiff_t)bytes;
        const char *there = (const char *)from + (ptrdiff_t)i * sst * (ptrdiff_t)bytes;
        if (here != there)
            status = space_device(space)->stream.copy(queue->stream, here, there, block * bytes);
    }
    return tutti_shmem_queue_end(space, queue, status);
}

uint64_t tutti_shmem_gpu_amo(struct tutti_shmem *space, int operation, void *at, size_t bytes, uint64_t value,
                             uint64_t compare)
{
    struct tutti_shmem_queue *queue = tutti_shmem_queue_take(space);
    if (!queue)
        return 0;
    operation &= ~TSHMEM_AMO_NO_FETCH;
    return tutti_shmem_queue_fetch(
        space, queue, tutti_shmem_queue_amo(space, queue->stream, queue, operation, at, bytes, value, compare));
}

/* The signal's kernel begins when the copy before it in the stream has ended. */
int tutti_shmem_gpu_put_signal(struct tutti_shmem *space, void *to, const void *from, size_t bytes, uint64_t *at,
                               uint64_t value, int operation, int later)
{
    const int amo = operation == TSHMEM_SIGNAL_ADD ? TSHMEM_AMO_ADD : TSHMEM_AMO_SET;
    struct tutti_shmem_queue *queue = later ? NULL : tutti_shmem_queue_take(space);
    struct tutti_stream *stream = later ? space->gpu->nbi[later - 1].stream : queue ? queue->stream : NULL;
    int status = TUTTI_OK;
    if (!stream)
        return TUTTI_ERR_BROKEN;
    if (bytes > 0 && to != from)
        status = space_device(space)->stream.copy(stream, to, from, bytes);
    if (status == TUTTI_OK)
        status = tutti_shmem_queue_amo(space, stream, NULL, amo, at, sizeof *at, value, 0);
    return later ? tutti_shmem_nbi_started(space, later - 1, status) : tutti_shmem_queue_end(space, queue, status);
}

int tutti_shmem_gpu_quiet(struct tutti_shmem *space, int context)
{
    atomic_thread_fence(memory_order_seq_cst);
    return tutti_shmem_nbi_end(space, context);
}

int tutti_shmem_gpu_open_context(struct tutti_shmem *space, int context)
{
    struct tutti_shmem_nbi *later = &space->gpu->nbi[context];
    return later->stream ? TUTTI_OK : space_device(space)->stream.create(space->gpu->gpu, &later->stream);
}

int tutti_shmem_gpu_move(struct tutti_shmem *space, const struct tutti_shmem_part *parts, size_t n)
{
    struct tutti_shmem_queue *queue = tutti_shmem_queue_take(space);
    int status = TUTTI_OK;
    if (!queue)
        return TUTTI_ERR_BROKEN;
    for (size_t i = 0; i < n && status == TUTTI_OK; i++) {
        if (parts[i].to != parts[i].from && parts[i].bytes > 0)
            status = space_device(space)->stream.copy(queue->stream, parts[i].to, parts[i].from, parts[i].bytes);
    }
    return tutti_shmem_queue_end(space, queue, status);
}

int tutti_shmem_gpu_clear(struct tutti_shmem *space, void *at, size_t bytes)
{
    struct tutti_shmem_queue *queue = tutti_shmem_queue_take(space);
    return queue ? tutti_shmem_queue_end(space, queue, space_device(space)->stream.fill(queue->stream, at, 0, bytes))
                 : TUTTI_ERR_BROKEN;
}

/* A test copies words into the queue's host memory, or into memory of the wait if the queue's is too small. */
static int begin_look(struct tutti_shmem *space, struct tutti_shmem_peek *peek, const void *words, size_t bytes)
{
    if (bytes > sizeof peek->few && !peek->room) {
        peek->room = malloc(bytes);
        if (!peek->room)
            return TUTTI_ERR_MEMORY;
    }
    struct tutti_shmem_queue *queue = tutti_shmem_queue_try(space);
    if (!queue)
        return TUTTI_OK; /* all queues are busy: test again later */
    peek->queue = queue;
    return space_device(space)->stream.copy(queue->stream, bytes > TUTTI_SHMEM_ROOM ? peek->room : queue->line->room,
                                            words, bytes);
}

/* The wait has the queue only while the copy runs: operations that others wait for may need it. */
int tutti_shmem_gpu_peek(struct tutti_shmem *space, struct tutti_shmem_peek *peek, const void *words, size_t bytes)
{
    struct tutti_shmem_queue *queue = peek->queue;
    if (bytes == 0)
        return 1;
    if (!queue)
        return begin_look(space, peek, words, bytes);
    const int state = tutti_shmem_queue_query(space, queue);
    if (state <= 0)
        return state;
    peek->seen = bytes > sizeof peek->few ? peek->room : peek->few;
    if (bytes <= TUTTI_SHMEM_ROOM)
        memcpy((void *)(uintptr_t)peek->seen, queue->line->room, bytes);
    peek->queue = NULL;
    tutti_shmem_queue_give(queue);
    return 1;
}

/* If the wait gives up, a copy that is under way may still store. The address space has ended, and queue and memory
 * are kept. */
void tutti_shmem_gpu_forget(struct tutti_shmem *space, struct tutti_shmem_peek *peek)
{
    (void)space;
    if (!peek->queue)
        free(peek->room);
}

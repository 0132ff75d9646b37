#include "shmem/copy_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "shmem/meet.h"

enum { ALIGNMENT = 1 << 16, LOOKS = 256 };

static struct tutti_shmem_gpu *queue_gpu(struct tutti_shmem *space)
{
    return space->gpu;
}

static size_t lines_bytes(void)
{
    const size_t bytes = TUTTI_SHMEM_QUEUES * sizeof(struct tutti_shmem_line);
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

int tutti_shmem_queues_open(struct tutti_shmem *space, struct tutti_shmem_gpu *gpu)
{
    const struct tutti_device *device = gpu->device;
    void *lines, *seen = NULL;
    if (posix_memalign(&lines, ALIGNMENT, lines_bytes()) != 0)
        return tutti_shmem_answer(space, TUTTI_ERR_MEMORY, "tshmem_init", "%s", tutti_status_text(TUTTI_ERR_MEMORY));
    memset(lines, 0, lines_bytes());
    int status = device->memory.map_host(gpu->gpu, lines, lines_bytes(), &seen);
    if (status != TUTTI_OK) {
        free(lines);
        return tutti_shmem_answer(space, status, "tshmem_init", "host memory could not be registered with GPU %d",
                                  gpu->gpu);
    }
    gpu->lines = lines;
    status = device->stream.create(gpu->gpu, &gpu->nbi[0].stream);
    if (status == TUTTI_OK)
        status = device->stream.create(gpu->gpu, &gpu->agent);
    for (int i = 0; i < TUTTI_SHMEM_QUEUES && status == TUTTI_OK; i++) {
        gpu->queue[i].line = (struct tutti_shmem_line *)lines + i;
        gpu->queue[i].seen = (struct tutti_shmem_line *)seen + i;
        status = device->stream.create(gpu->gpu, &gpu->queue[i].stream);
    }
    if (status != TUTTI_OK)
        tutti_shmem_answer(space, status, "tshmem_init", "no streams on GPU %d: %s", gpu->gpu,
                           tutti_status_text(status));
    return status;
}

void tutti_shmem_queues_close(struct tutti_shmem_gpu *gpu)
{
    for (int i = 0; i < TUTTI_SHMEM_QUEUES; i++) {
        if (gpu->queue[i].stream)
            gpu->device->stream.destroy(gpu->queue[i].stream);
    }
    for (int i = 0; i < TSHMEM_CONTEXTS_MAX; i++) {
        if (gpu->nbi[i].stream)
            gpu->device->stream.destroy(gpu->nbi[i].stream);
    }
    if (gpu->agent)
        gpu->device->stream.destroy(gpu->agent);
    if (gpu->lines) {
        gpu->device->memory.unmap_host(gpu->gpu, gpu->lines);
        free(gpu->lines);
    }
}

int tutti_shmem_queue_fail(struct tutti_shmem *space, int status)
{
    tutti_shmem_leave_all(space);
    return tutti_shmem_fail(space, status, "the address space ends", "an operation on the heap failed on GPU %d: %s",
                            queue_gpu(space)->gpu, tutti_status_text(status));
}

/* ---- queues ---- */

static void say_gpu(struct tutti_shmem *space, void *with, char *text, size_t size)
{
    (void)with;
    snprintf(text, size, "for an operation of its own on GPU %d", queue_gpu(space)->gpu);
}

struct tutti_shmem_queue *tutti_shmem_queue_try(struct tutti_shmem *space)
{
    for (int i = 0; i < TUTTI_SHMEM_QUEUES; i++) {
        struct tutti_shmem_queue *queue = &queue_gpu(space)->queue[i];
        if (atomic_load_explicit(&queue->busy, memory_order_relaxed) == 0 &&
            atomic_exchange_explicit(&queue->busy, 1, memory_order_acquire) == 0)
            return queue;
    }
    return NULL;
}

static int is_taken(struct tutti_shmem *space, void *with)
{
    struct tutti_shmem_queue **queue = with;
    *queue = tutti_shmem_queue_try(space);
    if (*queue)
        return 1;
    return __atomic_load_n(space->state.abort, __ATOMIC_RELAXED) ? TUTTI_ERR_BROKEN : 0;
}

struct tutti_shmem_queue *tutti_shmem_queue_take(struct tutti_shmem *space)
{
    struct tutti_shmem_queue *queue = tutti_shmem_queue_try(space);
    if (!queue && tutti_shmem_await(space, is_taken, say_gpu, &queue) != TUTTI_OK)
        return NULL;
    return queue;
}

void tutti_shmem_queue_give(struct tutti_shmem_queue *queue)
{
    atomic_store_explicit(&queue->busy, 0, memory_order_release);
}

int tutti_shmem_queue_query(struct tutti_shmem *space, struct tutti_shmem_queue *queue)
{
    return queue_gpu(space)->device->stream.query(queue->stream);
}

static int queue_is_done(struct tutti_shmem *space, void *with)
{
    return tutti_shmem_queue_query(space, with);
}

int tutti_shmem_queue_wait(struct tutti_shmem *space, struct tutti_shmem_queue *queue, int status)
{
    return status == TUTTI_OK ? tutti_shmem_await(space, queue_is_done, say_gpu, queue)
                              : tutti_shmem_queue_fail(space, status);
}

int tutti_shmem_queue_end(struct tutti_shmem *space, struct tutti_shmem_queue *queue, int status)
{
    status = tutti_shmem_queue_wait(space, queue, status);
    if (status == TUTTI_OK)
        tutti_shmem_queue_give(queue);
    return status;
}

/* ---- atomics ---- */

static const struct {
    enum tutti_amo_what what;
    int type[2], op; /* type: of words of 4 and of 8 bytes */
} atomics[] = {
#define WORDS                                                                                                          \
    {                                                                                                                  \
        TUTTI_TYPE_U32, TUTTI_TYPE_U64                                                                                 \
    }
#define FLOATS                                                                                                         \
    {                                                                                                                  \
        TUTTI_TYPE_F32, TUTTI_TYPE_F64                                                                                 \
    }
    [TSHMEM_AMO_FETCH] = {TUTTI_AMO_FETCH, WORDS, TUTTI_OP_SUM},
    [TSHMEM_AMO_SET] = {TUTTI_AMO_SET, WORDS, TUTTI_OP_SUM},
    [TSHMEM_AMO_SWAP] = {TUTTI_AMO_SWAP, WORDS, TUTTI_OP_SUM},
    [TSHMEM_AMO_COMPARE_SWAP] = {TUTTI_AMO_COMPARE_SWAP, WORDS, TUTTI_OP_SUM},
    [TSHMEM_AMO_ADD] = {TUTTI_AMO_COMBINE, WORDS, TUTTI_OP_SUM},
    [TSHMEM_AMO_AND] = {TUTTI_AMO_COMBINE, WORDS, TUTTI_OP_BAND},
    [TSHMEM_AMO_OR] = {TUTTI_AMO_COMBINE, WORDS, TUTTI_OP_BOR},
    [TSHMEM_AMO_XOR] = {TUTTI_AMO_COMBINE, WORDS, TUTTI_OP_BXOR},
    [TSHMEM_AMO_ADD_FLOAT] = {TUTTI_AMO_COMBINE, FLOATS, TUTTI_OP_SUM},
};

int tutti_shmem_queues_prepare(struct tutti_shmem_gpu *gpu)
{
    int status = TUTTI_OK;
    for (size_t i = 0; gpu->device->launch.prepare && i < 2 * sizeof atomics / sizeof *atomics && status == TUTTI_OK;
         i++)
        status = gpu->device->launch.prepare(gpu->gpu, UINT32_C(1) << TUTTI_KERNEL_AMO, atomics[i / 2].type[i % 2],
                                             atomics[i / 2].op);
    for (int type = -1; gpu->device->launch.prepare_shmem && type < TSHMEM_ID_LONGDOUBLE && status == TUTTI_OK; type++)
        status = gpu->device->launch.prepare_shmem(gpu->gpu, type);
    return status;
}

int tutti_shmem_amo_launch(struct tutti_shmem *space, struct tutti_stream *stream, int operation, size_t bytes,
                           struct tutti_amo_args *args)
{
    args->what = (uint32_t)atomics[operation].what;
    const struct tutti_launch launch = {.kernel = TUTTI_KERNEL_AMO,
                                        .type = atomics[operation].type[bytes == sizeof(uint64_t)],
                                        .op = atomics[operation].op,
                                        .blocks = 1,
                                        .threads = 32,
                                        .gpu = queue_gpu(space)->gpu,
                                        .amo = args};
    return queue_gpu(space)->device->launch.kernel(stream, &launch);
}

int tutti_shmem_queue_amo(struct tutti_shmem *space, struct tutti_stream *stream, struct tutti_shmem_queue *queue,
                          int operation, void *at, size_t bytes, uint64_t value, uint64_t compare)
{
    struct tutti_amo_args args = {.at = at, .value = value, .expected = compare};
    if (queue) {
        args.launch_number = ++queue->launch_number;
        args.was = &queue->seen->was;
        args.done = &queue->seen->done;
    }
    return tutti_shmem_amo_launch(space, stream, operation, bytes, &args);
}

/* The word is read first; the stream is seldom asked whether the kernel has failed. */
static int is_fetched(struct tutti_shmem *space, void *with)
{
    struct tutti_shmem_queue *queue = with;
    if (__atomic_load_n(&queue->line->done, __ATOMIC_ACQUIRE) == queue->launch_number)
        return 1;
    if (++queue->looks % LOOKS != 0)
        return 0;
    const int state = tutti_shmem_queue_query(space, queue);
    return state < 0 ? state : 0;
}

uint64_t tutti_shmem_queue_fetch(struct tutti_shmem *space, struct tutti_shmem_queue *queue, int status)
{
    if (status != TUTTI_OK) {
        tutti_shmem_queue_fail(space, status);
        return 0;
    }
    if (tutti_shmem_await(space, is_fetched, say_gpu, queue) != TUTTI_OK)
        return 0;
    const uint64_t was = queue->line->was;
    tutti_shmem_queue_give(queue);
    return was;
}

/* ---- nonblocking operations ---- */

int tutti_shmem_nbi_started(struct tutti_shmem *space, int context, int status)
{
    if (status != TUTTI_OK)
        return tutti_shmem_queue_fail(space, status);
    atomic_fetch_add(&queue_gpu(space)->nbi[context].issued, 1);
    return TUTTI_OK;
}

static int copies_are_settled(struct tutti_shmem *space, void *with)
{
    const struct tutti_shmem_nbi *later = with;
    return queue_gpu(space)->device->stream.query(later->stream);
}

/* The count was taken after all counted operations were put into the stream. A thread that puts in more counts them
 * after this test, and tests itself. */
int tutti_shmem_nbi_end(struct tutti_shmem *space, int context)
{
    struct tutti_shmem_nbi *later = &queue_gpu(space)->nbi[context];
    const uint64_t issued = atomic_load(&later->issued);
    uint64_t settled = atomic_load(&later->settled);
    if (settled >= issued)
        return TUTTI_OK;
    const int status = tutti_shmem_await(space, copies_are_settled, say_gpu, later);
    while (status == TUTTI_OK && settled < issued && !atomic_compare_exchange_weak(&later->settled, &settled, issued))
        ;
    return status;
}

/* Copies by a GPU's engines, one behind the other in one stream. The end of each copy is seen by itself, so the next
 * one is queued while the one before runs: an engine starts some microseconds after the call. */
#include <pthread.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/status.h"
#include "device/stream_sets.h"
#include "dtype/pack.h"
#include "progress/gate.h"

enum { DEPTH = 4 };

struct tutti_copy_queue {
    struct tutti_copy_queue *next;
    int gpu;
    unsigned life; /* of the GPU */
    struct tutti_stream *stream;
    struct tutti_event *event[DEPTH];
    unsigned used; /* bits of events: their copies have not been seen to end */
};
static struct tutti_copy_queue *queues;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct tutti_copy_queue *queue_make(int gpu)
{
    struct tutti_copy_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->gpu = gpu;
    queue->life = tutti_gpu_life(gpu);
    if (tutti_streams_make(gpu, &queue->stream, 1, queue->event, DEPTH) == TUTTI_OK)
        return queue;
    free(queue);
    return NULL;
}

/* The lock is held. Queues of an earlier life are destroyed when their last copy has been seen to end. */
static struct tutti_copy_queue *queue_find(int gpu, int may_make)
{
    struct tutti_copy_queue *found = NULL;
    for (struct tutti_copy_queue **at = &queues; *at;) {
        struct tutti_copy_queue *const one = *at;
        const int is_stale = one->life != tutti_gpu_life(one->gpu);
        if (is_stale && !one->used) {
            *at = one->next;
            tutti_streams_end(&one->stream, 1, one->event, DEPTH);
            free(one);
            continue;
        }
        if (one->gpu == gpu && !is_stale)
            found = one;
        at = &one->next;
    }
    if (found || !may_make || tutti_gate_closed() || !(found = queue_make(gpu)))
        return found;
    found->next = queues;
    queues = found;
    return found;
}

/* The lock is held. The number of an event that is not used; -1: all are used. */
static int queue_room(const struct tutti_copy_queue *queue)
{
    for (int i = 0; i < DEPTH; i++) {
        if (!(queue->used >> i & 1))
            return i;
    }
    return -1;
}

int tutti_copy_queue_is_full(int gpu)
{
    pthread_mutex_lock(&lock);
    const struct tutti_copy_queue *queue = queues;
    while (queue && (queue->gpu != (gpu < 0 ? 0 : gpu) || queue->life != tutti_gpu_life(queue->gpu)))
        queue = queue->next;
    const int full = queue && queue_room(queue) < 0;
    pthread_mutex_unlock(&lock);
    return full;
}

int tutti_copy_queue_start(int gpu, void *to, const void *from, uint64_t bytes, int may_make,
                           struct tutti_queued_copy *out)
{
    const struct tutti_device *device = tutti_device();
    int status = TUTTI_ERR_UNAVAILABLE;
    out->queue = NULL;
    if (!device || !device->stream.copy || !device->event.query || (gpu < 0 && device->gpu.current(&gpu) != TUTTI_OK))
        return status;
    gpu = gpu < 0 ? 0 : gpu; /* memory that belongs to no GPU in particular */
    pthread_mutex_lock(&lock);
    struct tutti_copy_queue *queue = queue_find(gpu, may_make);
    const int i = queue ? queue_room(queue) : -1;
    if (i >= 0) {
        status = device->stream.copy(queue->stream, to, from, bytes);
        if (status == TUTTI_OK)
            status = device->event.record(queue->event[i], queue->stream);
        if (status == TUTTI_OK) {
            queue->used |= 1U << i;
            *out = (struct tutti_queued_copy){queue, (unsigned)i};
        }
    } else if (queue) {
        status = TUTTI_OK;
    }
    pthread_mutex_unlock(&lock);
    return status == TUTTI_OK ? out->queue != NULL : status;
}

int tutti_copy_queue_poll(struct tutti_queued_copy *copy)
{
    struct tutti_copy_queue *const queue = copy->queue;
    const int ended = tutti_device()->event.query(queue->event[copy->event]);
    if (ended == 0)
        return 0;
    pthread_mutex_lock(&lock);
    queue->used &= ~(1U << copy->event);
    pthread_mutex_unlock(&lock);
    copy->queue = NULL;
    if (ended < 0)
        tutti_error("a copy by the engines of GPU %d: %s", queue->gpu, tutti_status_text(ended));
    return ended;
}

/* Requests for heaps in memory of GPUs: copies, mostly by copy engines, in streams that wait for no other. So a
 * kernel that spins for the answer blocks none of them. An atomic is a kernel of one warp, which needs room on the
 * GPU; kernels ask for one only if they cannot do the atomic themselves. */
#include <stdlib.h>

#include "core/status.h"
#include "device/device.h"
#include "kernels/args.h"
#include "shmem/proxy/proxy.h"
#include "tutti/shmem.h"

enum { STREAMS = 4, DEPTH = 32 };

/* Open requests of a stream, in order: `ended` to `begun`. */
struct queue {
    struct tutti_stream *stream;
    struct tutti_event *event[DEPTH];
    struct tutti_ring_request *request[DEPTH];
    unsigned begun, ended;
};

struct queues {
    struct queue queue[STREAMS];
    int chosen; /* the thread has chosen the GPU */
};

static void close_queues(struct tutti_proxy *proxy)
{
    struct queues *const all = proxy->near_with;
    for (int i = 0; all && i < STREAMS; i++) {
        for (int k = 0; k < DEPTH; k++) {
            if (all->queue[i].event[k])
                proxy->device->event.destroy(all->queue[i].event[k]);
        }
        if (all->queue[i].stream)
            proxy->device->stream.destroy(all->queue[i].stream);
    }
    free(all);
    proxy->near_with = NULL;
}

static int open_queues(struct tutti_proxy *proxy)
{
    struct queues *const all = calloc(1, sizeof *all);
    int status = all ? TUTTI_OK : TUTTI_ERR_MEMORY;
    proxy->near_with = all;
    for (int i = 0; i < STREAMS && status == TUTTI_OK; i++) {
        status = proxy->device->stream.create(proxy->gpu, &all->queue[i].stream);
        for (int k = 0; k < DEPTH && status == TUTTI_OK; k++)
            status = proxy->device->event.create(proxy->gpu, &all->queue[i].event[k]);
    }
    return status;
}

static struct queue *queue_shortest(struct queues *all)
{
    struct queue *found = &all->queue[0];
    for (int i = 1; i < STREAMS; i++) {
        if (all->queue[i].begun - all->queue[i].ended < found->begun - found->ended)
            found = &all->queue[i];
    }
    return found->begun - found->ended < DEPTH ? found : NULL;
}

static int put_amo(struct tutti_proxy *proxy, struct tutti_stream *stream, struct tutti_ring_request *o)
{
    char *const value = (char *)o->value + proxy->shift;
    struct tutti_amo_args args = {.at = tutti_proxy_heap(proxy, o->pe) + o->dest,
                                  .value = o->value[0],
                                  .expected = o->value[1],
                                  .was = o->tag ? (uint64_t *)(void *)value : NULL};
    return proxy->launch(proxy->space, stream, o->what, o->size, &args);
}

static int near_device_put_signal(struct tutti_proxy *proxy, struct tutti_stream *stream,
                                  const struct tutti_ring_request *o, char *at)
{
    struct tutti_amo_args args = {.at = tutti_proxy_heap(proxy, o->pe) + o->value[1], .value = o->value[0]};
    const int status =
        o->bytes ? proxy->device->stream.copy(stream, at, (const void *)(uintptr_t)o->source, o->bytes) : TUTTI_OK;
    const int amo = o->what == TSHMEM_SIGNAL_ADD ? TSHMEM_AMO_ADD : TSHMEM_AMO_SET;
    return status == TUTTI_OK ? proxy->launch(proxy->space, stream, amo, sizeof(uint64_t), &args) : status;
}

static int put_blocks(struct tutti_proxy *proxy, struct tutti_stream *stream, const struct tutti_ring_request *o,
                      char *to, const char *from)
{
    const ptrdiff_t dst = (ptrdiff_t)o->value[0] * o->size, sst = (ptrdiff_t)o->value[1] * o->size;
    int status = TUTTI_OK;
    for (uint64_t i = 0; i < o->bytes && status == TUTTI_OK; i++)
        status =
            proxy->device->stream.copy(stream, to + (ptrdiff_t)i * dst, from + (ptrdiff_t)i * sst, o->extra * o->size);
    return status;
}

static int put_into(struct tutti_proxy *proxy, struct tutti_stream *stream, struct tutti_ring_request *o, char *at)
{
    const struct tutti_device *const device = proxy->device;
    char *const dest = (char *)(uintptr_t)o->dest;
    const char *const source = (const char *)(uintptr_t)o->source;
    switch (o->operation) {
    case TSHMEM_RING_PUT:
        return device->stream.copy(stream, at, source, o->bytes);
    case TSHMEM_RING_PUT_VALUE:
        return device->stream.copy(stream, at, o->value, o->bytes);
    case TSHMEM_RING_GET:
        return device->stream.copy(stream, dest, at, o->bytes);
    case TSHMEM_RING_GET_VALUE:
        o->value[0] = 0;
        return device->stream.copy(stream, o->value, at, o->bytes);
    case TSHMEM_RING_PUT_SIGNAL:
        return near_device_put_signal(proxy, stream, o, at);
    case TSHMEM_RING_AMO:
        return put_amo(proxy, stream, o);
    case TSHMEM_RING_PUT_BLOCKS:
        return put_blocks(proxy, stream, o, at, source);
    default:
        return put_blocks(proxy, stream, o, dest, at);
    }
}

/* Driver calls of the poller's thread need its GPU. */
static int queue_choose(struct tutti_proxy *proxy, struct queues *all)
{
    if (all->chosen)
        return TUTTI_OK;
    all->chosen = 1;
    return proxy->device->gpu.choose(proxy->gpu);
}

static int near_device_begin(struct tutti_proxy *proxy, struct tutti_ring_request *o, char *at)
{
    struct queues *const all = proxy->near_with;
    struct queue *const queue = queue_shortest(all);
    int status = queue_choose(proxy, all);
    if (!queue)
        return TUTTI_RING_BUSY;
    if (status == TUTTI_OK)
        status = put_into(proxy, queue->stream, o, at);
    if (status == TUTTI_OK)
        status = proxy->device->event.record(queue->event[queue->begun % DEPTH], queue->stream);
    if (status != TUTTI_OK)
        return status;
    queue->request[queue->begun++ % DEPTH] = o;
    return TUTTI_RING_OPEN;
}

static int poll_queues(struct tutti_proxy *proxy)
{
    struct queues *const all = proxy->near_with;
    int ended = 0;
    for (int i = 0; i < STREAMS; i++) {
        struct queue *const queue = &all->queue[i];
        while (queue->ended != queue->begun) {
            const int state = proxy->device->event.query(queue->event[queue->ended % DEPTH]);
            if (state < 0)
                return state;
            if (state == 0)
                break;
            tutti_ring_done(proxy->ring, queue->request[queue->ended++ % DEPTH]);
            ended++;
        }
    }
    return ended;
}

const struct tutti_path tutti_near_device = {.name = "of a GPU of this node",
                                             .begin = near_device_begin,
                                             .poll = poll_queues,
                                             .open = open_queues,
                                             .close = close_queues};

/* Messages in stream order between nodes that are started again and again: those of queues. The steps of a message are
 * put into streams any number of times; each wait ends the start before it. */
#include <stdlib.h>

#include "mpi/reduce/stream_own.h"
#include "progress/engine.h"
#include "progress/gate.h"
#include "team/deferred_free.h"

/* Its call is `over` unless the stream waits for it. */
struct tutti_persistent_message {
    struct proxy proxy; /* of this message alone */
    struct proxy_call *call;
};

static int persistent_fault(const struct tutti_persistent_message *message)
{
    return atomic_load(&message->proxy.base.failed);
}

static int persistent_is_over(void *with)
{
    struct proxy_call *const call = with;
    return atomic_load_explicit(&call->over, memory_order_acquire);
}

static void stream_persistent_close(struct tutti_persistent_message *message)
{
    if (!message)
        return;
    struct proxy *const proxy = &message->proxy;
    struct proxy_call *const call = message->call;
    const int failed = persistent_fault(message) != TUTTI_OK;
    if (call && call->message && call->message->persistent && !failed && !persistent_is_over(call) &&
        tutti_progress_wait(&(const struct tutti_wait){.done = persistent_is_over, .with = call, .seconds = 1}) !=
            TUTTI_OK)
        return; /* a stream waits for it */
    tutti_host_steps_close(proxy->steps, !failed);
    tutti_deferred_free_release(proxy->node);
    if (failed) /* kernels and the host may still use it */
        return;
    if (call)
        tutti_proxy_call_free(call);
    free(message);
}

static int persistent_open(struct tutti_node *node, int gpu, MPI_Comm comm, const struct tutti_stream_message *args,
                           struct tutti_persistent_message **out)
{
    struct tutti_persistent_message *const made = calloc(1, sizeof *made);
    if (!made)
        return TUTTI_ERR_MEMORY;
    made->proxy.own = comm;
    int status = tutti_proxy_steps_open(&made->proxy, node, gpu, tutti_node_size(node));
    if (status != TUTTI_OK) {
        free(made);
        return status;
    }
    made->call = tutti_proxy_call_new(&made->proxy, args->name);
    status = made->call ? tutti_proxy_message_new(made->call, args) : TUTTI_ERR_MEMORY;
    tutti_deferred_free_hold(node);
    if (status != TUTTI_OK) {
        stream_persistent_close(made);
        return status;
    }
    made->call->message->persistent = 1;
    made->call->step.over = tutti_proxy_call_over;
    atomic_store(&made->call->over, 1);
    *out = made;
    return TUTTI_OK;
}

static void persistent_match(struct tutti_persistent_message *message, int tag, size_t bytes)
{
    message->call->message->tag = tag;
    message->call->message->bytes = bytes;
}

/* Something is in the stream, and what belongs to it may not be. */
static int persistent_put(struct tutti_persistent_message *message, int status)
{
    int none = TUTTI_OK;
    if (status != TUTTI_OK)
        atomic_compare_exchange_strong(&message->proxy.base.failed, &none, status);
    return status;
}

static int stream_persistent_start(struct tutti_persistent_message *message, struct tutti_stream *stream)
{
    struct proxy *const proxy = &message->proxy;
    struct proxy_call *const call = message->call;
    int status = persistent_fault(message);
    const int captured = status == TUTTI_OK ? tutti_door.device->stream.capturing(stream) : status;
    if (captured < 0)
        return captured;
    if (captured && !call->captured)
        tutti_gate_captured(1);
    call->captured |= captured;
    proxy->stream = stream;
    if (call->message->send)
        status = tutti_proxy_message_copy(call->message, 0);
    if (status == TUTTI_OK)
        status = tutti_host_step_post(proxy->steps, stream, &call->message->post);
    return persistent_put(message, status);
}

static int persistent_wait(struct tutti_persistent_message *message, struct tutti_stream *stream)
{
    struct proxy *const proxy = &message->proxy;
    int status = tutti_host_step_enqueue(proxy->steps, stream, &message->call->step);
    proxy->stream = stream;
    if (status == TUTTI_OK && !message->call->message->send)
        status = tutti_proxy_message_copy(message->call->message, 1);
    return persistent_put(message, status);
}

const struct tutti_persistent_messages tutti_persistent_messages = {.open = persistent_open,
                                                                    .match = persistent_match,
                                                                    .start = stream_persistent_start,
                                                                    .wait = persistent_wait,
                                                                    .fault = persistent_fault,
                                                                    .close = stream_persistent_close};

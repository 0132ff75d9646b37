/* Messages in stream order between nodes. The stream copies what is sent into host memory and notifies the host, which
 * sends it on the proxy's communicator: the stream waits for nothing. A receive is posted when the stream reaches it;
 * the stream waits at the receive's wait, then copies the message to its buffer. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "core/clock.h"
#include "dtype/pack.h"
#include "mpi/bounce/stage.h"
#include "mpi/comm/starting.h"
#include "mpi/enqueue/statuses.h"
#include "mpi/reduce/stream_own.h"

/* ---- on the server's thread ---- */

/* The stream has reached the message: its bytes are in host memory, or its receive begins. */
static void message_post(struct tutti_host_step *step)
{
    struct proxy_message *const m = (struct proxy_message *)(void *)step;
    struct proxy *const proxy = m->call->of;
    void *const memory = m->memory ? m->memory->memory : NULL;
    int none = TUTTI_OK;
    if (m->open != 0) /* the stream has not waited for the start before */
        atomic_compare_exchange_strong(&proxy->base.failed, &none, TUTTI_ERR_MISMATCH);
    if (atomic_load(&proxy->base.failed) != TUTTI_OK)
        return;
    tutti_proxy_call_begun(m->call);
    m->open = 1;
    m->done = m->waiting = 0;
    atomic_fetch_add(&proxy->open, 1);
    TUTTI_INSIDE();
    tutti_deferred_call_starting++;
    const int code = m->send ? tutti_next.MPI_Isend(memory, (int)m->bytes, tutti_handles.byte, m->peer, m->tag,
                                                    proxy->own, &m->call->request)
                             : tutti_next.MPI_Irecv(memory, (int)m->bytes, tutti_handles.byte, m->peer, m->tag,
                                                    proxy->own, &m->call->request);
    tutti_deferred_call_starting--;
    m->open = code == MPI_SUCCESS ? 1 : -1;
}

/* The stream continues. */
static void message_release(struct proxy_message *m)
{
    if (m->on_host && !m->send && m->done && m->bytes > 0)
        memcpy(m->run, m->memory->memory, (size_t)tutti_received(&m->found));
    if (m->status && m->done)
        tutti_enqueue_status_set(m->status, m->found.MPI_SOURCE, m->found.MPI_TAG, (size_t)tutti_received(&m->found));
    m->waiting = 0;
    tutti_host_step_end(&m->call->step);
}

static void message_wait(struct tutti_host_step *step)
{
    struct proxy_call *const call = (struct proxy_call *)step;
    struct proxy_message *const m = call->message;
    call->since = tutti_now_ns();
    m->waiting = 1;
    if (m->open == 0 || atomic_load(&call->of->base.failed) != TUTTI_OK)
        message_release(m);
}

int tutti_proxy_message_waits(const struct proxy_call *call)
{
    return call->message->waiting;
}

int tutti_proxy_message_poll(struct proxy_call *call)
{
    struct proxy_message *const m = call->message;
    int ended = 0;
    if (m->open < 0 || tutti_next.MPI_Test(&call->request, &ended, &m->found) != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    return ended;
}

void tutti_proxy_message_ended(struct proxy_call *call, int status)
{
    struct proxy_message *const m = call->message;
    atomic_fetch_sub(&call->of->open, 1);
    if (status > 0) {
        m->open = 0;
        m->done = 1;
        tutti_count_staged(call->name, TUTTI_REASON_NODES, NULL, m->bytes);
    }
    if (m->waiting)
        message_release(m);
    if (m->send && status > 0)
        tutti_proxy_call_passed(call);
}

/* ---- on the program's thread ---- */

/* Between the buffer and host memory, in the stream: by the step's kernel if it is a short run, otherwise by itself.
 * out: to the buffer, behind the step. */
static int message_copy(const struct proxy_message *m, int out)
{
    const struct proxy *const proxy = m->call->of;
    char *const memory = m->memory ? m->memory->memory : NULL;
    if (m->on_host)
        return tutti_door.device->stream.copy(proxy->stream, memory, m->run, m->bytes);
    if (m->run)
        return tutti_pack_run_enqueue(proxy->stream, proxy->gpu, out ? m->run : memory, out ? memory : m->run,
                                      m->bytes);
    const struct tutti_pack_job job =
        tutti_elements_job(out ? TUTTI_UNPACK : TUTTI_PACK, &m->elements, 0, m->bytes, memory);
    return tutti_pack_enqueue(proxy->stream, proxy->gpu, &job, 1);
}

/* The copy and a step, as they follow each other. */
static int message_step(struct proxy_call *call, int out)
{
    const struct proxy *const proxy = call->of;
    const struct proxy_message *const m = call->message;
    char *const memory = m->memory ? m->memory->memory : NULL;
    struct tutti_host_copies copies = {0};
    const enum tutti_host_when when = out ? TUTTI_HOST_AFTER : TUTTI_HOST_BEFORE;
    const int is_copied =
        m->bytes == 0 || (m->on_host && !m->send) ||
        (!m->on_host && m->run &&
         tutti_host_copies_add(&copies, when, out ? m->run : memory, out ? memory : m->run, m->bytes));
    int status = is_copied || out ? TUTTI_OK : message_copy(m, 0);
    if (status == TUTTI_OK)
        status = out ? tutti_host_step_enqueue(proxy->steps, proxy->stream, &call->step, &copies)
                     : tutti_host_step_post(proxy->steps, proxy->stream, &call->message->post, &copies);
    return status != TUTTI_OK || is_copied || !out ? status : message_copy(m, 1);
}

void tutti_proxy_message_free(struct proxy_call *call)
{
    struct proxy_message *const m = call->message;
    if (m->elements.plan)
        tutti_plan_drop(m->elements.plan);
    if (m->open != 0) /* after a failure: the MPI may still use it */
        return;
    tutti_bounce_give(m->memory);
    free(m);
}

static int message_new(struct proxy_call *call, const struct tutti_stream_message *args)
{
    struct proxy_message *const m = calloc(1, sizeof *m);
    if (!m)
        return TUTTI_ERR_MEMORY;
    m->post = (struct tutti_host_step){.begin = message_post};
    m->call = call;
    m->send = args->send;
    m->peer = args->peer;
    m->tag = args->tag;
    m->bytes = args->bytes;
    m->run = args->run;
    m->on_host = args->on_host;
    m->status = args->status;
    call->message = m;
    call->step = (struct tutti_host_step){.begin = message_wait, .over = args->send ? NULL : tutti_proxy_call_over};
    if (!m->run && m->bytes > 0) {
        m->elements = *args->elements;
        m->elements.plan = tutti_plan_hold(args->elements->plan);
    }
    if (m->bytes > 0)
        m->memory = tutti_bounce_take(&tutti_bounce_pinned, -1, m->bytes);
    return m->bytes == 0 || m->memory ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

int tutti_proxy_message(const struct tutti_comm *comm, const struct tutti_stream_message *args, void **started)
{
    struct proxy *const proxy = proxy_of(comm);
    struct proxy_call *const call = tutti_proxy_call_new(proxy, args->name);
    if (!call)
        return TUTTI_ERR_MEMORY;
    int is_put = 0, status = args->bytes > INT_MAX ? TUTTI_ERR_UNAVAILABLE : tutti_proxy_call_prepare(call);
    if (status == TUTTI_OK)
        status = message_new(call, args);
    if (status == TUTTI_OK && args->send && call->captured) { /* the memory has a message of the launch before */
        status = tutti_host_step_enqueue(proxy->steps, proxy->stream, &call->step, NULL);
        is_put = 1;
    }
    if (status == TUTTI_OK) { /* a receive keeps what a shorter message leaves */
        status = message_step(call, 0);
        is_put = 1;
    }
    if (status == TUTTI_OK && !started && !args->send)
        status = message_step(call, 1);
    if (started)
        *started = args->send ? NULL : call; /* a send needs no wait, and may be freed before */
    return tutti_proxy_call_finish(call, status, is_put);
}

int tutti_proxy_message_wait(const struct tutti_comm *comm, void *started, MPI_Status *status)
{
    struct proxy_call *const call = started;
    const struct proxy *const proxy = proxy_of(comm);
    if (!call)
        return TUTTI_OK;
    call->message->status = status;
    const int put = message_step(call, 1);
    return put == TUTTI_OK && !call->captured ? tutti_door.device->event.record(call->event, proxy->stream) : put;
}

/* Messages of queues between nodes, on the server's thread, which calls the MPI and never the device. The pieces of a
 * message have one tag, so the MPI matches them in their order. */
#include <stdlib.h>

#include "bounce/bounce.h"
#include "core/clock.h"
#include "core/log.h"
#include "mpi/comm/starting.h"
#include "mpi/real/errors.h"
#include "mpi/reduce/stream_own.h"
#include "mpi/reduce/stream_persistent.h"

/* Of the pieces of a send. More would take turns in an MPI's shared memory. */
enum { PERSISTENT_OPEN = 4 };

static __thread struct tutti_persistent_message *persistent_open_list;

static int persistent_has_failed(const struct tutti_persistent_message *m)
{
    return atomic_load(&m->failed) != TUTTI_OK;
}

static void persistent_release(struct tutti_persistent_message *m)
{
    struct persistent_batch *const batch = m->waiter;
    m->waiter = NULL;
    if (batch && --batch->pending == 0)
        tutti_host_step_end(&batch->step);
}

static void persistent_fail(struct tutti_persistent_message *m, int status)
{
    int none = TUTTI_OK;
    if (atomic_compare_exchange_strong(&m->failed, &none, status))
        tutti_error("%s, in the order of a stream, has failed: %s", m->name, tutti_status_text(status));
}

/* Gives pieces that the stream has reached to the MPI. An MPI code. */
static int persistent_give(struct tutti_persistent_message *m)
{
    char *const memory = m->on_host ? m->run : m->memory ? m->memory->memory : NULL;
    int code = MPI_SUCCESS;
    while (m->started < m->posted && (!m->send || m->started - m->ended < PERSISTENT_OPEN) && code == MPI_SUCCESS) {
        const size_t at = m->started * m->each, left = m->bytes - at;
        const int bytes = (int)(left < m->each ? left : m->each);
        MPI_Request *const request = &m->request[m->started++];
        code = m->send
                   ? tutti_next.MPI_Isend(memory + at, bytes, tutti_handles.byte, m->peer, m->tag, m->comm, request)
                   : tutti_next.MPI_Irecv(memory + at, bytes, tutti_handles.byte, m->peer, m->tag, m->comm, request);
    }
    return code;
}

static void part_post(const struct persistent_part *part)
{
    struct tutti_persistent_message *const m = part->message;
    if (persistent_has_failed(m))
        return;
    if (part->from == 0 && m->ended < m->posted) { /* the stream has not waited for the start before */
        persistent_fail(m, TUTTI_ERR_MISMATCH);
        return;
    }
    if (part->from == 0)
        m->posted = m->started = m->ended = 0;
    m->posted = part->to;
    if (!m->is_open) {
        m->is_open = 1;
        m->next = persistent_open_list;
        persistent_open_list = m;
    }
    tutti_deferred_call_starting++;
    if (persistent_give(m) != MPI_SUCCESS)
        persistent_fail(m, TUTTI_ERR_TRANSPORT);
    tutti_deferred_call_starting--;
}

void tutti_persistent_post(struct tutti_host_step *step)
{
    struct persistent_batch *const batch = (struct persistent_batch *)(void *)step;
    TUTTI_INSIDE();
    for (size_t i = 0; i < batch->n; i++)
        part_post(&batch->part[i]);
    if (!batch->is_kept)
        free(batch);
}

void tutti_persistent_wait(struct tutti_host_step *step)
{
    struct persistent_batch *const batch = (struct persistent_batch *)(void *)step;
    batch->pending = 0;
    for (size_t i = 0; i < batch->n; i++) {
        struct tutti_persistent_message *const m = batch->part[i].message;
        atomic_fetch_add(&m->waits, 1);
        if (persistent_has_failed(m) || m->posted == 0 || m->ended >= batch->part[i].to)
            continue;
        m->waiter = batch;
        m->until = batch->part[i].to;
        m->since = tutti_now_ns();
        m->reported = 0;
        batch->pending++;
    }
    if (batch->pending == 0)
        tutti_host_step_end(&batch->step);
}

void tutti_persistent_over(struct tutti_host_step *step)
{
    struct persistent_batch *const batch = (struct persistent_batch *)(void *)step;
    for (size_t i = 0; i < batch->n; i++)
        atomic_fetch_sub_explicit(&batch->part[i].message->waits, 1, memory_order_release);
    if (!batch->is_kept)
        free(batch);
}

/* 1: it has ended; 0: not yet; or a negative status. */
static int persistent_advance(struct tutti_persistent_message *m)
{
    int ended = 1, code = MPI_SUCCESS;
    while (ended && m->ended < m->started && code == MPI_SUCCESS) {
        code = tutti_next.MPI_Test(&m->request[m->ended], &ended, MPI_STATUS_IGNORE);
        m->ended += ended && code == MPI_SUCCESS;
        if (code == MPI_SUCCESS)
            code = persistent_give(m);
    }
    if (code != MPI_SUCCESS)
        return TUTTI_ERR_TRANSPORT;
    if (m->ended == m->pieces)
        return 1;
    return m->waiter && m->ended < m->until ? tutti_proxy_look_at_time(m->since, &m->reported, m->name) : 0;
}

void tutti_persistent_poll(void)
{
    for (struct tutti_persistent_message **at = &persistent_open_list, *m; (m = *at) != NULL;) {
        tutti_deferred_call_starting++;
        const int status = persistent_has_failed(m) ? atomic_load(&m->failed) : persistent_advance(m);
        tutti_deferred_call_starting--;
        if (status < 0)
            persistent_fail(m, status);
        if (status != 0) {
            *at = m->next;
            m->is_open = 0;
        } else {
            at = &m->next;
        }
        if (status > 0)
            tutti_count_staged(m->name, TUTTI_REASON_NODES, NULL, m->bytes);
        if (status < 0 || m->ended >= m->until)
            persistent_release(m);
    }
}

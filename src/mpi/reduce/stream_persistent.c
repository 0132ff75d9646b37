/* Messages of queues between nodes, on the program's thread. Their steps are put into streams any number of times; each
 * wait ends the start before it. All short messages of a start are packed by one launch and share a step of the host,
 * as those of a wait do. A long message moves in pieces: the MPI has one while the stream copies the next. */
#include "mpi/reduce/stream_persistent.h"

#include <stdlib.h>

#include "bounce/bounce.h"
#include "core/settings.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "mpi/reduce/stream_own.h"
#include "progress/engine.h"
#include "progress/gate.h"
#include "team/deferred_free.h"

enum {
    PERSISTENT_PARTS = 4,              /* pieces are as long as those of collectives in stream order */
    PERSISTENT_PIECES = 64,            /* of a message, at most, */
    PERSISTENT_PIECE_MOST = 1 << 30,   /* until they would be longer than this */
    PERSISTENT_KERNEL_MOST = 256 << 10 /* bytes of a run that a kernel copies, in less time than the driver does */
};

static size_t persistent_piece(size_t bytes)
{
    const size_t usual = ((size_t)tutti_settings()->nodes_piece_kb << 10) / PERSISTENT_PARTS;
    const size_t least = (bytes + PERSISTENT_PIECES - 1) / PERSISTENT_PIECES;
    const size_t piece = usual > least ? usual : least;
    return piece > PERSISTENT_PIECE_MOST ? PERSISTENT_PIECE_MOST : (piece + 63) & ~(size_t)63;
}

static int persistent_fault(const struct tutti_persistent_message *m)
{
    return atomic_load(&m->failed);
}

/* ---- life ---- */

static int persistent_no_stream_waits(void *with)
{
    return atomic_load_explicit(&((struct tutti_persistent_message *)with)->waits, memory_order_acquire) == 0;
}

static void stream_persistent_close(struct tutti_persistent_message *m)
{
    if (!m)
        return;
    const int failed = persistent_fault(m) != TUTTI_OK;
    if (!failed && !persistent_no_stream_waits(m) &&
        tutti_progress_wait(&(const struct tutti_wait){.done = persistent_no_stream_waits, .with = m, .seconds = 1}) !=
            TUTTI_OK)
        return; /* a stream waits for it */
    tutti_host_steps_close(m->steps, !failed);
    tutti_deferred_free_release(m->node);
    if (failed) /* kernels and the host may still use it */
        return;
    if (m->captured)
        tutti_gate_captured(-1);
    for (struct persistent_batch *batch = m->kept, *next; batch; batch = next) {
        next = batch->next;
        free(batch);
    }
    tutti_bounce_give(m->memory);
    if (m->elements.plan)
        tutti_plan_drop(m->elements.plan);
    free(m->request);
    free(m);
}

/* What the message needs beside its steps. */
static int persistent_take(struct tutti_persistent_message *m, const struct tutti_elements *elements)
{
    int status = TUTTI_OK;
    if (m->bytes > 0 && !m->on_host) {
        m->elements = *elements;
        m->elements.plan = tutti_plan_hold(elements->plan);
        m->memory = tutti_bounce_take(&tutti_bounce_pinned, -1, m->bytes);
        status = m->memory ? TUTTI_OK : TUTTI_ERR_MEMORY;
        if (status == TUTTI_OK && !m->run)
            status = tutti_pack_prepare(m->gpu, m->elements.plan);
    }
    return status;
}

static int persistent_open(struct tutti_node *node, int gpu, MPI_Comm comm, const struct tutti_stream_message *args,
                           struct tutti_persistent_message **out)
{
    struct tutti_persistent_message *const m = calloc(1, sizeof *m);
    if (!m)
        return TUTTI_ERR_MEMORY;
    m->name = args->name;
    m->comm = comm;
    m->send = args->send;
    m->peer = args->peer;
    m->tag = args->tag;
    m->gpu = gpu;
    m->node = node;
    m->run = args->run;
    m->on_host = args->on_host;
    m->bytes = args->bytes;
    int status = tutti_proxy_steps_open(node, gpu, tutti_node_size(node), &m->steps);
    if (status != TUTTI_OK) {
        free(m);
        return status;
    }
    tutti_deferred_free_hold(node);
    status = persistent_take(m, args->elements);
    if (status == TUTTI_OK)
        *out = m;
    else
        stream_persistent_close(m);
    return status;
}

static int persistent_match(struct tutti_persistent_message *m, int tag, size_t bytes, size_t piece)
{
    m->tag = tag;
    m->bytes = bytes;
    m->each = piece;
    m->pieces = bytes > piece ? (bytes - 1) / piece + 1 : 1;
    m->request = calloc(m->pieces, sizeof(MPI_Request));
    return m->request ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

/* Messages that are started together, or waited for. */
struct persistent_call {
    size_t n;
    struct tutti_persistent_message *const *messages;
    struct tutti_stream *stream;
    int captured;
};

/* ---- copies, between the buffer and host memory ---- */

static int persistent_is_copied(const struct tutti_persistent_message *m)
{
    return m->bytes > 0 && !m->on_host;
}

/* Moves piece by piece: copies and steps take turns. */
static int persistent_is_long(const struct tutti_persistent_message *m)
{
    return m->pieces > 1 && persistent_is_copied(m);
}

/* The copies of piece `at` of all messages of this direction that are long, or of those that are not: by one kernel, or
 * copies of runs. */
static int persistent_copy(const struct persistent_call *call, int send, int is_long, size_t at)
{
    struct tutti_pack_job *const jobs = malloc(call->n * sizeof *jobs);
    unsigned packed = 0;
    int status = jobs ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < call->n && status == TUTTI_OK; i++) {
        struct tutti_persistent_message *const m = call->messages[i];
        if (m->send != send || at >= m->pieces || !persistent_is_copied(m) || persistent_is_long(m) != is_long)
            continue;
        const size_t first = at * m->each, left = m->bytes - first, bytes = left < m->each ? left : m->each;
        char *const memory = (char *)m->memory->memory + first;
        if (!m->run || bytes <= PERSISTENT_KERNEL_MOST)
            jobs[packed++] = tutti_elements_job(send ? TUTTI_PACK : TUTTI_UNPACK, &m->elements, first, bytes, memory);
        else
            status = tutti_door.device->stream.copy(call->stream, send ? memory : m->run + first,
                                                    send ? m->run + first : memory, bytes);
    }
    if (status == TUTTI_OK && packed > 0)
        status = tutti_pack_enqueue(call->stream, call->messages[0]->gpu, jobs, packed);
    free(jobs);
    return status;
}

/* 1: the step that starts the short messages of this direction, or waits for them, makes their copies. */
static int persistent_copied_by_step(const struct persistent_call *call, int send, struct tutti_host_copies *copies)
{
    const enum tutti_host_when when = send ? TUTTI_HOST_BEFORE : TUTTI_HOST_AFTER;
    *copies = (struct tutti_host_copies){0};
    for (size_t i = 0; i < call->n; i++) {
        struct tutti_persistent_message *const m = call->messages[i];
        if (m->send != send || !persistent_is_copied(m) || persistent_is_long(m))
            continue;
        void *const memory = m->memory->memory;
        if (!m->run || !tutti_host_copies_add(copies, when, send ? memory : m->run, send ? m->run : memory, m->bytes)) {
            *copies = (struct tutti_host_copies){0};
            return 0;
        }
    }
    return 1;
}

/* ---- steps of the host ---- */

enum persistent_what { PERSISTENT_STARTED, PERSISTENT_WAITED, PERSISTENT_WAITED_LAST, PERSISTENT_PIECE };

/* Which pieces of the message belong to a batch of that kind; 0: none. at: of PERSISTENT_PIECE, with its direction. */
static int part_of(struct tutti_persistent_message *m, enum persistent_what what, int send, size_t at,
                   struct persistent_part *part)
{
    const int is_long = persistent_is_long(m);
    *part = (struct persistent_part){m, 0, m->pieces};
    switch (what) {
    case PERSISTENT_STARTED:
        return !m->send || !is_long;
    case PERSISTENT_WAITED:
        return m->pieces == 1;
    case PERSISTENT_WAITED_LAST:
        return m->pieces > 1 && (m->send || !is_long);
    case PERSISTENT_PIECE:
        *part = (struct persistent_part){m, at, at + 1};
        return is_long && m->send == send && at < m->pieces;
    }
    return 0;
}

/* Puts one step into the stream for these parts, if there are any. *parts: how many. copies: as
 * tutti_host_step_enqueue() has them. */
static int persistent_step(const struct persistent_call *call, enum persistent_what what, int send, size_t at,
                           const struct tutti_host_copies *copies, size_t *parts)
{
    struct persistent_batch *const batch = malloc(sizeof *batch + call->n * sizeof *batch->part);
    const int posts = what == PERSISTENT_STARTED || (what == PERSISTENT_PIECE && send);
    if (!batch)
        return TUTTI_ERR_MEMORY;
    batch->step = (struct tutti_host_step){.begin = posts ? tutti_persistent_post : tutti_persistent_wait,
                                           .over = posts ? NULL : tutti_persistent_over};
    batch->is_kept = call->captured;
    batch->pending = 0;
    batch->n = 0;
    for (size_t i = 0; i < call->n; i++)
        batch->n += part_of(call->messages[i], what, send, at, &batch->part[batch->n]) != 0;
    *parts = batch->n;
    if (batch->n == 0) {
        free(batch);
        return TUTTI_OK;
    }
    struct tutti_persistent_message *const first = batch->part[0].message;
    if (call->captured) {
        batch->next = first->kept;
        first->kept = batch;
    }
    /* Once it is in the stream, the server frees it. */
    const int status = posts ? tutti_host_step_post(first->steps, call->stream, &batch->step, copies)
                             : tutti_host_step_enqueue(first->steps, call->stream, &batch->step, copies);
    if (status != TUTTI_OK && !call->captured)
        free(batch);
    return status;
}

/* Something may be in the stream, and what belongs to it may not be. */
static int persistent_put(const struct persistent_call *call, int status)
{
    for (size_t i = 0; i < call->n && status != TUTTI_OK; i++) {
        int none = TUTTI_OK;
        atomic_compare_exchange_strong(&call->messages[i]->failed, &none, status);
    }
    return status;
}

static int persistent_is_captured(const struct persistent_call *call)
{
    for (size_t i = 0; i < call->n && call->captured > 0; i++) {
        if (!call->messages[i]->captured)
            tutti_gate_captured(1);
        call->messages[i]->captured = 1;
    }
    return call->captured < 0 ? call->captured : TUTTI_OK;
}

static int stream_persistent_start(size_t n, struct tutti_persistent_message *const messages[],
                                   struct tutti_stream *stream)
{
    const struct persistent_call call = {n, messages, stream, tutti_door.device->stream.capturing(stream)};
    struct tutti_host_copies copies;
    size_t parts = 1;
    int status = persistent_is_captured(&call);
    for (size_t i = 0; i < n && status == TUTTI_OK; i++)
        status = persistent_fault(messages[i]);
    if (status != TUTTI_OK)
        return status;
    if (!persistent_copied_by_step(&call, 1, &copies))
        status = persistent_copy(&call, 1, 0, 0);
    if (status == TUTTI_OK)
        status = persistent_step(&call, PERSISTENT_STARTED, 0, 0, &copies, &parts);
    parts = 1;
    for (size_t at = 0; status == TUTTI_OK && parts > 0; at++) {
        status = persistent_copy(&call, 1, 1, at);
        if (status == TUTTI_OK)
            status = persistent_step(&call, PERSISTENT_PIECE, 1, at, NULL, &parts);
    }
    return persistent_put(&call, status);
}

static int persistent_wait(size_t n, struct tutti_persistent_message *const messages[], struct tutti_stream *stream)
{
    const struct persistent_call call = {n, messages, stream, tutti_door.device->stream.capturing(stream)};
    struct tutti_host_copies copies;
    size_t parts = 1;
    int status = persistent_is_captured(&call);
    const int by_step = persistent_copied_by_step(&call, 0, &copies);
    if (status == TUTTI_OK)
        status = persistent_step(&call, PERSISTENT_WAITED, 0, 0, &copies, &parts);
    if (status == TUTTI_OK && !by_step)
        status = persistent_copy(&call, 0, 0, 0);
    parts = 1;
    for (size_t at = 0; status == TUTTI_OK && parts > 0; at++) {
        status = persistent_step(&call, PERSISTENT_PIECE, 0, at, NULL, &parts);
        if (status == TUTTI_OK)
            status = persistent_copy(&call, 0, 1, at);
    }
    if (status == TUTTI_OK)
        status = persistent_step(&call, PERSISTENT_WAITED_LAST, 0, 0, NULL, &parts);
    return persistent_put(&call, status);
}

const struct tutti_persistent_messages tutti_persistent_messages = {.open = persistent_open,
                                                                    .piece = persistent_piece,
                                                                    .match = persistent_match,
                                                                    .start = stream_persistent_start,
                                                                    .wait = persistent_wait,
                                                                    .fault = persistent_fault,
                                                                    .close = stream_persistent_close};

/* Collectives of a subset: schedules in which each rank sends to each, all by one tag. Ranks make collectives in one
 * order, and all messages of one are posted when it begins, so messages of two collectives cannot be mistaken. */
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "progress/engine.h"
#include "sched/subset_own.h"
#include "sched/tasks.h"

enum { PIECE = 1 << 30 };

/* One collective: `bytes` from in + r * in_step go to rank r, those of rank r are received at out + r * out_step. */
struct subset_exchange {
    struct tutti_sched *sched;
    struct tutti_transport *transport;
    const char *in;
    char *out;
    size_t bytes, in_step, out_step;
    int lost; /* the transport may still use the memory */
    /* Of an allreduce: */
    int64_t *words, *theirs; /* of all ranks */
    size_t count;
    enum tutti_combine how;
    char none[2]; /* of a barrier */
    struct tutti_transfer_task task[];
};

static void exchange_ended(void *with, uint64_t number, enum tutti_task_end how)
{
    (void)number;
    ((struct subset_exchange *)with)->lost |= how == TUTTI_TASK_LOST;
}

static const struct tutti_task_hooks exchange_hooks = {.ended = exchange_ended};

static void exchange_free(struct subset_exchange *x)
{
    tutti_sched_free(x->sched);
    if (x->lost)
        return; /* cppcheck-suppress memleak */
    free(x->theirs);
    free(x);
}

/* Receives first, so that messages find them. */
static int exchange_build(struct subset_exchange *x)
{
    const int size = x->transport->size, rank = x->transport->rank;
    int status = TUTTI_OK;
    for (int side = 0; side < 2 && status >= 0; side++) {
        for (int r = 0; r < size && status >= 0; r++) {
            struct tutti_transfer_task *task = &x->task[side * size + r];
            *task = (struct tutti_transfer_task){.user = {&exchange_hooks, x},
                                                 .transport = x->transport,
                                                 .memory = side == 0 ? x->out + (size_t)r * x->out_step
                                                                     : (char *)x->in + (size_t)r * x->in_step,
                                                 .bytes = x->bytes,
                                                 .rank = r,
                                                 .tag = TUTTI_SUBSET_TAGS};
            if (r != rank)
                status = (side == 0 ? tutti_task_receive : tutti_task_send)(x->sched, task, (uint64_t)r);
        }
    }
    return status < 0 ? status : TUTTI_OK;
}

static struct subset_exchange *exchange_new(struct tutti_transport *transport)
{
    struct subset_exchange *x = calloc(1, sizeof *x + 2 * (size_t)transport->size * sizeof *x->task);
    if (!x)
        return NULL;
    x->transport = transport;
    x->sched = tutti_sched_new("collective among some ranks");
    if (x->sched)
        return x;
    free(x);
    return NULL;
}

/* The buffers and steps are set. On failure the exchange is gone. */
static int exchange_start(struct subset_exchange *x)
{
    const int status = exchange_build(x);
    const size_t rank = (size_t)x->transport->rank;
    if (status != TUTTI_OK) {
        exchange_free(x);
        return status;
    }
    if (x->bytes > 0 && x->out + rank * x->out_step != x->in + rank * x->in_step)
        memcpy(x->out + rank * x->out_step, x->in + rank * x->in_step, x->bytes);
    tutti_sched_start(x->sched);
    return TUTTI_OK;
}

/* It has ended: its status. The exchange is gone. */
static int exchange_finish(struct subset_exchange *x)
{
    const int status = tutti_sched_status(x->sched);
    if (status == TUTTI_OK && x->words) {
        memcpy(x->words, x->theirs, x->count * sizeof *x->words);
        for (size_t i = x->count; i < x->count * (size_t)x->transport->size; i++) {
            int64_t *const word = &x->words[i % x->count];
            if (x->how == TUTTI_COMBINE_MIN ? x->theirs[i] < *word : x->theirs[i] > *word)
                *word = x->theirs[i];
        }
    }
    exchange_free(x);
    return status;
}

static int exchange_blocks(struct tutti_transport *transport, const void *in, size_t in_step, void *out,
                           size_t out_step, size_t bytes, struct subset_exchange **began)
{
    struct subset_exchange *x = exchange_new(transport);
    if (!x)
        return TUTTI_ERR_MEMORY;
    x->in = in ? in : x->none;
    x->out = out ? out : x->none + 1;
    x->in_step = in_step;
    x->out_step = out_step;
    x->bytes = bytes;
    *began = x;
    return exchange_start(x);
}

static int exchange_words(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how,
                          struct subset_exchange **began)
{
    struct subset_exchange *x = exchange_new(transport);
    if (!x)
        return TUTTI_ERR_MEMORY;
    x->theirs = malloc(count * (size_t)transport->size * sizeof *words + 1);
    if (!x->theirs) {
        exchange_free(x);
        return TUTTI_ERR_MEMORY;
    }
    x->words = words;
    x->count = count;
    x->how = how;
    x->in = (const char *)words;
    x->out = (char *)x->theirs;
    x->bytes = x->out_step = count * sizeof *words;
    *began = x;
    return exchange_start(x);
}

/* ---- nonblocking ---- */

static int put_exchange(struct tutti_pending *out, int status, struct subset_exchange *x)
{
    if (status == TUTTI_OK)
        out->handle = (uintptr_t)x;
    return status;
}

int tutti_subset_iallgather(struct tutti_transport *transport, const void *in, void *to, size_t bytes,
                            struct tutti_pending *out)
{
    struct subset_exchange *x = NULL;
    const int status = exchange_blocks(transport, in, 0, to, bytes, bytes, &x);
    return put_exchange(out, status, x);
}

int tutti_subset_iallreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how,
                            struct tutti_pending *out)
{
    struct subset_exchange *x = NULL;
    const int status = exchange_words(transport, words, count, how, &x);
    return put_exchange(out, status, x);
}

int tutti_subset_pending_test(struct tutti_transport *transport, struct tutti_pending *pending, int *done)
{
    struct subset_exchange *x = (struct subset_exchange *)pending->handle;
    (void)transport;
    tutti_progress_poll();
    *done = tutti_sched_done(x->sched);
    return *done ? exchange_finish(x) : TUTTI_OK;
}

/* ---- blocking ---- */

static int exchange_wait(int status, struct subset_exchange *x)
{
    if (status != TUTTI_OK)
        return status;
    (void)tutti_sched_wait(x->sched, "for a collective among some ranks", 1);
    return exchange_finish(x);
}

int tutti_subset_barrier(struct tutti_transport *transport)
{
    struct subset_exchange *x = NULL;
    const int status = exchange_blocks(transport, NULL, 0, NULL, 0, 0, &x);
    return exchange_wait(status, x);
}

/* In pieces that a message takes. */
static int exchange_pieces(struct tutti_transport *transport, const char *in, size_t in_step, char *out, size_t bytes)
{
    int status = TUTTI_OK;
    for (size_t at = 0; at < bytes && status == TUTTI_OK; at += PIECE) {
        struct subset_exchange *x = NULL;
        status =
            exchange_blocks(transport, in + at, in_step, out + at, bytes, bytes - at < PIECE ? bytes - at : PIECE, &x);
        status = exchange_wait(status, x);
    }
    return status;
}

int tutti_subset_allgather(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    return exchange_pieces(transport, in, 0, out, bytes);
}

int tutti_subset_alltoall(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    return exchange_pieces(transport, in, bytes, out, bytes);
}

int tutti_subset_allreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how)
{
    enum { MOST = PIECE / sizeof(int64_t) };
    int status = TUTTI_OK;
    for (size_t at = 0; at < count && status == TUTTI_OK; at += MOST) {
        struct subset_exchange *x = NULL;
        status = exchange_words(transport, words + at, count - at < MOST ? count - at : MOST, how, &x);
        status = exchange_wait(status, x);
    }
    return status;
}

#include "p2p/deferred.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "progress/engine.h"
#include "progress/fiber.h"

/* A transfer that a fiber has requested. It belongs to the list until `done`, then to the fiber. */
struct errand {
    struct errand *next;
    struct tutti_transport *over;
    void *memory;
    size_t bytes;
    int peer, tag, sends, synchronous;
    int begun;
    struct tutti_transfer transfer;
    struct tutti_transfer_status came;
    int status;
    atomic_int done;
};

static void errands_poll(void);
static struct tutti_step errands_step = {.name = "parts of collectives that the MPI carries", .poll = errands_poll};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects the list; held while the MPI is called */
static struct errand *first, **last = &first;

/* 1 if it has ended. */
static int errand_step(struct errand *errand)
{
    const struct tutti_transport_ops *ops = errand->over->ops;
    int done = 0;
    if (!errand->begun) {
        errand->begun = 1;
        errand->status = errand->sends ? ops->send(errand->over, errand->memory, errand->bytes, errand->peer,
                                                   errand->tag, errand->synchronous, &errand->transfer)
                                       : ops->receive(errand->over, errand->memory, errand->bytes, errand->peer,
                                                      errand->tag, &errand->transfer);
        if (errand->status != TUTTI_OK)
            return 1;
    }
    errand->status = ops->test(errand->over, &errand->transfer, errand->sends ? NULL : &errand->came, &done);
    return done || errand->status != TUTTI_OK;
}

static void errands_poll(void)
{
    if (pthread_mutex_trylock(&lock) != 0)
        return;
    for (struct errand **at = &first; *at;) {
        struct errand *errand = *at;
        if (!errand_step(errand)) {
            at = &errand->next;
            continue;
        }
        *at = errand->next;
        if (last == &errand->next)
            last = at;
        atomic_store_explicit(&errand->done, 1, memory_order_release); /* the fiber frees it */
        tutti_step_close(&errands_step);
    }
    pthread_mutex_unlock(&lock);
}

static int errand_give(struct tutti_transport *transport, const struct errand *what, struct tutti_transfer *out)
{
    struct errand *errand = malloc(sizeof *errand);
    if (!errand)
        return TUTTI_ERR_MEMORY;
    *errand = *what;
    errand->over = ((struct tutti_deferred *)(void *)transport)->over;
    errand->next = NULL;
    atomic_init(&errand->done, 0);
    tutti_progress_add(&errands_step);
    tutti_step_open(&errands_step);
    tutti_fiber_lock(&lock);
    *last = errand;
    last = &errand->next;
    pthread_mutex_unlock(&lock);
    out->handle = (uintptr_t)errand;
    return TUTTI_OK;
}

static int deferred_send(struct tutti_transport *transport, const void *memory, size_t bytes, int to, int tag,
                         int synchronous, struct tutti_transfer *out)
{
    const struct errand errand = {.memory = (void *)(uintptr_t)memory,
                                  .bytes = bytes,
                                  .peer = to,
                                  .tag = tag,
                                  .sends = 1,
                                  .synchronous = synchronous};
    return errand_give(transport, &errand, out);
}

static int deferred_receive(struct tutti_transport *transport, void *memory, size_t room, int from, int tag,
                            struct tutti_transfer *out)
{
    const struct errand errand = {.memory = memory, .bytes = room, .peer = from, .tag = tag};
    return errand_give(transport, &errand, out);
}

static int deferred_test(struct tutti_transport *transport, struct tutti_transfer *transfer,
                         struct tutti_transfer_status *came, int *done)
{
    struct errand *errand;
    (void)transport;
    memcpy(&errand, &transfer->handle, sizeof errand);
    *done = atomic_load_explicit(&errand->done, memory_order_acquire);
    if (!*done)
        return TUTTI_OK;
    const int status = errand->status;
    if (came)
        *came = errand->came;
    free(errand);
    return status;
}

static const struct tutti_transport_ops deferred_ops = {
    .send = deferred_send, .receive = deferred_receive, .test = deferred_test};

void tutti_deferred_over(struct tutti_deferred *deferred, struct tutti_transport *over)
{
    deferred->base = *over;
    deferred->base.ops = &deferred_ops;
    deferred->over = over;
}

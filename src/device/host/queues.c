#include "device/host/queues.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/once.h"
#include "core/settings.h"
#include "device/host/gpus.h"

enum { GPUS = TUTTI_HOST_GPUS_MOST, QUEUES_MOST = 32 };

struct tutti_host_queue {
    uint64_t taken, passed; /* under the lock */
    pthread_cond_t changed;
};

/* The last GPU is that of streams of no GPU in particular. */
static struct {
    atomic_uint streams;
    struct tutti_host_queue queue[TUTTI_HOST_QUEUE_KINDS][QUEUES_MOST];
} gpus[GPUS + 1];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct tutti_once queues_once = TUTTI_ONCE_INIT;

static void queues_make(void)
{
    for (int gpu = 0; gpu <= GPUS; gpu++) {
        for (int kind = 0; kind < TUTTI_HOST_QUEUE_KINDS; kind++) {
            for (int i = 0; i < QUEUES_MOST; i++)
                pthread_cond_init(&gpus[gpu].queue[kind][i].changed, NULL);
        }
    }
}

static unsigned queues_of(enum tutti_host_queue_kind kind)
{
    const struct tutti_settings *settings = tutti_settings();
    return (unsigned)(kind == TUTTI_HOST_QUEUE_COPIES ? settings->host_copy_queues : settings->host_queues);
}

static int queues_place(int gpu)
{
    return gpu >= 0 && gpu < GPUS ? gpu : GPUS;
}

int tutti_host_queues(void)
{
    return queues_of(TUTTI_HOST_QUEUE_KERNELS) > 0 || queues_of(TUTTI_HOST_QUEUE_COPIES) > 0;
}

unsigned tutti_host_queue_next(int gpu)
{
    return atomic_fetch_add(&gpus[queues_place(gpu)].streams, 1);
}

struct tutti_host_turn tutti_host_turn_take(int gpu, enum tutti_host_queue_kind kind, unsigned stream)
{
    const unsigned queues = queues_of(kind);
    if (queues == 0)
        return (struct tutti_host_turn){.queue = NULL};
    tutti_once(&queues_once, queues_make);
    struct tutti_host_queue *const queue = &gpus[queues_place(gpu)].queue[kind][stream % queues];
    pthread_mutex_lock(&lock);
    const struct tutti_host_turn turn = {queue, queue->taken++};
    pthread_mutex_unlock(&lock);
    return turn;
}

void tutti_host_turn_await(const struct tutti_host_turn *turn)
{
    if (!turn->queue)
        return;
    pthread_mutex_lock(&lock);
    while (turn->queue->passed != turn->number)
        pthread_cond_wait(&turn->queue->changed, &lock);
    pthread_mutex_unlock(&lock);
}

void tutti_host_turn_pass(const struct tutti_host_turn *turn)
{
    if (!turn->queue)
        return;
    pthread_mutex_lock(&lock);
    turn->queue->passed++;
    pthread_cond_broadcast(&turn->queue->changed);
    pthread_mutex_unlock(&lock);
}

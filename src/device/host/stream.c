/* Streams of the host device. A stream is a thread with a queue, asleep when the queue is empty and started when it is
 * first needed. Work for a stream that has nothing queued and waits for no event runs at once on the caller's thread:
 * handing it over would cost two switches. In streams of the program everything is handed over: work may wait for what
 * the caller has yet to put into another stream. In strict mode everything is handed over in all streams, now and then
 * after a delay, as kernels pause, so that a missing wait is seen; the delays follow from TUTTI_SEED. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/host/asked.h"
#include "device/host/event.h"
#include "device/host/gpus.h"
#include "device/host/host.h"
#include "device/host/places.h"
#include "device/host/work.h"

enum { QUEUE_MOST = 1024, DELAY_ONE_IN = 16, DELAY_MOST_NS = 200000 };

struct tutti_stream {
    struct tutti_stream *next; /* of those alive */
    int gpu;
    unsigned life; /* of the GPU's context in which it was made */
    int users;     /* its creator and its wrappers; under streams_lock */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct tutti_work *head, **tail;
    int queued;  /* and running */
    int at_once; /* a caller's thread runs the only work */
    int started, ends;
    int hand_over;  /* it is the program's, or queues are counted */
    unsigned queue; /* the number by which it was spread over queues */
    int status;     /* first failure of its work */
    unsigned jitter;
};

static struct tutti_stream *streams;
static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;

static int stream_run(struct tutti_work *work)
{
    switch (work->kind) {
    case TUTTI_WORK_RECORD:
        tutti_host_event_reach(work->event, work->number);
        tutti_host_event_drop(work->event);
        return TUTTI_OK;
    case TUTTI_WORK_WAIT:
        tutti_host_event_await(work->event, work->number);
        tutti_host_event_drop(work->event);
        return TUTTI_OK;
    default:
        return tutti_work_run(work);
    }
}

static void stream_delay(struct tutti_stream *stream)
{
    stream->jitter = stream->jitter * 1664525u + 1013904223u;
    if (stream->jitter >> 16 & (DELAY_ONE_IN - 1))
        return;
    const struct timespec time = {0, (long)(stream->jitter % DELAY_MOST_NS)};
    nanosleep(&time, NULL);
}

static void *stream_main(void *with)
{
    struct tutti_stream *stream = with;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (stream->head ? stream->at_once : !stream->ends)
            pthread_cond_wait(&stream->changed, &stream->lock);
        struct tutti_work *work = stream->head;
        if (!work)
            break;
        stream->head = work->next;
        if (!stream->head)
            stream->tail = &stream->head;
        pthread_mutex_unlock(&stream->lock);
        if (tutti_settings()->host_strict) {
            stream_delay(stream);
            work->jitter = stream->jitter | 1;
        }
        const struct tutti_host_turn turn = work->turn;
        tutti_host_turn_await(&turn);
        int status = stream_run(work);
        tutti_host_turn_pass(&turn);
        free(work);
        pthread_mutex_lock(&stream->lock);
        if (stream->status == TUTTI_OK)
            stream->status = status;
        stream->queued--;
        pthread_cond_broadcast(&stream->changed);
    }
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

/* Signals are for the program's own threads. */
static int stream_start(struct tutti_stream *stream)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&stream->thread, NULL, stream_main, stream);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed)
        tutti_error("host device: a stream's thread could not be started: %s", strerror(failed));
    return failed ? TUTTI_ERR_SYSTEM : TUTTI_OK;
}

/* The lock is held. */
static int stream_enqueue(struct tutti_stream *stream, const struct tutti_work *work)
{
    struct tutti_work *copy = malloc(sizeof *copy);
    if (!copy)
        return TUTTI_ERR_MEMORY;
    if (!stream->started && stream_start(stream) != TUTTI_OK) {
        free(copy);
        return TUTTI_ERR_SYSTEM;
    }
    stream->started = 1;
    while (stream->queued >= QUEUE_MOST)
        pthread_cond_wait(&stream->changed, &stream->lock);
    *copy = *work;
    copy->next = NULL;
    copy->turn = tutti_host_turn_take(
        stream->gpu, work->kind == TUTTI_WORK_COPY ? TUTTI_HOST_QUEUE_COPIES : TUTTI_HOST_QUEUE_KERNELS, stream->queue);
    *stream->tail = copy;
    stream->tail = &copy->next;
    stream->queued++;
    pthread_cond_broadcast(&stream->changed);
    return TUTTI_OK;
}

/* 1 if the GPU was reset since the stream was made. */
static int stream_gone(const struct tutti_stream *stream)
{
    return stream->gpu >= 0 && stream->life != tutti_host_life(stream->gpu);
}

static void stream_drain(struct tutti_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    while (stream->queued > 0)
        pthread_cond_wait(&stream->changed, &stream->lock);
    pthread_mutex_unlock(&stream->lock);
}

void tutti_host_streams_drain(int gpu)
{
    pthread_mutex_lock(&streams_lock);
    for (struct tutti_stream *stream = streams; stream; stream = stream->next) {
        if (stream->gpu == gpu)
            stream_drain(stream);
    }
    pthread_mutex_unlock(&streams_lock);
}

/* Without the lock a stream could go meanwhile; with it no other can be made, as on a GPU. */
void tutti_host_streams_drain_all(void)
{
    pthread_mutex_lock(&streams_lock);
    for (struct tutti_stream *stream = streams; stream; stream = stream->next)
        stream_drain(stream);
    pthread_mutex_unlock(&streams_lock);
}

int tutti_host_submit(struct tutti_stream *stream, struct tutti_work *work)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    tutti_host_asked_pass();
    if (stream_gone(stream)) {
        tutti_host_notice(stream->gpu);
        return TUTTI_ERR_DEVICE;
    }
    pthread_mutex_lock(&stream->lock);
    int status = stream->status;
    int at_once = stream->queued == 0 && work->kind != TUTTI_WORK_WAIT && work->kind != TUTTI_WORK_STAY &&
                  !stream->hand_over && !tutti_settings()->host_strict;
    if (status == TUTTI_OK && !at_once)
        status = stream_enqueue(stream, work);
    else if (status == TUTTI_OK)
        stream->queued = stream->at_once = 1; /* what others submit meanwhile is queued behind */
    pthread_mutex_unlock(&stream->lock);
    if (status != TUTTI_OK || !at_once)
        return status;
    status = stream_run(work);
    pthread_mutex_lock(&stream->lock);
    stream->queued--;
    stream->at_once = 0;
    if (stream->status == TUTTI_OK)
        stream->status = status;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* Another one for each stream, the same in every run. */
static unsigned next_jitter(void)
{
    static atomic_uint numbers;
    return (unsigned)tutti_settings()->seed + 0x9e3779b9u * atomic_fetch_add(&numbers, 1);
}

int tutti_host_stream_create(int gpu, struct tutti_stream **out)
{
    int status = tutti_host_arena_open();
    if (status != TUTTI_OK)
        return status;
    if (gpu < -1 || gpu >= tutti_host_gpus())
        return TUTTI_ERR_ARGUMENT;
    tutti_host_work_on(&gpu, "a stream");
    if (tutti_host_queues()) /* a driver may make it wait for what runs */
        tutti_host_streams_drain(gpu);
    struct tutti_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return TUTTI_ERR_MEMORY;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    stream->tail = &stream->head;
    stream->jitter = next_jitter();
    stream->gpu = gpu;
    stream->life = gpu >= 0 ? tutti_host_life(gpu) : 0;
    stream->users = 1;
    stream->queue = tutti_host_queue_next(gpu);
    stream->hand_over = tutti_host_queues();
    pthread_mutex_lock(&streams_lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&streams_lock);
    *out = stream;
    return TUTTI_OK;
}

static struct tutti_stream *default_stream; /* of the process, on no GPU in particular; never freed */

static struct tutti_stream *find_default(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!default_stream && tutti_host_stream_create(-1, &default_stream) != TUTTI_OK)
        default_stream = NULL;
    pthread_mutex_unlock(&lock);
    return default_stream;
}

/* The other streams do not wait for it. */
int tutti_host_stream_order(const struct tutti_stream *stream)
{
    return stream == default_stream ? TUTTI_STREAM_DEFAULT : TUTTI_STREAM_FREE;
}

/* The handle is the stream itself, looked up, since a program may pass anything; NULL: the default stream. */
int tutti_host_stream_wrap(int gpu, void *handle, struct tutti_stream **out)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    if (!handle)
        handle = find_default();
    pthread_mutex_lock(&streams_lock);
    struct tutti_stream *stream = streams;
    while (stream && stream != handle) /* NULL is never found */
        stream = stream->next;
    int fits = stream && !stream_gone(stream) && (gpu < 0 || stream->gpu < 0 || stream->gpu == gpu);
    if (fits)
        stream->users++;
    pthread_mutex_unlock(&streams_lock);
    if (!fits)
        return TUTTI_ERR_ARGUMENT;
    pthread_mutex_lock(&stream->lock);
    stream->hand_over = 1;
    pthread_mutex_unlock(&stream->lock);
    *out = stream;
    return TUTTI_OK;
}

int tutti_host_stream_identity(const struct tutti_stream *stream, int *gpu, void **handle)
{
    *gpu = stream->gpu;
    *handle = (void *)(uintptr_t)stream;
    return TUTTI_OK;
}

/* There are no graphs. */
int tutti_host_stream_capturing(struct tutti_stream *stream)
{
    (void)stream;
    return tutti_host_forked() ? TUTTI_ERR_UNAVAILABLE : 0;
}

/* 1 if the caller was the last user: it is in no list any more. */
static int stream_drop(struct tutti_stream *stream)
{
    pthread_mutex_lock(&streams_lock);
    int last = --stream->users == 0;
    for (struct tutti_stream **at = &streams; last && *at; at = &(*at)->next) {
        if (*at == stream) {
            *at = stream->next;
            break;
        }
    }
    pthread_mutex_unlock(&streams_lock);
    return last;
}

int tutti_host_stream_destroy(struct tutti_stream *stream)
{
    if (!stream || tutti_host_forked() || !stream_drop(stream))
        return TUTTI_OK;
    pthread_mutex_lock(&stream->lock);
    int status = stream->status, started = stream->started;
    stream->ends = 1;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    if (started)
        pthread_join(stream->thread, NULL);
    pthread_cond_destroy(&stream->changed);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
    return status;
}

int tutti_host_stream_sync(struct tutti_stream *stream)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    pthread_mutex_lock(&stream->lock);
    while (stream->queued > 0)
        pthread_cond_wait(&stream->changed, &stream->lock);
    int status = stream_gone(stream) ? TUTTI_ERR_DEVICE : stream->status;
    pthread_mutex_unlock(&stream->lock);
    return status;
}

int tutti_host_stream_query(struct tutti_stream *stream)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    tutti_host_asked_pass();
    pthread_mutex_lock(&stream->lock);
    const int status = stream_gone(stream) ? TUTTI_ERR_DEVICE : stream->status;
    const int state = status != TUTTI_OK ? status : stream->queued == 0;
    pthread_mutex_unlock(&stream->lock);
    return state;
}

int tutti_host_copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes)
{
    struct tutti_work work;
    int status = tutti_work_copy(&work, to, from, bytes);
    return status == TUTTI_OK ? tutti_host_submit(stream, &work) : status;
}

int tutti_host_fill(struct tutti_stream *stream, void *device, int byte, size_t bytes)
{
    struct tutti_work work;
    int status = tutti_work_fill(&work, stream->gpu, device, byte, bytes);
    return status == TUTTI_OK ? tutti_host_submit(stream, &work) : status;
}

int tutti_host_call(struct tutti_stream *stream, void (*function)(void *with), void *with)
{
    struct tutti_work work = {.kind = TUTTI_WORK_CALL, .function = function, .to = with};
    return tutti_host_submit(stream, &work);
}

int tutti_host_launch(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    struct tutti_work work;
    int status = tutti_work_launch(&work, stream->gpu >= 0 ? stream->gpu : launch->gpu, launch);
    if (status == TUTTI_OK && (status = tutti_host_submit(stream, &work)) != TUTTI_OK)
        tutti_work_drop(&work);
    return status;
}

int tutti_host_launch_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch)
{
    struct tutti_work work;
    int status = tutti_work_pack(&work, stream->gpu, launch);
    if (status == TUTTI_OK && (status = tutti_host_submit(stream, &work)) != TUTTI_OK)
        tutti_work_drop(&work);
    return status;
}

int tutti_host_stay_pack(struct tutti_stream *stream, const struct tutti_pack_stay_args *args)
{
    struct tutti_work work = {.kind = TUTTI_WORK_STAY};
    const int status = tutti_work_stay(&work, stream->gpu, args);
    return status == TUTTI_OK ? tutti_host_submit(stream, &work) : status;
}

int tutti_host_mail_pack(struct tutti_stream *stream, const struct tutti_pack_launch *launch,
                         struct tutti_pack_mailed *out)
{
    return tutti_work_mail(stream->gpu, launch, out);
}

int tutti_host_launch_shmem(struct tutti_stream *stream, const struct tutti_shmem_args *args, unsigned threads)
{
    struct tutti_work work;
    (void)threads;
    int status = tutti_work_shmem(&work, stream->gpu, args);
    return status == TUTTI_OK ? tutti_host_submit(stream, &work) : status;
}

int tutti_host_launch_lane(struct tutti_stream *stream, const struct tutti_lane_args *args)
{
    struct tutti_work work;
    int status = tutti_work_lane(&work, stream->gpu, args);
    return status == TUTTI_OK ? tutti_host_submit(stream, &work) : status;
}

int tutti_host_launch_meet(struct tutti_stream *stream, const struct tutti_meet_args *args)
{
    struct tutti_work work;
    int status = tutti_work_meet(&work, stream->gpu, args);
    return status == TUTTI_OK ? tutti_host_submit(stream, &work) : status;
}

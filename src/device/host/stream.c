/* Streams of the host device. A stream is a thread with a queue, asleep when the queue is empty and started when it is
 * first needed. Work for a stream that has nothing queued runs at once on the caller's thread: handing it over would
 * cost two switches. In strict mode everything is handed over, now and then after a delay, so that a missing wait is
 * seen. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/host/host.h"
#include "device/host/work.h"

enum { QUEUE_MOST = 1024, DELAY_ONE_IN = 16, DELAY_MOST_NS = 200000 };

struct tutti_stream {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    struct tutti_work *head, **tail;
    int queued; /* and running */
    int started, ends;
    int status; /* first failure of its work */
    unsigned dice;
};

/* Work that waits, and works that record. */
struct tutti_event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned long asked, reached; /* records so far: asked for, and done */
};

static void event_reach(struct tutti_event *event, unsigned long number)
{
    pthread_mutex_lock(&event->lock);
    if (number > event->reached)
        event->reached = number;
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

static void event_await(struct tutti_event *event, unsigned long number)
{
    pthread_mutex_lock(&event->lock);
    while (event->reached < number)
        pthread_cond_wait(&event->changed, &event->lock);
    pthread_mutex_unlock(&event->lock);
}

static int run(struct tutti_work *work)
{
    switch (work->kind) {
    case TUTTI_WORK_RECORD:
        event_reach(work->event, work->number);
        return TUTTI_OK;
    case TUTTI_WORK_WAIT:
        event_await(work->event, work->number);
        return TUTTI_OK;
    default:
        return tutti_work_run(work);
    }
}

static void delay(struct tutti_stream *stream)
{
    stream->dice = stream->dice * 1664525u + 1013904223u;
    if (stream->dice >> 16 & (DELAY_ONE_IN - 1))
        return;
    const struct timespec time = {0, (long)(stream->dice % DELAY_MOST_NS)};
    nanosleep(&time, NULL);
}

static void *stream_main(void *with)
{
    struct tutti_stream *stream = with;
    pthread_mutex_lock(&stream->lock);
    for (;;) {
        while (!stream->head && !stream->ends)
            pthread_cond_wait(&stream->changed, &stream->lock);
        struct tutti_work *work = stream->head;
        if (!work)
            break;
        stream->head = work->next;
        if (!stream->head)
            stream->tail = &stream->head;
        pthread_mutex_unlock(&stream->lock);
        if (tutti_settings()->host_strict)
            delay(stream);
        int status = run(work);
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

/* The lock is held. */
static int enqueue(struct tutti_stream *stream, const struct tutti_work *work)
{
    struct tutti_work *copy = malloc(sizeof *copy);
    if (!copy)
        return TUTTI_ERR_MEMORY;
    if (!stream->started && pthread_create(&stream->thread, NULL, stream_main, stream) != 0) {
        free(copy);
        return TUTTI_ERR_SYSTEM;
    }
    stream->started = 1;
    while (stream->queued >= QUEUE_MOST)
        pthread_cond_wait(&stream->changed, &stream->lock);
    *copy = *work;
    copy->next = NULL;
    *stream->tail = copy;
    stream->tail = &copy->next;
    stream->queued++;
    pthread_cond_broadcast(&stream->changed);
    return TUTTI_OK;
}

static int submit(struct tutti_stream *stream, struct tutti_work *work)
{
    pthread_mutex_lock(&stream->lock);
    int status = stream->status;
    int at_once = stream->queued == 0 && work->kind != TUTTI_WORK_WAIT && !tutti_settings()->host_strict;
    if (status == TUTTI_OK && !at_once)
        status = enqueue(stream, work);
    else if (status == TUTTI_OK)
        stream->queued++; /* others see the stream busy */
    pthread_mutex_unlock(&stream->lock);
    if (status != TUTTI_OK || !at_once)
        return status;
    status = run(work);
    pthread_mutex_lock(&stream->lock);
    stream->queued--;
    if (stream->status == TUTTI_OK)
        stream->status = status;
    pthread_cond_broadcast(&stream->changed);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

int tutti_host_stream_create(int gpu, struct tutti_stream **out)
{
    (void)gpu;
    struct tutti_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return TUTTI_ERR_MEMORY;
    pthread_mutex_init(&stream->lock, NULL);
    pthread_cond_init(&stream->changed, NULL);
    stream->tail = &stream->head;
    stream->dice = 20261121u + (unsigned)(uintptr_t)stream;
    *out = stream;
    return TUTTI_OK;
}

int tutti_host_stream_destroy(struct tutti_stream *stream)
{
    if (!stream)
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
    pthread_mutex_lock(&stream->lock);
    while (stream->queued > 0)
        pthread_cond_wait(&stream->changed, &stream->lock);
    int status = stream->status;
    pthread_mutex_unlock(&stream->lock);
    return status;
}

int tutti_host_stream_query(struct tutti_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    int state = stream->status != TUTTI_OK ? stream->status : stream->queued == 0;
    pthread_mutex_unlock(&stream->lock);
    return state;
}

int tutti_host_event_create(int gpu, struct tutti_event **out)
{
    (void)gpu;
    struct tutti_event *event = calloc(1, sizeof *event);
    if (!event)
        return TUTTI_ERR_MEMORY;
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->changed, NULL);
    *out = event;
    return TUTTI_OK;
}

/* Work that is queued still refers to it: waits for that. */
int tutti_host_event_destroy(struct tutti_event *event)
{
    if (!event)
        return TUTTI_OK;
    event_await(event, event->asked);
    pthread_cond_destroy(&event->changed);
    pthread_mutex_destroy(&event->lock);
    free(event);
    return TUTTI_OK;
}

int tutti_host_event_record(struct tutti_event *event, struct tutti_stream *stream)
{
    struct tutti_work work = {.kind = TUTTI_WORK_RECORD, .event = event};
    pthread_mutex_lock(&event->lock);
    work.number = ++event->asked;
    pthread_mutex_unlock(&event->lock);
    int status = submit(stream, &work);
    if (status != TUTTI_OK)
        event_reach(event, work.number); /* nobody will wait for what never runs */
    return status;
}

int tutti_host_event_wait(struct tutti_stream *stream, struct tutti_event *event)
{
    struct tutti_work work = {.kind = TUTTI_WORK_WAIT, .event = event};
    pthread_mutex_lock(&event->lock);
    work.number = event->asked;
    int reached = event->reached >= event->asked;
    pthread_mutex_unlock(&event->lock);
    return reached ? TUTTI_OK : submit(stream, &work);
}

int tutti_host_event_query(struct tutti_event *event)
{
    pthread_mutex_lock(&event->lock);
    int reached = event->reached >= event->asked;
    pthread_mutex_unlock(&event->lock);
    return reached;
}

int tutti_host_copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes)
{
    struct tutti_work work;
    int status = tutti_work_copy(&work, to, from, bytes);
    return status == TUTTI_OK ? submit(stream, &work) : status;
}

int tutti_host_fill(struct tutti_stream *stream, void *device, int byte, size_t bytes)
{
    struct tutti_work work;
    int status = tutti_work_fill(&work, device, byte, bytes);
    return status == TUTTI_OK ? submit(stream, &work) : status;
}

int tutti_host_launch(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    struct tutti_work work;
    int status = tutti_work_launch(&work, launch);
    return status == TUTTI_OK ? submit(stream, &work) : status;
}

int tutti_host_copy_now(void *to, const void *from, size_t bytes)
{
    struct tutti_work work;
    int status = tutti_work_copy(&work, to, from, bytes);
    return status == TUTTI_OK ? tutti_work_run(&work) : status;
}

/* Events of the host device: how many of the records that were asked for are done. */
#include "device/host/event.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/status.h"
#include "device/host/asked.h"
#include "device/host/gpus.h"
#include "device/host/host.h"

struct tutti_event {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned long asked, reached; /* records so far: asked for, and done */
    int users;                    /* its owner, and work that records or waits for it */
};

/* The last user frees it: an event may be destroyed while work still refers to it. */
void tutti_host_event_drop(struct tutti_event *event)
{
    pthread_mutex_lock(&event->lock);
    int left = --event->users;
    pthread_mutex_unlock(&event->lock);
    if (left > 0)
        return;
    pthread_cond_destroy(&event->changed);
    pthread_mutex_destroy(&event->lock);
    free(event);
}

void tutti_host_event_reach(struct tutti_event *event, unsigned long number)
{
    pthread_mutex_lock(&event->lock);
    if (number > event->reached)
        event->reached = number;
    pthread_cond_broadcast(&event->changed);
    pthread_mutex_unlock(&event->lock);
}

void tutti_host_event_await(struct tutti_event *event, unsigned long number)
{
    pthread_mutex_lock(&event->lock);
    while (event->reached < number)
        pthread_cond_wait(&event->changed, &event->lock);
    pthread_mutex_unlock(&event->lock);
}

int tutti_host_event_create(int gpu, struct tutti_event **out)
{
    int status = tutti_host_arena_open();
    if (status != TUTTI_OK)
        return status;
    if (gpu < -1 || gpu >= tutti_host_gpus())
        return TUTTI_ERR_ARGUMENT;
    tutti_host_work_on(&gpu, "an event");
    struct tutti_event *event = calloc(1, sizeof *event);
    if (!event)
        return TUTTI_ERR_MEMORY;
    pthread_mutex_init(&event->lock, NULL);
    pthread_cond_init(&event->changed, NULL);
    event->users = 1;
    *out = event;
    return TUTTI_OK;
}

int tutti_host_event_destroy(struct tutti_event *event)
{
    if (event && !tutti_host_forked())
        tutti_host_event_drop(event);
    return TUTTI_OK;
}

int tutti_host_event_record(struct tutti_event *event, struct tutti_stream *stream)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    struct tutti_work work = {.kind = TUTTI_WORK_RECORD, .event = event};
    pthread_mutex_lock(&event->lock);
    work.number = ++event->asked;
    event->users++;
    pthread_mutex_unlock(&event->lock);
    int status = tutti_host_submit(stream, &work);
    if (status != TUTTI_OK) { /* the work never runs: the event is reached at once */
        tutti_host_event_reach(event, work.number);
        tutti_host_event_drop(event);
    }
    return status;
}

int tutti_host_event_wait(struct tutti_stream *stream, struct tutti_event *event)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    struct tutti_work work = {.kind = TUTTI_WORK_WAIT, .event = event};
    pthread_mutex_lock(&event->lock);
    work.number = event->asked;
    int reached = event->reached >= event->asked;
    event->users += !reached;
    pthread_mutex_unlock(&event->lock);
    if (reached)
        return TUTTI_OK;
    int status = tutti_host_submit(stream, &work);
    if (status != TUTTI_OK)
        tutti_host_event_drop(event);
    return status;
}

int tutti_host_event_query(struct tutti_event *event)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    tutti_host_asked_pass();
    pthread_mutex_lock(&event->lock);
    int reached = event->reached >= event->asked;
    pthread_mutex_unlock(&event->lock);
    return reached;
}

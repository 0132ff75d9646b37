/* Requests, and the step that advances those that are active. */
#include "part/part.h"

#include <stdio.h>
#include <stdlib.h>

#include "device/device.h"
#include "part/counts.h"
#include "part/own.h"

static void part_poll(void);
static void part_where(char *text, size_t size);

enum { DATA_TAGS_MOST = 1 << 20, DATA_TAGS_LEAST = 64 };

int tutti_part_open(struct tutti_transport *transport, struct tutti_endpoint *endpoint, struct tutti_node *node,
                    int aware)
{
    struct tutti_part_engine *engine = &tutti_part_engine;
    const int free_tags = transport->tags - transport->tags_taken - 1;
    const int tags = free_tags < DATA_TAGS_MOST ? free_tags : DATA_TAGS_MOST;
    if (tags < DATA_TAGS_LEAST)
        return TUTTI_ERR_UNAVAILABLE;
    engine->channel_tag = tutti_transport_tags(transport, 1);
    engine->data_tag = tutti_transport_tags(transport, tags);
    engine->data_tags = tags;
    engine->next_tag = 0;
    engine->aware = aware;
    engine->worker = (struct tutti_p2p_worker){.endpoint = endpoint, .node = node, .transport = transport};
    engine->transport = transport;
    engine->record_arrived = tutti_part_match_record;
    engine->data_arrived = tutti_part_receive_data;
    engine->bound = tutti_part_receive_bound;
    engine->prepared = tutti_part_prepare_message;
    engine->arrived = tutti_part_prequest_arrived;
    engine->step.name = "partitioned messages";
    engine->step.poll = part_poll;
    engine->step.where = part_where;
    tutti_progress_add(&engine->step);
    return TUTTI_OK;
}

int tutti_part_is_open(void)
{
    return tutti_part_engine.transport != NULL;
}

void tutti_part_close(void)
{
    struct tutti_part_engine *engine = &tutti_part_engine;
    if (!engine->transport)
        return;
    pthread_mutex_lock(&engine->lock);
    tutti_part_channel_close();
    tutti_part_rndv_close();
    tutti_part_match_close();
    tutti_part_prepare_close();
    engine->transport = NULL;
    pthread_mutex_unlock(&engine->lock);
    tutti_part_counts_close();
}

/* ---- requests ---- */

/* Where the buffer lies is looked up at each start: the program may have registered its memory since. */
static void part_place(struct tutti_part *part)
{
    const struct tutti_part_args *args = &part->args;
    const struct tutti_device *device = tutti_device();
    const int64_t count = args->count * args->partitions;
    part->elements = (struct tutti_elements){.plan = args->plan,
                                             .count = count,
                                             .buffer = args->buffer,
                                             .whole = args->in_order && (args->solid || count == 1)};
    if (!tutti_device_active(device) || tutti_part_capacity(part) == 0 || args->peer < 0) {
        part->elements.places = (struct tutti_places){.gpu = -1};
        part->elements.placed = 1;
    }
    tutti_elements_places(&part->elements);
}

/* ---- life ---- */

struct tutti_part *tutti_part_new(const struct tutti_part_args *args)
{
    const size_t n = (size_t)args->partitions + 1;
    struct tutti_part *part = calloc(1, sizeof *part);
    if (!part)
        return NULL;
    part->args = *args;
    part->each = (uint64_t)args->count * args->plan->size;
    tutti_part_pieces_init(&part->pieces);
    if (args->send)
        part->marks.ready = calloc(n, 1);
    else
        part->left = calloc(n, sizeof *part->left);
    if (!part->marks.ready && !part->left) {
        tutti_part_destroy(part);
        return NULL;
    }
    pthread_mutex_lock(&tutti_part_engine.lock);
    int status = TUTTI_OK;
    if (args->peer >= 0)
        status = args->send ? tutti_part_match_send(part) : tutti_part_match_receive(part);
    pthread_mutex_unlock(&tutti_part_engine.lock);
    if (status == TUTTI_OK)
        return part;
    tutti_part_destroy(part);
    return NULL;
}

void tutti_part_free(struct tutti_part *part)
{
    if (!part)
        return;
    (void)tutti_part_prequest_end(part);
    pthread_mutex_lock(&tutti_part_engine.lock);
    if (part->args.send && part->args.peer >= 0)
        tutti_part_prepare_forget(part->id);
    tutti_part_put_free(part);
    const int now = part->args.send || part->args.peer < 0 || tutti_part_match_free(part);
    pthread_mutex_unlock(&tutti_part_engine.lock);
    if (now && !tutti_part_must_stay(part))
        tutti_part_destroy(part);
}

/* ---- rounds ---- */

/* The lock is held. */
static void part_end(struct tutti_part *part)
{
    *part->at = part->next;
    if (part->next)
        part->next->at = part->at;
    if (part->prequest)
        tutti_part_prequest_ended(part);
    tutti_part_kernels(part, -1);
    if (part->put)
        tutti_part_put_end(part);
    atomic_store_explicit(&part->active, 0, memory_order_release);
    part->args.ended(part->args.with); /* then the program may start it again, or free it, when the lock is free */
    tutti_step_close(&tutti_part_engine.step);
}

static int part_is_done(const struct tutti_part *part)
{
    if (part->lost)
        return 1;
    if (part->rndvs > 0 || !tutti_part_pieces_idle(&part->pieces))
        return 0;
    if (part->args.send)
        return tutti_part_send_done(part);
    return tutti_part_receive_done(part);
}

/* Ends the round if nothing of it is left. */
static void part_end_if_done(struct tutti_part *part)
{
    if (part_is_done(part))
        part_end(part);
}

void tutti_part_move(struct tutti_part *part, void *buffer)
{
    part->args.buffer = buffer;
}

int tutti_part_start(struct tutti_part *part)
{
    struct tutti_part_engine *engine = &tutti_part_engine;
    pthread_mutex_lock(&engine->lock);
    if (atomic_load_explicit(&part->active, memory_order_relaxed)) {
        pthread_mutex_unlock(&engine->lock);
        return TUTTI_ERR_ARGUMENT;
    }
    tutti_step_open(&engine->step);
    part->status = TUTTI_OK;
    part->truncated = 0;
    part->round++;
    part_place(part);
    part->next = engine->active;
    part->at = &engine->active;
    if (part->next)
        part->next->at = &part->next;
    engine->active = part;
    if (part->prequest)
        tutti_part_prequest_start(part);
    tutti_part_kernels(part, 1);
    int status = part->lost        ? TUTTI_ERR_PEER
                 : part->args.send ? tutti_part_send_start(part)
                                   : tutti_part_receive_start(part);
    tutti_part_fail(part, status);
    atomic_store_explicit(&part->active, 1, memory_order_release);
    if (status == TUTTI_OK && !part->args.send)
        tutti_part_fail(part, tutti_part_prepare_started(part));
    part_end_if_done(part);
    pthread_mutex_unlock(&engine->lock);
    return TUTTI_OK;
}

enum tutti_part_wrong tutti_part_ready(struct tutti_part *part, int first, int last)
{
    pthread_mutex_lock(&tutti_part_engine.lock);
    const enum tutti_part_wrong wrong = tutti_part_send_range(part, first, last);
    if (wrong == TUTTI_PART_FINE || wrong == TUTTI_PART_FAILED)
        part_end_if_done(part);
    pthread_mutex_unlock(&tutti_part_engine.lock);
    return wrong;
}

enum tutti_part_wrong tutti_part_ready_list(struct tutti_part *part, int n, const int partitions[])
{
    pthread_mutex_lock(&tutti_part_engine.lock);
    const enum tutti_part_wrong wrong = tutti_part_send_list(part, n, partitions);
    if (n > 0 && (wrong == TUTTI_PART_FINE || wrong == TUTTI_PART_FAILED))
        part_end_if_done(part);
    pthread_mutex_unlock(&tutti_part_engine.lock);
    return wrong;
}

/* ---- progress ---- */

static void part_poll(void)
{
    struct tutti_part_engine *engine = &tutti_part_engine;
    if (!engine->transport || pthread_mutex_trylock(&engine->lock) != 0)
        return;
    tutti_part_channel_poll();
    tutti_part_rndv_poll();
    for (struct tutti_part *part = engine->active, *next; part; part = next) {
        tutti_part_fail(part, tutti_part_look(part));
        if (part->prequest && part->status == TUTTI_OK)
            tutti_part_fail(part, tutti_part_prequest_poll(part));
        if (part->put && part->status == TUTTI_OK)
            tutti_part_fail(part, tutti_part_put_poll(part));
        if (!tutti_part_pieces_idle(&part->pieces))
            tutti_part_fail(part, tutti_part_pieces_poll(part));
        if (part->held_n > 0)
            tutti_part_fail(part, tutti_part_send_held(part));
        next = part->next;
        part_end_if_done(part);
    }
    pthread_mutex_unlock(&engine->lock);
}

int tutti_part_has_arrived(const struct tutti_part *part, int partition)
{
    return !atomic_load_explicit(&part->active, memory_order_acquire) ||
           (part->each > 0 && atomic_load_explicit(&part->left[partition], memory_order_acquire) == 0);
}

enum tutti_part_wrong tutti_part_arrived(struct tutti_part *part, int partition, int *flag)
{
    *flag = 1;
    if (part->args.send)
        return TUTTI_PART_NO_RECEIVE;
    if (partition < 0 || partition >= part->args.partitions)
        return TUTTI_PART_RANGE;
    for (int look = 0; look < 2; look++) {
        if (tutti_part_has_arrived(part, partition))
            return TUTTI_PART_FINE;
        if (look == 0)
            part_poll();
    }
    *flag = 0;
    return TUTTI_PART_FINE;
}

int tutti_part_status(const struct tutti_part *part)
{
    return part->status;
}

int tutti_part_truncated(const struct tutti_part *part)
{
    return part->truncated;
}

uint64_t tutti_part_bytes(const struct tutti_part *part)
{
    return part->record ? part->record->bytes : 0;
}

static void part_where(char *text, size_t size)
{
    struct tutti_part_engine *engine = &tutti_part_engine;
    text[0] = '\0';
    if (pthread_mutex_trylock(&engine->lock) != 0)
        return;
    const struct tutti_part *part = engine->active;
    if (part && part->args.send)
        snprintf(text, size, "a partitioned send to rank %d with tag %d: %d of %d partitions are not ready",
                 part->args.peer, part->args.tag, part->marks.unready, part->args.partitions);
    else if (part)
        snprintf(text, size, "a partitioned receive from rank %d with tag %d: %s", part->args.peer, part->args.tag,
                 part->record ? "its partitions have not all arrived" : "its sender has not created a request");
    pthread_mutex_unlock(&engine->lock);
}

#include "team/seat.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/settings.h"
#include "progress/engine.h"
#include "team/cache.h"

enum { DRAIN_SECONDS = 5 };

/* Everything of a seat but its place in the list. */
static void dismantle(struct tutti_node *node, struct tutti_seat *seat)
{
    if (seat->stream)
        node->device->stream_destroy(seat->stream);
    if (seat->channel)
        node->device->free(seat->channel);
    if (seat->words >= 0)
        node->words &= ~(UINT64_C(1) << seat->words);
    node->window_bytes -= seat->bytes;
    free(seat);
}

/* The largest pooled seat of this GPU, or NULL; the lock is held. */
static struct tutti_seat *find_free(struct tutti_node *node, int gpu)
{
    struct tutti_seat *found = NULL;
    for (struct tutti_seat *seat = node->seats; seat; seat = seat->next) {
        if (!seat->used && !seat->stuck && seat->gpu == gpu && (!found || seat->bytes > found->bytes))
            found = seat;
    }
    return found;
}

/* Frees pooled seats of other GPUs; the lock is held. */
static void free_idle(struct tutti_node *node)
{
    struct tutti_seat **at = &node->seats;
    while (*at) {
        struct tutti_seat *seat = *at;
        if (seat->used || seat->stuck) {
            at = &seat->next;
            continue;
        }
        *at = seat->next;
        dismantle(node, seat);
    }
}

static int share_channel(struct tutti_node *node, struct tutti_seat *seat)
{
    int fd = -1, status = node->device->export_memory(seat->channel, &seat->share.what, &fd);
    if (status != TUTTI_OK)
        return status;
    if (fd >= 0)
        close(fd);
    seat->share.shared = 1;
    seat->share.offset = (uint64_t)(uintptr_t)seat->channel - seat->share.what.base;
    return TUTTI_OK;
}

/* Bytes of the next channel. Large messages want much room, many communicators want little each: the second half of
 * the window is given out in smaller pieces. */
static size_t channel_bytes(const struct tutti_node *node)
{
    const struct tutti_settings *settings = tutti_settings();
    size_t most = (size_t)settings->window_mb << 20, bytes = (size_t)settings->channel_mb << 20;
    if (bytes == 0)
        bytes = (size_t)node->device->channel_mb << 20;
    if (bytes > most)
        bytes = most;
    if (node->window_bytes > 0 && node->window_bytes + bytes > most / 2)
        bytes /= 4;
    return bytes < TUTTI_CHANNEL_LEAST ? TUTTI_CHANNEL_LEAST : bytes;
}

/* A channel of zeros: what was there before could be taken for packets of a peer. */
static int make_channel(const struct tutti_device *device, struct tutti_seat *seat, const char **why)
{
    *why = "no device memory for a channel";
    int status = device->alloc_cleared ? device->alloc_cleared(seat->gpu, seat->bytes, &seat->channel)
                                       : device->alloc(seat->gpu, seat->bytes, &seat->channel);
    if (status != TUTTI_OK)
        return status;
    *why = "no stream on the GPU";
    status = device->stream_create(seat->gpu, &seat->stream);
    if (status != TUTTI_OK || device->alloc_cleared)
        return status;
    *why = "the channel could not be cleared";
    return device->fill(seat->stream, seat->channel, 0, seat->bytes);
}

/* A new seat; the lock is held. */
static struct tutti_seat *build(struct tutti_node *node, int gpu, const char **why)
{
    const struct tutti_settings *settings = tutti_settings();
    size_t bytes = channel_bytes(node);
    *why = "no device scratch left (TUTTI_WINDOW_MB)";
    if (node->window_bytes + bytes > (size_t)settings->window_mb << 20)
        free_idle(node);
    if (node->window_bytes + bytes > (size_t)settings->window_mb << 20)
        return NULL;
    _Static_assert(TUTTI_WORDS == 64, "one bit a set");
    *why = "too many communicators with device memory";
    if (~node->words == 0)
        return NULL;
    *why = "out of host memory";
    struct tutti_seat *seat = calloc(1, sizeof *seat);
    if (!seat)
        return NULL;
    seat->gpu = gpu;
    seat->bytes = bytes;
    seat->words = __builtin_ctzll(~node->words);
    node->words |= UINT64_C(1) << seat->words;
    node->window_bytes += bytes;
    int status = make_channel(node->device, seat, why);
    if (status == TUTTI_OK) {
        *why = "device memory cannot be shared with other processes";
        status = share_channel(node, seat);
    }
    if (status != TUTTI_OK) {
        tutti_info("%s: %s", *why, tutti_status_text(status));
        dismantle(node, seat);
        return NULL;
    }
    seat->next = node->seats;
    node->seats = seat;
    return seat;
}

/* Fresh flags: whatever launches of an earlier communicator left in them would be taken for this one's. Of its packets
 * tutti_seat_begin() takes care. */
static int clear(struct tutti_node *node, struct tutti_seat *seat)
{
    struct tutti_words *words = &tutti_node_control(node)->words[seat->words];
    __atomic_store_n(&words->abort, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&words->done, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&words->where, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&words->noticed, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&words->failed, TUTTI_LEFT_NOT, __ATOMIC_RELEASE);
    memset(&words->mail, 0, sizeof words->mail);
    memset(&words->answer, 0, sizeof words->answer);
    uint64_t ticks = 0; /* zero also where the channel was cleared for a team that then did not open */
    int status = node->device->copy(seat->stream, &ticks,
                                    (char *)seat->channel + offsetof(struct tutti_channel_flags, ticks), sizeof ticks);
    if (status == TUTTI_OK)
        status = node->device->stream_sync(seat->stream);
    if (status == TUTTI_OK && ticks > seat->ticks)
        seat->ticks = ticks;
    if (status == TUTTI_OK)
        status = node->device->fill(seat->stream, seat->channel, 0, sizeof(struct tutti_channel_flags));
    return status == TUTTI_OK ? node->device->stream_sync(seat->stream) : status;
}

int tutti_seat_take(struct tutti_node *node, int gpu, struct tutti_seat **out, const char **why)
{
    tutti_fiber_lock(&node->lock);
    tutti_place_sweep(node);
    struct tutti_seat *seat = find_free(node, gpu);
    if (!seat)
        seat = build(node, gpu, why);
    if (seat)
        seat->used = 1;
    pthread_mutex_unlock(&node->lock);
    if (!seat)
        return TUTTI_ERR_UNAVAILABLE;
    if (clear(node, seat) != TUTTI_OK) {
        *why = "the channel could not be cleared";
        tutti_seat_drop(node, seat);
        return TUTTI_ERR_DEVICE;
    }
    *out = seat;
    return TUTTI_OK;
}

int tutti_seat_begin(struct tutti_node *node, struct tutti_seat *seat, uint64_t ticks, size_t bytes)
{
    int status = TUTTI_OK;
    ticks = (ticks + TUTTI_TICKS - 1) / TUTTI_TICKS * TUTTI_TICKS;
    if (seat->spoilt || (seat->laid != 0 && seat->laid != bytes))
        status = node->device->fill(seat->stream, seat->channel, 0, seat->bytes);
    if (status == TUTTI_OK)
        status = node->device->copy(seat->stream, (char *)seat->channel + offsetof(struct tutti_channel_flags, ticks),
                                    &ticks, sizeof ticks);
    if (status == TUTTI_OK)
        status = node->device->stream_sync(seat->stream);
    if (status != TUTTI_OK)
        return status;
    seat->spoilt = 0;
    seat->laid = bytes;
    return TUTTI_OK;
}

void tutti_seat_drop(struct tutti_node *node, struct tutti_seat *seat)
{
    tutti_fiber_lock(&node->lock);
    seat->used = 0;
    pthread_mutex_unlock(&node->lock);
}

int tutti_seat_words(struct tutti_node *node, const struct tutti_seat *seat, struct tutti_words **device)
{
    int status = TUTTI_OK;
    tutti_fiber_lock(&node->lock);
    struct tutti_words_view *view = node->views;
    while (view && view->gpu != seat->gpu)
        view = view->next;
    if (!view) {
        struct tutti_control *control = tutti_node_control(node);
        void *mapped = NULL;
        view = calloc(1, sizeof *view);
        status = view ? node->device->map_host(seat->gpu, control, offsetof(struct tutti_control, slot), &mapped)
                      : TUTTI_ERR_MEMORY;
        if (status == TUTTI_OK) {
            *view = (struct tutti_words_view){node->views, seat->gpu, NULL};
            view->device = (struct tutti_words *)(void *)((char *)mapped + offsetof(struct tutti_control, words));
            node->views = view;
        } else {
            free(view);
        }
    }
    if (status == TUTTI_OK)
        *device = view->device + seat->words;
    pthread_mutex_unlock(&node->lock);
    return status;
}

static int is_drained(void *with)
{
    const struct tutti_team *team = with;
    return team->device->stream_query(tutti_place(team)->seat->stream) != 0; /* or its context has gone */
}

void tutti_seat_drain(struct tutti_team *team)
{
    struct tutti_seat *seat = tutti_place(team) ? tutti_place(team)->seat : NULL;
    if (!seat || seat->stuck || !team->device->active())
        return;
    if (tutti_progress_wait(&(const struct tutti_wait){
            .done = is_drained, .with = team, .quiet = 1, .seconds = DRAIN_SECONDS, .every_us = 100}) == TUTTI_OK)
        return;
    seat->stuck = 1;
    tutti_error("a kernel on %s did not leave within %d s of being told to", team->transport->label, DRAIN_SECONDS);
}

void tutti_seat_leave(struct tutti_team *team)
{
    struct tutti_place *place = tutti_place(team);
    if (!place->seat)
        return;
    if (tutti_team_fault(team) != TUTTI_OK)
        place->seat->spoilt = 1;
    tutti_team_mail_leave(team);
    tutti_seat_drain(team); /* peers take it that nothing of this rank is stored any more once it has left */
    for (int i = 0; i < place->pinned; i++)
        tutti_cache_release(team->node->cache, team->node->device, place->pins[i]);
    place->pinned = 0;
}

void tutti_seats_free(struct tutti_node *node, int alive)
{
    while (node->views) {
        struct tutti_words_view *view = node->views;
        node->views = view->next;
        if (alive)
            node->device->unmap_host(view->gpu, tutti_node_control(node));
        free(view);
    }
    while (node->seats) {
        struct tutti_seat *seat = node->seats;
        node->seats = seat->next;
        if (alive && !seat->stuck)
            dismantle(node, seat);
        else
            free(seat);
    }
}

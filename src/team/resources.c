#include "team/resources.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/reasons.h"
#include "core/settings.h"
#include "progress/engine.h"
#include "team/cache.h"
#include "team/expose.h"
#include "team/page_view.h"

enum { DRAIN_SECONDS = 5 };

/* Everything of a channel's resources but their place in the list. */
static void resources_dismantle(struct tutti_node *node, struct tutti_resources *resources)
{
    if (resources->stream)
        node->device->stream.destroy(resources->stream);
    if (resources->channel && resources->life == tutti_gpu_life(resources->gpu))
        node->device->memory.free(resources->channel);
    if (resources->words >= 0)
        node->words &= ~(UINT64_C(1) << resources->words);
    node->window_bytes -= resources->bytes;
    free(resources);
}

/* A pooled channel of this GPU (-1: of any): the smallest of at least `want` bytes if `most` permits it, otherwise the
 * largest. NULL: the pool holds no channel of this GPU. The lock is held. */
static struct tutti_resources *find_free(struct tutti_node *node, int gpu, size_t most, size_t want)
{
    struct tutti_resources *found = NULL;
    for (struct tutti_resources *resources = node->resources; resources; resources = resources->next) {
        if (resources->used || resources->stuck || (gpu >= 0 && resources->gpu != gpu) ||
            resources->life != tutti_gpu_life(resources->gpu))
            continue;
        const int smaller = found && resources->bytes < found->bytes;
        if (!found || (most > 0 && found->bytes >= want ? smaller && resources->bytes >= want : !smaller))
            found = resources;
    }
    return found;
}

/* Frees pooled resources: all, or those of lives that are over. The lock is held. */
static void free_idle(struct tutti_node *node, int all)
{
    struct tutti_resources **at = &node->resources;
    while (*at) {
        struct tutti_resources *resources = *at;
        const int over = resources->life != tutti_gpu_life(resources->gpu);
        if (resources->used || resources->stuck || !(all || over)) {
            at = &resources->next;
            continue;
        }
        *at = resources->next;
        resources_dismantle(node, resources);
    }
}

static int share_channel(struct tutti_node *node, struct tutti_resources *resources)
{
    int fd = -1, status = node->device->share.export(resources->channel, &resources->share.what, &fd);
    if (status != TUTTI_OK)
        return status;
    if (fd >= 0)
        close(fd);
    resources->share.shared = 1;
    resources->share.offset = (uint64_t)(uintptr_t)resources->channel - resources->share.what.base;
    return TUTTI_OK;
}

/* Bytes of the next channel. Large messages want much room, many communicators want little each: whenever half of what
 * was left of the window has been given out, the pieces are a quarter as long. */
static size_t channel_bytes(const struct tutti_node *node, size_t enough)
{
    const struct tutti_settings *settings = tutti_settings();
    size_t most = (size_t)settings->window_mb << 20, bytes = (size_t)settings->channel_mb << 20;
    if (bytes == 0)
        bytes = (size_t)node->device->channel_mb << 20;
    if (bytes > most)
        bytes = most;
    for (size_t limit = most / 2; node->window_bytes > 0 && node->window_bytes + bytes > limit &&
                                  bytes > TUTTI_CHANNEL_LEAST && limit < most - TUTTI_CHANNEL_LEAST;
         limit += (most - limit) / 2)
        bytes /= 4;
    if (enough > 0 && bytes > enough)
        bytes = enough;
    return bytes < TUTTI_CHANNEL_LEAST ? TUTTI_CHANNEL_LEAST : bytes;
}

/* A channel of zeros: what was there before could be taken for packets of a peer. */
static int make_channel(const struct tutti_device *device, struct tutti_resources *resources, const char **why)
{
    *why = TUTTI_REASON_TEXT(CHANNEL);
    int status = device->memory.alloc_cleared
                     ? device->memory.alloc_cleared(resources->gpu, resources->bytes, &resources->channel)
                     : device->memory.alloc(resources->gpu, resources->bytes, &resources->channel);
    if (status != TUTTI_OK)
        return status;
    *why = TUTTI_REASON_TEXT(NO_STREAM);
    status = device->stream.create(resources->gpu, &resources->stream);
    if (status != TUTTI_OK || device->memory.alloc_cleared)
        return status;
    *why = TUTTI_REASON_TEXT(CLEAR);
    return device->stream.fill(resources->stream, resources->channel, 0, resources->bytes);
}

/* A new resources; the lock is held. */
static struct tutti_resources *resources_build(struct tutti_node *node, int gpu, size_t enough, const char **why)
{
    const struct tutti_settings *settings = tutti_settings();
    size_t bytes = channel_bytes(node, enough);
    *why = TUTTI_REASON_TEXT(WINDOW);
    free_idle(node, 0);
    if (node->window_bytes + bytes > (size_t)settings->window_mb << 20)
        free_idle(node, 1);
    if (node->window_bytes + bytes > (size_t)settings->window_mb << 20)
        return NULL;
    _Static_assert(TUTTI_WORDS == 64, "one bit a set");
    *why = TUTTI_REASON_TEXT(COMMS_DEVICE);
    if (~node->words == 0)
        return NULL;
    *why = TUTTI_REASON_TEXT(MEMORY);
    struct tutti_resources *resources = calloc(1, sizeof *resources);
    if (!resources)
        return NULL;
    resources->gpu = gpu;
    resources->life = tutti_gpu_life(gpu);
    resources->bytes = bytes;
    resources->words = __builtin_ctzll(~node->words);
    node->words |= UINT64_C(1) << resources->words;
    node->window_bytes += bytes;
    int status = make_channel(node->device, resources, why);
    if (status == TUTTI_OK) {
        *why = TUTTI_REASON_TEXT(SHARE);
        status = share_channel(node, resources);
    }
    if (status != TUTTI_OK) {
        tutti_info("%s: %s", *why, tutti_status_text(status));
        resources_dismantle(node, resources);
        return NULL;
    }
    resources->next = node->resources;
    node->resources = resources;
    return resources;
}

/* Clear words, and what the channel has counted for earlier teams. */
static int resources_clear(struct tutti_node *node, struct tutti_resources *resources)
{
    struct tutti_words *words = &tutti_node_control(node)->words[resources->words];
    __atomic_store_n(&words->abort, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&words->done, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&words->where, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&words->noticed, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&words->failed, TUTTI_LEFT_NOT, __ATOMIC_RELEASE);
    memset(&words->mail, 0, sizeof words->mail);
    memset(&words->answer, 0, sizeof words->answer);
    uint64_t ticks = 0; /* zero also where the channel was cleared for a team that then did not open */
    int status = node->device->stream.copy(resources->stream, &ticks,
                                           (char *)resources->channel + offsetof(struct tutti_channel_flags, ticks),
                                           sizeof ticks);
    if (status == TUTTI_OK)
        status = node->device->stream.sync(resources->stream);
    if (status == TUTTI_OK && ticks > resources->ticks)
        resources->ticks = ticks;
    return status;
}

int tutti_resources_take(struct tutti_node *node, int gpu, size_t most, struct tutti_resources **out, const char **why)
{
    tutti_fiber_lock(&node->lock);
    tutti_membership_sweep(node);
    const size_t want = channel_bytes(node, most);
    struct tutti_resources *resources = find_free(node, gpu, most, want);
    if (!resources || resources->bytes < want) {
        resources = resources_build(node, gpu, most, why);
        if (!resources) /* a smaller one does, if it is still there */
            resources = find_free(node, gpu, most, want);
    }
    if (resources)
        resources->used = 1;
    pthread_mutex_unlock(&node->lock);
    if (!resources)
        return TUTTI_ERR_UNAVAILABLE;
    if (resources_clear(node, resources) != TUTTI_OK) {
        *why = TUTTI_REASON_TEXT(CLEAR);
        tutti_resources_drop(node, resources);
        return TUTTI_ERR_DEVICE;
    }
    *out = resources;
    return TUTTI_OK;
}

int tutti_resources_are_known(struct tutti_node *node, int gpu, size_t most, uint64_t ranks)
{
    tutti_fiber_lock(&node->lock);
    tutti_membership_sweep(node);
    const size_t want = node->device ? channel_bytes(node, most) : 0;
    const struct tutti_resources *resources = want ? find_free(node, gpu, most, want) : NULL;
    const int known = resources && resources->bytes >= want && (ranks & ~resources->teammates) == 0;
    pthread_mutex_unlock(&node->lock);
    return known;
}

int tutti_resources_begin(struct tutti_node *node, struct tutti_resources *resources, uint64_t ticks, size_t bytes)
{
    const int whole = resources->spoilt || (resources->laid != 0 && resources->laid != bytes);
    ticks = (ticks + TUTTI_TICKS - 1) / TUTTI_TICKS * TUTTI_TICKS;
    int status = node->device->stream.fill(resources->stream, resources->channel, 0,
                                           whole ? resources->bytes : sizeof(struct tutti_channel_flags));
    if (status == TUTTI_OK)
        status = node->device->stream.copy(resources->stream,
                                           (char *)resources->channel + offsetof(struct tutti_channel_flags, ticks),
                                           &ticks, sizeof ticks);
    if (status == TUTTI_OK)
        status = node->device->stream.sync(resources->stream);
    if (status != TUTTI_OK)
        return status;
    resources->spoilt = 0;
    resources->laid = bytes;
    return TUTTI_OK;
}

void tutti_resources_drop(struct tutti_node *node, struct tutti_resources *resources)
{
    tutti_fiber_lock(&node->lock);
    resources->used = 0;
    pthread_mutex_unlock(&node->lock);
}

int tutti_resources_words(struct tutti_node *node, const struct tutti_resources *resources, struct tutti_words **device)
{
    tutti_fiber_lock(&node->lock);
    char *head = tutti_page_view(node, node->device, node->rank, resources->gpu, resources->life, 0,
                                 offsetof(struct tutti_control, slot), 1);
    pthread_mutex_unlock(&node->lock);
    if (!head)
        return TUTTI_ERR_MEMORY;
    *device = (struct tutti_words *)(void *)(head + offsetof(struct tutti_control, words)) + resources->words;
    return TUTTI_OK;
}

static int is_drained(void *with)
{
    const struct tutti_team *team = with;
    return team->device->stream.query(tutti_membership(team)->resources->stream) != 0; /* or its context has gone */
}

void tutti_resources_drain(struct tutti_team *team)
{
    struct tutti_resources *resources = tutti_membership(team) ? tutti_membership(team)->resources : NULL;
    if (!resources || resources->stuck || !tutti_device_active(team->device))
        return;
    if (tutti_progress_wait(&(const struct tutti_wait){
            .done = is_drained, .with = team, .quiet = 1, .seconds = DRAIN_SECONDS, .every_us = 100}) == TUTTI_OK)
        return;
    resources->stuck = 1;
    tutti_error("a kernel on %s did not end within %d s of the request", team->transport->label, DRAIN_SECONDS);
}

void tutti_resources_leave(struct tutti_team *team)
{
    struct tutti_membership *membership = tutti_membership(team);
    if (!membership->resources)
        return;
    if (tutti_team_fault(team) != TUTTI_OK)
        membership->resources->spoilt = 1;
    tutti_team_mail_leave(team);
    tutti_resources_drain(team); /* peers take it that nothing of this rank is stored any more once it has left */
    for (int i = 0; i < membership->pinned; i++)
        tutti_cache_release(team->node->cache, team->node->device, membership->pins[i]);
    membership->pinned = 0;
    tutti_expose_end(team);
}

void tutti_resources_free(struct tutti_node *node, int alive)
{
    while (node->resources) {
        struct tutti_resources *resources = node->resources;
        node->resources = resources->next;
        if (alive && !resources->stuck)
            resources_dismantle(node, resources);
        else
            free(resources);
    }
}

#include "shmem/local/channels.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "coll/coll.h"
#include "core/log.h"
#include "core/status.h"
#include "team/team.h"
#include "team/watcher.h"

/* The share of channels in memory and multiprocessors: MPI's communicators have the rest. Kernels that meet may each
 * keep one multiprocessor, so some must stay free however much the channels use. */
enum { BYTES_FIRST = 64 << 20, BYTES_OTHERS = 16 << 20, BLOCKS_FIRST = 64, BLOCKS_OTHERS = 12 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the table of channels */

static struct tutti_shmem_channel *channel_find(const struct tutti_shmem_channels *channels, int owner)
{
    for (int i = 0; i < TUTTI_SHMEM_CHANNELS; i++) {
        if (atomic_load_explicit(&channels->one[i].owner, memory_order_acquire) == owner)
            return (struct tutti_shmem_channel *)(uintptr_t)&channels->one[i];
    }
    return NULL;
}

static struct tutti_shmem_channel *channel_take(struct tutti_shmem_channels *channels, int number)
{
    pthread_mutex_lock(&lock);
    struct tutti_shmem_channel *channel = channel_find(channels, 0);
    if (channel)
        atomic_store_explicit(&channel->owner, 1 + number, memory_order_release);
    pthread_mutex_unlock(&lock);
    return channel;
}

static void channel_give(struct tutti_shmem_channel *channel)
{
    pthread_mutex_lock(&lock);
    struct tutti_team *made = channel->made;
    channel->team = channel->made = NULL;
    atomic_store_explicit(&channel->owner, 0, memory_order_release);
    pthread_mutex_unlock(&lock);
    tutti_team_free(made);
}

/* The channel gets the team when that is open. */
static int channels_open_on(struct tutti_shmem_channel *channel, struct tutti_team *team, int gpu)
{
    team->channel_most = channel->made ? BYTES_OTHERS : BYTES_FIRST;
    team->blocks_most = channel->made ? BLOCKS_OTHERS : BLOCKS_FIRST;
    const int status = tutti_enqueue_open(team, gpu);
    if (status == TUTTI_OK) {
        pthread_mutex_lock(&lock);
        channel->team = team;
        pthread_mutex_unlock(&lock);
        return status;
    }
    if (status == TUTTI_ERR_UNAVAILABLE)
        tutti_info("no channel for calls in streams on %s: %s", team->transport->label,
                   team->why ? team->why : tutti_status_text(status));
    return status;
}

int tutti_shmem_channels_room(struct tutti_shmem_channels *channels, struct tutti_node *node,
                              struct tutti_transport *near, int gpu)
{
    struct tutti_team *team[TUTTI_SHMEM_CHANNELS - 1] = {NULL};
    int status = TUTTI_OK;
    channels->room = channel_find(channels, 0) != &channels->one[0];
    for (int i = 0; i < TUTTI_SHMEM_CHANNELS - 1; i++) { /* all PEs make all of them, also after a failure */
        int made = tutti_team_create(node, near, &team[i]);
        if (made == TUTTI_OK && channels->room) {
            team[i]->channel_most = BYTES_OTHERS;
            made = tutti_team_open(team[i], gpu);
        }
        channels->room &= team[i] && team[i]->state == TUTTI_TEAM_OPEN;
        status = status == TUTTI_OK ? made : status;
    }
    for (int i = 0; i < TUTTI_SHMEM_CHANNELS - 1; i++)
        tutti_team_free(team[i]);
    return status;
}

int tutti_shmem_channel_over(struct tutti_shmem_channels *channels, struct tutti_team *team, int number, int gpu)
{
    struct tutti_shmem_channel *channel = channel_take(channels, number);
    if (!channel)
        return TUTTI_OK;
    const int status = channels_open_on(channel, team, gpu);
    if (status != TUTTI_OK)
        channel_give(channel);
    return status == TUTTI_ERR_UNAVAILABLE ? TUTTI_OK : status;
}

static void channels_progress(struct tutti_transport *transport)
{
    struct tutti_transport *all = ((struct tutti_shmem_members *)transport)->all;
    all->ops->progress(all);
}

static const struct tutti_transport_ops ops = {.progress = channels_progress};

void tutti_shmem_channel_begin(struct tutti_shmem_channels *channels, struct tutti_node *node,
                               struct tutti_transport *all, int number, int me, int size, void *record)
{
    struct tutti_shmem_channel *channel = channel_take(channels, number);
    memset(record, 0, TUTTI_EXCHANGE_BYTES); /* of a team that is not connected */
    if (!channel)
        return;
    channel->members.base = (struct tutti_transport){.ops = &ops, .rank = me, .size = size};
    channel->members.all = all;
    snprintf(channel->members.base.label, sizeof channel->members.base.label, "team %d of PEs", number);
    if (tutti_team_begin(node, &channel->members.base, record, &channel->made) != TUTTI_OK)
        channel_give(channel);
}

int tutti_shmem_channel_open(struct tutti_shmem_channels *channels, int number, const void *records, int gpu)
{
    struct tutti_shmem_channel *channel = channel_find(channels, 1 + number);
    if (!channel)
        return TUTTI_OK;
    tutti_team_join(channel->made, records);
    const int status = channel->made->whole ? channels_open_on(channel, channel->made, gpu) : TUTTI_ERR_UNAVAILABLE;
    if (status != TUTTI_OK)
        channel_give(channel);
    return status == TUTTI_ERR_UNAVAILABLE ? TUTTI_OK : status;
}

void tutti_shmem_channel_close(struct tutti_shmem_channels *channels, int number)
{
    struct tutti_shmem_channel *channel = channel_find(channels, 1 + number);
    if (channel)
        channel_give(channel);
}

void tutti_shmem_channels_close(struct tutti_shmem_channels *channels)
{
    for (int i = 0; i < TUTTI_SHMEM_CHANNELS; i++) {
        if (atomic_load(&channels->one[i].owner))
            channel_give(&channels->one[i]);
    }
}

struct tutti_team *tutti_shmem_channel_of(const struct tutti_shmem_channels *channels, int number)
{
    const struct tutti_shmem_channel *channel = channel_find(channels, 1 + number);
    return channel ? channel->team : NULL;
}

int tutti_shmem_channels_look(struct tutti_shmem_channels *channels)
{
    int status = TUTTI_OK;
    if (atomic_load_explicit(&channels->reported, memory_order_relaxed))
        return status;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TUTTI_SHMEM_CHANNELS && status == TUTTI_OK; i++) {
        const struct tutti_team *team = channels->one[i].team;
        status = team ? tutti_team_seen(team) : TUTTI_OK;
    }
    pthread_mutex_unlock(&lock);
    return status != TUTTI_OK && !atomic_exchange(&channels->reported, 1) ? status : TUTTI_OK;
}

void tutti_shmem_channels_leave(struct tutti_shmem_channels *channels)
{
    if (atomic_exchange(&channels->reported, 1))
        return;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < TUTTI_SHMEM_CHANNELS; i++) {
        if (channels->one[i].team)
            tutti_watcher_give_up(channels->one[i].team, TUTTI_ERR_BROKEN);
    }
    pthread_mutex_unlock(&lock);
}

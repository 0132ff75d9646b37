/* Opening a team, and closing it again: each rank takes resources, all exchange them, the leaders' channels are
 * mapped, all agree. Any failure on any rank makes the team unavailable on all. */
#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "core/reasons.h"
#include "core/settings.h"
#include "team/cache.h"
#include "team/expose.h"
#include "team/resources.h"
#include "team/share.h"
#include "team/socket.h"

struct opening {
    struct tutti_team *team;
    struct tutti_resources *resources;
    const char *why;                            /* of this rank; NULL: none */
    struct tutti_offer offers[TUTTI_MAX_RANKS]; /* copies: what has been checked must not change */
    int fd[TUTTI_MAX_RANKS];
    enum tutti_lines lines; /* whether this rank's GPU and all others see each other's 128-byte stores whole; of rank 0
                               any two */
};

/* Second phase: reasons as numbers, so that the least one can be agreed. */
enum { REASON_OFFER, REASON_REACH, REASON_DESCRIPTOR, REASON_IMPORT, REASON_WORDS, REASON_CHANNEL, REASONS };
static const enum tutti_reason reasons[REASONS] = {
    [REASON_OFFER] = TUTTI_REASON_OFFER,           [REASON_REACH] = TUTTI_REASON_REACH,
    [REASON_DESCRIPTOR] = TUTTI_REASON_DESCRIPTOR, [REASON_IMPORT] = TUTTI_REASON_IMPORT,
    [REASON_WORDS] = TUTTI_REASON_WORDS,           [REASON_CHANNEL] = TUTTI_REASON_WRITTEN,
};

static int device_complete(const struct tutti_device *device)
{
    const struct {
        int there;
        const char *name;
    } needed[] = {
        {device->open != NULL, "open"},
        {device->active != NULL, "active"},
        {device->gpu.count != NULL, "gpus"},
        {device->gpu.current != NULL, "current"},
        {device->gpu.uuid != NULL, "uuid"},
        {device->gpu.reach != NULL, "reach"},
        {device->gpu.blocks != NULL, "blocks"},
        {device->memory.classify != NULL, "classify"},
        {device->memory.alloc != NULL && device->memory.free != NULL, "alloc and free"},
        {device->memory.map_host != NULL && device->memory.unmap_host != NULL, "map_host and unmap_host"},
        {device->share.export != NULL, "export_memory"},
        {device->share.import != NULL && device->share.release != NULL, "import_memory and release_memory"},
        {device->stream.create != NULL && device->stream.destroy != NULL, "stream_create and stream_destroy"},
        {device->stream.sync != NULL && device->stream.query != NULL, "stream_sync and stream_query"},
        {device->stream.fill != NULL && device->launch.kernel != NULL, "fill and launch"},
    };
    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        if (!needed[i].there) {
            tutti_device_missing(device, needed[i].name);
            return 0;
        }
    }
    return 1;
}

/* This rank's part of the first phase; returns the reason why it cannot, or NULL. */
static const char *open_prepare(struct opening *o, int gpu, struct tutti_offer *mine)
{
    struct tutti_team *team = o->team;
    const struct tutti_device *device = tutti_device();
    char text[160] = "";
    const char *why = NULL;
    if (!device)
        return TUTTI_REASON_TEXT(NO_DEVICE);
    if (!device_complete(device))
        return TUTTI_REASON_TEXT(DEVICE);
    if (device->open(text, sizeof text) != TUTTI_OK) {
        tutti_info("device %s cannot be used: %s", device->name, text);
        return TUTTI_REASON_TEXT(DEVICE_CLOSED);
    }
    int gpus = device->gpu.count();
    if (gpu < 0 && device->gpu.current(&gpu) != TUTTI_OK)
        gpu = -1;
    if (gpu < 0 && gpus > 0)
        gpu = team->node->rank % gpus;
    if (gpu < 0 || gpu >= gpus)
        return TUTTI_REASON_TEXT(NO_GPU);
    if (device->gpu.uuid(gpu, mine->uuid) != TUTTI_OK)
        return TUTTI_REASON_TEXT(NO_UUID);
    tutti_fiber_lock(&team->node->lock);
    if (!team->node->device) /* there is one a process; threads that have it read it without the lock */
        team->node->device = device;
    pthread_mutex_unlock(&team->node->lock);
    if (tutti_resources_take(team->node, gpu, team->channel_most, &o->resources, &why) != TUTTI_OK)
        return why;
    mine->bytes = o->resources->bytes;
    mine->blocks = device->gpu.blocks(gpu);
    mine->ticks = o->resources->ticks;
    mine->words = (uint64_t)o->resources->words;
    tutti_expose_begin(team->node, o->resources->words);
    mine->share = o->resources->share;
    team->device = device;
    team->gpu = gpu;
    team->life = o->resources->life;
    return NULL;
}

/* Participants in order of their lowest rank, which leads. Returns 0 if there are too many. */
static int offers_group(struct opening *o)
{
    struct tutti_team *team = o->team;
    team->gpus = 0;
    for (int r = 0; r < team->size; r++) {
        int g = 0;
        while (g < team->gpus && memcmp(o->offers[team->leader_of[g]].uuid, o->offers[r].uuid, 16) != 0)
            g++;
        if (g == TUTTI_MAX_GPUS)
            return 0;
        if (g == team->gpus)
            team->leader_of[team->gpus++] = r;
        team->gpu_of[r] = g;
    }
    team->gpu_index = team->gpu_of[team->rank];
    team->leader = team->leader_of[team->gpu_index] == team->rank;
    return 1;
}

/* 1 if rank `mapper` maps the channel of rank `of`: all ranks map leaders' channels, a leader maps its own ranks'. */
static int rank_maps(const struct tutti_team *team, int mapper, int of)
{
    int leader = team->leader_of[team->gpu_of[of]];
    return mapper != of && (leader == of || leader == mapper);
}

/* Ranks that this one has still to send its descriptor to; those whose are expected are the place's. */
struct exchanging {
    struct opening *o;
    uint64_t unsent;
};

static int is_exchanged(void *with)
{
    struct exchanging *e = with;
    struct opening *o = e->o;
    struct tutti_team *team = o->team;
    struct tutti_membership *membership = tutti_membership(team);
    for (int r = 0; r < team->size; r++) {
        if (e->unsent >> r & 1 && tutti_share_send_rank(team, r, &o->resources->share.what))
            e->unsent &= ~(UINT64_C(1) << r);
        if (membership->expected >> r & 1 &&
            tutti_socket_take(team->node, membership->peer[r], membership->number[team->rank], team->sequence,
                              o->offers[r].share.what.id, &o->fd[r]))
            membership->expected &= ~(UINT64_C(1) << r);
    }
    return !e->unsent && !membership->expected;
}

/* Sends this rank's descriptor to the ranks that map it, and receives theirs. A rank that has failed takes part too. */
static int offers_exchange(struct opening *o)
{
    struct tutti_team *team = o->team;
    struct tutti_membership *membership = tutti_membership(team);
    struct exchanging e = {.o = o};
    membership->expected = 0;
    for (int r = 0; r < team->size; r++) {
        if (rank_maps(team, r, team->rank) && o->offers[team->rank].share.what.needs_fd)
            e.unsent |= UINT64_C(1) << r;
        if (rank_maps(team, team->rank, r) && o->offers[r].share.what.needs_fd)
            membership->expected |= UINT64_C(1) << r;
    }
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_DESCRIPTOR, membership->expected);
    return tutti_await(&w, is_exchanged, &e);
}

/* Maps the channel of rank r; returns REASONS or what failed. */
static int map_channel(struct opening *o, int r, void **channel)
{
    struct tutti_team *team = o->team;
    struct tutti_membership *membership = tutti_membership(team);
    const struct tutti_share *share = &o->offers[r].share;
    struct tutti_mapping *mapping = tutti_cache_find(team->node->cache, membership->peer[r], team->gpu, &share->what);
    if (!mapping && share->what.needs_fd && o->fd[r] < 0)
        return REASON_DESCRIPTOR;
    if (!mapping && tutti_cache_add(team->node->cache, team->device, membership->peer[r], team->gpu, &share->what,
                                    o->fd[r], 1, &mapping) != TUTTI_OK)
        return REASON_IMPORT;
    membership->pins[membership->pinned++] = mapping;
    *channel = (char *)mapping->base + share->offset;
    return REASONS;
}

/* The least of all ranks' channels: all lay theirs out alike. */
static size_t least_bytes(const struct opening *o)
{
    size_t bytes = o->resources->bytes;
    for (int r = 0; r < o->team->size; r++)
        bytes = o->offers[r].bytes < bytes ? o->offers[r].bytes : bytes;
    return bytes;
}

/* 1 if the channel lies within the allocation that it names, and the numbers are such as tutti_resources_take()
 * gives. */
static int offer_sound(const struct tutti_offer *offer)
{
    const struct tutti_share *share = &offer->share;
    return share->shared && offer->bytes >= TUTTI_CHANNEL_LEAST && share->offset <= share->what.bytes &&
           offer->bytes <= share->what.bytes - share->offset && offer->blocks > 0 && offer->ticks < UINT64_C(1) << 62 &&
           offer->words < TUTTI_WORDS;
}

static int open_map_all(struct opening *o)
{
    struct tutti_team *team = o->team;
    for (int r = 0; r < team->size; r++) {
        if (offer_sound(&o->offers[r]))
            continue;
        tutti_error("rank %d offers a channel on %s that is not where it says", r, team->transport->label);
        return REASON_OFFER;
    }
    uint64_t ticks = TUTTI_EPOCHS_BEFORE * TUTTI_TICKS;
    for (int r = 0; r < team->size; r++)
        ticks = o->offers[r].ticks > ticks ? o->offers[r].ticks : ticks;
    if (tutti_resources_begin(team->node, o->resources, ticks, least_bytes(o)) != TUTTI_OK)
        return REASON_CHANNEL;
    int setting = tutti_settings()->lines, lines = setting != TUTTI_SET_NO;
    for (int g = 0; g < team->gpus && team->leader; g++) {
        int reach = g == team->gpu_index ? 2 : team->device->gpu.reach(team->gpu, o->offers[team->leader_of[g]].uuid);
        if (!reach)
            return REASON_REACH;
        lines &= reach == 2 || setting == TUTTI_SET_YES;
    }
    o->lines = lines ? TUTTI_LINES_THERE : TUTTI_LINES_NONE;
    for (int g = 0; g < team->gpus; g++)
        memcpy(tutti_membership(team)->uuid[g], o->offers[team->leader_of[g]].uuid, sizeof o->offers[0].uuid);
    if (lines && setting == TUTTI_SET_AUTO && team->rank == 0)
        o->lines = tutti_team_lines_open(team);
    memset(team->window, 0, sizeof team->window);
    memset(team->scratch_of, 0, sizeof team->scratch_of);
    for (int r = 0; r < team->size; r++) {
        void *channel = o->resources->channel;
        int g = team->gpu_of[r], leads = team->leader_of[g] == r;
        int failed = rank_maps(team, team->rank, r) ? map_channel(o, r, &channel) : REASONS;
        if (failed != REASONS)
            return failed;
        if (leads)
            team->window[g] = channel;
        if (team->leader && g == team->gpu_index)
            team->scratch_of[r] = channel;
    }
    return tutti_resources_words(team->node, o->resources, &team->words_device) == TUTTI_OK ? REASONS : REASON_WORDS;
}

/* The first phase's outcome, from all offers: NULL if all are ready. */
static const char *opening_refused(struct opening *o, const char *mine)
{
    struct tutti_team *team = o->team;
    for (int r = 0; r < team->size; r++) {
        if (o->offers[r].why[0] == '\0')
            continue;
        tutti_debug("rank %d cannot share device memory: %.63s", r, o->offers[r].why);
        return mine ? mine : TUTTI_REASON_TEXT(RANK_UNABLE);
    }
    return offers_group(o) ? NULL : TUTTI_REASON_TEXT(MANY_GPUS);
}

static void opening_give_up(struct opening *o, const char *why)
{
    struct tutti_team *team = o->team;
    struct tutti_membership *membership = tutti_membership(team);
    for (int i = 0; i < membership->pinned; i++)
        tutti_cache_release(team->node->cache, team->node->device, membership->pins[i]);
    membership->pinned = 0;
    if (o->resources)
        tutti_resources_drop(team->node, o->resources);
    team->device = NULL;
    team->state = TUTTI_TEAM_UNAVAILABLE;
    team->why = why;
    tutti_info("device memory is not shared on %s: %s", team->transport->label, why);
}

/* Node ranks of the team, those below 64. */
static uint64_t team_nodemates(const struct tutti_team *team)
{
    uint64_t ranks = 0;
    for (int r = 0; r < team->size; r++) {
        const int rank = tutti_membership(team)->peer[r];
        ranks |= rank < 64 ? UINT64_C(1) << rank : 0;
    }
    return ranks;
}

int tutti_team_opens_soon(const struct tutti_team *team, int gpu)
{
    const uint64_t ranks = team_nodemates(team);
    return __builtin_popcountll(ranks) == team->size &&
           tutti_resources_are_known(tutti_membership(team)->node, gpu, team->channel_most, ranks);
}

static void fill_team(struct opening *o)
{
    struct tutti_team *team = o->team;
    team->channel_bytes = least_bytes(o);
    for (int r = 0; r < team->size; r++)
        tutti_membership(team)->words_of[r] = (int)o->offers[r].words;
    uint64_t blocks = o->offers[0].blocks;
    for (int r = 0; r < team->size; r++)
        blocks = o->offers[r].blocks < blocks ? o->offers[r].blocks : blocks;
    team->blocks = (unsigned)blocks;
    team->scratch = o->resources->channel;
    team->stream = o->resources->stream;
    team->words = &tutti_node_control(team->node)->words[o->resources->words];
    team->epoch = 0;
    team->finished = 0;
    team->noticed = 0; /* as the words are cleared: a team may be opened again */
    team->mail = (struct tutti_mail_box){.sequence = (uint32_t)TUTTI_FIRST};
    o->resources->teammates |= team_nodemates(team);
    tutti_membership(team)->resources = o->resources;
    tutti_membership(team)->kernel_epoch = 0;
    tutti_sm_budget_open(team);
    team->state = TUTTI_TEAM_OPEN;
}

int tutti_team_open(struct tutti_team *team, int gpu)
{
    _Static_assert(TUTTI_MAX_GPUS == 16, "a text above names it");
    struct opening o = {.team = team};
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    if (team->state != TUTTI_TEAM_CLOSED || !team->whole)
        return TUTTI_OK;
    for (int r = 0; r < TUTTI_MAX_RANKS; r++)
        o.fd[r] = -1;
    struct tutti_offer *mine = &team->slot[team->rank]->offer;
    *mine = (struct tutti_offer){.bytes = 0};
    o.why = open_prepare(&o, gpu, mine);
    if (o.why)
        strncpy(mine->why, o.why, sizeof mine->why - 1);
    uint32_t all;
    int status = tutti_team_vote_for(team, TUTTI_WAITING_OFFER, 1, &all);
    for (int r = 0; r < team->size && status == TUTTI_OK; r++)
        o.offers[r] = team->slot[r]->offer;
    const char *why = status == TUTTI_OK ? opening_refused(&o, o.why) : TUTTI_REASON_TEXT(PEER);
    if (!why) {
        uint32_t outcome = REASONS;
        status = offers_exchange(&o);
        if (status == TUTTI_OK)
            outcome = (uint32_t)open_map_all(&o);
        if (outcome == REASONS)
            outcome += o.lines;
        for (int r = 0; r < team->size; r++) {
            if (o.fd[r] >= 0)
                close(o.fd[r]);
        }
        if (status == TUTTI_OK)
            status = tutti_team_vote(team, outcome, &outcome);
        if (status != TUTTI_OK || outcome < REASONS)
            why = status == TUTTI_OK ? tutti_reasons[reasons[outcome]].text : TUTTI_REASON_TEXT(PEER);
        team->lines = !why && outcome == REASONS + TUTTI_LINES_THERE;
        team->lines_later = !why && outcome == REASONS + TUTTI_LINES_LATER;
    }
    if (why)
        opening_give_up(&o, why);
    else
        fill_team(&o);
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
}

int tutti_team_close(struct tutti_team *team, uint64_t reset)
{
    struct tutti_membership *membership = tutti_membership(team);
    struct tutti_resources *resources = membership->resources;
    uint32_t all;
    if (team->state != TUTTI_TEAM_OPEN)
        return TUTTI_OK;
    for (int r = 0; r < team->size; r++) {
        if (reset >> r & 1)
            tutti_cache_doom(team->node->cache, membership->pins, membership->pinned, membership->peer[r]);
    }
    tutti_resources_leave(team);
    const int status = tutti_team_vote(team, 1, &all); /* no peer's kernel stores in this rank's channel any more */
    if (status != TUTTI_OK)
        return status;
    membership->resources = NULL;
    team->words = team->words_device = NULL;
    team->stream = NULL;
    team->scratch = NULL;
    team->lines = team->lines_later = 0;
    team->state = TUTTI_TEAM_CLOSED;
    tutti_resources_drop(team->node, resources);
    return TUTTI_OK;
}

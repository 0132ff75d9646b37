/* Teams: making and leaving them. */
#include "team/team.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/reasons.h"
#include "team/deferred_free.h"
#include "team/node.h"
#include "team/resources.h"
#include "team/share.h"
#include "team/watcher.h"

/* What the ranks exchange when a team is made: [0] of the team, [1] of its nonblocking team. */
enum { TEAM, TWIN, BOTH };
struct team_record {
    uint64_t nonce[2];
    int32_t rank;       /* in the node */
    int32_t slot[BOTH]; /* -1: none */
    uint32_t generation[BOTH];
    uint32_t pad;
};

static void drop_slots(struct tutti_node *node, struct team_record *mine)
{
    if (mine->slot[TEAM] >= 0)
        tutti_slots_drop(node, mine->slot, BOTH);
    mine->slot[TEAM] = mine->slot[TWIN] = -1;
}

static struct team_record team_record_of(struct tutti_node *node, int able)
{
    struct team_record mine = {.slot = {-1, -1}};
    if (!node || node->forgotten)
        return mine;
    mine.nonce[0] = node->nonce[0];
    mine.nonce[1] = node->nonce[1];
    mine.rank = node->rank;
    if (!able || !tutti_slots_take(node, mine.slot, BOTH)) {
        mine.slot[TEAM] = mine.slot[TWIN] = -1;
        return mine;
    }
    for (int i = 0; i < BOTH; i++)
        mine.generation[i] = atomic_load(&tutti_node_control(node)->slot[mine.slot[i]].generation);
    return mine;
}

/* Reason why these ranks cannot share memory, the same on all of them; NULL if they can. */
static const char *team_why_not(const struct tutti_node *node, const struct team_record all[], int size)
{
    for (int r = 0; r < size; r++) {
        if (all[r].nonce[0] == 0 && all[r].nonce[1] == 0)
            return TUTTI_REASON_TEXT(NOT_CONNECTED);
    }
    for (int r = 1; r < size; r++) {
        if (all[r].nonce[0] != all[0].nonce[0] || all[r].nonce[1] != all[0].nonce[1])
            return TUTTI_REASON_TEXT(NODES);
    }
    for (int r = 0; r < size; r++) {
        if (!node || all[r].rank < 0 || all[r].rank >= node->size)
            return TUTTI_REASON_TEXT(NOT_CONNECTED);
    }
    for (int i = 0; i < BOTH * size; i++) {
        int slot = all[i / BOTH].slot[i % BOTH];
        if (slot < 0 || slot >= TUTTI_SLOTS)
            return TUTTI_REASON_TEXT(COMMS);
    }
    return NULL;
}

static void team_take_place(struct tutti_team *team, const struct team_record all[], int which)
{
    struct tutti_membership *membership = tutti_membership(team);
    membership->node = team->node;
    membership->rank = team->rank;
    membership->size = team->size;
    __atomic_store_n(&membership->caller, tutti_fiber_self(), __ATOMIC_RELAXED);
    for (int r = 0; r < team->size; r++) {
        membership->peer[r] = all[r].rank;
        membership->number[r] = all[r].slot[which];
        membership->generation[r] = all[r].generation[which];
        struct tutti_control *control = team->node->peer[all[r].rank].page->control;
        membership->slot[r] = team->slot[r] = &control->slot[all[r].slot[which]];
        team->listed[r] = control->listed[all[r].slot[which]];
    }
    team->whole = 1;
    team->is_nonblocking = which == TWIN;
}

/* A child after fork takes no lock: another thread of the parent may have held it. */
static int parts_are_kept(const struct tutti_node *node)
{
    return node && !node->forgotten;
}

static void free_parts(struct tutti_node *node, struct tutti_team *team[BOTH])
{
    const int kept = parts_are_kept(node);
    if (kept)
        tutti_fiber_lock(&node->lock);
    for (int i = 0; i < BOTH; i++) {
        if (!team[i])
            continue;
        if (kept && team[i]->private_)
            tutti_team_memory_put(&node->membership_memory, team[i]->private_);
        else
            free(team[i]->private_);
        if (kept)
            tutti_team_memory_put(&node->team_memory, team[i]);
        else
            free(team[i]);
    }
    if (kept)
        pthread_mutex_unlock(&node->lock);
}

/* 0: out of memory; free_parts() frees the parts that were made. */
static int new_parts(struct tutti_node *node, struct tutti_transport *transport, struct tutti_team *team[BOTH])
{
    struct tutti_membership *membership[BOTH] = {NULL, NULL};
    int able = 1;
    if (parts_are_kept(node)) {
        tutti_fiber_lock(&node->lock);
        for (int i = 0; i < BOTH; i++) {
            team[i] = tutti_team_memory_take(&node->team_memory);
            membership[i] = tutti_team_memory_take(&node->membership_memory);
        }
        pthread_mutex_unlock(&node->lock);
    }
    for (int i = 0; i < BOTH; i++) {
        team[i] = team[i] ? team[i] : malloc(sizeof *team[i]);
        membership[i] = membership[i] ? membership[i] : malloc(sizeof *membership[i]);
        able = able && team[i] && membership[i];
        if (membership[i])
            memset(membership[i], 0, offsetof(struct tutti_membership, slot));
        if (!team[i]) {
            free(membership[i]);
            continue;
        }
        memset(team[i], 0, sizeof *team[i]);
        team[i]->private_ = membership[i];
        team[i]->node = node;
        team[i]->transport = transport;
        team[i]->rank = transport->rank;
        team[i]->size = transport->size;
    }
    return able;
}

struct tutti_team *tutti_team_apart(struct tutti_node *node, struct tutti_transport *transport, const char *why)
{
    struct tutti_team *team = calloc(1, sizeof *team);
    if (!team)
        return NULL;
    team->node = node;
    team->transport = transport;
    team->rank = transport->rank;
    team->size = transport->size;
    team->sequence = team->votes = (uint32_t)TUTTI_FIRST;
    team->why = why;
    return team;
}

int tutti_team_begin(struct tutti_node *node, struct tutti_transport *transport, void *exchange,
                     struct tutti_team **out)
{
    struct tutti_team *team[BOTH] = {NULL, NULL};
    int able = new_parts(node, transport, team);
    struct team_record mine = team_record_of(node, able && transport->size <= TUTTI_MAX_RANKS);
    _Static_assert(sizeof mine <= TUTTI_EXCHANGE_BYTES, "exchanges travel in fixed room");
    memset(exchange, 0, TUTTI_EXCHANGE_BYTES);
    memcpy(exchange, &mine, sizeof mine);
    if (!able) {
        free_parts(node, team);
        return TUTTI_ERR_MEMORY;
    }
    for (int i = 0; i < BOTH; i++) {
        team[i]->sequence = team[i]->votes = (uint32_t)TUTTI_FIRST;
        team[i]->why = TUTTI_REASON_TEXT(UNTOLD);
        if (mine.slot[i] >= 0)
            team[i]->slot[transport->rank] = &tutti_node_control(node)->slot[mine.slot[i]];
    }
    team[TEAM]->nonblocking = team[TWIN];
    *out = team[TEAM];
    return TUTTI_OK;
}

void tutti_team_join(struct tutti_team *team, const void *exchanges)
{
    struct team_record all[TUTTI_MAX_RANKS];
    const char *why = TUTTI_REASON_TEXT(MANY_RANKS);
    _Static_assert(TUTTI_MAX_RANKS == 64, "the text above names it");
    if (team->size <= TUTTI_MAX_RANKS) {
        for (int r = 0; r < team->size; r++)
            memcpy(&all[r], (const char *)exchanges + (size_t)r * TUTTI_EXCHANGE_BYTES, sizeof all[r]);
        why = team_why_not(team->node, all, team->size);
        if (why)
            drop_slots(team->node, &all[team->rank]);
    }
    team->why = why;
    if (!why) {
        team_take_place(team, all, TEAM);
        team_take_place(team->nonblocking, all, TWIN);
        team->nonblocking->why = NULL;
        return;
    }
    free(team->private_);
    team->private_ = NULL;
    struct tutti_team *rest[BOTH] = {team->nonblocking, NULL};
    team->nonblocking = NULL;
    free_parts(team->node, rest);
}

int tutti_team_create(struct tutti_node *node, struct tutti_transport *transport, struct tutti_team **out)
{
    /* Allocates nothing: a rank without memory would leave the others waiting in the exchange. */
    char mine[TUTTI_EXCHANGE_BYTES], all[TUTTI_EXCHANGE_BYTES * TUTTI_MAX_RANKS];
    struct tutti_team *team = NULL;
    int begun = tutti_team_begin(node, transport, mine, &team), status = TUTTI_OK;
    if (transport->size <= TUTTI_MAX_RANKS)
        status = transport->ops->allgather(transport, mine, all, sizeof mine);
    if (status == TUTTI_OK && begun == TUTTI_OK)
        tutti_team_join(team, all);
    else if (begun == TUTTI_OK)
        tutti_team_abandon(team, mine);
    if (status != TUTTI_OK || begun != TUTTI_OK)
        return status != TUTTI_OK ? status : begun;
    *out = team;
    return TUTTI_OK;
}

void tutti_team_abandon(struct tutti_team *team, const void *exchange)
{
    struct team_record mine;
    memcpy(&mine, exchange, sizeof mine);
    drop_slots(team->node, &mine);
    struct tutti_team *both[BOTH] = {team, team->nonblocking};
    free_parts(team->node, both);
}

void tutti_team_unshare(struct tutti_team *team)
{
    if (team->share && !team->node->forgotten) {
        tutti_watcher_remove(team);
        tutti_sm_budget_settle(team, 0);
        tutti_deferred_free_release(team->node);
    }
    team->share = 0;
}

void tutti_team_free(struct tutti_team *team)
{
    if (!team)
        return;
    tutti_team_free(team->nonblocking);
    tutti_team_unshare(team);
    struct tutti_membership *membership = tutti_membership(team);
    struct tutti_team *both[BOTH] = {team, NULL};
    if (team->attached_end)
        team->attached_end(team, membership && !team->node->forgotten);
    if (membership && !team->node->forgotten) {
        tutti_resources_leave(team);
        tutti_share_release(membership);
        tutti_membership_leave(membership);
        team->private_ = NULL;
    }
    free_parts(team->node, both);
}

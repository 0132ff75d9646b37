/* Teams: making and leaving them, arrivals, votes, ends of calls. */
#include "team/team.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "team/discard.h"
#include "team/map.h"
#include "team/node.h"
#include "team/seat.h"
#include "team/watch.h"
#include "team/watcher.h"

/* What the ranks tell each other when a team is made: [0] of the team, [1] of its twin. */
enum { TEAM, TWIN, BOTH };
struct ticket {
    uint64_t nonce[2];
    int32_t rank;       /* in the node */
    int32_t slot[BOTH]; /* -1: none */
    uint32_t generation[BOTH];
    uint32_t pad;
};

static void drop_slots(struct tutti_node *node, struct ticket *mine)
{
    for (int i = 0; i < BOTH; i++) {
        if (mine->slot[i] >= 0)
            tutti_slot_drop(node, mine->slot[i]);
        mine->slot[i] = -1;
    }
}

static struct ticket my_ticket(struct tutti_node *node, int able)
{
    struct ticket mine = {.slot = {-1, -1}};
    if (!node || node->forgotten)
        return mine;
    mine.nonce[0] = node->nonce[0];
    mine.nonce[1] = node->nonce[1];
    mine.rank = node->rank;
    for (int i = 0; i < BOTH && able; i++) {
        mine.slot[i] = tutti_slot_take(node);
        able = mine.slot[i] >= 0;
        if (able)
            mine.generation[i] = atomic_load(&tutti_node_control(node)->slot[mine.slot[i]].generation);
    }
    if (!able)
        drop_slots(node, &mine);
    return mine;
}

/* Reason why these ranks cannot share memory, the same on all of them; NULL where they can. */
static const char *why_not(const struct tutti_node *node, const struct ticket all[], int size)
{
    for (int r = 0; r < size; r++) {
        if (all[r].nonce[0] == 0 && all[r].nonce[1] == 0)
            return "ranks are not connected";
    }
    for (int r = 1; r < size; r++) {
        if (all[r].nonce[0] != all[0].nonce[0] || all[r].nonce[1] != all[0].nonce[1])
            return "ranks on several nodes";
    }
    for (int r = 0; r < size; r++) {
        if (!node || all[r].rank < 0 || all[r].rank >= node->size)
            return "ranks are not connected";
    }
    for (int i = 0; i < BOTH * size; i++) {
        int slot = all[i / BOTH].slot[i % BOTH];
        if (slot < 0 || slot >= TUTTI_SLOTS)
            return "too many communicators";
    }
    return NULL;
}

static void take_place(struct tutti_team *team, const struct ticket all[], int which)
{
    struct tutti_place *place = tutti_place(team);
    place->node = team->node;
    place->rank = team->rank;
    place->size = team->size;
    place->caller = pthread_self();
    for (int r = 0; r < team->size; r++) {
        place->peer[r] = all[r].rank;
        place->number[r] = all[r].slot[which];
        place->generation[r] = all[r].generation[which];
        place->slot[r] = team->slot[r] = &team->node->peer[all[r].rank].page->control->slot[all[r].slot[which]];
    }
    team->whole = 1;
    team->is_twin = which == TWIN;
}

static void free_parts(struct tutti_team *team[BOTH])
{
    for (int i = 0; i < BOTH; i++) {
        if (team[i])
            free(team[i]->private_);
        free(team[i]);
    }
}

/* 0 where there is no memory; what there is goes to free_parts(). */
static int new_parts(struct tutti_node *node, struct tutti_transport *transport, struct tutti_team *team[BOTH])
{
    for (int i = 0; i < BOTH; i++) {
        team[i] = calloc(1, sizeof *team[i]);
        if (!team[i])
            return 0;
        team[i]->private_ = calloc(1, sizeof(struct tutti_place));
        if (!team[i]->private_)
            return 0;
        team[i]->node = node;
        team[i]->transport = transport;
        team[i]->rank = transport->rank;
        team[i]->size = transport->size;
    }
    return 1;
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

int tutti_team_begin(struct tutti_node *node, struct tutti_transport *transport, void *ticket, struct tutti_team **out)
{
    struct tutti_team *team[BOTH] = {NULL, NULL};
    int able = new_parts(node, transport, team);
    struct ticket mine = my_ticket(node, able && transport->size <= TUTTI_MAX_RANKS);
    _Static_assert(sizeof mine <= TUTTI_TICKET_BYTES, "tickets travel in fixed room");
    memset(ticket, 0, TUTTI_TICKET_BYTES);
    memcpy(ticket, &mine, sizeof mine);
    if (!able) {
        free_parts(team);
        return TUTTI_ERR_MEMORY;
    }
    for (int i = 0; i < BOTH; i++) {
        team[i]->sequence = team[i]->votes = (uint32_t)TUTTI_FIRST;
        team[i]->why = "not all ranks have said where they are";
        if (mine.slot[i] >= 0)
            team[i]->slot[transport->rank] = &tutti_node_control(node)->slot[mine.slot[i]];
    }
    team[TEAM]->twin = team[TWIN];
    *out = team[TEAM];
    return TUTTI_OK;
}

void tutti_team_join(struct tutti_team *team, const void *tickets)
{
    struct ticket all[TUTTI_MAX_RANKS];
    const char *why = "more than 64 ranks";
    _Static_assert(TUTTI_MAX_RANKS == 64, "the text above says so");
    if (team->size <= TUTTI_MAX_RANKS) {
        for (int r = 0; r < team->size; r++)
            memcpy(&all[r], (const char *)tickets + (size_t)r * TUTTI_TICKET_BYTES, sizeof all[r]);
        why = why_not(team->node, all, team->size);
        if (why)
            drop_slots(team->node, &all[team->rank]);
    }
    team->why = why;
    if (!why) {
        take_place(team, all, TEAM);
        take_place(team->twin, all, TWIN);
        team->twin->why = NULL;
        return;
    }
    free(team->private_);
    team->private_ = NULL;
    struct tutti_team *rest[BOTH] = {team->twin, NULL};
    team->twin = NULL;
    free_parts(rest);
}

int tutti_team_create(struct tutti_node *node, struct tutti_transport *transport, struct tutti_team **out)
{
    /* No memory is asked for here: who had none would leave the others in the exchange. */
    char mine[TUTTI_TICKET_BYTES], all[TUTTI_TICKET_BYTES * TUTTI_MAX_RANKS];
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

void tutti_team_abandon(struct tutti_team *team, const void *ticket)
{
    struct ticket mine;
    memcpy(&mine, ticket, sizeof mine);
    drop_slots(team->node, &mine);
    struct tutti_team *both[BOTH] = {team, team->twin};
    free_parts(both);
}

void tutti_team_unshare(struct tutti_team *team)
{
    if (team->share && !team->node->forgotten) {
        tutti_watcher_remove(team);
        tutti_room_unshare(team, team->share);
        tutti_discard_release(team->node);
    }
    team->share = 0;
}

void tutti_team_free(struct tutti_team *team)
{
    if (!team)
        return;
    tutti_team_free(team->twin);
    tutti_team_unshare(team);
    struct tutti_place *place = tutti_place(team);
    if (team->linger.launches)
        tutti_debug("kernels that stay: %llu launched, %llu calls by mail", (unsigned long long)team->linger.launches,
                    (unsigned long long)team->linger.served);
    if (place && !team->node->forgotten) {
        for (int i = 0; i < team->spares && team->device->active(); i++)
            tutti_discard_memory(team->node, team->spare[i]);
        for (int i = 0; i < (team->keep ? TUTTI_KEEPS : 0); i++)
            tutti_discard_launch(team->node, team->keep[i].kept);
        tutti_discard_launch(team->node, team->keep_stale);
        tutti_seat_leave(team);
        tutti_map_release(place);
        tutti_place_leave(place);
    } else {
        free(place);
    }
    free(team->keep);
    free(team);
}

/* Peers that wait for a nonblocking call see that this rank is at others. */
static void count_step(struct tutti_team *team)
{
    if (team->is_twin)
        atomic_fetch_add_explicit(&tutti_node_control(team->node)->steps, 1, memory_order_relaxed);
}

void tutti_team_arrive(struct tutti_team *team, const struct tutti_arrival *mine)
{
    struct tutti_place *place = tutti_place(team);
    struct tutti_slot *slot = team->slot[team->rank];
    count_step(team);
    place->caller = pthread_self();
    if (place->held)
        tutti_map_release(place);
    /* Keeps `done` near the sequence, also where nobody waits for it. */
    atomic_store_explicit(&slot->done, team->sequence, memory_order_release);
    uint32_t sequence = ++team->sequence;
    place->seen[team->rank] = *mine;
    struct tutti_shares *shares = tutti_team_shares(team, team->rank);
    if (!team->offered)
        shares->in.shared = shares->out.shared = 0;
    if (mine->kind == TUTTI_ARRIVAL_DEVICE)
        atomic_store_explicit(&slot->device[place->device_calls++ & 1], sequence, memory_order_relaxed);
    atomic_store_explicit(&slot->record[sequence % TUTTI_RECORDS].blocks, mine->blocks | mine->streams << 31,
                          memory_order_relaxed);
    tutti_record_write(slot, sequence, mine->collective, mine->type, mine->op, mine->kind, mine->count, mine->detail);
}

int tutti_team_peer(const struct tutti_team *team, int r)
{
    return tutti_place(team)->peer[r];
}

static uint64_t others(const struct tutti_team *team)
{
    uint64_t all = team->size == 64 ? UINT64_MAX : (UINT64_C(1) << team->size) - 1;
    return all & ~(UINT64_C(1) << team->rank);
}

/* A record that is gone: only its kind is known. */
static void assume(const struct tutti_slot *slot, uint32_t sequence, const struct tutti_arrival *mine,
                   struct tutti_arrival *theirs)
{
    *theirs = *mine;
    theirs->kind = TUTTI_ARRIVAL_HOST;
    for (int i = 0; i < 2; i++) {
        if (atomic_load_explicit(&slot->device[i], memory_order_relaxed) == sequence)
            theirs->kind = TUTTI_ARRIVAL_DEVICE;
    }
}

int tutti_team_is_here(const struct tutti_team *team, int r)
{
    return tutti_reached(atomic_load_explicit(&team->slot[r]->sequence, memory_order_acquire), team->sequence);
}

/* The record of rank r at the current call. */
struct record {
    const struct tutti_team *team;
    int r;
    struct tutti_arrival *out;
    int there; /* as tutti_record_read() says */
};

static int has_arrived(void *with)
{
    struct record *record = with;
    record->there = tutti_record_read(record->team->slot[record->r], record->team->sequence, record->out);
    return record->there != 0;
}

/* A word of a peer that only grows. */
struct goal {
    const _Atomic uint32_t *word;
    uint32_t value;
};

static int is_reached(void *with)
{
    const struct goal *goal = with;
    return tutti_reached(atomic_load_explicit(goal->word, memory_order_acquire), goal->value);
}

int tutti_team_await(struct tutti_team *team, const struct tutti_arrival *all[])
{
    struct tutti_place *place = tutti_place(team);
    const struct tutti_arrival *mine = &place->seen[team->rank];
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_ARRIVAL, others(team));
    int differs = 0;
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    for (int r = 0; r < team->size; r++) {
        struct tutti_arrival *theirs = &place->seen[r];
        struct record record = {team, r, theirs, r == team->rank};
        all[r] = theirs;
        const int status = record.there || has_arrived(&record) ? TUTTI_OK : tutti_await(&w, has_arrived, &record);
        if (status != TUTTI_OK)
            return tutti_team_break(team, status);
        if (record.there < 0)
            assume(team->slot[r], team->sequence, mine, theirs);
        differs |= theirs->collective != mine->collective || theirs->type != mine->type || theirs->op != mine->op ||
                   theirs->count != mine->count || theirs->detail != mine->detail;
    }
    if (!differs)
        return TUTTI_OK;
    tutti_watch_mismatch(team, all);
    return tutti_team_break(team, TUTTI_ERR_MISMATCH);
}

int tutti_team_vote(struct tutti_team *team, uint32_t mine, uint32_t *all)
{
    return tutti_team_vote_for(team, TUTTI_WAITING_VOTE, mine, all);
}

int tutti_team_vote_for(struct tutti_team *team, enum tutti_waiting_for what, uint32_t mine, uint32_t *all)
{
    struct tutti_slot *own = team->slot[team->rank];
    uint32_t votes = ++team->votes, least = mine;
    count_step(team);
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    atomic_store_explicit(&own->vote[votes & 1], mine, memory_order_relaxed);
    atomic_store_explicit(&own->voted, votes, memory_order_release);
    struct tutti_waiting w = tutti_waiting(team, what, others(team));
    for (int r = 0; r < team->size; r++) {
        const struct tutti_slot *slot = team->slot[r];
        struct goal goal = {&slot->voted, votes};
        const int status = is_reached(&goal) ? TUTTI_OK : tutti_await(&w, is_reached, &goal);
        if (status != TUTTI_OK)
            return tutti_team_break(team, status);
        uint32_t vote = atomic_load_explicit(&slot->vote[votes & 1], memory_order_relaxed);
        least = vote < least ? vote : least;
    }
    *all = least;
    return TUTTI_OK;
}

void tutti_team_done(struct tutti_team *team, int status)
{
    struct tutti_slot *own = team->slot[team->rank];
    count_step(team);
    atomic_store_explicit(&own->done_status, (uint32_t)-status, memory_order_relaxed);
    atomic_store_explicit(&own->done, team->sequence, memory_order_release);
}

int tutti_team_await_done(struct tutti_team *team, uint64_t of)
{
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_DONE, of & others(team));
    int failed = TUTTI_OK;
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    for (int r = 0; r < team->size; r++) {
        const struct tutti_slot *slot = team->slot[r];
        if (!(of >> r & 1))
            continue;
        struct goal goal = {&slot->done, team->sequence};
        int status = r == team->rank || is_reached(&goal) ? TUTTI_OK : tutti_await(&w, is_reached, &goal);
        if (status != TUTTI_OK)
            return tutti_team_break(team, status);
        status = tutti_status_told(atomic_load_explicit(&slot->done_status, memory_order_relaxed));
        failed = failed == TUTTI_OK ? status : failed;
    }
    return failed == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, failed);
}

int tutti_team_fault(struct tutti_team *team)
{
    int status = atomic_load_explicit(&team->fault, memory_order_acquire);
    uint32_t left = team->words ? __atomic_load_n(&team->words->failed, __ATOMIC_ACQUIRE) : TUTTI_LEFT_NOT;
    if (team->state == TUTTI_TEAM_BROKEN)
        return team->status;
    if (status == TUTTI_OK && left == TUTTI_LEFT_NOT)
        return TUTTI_OK;
    if (status == TUTTI_OK)
        status = left == TUTTI_LEFT_LATE ? TUTTI_ERR_TIMEOUT : TUTTI_ERR_BROKEN;
    return tutti_team_break(team, status);
}

int tutti_team_break(struct tutti_team *team, int status)
{
    if (team->state == TUTTI_TEAM_BROKEN)
        return team->status;
    team->state = TUTTI_TEAM_BROKEN;
    team->status = status;
    if (team->words)
        __atomic_store_n(&team->words->abort, 1, __ATOMIC_RELEASE);
    if (team->whole)
        atomic_store(&team->slot[team->rank]->broken, (uint32_t)-status);
    return status;
}

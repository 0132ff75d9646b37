/* Calls of a team: arrivals, votes, ends, failures. */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "progress/fiber.h"
#include "team/node.h"
#include "team/share.h"
#include "team/stranded.h"
#include "team/watch.h"

/* Peers that wait for a nonblocking call see that this rank is at others. */
static void count_step(struct tutti_team *team)
{
    if (team->is_nonblocking)
        atomic_fetch_add_explicit(&tutti_node_control(team->node)->steps, 1, memory_order_relaxed);
}

void tutti_team_arrive(struct tutti_team *team, const struct tutti_arrival *mine)
{
    struct tutti_membership *membership = tutti_membership(team);
    struct tutti_slot *slot = team->slot[team->rank];
    const uint32_t lines =
        team->lines_later && team->rank == 0 && mine->kind == TUTTI_ARRIVAL_DEVICE && tutti_team_lines_look(team);
    count_step(team);
    __atomic_store_n(&membership->caller, tutti_fiber_self(), __ATOMIC_RELAXED);
    if (membership->held)
        tutti_share_release(membership);
    /* Keeps `done` near the sequence, also if no rank waits for it. */
    atomic_store_explicit(&slot->done, team->sequence, memory_order_release);
    uint32_t sequence = ++team->sequence;
    membership->seen[team->rank] = *mine;
    membership->seen[team->rank].lines = lines;
    membership->come = UINT64_C(1) << team->rank;
    membership->late = 0;
    struct tutti_shares *shares = tutti_team_shares(team, team->rank);
    if (!membership->offered)
        shares->in.shared = shares->out.shared = shares->listed = 0;
    membership->offered = 0;
    if (!tutti_arrival_leaves(mine->kind))
        atomic_store_explicit(&slot->device[membership->device_calls++ & 1], sequence, memory_order_relaxed);
    atomic_store_explicit(&slot->record[sequence % TUTTI_RECORDS].blocks,
                          mine->blocks | lines << 30 | mine->streams << 31, memory_order_relaxed);
    tutti_record_write(slot, sequence, mine->collective, mine->type, mine->op, mine->kind, mine->count, mine->detail);
}

struct tutti_shares *tutti_team_offer(struct tutti_team *team)
{
    struct tutti_shares *shares = &team->slot[team->rank]->shares[(team->sequence + 1) & 1];
    tutti_membership(team)->offered = 1;
    shares->listed = 0;
    return shares;
}

/* Takes the pages of this rank's lists, which the control page does not have from the beginning. */
static int take_lists(struct tutti_team *team)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)team->listed[team->rank] / page * page,
                    end = (uintptr_t)(team->listed[team->rank] + 2);
#ifdef MADV_POPULATE_WRITE
    return madvise((void *)begin, end - begin, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
#else
    return begin < end;
#endif
}

struct tutti_listed *tutti_team_list(struct tutti_team *team)
{
    struct tutti_membership *membership = tutti_membership(team);
    if (!membership->listed && !(membership->listed = take_lists(team)))
        return NULL;
    return &team->listed[team->rank][(team->sequence + 1) & 1];
}

int tutti_team_peer(const struct tutti_team *team, int r)
{
    return tutti_membership(team)->peer[r];
}

static uint64_t team_others(const struct tutti_team *team)
{
    uint64_t all = team->size == 64 ? UINT64_MAX : (UINT64_C(1) << team->size) - 1;
    return all & ~(UINT64_C(1) << team->rank);
}

/* A record that is gone: only its kind is known. */
static void arrival_assume(const struct tutti_slot *slot, uint32_t sequence, const struct tutti_arrival *mine,
                           struct tutti_arrival *theirs)
{
    *theirs = *mine;
    theirs->kind = TUTTI_ARRIVAL_AHEAD;
    for (int i = 0; i < 2; i++) {
        if (atomic_load_explicit(&slot->device[i], memory_order_relaxed) == sequence)
            theirs->kind = TUTTI_ARRIVAL_DEVICE;
    }
}

static int call_is_here(const struct tutti_team *team, int r)
{
    return tutti_reached(atomic_load_explicit(&team->slot[r]->sequence, memory_order_acquire), team->sequence);
}

int tutti_team_has_come(const struct tutti_team *team, int r)
{
    const int left = atomic_load(&team->slot[r]->left) != 0; /* first: it may have arrived before */
    return call_is_here(team, r) || left;
}

int tutti_team_is_lost(const struct tutti_team *team)
{
    int lost = team->state == TUTTI_TEAM_BROKEN && tutti_wait_is_lost(team->status);
    for (int r = 0; team->whole && team->size > 1 && r < team->size; r++)
        lost |= tutti_wait_is_lost(tutti_status_of_word(atomic_load(&team->slot[r]->broken)));
    return lost;
}

int tutti_team_is_left(const struct tutti_team *team)
{
    for (int r = 0; r < team->size; r++) { /* a rank that gives up in this call has arrived before */
        if (r != team->rank && atomic_load(&team->slot[r]->broken) != 0 && !call_is_here(team, r))
            return 1;
    }
    return 0;
}

/* The arrival of rank r at the current call. */
struct arrival {
    struct tutti_team *team;
    int r;
};

/* 1: the rank has arrived; its record is in membership->seen[r] and stays there. */
static int call_has_arrived(void *with)
{
    const struct arrival *arrival = with;
    const int r = arrival->r;
    const struct tutti_team *team = arrival->team;
    struct tutti_membership *membership = tutti_membership(team);
    if (membership->come >> r & 1)
        return 1;
    const int there = tutti_record_read(team->slot[r], team->sequence, &membership->seen[r]);
    if (there < 0) {
        membership->late |= UINT64_C(1) << r;
        arrival_assume(team->slot[r], team->sequence, &membership->seen[team->rank], &membership->seen[r]);
    }
    membership->come |= (uint64_t)(there != 0) << r;
    return there != 0;
}

/* All have arrived. */
static int compare_arrivals(struct tutti_team *team, const struct tutti_arrival *all[])
{
    const struct tutti_membership *membership = tutti_membership(team);
    int differs = 0;
    for (int r = 0; r < team->size; r++) {
        all[r] = &membership->seen[r];
        differs |= !tutti_watch_alike(all[r], &membership->seen[team->rank]);
    }
    team->met = team->sequence;
    if (!differs)
        return TUTTI_OK;
    tutti_watch_mismatch(team, all);
    tutti_stranded_release(team, all, membership->late);
    return tutti_team_break(team, TUTTI_ERR_MISMATCH);
}

/* A word of a peer that only grows. */
struct goal {
    const _Atomic uint32_t *word;
    uint32_t value;
};

static int call_is_reached(void *with)
{
    const struct goal *goal = with;
    return tutti_reached(atomic_load_explicit(goal->word, memory_order_acquire), goal->value);
}

/* The status of a wait for an arrival, looked at again. A peer that has found a mismatch had seen all arrivals, this
 * rank's among them: so this rank looks once more, and finds it too. Otherwise no rank may report it. */
static int arrival_after(struct arrival *arrival, int status)
{
    return status == TUTTI_ERR_MISMATCH && call_has_arrived(arrival) ? TUTTI_OK : status;
}

static int call_has_come(void *with)
{
    const struct arrival *arrival = with;
    return tutti_team_has_come(arrival->team, arrival->r);
}

/* A rank has given up, with this status: waits until each of the others has arrived or leaves its calls. If all have
 * arrived, the call continues, and what it needs of that rank fails on all ranks. */
static int await_or_left(struct tutti_team *team, struct tutti_waiting *w, int status)
{
    w->patient = 1;
    for (int r = 0; r < team->size; r++) {
        struct arrival arrival = {team, r};
        const int come =
            r == team->rank || call_has_come(&arrival) ? TUTTI_OK : tutti_await(w, call_has_come, &arrival);
        if (come != TUTTI_OK)
            return come;
    }
    int all = 1;
    for (int r = 0; r < team->size; r++) {
        struct arrival arrival = {team, r};
        all &= call_has_arrived(&arrival);
    }
    return all ? TUTTI_OK : status;
}

int tutti_team_await(struct tutti_team *team, const struct tutti_arrival *all[])
{
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_ARRIVAL, team_others(team));
    int status = TUTTI_OK;
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
        struct arrival arrival = {team, r};
        status = call_has_arrived(&arrival) ? TUTTI_OK : tutti_await(&w, call_has_arrived, &arrival);
        status = arrival_after(&arrival, status);
    }
    if (status != TUTTI_OK && !tutti_wait_is_lost(status))
        status = await_or_left(team, &w, status);
    return status == TUTTI_OK ? compare_arrivals(team, all) : tutti_team_break(team, status);
}

int tutti_team_vote(struct tutti_team *team, uint32_t mine, uint32_t *all)
{
    return tutti_team_vote_for(team, TUTTI_WAITING_VOTE, mine, all);
}

int tutti_team_vote_among(struct tutti_team *team, enum tutti_waiting_for what, uint64_t of, uint32_t mine,
                          uint32_t *all)
{
    struct tutti_slot *own = team->slot[team->rank];
    const uint32_t votes = ++team->votes;
    uint32_t least = mine;
    count_step(team);
    atomic_store_explicit(&own->vote[votes & 1], mine, memory_order_relaxed);
    atomic_store_explicit(&own->voted, votes, memory_order_release);
    struct tutti_waiting w = tutti_waiting(team, what, of & team_others(team));
    for (int r = 0; r < team->size; r++) {
        const struct tutti_slot *slot = team->slot[r];
        struct goal goal = {&slot->voted, votes};
        if (!(of >> r & 1))
            continue;
        const int status = call_is_reached(&goal) ? TUTTI_OK : tutti_await(&w, call_is_reached, &goal);
        if (status != TUTTI_OK && !call_is_reached(&goal)) /* a rank may give up after its vote */
            return status;
        uint32_t vote = atomic_load_explicit(&slot->vote[votes & 1], memory_order_relaxed);
        least = vote < least ? vote : least;
    }
    *all = least;
    return TUTTI_OK;
}

int tutti_team_vote_for(struct tutti_team *team, enum tutti_waiting_for what, uint32_t mine, uint32_t *all)
{
    if (team->state == TUTTI_TEAM_BROKEN) {
        team->votes++;
        return TUTTI_ERR_BROKEN;
    }
    const int status = tutti_team_vote_among(team, what, team_others(team) | UINT64_C(1) << team->rank, mine, all);
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
}

void tutti_team_done(struct tutti_team *team, int status)
{
    struct tutti_slot *own = team->slot[team->rank];
    if (status == TUTTI_OK) /* first: a peer that sees this rank done may free what is mapped here */
        tutti_share_release(tutti_membership(team));
    count_step(team);
    atomic_store_explicit(&own->done_status, (uint32_t)-status, memory_order_relaxed);
    atomic_store_explicit(&own->done, team->sequence, memory_order_release);
}

int tutti_team_await_done(struct tutti_team *team, uint64_t of)
{
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_DONE, of & team_others(team));
    int failed = TUTTI_OK;
    if (team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    for (int r = 0; r < team->size; r++) {
        const struct tutti_slot *slot = team->slot[r];
        if (!(of >> r & 1))
            continue;
        struct goal goal = {&slot->done, team->sequence};
        int status = r == team->rank || call_is_reached(&goal) ? TUTTI_OK : tutti_await(&w, call_is_reached, &goal);
        if (status != TUTTI_OK)
            return tutti_team_break(team, status);
        status = tutti_status_of_word(atomic_load_explicit(&slot->done_status, memory_order_relaxed));
        failed = failed == TUTTI_OK ? status : failed;
    }
    return failed == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, failed);
}

int tutti_team_seen(const struct tutti_team *team)
{
    const int status = atomic_load_explicit(&team->fault, memory_order_acquire);
    if (status != TUTTI_OK || !team->words)
        return status;
    switch (__atomic_load_n(&team->words->failed, __ATOMIC_ACQUIRE)) {
    case TUTTI_LEFT_NOT:
        return TUTTI_OK;
    case TUTTI_LEFT_LATE:
        return TUTTI_ERR_TIMEOUT;
    case TUTTI_LEFT_TWICE:
        return TUTTI_ERR_MISMATCH;
    default:
        return TUTTI_ERR_BROKEN;
    }
}

int tutti_team_fault(struct tutti_team *team)
{
    if (team->state == TUTTI_TEAM_BROKEN)
        return team->status;
    const int status = tutti_team_seen(team);
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(team, status);
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

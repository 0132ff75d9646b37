#include "team/watcher.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "core/log.h"
#include "core/settings.h"
#include "team/node.h"
#include "team/watch.h"

enum { PERIOD_MS = 100, GRACE_MS = 1000, WORD = 64 };

struct watched {
    struct watched *next;
    struct tutti_team *team;
    uint64_t expected[TUTTI_ENDPOINT_PEERS / WORD]; /* ranks of the node, as bits: see tutti_watcher_expect() */
    uint64_t gone_since;  /* when a peer was first seen dead; its part may have been done before */
    uint64_t stuck_since; /* when a kernel was first seen to wait long */
    int said;             /* the stall has been reported */
};

struct tutti_watcher {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    int ending;
    struct watched *first;
};

static const char *team_label(const struct tutti_team *team)
{
    return team->transport->label;
}

static int pid_of(const struct tutti_team *team, int r)
{
    return team->node->peer[tutti_team_peer(team, r)].pid;
}

static int team_rank(const struct tutti_team *team, int node_rank)
{
    int r = 0;
    while (r < team->size - 1 && tutti_team_peer(team, r) != node_rank)
        r++;
    return r;
}

void tutti_watcher_give_up(struct tutti_team *team, int status)
{
    int none = TUTTI_OK;
    atomic_compare_exchange_strong(&team->fault, &none, status);
    __atomic_store_n(&team->words->abort, 1, __ATOMIC_RELEASE);
    atomic_store(&team->slot[team->rank]->broken, (uint32_t)-status);
}

/* A peer that has given up. TUTTI_OK: none. */
static int peer_gave_up(const struct tutti_team *team)
{
    for (int r = 0; r < team->size; r++) {
        int status = tutti_status_of_word(atomic_load(&team->slot[r]->broken));
        if (r == team->rank || status == TUTTI_OK)
            continue;
        tutti_error("rank %d (process %d) has given up calls in stream order on %s (%s); rank %d gives them up too", r,
                    pid_of(team, r), team_label(team), tutti_status_text(status), team->rank);
        return status;
    }
    return TUTTI_OK;
}

/* The rank in the node of a rank of the team that has died. -1: none. */
static int member_died(const struct tutti_team *team)
{
    for (uint64_t rest = tutti_watch_gone(tutti_membership(team), UINT64_MAX); rest; rest &= rest - 1) {
        const int peer = tutti_team_peer(team, __builtin_ctzll(rest));
        if (!atomic_load(&team->node->peer[peer].page->control->closed)) /* not in good order */
            return peer;
    }
    return -1;
}

static int expected_died(const struct watched *w)
{
    for (int i = 0; i < TUTTI_ENDPOINT_PEERS / WORD; i++) {
        for (uint64_t rest = w->expected[i]; rest; rest &= rest - 1) {
            const int peer = i * WORD + __builtin_ctzll(rest);
            if (tutti_node_died(w->team->node, peer))
                return peer;
        }
    }
    return -1;
}

/* A peer that has died and whose part is missing: what can end without it has ended after a while. */
static int peer_died(struct watched *w, uint64_t now)
{
    const struct tutti_team *team = w->team;
    const int member = member_died(team), gone = member >= 0 ? member : expected_died(w);
    if (gone < 0)
        return TUTTI_OK;
    w->gone_since = w->gone_since ? w->gone_since : now;
    if (now - w->gone_since < GRACE_MS * UINT64_C(1000000))
        return TUTTI_OK;
    const int world = member < 0; /* a queue's team is of this rank alone */
    tutti_error("rank %d (process %d) has died; rank %d gives up calls in stream order on %s",
                world ? team->node->world_rank[gone] : team_rank(team, gone), team->node->peer[gone].pid,
                world ? team->node->world_rank[team->node->rank] : team->rank, team_label(team));
    return TUTTI_ERR_PEER;
}

static int kernel_left(const struct tutti_team *team)
{
    const uint32_t left = __atomic_load_n(&team->words->failed, __ATOMIC_ACQUIRE);
    if (left == TUTTI_LEFT_TWICE) {
        tutti_error("rank %d: two calls in stream order on %s were under way at once, in two streams (graphs that are "
                    "launched into two, or streams that do not wait for each other): their results are wrong",
                    team->rank, team_label(team));
        return TUTTI_ERR_MISMATCH;
    }
    if (left == TUTTI_LEFT_TRUNCATED) {
        tutti_error(
            "rank %d: a message in stream order on %s is longer than the receive that it matches: what does not "
            "fit is lost",
            team->rank, team_label(team));
        return TUTTI_ERR_MISMATCH;
    }
    if (left != TUTTI_LEFT_LATE)
        return TUTTI_OK;
    uint32_t where = __atomic_load_n(&team->words->where, __ATOMIC_RELAXED);
    tutti_error("rank %d: a kernel in stream order on %s has given up waiting for rank %u (TUTTI_TIMEOUT_SECONDS)",
                team->rank, team_label(team), where & 0xffff);
    return TUTTI_ERR_TIMEOUT;
}

/* A kernel that waits long writes its word again and again. */
static void look_at_stall(struct watched *w, uint64_t now)
{
    struct tutti_team *team = w->team;
    uint32_t where = __atomic_exchange_n(&team->words->where, 0, __ATOMIC_RELAXED);
    if (!where) {
        w->stuck_since = 0;
        w->said = 0;
        return;
    }
    w->stuck_since = w->stuck_since ? w->stuck_since : now;
    uint64_t seconds = (now - w->stuck_since) / 1000000000;
    if (w->said || seconds < (uint64_t)tutti_settings()->stall_seconds)
        return;
    w->said = 1;
    tutti_warn(
        "rank %d: its kernel in stream order on %s has waited %llu s for rank %u, whose stream has not reached it "
        "(phase %u)",
        team->rank, team_label(team), (unsigned long long)seconds, where & 0xffff, where >> 16);
}

static void watcher_look(struct watched *w)
{
    struct tutti_team *team = w->team;
    if (atomic_load(&team->fault) != TUTTI_OK)
        return;
    uint64_t now = tutti_now_ns();
    int status = kernel_left(team);
    if (status == TUTTI_OK)
        status = peer_gave_up(team);
    if (status == TUTTI_OK)
        status = peer_died(w, now);
    if (status != TUTTI_OK)
        tutti_watcher_give_up(team, status);
    else
        look_at_stall(w, now);
}

static void *watcher_run(void *with)
{
    struct tutti_watcher *watcher = with;
    pthread_mutex_lock(&watcher->lock);
    while (!watcher->ending) {
        if (!watcher->first) {
            pthread_cond_wait(&watcher->wake, &watcher->lock);
            continue;
        }
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += PERIOD_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&watcher->wake, &watcher->lock, &until);
        for (struct watched *w = watcher->first; w; w = w->next)
            watcher_look(w);
    }
    pthread_mutex_unlock(&watcher->lock);
    return NULL;
}

/* Signals are the program's: none is delivered to this thread. */
static int watcher_start(struct tutti_watcher *watcher)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&watcher->thread, NULL, watcher_run, watcher);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? TUTTI_ERR_SYSTEM : TUTTI_OK;
}

static struct tutti_watcher *watcher_make(void)
{
    pthread_condattr_t monotonic;
    struct tutti_watcher *watcher = calloc(1, sizeof *watcher);
    if (!watcher)
        return NULL;
    pthread_mutex_init(&watcher->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watcher->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (watcher_start(watcher) == TUTTI_OK)
        return watcher;
    tutti_error("no thread could be made that looks after calls in stream order");
    pthread_mutex_destroy(&watcher->lock);
    pthread_cond_destroy(&watcher->wake);
    free(watcher);
    return NULL;
}

int tutti_watcher_add(struct tutti_team *team)
{
    struct tutti_node *node = team->node;
    struct watched *w = calloc(1, sizeof *w);
    if (!w)
        return TUTTI_ERR_MEMORY;
    w->team = team;
    tutti_fiber_lock(&node->lock);
    if (!node->watcher)
        node->watcher = watcher_make();
    struct tutti_watcher *watcher = node->watcher;
    pthread_mutex_unlock(&node->lock);
    if (!watcher) {
        free(w);
        return TUTTI_ERR_SYSTEM;
    }
    pthread_mutex_lock(&watcher->lock);
    w->next = watcher->first;
    watcher->first = w;
    pthread_cond_signal(&watcher->wake);
    pthread_mutex_unlock(&watcher->lock);
    return TUTTI_OK;
}

void tutti_watcher_expect(struct tutti_team *team, int node_rank)
{
    struct tutti_watcher *watcher = team->node->watcher;
    if (!watcher || node_rank < 0 || node_rank >= TUTTI_ENDPOINT_PEERS)
        return;
    pthread_mutex_lock(&watcher->lock);
    for (struct watched *w = watcher->first; w; w = w->next) {
        if (w->team == team)
            w->expected[node_rank / WORD] |= UINT64_C(1) << node_rank % WORD;
    }
    pthread_mutex_unlock(&watcher->lock);
}

void tutti_watcher_remove(struct tutti_team *team)
{
    struct tutti_watcher *watcher = team->node ? team->node->watcher : NULL;
    if (!watcher)
        return;
    pthread_mutex_lock(&watcher->lock);
    for (struct watched **at = &watcher->first; *at; at = &(*at)->next) {
        struct watched *w = *at;
        if (w->team != team)
            continue;
        *at = w->next;
        free(w);
        break;
    }
    pthread_mutex_unlock(&watcher->lock);
}

static int watched_rests(const struct tutti_team *team)
{
    const struct tutti_device *device = team->device;
    struct tutti_stream *const stream = team->stream_of_calls;
    return stream && (!device->stream.capturing || device->stream.capturing(stream) == 0) &&
           device->stream.query(stream) == 1 && device->stream.query(team->stream) == 1;
}

int tutti_watcher_rests(struct tutti_node *node)
{
    int watched = 0, rest = 1;
    if (!node->watcher)
        return 0;
    pthread_mutex_lock(&node->watcher->lock);
    for (const struct watched *w = node->watcher->first; w && rest; w = w->next, watched++)
        rest = watched_rests(w->team);
    pthread_mutex_unlock(&node->watcher->lock);
    return rest && watched == atomic_load(&node->streams); /* those over several nodes are not watched */
}

void tutti_watcher_end(struct tutti_node *node)
{
    struct tutti_watcher *watcher = node->watcher;
    if (!watcher)
        return;
    node->watcher = NULL;
    pthread_mutex_lock(&watcher->lock);
    watcher->ending = 1;
    pthread_cond_signal(&watcher->wake);
    pthread_mutex_unlock(&watcher->lock);
    pthread_join(watcher->thread, NULL);
    while (watcher->first) {
        struct watched *w = watcher->first;
        watcher->first = w->next;
        free(w);
    }
    pthread_mutex_destroy(&watcher->lock);
    pthread_cond_destroy(&watcher->wake);
    free(watcher);
}

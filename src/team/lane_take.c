/* The receiver's side of lanes: rendezvous of peers, and what they name mapped. */
#include "team/lane_own.h"

#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "dtype/plan.h"
#include "dtype/wire.h"
#include "team/cache.h"
#include "team/socket.h"

#define ONCE(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

int tutti_lane_map_scratch(struct tutti_lane *lane, int peer, const struct tutti_share *share,
                           struct tutti_mapping **out)
{
    int fd = -1;
    *out = NULL;
    if (share->what.needs_fd && !tutti_socket_take(lane->node, peer, TUTTI_NOTE_LANE, 0, share->what.id, &fd))
        return 0;
    if ((share->what.needs_fd && fd < 0) || tutti_cache_add(lane->node->cache, lane->device, peer, tutti_lane_gpu(lane),
                                                            &share->what, fd, 1, out) != TUTTI_OK)
        *out = NULL;
    if (fd >= 0)
        close(fd);
    return 1;
}

/* ---- what peers' rendezvous name; the lock is held ---- */

static int is_known(const struct tutti_lane *lane, int peer, uint64_t id)
{
    for (int i = 0; i < TUTTI_LANE_KNOWN; i++) {
        if (atomic_load_explicit(&tutti_lane_mine(lane)->known[peer][i].id, memory_order_relaxed) == id)
            return 1;
    }
    return 0;
}

/* Keeps a mapping in place of one that nobody leases, and tells its owner. Takes over the reference. */
static void make_known(struct tutti_lane *lane, int peer, struct tutti_mapping *held)
{
    struct tutti_lane_from *from = &lane->from[peer];
    for (int tries = 0; tries < lane->most && !is_known(lane, peer, held->what.id); tries++) {
        unsigned i = from->met++ % (unsigned)lane->most;
        struct tutti_known *known = &tutti_lane_mine(lane)->known[peer][i];
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&known->leases, &none, TUTTI_KNOWN_CLOSED))
            continue;
        struct tutti_mapping *before = from->pinned[i];
        from->pinned[i] = held;
        atomic_store(&known->id, held->what.id);
        atomic_store(&known->leases, 0);
        tutti_lane_release(lane, before);
        return;
    }
    tutti_lane_release(lane, held);
}

void tutti_lane_forget(struct tutti_lane *lane)
{
    const uint32_t heard = atomic_load(&lane->node->heard);
    int left = 0;
    for (int r = 0; r < lane->node->size; r++) {
        for (int i = 0; i < TUTTI_LANE_KNOWN; i++) {
            struct tutti_known *known = &tutti_lane_mine(lane)->known[r][i];
            struct tutti_mapping *before = lane->from[r].pinned[i];
            uint32_t none = 0;
            if (!before || !before->doomed)
                continue;
            if (!atomic_compare_exchange_strong(&known->leases, &none, TUTTI_KNOWN_CLOSED)) {
                left++;
                continue;
            }
            lane->from[r].pinned[i] = NULL;
            atomic_store(&known->id, 0);
            atomic_store(&known->leases, 0);
            tutti_lane_release(lane, before);
        }
    }
    if (!left)
        atomic_store(&lane->heard, heard);
}

static void settle_one(struct tutti_lane *lane, int peer)
{
    struct tutti_lane_from *from = &lane->from[peer];
    struct tutti_mapping *held = NULL;
    int fd = -1;
    if (from->asked.id == 0 ||
        atomic_load_explicit(&tutti_lane_theirs(lane, peer)->wanted[lane->node->rank].id, memory_order_acquire) != 0)
        return;
    int came = tutti_socket_take(lane->node, peer, TUTTI_NOTE_LANE, 0, from->asked.id, &fd) && fd >= 0;
    if (came && tutti_cache_add(lane->node->cache, lane->device, peer, tutti_lane_gpu(lane), &from->asked, fd, 0,
                                &held) == TUTTI_OK)
        make_known(lane, peer, held);
    else
        from->hopeless = from->asked.id;
    if (fd >= 0)
        close(fd);
    from->asked.id = 0;
    atomic_fetch_sub(&lane->asking, 1);
}

void tutti_lane_settle(struct tutti_lane *lane)
{
    for (int r = 0; r < lane->node->size && atomic_load_explicit(&lane->asking, memory_order_relaxed) > 0; r++)
        settle_one(lane, r);
}

static void ask(struct tutti_lane *lane, int peer, const struct tutti_export *what)
{
    struct tutti_lanes *theirs = tutti_lane_theirs(lane, peer);
    struct tutti_wanted *wanted = &theirs->wanted[lane->node->rank];
    lane->from[peer].asked = *what;
    atomic_fetch_add(&lane->asking, 1);
    wanted->base = what->base;
    atomic_store_explicit(&wanted->id, what->id, memory_order_release);
    atomic_fetch_add(&theirs->asked, 1);
}

/* A peer's allocation for the lanes' GPU, *out NULL where it cannot be mapped. 0: its descriptor has not come yet. */
static int map(struct tutti_lane *lane, int peer, const struct tutti_export *what, struct tutti_mapping **out)
{
    struct tutti_lane_from *from = &lane->from[peer];
    const int gpu = tutti_lane_gpu(lane);
    settle_one(lane, peer);
    *out = tutti_cache_find(lane->node->cache, peer, gpu, what);
    if (*out || from->hopeless == what->id)
        return 1;
    if (!what->needs_fd) {
        if (tutti_cache_add(lane->node->cache, lane->device, peer, gpu, what, -1, 0, out) != TUTTI_OK)
            *out = NULL;
        return 1;
    }
    if (from->asked.id == 0)
        ask(lane, peer, what);
    return 0;
}

struct tutti_rndv *tutti_lane_at(struct tutti_lane *lane, int peer, int number)
{
    if (peer < 0 || peer >= lane->node->size || number < 0 || number >= TUTTI_RNDVS)
        return NULL;
    struct tutti_rndv *rndv = &tutti_lane_theirs(lane, peer)->rndv[number];
    return rndv->to == (uint32_t)lane->node->rank ? rndv : NULL;
}

struct tutti_rndv *tutti_lane_find(struct tutti_lane *lane, int peer, int number, uint64_t sequence)
{
    struct tutti_rndv *rndv = tutti_lane_at(lane, peer, number);
    if (!rndv || atomic_load(&rndv->sequence) != sequence)
        return NULL;
    const uint32_t state = atomic_load_explicit(&rndv->state, memory_order_acquire);
    return state == TUTTI_RNDV_FREE || state == TUTTI_RNDV_ATS ? NULL : rndv; /* an RTS that comes again */
}

/* 1 where the rendezvous is of a message for this rank with this tag. */
static int announces(const struct tutti_lane *lane, const struct tutti_rndv *rndv, int tag)
{
    const uint32_t state = atomic_load_explicit(&rndv->state, memory_order_acquire);
    return state != TUTTI_RNDV_FREE && state != TUTTI_RNDV_ATS && ONCE(rndv->to) == (uint32_t)lane->node->rank &&
           ONCE(rndv->tag) == tag;
}

int tutti_lane_announces(const struct tutti_lane *lane, int peer, int tag)
{
    int found = 0;
    for (int i = 0; i < TUTTI_RNDVS && !found; i++)
        found = announces(lane, &tutti_lane_theirs(lane, peer)->rndv[i], tag);
    return found;
}

void tutti_lane_hold(struct tutti_lane *lane, int peer, int tag)
{
    for (int i = 0; i < TUTTI_RNDVS; i++) {
        struct tutti_rndv *rndv = &tutti_lane_theirs(lane, peer)->rndv[i];
        uint32_t before = TUTTI_HELD_NOT;
        if (announces(lane, rndv, tag))
            atomic_compare_exchange_strong(&rndv->held, &before, TUTTI_HELD_PERHAPS);
    }
}

void tutti_lane_unhold(struct tutti_lane *lane, int peer, int but, uint64_t sequence)
{
    for (int i = 0; i < TUTTI_RNDVS; i++) {
        struct tutti_rndv *rndv = &tutti_lane_theirs(lane, peer)->rndv[i];
        uint32_t before = TUTTI_HELD_PERHAPS;
        if (ONCE(rndv->to) != (uint32_t)lane->node->rank)
            continue;
        if (i == but && atomic_load(&rndv->sequence) == sequence)
            atomic_store(&rndv->held, TUTTI_HELD);
        else
            atomic_compare_exchange_strong(&rndv->held, &before, TUTTI_HELD_NOT);
    }
}

void tutti_lane_received(struct tutti_lane *lane, int peer, int number, uint64_t sequence)
{
    struct tutti_rndv *rndv = tutti_lane_find(lane, peer, number, sequence);
    if (rndv)
        atomic_store(&rndv->held, TUTTI_HELD_NOT);
}

/* 1 where `bytes` bytes from `at` on lie within `all`. */
static int within(uint64_t at, uint64_t bytes, uint64_t all)
{
    return at <= all && bytes <= all - at;
}

static void *refuse(const struct tutti_lane *lane, int peer, const char *what)
{
    tutti_error("a message from rank %d cannot be taken: its rendezvous names %s", tutti_node_world(lane->node, peer),
                what);
    return NULL;
}

void *tutti_lane_reach(struct tutti_lane *lane, int peer, struct tutti_rndv *rndv, int offered, uint64_t bytes,
                       struct tutti_mapping **held)
{
    *held = NULL;
    if (tutti_lane_is_own(lane, peer)) {
        const struct tutti_lane_piece *piece = &lane->piece[tutti_lane_number(lane, rndv)];
        if (offered)
            return (char *)(uintptr_t)piece->own;
        return within(0, bytes, piece->bytes) ? lane->scratch + piece->at : refuse(lane, peer, "more than it holds");
    }
    if (!offered) {
        const struct tutti_lane_from *from = &lane->from[peer];
        const uint64_t at = ONCE(rndv->at);
        if (!from->scratch || !within(at, bytes, from->bytes))
            return refuse(lane, peer, "scratch that is not there");
        return (char *)from->scratch->base + from->at + at;
    }
    const struct tutti_share share = rndv->share; /* once: what has been checked must not change */
    if (!share.shared)
        return NULL;
    pthread_mutex_lock(&lane->lock);
    int settled = map(lane, peer, &share.what, held);
    pthread_mutex_unlock(&lane->lock);
    if (*held && !within(share.offset, ONCE(rndv->layout_bytes) ? 0 : bytes, (*held)->what.bytes)) {
        tutti_lane_release(lane, *held);
        *held = NULL;
        tutti_debug("an offer of rank %d names bytes beyond its allocation", tutti_node_world(lane->node, peer));
    }
    if (settled && !*held) /* its owner packs it */
        atomic_store_explicit(&rndv->hurry, 1, memory_order_relaxed);
    return *held ? (char *)(*held)->base + share.offset : NULL;
}

/* First and last + 1 byte of `count` elements, from where the layout counts. 0 where the numbers are too large. */
static int extent_of(const struct tutti_plan *plan, uint64_t count, int64_t *first, int64_t *end)
{
    int64_t reach;
    if (count == 0 || count > INT64_MAX || __builtin_mul_overflow((int64_t)count - 1, plan->extent, &reach))
        return 0;
    *first = plan->true_lower;
    *end = plan->true_end;
    return !__builtin_add_overflow(*first, reach < 0 ? reach : 0, first) &&
           !__builtin_add_overflow(*end, reach > 0 ? reach : 0, end);
}

int tutti_lane_layout(const struct tutti_lane *lane, int peer, const struct tutti_rndv *rndv,
                      const struct tutti_mapping *held, char *data, uint64_t bytes, struct tutti_lane_layout *out)
{
    unsigned char text[TUTTI_RNDV_LAYOUT]; /* a copy: what has been checked must not change */
    const struct tutti_plan *plan = NULL;
    const uint64_t count = ONCE(rndv->count), length = ONCE(rndv->layout_bytes);
    uint64_t all;
    int64_t first, end, lowest = ONCE(rndv->lowest);
    if (length > sizeof text) {
        refuse(lane, peer, "a layout that is too long");
        return TUTTI_ERR_ARGUMENT;
    }
    memcpy(text, rndv->layout, length);
    int status = tutti_plan_read(text, length, &plan);
    if (status == TUTTI_OK &&
        (__builtin_mul_overflow(count, plan->size, &all) || all != bytes || !extent_of(plan, count, &first, &end) ||
         first != lowest ||
         (held && !within((uint64_t)(data - (char *)held->base), (uint64_t)(end - first), held->what.bytes)))) {
        tutti_plan_drop(plan);
        status = TUTTI_ERR_ARGUMENT;
    }
    if (status == TUTTI_ERR_ARGUMENT)
        refuse(lane, peer, "a layout that is not the message's");
    if (status == TUTTI_OK)
        *out = (struct tutti_lane_layout){plan, count, (char *)((uintptr_t)data - (uintptr_t)lowest)};
    return status;
}

void tutti_lane_release(struct tutti_lane *lane, struct tutti_mapping *held)
{
    if (held)
        tutti_cache_release(lane->node->cache, lane->device, held);
}

void tutti_lane_meet(struct tutti_lane *lane, int peer, const struct tutti_rndv *rndv)
{
    struct tutti_mapping *held = NULL;
    const struct tutti_share share = rndv->share;
    if (!share.shared || tutti_lane_is_own(lane, peer) || lane->most == 0)
        return;
    pthread_mutex_lock(&lane->lock);
    if (!is_known(lane, peer, share.what.id) && map(lane, peer, &share.what, &held) && held)
        make_known(lane, peer, held);
    pthread_mutex_unlock(&lane->lock);
}

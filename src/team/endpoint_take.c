/* The receiver's side of endpoints: rendezvous of peers, and what they name mapped. */
#include "team/endpoint_own.h"

#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "dtype/plan.h"
#include "dtype/wire.h"
#include "team/cache.h"
#include "team/socket.h"

#define ONCE(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

int tutti_endpoint_map_scratch(struct tutti_endpoint *endpoint, int peer, const struct tutti_share *share,
                               struct tutti_mapping **out)
{
    int fd = -1;
    *out = NULL;
    if (share->what.needs_fd && !tutti_socket_take(endpoint->node, peer, TUTTI_NOTE_ENDPOINT, 0, share->what.id, &fd))
        return 0;
    if ((share->what.needs_fd && fd < 0) ||
        tutti_cache_add(endpoint->node->cache, endpoint->device, peer, tutti_endpoint_gpu(endpoint), &share->what, fd,
                        1, out) != TUTTI_OK)
        *out = NULL;
    if (fd >= 0)
        close(fd);
    return 1;
}

/* ---- what peers' rendezvous name; the lock is held ---- */

static int is_known(const struct tutti_endpoint *endpoint, int peer, uint64_t id)
{
    for (int i = 0; i < TUTTI_ENDPOINT_KNOWN; i++) {
        if (atomic_load_explicit(&tutti_endpoint_mine(endpoint)->known[peer][i].id, memory_order_relaxed) == id)
            return 1;
    }
    return 0;
}

/* Keeps a mapping in place of one that nobody leases, and tells its owner. Takes over the reference. */
static void make_known(struct tutti_endpoint *endpoint, int peer, struct tutti_mapping *held)
{
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    for (int tries = 0; tries < endpoint->most && !is_known(endpoint, peer, held->what.id); tries++) {
        unsigned i = from->met++ % (unsigned)endpoint->most;
        struct tutti_known *known = &tutti_endpoint_mine(endpoint)->known[peer][i];
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&known->leases, &none, TUTTI_KNOWN_CLOSED))
            continue;
        struct tutti_mapping *before = from->pinned[i];
        from->pinned[i] = held;
        atomic_store(&known->id, held->what.id);
        atomic_store(&known->leases, 0);
        tutti_endpoint_release(endpoint, before);
        return;
    }
    tutti_endpoint_release(endpoint, held);
}

void tutti_endpoint_forget(struct tutti_endpoint *endpoint)
{
    const uint32_t heard = atomic_load(&endpoint->node->heard);
    int left = 0;
    for (int r = 0; r < endpoint->node->size; r++) {
        for (int i = 0; i < TUTTI_ENDPOINT_KNOWN; i++) {
            struct tutti_known *known = &tutti_endpoint_mine(endpoint)->known[r][i];
            struct tutti_mapping *before = endpoint->from[r].pinned[i];
            uint32_t none = 0;
            if (!before || !before->doomed)
                continue;
            if (!atomic_compare_exchange_strong(&known->leases, &none, TUTTI_KNOWN_CLOSED)) {
                left++;
                continue;
            }
            endpoint->from[r].pinned[i] = NULL;
            atomic_store(&known->id, 0);
            atomic_store(&known->leases, 0);
            tutti_endpoint_release(endpoint, before);
        }
    }
    if (!left)
        atomic_store(&endpoint->heard, heard);
}

static void settle_one(struct tutti_endpoint *endpoint, int peer)
{
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    struct tutti_mapping *held = NULL;
    int fd = -1;
    if (from->asked.id == 0 ||
        atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->wanted[endpoint->node->rank].id,
                             memory_order_acquire) != 0)
        return;
    int came = tutti_socket_take(endpoint->node, peer, TUTTI_NOTE_ENDPOINT, 0, from->asked.id, &fd) && fd >= 0;
    if (came && tutti_cache_add(endpoint->node->cache, endpoint->device, peer, tutti_endpoint_gpu(endpoint),
                                &from->asked, fd, 0, &held) == TUTTI_OK)
        make_known(endpoint, peer, held);
    else
        from->hopeless = from->asked.id;
    if (fd >= 0)
        close(fd);
    from->asked.id = 0;
    atomic_fetch_sub(&endpoint->asking, 1);
}

void tutti_endpoint_settle(struct tutti_endpoint *endpoint)
{
    for (int r = 0; r < endpoint->node->size && atomic_load_explicit(&endpoint->asking, memory_order_relaxed) > 0; r++)
        settle_one(endpoint, r);
}

static void ask(struct tutti_endpoint *endpoint, int peer, const struct tutti_export *what)
{
    struct tutti_endpoints *theirs = tutti_endpoint_theirs(endpoint, peer);
    struct tutti_wanted *wanted = &theirs->wanted[endpoint->node->rank];
    endpoint->from[peer].asked = *what;
    atomic_fetch_add(&endpoint->asking, 1);
    wanted->base = what->base;
    atomic_store_explicit(&wanted->id, what->id, memory_order_release);
    atomic_fetch_add(&theirs->asked, 1);
}

/* A peer's allocation for the endpoints' GPU, *out NULL where it cannot be mapped. 0: its descriptor has not come yet.
 */
static int map(struct tutti_endpoint *endpoint, int peer, const struct tutti_export *what, struct tutti_mapping **out)
{
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    const int gpu = tutti_endpoint_gpu(endpoint);
    settle_one(endpoint, peer);
    *out = tutti_cache_find(endpoint->node->cache, peer, gpu, what);
    if (*out || from->hopeless == what->id)
        return 1;
    if (!what->needs_fd) {
        if (tutti_cache_add(endpoint->node->cache, endpoint->device, peer, gpu, what, -1, 0, out) != TUTTI_OK)
            *out = NULL;
        return 1;
    }
    if (from->asked.id == 0)
        ask(endpoint, peer, what);
    return 0;
}

struct tutti_rndv *tutti_endpoint_at(struct tutti_endpoint *endpoint, int peer, int number)
{
    if (peer < 0 || peer >= endpoint->node->size || number < 0 || number >= TUTTI_RNDVS)
        return NULL;
    struct tutti_rndv *rndv = &tutti_endpoint_theirs(endpoint, peer)->rndv[number];
    return rndv->to == (uint32_t)endpoint->node->rank ? rndv : NULL;
}

struct tutti_rndv *tutti_endpoint_find(struct tutti_endpoint *endpoint, int peer, int number, uint64_t sequence)
{
    struct tutti_rndv *rndv = tutti_endpoint_at(endpoint, peer, number);
    if (!rndv)
        return NULL;
    /* Before the sequence: of a rendezvous that is used again meanwhile that is another one then. */
    const uint32_t state = atomic_load_explicit(&rndv->state, memory_order_acquire);
    if (state == TUTTI_RNDV_FREE || state == TUTTI_RNDV_ATS) /* an RTS that comes again */
        return NULL;
    return atomic_load(&rndv->sequence) == sequence ? rndv : NULL;
}

/* 1 where the rendezvous is of a message for this rank with this tag. */
static int announces(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, int tag)
{
    const uint32_t state = atomic_load_explicit(&rndv->state, memory_order_acquire);
    return state != TUTTI_RNDV_FREE && state != TUTTI_RNDV_ATS &&
           atomic_load_explicit(&rndv->to, memory_order_relaxed) == (uint32_t)endpoint->node->rank &&
           ONCE(rndv->tag) == tag;
}

int tutti_endpoint_announces(const struct tutti_endpoint *endpoint, int peer, int tag)
{
    int found = 0;
    for (int i = 0; i < TUTTI_RNDVS && !found; i++)
        found = announces(endpoint, &tutti_endpoint_theirs(endpoint, peer)->rndv[i], tag);
    return found;
}

void tutti_endpoint_hold(struct tutti_endpoint *endpoint, int peer, int tag)
{
    for (int i = 0; i < TUTTI_RNDVS; i++) {
        struct tutti_rndv *rndv = &tutti_endpoint_theirs(endpoint, peer)->rndv[i];
        uint32_t before = TUTTI_HELD_NOT;
        if (announces(endpoint, rndv, tag))
            atomic_compare_exchange_strong(&rndv->held, &before, TUTTI_HELD_PERHAPS);
    }
}

void tutti_endpoint_unhold(struct tutti_endpoint *endpoint, int peer, int but, uint64_t sequence)
{
    for (int i = 0; i < TUTTI_RNDVS; i++) {
        struct tutti_rndv *rndv = &tutti_endpoint_theirs(endpoint, peer)->rndv[i];
        uint32_t before = TUTTI_HELD_PERHAPS;
        if (atomic_load_explicit(&rndv->to, memory_order_relaxed) != (uint32_t)endpoint->node->rank)
            continue;
        if (i == but && atomic_load(&rndv->sequence) == sequence)
            atomic_store(&rndv->held, TUTTI_HELD);
        else
            atomic_compare_exchange_strong(&rndv->held, &before, TUTTI_HELD_NOT);
    }
}

void tutti_endpoint_received(struct tutti_endpoint *endpoint, int peer, int number, uint64_t sequence)
{
    struct tutti_rndv *rndv = tutti_endpoint_find(endpoint, peer, number, sequence);
    if (rndv)
        atomic_store(&rndv->held, TUTTI_HELD_NOT);
}

/* 1 where `bytes` bytes from `at` on lie within `all`. */
static int within(uint64_t at, uint64_t bytes, uint64_t all)
{
    return at <= all && bytes <= all - at;
}

static void *refuse(const struct tutti_endpoint *endpoint, int peer, const char *what)
{
    tutti_error("a message from rank %d cannot be taken: its rendezvous names %s",
                tutti_node_world(endpoint->node, peer), what);
    return NULL;
}

void *tutti_endpoint_reach(struct tutti_endpoint *endpoint, int peer, struct tutti_rndv *rndv, int offered,
                           uint64_t bytes, struct tutti_mapping **held)
{
    *held = NULL;
    if (tutti_endpoint_is_own(endpoint, peer)) {
        const struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number(endpoint, rndv)];
        if (offered)
            return (char *)(uintptr_t)piece->own;
        return within(0, bytes, piece->bytes) ? endpoint->scratch + piece->at
                                              : refuse(endpoint, peer, "more than it holds");
    }
    if (!offered) {
        const struct tutti_endpoint_from *from = &endpoint->from[peer];
        const uint64_t at = ONCE(rndv->at);
        if (!from->scratch || !within(at, bytes, from->bytes))
            return refuse(endpoint, peer, "scratch that is not there");
        return (char *)from->scratch->base + from->at + at;
    }
    const struct tutti_share share = rndv->share; /* once: what has been checked must not change */
    if (!share.shared)
        return NULL;
    pthread_mutex_lock(&endpoint->lock);
    int settled = map(endpoint, peer, &share.what, held);
    pthread_mutex_unlock(&endpoint->lock);
    if (*held && !within(share.offset, ONCE(rndv->layout_bytes) ? 0 : bytes, (*held)->what.bytes)) {
        tutti_endpoint_release(endpoint, *held);
        *held = NULL;
        tutti_debug("an offer of rank %d names bytes beyond its allocation", tutti_node_world(endpoint->node, peer));
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

int tutti_endpoint_layout(const struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv,
                          const struct tutti_mapping *held, char *data, uint64_t bytes,
                          struct tutti_endpoint_layout *out)
{
    unsigned char text[TUTTI_RNDV_LAYOUT]; /* a copy: what has been checked must not change */
    const struct tutti_plan *plan = NULL;
    const uint64_t count = ONCE(rndv->count), length = ONCE(rndv->layout_bytes);
    uint64_t all;
    int64_t first, end, lowest = ONCE(rndv->lowest);
    if (length > sizeof text) {
        refuse(endpoint, peer, "a layout that is too long");
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
        refuse(endpoint, peer, "a layout that is not the message's");
    if (status == TUTTI_OK)
        *out = (struct tutti_endpoint_layout){plan, count, (char *)((uintptr_t)data - (uintptr_t)lowest)};
    return status;
}

void tutti_endpoint_release(struct tutti_endpoint *endpoint, struct tutti_mapping *held)
{
    if (held)
        tutti_cache_release(endpoint->node->cache, endpoint->device, held);
}

void tutti_endpoint_meet(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv)
{
    struct tutti_mapping *held = NULL;
    const struct tutti_share share = rndv->share;
    if (!share.shared || tutti_endpoint_is_own(endpoint, peer) || endpoint->most == 0)
        return;
    pthread_mutex_lock(&endpoint->lock);
    if (!is_known(endpoint, peer, share.what.id) && map(endpoint, peer, &share.what, &held) && held)
        make_known(endpoint, peer, held);
    pthread_mutex_unlock(&endpoint->lock);
}

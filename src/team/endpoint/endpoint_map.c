/* Mappings of the receiver's side of endpoints: the peers' scratches, allocations that messages name, and which of them
 * are known to their owners as mapped. */
#include "team/endpoint/endpoint_own.h"

#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/counters.h"
#include "core/log.h"
#include "team/cache.h"
#include "team/deferred_free.h"
#include "team/socket.h"

/* ---- mapping; the lock is held ---- */

static struct tutti_endpoint_hopeless *mapping_hopeless(struct tutti_endpoint_from *from, uint64_t id, int gpu)
{
    for (int i = 0; i < TUTTI_ENDPOINT_HOPELESS; i++) {
        if (from->hopeless[i].id == id && from->hopeless[i].gpu == gpu)
            return &from->hopeless[i];
    }
    return NULL;
}

/* What could not be mapped may be later, when memory or addresses are free: every failure doubles the time until the
 * next try. */
static int is_hopeless(struct tutti_endpoint_from *from, uint64_t id, int gpu)
{
    const struct tutti_endpoint_hopeless *failed = mapping_hopeless(from, id, gpu);
    return failed && tutti_now_ns() < failed->next;
}

static void mapping_give_up(struct tutti_endpoint_from *from, uint64_t id, int gpu)
{
    struct tutti_endpoint_hopeless *failed = mapping_hopeless(from, id, gpu);
    if (!failed) {
        failed = &from->hopeless[from->hopes++ % TUTTI_ENDPOINT_HOPELESS];
        *failed = (struct tutti_endpoint_hopeless){.id = id, .gpu = gpu, .wait = TUTTI_ENDPOINT_AGAIN_NS / 2};
    }
    failed->wait = failed->wait < TUTTI_ENDPOINT_AGAIN_MOST_NS / 2 ? failed->wait * 2 : TUTTI_ENDPOINT_AGAIN_MOST_NS;
    failed->next = tutti_now_ns() + failed->wait;
}

static int endpoint_map_is_known(const struct tutti_endpoint *endpoint, int peer, uint64_t id)
{
    for (int i = 0; i < TUTTI_ENDPOINT_KNOWN; i++) {
        if (atomic_load_explicit(&tutti_endpoint_mine(endpoint)->known[peer][i].id, memory_order_relaxed) == id)
            return 1;
    }
    return 0;
}

/* How long after the first message that named the allocation. */
static void count_known(struct tutti_endpoint_from *from, uint64_t id)
{
    for (int i = 0; i < TUTTI_ENDPOINT_SIGHTED; i++) {
        if (from->sighted[i].id != id)
            continue;
        const uint64_t us = (tutti_now_ns() - from->sighted[i].since) / 1000;
        tutti_count("allocations of other ranks", TUTTI_OUTCOME_MAPPED,
                    us < 1000      ? "known within 1 ms of the first message"
                    : us < 10000   ? "known within 10 ms of the first message"
                    : us < 1000000 ? "known within 1 s of the first message"
                                   : "known later than 1 s after the first message");
        return;
    }
}

/* Keeps a mapping in place of one without a lease, and sends its owner a notice. Takes over the reference. */
static void make_known(struct tutti_endpoint *endpoint, int peer, struct tutti_mapping *held)
    TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    for (int tries = 0;
         tries < endpoint->most && !held->doomed && !endpoint_map_is_known(endpoint, peer, held->what.id); tries++) {
        unsigned i = from->met++ % (unsigned)endpoint->most;
        struct tutti_known *known = &tutti_endpoint_mine(endpoint)->known[peer][i];
        uint32_t none = 0;
        if (!atomic_compare_exchange_strong(&known->leases, &none, TUTTI_KNOWN_CLOSED))
            continue;
        struct tutti_mapping *before = from->pinned[i];
        from->pinned[i] = held;
        atomic_store(&known->id, held->what.id);
        atomic_store(&known->leases, 0);
        count_known(from, held->what.id);
        tutti_endpoint_release(endpoint, before);
        return;
    }
    tutti_endpoint_release(endpoint, held);
}

/* The peer is notified whether its scratch is mapped now: the message that it was asked for may have gone another way.
 */
static void settle_scratch(struct tutti_endpoint *endpoint, int peer, uint64_t id, int gpu) TUTTI_HOLDS(endpoint->lock)
{
    const struct tutti_endpoints *theirs = tutti_endpoint_theirs(endpoint, peer);
    for (unsigned i = 0; i < TUTTI_ENDPOINT_GPUS; i++) {
        struct tutti_mapping *mapping;
        if (atomic_load_explicit(&theirs->gpu[i].offered, memory_order_acquire) == 2 &&
            theirs->gpu[i].scratch.what.id == id)
            tutti_endpoint_map_scratch(endpoint, peer, i, gpu, &mapping);
    }
}

/* For the price of the next ones: the first mapping of a peer's memory has joined the GPUs, and the first large one has
 * made room for such ones, which they need not. One that failed, as the peer has freed the memory, says nothing. */
static void map_took(struct tutti_endpoint *endpoint, struct tutti_endpoint_from *from, uint64_t ns)
{
    const enum tutti_mapping_size size = tutti_mapping_size(from->asked.bytes);
    if (!from->joined[size] && endpoint->device->share.joined_ns) {
        from->joined[size] = 1;
        ns = endpoint->device->share.joined_ns();
    }
    atomic_store_explicit(&tutti_endpoint_mine(endpoint)->mapping_ns[size], ns > 0 ? ns : 1, memory_order_relaxed);
}

/* On a thread beside: the driver takes milliseconds. */
static void map_asked(void *with)
{
    struct tutti_endpoint_from *from = with;
    struct tutti_endpoint *endpoint = from->endpoint;
    const int peer = (int)(from - endpoint->from);
    if (!tutti_endpoint_copies_first(endpoint) || from->kernels)
        tutti_endpoint_load_kernels(endpoint, from->asked_gpu, from->asked_life);
    const uint64_t begun = tutti_now_ns();
    from->mapped = NULL;
    if (from->asked_life == tutti_gpu_life(from->asked_gpu) &&
        tutti_cache_add_held(endpoint->node->cache, endpoint->device, peer, from->asked_gpu, &from->asked, from->fd,
                             from->asked_channel, &from->mapped) != TUTTI_OK)
        from->mapped = NULL;
    if (from->fd >= 0)
        close(from->fd);
    if (from->mapped)
        map_took(endpoint, from, tutti_now_ns() - begun);
    atomic_store_explicit(&from->mapping, TUTTI_ENDPOINT_MAPPED, memory_order_release);
    tutti_endpoint_ended(endpoint);
}

/* The end of what was asked for; held: it is mapped now. */
static void settle_asked(struct tutti_endpoint *endpoint, int peer, struct tutti_mapping *held)
    TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    const uint64_t id = from->asked.id;
    const int reset = from->asked_life != tutti_gpu_life(from->asked_gpu);
    if (!held && !reset)
        mapping_give_up(from, id, from->asked_gpu);
    from->asked.id = 0;
    atomic_fetch_sub(&endpoint->asking, 1);
    if (from->asked_channel)
        settle_scratch(endpoint, peer, id, from->asked_gpu);
    if (held && !from->asked_channel && !reset)
        make_known(endpoint, peer, held);
    else
        tutti_endpoint_release(endpoint, held);
}

static void map_beside(struct tutti_endpoint *endpoint, int peer, int fd) TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    from->fd = fd;
    from->endpoint = endpoint;
    atomic_store_explicit(&from->mapping, TUTTI_ENDPOINT_MAPPING, memory_order_relaxed);
    tutti_endpoint_begin(endpoint, map_asked, from);
    if (!tutti_endpoint_is_slow(endpoint) &&
        atomic_load_explicit(&from->mapping, memory_order_acquire) == TUTTI_ENDPOINT_MAPPED)
        settle_asked(endpoint, peer, from->mapped);
}

static void mapping_settle(struct tutti_endpoint *endpoint, int peer) TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    const int mapping = atomic_load_explicit(&from->mapping, memory_order_acquire);
    int fd = -1;
    if (from->asked.id == 0 || mapping == TUTTI_ENDPOINT_MAPPING)
        return;
    if (mapping == TUTTI_ENDPOINT_MAPPED) {
        settle_asked(endpoint, peer, from->mapped);
        return;
    }
    if (tutti_endpoint_is_unserved(endpoint, peer) || tutti_endpoint_quiet(endpoint))
        return;
    if (tutti_socket_take(endpoint->node, peer, TUTTI_NOTE_ENDPOINT, 0, from->asked.id, &fd) && fd >= 0)
        map_beside(endpoint, peer, fd);
    else
        settle_asked(endpoint, peer, NULL);
}

void tutti_endpoint_settle(struct tutti_endpoint *endpoint)
{
    for (int r = 0; r < endpoint->node->size && atomic_load_explicit(&endpoint->asking, memory_order_relaxed) > 0; r++)
        mapping_settle(endpoint, r);
}

/* Begins to map a peer's memory, by its descriptor if it takes one. */
static void mapping_ask(struct tutti_endpoint *endpoint, int peer, int gpu, int channel,
                        const struct tutti_export *what) TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoints *theirs = tutti_endpoint_theirs(endpoint, peer);
    struct tutti_wanted *wanted = &theirs->wanted[endpoint->node->rank];
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    from->asked = *what;
    from->asked_gpu = gpu;
    from->asked_channel = channel;
    from->asked_life = tutti_gpu_life(gpu);
    from->asked_at = tutti_now_ns();
    atomic_fetch_add(&endpoint->asking, 1);
    if (!what->needs_fd) {
        map_beside(endpoint, peer, -1);
        return;
    }
    atomic_store_explicit(&from->mapping, TUTTI_ENDPOINT_ASKED, memory_order_relaxed);
    wanted->base = what->base;
    atomic_store_explicit(&wanted->id, what->id, memory_order_release);
    atomic_fetch_add(&theirs->asked, 1);
}

/* A peer's memory for kernels of `gpu`, with one more reference. channel: it is not to be evicted. What is not mapped
 * yet is mapped beside, so the caller does not wait for the driver. */
static enum tutti_reaching endpoint_map(struct tutti_endpoint *endpoint, int peer, int gpu,
                                        const struct tutti_export *what, int channel, struct tutti_mapping **out)
    TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    mapping_settle(endpoint, peer);
    *out = tutti_cache_find(endpoint->node->cache, peer, gpu, what);
    if (*out)
        return TUTTI_REACHED;
    if (is_hopeless(from, what->id, gpu) || tutti_endpoint_quiet(endpoint))
        return TUTTI_REACH_NOT;
    if (from->asked.id == 0) {
        mapping_ask(endpoint, peer, gpu, channel, what); /* may be mapped now, or have failed */
        *out = tutti_cache_find(endpoint->node->cache, peer, gpu, what);
    }
    return *out ? TUTTI_REACHED : is_hopeless(from, what->id, gpu) ? TUTTI_REACH_NOT : TUTTI_REACH_LATER;
}

enum tutti_reaching tutti_endpoint_map_named(struct tutti_endpoint *endpoint, int peer, int gpu,
                                             const struct tutti_export *what, struct tutti_mapping **out)
{
    const enum tutti_reaching there = endpoint_map(endpoint, peer, gpu, what, 0, out);
    struct tutti_mapping *more = NULL;
    if (there == TUTTI_REACHED && endpoint->most > 0 && !endpoint_map_is_known(endpoint, peer, what->id))
        more = tutti_cache_find(endpoint->node->cache, peer, gpu, what);
    if (more)
        make_known(endpoint, peer, more);
    return there;
}

void tutti_endpoint_drop(struct tutti_endpoint *endpoint, struct tutti_mapping **kept)
{
    struct tutti_mapping *before = *kept;
    *kept = NULL;
    tutti_endpoint_release(endpoint, before);
}

/* 1 if the scratch `id` is what the peer offers there. After a reset of its GPU it offers another one. */
static int is_offered(const struct tutti_endpoint_page *page, uint64_t id)
{
    return atomic_load(&page->offered) == 2 && __atomic_load_n(&page->scratch.what.id, __ATOMIC_RELAXED) == id;
}

/* 1 if messages for this rank lie packed in that scratch. */
static int scratch_has_messages(const struct tutti_endpoint *endpoint, int peer, uint64_t id)
{
    int has = 0;
    for (int i = 0; i < TUTTI_RNDVS && !has; i++) {
        const struct tutti_rndv *rndv = &tutti_endpoint_theirs(endpoint, peer)->rndv[i];
        has = (tutti_rndv_is(rndv, TUTTI_RNDV_BOUNCE) || tutti_rndv_is(rndv, TUTTI_RNDV_MOVING)) &&
              atomic_load_explicit(&rndv->to, memory_order_relaxed) == (uint32_t)endpoint->node->rank &&
              __atomic_load_n(&rndv->scratch, __ATOMIC_RELAXED) == id;
    }
    return has;
}

/* The owner of *kept has reset its GPU, before or now. Memory that is passed by a descriptor exists as long as a
 * process has it mapped; it is unmapped as soon as no message lies there, since new memory may have its place. */
static void scratch_retire(struct tutti_endpoint *endpoint, int peer, const struct tutti_endpoint_page *page,
                           struct tutti_mapping **kept, struct tutti_mapping **former) TUTTI_HOLDS(endpoint->lock)
{
    if (*former && !scratch_has_messages(endpoint, peer, (*former)->what.id))
        tutti_endpoint_drop(endpoint, former);
    if (!*kept || is_offered(page, (*kept)->what.id))
        return;
    if (!*former && (*kept)->what.needs_fd && scratch_has_messages(endpoint, peer, (*kept)->what.id)) {
        *former = *kept;
        *kept = NULL;
    } else {
        tutti_endpoint_drop(endpoint, kept);
    }
}

enum tutti_reaching tutti_endpoint_map_scratch(struct tutti_endpoint *endpoint, int peer, unsigned index, int gpu,
                                               struct tutti_mapping **out)
{
    const struct tutti_endpoint_page *page = &tutti_endpoint_theirs(endpoint, peer)->gpu[index];
    _Atomic uint8_t *state = &tutti_endpoint_mine(endpoint)->maps[peer][index];
    const int slot = tutti_endpoint_index(endpoint, gpu);
    if (slot < 0 || atomic_load_explicit(&page->offered, memory_order_acquire) != 2)
        return TUTTI_REACH_NOT;
    struct tutti_mapping **kept = &endpoint->from[peer].scratch[index][slot];
    enum tutti_reaching there = TUTTI_REACHED;
    scratch_retire(endpoint, peer, page, kept, &endpoint->from[peer].former[index][slot]);
    if (!*kept) {
        const struct tutti_share theirs = page->scratch; /* once: what has been checked must not change */
        there = TUTTI_REACH_NOT;
        if (theirs.offset <= theirs.what.bytes) /* whether the GPUs reach each other is seen when it is mapped */
            there = endpoint_map(endpoint, peer, gpu, &theirs.what, 1, kept);
    }
    if (there == TUTTI_REACHED) {
        atomic_store(state, TUTTI_MAPS);
        if (!is_offered(page, (*kept)->what.id)) { /* the peer may have looked before */
            atomic_store(state, TUTTI_MAPS_NOT_YET);
            there = TUTTI_REACH_LATER;
        }
    } else if (there == TUTTI_REACH_NOT && !tutti_endpoint_quiet(endpoint) && atomic_load(state) != TUTTI_MAPS) {
        tutti_debug("the scratch of rank %d of this node cannot be mapped for GPU %d", peer, gpu);
        atomic_store_explicit(state, TUTTI_MAPS_CANNOT, memory_order_release);
        atomic_store(&endpoint->again, tutti_now_ns() + TUTTI_ENDPOINT_AGAIN_NS);
    }
    *out = *kept;
    return there;
}

int tutti_endpoint_unmapped(const struct tutti_endpoint *endpoint, int peer, unsigned index)
{
    return atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->gpu[index].offered, memory_order_relaxed) ==
               2 &&
           atomic_load_explicit(&tutti_endpoint_mine(endpoint)->maps[peer][index], memory_order_relaxed) ==
               TUTTI_MAPS_NOT_YET &&
           !tutti_endpoint_is_own(endpoint, peer);
}

void tutti_endpoint_try_again(struct tutti_endpoint *endpoint)
{
    const int gpus = atomic_load(&endpoint->gpus);
    uint64_t again = 0;
    for (int r = 0; r < endpoint->node->size; r++) {
        for (unsigned i = 0; i < TUTTI_ENDPOINT_GPUS; i++) {
            const _Atomic uint8_t *state = &tutti_endpoint_mine(endpoint)->maps[r][i];
            enum tutti_reaching there = TUTTI_REACH_NOT;
            struct tutti_mapping *mapping;
            for (int slot = 0; slot < gpus && there == TUTTI_REACH_NOT &&
                               (atomic_load(state) == TUTTI_MAPS_CANNOT || tutti_endpoint_unmapped(endpoint, r, i));
                 slot++)
                there = tutti_endpoint_map_scratch(endpoint, r, i, endpoint->gpu[slot].gpu, &mapping);
            if (atomic_load(state) == TUTTI_MAPS_CANNOT)
                again = tutti_now_ns() + TUTTI_ENDPOINT_AGAIN_NS;
        }
    }
    atomic_store(&endpoint->again, again);
}

enum tutti_reaching tutti_endpoint_map_packed(struct tutti_endpoint *endpoint, int peer, unsigned index, int gpu,
                                              uint64_t id, struct tutti_mapping **out)
{
    const struct tutti_endpoint_from *from = &endpoint->from[peer];
    const int slot = tutti_endpoint_index(endpoint, gpu);
    enum tutti_reaching there = TUTTI_REACHED;
    *out = slot < 0 ? NULL : from->former[index][slot];
    if (!*out || (*out)->what.id != id)
        *out = slot < 0 ? NULL : from->scratch[index][slot];
    if (!*out || (*out)->what.id != id)
        there = tutti_endpoint_map_scratch(endpoint, peer, index, gpu, out);
    return there == TUTTI_REACHED && (*out)->what.id != id ? TUTTI_REACH_NOT : there;
}

/* ---- known allocations; the lock is held ---- */

void tutti_endpoint_forget(struct tutti_endpoint *endpoint)
{
    const uint32_t notices = atomic_load(&endpoint->node->notices);
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
        atomic_store(&endpoint->notices_seen, notices);
}

/* 1 if messages have named the allocation before. */
static int allocation_sighted(struct tutti_endpoint_from *from, uint64_t id)
{
    for (int i = 0; i < TUTTI_ENDPOINT_SIGHTED; i++) {
        if (from->sighted[i].id == id)
            return 1;
    }
    from->sighted[from->sights++ % TUTTI_ENDPOINT_SIGHTED] = (struct tutti_endpoint_sight){id, tutti_now_ns()};
    return 0;
}

int tutti_endpoint_worth(struct tutti_endpoint *endpoint, int peer, unsigned index, const struct tutti_rndv *rndv,
                         uint64_t id)
{
    const int again = allocation_sighted(&endpoint->from[peer], id);
    if (tutti_endpoint_is_slow(endpoint))
        return atomic_load_explicit(&rndv->pays, memory_order_relaxed) != TUTTI_PAYS_NOT;
    return again ||
           atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->gpu[index].offered, memory_order_acquire) !=
               2 ||
           atomic_load(&tutti_endpoint_mine(endpoint)->maps[peer][index]) == TUTTI_MAPS_CANNOT;
}

/* ---- calls ---- */

void tutti_endpoint_release(struct tutti_endpoint *endpoint, struct tutti_mapping *held)
{
    if (held)
        tutti_cache_release(endpoint->node->cache, endpoint->device, held);
}

/* 1 if a packed message gives reason to map the allocation that it names. */
static int endpoint_map_meets(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv, uint64_t id)
{
    const int again = allocation_sighted(&endpoint->from[peer], id);
    return tutti_endpoint_is_slow(endpoint) ? atomic_load_explicit(&rndv->pays, memory_order_relaxed) != TUTTI_PAYS_NOT
                                            : again;
}

void tutti_endpoint_meet(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv, int gpu)
{
    struct tutti_mapping *held = NULL;
    const struct tutti_share share = rndv->share;
    if (!share.shared || tutti_endpoint_is_own(endpoint, peer) || endpoint->most == 0)
        return;
    tutti_fiber_take(&endpoint->lock);
    if (!endpoint_map_is_known(endpoint, peer, share.what.id) &&
        endpoint_map_meets(endpoint, peer, rndv, share.what.id) &&
        endpoint_map(endpoint, peer, gpu, &share.what, 0, &held) == TUTTI_REACHED)
        make_known(endpoint, peer, held);
    tutti_lock_give(&endpoint->lock);
}

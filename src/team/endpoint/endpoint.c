#include "team/endpoint/endpoint_own.h"

#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/settings.h"
#include "progress/engine.h"
#include "team/invalidation.h"

enum { WATCH_NS = 5000000 };

/* Known allocations keep at most half of the cache, so that collectives always find room in it. */
static int known_of_a_peer(int ranks)
{
    const int entries = (int)tutti_settings()->cache_entries / 2, each = ranks > 1 ? entries / (ranks - 1) : 0;
    return each < TUTTI_ENDPOINT_KNOWN ? each : TUTTI_ENDPOINT_KNOWN;
}

struct tutti_endpoint *tutti_endpoint_new(struct tutti_node *node, const struct tutti_device *device, size_t scratch)
{
    if (!node || !device || node->size > TUTTI_ENDPOINT_PEERS || scratch == 0)
        return NULL;
    struct tutti_endpoint *endpoint = calloc(1, sizeof *endpoint);
    struct tutti_endpoint_from *from = calloc((size_t)node->size, sizeof *from);
    if (!endpoint || !from) {
        free(endpoint);
        free(from);
        return NULL;
    }
    endpoint->node = node;
    endpoint->device = device;
    endpoint->bytes = scratch;
    endpoint->from = from;
    endpoint->most = known_of_a_peer(node->size);
    return endpoint;
}

void tutti_endpoint_step(struct tutti_endpoint *endpoint, struct tutti_step *step)
{
    tutti_progress_add(step);
    endpoint->step = step;
}

static int is_alone(void *with)
{
    const struct tutti_endpoint *const endpoint = with;
    return atomic_load(&endpoint->beside) == 0 && atomic_load(&endpoint->bell) == TUTTI_ENDPOINT_BELL_NONE;
}

void tutti_endpoint_free(struct tutti_endpoint *endpoint, int alive)
{
    if (!endpoint)
        return;
    tutti_endpoint_bell_end(endpoint);
    tutti_progress_wait(&(const struct tutti_wait){.done = is_alone, .with = endpoint});
    for (int r = 0; r < endpoint->node->size; r++) {
        struct tutti_endpoint_from *from = &endpoint->from[r];
        if (from->asked.id != 0 && atomic_load(&from->mapping) == TUTTI_ENDPOINT_MAPPED)
            tutti_endpoint_release(endpoint, from->mapped);
        for (int i = 0; i < TUTTI_ENDPOINT_KNOWN; i++)
            tutti_endpoint_release(endpoint, from->pinned[i]);
        for (int i = 0; i < TUTTI_ENDPOINT_GPUS * TUTTI_ENDPOINT_GPUS; i++) {
            tutti_endpoint_release(endpoint, from->scratch[i / TUTTI_ENDPOINT_GPUS][i % TUTTI_ENDPOINT_GPUS]);
            tutti_endpoint_release(endpoint, from->former[i / TUTTI_ENDPOINT_GPUS][i % TUTTI_ENDPOINT_GPUS]);
        }
    }
    for (int i = 0; endpoint->step && i < TUTTI_RNDVS; i++) {
        if (endpoint->used[i / 64] >> i % 64 & 1 && !endpoint->piece[i].of_call)
            tutti_step_close_locked(endpoint->step);
    }
    atomic_store(&tutti_endpoint_mine(endpoint)->listens, 0);
    for (int i = 0; i < TUTTI_ENDPOINT_GPUS; i++) {
        tutti_endpoint_landing_close(endpoint, i, alive && tutti_endpoint_is_there(&endpoint->gpu[i]));
        if (endpoint->gpu[i].scratch && alive && tutti_endpoint_is_there(&endpoint->gpu[i]))
            endpoint->device->memory.free(endpoint->gpu[i].scratch);
    }
    free(endpoint->from);
    free(endpoint);
}

void tutti_endpoint_declare(struct tutti_node *node)
{
    atomic_store(&tutti_node_control(node)->endpoints.declared, 1);
}

int tutti_endpoint_declared(const struct tutti_node *node)
{
    for (int r = 0; r < node->size; r++) {
        if (!atomic_load(&node->peer[r].page->control->endpoints.declared))
            return 0;
    }
    return 1;
}

int tutti_endpoint_is_open(const struct tutti_endpoint *endpoint, int peer)
{
    return atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->listens, memory_order_acquire) > 0;
}

int tutti_endpoint_listens(const struct tutti_endpoint *endpoint)
{
    return atomic_load_explicit(&endpoint->gpus, memory_order_relaxed) > 0;
}

/* Either this thread sees that the rank takes rendezvous, or add_gpu() sees `blind`. */
int tutti_endpoint_blind(struct tutti_endpoint *endpoint)
{
    atomic_store(&endpoint->blind, 1);
    return atomic_load(&endpoint->gpus) > 0;
}

int tutti_endpoint_takes_short(const struct tutti_endpoint *endpoint, int peer)
{
    return atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->takes_short, memory_order_acquire) != 0;
}

int tutti_endpoint_shorts(const struct tutti_endpoint *endpoint)
{
    return atomic_load_explicit(&tutti_endpoint_mine(endpoint)->shorts, memory_order_acquire) != 0;
}

int tutti_endpoint_watch(struct tutti_endpoint *endpoint, int peer)
{
    if (peer < 0 || peer >= endpoint->node->size)
        return TUTTI_ERR_BROKEN;
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    uint64_t now = tutti_now_ns();
    if (atomic_load_explicit(&from->dead, memory_order_relaxed))
        return TUTTI_ERR_PEER;
    if (now - atomic_load_explicit(&from->seen, memory_order_relaxed) <= WATCH_NS)
        return TUTTI_OK;
    atomic_store_explicit(&from->seen, now, memory_order_relaxed);
    int pid = tutti_node_died(endpoint->node, peer);
    if (!pid)
        return TUTTI_OK;
    if (!atomic_exchange(&from->dead, 1))
        tutti_error("messages to and from rank %d cannot be finished: its process %d on this machine has died",
                    tutti_node_world(endpoint->node, peer), pid);
    return TUTTI_ERR_PEER;
}

/* ---- GPUs, and scratch on them ---- */

/* 1 if a GPU of this rank has the scratch mapped. The lock is held. */
static int has_mapped(const struct tutti_endpoint *endpoint, int peer, int index) TUTTI_HOLDS(endpoint->lock)
{
    for (int slot = 0; slot < atomic_load(&endpoint->gpus); slot++) {
        if (endpoint->from[peer].scratch[index][slot] && tutti_endpoint_is_there(&endpoint->gpu[slot]))
            return 1;
    }
    return 0;
}

/* What could not be mapped for the GPUs known so far may be for this one, and what was mapped for one that was reset no
 * longer is; the lock is held. */
static void reset_maps(struct tutti_endpoint *endpoint) TUTTI_HOLDS(endpoint->lock)
{
    for (int r = 0; r < endpoint->node->size; r++) {
        for (int i = 0; i < TUTTI_ENDPOINT_GPUS; i++) {
            _Atomic uint8_t *state = &tutti_endpoint_mine(endpoint)->maps[r][i];
            if (atomic_load(state) == TUTTI_MAPS_CANNOT ||
                (atomic_load(state) == TUTTI_MAPS && !has_mapped(endpoint, r, i)))
                atomic_store(state, TUTTI_MAPS_NOT_YET);
        }
    }
}

/* The GPU was reset: the scratch on it has gone, and what was mapped for it. Its place serves its next life; a peer
 * that still has the scratch mapped sees another allocation offered, or none. The lock is held. */
static void begin_life(struct tutti_endpoint *endpoint, int index) TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoint_gpu *own = &endpoint->gpu[index];
    atomic_store(&tutti_endpoint_mine(endpoint)->gpu[index].offered, 1);
    own->scratch = NULL;
    tutti_endpoint_landing_close(endpoint, index, 0);
    own->asked = own->backoff = 0;
    for (int r = 0; r < endpoint->node->size; r++) {
        atomic_store(&tutti_endpoint_theirs(endpoint, r)->maps[endpoint->node->rank][index], TUTTI_MAPS_NOT_YET);
        atomic_store(&endpoint->from[r].named[index], 0);
        for (int i = 0; i < TUTTI_ENDPOINT_GPUS; i++) {
            tutti_endpoint_drop(endpoint, &endpoint->from[r].scratch[i][index]);
            tutti_endpoint_drop(endpoint, &endpoint->from[r].former[i][index]);
        }
    }
    atomic_store_explicit(&own->life, tutti_gpu_life(own->gpu), memory_order_release);
    reset_maps(endpoint);
}

/* Place of the GPU, in any of its lives; -1: it has no place. */
static int endpoint_place_of(const struct tutti_endpoint *endpoint, int gpu)
{
    int index = atomic_load(&endpoint->gpus) - 1;
    while (index >= 0 && endpoint->gpu[index].gpu != gpu)
        index--;
    return index;
}

/* The lock is held. */
static int add_gpu(struct tutti_endpoint *endpoint, int gpu) TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoints *own = tutti_endpoint_mine(endpoint);
    int index = endpoint_place_of(endpoint, gpu);
    if (index >= 0 && !tutti_endpoint_is_there(&endpoint->gpu[index]))
        begin_life(endpoint, index);
    if (index >= 0)
        return index;
    index = atomic_load(&endpoint->gpus);
    if (index == TUTTI_ENDPOINT_GPUS || endpoint->device->gpu.uuid(gpu < 0 ? 0 : gpu, own->gpu[index].uuid) != TUTTI_OK)
        return -1;
    if (!endpoint->node->device)
        endpoint->node->device = endpoint->device;
    endpoint->gpu[index].gpu = gpu;
    endpoint->gpu[index].endpoint = endpoint;
    atomic_store(&endpoint->gpu[index].life, tutti_gpu_life(gpu));
    reset_maps(endpoint);
    atomic_store_explicit(&own->gpu[index].offered, 1, memory_order_release);
    atomic_store(&endpoint->gpus, index + 1);
    if (index == 0) /* after the store above: see tutti_endpoint_blind() */
        atomic_store(&own->takes_short, (uint32_t)!atomic_load(&endpoint->blind));
    atomic_store(&own->listens, (uint32_t)index + 1);
    return index;
}

void tutti_endpoint_on_use(struct tutti_endpoint *endpoint, void (*before)(void), void (*after)(void))
{
    endpoint->before = before;
    endpoint->after = after;
}

int tutti_endpoint_use(struct tutti_endpoint *endpoint, int gpu)
{
    int index = tutti_endpoint_index(endpoint, gpu);
    if (index >= 0)
        return index;
    const int first = !tutti_endpoint_listens(endpoint);
    if (first && endpoint->before)
        endpoint->before();
    tutti_fiber_take(&endpoint->lock);
    index = add_gpu(endpoint, gpu);
    tutti_lock_give(&endpoint->lock);
    if (first && endpoint->after)
        endpoint->after();
    return index;
}

int tutti_endpoint_gpus(const struct tutti_endpoint *endpoint, int gpus[])
{
    const int all = atomic_load_explicit(&endpoint->gpus, memory_order_acquire);
    int n = 0;
    if (endpoint->device->gpu.look)
        endpoint->device->gpu.look();
    for (int i = 0; i < all; i++) {
        if (tutti_endpoint_is_there(&endpoint->gpu[i]))
            gpus[n++] = endpoint->gpu[i].gpu;
    }
    return n;
}

int tutti_endpoint_reset_gpus(const struct tutti_endpoint *endpoint, int gpus[])
{
    const int all = atomic_load_explicit(&endpoint->gpus, memory_order_acquire);
    int n = 0;
    for (int i = 0; i < all; i++) {
        if (!tutti_endpoint_is_there(&endpoint->gpu[i]))
            gpus[n++] = endpoint->gpu[i].gpu;
    }
    return n;
}

int tutti_endpoint_is_streamed(const struct tutti_endpoint *endpoint)
{
    return endpoint->connected && !endpoint->connecting && tutti_deferred_free_held(endpoint->node);
}

/* Index of the GPU where its scratch is not there yet; negative otherwise. */
static int offer_of(struct tutti_endpoint *endpoint, int gpu, int *there)
{
    const int index = tutti_endpoint_use(endpoint, gpu);
    *there = index >= 0 &&
             atomic_load_explicit(&tutti_endpoint_mine(endpoint)->gpu[index].offered, memory_order_relaxed) == 2;
    return *there ? -1 : index;
}

void tutti_endpoint_offer_soon(struct tutti_endpoint *endpoint, int gpu)
{
    int there;
    const int index = offer_of(endpoint, gpu, &there);
    if (index >= 0)
        tutti_endpoint_make_scratch(endpoint, index);
}

int tutti_endpoint_scratch_takes(struct tutti_endpoint *endpoint, int gpu)
{
    int there;
    return tutti_endpoint_is_slow(endpoint) && offer_of(endpoint, gpu, &there) >= 0;
}

int tutti_endpoint_offer(struct tutti_endpoint *endpoint, int gpu)
{
    int there;
    const int index = offer_of(endpoint, gpu, &there);
    if (index < 0)
        return there;
    tutti_fiber_take(&endpoint->lock);
    there = tutti_endpoint_own_scratch(endpoint, index) != NULL;
    tutti_lock_give(&endpoint->lock);
    return there;
}

int tutti_endpoint_mapped(const struct tutti_endpoint *endpoint, int peer, int gpu)
{
    const int index = tutti_endpoint_index(endpoint, gpu);
    if (index < 0)
        return TUTTI_MAPS_NOT_YET;
    if (tutti_endpoint_is_own(endpoint, peer))
        return TUTTI_MAPS;
    return atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->maps[endpoint->node->rank][index],
                                memory_order_acquire);
}

int tutti_endpoint_settle_scratch(struct tutti_endpoint *endpoint, int gpu)
{
    const int self = tutti_endpoint_use(endpoint, gpu);
    if (self < 0)
        return 1;
    tutti_fiber_take(&endpoint->lock);
    endpoint->connecting = 1;
    const int settled = atomic_load(&endpoint->beside) == 0;
    if (settled)
        tutti_endpoint_own_scratch(endpoint, self);
    tutti_lock_give(&endpoint->lock);
    return settled;
}

int tutti_endpoint_connect(struct tutti_endpoint *endpoint, const int *peers, int n, int gpu)
{
    const int self = tutti_endpoint_use(endpoint, gpu);
    int all = 1;
    if (self < 0)
        return 1;
    tutti_fiber_take(&endpoint->lock);
    endpoint->connecting = 1;
    const int there = atomic_load(&tutti_endpoint_mine(endpoint)->gpu[self].offered) == 2;
    all &= atomic_load(&endpoint->beside) == 0; /* from then on nothing is mapped or allocated */
    for (int i = 0; i < n; i++) {
        const struct tutti_endpoints *theirs = tutti_endpoint_theirs(endpoint, peers[i]);
        struct tutti_mapping *mapping;
        if (tutti_endpoint_is_own(endpoint, peers[i]))
            continue;
        for (unsigned g = 0; g < TUTTI_ENDPOINT_GPUS; g++)
            all &= atomic_load(&theirs->gpu[g].offered) != 2 ||
                   tutti_endpoint_map_scratch(endpoint, peers[i], g, gpu, &mapping) != TUTTI_REACH_LATER;
        all &= !there || atomic_load(&theirs->maps[endpoint->node->rank][self]) != TUTTI_MAPS_NOT_YET;
    }
    tutti_lock_give(&endpoint->lock);
    return all;
}

void tutti_endpoint_connected(struct tutti_endpoint *endpoint)
{
    tutti_fiber_take(&endpoint->lock);
    endpoint->connecting = 0;
    endpoint->connected = 1;
    tutti_lock_give(&endpoint->lock);
}

enum { FEW = 4, SELDOM = 32, MANY = TUTTI_RNDVS * 3 / 4 };

/* 1 if rendezvous are to be swept: where many are open, not in each poll, or a window of messages would cost the square
 * of their number, and a look at lines that the receiver writes for each message. *all: those too that their sender
 * still looks at. */
static int sweep_is_due(struct tutti_endpoint *endpoint, int *all)
{
    const int open = atomic_load_explicit(&endpoint->rndvs, memory_order_relaxed);
    if (open <= FEW) {
        *all = 1;
        return open > 0;
    }
    const unsigned polls = atomic_load_explicit(&endpoint->polls, memory_order_relaxed) + 1;
    atomic_store_explicit(&endpoint->polls, polls, memory_order_relaxed); /* threads may lose some */
    *all = polls % SELDOM == 0;
    return *all || open > MANY;
}

/* Rendezvous that have been taken, or moved out of the buffer. Those that their sender still looks at only have their
 * leases ended. The lock is held. */
static void endpoint_sweep(struct tutti_endpoint *endpoint, int all) TUTTI_HOLDS(endpoint->lock)
{
    struct tutti_endpoints *own = tutti_endpoint_mine(endpoint);
    for (int w = 0; w < TUTTI_RNDVS / 64; w++) {
        for (uint64_t left = endpoint->used[w] & (all ? ~UINT64_C(0) : ~endpoint->held[w]); left; left &= left - 1) {
            const int i = w * 64 + __builtin_ctzll(left), held = endpoint->held[w] >> i % 64 & 1;
            struct tutti_rndv *rndv = &own->rndv[i];
            if (tutti_rndv_is(rndv, TUTTI_RNDV_ATS) && !held)
                tutti_endpoint_put_back(endpoint, rndv, TUTTI_RNDV_ATS);
            else if (endpoint->lease[i] &&
                     (tutti_rndv_is(rndv, TUTTI_RNDV_ATS) || tutti_rndv_is(rndv, TUTTI_RNDV_BOUNCE) ||
                      tutti_rndv_is(rndv, TUTTI_RNDV_AM)))
                tutti_endpoint_end_lease(endpoint, rndv);
        }
    }
}

static int is_due(const struct tutti_endpoint *endpoint)
{
    const uint64_t again = atomic_load_explicit(&endpoint->again, memory_order_relaxed);
    return again != 0 && tutti_now_ns() >= again;
}

void tutti_endpoint_poll(struct tutti_endpoint *endpoint)
{
    tutti_invalidation_poll(endpoint->node, endpoint->device);
    int all = 0;
    const int sweeps = sweep_is_due(endpoint, &all);
    const int work =
        sweeps | (atomic_load_explicit(&endpoint->node->notices, memory_order_relaxed) != endpoint->notices_seen) |
        atomic_load_explicit(&endpoint->asking, memory_order_relaxed) |
        (atomic_load_explicit(&tutti_endpoint_mine(endpoint)->asked, memory_order_relaxed) != 0) | is_due(endpoint);
    if (!work || !tutti_lock_try(&endpoint->lock))
        return;
    if (sweeps)
        endpoint_sweep(endpoint, all);
    tutti_endpoint_serve(endpoint);
    tutti_endpoint_settle(endpoint);
    if (is_due(endpoint))
        tutti_endpoint_try_again(endpoint);
    if (atomic_load(&endpoint->node->notices) != endpoint->notices_seen)
        tutti_endpoint_forget(endpoint);
    tutti_lock_give(&endpoint->lock);
}

#include "team/endpoint_own.h"

#include <stdlib.h>

#include "core/log.h"
#include "core/settings.h"
#include "team/gone.h"
#include "team/share.h"

enum { WATCH_NS = 5000000 };

/* At most half of the cache is kept for what is known, so that collectives always find room in it. */
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
    atomic_store(&endpoint->gpu, -1);
    atomic_store(&endpoint->waiting, node->size - 1);
    pthread_mutex_init(&endpoint->lock, NULL);
    return endpoint;
}

void tutti_endpoint_free(struct tutti_endpoint *endpoint, int alive)
{
    if (!endpoint)
        return;
    for (int r = 0; r < endpoint->node->size; r++) {
        struct tutti_endpoint_from *from = &endpoint->from[r];
        atomic_store(&tutti_endpoint_mine(endpoint)->open[r], 0);
        for (int i = 0; i < TUTTI_ENDPOINT_KNOWN; i++)
            tutti_endpoint_release(endpoint, from->pinned[i]);
        tutti_endpoint_release(endpoint, from->scratch);
    }
    if (endpoint->scratch && alive)
        endpoint->device->free(endpoint->scratch);
    pthread_mutex_destroy(&endpoint->lock);
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

int tutti_endpoint_gpu(const struct tutti_endpoint *endpoint)
{
    return atomic_load_explicit(&endpoint->gpu, memory_order_relaxed);
}

int tutti_endpoint_is_open(const struct tutti_endpoint *endpoint, int peer)
{
    return atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->open[endpoint->node->rank],
                                memory_order_acquire);
}

int tutti_endpoint_listens(const struct tutti_endpoint *endpoint)
{
    return atomic_load_explicit(&endpoint->listening, memory_order_relaxed) > 0;
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

/* ---- opening ---- */

void tutti_endpoint_use(struct tutti_endpoint *endpoint, int gpu)
{
    int none = -1;
    atomic_compare_exchange_strong(&endpoint->gpu, &none, gpu);
}

static int choose_gpu(struct tutti_endpoint *endpoint)
{
    int gpu = -1;
    if (endpoint->device->current(&gpu) != TUTTI_OK)
        return 0;
    atomic_store(&endpoint->gpu, gpu);
    return 1;
}

/* The lock is held. */
static void open_from(struct tutti_endpoint *endpoint, int peer)
{
    if (!endpoint->node->device)
        endpoint->node->device = endpoint->device;
    atomic_fetch_add(&endpoint->listening, 1);
    atomic_store(&tutti_endpoint_mine(endpoint)->open[peer], 1);
}

/* The lock is held. */
static void offer(struct tutti_endpoint *endpoint)
{
    struct tutti_endpoints *own = tutti_endpoint_mine(endpoint);
    struct tutti_memory memory;
    void *scratch = NULL;
    if (tutti_endpoint_gpu(endpoint) < 0 && !choose_gpu(endpoint))
        return; /* a thread that has none */
    int gpu = tutti_endpoint_gpu(endpoint);
    if (endpoint->device->alloc(gpu, endpoint->bytes, &scratch) != TUTTI_OK) {
        tutti_info("messages inside the node are carried by the MPI: no scratch of %zu bytes", endpoint->bytes);
        atomic_store(&endpoint->offering, -1);
        return;
    }
    endpoint->scratch = scratch;
    open_from(endpoint, endpoint->node->rank); /* nothing is to be mapped */
    endpoint->device->classify(scratch, &memory);
    gpu = gpu >= 0 ? gpu : memory.gpu >= 0 ? memory.gpu : 0;
    tutti_share_fill(endpoint->node, endpoint->device, scratch, &own->scratch);
    if (endpoint->node->size > 1 && (!own->scratch.shared || endpoint->device->uuid(gpu, own->uuid) != TUTTI_OK)) {
        tutti_info("messages to other ranks of the node are carried by the MPI: device memory cannot be shared");
        atomic_store(&endpoint->offering, -1);
        return;
    }
    for (int r = 0; r < endpoint->node->size && own->scratch.what.needs_fd; r++) {
        if (r != endpoint->node->rank)
            tutti_endpoint_send_descriptor(endpoint, r,
                                           &own->scratch.what); /* one that is lost leaves that endpoint closed */
    }
    atomic_store(&own->offered, 1);
    atomic_store(&endpoint->offering, 1);
}

/* The lock is held. */
static void listen_to(struct tutti_endpoint *endpoint, int peer)
{
    const struct tutti_endpoints *other = tutti_endpoint_theirs(endpoint, peer);
    struct tutti_endpoint_from *from = &endpoint->from[peer];
    if (from->tried || from->scratch || !atomic_load(&other->offered) ||
        (tutti_endpoint_gpu(endpoint) < 0 && !choose_gpu(endpoint)))
        return;
    int gpu = tutti_endpoint_gpu(endpoint);
    const struct tutti_share theirs = other->scratch; /* once: what has been checked must not change */
    if (theirs.offset <= theirs.what.bytes &&
        (gpu < 0 || !endpoint->device->reach || endpoint->device->reach(gpu, other->uuid))) {
        if (!tutti_endpoint_map_scratch(endpoint, peer, &theirs, &from->scratch))
            return;
    }
    from->at = theirs.offset;
    from->bytes = theirs.what.bytes - theirs.offset;
    atomic_fetch_sub(&endpoint->waiting, 1);
    from->tried = !from->scratch;
    if (from->tried) {
        tutti_debug("the scratch of rank %d of this node could not be mapped", peer);
        return;
    }
    open_from(endpoint, peer);
}

/* Rendezvous that have been taken, or moved out of the buffer; the lock is held. */
static void sweep(struct tutti_endpoint *endpoint)
{
    struct tutti_endpoints *own = tutti_endpoint_mine(endpoint);
    for (int w = 0; w < TUTTI_RNDVS / 64; w++) {
        for (uint64_t left = endpoint->used[w]; left; left &= left - 1) {
            int i = w * 64 + __builtin_ctzll(left), held = endpoint->held[w] >> i % 64 & 1;
            struct tutti_rndv *rndv = &own->rndv[i];
            if (tutti_rndv_is(rndv, TUTTI_RNDV_ATS) && !held)
                tutti_endpoint_put_back(endpoint, rndv);
            else if (endpoint->lease[i] &&
                     (tutti_rndv_is(rndv, TUTTI_RNDV_ATS) || tutti_rndv_is(rndv, TUTTI_RNDV_BOUNCE) ||
                      tutti_rndv_is(rndv, TUTTI_RNDV_AM)))
                tutti_endpoint_end_lease(endpoint, rndv);
        }
    }
}

void tutti_endpoint_poll(struct tutti_endpoint *endpoint, int sending)
{
    tutti_gone_poll(endpoint->node, endpoint->device);
    int work = atomic_load_explicit(&endpoint->waiting, memory_order_relaxed) |
               (atomic_load_explicit(&endpoint->node->heard, memory_order_relaxed) != endpoint->heard) |
               atomic_load_explicit(&endpoint->rndvs, memory_order_relaxed) |
               atomic_load_explicit(&endpoint->asking, memory_order_relaxed) |
               (atomic_load_explicit(&tutti_endpoint_mine(endpoint)->asked, memory_order_relaxed) != 0) |
               (sending && atomic_load_explicit(&endpoint->offering, memory_order_relaxed) == 0);
    if (!work || pthread_mutex_trylock(&endpoint->lock) != 0)
        return;
    if (sending && endpoint->offering == 0)
        offer(endpoint);
    for (int r = 0; r < endpoint->node->size && endpoint->waiting > 0; r++) {
        if (r != endpoint->node->rank)
            listen_to(endpoint, r);
    }
    sweep(endpoint);
    tutti_endpoint_serve(endpoint);
    tutti_endpoint_settle(endpoint);
    if (atomic_load(&endpoint->node->heard) != endpoint->heard)
        tutti_endpoint_forget(endpoint);
    pthread_mutex_unlock(&endpoint->lock);
}

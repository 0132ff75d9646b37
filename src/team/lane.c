#include "team/lane_own.h"

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
    return each < TUTTI_LANE_KNOWN ? each : TUTTI_LANE_KNOWN;
}

struct tutti_lane *tutti_lane_new(struct tutti_node *node, const struct tutti_device *device, size_t scratch)
{
    if (!node || !device || node->size > TUTTI_LANE_PEERS || scratch == 0)
        return NULL;
    struct tutti_lane *lane = calloc(1, sizeof *lane);
    struct tutti_lane_from *from = calloc((size_t)node->size, sizeof *from);
    if (!lane || !from) {
        free(lane);
        free(from);
        return NULL;
    }
    lane->node = node;
    lane->device = device;
    lane->bytes = scratch;
    lane->from = from;
    lane->most = known_of_a_peer(node->size);
    atomic_store(&lane->gpu, -1);
    atomic_store(&lane->waiting, node->size - 1);
    pthread_mutex_init(&lane->lock, NULL);
    return lane;
}

void tutti_lane_free(struct tutti_lane *lane, int alive)
{
    if (!lane)
        return;
    for (int r = 0; r < lane->node->size; r++) {
        struct tutti_lane_from *from = &lane->from[r];
        atomic_store(&tutti_lane_mine(lane)->open[r], 0);
        for (int i = 0; i < TUTTI_LANE_KNOWN; i++)
            tutti_lane_release(lane, from->pinned[i]);
        tutti_lane_release(lane, from->scratch);
    }
    if (lane->scratch && alive)
        lane->device->free(lane->scratch);
    pthread_mutex_destroy(&lane->lock);
    free(lane->from);
    free(lane);
}

void tutti_lane_declare(struct tutti_node *node)
{
    atomic_store(&tutti_node_control(node)->lanes.declared, 1);
}

int tutti_lane_declared(const struct tutti_node *node)
{
    for (int r = 0; r < node->size; r++) {
        if (!atomic_load(&node->peer[r].page->control->lanes.declared))
            return 0;
    }
    return 1;
}

int tutti_lane_gpu(const struct tutti_lane *lane)
{
    return atomic_load_explicit(&lane->gpu, memory_order_relaxed);
}

int tutti_lane_is_open(const struct tutti_lane *lane, int peer)
{
    return atomic_load_explicit(&tutti_lane_theirs(lane, peer)->open[lane->node->rank], memory_order_acquire);
}

int tutti_lane_listens(const struct tutti_lane *lane)
{
    return atomic_load_explicit(&lane->listening, memory_order_relaxed) > 0;
}

int tutti_lane_watch(struct tutti_lane *lane, int peer)
{
    if (peer < 0 || peer >= lane->node->size)
        return TUTTI_ERR_BROKEN;
    struct tutti_lane_from *from = &lane->from[peer];
    uint64_t now = tutti_now_ns();
    if (atomic_load_explicit(&from->dead, memory_order_relaxed))
        return TUTTI_ERR_PEER;
    if (now - atomic_load_explicit(&from->seen, memory_order_relaxed) <= WATCH_NS)
        return TUTTI_OK;
    atomic_store_explicit(&from->seen, now, memory_order_relaxed);
    int pid = tutti_node_died(lane->node, peer);
    if (!pid)
        return TUTTI_OK;
    if (!atomic_exchange(&from->dead, 1))
        tutti_error("messages to and from rank %d cannot be finished: its process %d on this machine has died",
                    tutti_node_world(lane->node, peer), pid);
    return TUTTI_ERR_PEER;
}

/* ---- opening ---- */

void tutti_lane_use(struct tutti_lane *lane, int gpu)
{
    int none = -1;
    atomic_compare_exchange_strong(&lane->gpu, &none, gpu);
}

static int choose_gpu(struct tutti_lane *lane)
{
    int gpu = -1;
    if (lane->device->current(&gpu) != TUTTI_OK)
        return 0;
    atomic_store(&lane->gpu, gpu);
    return 1;
}

/* The lock is held. */
static void open_from(struct tutti_lane *lane, int peer)
{
    if (!lane->node->device)
        lane->node->device = lane->device;
    atomic_fetch_add(&lane->listening, 1);
    atomic_store(&tutti_lane_mine(lane)->open[peer], 1);
}

/* The lock is held. */
static void offer(struct tutti_lane *lane)
{
    struct tutti_lanes *own = tutti_lane_mine(lane);
    struct tutti_memory memory;
    void *scratch = NULL;
    if (tutti_lane_gpu(lane) < 0 && !choose_gpu(lane))
        return; /* a thread that has none */
    int gpu = tutti_lane_gpu(lane);
    if (lane->device->alloc(gpu, lane->bytes, &scratch) != TUTTI_OK) {
        tutti_info("messages inside the node are carried by the MPI: no scratch of %zu bytes", lane->bytes);
        atomic_store(&lane->offering, -1);
        return;
    }
    lane->scratch = scratch;
    open_from(lane, lane->node->rank); /* nothing is to be mapped */
    lane->device->classify(scratch, &memory);
    gpu = gpu >= 0 ? gpu : memory.gpu >= 0 ? memory.gpu : 0;
    tutti_share_fill(lane->node, lane->device, scratch, &own->scratch);
    if (lane->node->size > 1 && (!own->scratch.shared || lane->device->uuid(gpu, own->uuid) != TUTTI_OK)) {
        tutti_info("messages to other ranks of the node are carried by the MPI: device memory cannot be shared");
        atomic_store(&lane->offering, -1);
        return;
    }
    for (int r = 0; r < lane->node->size && own->scratch.what.needs_fd; r++) {
        if (r != lane->node->rank)
            tutti_lane_send_descriptor(lane, r, &own->scratch.what); /* one that is lost leaves that lane closed */
    }
    atomic_store(&own->offered, 1);
    atomic_store(&lane->offering, 1);
}

/* The lock is held. */
static void listen_to(struct tutti_lane *lane, int peer)
{
    const struct tutti_lanes *other = tutti_lane_theirs(lane, peer);
    struct tutti_lane_from *from = &lane->from[peer];
    if (from->tried || from->scratch || !atomic_load(&other->offered) ||
        (tutti_lane_gpu(lane) < 0 && !choose_gpu(lane)))
        return;
    int gpu = tutti_lane_gpu(lane);
    const struct tutti_share theirs = other->scratch; /* once: what has been checked must not change */
    if (theirs.offset <= theirs.what.bytes &&
        (gpu < 0 || !lane->device->reach || lane->device->reach(gpu, other->uuid))) {
        if (!tutti_lane_map_scratch(lane, peer, &theirs, &from->scratch))
            return;
    }
    from->at = theirs.offset;
    from->bytes = theirs.what.bytes - theirs.offset;
    atomic_fetch_sub(&lane->waiting, 1);
    from->tried = !from->scratch;
    if (from->tried) {
        tutti_debug("the scratch of rank %d of this node could not be mapped", peer);
        return;
    }
    open_from(lane, peer);
}

/* Rendezvous that have been taken, or moved out of the buffer; the lock is held. */
static void sweep(struct tutti_lane *lane)
{
    struct tutti_lanes *own = tutti_lane_mine(lane);
    for (int w = 0; w < TUTTI_RNDVS / 64; w++) {
        for (uint64_t left = lane->used[w]; left; left &= left - 1) {
            int i = w * 64 + __builtin_ctzll(left), held = lane->held[w] >> i % 64 & 1;
            struct tutti_rndv *rndv = &own->rndv[i];
            if (tutti_rndv_is(rndv, TUTTI_RNDV_ATS) && !held)
                tutti_lane_put_back(lane, rndv);
            else if (lane->lease[i] && (tutti_rndv_is(rndv, TUTTI_RNDV_ATS) || tutti_rndv_is(rndv, TUTTI_RNDV_BOUNCE) ||
                                        tutti_rndv_is(rndv, TUTTI_RNDV_AM)))
                tutti_lane_end_lease(lane, rndv);
        }
    }
}

void tutti_lane_poll(struct tutti_lane *lane, int sending)
{
    tutti_gone_poll(lane->node, lane->device);
    int work = atomic_load_explicit(&lane->waiting, memory_order_relaxed) |
               (atomic_load_explicit(&lane->node->heard, memory_order_relaxed) != lane->heard) |
               atomic_load_explicit(&lane->rndvs, memory_order_relaxed) |
               atomic_load_explicit(&lane->asking, memory_order_relaxed) |
               (atomic_load_explicit(&tutti_lane_mine(lane)->asked, memory_order_relaxed) != 0) |
               (sending && atomic_load_explicit(&lane->offering, memory_order_relaxed) == 0);
    if (!work || pthread_mutex_trylock(&lane->lock) != 0)
        return;
    if (sending && lane->offering == 0)
        offer(lane);
    for (int r = 0; r < lane->node->size && lane->waiting > 0; r++) {
        if (r != lane->node->rank)
            listen_to(lane, r);
    }
    sweep(lane);
    tutti_lane_serve(lane);
    tutti_lane_settle(lane);
    if (atomic_load(&lane->node->heard) != lane->heard)
        tutti_lane_forget(lane);
    pthread_mutex_unlock(&lane->lock);
}

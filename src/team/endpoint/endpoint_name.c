/* How the rendezvous of a sender name allocations. A name costs the driver tens of microseconds for each allocation, so
 * a message that needs none does not ask for it. An allocation that the peer keeps mapped is found by its id. */
#include "team/endpoint/endpoint_own.h"

#include <string.h>

#include "team/invalidation.h"
#include "team/share.h"

/* 1 if the peer keeps the allocation mapped from now on, until the lease ends. All rendezvous in an allocation have one
 * lease together, so that windows of messages touch the peer's count once. */
static int allocation_lease(struct tutti_known *known, uint64_t id)
{
    if (atomic_load_explicit(&known->id, memory_order_relaxed) != id)
        return 0;
    uint32_t n = atomic_load_explicit(&known->leases, memory_order_relaxed);
    do {
        if (n & TUTTI_KNOWN_CLOSED)
            return 0;
    } while (!atomic_compare_exchange_weak(&known->leases, &n, n + 1));
    if (atomic_load(&known->id) == id)
        return 1;
    atomic_fetch_sub(&known->leases, 1);
    return 0;
}

static void distrust(struct tutti_endpoint *endpoint, int peer, int index)
{
    _Atomic uint64_t *named = &endpoint->from[peer].named[index];
    if (atomic_load_explicit(named, memory_order_relaxed) != TUTTI_ENDPOINT_SEVERAL)
        atomic_store_explicit(named, TUTTI_ENDPOINT_SEVERAL, memory_order_relaxed);
}

int tutti_endpoint_several(struct tutti_endpoint *endpoint, int peer, int index, uint64_t id)
{
    uint64_t before = 0;
    if (atomic_compare_exchange_strong(&endpoint->from[peer].named[index], &before, id) || before == id)
        return 0;
    distrust(endpoint, peer, index);
    return 1;
}

void tutti_endpoint_distrust(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    const struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)];
    distrust(endpoint, piece->to, piece->gpu);
}

int tutti_endpoint_lease(struct tutti_endpoint *endpoint, int number, int peer, uint64_t id)
{
    struct tutti_known *const all = tutti_endpoint_theirs(endpoint, peer)->known[endpoint->node->rank];
    uint32_t *const leases = endpoint->from[peer].leases;
    for (int i = 0; i < TUTTI_ENDPOINT_KNOWN; i++) {
        const int again = leases[i] > 0 && atomic_load_explicit(&all[i].id, memory_order_relaxed) == id;
        if (!again && (leases[i] > 0 || !allocation_lease(&all[i], id)))
            continue;
        leases[i]++;
        endpoint->lease[number] = (unsigned char)(i + 1);
        return 1;
    }
    return 0;
}

void tutti_endpoint_leased(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, uint64_t id, uint64_t bytes)
{
    const int peer = endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)].to;
    if (atomic_load_explicit(&endpoint->from[peer].leased, memory_order_relaxed) != id)
        atomic_store_explicit(&endpoint->from[peer].leased, id, memory_order_relaxed);
    tutti_endpoint_saves(endpoint, bytes);
    tutti_endpoint_distrust(endpoint, rndv); /* if it is not known later, the peer could not keep it */
}

static int lease_known(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, uint64_t id)
{
    const int number = tutti_endpoint_number_of(endpoint, rndv);
    tutti_fiber_take(&endpoint->lock);
    const int leased = tutti_endpoint_lease(endpoint, number, endpoint->piece[number].to, id);
    tutti_lock_give(&endpoint->lock);
    if (leased)
        tutti_endpoint_leased(endpoint, rndv, id, rndv->bytes);
    return leased;
}

static void show(struct tutti_rndv *rndv, const struct tutti_share *share)
{
    TUTTI_RNDV_SET(rndv->share.shared, share->shared);
    if (!share->shared && share->what.id == 0)
        return;
    TUTTI_RNDV_SET(rndv->share.near, share->near);
    TUTTI_RNDV_SET(rndv->share.offset, share->offset);
    if (memcmp(&rndv->share.what, &share->what, sizeof share->what) != 0)
        rndv->share.what = share->what;
}

int tutti_endpoint_share(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, const void *pointer, uint64_t id,
                         struct tutti_endpoint_memo *memo)
{
    struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)];
    piece->own = pointer;
    /* The name of an allocation never changes, so one that this rendezvous has shown before serves again. */
    if (id && !memo && rndv->share.shared && rndv->share.what.id == id && !tutti_endpoint_is_own(endpoint, piece->to)) {
        TUTTI_RNDV_SET(rndv->share.offset, (uint64_t)(uintptr_t)pointer - rndv->share.what.base);
        return lease_known(endpoint, rndv, id);
    }
    struct tutti_share share = {.shared = 0};
    if (tutti_endpoint_is_own(endpoint, piece->to)) {
        share.shared = 1;
        share.offset = (uint64_t)(uintptr_t)pointer;
    } else if (memo && memo->of) {
        share = memo->share;
        share.offset += (uint64_t)((const char *)pointer - (const char *)memo->of);
    } else {
        if (id)
            tutti_share_name(endpoint->node, endpoint->device, pointer, id, &share);
        else
            tutti_share_fill(endpoint->node, endpoint->device, pointer, &share);
        if (memo)
            *memo = (struct tutti_endpoint_memo){.of = pointer, .share = share};
    }
    show(rndv, &share);
    if (tutti_endpoint_is_own(endpoint, piece->to))
        return 1;
    if (share.what.needs_fd)
        tutti_endpoint_bell_hang(endpoint);
    return rndv->share.shared && lease_known(endpoint, rndv, rndv->share.what.id);
}

int tutti_endpoint_is_unnamed(struct tutti_endpoint *endpoint, int peer, uint64_t id)
{
    if (!id || !tutti_endpoint_is_slow(endpoint) || tutti_endpoint_is_own(endpoint, peer) ||
        atomic_load_explicit(&endpoint->from[peer].leased, memory_order_relaxed) == id)
        return 0;
    tutti_invalidation_poll(endpoint->node, endpoint->device);
    return !tutti_share_is_named(endpoint->node, id);
}

int tutti_endpoint_share_later(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, const void *pointer,
                               uint64_t id, uint64_t extent)
{
    const int peer = endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)].to;
    if (!tutti_endpoint_is_unnamed(endpoint, peer, id))
        return 0;
    endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)].own = pointer;
    show(rndv, &(const struct tutti_share){.what = {.id = id, .bytes = extent}});
    return 1;
}

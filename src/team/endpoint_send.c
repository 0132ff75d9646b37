/* The sender's side of endpoints: rendezvous and scratch. */
#include "team/endpoint_own.h"

#include "team/share.h"
#include "team/socket.h"

enum { ALIGN = 256 };

void tutti_endpoint_put_back(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv)
{
    int i = tutti_endpoint_number(endpoint, rndv);
    tutti_endpoint_end_lease(endpoint, rndv);
    tutti_rndv_set(rndv, TUTTI_RNDV_FREE);
    endpoint->piece[i].bytes = 0;
    endpoint->used[i / 64] &= ~(UINT64_C(1) << i % 64);
    endpoint->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    atomic_fetch_sub(&endpoint->rndvs, 1);
}

int tutti_endpoint_send_descriptor(struct tutti_endpoint *endpoint, int peer, const struct tutti_export *what)
{
    struct tutti_note note = {.slot = (uint32_t)TUTTI_NOTE_ENDPOINT};
    return tutti_share_send(endpoint->node, endpoint->device, peer, &note, what);
}

void tutti_endpoint_serve(struct tutti_endpoint *endpoint)
{
    struct tutti_endpoints *own = tutti_endpoint_mine(endpoint);
    for (int r = 0; r < endpoint->node->size && atomic_load(&own->asked) != 0; r++) {
        struct tutti_wanted *wanted = &own->wanted[r];
        const struct tutti_export what = {.id = atomic_load_explicit(&wanted->id, memory_order_acquire),
                                          .base = wanted->base};
        if (what.id == 0 || !tutti_endpoint_send_descriptor(endpoint, r, &what))
            continue;
        atomic_store_explicit(&wanted->id, 0, memory_order_release);
        atomic_fetch_sub(&own->asked, 1);
    }
}

/* 1 where the peer keeps the allocation mapped from now on, until the lease ends. */
static int lease(struct tutti_known *known, uint64_t id)
{
    uint32_t n = atomic_load_explicit(&known->leases, memory_order_relaxed);
    if (atomic_load_explicit(&known->id, memory_order_relaxed) != id)
        return 0;
    do {
        if (n & TUTTI_KNOWN_CLOSED)
            return 0;
    } while (!atomic_compare_exchange_weak(&known->leases, &n, n + 1));
    if (atomic_load(&known->id) == id)
        return 1;
    atomic_fetch_sub(&known->leases, 1);
    return 0;
}

void tutti_endpoint_end_lease(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    const int i = tutti_endpoint_number(endpoint, rndv);
    if (endpoint->lease[i])
        atomic_fetch_sub(&tutti_endpoint_theirs(endpoint, endpoint->piece[i].to)
                              ->known[endpoint->node->rank][endpoint->lease[i] - 1]
                              .leases,
                         1);
    endpoint->lease[i] = 0;
}

/* The lock is held. Number of a rendezvous that is free, taken; -1: there is none. */
static int take(struct tutti_endpoint *endpoint)
{
    for (int w = 0; w < TUTTI_RNDVS / 64; w++) {
        if (~endpoint->used[w] == 0)
            continue;
        int i = __builtin_ctzll(~endpoint->used[w]);
        endpoint->used[w] |= UINT64_C(1) << i;
        endpoint->held[w] |= UINT64_C(1) << i;
        atomic_fetch_add(&endpoint->rndvs, 1);
        return w * 64 + i;
    }
    return -1;
}

struct tutti_rndv *tutti_endpoint_rndv(struct tutti_endpoint *endpoint, int peer)
{
    pthread_mutex_lock(&endpoint->lock);
    int number = take(endpoint);
    uint64_t sequence = ++endpoint->sequence;
    pthread_mutex_unlock(&endpoint->lock);
    if (number < 0)
        return NULL;
    struct tutti_rndv *rndv = &tutti_endpoint_mine(endpoint)->rndv[number];
    endpoint->piece[number].to = peer;
    atomic_store_explicit(&rndv->held, TUTTI_HELD_NOT, memory_order_relaxed);
    atomic_store_explicit(&rndv->to, (uint32_t)peer, memory_order_relaxed);
    rndv->layout_bytes = 0;
    rndv->share.shared = 0;
    atomic_store_explicit(&rndv->hurry, 0, memory_order_relaxed);
    atomic_store(&rndv->sequence, sequence);
    return rndv;
}

int tutti_endpoint_number(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    return (int)(rndv - tutti_endpoint_mine(endpoint)->rndv);
}

void tutti_endpoint_let_go(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    int i = tutti_endpoint_number(endpoint, rndv);
    pthread_mutex_lock(&endpoint->lock);
    endpoint->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    pthread_mutex_unlock(&endpoint->lock);
}

void tutti_endpoint_withdraw(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv)
{
    pthread_mutex_lock(&endpoint->lock);
    tutti_endpoint_put_back(endpoint, rndv);
    pthread_mutex_unlock(&endpoint->lock);
}

/* First place that is long enough; the pieces are few. */
static int find_room(const struct tutti_endpoint *endpoint, uint64_t bytes, uint64_t *out)
{
    uint64_t at = 0;
    for (;;) {
        uint64_t next = UINT64_MAX, past = 0;
        for (int i = 0; i < TUTTI_RNDVS; i++) {
            const struct tutti_endpoint_piece *piece = &endpoint->piece[i];
            if (piece->bytes == 0 || piece->at + piece->bytes <= at)
                continue;
            if (piece->at < next) {
                next = piece->at;
                past = piece->at + piece->bytes;
            }
        }
        if (next == UINT64_MAX || next >= at + bytes) {
            *out = at;
            return at + bytes <= endpoint->bytes;
        }
        at = past;
        if (at + bytes > endpoint->bytes)
            return 0;
    }
}

void *tutti_endpoint_scratch(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, size_t bytes)
{
    uint64_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN, at;
    if (room > endpoint->bytes || !endpoint->scratch)
        return NULL;
    pthread_mutex_lock(&endpoint->lock);
    int found = find_room(endpoint, room, &at);
    if (found) {
        struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number(endpoint, rndv)];
        piece->at = at;
        piece->bytes = room;
        rndv->at = at;
    }
    pthread_mutex_unlock(&endpoint->lock);
    return found ? endpoint->scratch + at : NULL;
}

int tutti_endpoint_share(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, const void *pointer,
                         struct tutti_endpoint_memo *memo)
{
    struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number(endpoint, rndv)];
    const int peer = piece->to;
    if (tutti_endpoint_is_own(endpoint, peer)) {
        piece->own = pointer;
        rndv->share = (struct tutti_share){.shared = 1, .offset = (uint64_t)(uintptr_t)pointer};
        return 1;
    }
    if (memo && memo->of) {
        rndv->share = memo->share;
        rndv->share.offset += (uint64_t)((const char *)pointer - (const char *)memo->of);
    } else {
        tutti_share_fill(endpoint->node, endpoint->device, pointer, &rndv->share);
        if (memo)
            *memo = (struct tutti_endpoint_memo){.of = pointer, .share = rndv->share};
    }
    if (!rndv->share.shared)
        return 0;
    for (int i = 0; i < TUTTI_ENDPOINT_KNOWN; i++) {
        if (lease(&tutti_endpoint_theirs(endpoint, peer)->known[endpoint->node->rank][i], rndv->share.what.id)) {
            endpoint->lease[tutti_endpoint_number(endpoint, rndv)] = (unsigned char)(i + 1);
            return 1;
        }
    }
    return 0;
}

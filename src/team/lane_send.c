/* The sender's side of lanes: rendezvous and scratch. */
#include "team/lane_own.h"

#include "team/share.h"
#include "team/socket.h"

enum { ALIGN = 256 };

void tutti_lane_put_back(struct tutti_lane *lane, struct tutti_rndv *rndv)
{
    int i = tutti_lane_number(lane, rndv);
    tutti_lane_end_lease(lane, rndv);
    tutti_rndv_set(rndv, TUTTI_RNDV_FREE);
    lane->piece[i].bytes = 0;
    lane->used[i / 64] &= ~(UINT64_C(1) << i % 64);
    lane->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    atomic_fetch_sub(&lane->rndvs, 1);
}

int tutti_lane_send_descriptor(struct tutti_lane *lane, int peer, const struct tutti_export *what)
{
    struct tutti_note note = {.slot = (uint32_t)TUTTI_NOTE_LANE};
    return tutti_share_send(lane->node, lane->device, peer, &note, what);
}

void tutti_lane_serve(struct tutti_lane *lane)
{
    struct tutti_lanes *own = tutti_lane_mine(lane);
    for (int r = 0; r < lane->node->size && atomic_load(&own->asked) != 0; r++) {
        struct tutti_wanted *wanted = &own->wanted[r];
        const struct tutti_export what = {.id = atomic_load_explicit(&wanted->id, memory_order_acquire),
                                          .base = wanted->base};
        if (what.id == 0 || !tutti_lane_send_descriptor(lane, r, &what))
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

void tutti_lane_end_lease(struct tutti_lane *lane, const struct tutti_rndv *rndv)
{
    const int i = tutti_lane_number(lane, rndv);
    if (lane->lease[i])
        atomic_fetch_sub(
            &tutti_lane_theirs(lane, lane->piece[i].to)->known[lane->node->rank][lane->lease[i] - 1].leases, 1);
    lane->lease[i] = 0;
}

/* The lock is held. Number of a rendezvous that is free, taken; -1: there is none. */
static int take(struct tutti_lane *lane)
{
    for (int w = 0; w < TUTTI_RNDVS / 64; w++) {
        if (~lane->used[w] == 0)
            continue;
        int i = __builtin_ctzll(~lane->used[w]);
        lane->used[w] |= UINT64_C(1) << i;
        lane->held[w] |= UINT64_C(1) << i;
        atomic_fetch_add(&lane->rndvs, 1);
        return w * 64 + i;
    }
    return -1;
}

struct tutti_rndv *tutti_lane_rndv(struct tutti_lane *lane, int peer)
{
    pthread_mutex_lock(&lane->lock);
    int number = take(lane);
    uint64_t sequence = ++lane->sequence;
    pthread_mutex_unlock(&lane->lock);
    if (number < 0)
        return NULL;
    struct tutti_rndv *rndv = &tutti_lane_mine(lane)->rndv[number];
    lane->piece[number].to = peer;
    atomic_store_explicit(&rndv->held, TUTTI_HELD_NOT, memory_order_relaxed);
    rndv->to = (uint32_t)peer;
    rndv->layout_bytes = 0;
    rndv->share.shared = 0;
    atomic_store_explicit(&rndv->hurry, 0, memory_order_relaxed);
    atomic_store(&rndv->sequence, sequence);
    return rndv;
}

int tutti_lane_number(const struct tutti_lane *lane, const struct tutti_rndv *rndv)
{
    return (int)(rndv - tutti_lane_mine(lane)->rndv);
}

void tutti_lane_let_go(struct tutti_lane *lane, const struct tutti_rndv *rndv)
{
    int i = tutti_lane_number(lane, rndv);
    pthread_mutex_lock(&lane->lock);
    lane->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    pthread_mutex_unlock(&lane->lock);
}

void tutti_lane_withdraw(struct tutti_lane *lane, struct tutti_rndv *rndv)
{
    pthread_mutex_lock(&lane->lock);
    tutti_lane_put_back(lane, rndv);
    pthread_mutex_unlock(&lane->lock);
}

/* First place that is long enough; the pieces are few. */
static int find_room(const struct tutti_lane *lane, uint64_t bytes, uint64_t *out)
{
    uint64_t at = 0;
    for (;;) {
        uint64_t next = UINT64_MAX, past = 0;
        for (int i = 0; i < TUTTI_RNDVS; i++) {
            const struct tutti_lane_piece *piece = &lane->piece[i];
            if (piece->bytes == 0 || piece->at + piece->bytes <= at)
                continue;
            if (piece->at < next) {
                next = piece->at;
                past = piece->at + piece->bytes;
            }
        }
        if (next == UINT64_MAX || next >= at + bytes) {
            *out = at;
            return at + bytes <= lane->bytes;
        }
        at = past;
        if (at + bytes > lane->bytes)
            return 0;
    }
}

void *tutti_lane_scratch(struct tutti_lane *lane, struct tutti_rndv *rndv, size_t bytes)
{
    uint64_t room = (bytes + ALIGN - 1) / ALIGN * ALIGN, at;
    if (room > lane->bytes || !lane->scratch)
        return NULL;
    pthread_mutex_lock(&lane->lock);
    int found = find_room(lane, room, &at);
    if (found) {
        struct tutti_lane_piece *piece = &lane->piece[tutti_lane_number(lane, rndv)];
        piece->at = at;
        piece->bytes = room;
        rndv->at = at;
    }
    pthread_mutex_unlock(&lane->lock);
    return found ? lane->scratch + at : NULL;
}

int tutti_lane_share(struct tutti_lane *lane, struct tutti_rndv *rndv, const void *pointer,
                     struct tutti_lane_memo *memo)
{
    struct tutti_lane_piece *piece = &lane->piece[tutti_lane_number(lane, rndv)];
    const int peer = piece->to;
    if (tutti_lane_is_own(lane, peer)) {
        piece->own = pointer;
        rndv->share = (struct tutti_share){.shared = 1, .offset = (uint64_t)(uintptr_t)pointer};
        return 1;
    }
    if (memo && memo->of) {
        rndv->share = memo->share;
        rndv->share.offset += (uint64_t)((const char *)pointer - (const char *)memo->of);
    } else {
        tutti_share_fill(lane->node, lane->device, pointer, &rndv->share);
        if (memo)
            *memo = (struct tutti_lane_memo){.of = pointer, .share = rndv->share};
    }
    if (!rndv->share.shared)
        return 0;
    for (int i = 0; i < TUTTI_LANE_KNOWN; i++) {
        if (lease(&tutti_lane_theirs(lane, peer)->known[lane->node->rank][i], rndv->share.what.id)) {
            lane->lease[tutti_lane_number(lane, rndv)] = (unsigned char)(i + 1);
            return 1;
        }
    }
    return 0;
}

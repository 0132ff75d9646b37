/* The sender's side of endpoints: rendezvous and scratch. */
#include "team/endpoint/endpoint_own.h"

#include "core/log.h"
#include "core/reasons.h"
#include "progress/engine.h"
#include "team/share.h"
#include "team/socket.h"

enum { ALIGN = 256, PIECE_MOST = 16 << 20, SLOTS = 4 };

void tutti_endpoint_end_lease(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    const int i = tutti_endpoint_number_of(endpoint, rndv), known = endpoint->lease[i] - 1;
    const int peer = endpoint->piece[i].to;
    if (known >= 0 && --endpoint->from[peer].leases[known] == 0)
        atomic_fetch_sub(&tutti_endpoint_theirs(endpoint, peer)->known[endpoint->node->rank][known].leases, 1);
    endpoint->lease[i] = 0;
}

/* The lock is held. */
static void count_rndvs(struct tutti_endpoint *endpoint, int more) TUTTI_HOLDS(endpoint->lock)
{
    const int n = atomic_load_explicit(&endpoint->rndvs, memory_order_relaxed);
    atomic_store_explicit(&endpoint->rndvs, n + more, memory_order_relaxed);
}

/* Until the rendezvous is free each poll of the engine looks at it, unless the caller of the collective does. */
static void rndv_polled(struct tutti_endpoint *endpoint, int number, int of_call) TUTTI_HOLDS(endpoint->lock)
{
    endpoint->piece[number].of_call = of_call;
    if (!of_call && endpoint->step)
        tutti_step_open_locked(endpoint->step);
}

static void rndv_unpolled(struct tutti_endpoint *endpoint, int number) TUTTI_HOLDS(endpoint->lock)
{
    if (!endpoint->piece[number].of_call && endpoint->step)
        tutti_step_close_locked(endpoint->step);
}

void tutti_endpoint_put_back(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, uint32_t state)
{
    int i = tutti_endpoint_number_of(endpoint, rndv);
    tutti_endpoint_end_lease(endpoint, rndv);
    if (!tutti_rndv_move(rndv, (enum tutti_rndv_state)state, TUTTI_RNDV_FREE))
        tutti_error("a rendezvous with rank %d of this node was changed while it was freed", endpoint->piece[i].to);
    if (endpoint->piece[i].short_rts && --endpoint->from[endpoint->piece[i].to].shorts == 0)
        atomic_fetch_sub(&tutti_endpoint_theirs(endpoint, endpoint->piece[i].to)->shorts, 1);
    endpoint->piece[i].short_rts = 0;
    tutti_endpoint_place_give(endpoint, i);
    endpoint->used[i / 64] &= ~(UINT64_C(1) << i % 64);
    endpoint->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    count_rndvs(endpoint, -1);
    rndv_unpolled(endpoint, i);
}

/* The lock is held. Takes a free rendezvous and returns its number; -1: all are in use. of_call: see rndv_polled(). */
static int rndv_take_free(struct tutti_endpoint *endpoint, int of_call) TUTTI_HOLDS(endpoint->lock)
{
    for (int w = 0; w < TUTTI_RNDVS / 64; w++) {
        if (~endpoint->used[w] == 0)
            continue;
        int i = __builtin_ctzll(~endpoint->used[w]);
        endpoint->used[w] |= UINT64_C(1) << i;
        endpoint->held[w] |= UINT64_C(1) << i;
        count_rndvs(endpoint, 1);
        rndv_polled(endpoint, w * 64 + i, of_call);
        return w * 64 + i;
    }
    return -1;
}

/* The lock is held. Before the rendezvous is posted: the receiver of its RTS finds this rank counted. The count is in a
 * line of the receiver's, which takes each access to it longer than one of this rank's own. */
static void rndv_shorten(struct tutti_endpoint *endpoint, int number, int peer) TUTTI_HOLDS(endpoint->lock)
{
    endpoint->piece[number].short_rts = 1;
    if (endpoint->from[peer].shorts++ == 0)
        atomic_fetch_add(&tutti_endpoint_theirs(endpoint, peer)->shorts, 1);
}

/* The lock is held. The rendezvous is free again, and was not used. */
static void rndv_give_free(struct tutti_endpoint *endpoint, int number) TUTTI_HOLDS(endpoint->lock)
{
    endpoint->used[number / 64] &= ~(UINT64_C(1) << number % 64);
    endpoint->held[number / 64] &= ~(UINT64_C(1) << number % 64);
    count_rndvs(endpoint, -1);
    rndv_unpolled(endpoint, number);
}

/* A rendezvous that was taken, for the peer, of a message on the GPU of this index. */
static struct tutti_rndv *rndv_begin(struct tutti_endpoint *endpoint, int number, int peer, int index,
                                     uint64_t sequence)
{
    struct tutti_rndv *rndv = &tutti_endpoint_mine(endpoint)->rndv[number];
    struct tutti_endpoint_piece *piece = &endpoint->piece[number];
    piece->to = peer;
    piece->gpu = index;
    piece->own = NULL;
    piece->left = 0;
    piece->scratch_pays = 0;
    TUTTI_RNDV_SET(rndv->held, TUTTI_HELD_NOT);
    atomic_store_explicit(&rndv->to, (uint32_t)peer, memory_order_relaxed);
    rndv->layout_bytes = 0;
    rndv->short_rts = 0;
    TUTTI_RNDV_SET(rndv->engines, 0);
    TUTTI_RNDV_SET(rndv->pays, TUTTI_PAYS);
    rndv->gpu = (uint32_t)index;
    atomic_store_explicit(&rndv->must, TUTTI_MUST_NOT, memory_order_relaxed);
    TUTTI_RNDV_SET(rndv->packed, 0);
    TUTTI_RNDV_SET(rndv->taken, 0);
    atomic_store_explicit(&rndv->sequence, sequence, memory_order_relaxed); /* before the state */
    return rndv;
}

static struct tutti_rndv *rndv_new(struct tutti_endpoint *endpoint, int peer, int gpu, int of_call)
{
    const int index = gpu == TUTTI_NO_GPU ? 0 : tutti_endpoint_use(endpoint, gpu);
    if (index < 0)
        return NULL;
    tutti_fiber_take(&endpoint->lock);
    int number = rndv_take_free(endpoint, of_call);
    uint64_t sequence = ++endpoint->sequence;
    tutti_lock_give(&endpoint->lock);
    return number < 0 ? NULL : rndv_begin(endpoint, number, peer, index, sequence);
}

struct tutti_rndv *tutti_endpoint_rndv(struct tutti_endpoint *endpoint, int peer, int gpu)
{
    return rndv_new(endpoint, peer, gpu, 0);
}

struct tutti_rndv *tutti_endpoint_rndv_of_call(struct tutti_endpoint *endpoint, int peer, int gpu)
{
    return rndv_new(endpoint, peer, gpu, 1);
}

struct tutti_rndv *tutti_endpoint_rndv_like(struct tutti_endpoint *endpoint, int peer, int gpu, uint64_t id,
                                            const void *pointer, uint64_t bytes, int short_rts)
{
    const int index = tutti_endpoint_use(endpoint, gpu);
    if (index < 0)
        return NULL;
    tutti_fiber_take(&endpoint->lock);
    const int number = rndv_take_free(endpoint, 0);
    int leased = 0;
    if (number >= 0) {
        const struct tutti_share *const shown = &tutti_endpoint_mine(endpoint)->rndv[number].share;
        leased = shown->shared && shown->what.id == id && tutti_endpoint_lease(endpoint, number, peer, id);
        if (!leased)
            rndv_give_free(endpoint, number);
        else if (short_rts)
            rndv_shorten(endpoint, number, peer);
    }
    const uint64_t sequence = ++endpoint->sequence;
    tutti_lock_give(&endpoint->lock);
    if (!leased)
        return NULL;
    struct tutti_rndv *rndv = rndv_begin(endpoint, number, peer, index, sequence);
    rndv->short_rts = (uint32_t)short_rts;
    TUTTI_RNDV_SET(rndv->share.offset, (uint64_t)(uintptr_t)pointer - rndv->share.what.base);
    tutti_endpoint_leased(endpoint, rndv, id, bytes);
    return rndv;
}

int tutti_endpoint_number(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    return tutti_endpoint_number_of(endpoint, rndv);
}

void tutti_endpoint_shorten(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv)
{
    const int number = tutti_endpoint_number_of(endpoint, rndv);
    rndv->short_rts = 1;
    tutti_fiber_take(&endpoint->lock);
    rndv_shorten(endpoint, number, endpoint->piece[number].to);
    tutti_lock_give(&endpoint->lock);
}

void tutti_endpoint_urge(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    const struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)];
    _Atomic uint32_t *urged = &tutti_endpoint_theirs(endpoint, piece->to)->urged;
    if (atomic_load_explicit(urged, memory_order_relaxed) == 0)
        atomic_store(urged, 1);
}

int tutti_endpoint_urged(const struct tutti_endpoint *endpoint)
{
    _Atomic uint32_t *urged = &tutti_endpoint_mine(endpoint)->urged;
    return atomic_load_explicit(urged, memory_order_relaxed) != 0 && atomic_exchange(urged, 0) != 0;
}

void tutti_endpoint_saw_fetch(struct tutti_endpoint *endpoint, int peer, uint64_t now)
{
    atomic_store_explicit(&endpoint->from[peer].fetched, now, memory_order_relaxed);
}

uint64_t tutti_endpoint_fetched(const struct tutti_endpoint *endpoint, int peer)
{
    return atomic_load_explicit(&endpoint->from[peer].fetched, memory_order_relaxed);
}

void tutti_endpoint_send_release(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    const int i = tutti_endpoint_number_of(endpoint, rndv);
    tutti_fiber_take(&endpoint->lock);
    endpoint->held[i / 64] &= ~(UINT64_C(1) << i % 64);
    if (tutti_rndv_is(rndv, TUTTI_RNDV_ATS))
        tutti_endpoint_put_back(endpoint, &tutti_endpoint_mine(endpoint)->rndv[i], TUTTI_RNDV_ATS);
    else if (endpoint->piece[i].of_call) /* its receiver has not taken the data, and the call may end */
        rndv_polled(endpoint, i, 0);
    tutti_lock_give(&endpoint->lock);
}

void tutti_endpoint_withdraw(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv)
{
    tutti_fiber_take(&endpoint->lock);
    tutti_endpoint_put_back(endpoint, rndv, atomic_load(&rndv->state));
    tutti_lock_give(&endpoint->lock);
}

/* Long enough that a launch for each costs little beside the link, and an eighth of the scratch at most. */
static uint64_t piece_of(const struct tutti_endpoint *endpoint, uint64_t bytes)
{
    uint64_t most = endpoint->bytes / 8 / ALIGN * ALIGN;
    if (most > PIECE_MOST)
        most = PIECE_MOST;
    const uint64_t all = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return most == 0 || all < most ? all : most;
}

/* Slots for as many pieces as there is room for: for all, for some that pass one after the other, for one. */
static uint64_t take_slots(struct tutti_endpoint *endpoint, int number, uint64_t each, uint64_t pieces, int whole)
    TUTTI_HOLDS(endpoint->lock)
{
    const uint64_t tries[] = {pieces, SLOTS, 2, 1};
    for (unsigned i = 0; i < (whole ? 1 : sizeof tries / sizeof *tries); i++) {
        if (tries[i] > pieces || tries[i] > endpoint->bytes / each ||
            !tutti_endpoint_place_take(endpoint, number, tries[i] * each))
            continue;
        endpoint->piece[number].each = each;
        return tries[i];
    }
    return 0;
}

void *tutti_endpoint_scratch(struct tutti_endpoint *endpoint, struct tutti_rndv *rndv, uint64_t bytes, int whole)
{
    const int number = tutti_endpoint_number_of(endpoint, rndv);
    struct tutti_endpoint_piece *piece = &endpoint->piece[number];
    const uint64_t each = piece_of(endpoint, bytes), pieces = each ? tutti_pieces(bytes, each) : 0;
    if (pieces == 0)
        return TUTTI_NONE(NO_SCRATCH);
    if (tutti_endpoint_mapped(endpoint, piece->to, endpoint->gpu[piece->gpu].gpu) != TUTTI_MAPS)
        return TUTTI_NONE(FIRST);
    tutti_fiber_take(&endpoint->lock);
    char *scratch = tutti_endpoint_own_scratch(endpoint, piece->gpu);
    const uint64_t slots = scratch ? take_slots(endpoint, number, each, pieces, whole) : 0;
    if (slots) {
        const struct tutti_share *at = &tutti_endpoint_mine(endpoint)->gpu[piece->gpu].scratch;
        rndv->scratch = at->shared ? at->what.id : 0;
        rndv->at = (at->shared ? at->offset : 0) + piece->at;
        rndv->piece = each;
        rndv->slots = (uint32_t)slots;
    }
    tutti_lock_give(&endpoint->lock);
    if (slots)
        return scratch + piece->at;
    return !scratch                           ? TUTTI_NONE(NO_SCRATCH)
           : whole && bytes > endpoint->bytes ? TUTTI_NONE(SCRATCH_SMALL)
                                              : TUTTI_NONE(SCRATCH_FULL);
}

/* What the receiver has stored is not trusted further than the scratch goes. */
unsigned tutti_endpoint_room(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, uint64_t bytes,
                             uint64_t packed)
{
    const struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)];
    const uint64_t slots = piece->bytes / piece->each, all = tutti_pieces(bytes, piece->each);
    const uint64_t taken = atomic_load_explicit(&rndv->taken, memory_order_acquire);
    if (slots == 0 || taken > packed || packed - taken >= slots || packed >= all)
        return 0;
    uint64_t n = slots - (packed - taken), half = slots > 1 ? slots / 2 : 1;
    n = n < half ? n : half;
    n = n < slots - packed % slots ? n : slots - packed % slots;
    return (unsigned)(n < all - packed ? n : all - packed);
}

/* The receiver's side of endpoints: rendezvous of peers, and where their data lie. */
#include "team/endpoint/endpoint_own.h"

#include <string.h>
#include <unistd.h>

#include "core/log.h"
#include "dtype/plan.h"
#include "dtype/wire.h"
#include "team/cache.h"

#define ONCE(word) __atomic_load_n(&(word), __ATOMIC_RELAXED)

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
    if (state == TUTTI_RNDV_FREE || state == TUTTI_RNDV_ATS) /* a repeated RTS */
        return NULL;
    return atomic_load(&rndv->sequence) == sequence ? rndv : NULL;
}

void tutti_endpoint_fetch_ahead(const struct tutti_endpoint *endpoint, int peer, int number)
{
    if (peer < 0 || peer >= endpoint->node->size || number < 0 || number + 1 >= TUTTI_RNDVS)
        return;
    const struct tutti_rndv *const next = &tutti_endpoint_theirs(endpoint, peer)->rndv[number + 1];
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(next->state)); /* the built-in reads */
#else
    __builtin_prefetch(&next->state, 1);
#endif
}

/* 1 if the rendezvous is of a message for this rank with this tag. */
static int rndv_announces(const struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, int tag)
{
    const uint32_t state = atomic_load_explicit(&rndv->state, memory_order_acquire);
    return state != TUTTI_RNDV_FREE && state != TUTTI_RNDV_ATS &&
           atomic_load_explicit(&rndv->to, memory_order_relaxed) == (uint32_t)endpoint->node->rank &&
           ONCE(rndv->tag) == tag;
}

int tutti_endpoint_announces(const struct tutti_endpoint *endpoint, int peer, int tag, uint64_t most)
{
    int found = 0;
    for (int i = 0; i < TUTTI_RNDVS && !found; i++) {
        const struct tutti_rndv *rndv = &tutti_endpoint_theirs(endpoint, peer)->rndv[i];
        found = rndv_announces(endpoint, rndv, tag) && ONCE(rndv->bytes) <= most;
    }
    return found;
}

void tutti_endpoint_hold(struct tutti_endpoint *endpoint, int peer, int tag)
{
    for (int i = 0; i < TUTTI_RNDVS; i++) {
        struct tutti_rndv *rndv = &tutti_endpoint_theirs(endpoint, peer)->rndv[i];
        uint32_t before = TUTTI_HELD_NOT;
        if (rndv_announces(endpoint, rndv, tag))
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

/* 1 if `bytes` bytes from `at` on lie within `all`. */
static int range_within(uint64_t at, uint64_t bytes, uint64_t all)
{
    return at <= all && bytes <= all - at;
}

static void rndv_refuse(const struct tutti_endpoint *endpoint, int peer, const char *what)
{
    tutti_error("a message from rank %d cannot be taken: its rendezvous names %s",
                tutti_node_world(endpoint->node, peer), what);
}

/* The scratch of the rendezvous' GPU at its owner, checked; 0 if the owner has no such GPU. */
static int gpu_of(const struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv, unsigned *out)
{
    *out = ONCE(rndv->gpu);
    if (*out < TUTTI_ENDPOINT_GPUS &&
        atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->gpu[*out].offered, memory_order_acquire) > 0)
        return 1;
    rndv_refuse(endpoint, peer, "a GPU that is not there");
    return 0;
}

/* Own memory, by kernels of another GPU of this process too. */
static enum tutti_reaching reach_own(struct tutti_endpoint *endpoint, int owner, int gpu, const void *pointer,
                                     char **data, struct tutti_mapping **held)
{
    struct tutti_export what;
    int fd = -1;
    *data = (char *)(uintptr_t)pointer;
    if (!pointer) /* it is in several allocations */
        return TUTTI_REACH_NOT;
    if (owner == gpu)
        return TUTTI_REACHED;
    if (tutti_endpoint_quiet(endpoint) || endpoint->device->share.export(pointer, &what, &fd) != TUTTI_OK)
        return TUTTI_REACH_NOT;
    const int status =
        tutti_cache_add_held(endpoint->node->cache, endpoint->device, endpoint->node->rank, gpu, &what, fd, 0, held);
    if (fd >= 0)
        close(fd);
    if (status != TUTTI_OK)
        return TUTTI_REACH_NOT;
    *data = (char *)(*held)->base + ((uintptr_t)pointer - (uintptr_t)what.base);
    return TUTTI_REACHED;
}

enum tutti_reaching tutti_endpoint_reach(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv,
                                         int gpu, uint64_t bytes, int unanswered, char **data,
                                         struct tutti_mapping **held)
{
    unsigned index;
    *held = NULL;
    if (!gpu_of(endpoint, peer, rndv, &index))
        return TUTTI_REACH_NOT;
    if (tutti_endpoint_is_own(endpoint, peer))
        return reach_own(endpoint, endpoint->gpu[index].gpu, gpu,
                         endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)].own, data, held);
    const struct tutti_share share = rndv->share; /* once: what has been checked must not change */
    if (!share.shared)
        return TUTTI_REACH_NOT;
    tutti_fiber_take(&endpoint->lock);
    *held = tutti_cache_find(endpoint->node->cache, peer, gpu, &share.what);
    enum tutti_reaching there = *held ? TUTTI_REACHED : TUTTI_REACH_NOT;
    if (!*held && tutti_endpoint_unmapped(endpoint, peer, index)) { /* first: it serves all allocations */
        struct tutti_mapping *scratch;
        tutti_endpoint_map_scratch(endpoint, peer, index, gpu, &scratch);
    }
    endpoint->from[peer].kernels = bytes <= TUTTI_ENDPOINT_FIRST_BYTES;
    if (!*held && (tutti_endpoint_worth(endpoint, peer, index, rndv, share.what.id) || unanswered))
        there = tutti_endpoint_map_named(endpoint, peer, gpu, &share.what, held);
    else if (!*held && tutti_endpoint_is_slow(endpoint)) /* the MPI carries the message */
        there = TUTTI_REACH_LATER;
    /* The scratch serves until the allocation is mapped. */
    if (there == TUTTI_REACH_LATER && !unanswered &&
        atomic_load(&tutti_endpoint_mine(endpoint)->maps[peer][index]) == TUTTI_MAPS)
        there = TUTTI_REACH_NOT;
    tutti_lock_give(&endpoint->lock);
    if (there == TUTTI_REACHED && tutti_endpoint_unmapped(endpoint, peer, index)) /* for later: this one needs none */
        atomic_store_explicit(&endpoint->again, 1, memory_order_relaxed);
    if (there == TUTTI_REACHED &&
        !range_within(share.offset, ONCE(rndv->layout_bytes) ? 0 : bytes, (*held)->what.bytes)) {
        tutti_endpoint_release(endpoint, *held);
        *held = NULL;
        tutti_debug("an offer of rank %d names bytes beyond its allocation", tutti_node_world(endpoint->node, peer));
        return TUTTI_REACH_NOT;
    }
    if (there == TUTTI_REACHED)
        *data = (char *)(*held)->base + share.offset;
    return there;
}

int tutti_endpoint_reach_like(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv, int gpu,
                              uint64_t bytes, struct tutti_mapping *like, char **data, struct tutti_mapping **held)
{
    const struct tutti_share share = rndv->share; /* once: what has been checked must not change */
    if (tutti_endpoint_is_own(endpoint, peer) || !share.shared ||
        !range_within(share.offset, ONCE(rndv->layout_bytes) ? 0 : bytes, like->what.bytes) ||
        !tutti_cache_refer(endpoint->node->cache, like, peer, gpu, &share.what))
        return 0;
    *held = like;
    *data = (char *)like->base + share.offset;
    return 1;
}

int tutti_endpoint_demand(struct tutti_endpoint *endpoint, int peer, struct tutti_rndv *rndv, const int *gpus, int n)
{
    unsigned index;
    enum tutti_must must = TUTTI_MUST_CARRY;
    if (!gpu_of(endpoint, peer, rndv, &index))
        return 1;
    if (tutti_endpoint_is_own(endpoint, peer)) {
        must = TUTTI_MUST_PACK;
    } else if (atomic_load_explicit(&tutti_endpoint_theirs(endpoint, peer)->gpu[index].offered, memory_order_acquire) ==
               2) {
        tutti_fiber_take(&endpoint->lock);
        for (int i = 0; i < n && must == TUTTI_MUST_CARRY; i++) {
            struct tutti_mapping *mapping;
            const enum tutti_reaching there = tutti_endpoint_map_scratch(endpoint, peer, index, gpus[i], &mapping);
            must = there == TUTTI_REACHED ? TUTTI_MUST_PACK : there == TUTTI_REACH_LATER ? TUTTI_MUST_NOT : must;
        }
        tutti_lock_give(&endpoint->lock);
    }
    if (must != TUTTI_MUST_NOT)
        atomic_store_explicit(&rndv->must, (uint32_t)must, memory_order_release);
    return must != TUTTI_MUST_NOT;
}

/* What the owner has written of the pieces, once. */
struct pieces {
    uint64_t at, each, slots, packed;
};

static int read_pieces(const struct tutti_rndv *rndv, uint64_t bytes, uint64_t taken, struct pieces *out)
{
    out->packed = atomic_load_explicit(&rndv->packed, memory_order_acquire);
    out->at = ONCE(rndv->at);
    out->each = ONCE(rndv->piece);
    out->slots = ONCE(rndv->slots);
    return out->each > 0 && out->slots > 0 && out->slots <= UINT64_MAX / out->each &&
           out->packed <= tutti_pieces(bytes, out->each) && taken <= out->packed && out->packed - taken <= out->slots;
}

enum tutti_reaching tutti_endpoint_pieces(struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv,
                                          int gpu, uint64_t bytes, uint64_t taken, struct tutti_endpoint_run *out)
{
    struct pieces p;
    unsigned index;
    char *scratch = NULL;
    uint64_t room;
    if (!gpu_of(endpoint, peer, rndv, &index))
        return TUTTI_REACH_NOT;
    if (!read_pieces(rndv, bytes, taken, &p)) {
        rndv_refuse(endpoint, peer, "pieces that are not the message's");
        return TUTTI_REACH_NOT;
    }
    if (p.packed == taken)
        return TUTTI_REACH_LATER;
    if (tutti_endpoint_is_own(endpoint, peer)) {
        const struct tutti_endpoint_piece *piece = &endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)];
        struct tutti_mapping *held = NULL;
        enum tutti_reaching there =
            reach_own(endpoint, endpoint->gpu[index].gpu, gpu, endpoint->gpu[index].scratch, &scratch, &held);
        tutti_endpoint_release(endpoint, held); /* of this process: it does not go */
        if (there != TUTTI_REACHED)
            return there;
        scratch -= p.at - piece->at; /* of the allocation, from its start on */
        room = p.at + piece->bytes;
    } else {
        struct tutti_mapping *mapping = NULL;
        tutti_fiber_take(&endpoint->lock);
        const enum tutti_reaching there =
            tutti_endpoint_map_packed(endpoint, peer, index, gpu, ONCE(rndv->scratch), &mapping);
        tutti_lock_give(&endpoint->lock);
        if (there != TUTTI_REACHED)
            return there;
        scratch = mapping->base;
        room = mapping->what.bytes;
    }
    if (!range_within(p.at, p.each * p.slots, room)) {
        rndv_refuse(endpoint, peer, "scratch that is not there");
        return TUTTI_REACH_NOT;
    }
    const uint64_t slot = taken % p.slots, there = p.packed - taken;
    out->pieces = there < p.slots - slot ? there : p.slots - slot;
    out->data = scratch + p.at + slot * p.each;
    out->first = taken * p.each;
    out->bytes = out->pieces * p.each < bytes - out->first ? out->pieces * p.each : bytes - out->first;
    return TUTTI_REACHED;
}

/* First and last + 1 byte of `count` elements, from where the layout counts. 0 if the numbers are too large. */
static int endpoint_take_extent_of(const struct tutti_plan *plan, uint64_t count, int64_t *first, int64_t *end)
{
    int64_t reach;
    if (count == 0 || count > INT64_MAX || __builtin_mul_overflow((int64_t)count - 1, plan->extent, &reach))
        return 0;
    *first = plan->true_lower;
    *end = plan->true_end;
    return !__builtin_add_overflow(*first, reach < 0 ? reach : 0, first) &&
           !__builtin_add_overflow(*end, reach > 0 ? reach : 0, end);
}

int tutti_endpoint_elements(const struct tutti_endpoint *endpoint, int peer, const struct tutti_rndv *rndv,
                            const struct tutti_mapping *held, char *data, uint64_t bytes, struct tutti_elements *out)
{
    unsigned char text[TUTTI_RNDV_LAYOUT]; /* a copy: what has been checked must not change */
    const struct tutti_plan *plan = NULL;
    const uint64_t count = ONCE(rndv->count), length = ONCE(rndv->layout_bytes);
    uint64_t all;
    int64_t first, end, lowest = ONCE(rndv->lowest);
    if (length > sizeof text) {
        rndv_refuse(endpoint, peer, "a layout that is too long");
        return TUTTI_ERR_ARGUMENT;
    }
    memcpy(text, rndv->layout, length);
    int status = tutti_plan_read(text, length, &plan);
    if (status == TUTTI_OK &&
        (__builtin_mul_overflow(count, plan->size, &all) || all != bytes ||
         !endpoint_take_extent_of(plan, count, &first, &end) || first != lowest ||
         (held && !range_within((uint64_t)(data - (char *)held->base), (uint64_t)(end - first), held->what.bytes)))) {
        tutti_plan_drop(plan);
        status = TUTTI_ERR_ARGUMENT;
    }
    if (status == TUTTI_ERR_ARGUMENT)
        rndv_refuse(endpoint, peer, "a layout that is not the message's");
    if (status == TUTTI_OK)
        *out = (struct tutti_elements){
            .plan = plan, .count = (int64_t)count, .buffer = (char *)((uintptr_t)data - (uintptr_t)lowest)};
    return status;
}

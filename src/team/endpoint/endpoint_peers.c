/* The peers' scratches, mapped for this rank's GPUs. */
#include "team/endpoint/endpoint_own.h"

#include "core/clock.h"
#include "core/log.h"
#include "team/cache.h"

void tutti_endpoint_drop(struct tutti_endpoint *endpoint, struct tutti_mapping **kept)
{
    struct tutti_mapping *before = *kept;
    *kept = NULL;
    tutti_endpoint_release(endpoint, before);
}

/* 1 where the scratch `id` is what the peer offers there. After a reset of its GPU it offers another one. */
static int is_offered(const struct tutti_endpoint_page *page, uint64_t id)
{
    return atomic_load(&page->offered) == 2 && __atomic_load_n(&page->scratch.what.id, __ATOMIC_RELAXED) == id;
}

/* 1 where messages for this rank lie packed in that scratch. */
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
                           struct tutti_mapping **kept, struct tutti_mapping **former)
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
            there = tutti_endpoint_map(endpoint, peer, gpu, &theirs.what, 1, kept);
    }
    if (there == TUTTI_REACHED) {
        atomic_store(state, TUTTI_MAPS);
        if (!is_offered(page, (*kept)->what.id)) { /* the peer may have looked before */
            atomic_store(state, TUTTI_MAPS_NOT_YET);
            there = TUTTI_REACH_LATER;
        }
    } else if (there == TUTTI_REACH_NOT && !tutti_endpoint_is_quiet(endpoint) && atomic_load(state) != TUTTI_MAPS) {
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

/* Flow kernels in C: how ranks show each other where their buffers lie. Included by flow_c.h. */
#ifndef TUTTI_KERNELS_FLOW_PLACES_C_H
#define TUTTI_KERNELS_FLOW_PLACES_C_H

TUTTI_FN void tutti_flow_show(const struct tutti_flow_args *args, enum tutti_place what, unsigned block, uint64_t epoch)
{
    for (unsigned i = 0; block == 0 && i + 1 < args->ranks; i++) {
        const unsigned peer = tutti_flow_peer(args, i);
        uint64_t *const place = tutti_flow_channel(args, peer)->place[what][args->rank];
        __atomic_store_n(&place[0], epoch << 32 | (uint32_t)args->there[what][peer], __ATOMIC_RELEASE);
        __atomic_store_n(&place[1], epoch << 32 | args->there[what][peer] >> 32, __ATOMIC_RELEASE);
    }
}

/* The place as this device reaches it. 0: no memory is there, and the launch must be left. */
TUTTI_FN int tutti_flow_reach(const struct tutti_flow_args *args, uint64_t bytes, uint64_t *place)
{
    void *const at = args->host_reach((const void *)(uintptr_t)*place, (size_t)bytes);
    *place = (uint64_t)(uintptr_t)at;
    if (at)
        return 1;
    __atomic_store_n(&tutti_flow_channel(args, args->rank)->failed, 1, __ATOMIC_RELAXED);
    __atomic_store_n(args->failed, TUTTI_LEFT_TOLD, __ATOMIC_RELEASE);
    return 0;
}

TUTTI_FN int tutti_flow_await_places(const struct tutti_flow_args *args, enum tutti_place what, uint32_t of,
                                     uint64_t epoch, const uint64_t bytes[], uint64_t place[])
{
    for (unsigned i = 0; i + 1 < args->ranks; i++) {
        const unsigned peer = tutti_flow_peer(args, i);
        const uint64_t *const words = tutti_flow_channel(args, args->rank)->place[what][peer];
        struct tutti_patience patience = {0, 0};
        place[peer] = 0;
        for (unsigned half = 0; half < 2 && of >> peer & 1; half++) {
            uint64_t seen;
            while ((seen = __atomic_load_n(&words[half], __ATOMIC_ACQUIRE)) >> 32 != (uint32_t)epoch) {
                if (tutti_flow_tired(args, &patience, 9, peer))
                    return 0;
            }
            place[peer] |= (uint64_t)(uint32_t)seen << 32 * half;
        }
        if (place[peer] != 0 && !tutti_flow_reach(args, bytes[peer], &place[peer]))
            return 0;
    }
    return 1;
}

TUTTI_FN int tutti_flow_await_both(const struct tutti_flow_args *args, uint64_t epoch, const uint64_t bytes[],
                                   uint64_t source[], uint64_t result[])
{
    const uint32_t all = (UINT32_C(1) << args->ranks) - 1;
    return tutti_flow_await_places(args, TUTTI_PLACE_SOURCE, all, epoch, bytes, source) &&
           tutti_flow_await_places(args, TUTTI_PLACE_RESULT, all, epoch, bytes, result);
}

#endif

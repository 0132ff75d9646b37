#include "ring/kernel.h"

#include <sched.h>

static int waits(const uint32_t *abort)
{
    sched_yield();
    return __atomic_load_n(abort, __ATOMIC_ACQUIRE) == 0;
}

static int put(const struct tutti_ring_kernel_view *ring, const uint32_t *abort, const struct kernel_request *r,
               uint64_t completion)
{
    const uint64_t number = __atomic_fetch_add(&ring->counters->next, 1, __ATOMIC_RELAXED);
    const uint64_t turn = (number / ring->slots + 1) & 0xff;
    while (number - __atomic_load_n(&ring->progress->completed, __ATOMIC_ACQUIRE) >= ring->slots) {
        if (!waits(abort))
            return 0;
    }
    const uint64_t words[8] = {(uint64_t)r->operation | (uint64_t)r->what << 8 | (uint64_t)r->pe << 16 |
                                   (uint64_t)r->size << 32 | r->value >> 56 << 40 | r->compare >> 56 << 48,
                               r->dest,
                               r->source,
                               r->bytes,
                               r->value,
                               r->compare,
                               r->extra,
                               completion};
    for (int i = 0; i < 8; i++) /* in an order of its own for each request */
        __atomic_store_n(&ring->slot[number % ring->slots].word[(i + number) % 8], words[(i + number) % 8] << 8 | turn,
                         __ATOMIC_RELEASE);
    return 1;
}

int kernel_send(const struct tutti_ring_kernel_view *ring, const uint32_t *abort, const struct kernel_request *request)
{
    return put(ring, abort, request, 0);
}

int kernel_call(const struct tutti_ring_kernel_view *ring, const uint32_t *abort, const struct kernel_request *request,
                uint64_t *result)
{
    uint32_t index = 0, was;
    while ((was = __atomic_fetch_or(&ring->counters->taken[index], 1, __ATOMIC_ACQ_REL)) & 1)
        index = (index + 1) % TUTTI_RING_COMPLETIONS;
    const uint64_t tag = (was >> 1) + 1;
    if (!put(ring, abort, request, tag << 24 | index))
        return 0;
    uint64_t low, high;
    do {
        low = __atomic_load_n(&ring->completion[index].word[0], __ATOMIC_ACQUIRE);
        high = __atomic_load_n(&ring->completion[index].word[1], __ATOMIC_ACQUIRE);
    } while ((low >> 32 != tag || high >> 32 != tag) && waits(abort));
    if (low >> 32 != tag || high >> 32 != tag)
        return 0;
    *result = (low & 0xffffffffu) | high << 32;
    __atomic_store_n(&ring->counters->taken[index], (uint32_t)tag << 1, __ATOMIC_RELEASE);
    return 1;
}

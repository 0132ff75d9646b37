/* RTSs that were sent to a rank and those that it has seen. */
#include "team/endpoint/endpoint_own.h"

/* So many more RTSs are not announced yet; returns how many are not. more 0: all are announced now. */
static uint32_t count_unannounced(struct tutti_endpoint *endpoint, int peer, uint32_t more, int alone)
{
    _Atomic uint32_t *const count = &endpoint->from[peer].unannounced;
    if (!alone)
        return more ? atomic_fetch_add_explicit(count, more, memory_order_relaxed) + more
                    : atomic_exchange_explicit(count, 0, memory_order_relaxed);
    const uint32_t n = atomic_load_explicit(count, memory_order_relaxed) + more;
    atomic_store_explicit(count, more ? n : 0, memory_order_relaxed);
    return n;
}

static void announce_now(struct tutti_endpoint *endpoint, int peer, int alone)
{
    const uint32_t n = count_unannounced(endpoint, peer, 0, alone);
    if (n)
        atomic_fetch_add_explicit(&tutti_endpoint_theirs(endpoint, peer)->announced, n, memory_order_release);
}

void tutti_endpoint_announce(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv, int alone)
{
    enum { FEW_OPEN = 8, TOGETHER = 4 };
    const int peer = endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)].to;
    const uint32_t n = count_unannounced(endpoint, peer, 1, alone);
    if (n >= TOGETHER || atomic_load_explicit(&endpoint->rndvs, memory_order_relaxed) <= FEW_OPEN)
        announce_now(endpoint, peer, alone);
    else
        atomic_store_explicit(&endpoint->unannounced, 1, memory_order_relaxed);
}

void tutti_endpoint_announce_rest(struct tutti_endpoint *endpoint, int alone)
{
    if (!atomic_load_explicit(&endpoint->unannounced, memory_order_relaxed) ||
        !atomic_exchange_explicit(&endpoint->unannounced, 0, memory_order_relaxed))
        return;
    for (int r = 0; r < endpoint->node->size; r++) {
        if (atomic_load_explicit(&endpoint->from[r].unannounced, memory_order_relaxed))
            announce_now(endpoint, r, alone);
    }
}

void tutti_endpoint_saw(struct tutti_endpoint *endpoint, int alone)
{
    if (alone)
        atomic_store_explicit(&endpoint->rtss, atomic_load_explicit(&endpoint->rtss, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        atomic_fetch_add_explicit(&endpoint->rtss, 1, memory_order_relaxed);
}

uint32_t tutti_endpoint_rtss(const struct tutti_endpoint *endpoint)
{
    return atomic_load_explicit(&endpoint->rtss, memory_order_relaxed);
}

/* An RTS may be seen before it is announced. */
int tutti_endpoint_expects(const struct tutti_endpoint *endpoint)
{
    const uint32_t announced = atomic_load_explicit(&tutti_endpoint_mine(endpoint)->announced, memory_order_acquire);
    return (int32_t)(announced - atomic_load_explicit(&endpoint->rtss, memory_order_relaxed)) > 0;
}

/* RTSs that were sent to a rank and those that it has seen. */
#include "team/endpoint/endpoint_own.h"

static void announce_now(struct tutti_endpoint *endpoint, int peer)
{
    const uint32_t n = atomic_exchange_explicit(&endpoint->from[peer].unannounced, 0, memory_order_relaxed);
    if (n)
        atomic_fetch_add_explicit(&tutti_endpoint_theirs(endpoint, peer)->announced, n, memory_order_release);
}

void tutti_endpoint_announce(struct tutti_endpoint *endpoint, const struct tutti_rndv *rndv)
{
    enum { FEW_OPEN = 8, TOGETHER = 4 };
    const int peer = endpoint->piece[tutti_endpoint_number_of(endpoint, rndv)].to;
    const uint32_t n = atomic_fetch_add_explicit(&endpoint->from[peer].unannounced, 1, memory_order_relaxed) + 1;
    if (n >= TOGETHER || atomic_load_explicit(&endpoint->rndvs, memory_order_relaxed) <= FEW_OPEN)
        announce_now(endpoint, peer);
    else
        atomic_store_explicit(&endpoint->unannounced, 1, memory_order_relaxed);
}

void tutti_endpoint_announce_rest(struct tutti_endpoint *endpoint)
{
    if (!atomic_load_explicit(&endpoint->unannounced, memory_order_relaxed) ||
        !atomic_exchange_explicit(&endpoint->unannounced, 0, memory_order_relaxed))
        return;
    for (int r = 0; r < endpoint->node->size; r++) {
        if (atomic_load_explicit(&endpoint->from[r].unannounced, memory_order_relaxed))
            announce_now(endpoint, r);
    }
}

void tutti_endpoint_saw(struct tutti_endpoint *endpoint)
{
    atomic_fetch_add_explicit(&endpoint->rtss, 1, memory_order_relaxed);
}

/* An RTS may be seen before it is announced. */
int tutti_endpoint_expects(const struct tutti_endpoint *endpoint)
{
    const uint32_t announced = atomic_load_explicit(&tutti_endpoint_mine(endpoint)->announced, memory_order_acquire);
    return (int32_t)(announced - atomic_load_explicit(&endpoint->rtss, memory_order_relaxed)) > 0;
}

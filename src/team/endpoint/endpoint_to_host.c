/* Peers that receive short messages into memory of the host. The sender does not know where a message goes; the
 * receiver counts in its page. */
#include "team/endpoint/endpoint_own.h"

enum {
    AFTER = 4, /* messages in a row */
    AGAIN = 16 /* of so many messages behind them, one is fetched, so that the receiver counts again */
};

void tutti_endpoint_note_to_host(struct tutti_endpoint *endpoint, int peer, int host)
{
    _Atomic uint8_t *const count = &tutti_endpoint_mine(endpoint)->to_host[peer];
    const unsigned before = atomic_load_explicit(count, memory_order_relaxed),
                   now = host ? before + (before < AFTER) : 0;
    if (now != before) /* the peer keeps the line in its caches */
        atomic_store_explicit(count, (uint8_t)now, memory_order_relaxed);
}

int tutti_endpoint_goes_to_host(struct tutti_endpoint *endpoint, int peer)
{
    const struct tutti_endpoints *const theirs = tutti_endpoint_theirs(endpoint, peer);
    if (atomic_load_explicit(&theirs->to_host[endpoint->node->rank], memory_order_relaxed) < AFTER)
        return 0;
    return atomic_fetch_add_explicit(&endpoint->from[peer].to_host, 1, memory_order_relaxed) % AGAIN != AGAIN - 1;
}

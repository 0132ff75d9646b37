/* Memory of a rank that kernels of a peer store into: the owner names it in a message of its own, and the peer maps it
 * as it maps the memory of messages. */
#include <string.h>

#include "core/log.h"
#include "team/cache.h"
#include "team/endpoint/endpoint_own.h"
#include "team/share.h"

int tutti_endpoint_show(struct tutti_endpoint *endpoint, int peer, const void *pointer, uint64_t id, int gpu,
                        struct tutti_share *out)
{
    *out = (struct tutti_share){.shared = 0};
    if (tutti_endpoint_use(endpoint, gpu) < 0)
        return 0;
    if (tutti_endpoint_is_own(endpoint, peer))
        *out = (struct tutti_share){.shared = 1, .offset = (uint64_t)(uintptr_t)pointer};
    else
        tutti_share_name(endpoint->node, endpoint->device, pointer, id, out);
    return (int)out->shared;
}

enum tutti_reaching tutti_endpoint_put(struct tutti_endpoint *endpoint, int peer, const struct tutti_share *share,
                                       int owner, int gpu, uint64_t bytes, char **data, struct tutti_mapping **held)
{
    *held = NULL;
    if (!share->shared)
        return TUTTI_REACH_NOT;
    if (tutti_endpoint_is_own(endpoint, peer)) { /* other GPUs of the process are left to the engine */
        *data = (char *)(uintptr_t)share->offset;
        return owner < 0 || owner == gpu ? TUTTI_REACHED : TUTTI_REACH_NOT;
    }
    tutti_fiber_take(&endpoint->lock);
    const enum tutti_reaching there = tutti_endpoint_map_named(endpoint, peer, gpu, &share->what, held);
    tutti_lock_give(&endpoint->lock);
    if (there != TUTTI_REACHED)
        return there;
    const uint64_t room = (*held)->what.bytes;
    if ((*held)->doomed || share->offset > room || bytes > room - share->offset) {
        tutti_debug("rank %d shows memory that it does not have", tutti_node_world(endpoint->node, peer));
        tutti_endpoint_release(endpoint, *held);
        *held = NULL;
        return TUTTI_REACH_NOT;
    }
    *data = (char *)(*held)->base + share->offset;
    return TUTTI_REACHED;
}

/* ---- messages that their sender stores ---- */

enum { LEFT_OUT_MOST = 256 }; /* messages that the peer is not asked for after it did not begin in time */

/* 1 once messages into the allocation have lost what mapping it takes the peer. */
static int put_is_paid(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t ns)
{
    struct tutti_endpoint_from *const from = &endpoint->from[peer];
    const uint64_t price =
        tutti_endpoint_price(endpoint, from, tutti_endpoint_theirs(endpoint, peer), TUTTI_MAPPING_SMALL);
    tutti_fiber_take(&endpoint->lock);
    struct tutti_endpoint_put_account *account = NULL;
    for (int i = 0; i < TUTTI_ENDPOINT_PUTS && !account; i++)
        account = from->puts[i].id == id ? &from->puts[i] : NULL;
    if (!account) {
        account = &from->puts[from->put_next++ % TUTTI_ENDPOINT_PUTS];
        *account = (struct tutti_endpoint_put_account){.id = id};
    }
    account->lost += ns;
    const int paid = account->lost >= price;
    if (paid)
        account->lost = 0;
    tutti_lock_give(&endpoint->lock);
    return paid;
}

int tutti_endpoint_put_pays(struct tutti_endpoint *endpoint, int peer, uint64_t id, uint64_t ns)
{
    struct tutti_endpoint_from *const from = &endpoint->from[peer];
    if (tutti_endpoint_is_own(endpoint, peer) || tutti_endpoint_quiet(endpoint))
        return 0;
    const uint32_t left = atomic_load_explicit(&from->puts_left_out, memory_order_relaxed);
    if (left > 0) {
        atomic_store_explicit(&from->puts_left_out, left - 1, memory_order_relaxed);
        return 0;
    }
    return !tutti_endpoint_is_slow(endpoint) || tutti_endpoint_is_known(endpoint, peer, id) ||
           put_is_paid(endpoint, peer, id, ns);
}

void tutti_endpoint_put_runs(struct tutti_endpoint *endpoint, int peer, int more)
{
    atomic_fetch_add_explicit(&endpoint->from[peer].put_runs, more, memory_order_relaxed);
}

int tutti_endpoint_puts(const struct tutti_endpoint *endpoint, int peer)
{
    return atomic_load_explicit(&endpoint->from[peer].put_runs, memory_order_relaxed);
}

void tutti_endpoint_put_late(struct tutti_endpoint *endpoint, int peer, uint64_t asked_at, uint64_t now)
{
    struct tutti_endpoint_from *const from = &endpoint->from[peer];
    if (asked_at <= atomic_load_explicit(&from->put_late, memory_order_relaxed)) /* one of several at once */
        return;
    atomic_store_explicit(&from->put_late, now, memory_order_relaxed);
    const uint32_t late = atomic_load_explicit(&from->puts_late, memory_order_relaxed), most = LEFT_OUT_MOST,
                   next = late == 0         ? 1
                          : late < most / 2 ? 2 * late
                                            : most;
    atomic_store_explicit(&from->puts_late, next, memory_order_relaxed);
    atomic_store_explicit(&from->puts_left_out, next, memory_order_relaxed);
}

void tutti_endpoint_put_saw(struct tutti_endpoint *endpoint, int peer, uint64_t now)
{
    struct tutti_endpoint_from *const from = &endpoint->from[peer];
    atomic_store_explicit(&from->put_seen, now, memory_order_relaxed);
    if (atomic_load_explicit(&from->puts_late, memory_order_relaxed) != 0)
        atomic_store_explicit(&from->puts_late, 0, memory_order_relaxed);
}

uint64_t tutti_endpoint_put_seen(const struct tutti_endpoint *endpoint, int peer)
{
    return atomic_load_explicit(&endpoint->from[peer].put_seen, memory_order_relaxed);
}

void tutti_endpoint_put_into(struct tutti_rndv *rndv, const struct tutti_share *share)
{
    if (memcmp(&rndv->into, share, sizeof *share) != 0) /* the owner has read the line of the message before */
        rndv->into = *share;
}

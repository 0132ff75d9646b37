/* Descriptors of this rank's memory for the peers that ask for them. The polls of this rank send them. Each rank also
 * has a bell: a peer that gets no answer, since this rank is in no call, rings it. Then a thread of this rank answers,
 * which sleeps otherwise and calls nothing of the MPI. So what a sender has begun needs no further call of the sender
 * where its memory is mapped by a descriptor. */
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "progress/beside.h"
#include "team/endpoint/endpoint_own.h"
#include "team/share.h"
#include "team/socket.h"

enum {
    PATIENCE_NS = 50000, /* a rank that is in a call answers in less */
    AGAIN_NS = 1000000   /* between two rings for one descriptor: the socket may have been full */
};

/* Hands a fresh descriptor of the allocation to the peer. 0: try again later. */
static int send_descriptor(struct tutti_endpoint *endpoint, int peer, const struct tutti_export *what)
{
    struct tutti_note note = {.slot = (uint32_t)TUTTI_NOTE_ENDPOINT};
    return tutti_share_send(endpoint->node, endpoint->device, peer, &note, what);
}

void tutti_endpoint_serve(struct tutti_endpoint *endpoint)
{
    struct tutti_endpoints *own = tutti_endpoint_mine(endpoint);
    for (int r = 0; r < endpoint->node->size && atomic_load(&own->asked) != 0; r++) {
        struct tutti_wanted *wanted = &own->wanted[r];
        struct tutti_export what = {.id = atomic_load_explicit(&wanted->id, memory_order_acquire)};
        what.base = wanted->base; /* after the id, which its writer stores last */
        if (what.id == 0 || !send_descriptor(endpoint, r, &what))
            continue;
        atomic_store_explicit(&wanted->id, 0, memory_order_release);
        atomic_fetch_sub(&own->asked, 1);
    }
}

/* ---- the bell ---- */

static void bell_sleep(struct tutti_endpoint *endpoint, uint32_t heard)
{
    syscall(SYS_futex, &tutti_endpoint_mine(endpoint)->bell, FUTEX_WAIT, heard, NULL, NULL, 0);
}

static void bell_ring(struct tutti_endpoints *of)
{
    atomic_fetch_add(&of->bell, 1);
    syscall(SYS_futex, &of->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void bell_answer(void *with)
{
    struct tutti_endpoint *const endpoint = with;
    while (atomic_load(&endpoint->bell) == TUTTI_ENDPOINT_BELL_THERE) {
        const uint32_t heard = atomic_load(&tutti_endpoint_mine(endpoint)->bell);
        if (atomic_load(&tutti_endpoint_mine(endpoint)->asked) != 0) {
            tutti_lock_take(&endpoint->lock);
            tutti_endpoint_serve(endpoint);
            tutti_lock_give(&endpoint->lock);
        }
        if (atomic_load(&endpoint->bell) == TUTTI_ENDPOINT_BELL_THERE)
            bell_sleep(endpoint, heard);
    }
    atomic_store(&endpoint->bell, TUTTI_ENDPOINT_BELL_NONE);
}

void tutti_endpoint_bell_hang(struct tutti_endpoint *endpoint)
{
    int none = TUTTI_ENDPOINT_BELL_NONE;
    if (!atomic_compare_exchange_strong(&endpoint->bell, &none, TUTTI_ENDPOINT_BELL_THERE))
        return;
    if (tutti_beside_start(bell_answer, endpoint) != TUTTI_OK) /* this rank answers in its calls, as it does anyway */
        atomic_store(&endpoint->bell, TUTTI_ENDPOINT_BELL_NONE);
}

void tutti_endpoint_bell_end(struct tutti_endpoint *endpoint)
{
    int there = TUTTI_ENDPOINT_BELL_THERE;
    if (atomic_compare_exchange_strong(&endpoint->bell, &there, TUTTI_ENDPOINT_BELL_ENDS))
        bell_ring(tutti_endpoint_mine(endpoint));
}

int tutti_endpoint_is_unserved(struct tutti_endpoint *endpoint, int peer)
{
    struct tutti_endpoint_from *const from = &endpoint->from[peer];
    struct tutti_endpoints *const theirs = tutti_endpoint_theirs(endpoint, peer);
    if (atomic_load_explicit(&theirs->wanted[endpoint->node->rank].id, memory_order_acquire) == 0)
        return 0;
    const uint64_t now = tutti_now_ns();
    if (now < (from->rung > from->asked_at ? from->rung + AGAIN_NS : from->asked_at + PATIENCE_NS))
        return 1;
    from->rung = now;
    bell_ring(theirs);
    return 1;
}

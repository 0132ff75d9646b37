/* Chooses the protocol of a message. */
#include <stdatomic.h>

#include "core/clock.h"
#include "p2p/p2p.h"
#include "progress/engine.h"

/* Copies by hand and a message of the MPI take 0.2 ns a byte (H200, 256 MiB), and pinned memory that is taken for them
 * 1.5 ns. */
enum { AWAITED_BYTES = 16 << 20, AWAITED_PART = 64 /* bytes a ns */ };

/* NULL: no row. Row 0 is the MPI's, which also has the message past the last rule. */
static const struct tutti_protocol_row *protocol_row_of(int way)
{
    return way >= 0 && way < TUTTI_PROTOCOLS ? &tutti_protocols[way] : NULL;
}

const struct tutti_protocol_row *tutti_p2p_first(const struct tutti_protocol_rules *rules, int far, uint64_t bytes)
{
    int from = 0;
    const struct tutti_protocol_row *row = protocol_row_of(rules->next(far, bytes, &from));
    if (row && row->ops->post)
        return row;
    if (!far)
        tutti_why_set(rules->why(from));
    return NULL;
}

int tutti_p2p_reaches(struct tutti_p2p_worker *worker, int peer, int gpu, uint64_t bytes,
                      const struct tutti_protocol_rules *rules)
{
    for (int from = 0;;) {
        const struct tutti_protocol_row *row = protocol_row_of(rules->next(0, bytes, &from));
        if (!row || !row->ops->reaches)
            return 0; /* the reason is that of the rows before */
        if (row->ops->reaches(worker, peer, gpu))
            return 1;
    }
}

struct awaited {
    const struct tutti_endpoint *endpoint;
    int peer;
    uint64_t until; /* ns of the clock */
};

static int is_open_or_late(void *with)
{
    const struct awaited *awaited = with;
    return tutti_endpoint_is_open(awaited->endpoint, awaited->peer) || tutti_now_ns() >= awaited->until;
}

/* The receiver may be about to pass its first memory of a GPU: sender and receiver often meet theirs in one call. One
 * that never passes any is waited for once. */
static void choose_await(struct tutti_p2p_worker *worker, int peer, uint64_t bytes)
{
    const uint64_t bit = peer < 64 ? UINT64_C(1) << peer : 0;
    if (bytes < AWAITED_BYTES || tutti_endpoint_is_open(worker->endpoint, peer) || !bit ||
        atomic_fetch_or_explicit(&worker->awaited, bit, memory_order_relaxed) & bit)
        return;
    struct awaited awaited = {worker->endpoint, peer, tutti_now_ns() + bytes / AWAITED_PART};
    (void)tutti_progress_wait(&(const struct tutti_wait){.done = is_open_or_late, .with = &awaited});
}

int tutti_p2p_row_reaches(struct tutti_p2p_worker *worker, const struct tutti_protocol_row *first, int peer, int gpu,
                          uint64_t bytes, const struct tutti_protocol_rules *rules)
{
    choose_await(worker, peer, bytes);
    return (first->ops->reaches && first->ops->reaches(worker, peer, gpu)) ||
           tutti_p2p_reaches(worker, peer, gpu, bytes, rules);
}

int tutti_p2p_leaves(struct tutti_p2p_worker *worker, const struct tutti_protocol_row *row, int peer,
                     const struct tutti_memory *memory, uint64_t bytes, struct tutti_endpoint_verdict *verdict)
{
    return row->ops->leaves && row->ops->leaves(worker, peer, memory, bytes, verdict);
}

int tutti_p2p_is_looked_for(const struct tutti_p2p_worker *worker, int peer, uint64_t bytes)
{
    return bytes >= TUTTI_MESSAGE_LOOKED || tutti_endpoint_takes_short(worker->endpoint, peer) || TUTTI_NO(BLIND);
}

/* Posts by the row, or by its substitute if that needs less. A row that is READY is not compared. */
static const struct tutti_protocol_row *post_cheapest(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send,
                                                      const struct tutti_protocol_row *row, struct tutti_pack_job *job)
{
    const struct tutti_protocol_row *other = protocol_row_of((int)row->ops->instead);
    enum tutti_protocol_cost cost = row->ops->cost(worker, send);
    if (cost == TUTTI_COST_READY && row->ops->post(worker, send, job))
        return row;
    if (cost == TUTTI_COST_READY) /* it could not after all */
        cost = TUTTI_COST_NEVER;
    if (other && other->ops->cost(worker, send) < cost && other->ops->post(worker, send, job))
        return other;
    return cost != TUTTI_COST_NEVER && row->ops->post(worker, send, job) ? row : NULL;
}

const struct tutti_protocol_row *tutti_p2p_choose(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send,
                                                  const struct tutti_protocol_rules *rules, struct tutti_pack_job *job)
{
    for (int from = 0, first = 1;; first = 0) {
        const struct tutti_protocol_row *row = protocol_row_of(rules->next(0, send->bytes, &from));
        const int left_to_mpi = !row || !row->ops->post;
        if (left_to_mpi && !send->agreed) {
            if (first)
                tutti_why_set(rules->why(from));
            return NULL;
        }
        if (left_to_mpi)
            row = &tutti_protocols[(row ? row : tutti_protocols)->ops->instead];
        if (row->ops->can(worker, send) || send->agreed)
            return post_cheapest(worker, send, row, job);
    }
}

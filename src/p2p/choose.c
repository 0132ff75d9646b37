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

/* Bits of the row and of its substitute. Rows that have one in common need the same, and fail together. */
static unsigned bits_of(const struct tutti_protocol_row *row)
{
    return (1U << (row - tutti_protocols) | 1U << row->ops->instead) & ((1U << TUTTI_PROTOCOLS) - 1);
}

/* The row of the next rule for ranks of the node, but for those that have been asked. NULL: the MPI's. */
static const struct tutti_protocol_row *rule_next(const struct tutti_protocol_rules *rules, uint64_t bytes, int *from,
                                                  unsigned asked)
{
    for (;;) {
        const struct tutti_protocol_row *row = protocol_row_of(rules->next(0, bytes, from));
        if (!row || !row->ops->post)
            return NULL;
        if (!(bits_of(row) & asked))
            return row;
    }
}

const struct tutti_protocol_row *tutti_p2p_first(const struct tutti_protocol_rules *rules, int far, uint64_t bytes,
                                                 int *from)
{
    *from = 0;
    const struct tutti_protocol_row *row = protocol_row_of(rules->next(far, bytes, from));
    if (!far && (!row || row->outcome == TUTTI_OUTCOME_STAGED))
        tutti_why_set(rules->why(*from));
    return row && row->ops->post ? row : NULL;
}

int tutti_p2p_moves_blocks(const struct tutti_protocol_rules *rules, uint64_t bytes)
{
    int from = 0;
    const struct tutti_protocol_row *row;
    while ((row = rule_next(rules, bytes, &from, 0)) && row->outcome == TUTTI_OUTCOME_STAGED)
        ;
    if (!row)
        tutti_why_set(rules->why(from));
    return row != NULL;
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

int tutti_p2p_leaves(struct tutti_p2p_worker *worker, int peer, const struct tutti_memory *memory, uint64_t bytes,
                     struct tutti_p2p_asked *asked, const struct tutti_protocol_rules *rules)
{
    do {
        const struct tutti_protocol_ops *const ops = asked->row->ops;
        if (!ops->leaves || !ops->leaves(worker, peer, memory, bytes, asked))
            return 0;
        asked->rows |= bits_of(asked->row);
    } while (asked->verdict.unwaited && (asked->row = rule_next(rules, bytes, &asked->from, asked->rows)));
    return 1;
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
    unsigned asked = send->asked.rows;
    int from = send->asked.from, first = from == 0;
    const struct tutti_protocol_row *row = first ? rule_next(rules, send->bytes, &from, asked) : send->asked.row;
    for (;; first = 0, row = rule_next(rules, send->bytes, &from, asked)) {
        const int left_to_mpi = !row;
        if (left_to_mpi) {
            row = &tutti_protocols[tutti_protocols->ops->instead];
            if (first)
                tutti_why_set(rules->why(from));
            if (!send->agreed || bits_of(row) & asked)
                return NULL;
        }
        if (!row->ops->can(worker, send) && !send->agreed)
            continue;
        const struct tutti_protocol_row *const posted = post_cheapest(worker, send, row, job);
        if (posted || left_to_mpi)
            return posted;
        asked |= bits_of(row);
    }
}

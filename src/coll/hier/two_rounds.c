/* two_rounds: for few ranks and few bytes. The ranks of a node send each other their contributions through host memory;
 * each of them combines the result of the node, and sends it to one rank of each other node. A blocking call makes no
 * schedule: it copies out, sends, combines, and copies in. A scan, whose result is in rank order, has one round: each
 * rank sends its contribution to all ranks behind it.
 *
 * Rank number i of a node gets the result of a node of n ranks from the rank with number i % n there. */
#include "coll/hier/two_rounds.h"

#include <string.h>

#include "core/phases.h"
#include "core/settings.h"
#include "core/status.h"
#include "kernels/reduce.h"
#include "progress/engine.h"

enum { TAG_CONTRIBUTION = TUTTI_HIERARCHY_REDUCTIONS, TAG_RESULT };

/* ---- senders and receivers ---- */

static int rounds_is_scan(const struct tutti_call *call)
{
    return call->collective == TUTTI_COLLECTIVE_SCAN || call->collective == TUTTI_COLLECTIVE_EXSCAN;
}

/* The elements of the piece that rank r gets, by their place in the vector. */
static struct tutti_part_of rounds_wanted(const struct tutti_rounds *x, int r)
{
    const struct tutti_result result = tutti_result_of(x->call, r, x->n);
    const size_t begin = x->piece.begin > result.begin ? x->piece.begin : result.begin;
    const size_t end = x->piece.begin + x->piece.count, result_end = result.begin + result.count;
    const size_t least = end < result_end ? end : result_end;
    return least <= begin ? (struct tutti_part_of){x->piece.begin, 0} : (struct tutti_part_of){begin, least - begin};
}

/* 1 if rank r of this node needs the node's result: for itself, or for a rank that gets it from r. */
static int rounds_needs_node(const struct tutti_rounds *x, int r)
{
    const int *node_of = x->h->node_of;
    if (rounds_wanted(x, r).count > 0)
        return 1;
    for (int q = 0; q < x->n; q++) {
        if (node_of[q] != x->h->node && x->number[q] % x->h->size == x->number[r] && rounds_wanted(x, q).count > 0)
            return 1;
    }
    return 0;
}

static void rounds_number(struct tutti_rounds *x)
{
    int size[TUTTI_ROUNDS_RANKS] = {0};
    for (int r = 0; r < x->n; r++)
        x->number[r] = size[x->h->node_of[r]]++;
    for (int r = 0; r < x->n; r++) {
        const int node = x->h->node_of[r];
        if (x->number[r] == x->h->rank % size[node])
            x->source[node] = r;
    }
}

/* ---- messages ---- */

static int rounds_send(struct tutti_rounds *x, int to, int tag, const void *memory, size_t count)
{
    struct tutti_transport *t = x->h->ranks;
    x->to[x->sends] = to;
    const int status = t->ops->send(t, memory, count * x->size, to, tag, 0, &x->send[x->sends]);
    x->sends += status == TUTTI_OK;
    return status;
}

static int rounds_receive(struct tutti_rounds *x, int from, int tag, void *memory, size_t count)
{
    struct tutti_transport *t = x->h->ranks;
    x->from[x->receives] = from;
    const int status = t->ops->receive(t, memory, count * x->size, from, tag, &x->receive[x->receives]);
    x->receives += status == TUTTI_OK;
    return status;
}

/* All receives of the piece: first those of the node. */
static int rounds_receive_all(struct tutti_rounds *x)
{
    const struct tutti_hierarchy *h = x->h;
    const int me = h->ranks->rank, depth = rounds_is_scan(x->call) ? tutti_result_depth(x->call, me, x->n) : 0;
    const struct tutti_part_of wanted = rounds_wanted(x, me);
    char *const node = x->room + (size_t)x->n * x->bytes;
    int status = TUTTI_OK;
    for (int r = 0; r < x->n && status == TUTTI_OK; r++) {
        x->theirs[r] = r == me ? x->mine : x->room + (size_t)r * x->bytes;
        if (r != me && (rounds_is_scan(x->call) ? r < depth : x->node_needed && h->node_of[r] == h->node))
            status = rounds_receive(x, r, TAG_CONTRIBUTION, x->room + (size_t)r * x->bytes, x->piece.count);
    }
    x->first_round = x->receives;
    for (int k = 0; !rounds_is_scan(x->call) && k < h->nodes && status == TUTTI_OK; k++) {
        x->result[k] = node + (size_t)k * x->bytes;
        if (k != h->node && wanted.count > 0)
            status = rounds_receive(x, x->source[k], TAG_RESULT, node + (size_t)k * x->bytes, wanted.count);
    }
    return status;
}

static int rounds_send_contribution(struct tutti_rounds *x)
{
    const struct tutti_hierarchy *h = x->h;
    const int me = h->ranks->rank;
    int status = TUTTI_OK;
    for (int k = 1; k < x->n && status == TUTTI_OK; k++) { /* each rank begins with another peer */
        const int r = (me + k) % x->n;
        const int needs = rounds_is_scan(x->call) ? tutti_result_depth(x->call, r, x->n) > me
                                                  : h->node_of[r] == h->node && rounds_needs_node(x, r);
        if (needs)
            status = rounds_send(x, r, TAG_CONTRIBUTION, x->mine, x->piece.count);
    }
    return status;
}

/* The result of this node, to the ranks of other nodes that get it from here: the part that each of them wants. */
static int rounds_send_result(struct tutti_rounds *x)
{
    const struct tutti_hierarchy *h = x->h;
    int status = TUTTI_OK;
    for (int k = 1; k < x->n && status == TUTTI_OK; k++) {
        const int q = (h->ranks->rank + k) % x->n;
        const struct tutti_part_of wanted = rounds_wanted(x, q);
        if (h->node_of[q] != h->node && x->number[q] % h->size == h->rank && wanted.count > 0)
            status =
                rounds_send(x, q, TAG_RESULT,
                            (const char *)x->result[h->node] + (wanted.begin - x->piece.begin) * x->size, wanted.count);
    }
    return status;
}

/* Tests the transfers [*at, end): 1 if all have ended. */
static int rounds_transfers_ended(struct tutti_rounds *x, struct tutti_transfer *transfer, int *at, int end)
{
    struct tutti_transport *t = x->h->ranks;
    for (int done = 1; *at < end && done; *at += done) {
        const int status = t->ops->test(t, &transfer[*at], NULL, &done);
        if (status != TUTTI_OK)
            return status;
    }
    return *at == end;
}

static int rounds_received_first(void *with)
{
    struct tutti_rounds *x = with;
    return rounds_transfers_ended(x, x->receive, &x->received, x->first_round);
}

static int rounds_received_all(void *with)
{
    struct tutti_rounds *x = with;
    return rounds_transfers_ended(x, x->receive, &x->received, x->receives);
}

static int rounds_sent_all(void *with)
{
    struct tutti_rounds *x = with;
    return rounds_transfers_ended(x, x->send, &x->sent, x->sends);
}

static int rounds_are_copied_and_sent(void *with)
{
    struct tutti_rounds *x = with;
    const int sent = rounds_sent_all(x), copied = sent >= 0 ? tutti_rounds_copied(x) : sent;
    return copied < 0 ? copied : sent && copied;
}

static int rounds_are_copied(void *with)
{
    return tutti_rounds_copied(with);
}

static int rounds_wait(struct tutti_rounds *x, int (*done)(void *with), enum tutti_phase phase)
{
    tutti_phase(phase);
    return tutti_progress_wait(&(const struct tutti_wait){.done = done,
                                                          .with = x,
                                                          .seconds = tutti_settings()->timeout_seconds,
                                                          .watched = 1,
                                                          .describe = tutti_rounds_describe});
}

/* ---- the piece ---- */

static void rounds_combine(const struct tutti_rounds *x, const void *const in[], int n, void *out, size_t count)
{
    if (count > 0)
        tutti_reduce_host(x->call->type, x->call->op, n, in, out, count);
}

/* Contributions are here: the result of the node. That of a node of one rank is its contribution. */
static void rounds_combine_node(struct tutti_rounds *x)
{
    const struct tutti_hierarchy *h = x->h;
    const void *of[TUTTI_ROUNDS_RANKS];
    char *const node = x->room + (size_t)(x->n + h->node) * x->bytes;
    for (int i = 0; i < h->size; i++)
        of[i] = x->theirs[h->member[i]];
    x->result[h->node] = h->size == 1 ? x->mine : node;
    if (h->size > 1)
        rounds_combine(x, of, h->size, node, x->piece.count);
}

/* The results of the nodes are here: those of others begin with the wanted part. */
static void rounds_combine_all(struct tutti_rounds *x, struct tutti_part_of wanted)
{
    const void *of[TUTTI_ROUNDS_RANKS];
    const size_t first = (wanted.begin - x->piece.begin) * x->size;
    for (int k = 0; k < x->h->nodes; k++)
        of[k] = (const char *)x->result[k] + (k == x->h->node ? first : 0);
    rounds_combine(x, of, x->h->nodes, x->out, wanted.count);
}

static int rounds_exchange(struct tutti_rounds *x, struct tutti_part_of wanted)
{
    int status = rounds_send_contribution(x);
    if (status == TUTTI_OK)
        status = rounds_wait(x, rounds_received_first, TUTTI_PHASE_LEADERS);
    if (status != TUTTI_OK)
        return status;
    if (rounds_is_scan(x->call)) {
        rounds_combine(x, x->theirs, tutti_result_depth(x->call, x->h->ranks->rank, x->n), x->out, wanted.count);
        return TUTTI_OK;
    }
    if (x->node_needed)
        rounds_combine_node(x);
    status = x->node_needed ? rounds_send_result(x) : TUTTI_OK;
    if (status == TUTTI_OK)
        status = rounds_wait(x, rounds_received_all, TUTTI_PHASE_LEADERS);
    if (status == TUTTI_OK)
        rounds_combine_all(x, wanted);
    return status;
}

static int rounds_piece(struct tutti_rounds *x)
{
    const int me = x->h->ranks->rank;
    const struct tutti_part_of wanted = rounds_wanted(x, me);
    const size_t result = tutti_result_of(x->call, me, x->n).begin;
    x->sends = x->sent = x->receives = x->received = 0;
    x->node_needed = !rounds_is_scan(x->call) && rounds_needs_node(x, me);
    x->pair = wanted.count > 0 && !x->host[TUTTI_PORT_IN];
    int status = rounds_receive_all(x);
    if (status == TUTTI_OK)
        status = tutti_rounds_copy(x, TUTTI_PACK, (char *)(uintptr_t)x->call->in + x->piece.begin * x->size, x->mine,
                                   x->piece.count);
    if (status == TUTTI_OK)
        status = rounds_wait(x, rounds_are_copied, TUTTI_PHASE_COPY_OUT);
    if (status == TUTTI_OK)
        status = rounds_exchange(x, wanted);
    if (status != TUTTI_OK)
        return status;
    if (wanted.count == 0)
        return rounds_wait(x, rounds_sent_all, TUTTI_PHASE_LEADERS);
    if (x->host[TUTTI_PORT_IN]) /* `in` may be `out`, and is sent from where it lies */
        status = rounds_wait(x, rounds_sent_all, TUTTI_PHASE_LEADERS);
    if (status == TUTTI_OK)
        status = tutti_rounds_copy(x, TUTTI_UNPACK, (char *)x->call->out + (wanted.begin - result) * x->size, x->out,
                                   wanted.count);
    return status == TUTTI_OK ? rounds_wait(x, rounds_are_copied_and_sent, TUTTI_PHASE_COPY_IN) : status;
}

/* ---- the call ---- */

static int rounds_run(struct tutti_nodes *nodes, const struct tutti_call *call, const char *name)
{
    const size_t size = tutti_type_size(call->type);
    struct tutti_rounds x = {.nodes = nodes,
                             .h = nodes->hierarchy,
                             .call = call,
                             .name = name,
                             .n = nodes->hierarchy->ranks->size,
                             .size = size};
    const size_t most = ((size_t)tutti_settings()->nodes_piece_kb << 10) / size;
    const size_t each = call->count < most ? call->count : most;
    x.bytes = (each * size + TUTTI_ROUNDS_LINE - 1) / TUTTI_ROUNDS_LINE * TUTTI_ROUNDS_LINE;
    tutti_rounds_look_at(&x);
    rounds_number(&x);
    int status = tutti_host_memory_take(&x.area, (size_t)(2 + x.n + x.h->nodes) * x.bytes);
    x.out = x.area.memory + x.bytes;
    x.room = x.area.memory + 2 * x.bytes;
    for (size_t at = 0; at < call->count && status == TUTTI_OK; at += each) {
        x.piece = (struct tutti_part_of){at, call->count - at < each ? call->count - at : each};
        x.mine = x.host[TUTTI_PORT_OUT] ? (char *)(uintptr_t)call->in + at * size : x.area.memory;
        status = rounds_piece(&x);
    }
    if (status == TUTTI_OK)
        tutti_host_memory_give(&x.area); /* otherwise the transport may still use it: it is lost */
    else
        tutti_rounds_fails(&x, status);
    return status;
}

static int rounds_can(const struct tutti_hierarchy *hierarchy)
{
    return hierarchy->most + hierarchy->nodes <= TUTTI_ROUNDS_PEERS;
}

/* What is not blocking goes as host_leader, and scans as ranks. */
const struct tutti_nodes_row tutti_nodes_two_rounds = {
    .name = "two_rounds", .leaders = 1, .messages = 1, .can = rounds_can, .run = rounds_run, .scans = 1};

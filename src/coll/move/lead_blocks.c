/* Which blocks each rank brings to a move that leaders run. Blocks of one length, one behind the other, follow from
 * the call; others are listed in shared memory. */
#include "coll/move/lead_own.h"

#define LEAD_FROM_ROOT  (TUTTI_ON(BCAST) | TUTTI_ON(SCATTER))
#define LEAD_TO_ROOT    TUTTI_ON(GATHER)
#define LEAD_SENDS_EACH (TUTTI_ON(SCATTER) | TUTTI_ON(ALLTOALL)) /* another block to each rank */
#define LEAD_TAKES_EACH (TUTTI_ON(GATHER) | TUTTI_ON(ALLGATHER) | TUTTI_ON(ALLTOALL))

static int lead_sends(const struct tutti_call *call, int rank)
{
    return !tutti_lead_on(call, LEAD_FROM_ROOT) || rank == call->root;
}

static int lead_takes(const struct tutti_call *call, int rank)
{
    return !tutti_lead_on(call, LEAD_TO_ROOT) || rank == call->root;
}

/* ---- this rank's ---- */

/* 1 if a rank's block belongs to those from *base on, which lie `step` bytes apart. */
static int lead_continues(const char **base, const void *at, uint64_t step, int rank)
{
    const char *const first = (const char *)at - step * (uint64_t)rank;
    *base = *base ? *base : first;
    return *base == first;
}

/* 0 if the blocks are not alike and in their order. */
static int lead_even(const struct tutti_team *team, const struct tutti_call *call, struct tutti_lead_buffers *mine)
{
    const struct tutti_move_flow *flow = call->flow;
    const char *in = NULL, *out = NULL;
    const uint64_t each = call->count; /* the largest of all */
    const uint64_t sent = tutti_lead_on(call, LEAD_SENDS_EACH) ? each : 0,
                   taken = tutti_lead_on(call, LEAD_TAKES_EACH) ? each : 0;
    for (int r = 0; r < team->size; r++) {
        const struct tutti_move_send *from = &flow->send[r];
        const struct tutti_move_receive *to = &flow->receive[r];
        if (from->bytes > 0 && (from->bytes != each || !lead_continues(&in, from->at, sent, r)))
            return 0;
        if (to->bytes > 0 && (to->bytes != each || !lead_continues(&out, to->at, taken, r)))
            return 0;
    }
    if (!tutti_lead_on(call, TUTTI_LEAD_EVEN) || (!in && !out))
        return 0;
    const int both = lead_sends(call, team->rank) && lead_takes(call, team->rank);
    const uint64_t rank = both ? (uint64_t)team->rank : 0, all = each * (uint64_t)team->size;
    if (!in) /* nothing is sent, or the own block lies where it is received */
        in = out + taken * rank - sent * rank;
    if (!out)
        out = in + sent * rank - taken * rank;
    *mine = (struct tutti_lead_buffers){
        .in = in, .out = (char *)(uintptr_t)out, .ins = sent ? all : each, .outs = taken ? all : each};
    mine->ins = lead_sends(call, team->rank) ? mine->ins : 0;
    mine->outs = lead_takes(call, team->rank) ? mine->outs : 0;
    return !both || flow->receive[team->rank].bytes > 0 || in + sent * rank == out + taken * rank;
}

static void lead_span(const char **first, const char **end, const void *at, uint64_t bytes)
{
    const char *const begin = at;
    if (bytes == 0)
        return;
    *first = !*first || begin < *first ? begin : *first;
    *end = !*end || begin + bytes > *end ? begin + bytes : *end;
}

static struct tutti_listed_block lead_block(const char *at, uint64_t bytes, const char *first)
{
    return (struct tutti_listed_block){bytes > 0 ? (uint64_t)(at - first) : 0, bytes};
}

static void lead_uneven(const struct tutti_team *team, const struct tutti_move_flow *flow, struct tutti_listed *list,
                        struct tutti_lead_buffers *mine)
{
    const char *in = NULL, *in_end = NULL, *out = NULL, *out_end = NULL;
    for (int r = 0; r < team->size; r++) {
        lead_span(&in, &in_end, flow->send[r].at, flow->send[r].bytes);
        lead_span(&out, &out_end, flow->receive[r].at, flow->receive[r].bytes);
    }
    for (int r = 0; r < team->size; r++) {
        list->send[r] = lead_block(flow->send[r].at, flow->send[r].bytes, in);
        list->receive[r] = lead_block(flow->receive[r].at, flow->receive[r].bytes, out);
    }
    *mine = (struct tutti_lead_buffers){.in = in ? in : out,
                                        .out = (char *)(uintptr_t)(out ? out : in),
                                        .ins = in ? (uint64_t)(in_end - in) : 0,
                                        .outs = out ? (uint64_t)(out_end - out) : 0};
}

void tutti_lead_list(const struct tutti_team *team, const struct tutti_call *call, struct tutti_listed *list,
                     struct tutti_lead_buffers *mine)
{
    list->even = lead_even(team, call, mine) ? call->count : 0;
    if (list->even == 0)
        lead_uneven(team, call->flow, list, mine);
}

/* ---- the longest run, as far as this rank knows ---- */

static uint64_t lead_ranks_on(const struct tutti_team *team, int gpu)
{
    uint64_t ranks = 0;
    for (int r = 0; r < team->size; r++)
        ranks += (uint64_t)(team->gpu_of[r] == gpu);
    return ranks;
}

/* Blocks in the run from GPU `from` to GPU `to`. */
static uint64_t lead_blocks_between(const struct tutti_team *team, const struct tutti_call *call, int from, int to)
{
    uint64_t sources = 0, targets = 0;
    for (int r = 0; r < team->size; r++) {
        sources += (uint64_t)(team->gpu_of[r] == from && lead_sends(call, r));
        targets += (uint64_t)(team->gpu_of[r] == to && lead_takes(call, r));
    }
    return tutti_lead_on(call, LEAD_SENDS_EACH) ? sources * targets : targets ? sources : 0;
}

static uint64_t lead_bound_even(const struct tutti_team *team, const struct tutti_call *call)
{
    uint64_t most = 0;
    for (int from = 0; from < team->gpus; from++) {
        for (int to = 0; to < team->gpus; to++) {
            const uint64_t blocks = from == to ? 0 : lead_blocks_between(team, call, from, to);
            most = blocks > most ? blocks : most;
        }
    }
    return most * call->count;
}

uint64_t tutti_lead_bound(const struct tutti_team *team, const struct tutti_call *call)
{
    uint64_t most = 0;
    if (tutti_lead_on(call, TUTTI_LEAD_EVEN))
        return lead_bound_even(team, call);
    for (int gpu = 0; gpu < team->gpus; gpu++) {
        uint64_t sent = 0, taken = 0, last = 0;
        for (int r = 0; r < team->size; r++) {
            if (gpu == team->gpu_index || team->gpu_of[r] != gpu)
                continue;
            const uint64_t bytes = call->flow->send[r].bytes;
            sent += tutti_lead_same(call) && bytes == last ? 0 : bytes;
            last = bytes > 0 ? bytes : last;
            taken += call->flow->receive[r].bytes;
        }
        most = sent > most ? sent : most;
        most = taken > most ? taken : most;
    }
    return most * lead_ranks_on(team, team->gpu_index); /* each may have as much */
}

/* ---- those of all ranks ---- */

void tutti_lead_read(const struct tutti_team *team, const struct tutti_call *call, int r,
                     struct tutti_lead_blocks *blocks)
{
    const struct tutti_listed *list = tutti_team_listed(team, r);
    const uint64_t each = list->even, sent = tutti_lead_on(call, LEAD_SENDS_EACH) ? each : 0,
                   taken = tutti_lead_on(call, LEAD_TAKES_EACH) ? each : 0;
    for (int q = 0; q < team->size; q++) {
        if (each == 0) {
            blocks->send[q] = list->send[q];
            blocks->receive[q] = list->receive[q];
            continue;
        }
        const int to = lead_sends(call, r) && lead_takes(call, q), from = lead_takes(call, r) && lead_sends(call, q);
        blocks->send[q] = (struct tutti_listed_block){sent * (uint64_t)q, to ? each : 0};
        blocks->receive[q] = (struct tutti_listed_block){taken * (uint64_t)q, from ? each : 0};
    }
}

/* The parts of a call that are inside the node, by the algorithms of nodes. */
#include <stdlib.h>

#include "coll/hier/own.h"
#include "core/status.h"
#include "core/types.h"
#include "dtype/describe.h"
#include "dtype/plan.h"

int tutti_nodes_reduce(void *call)
{
    struct tutti_nodes_call *c = call;
    const struct tutti_hierarchy *h = c->nodes->hierarchy;
    const struct tutti_part_of all = tutti_nodes_piece(c, c->job_piece);
    const int leads = tutti_nodes_part(c, all.count, h->rank).count > 0;
    size_t counts[TUTTI_MAX_RANKS];
    const char *why;
    struct tutti_call part = *c->call;
    if (c->team->state == TUTTI_TEAM_BROKEN)
        return TUTTI_ERR_BROKEN;
    if (leads && !c->scratch) /* all ranks of the node take messages */
        part.kind = TUTTI_ARRIVAL_HOST;
    for (int r = 0; r < h->size; r++)
        counts[r] = tutti_nodes_part(c, all.count, r).count;
    part.collective = c->leaders == 1 ? TUTTI_COLLECTIVE_REDUCE : TUTTI_COLLECTIVE_REDUCE_SCATTER;
    part.counts = counts;
    part.root = 0;
    part.count = all.count;
    part.in = (const char *)c->call->in + all.begin * c->size;
    part.out = leads && c->scratch ? tutti_nodes_arrives(c, c->job_piece) : NULL;
    part.near = 1;
    part.may_open_later = 0;
    part.host_ok = 1;
    return tutti_reduce_run(c->team, &part, &c->taken, &why);
}

static void level_add_block(struct tutti_move_block *list, int *n, const struct tutti_plan *plan, int rank, char *at,
                            size_t bytes)
{
    struct tutti_move_block *block = &list[(*n)++];
    *block = (struct tutti_move_block){
        .rank = rank, .bytes = bytes, .elements = {.plan = plan, .count = (int64_t)bytes, .buffer = at, .whole = 1}};
}

/* Each leader sends each rank what that rank gets of its part of the piece. */
static void level_hand_out_blocks(const struct tutti_nodes_call *c, const struct tutti_plan *plan,
                                  struct tutti_move *move)
{
    const struct tutti_hierarchy *h = c->nodes->hierarchy;
    const struct tutti_part_of all = tutti_nodes_piece(c, c->job_piece);
    for (int r = 0; r < h->size; r++) {
        struct tutti_part_of part = tutti_nodes_part(c, all.count, r);
        part.begin += all.begin;
        char *const from = c->all_get   ? (char *)c->call->out + part.begin * c->size
                           : c->scratch ? tutti_nodes_arrives(c, c->job_piece)
                                        : NULL;
        for (int to = 0; to < h->size && part.count > 0; to++) {
            char *at = NULL;
            const struct tutti_part_of wanted = tutti_nodes_wanted(c, h->member[to], part, &at);
            const size_t bytes = wanted.count * c->size;
            if (bytes == 0 || (r == to && c->all_get))
                continue;
            if (r == h->rank)
                level_add_block(move->send, &move->sends, plan, to, from + (wanted.begin - part.begin) * c->size,
                                bytes);
            if (to == h->rank)
                level_add_block(move->receive, &move->receives, plan, r, at, bytes);
        }
    }
}

int tutti_nodes_hand_out(void *call)
{
    struct tutti_nodes_call *c = call;
    const struct tutti_hierarchy *h = c->nodes->hierarchy;
    struct tutti_p2p_worker worker = c->worker ? c->moves->nonblocking : c->moves->blocking;
    const struct tutti_plan *plan = tutti_plan_of_byte();
    struct tutti_move_block *blocks = malloc(2 * (size_t)h->size * sizeof *blocks);
    struct tutti_move move = {.send = blocks,
                              .receive = blocks ? blocks + h->size : NULL,
                              .name = c->moves->name,
                              .worker = &worker,
                              .seen = {.memory = {.kind = TUTTI_MEMORY_HOST}},
                              .current = c->out_gpu};
    struct tutti_call moved = {.collective = !c->all_get       ? TUTTI_COLLECTIVE_ALLTOALLV
                                             : c->leaders == 1 ? TUTTI_COLLECTIVE_BCAST
                                                               : TUTTI_COLLECTIVE_ALLGATHERV};
    c->how = NULL;
    if (c->team->state == TUTTI_TEAM_BROKEN) {
        free(blocks);
        return TUTTI_ERR_BROKEN;
    }
    if (blocks && plan && worker.endpoint) {
        level_hand_out_blocks(c, plan, &move);
        moved.move = &move;
    } else {
        tutti_why_set(blocks && plan ? TUTTI_REASON_APART : TUTTI_REASON_MEMORY);
    }
    int status = tutti_move_run(c->team, &moved, &c->how);
    (void)tutti_why_take(TUTTI_REASON_OTHER);
    if (status == TUTTI_OK && c->how)
        status = move.failed != TUTTI_OK ? move.failed : move.truncated ? TUTTI_ERR_MISMATCH : TUTTI_OK;
    free(blocks);
    return status;
}

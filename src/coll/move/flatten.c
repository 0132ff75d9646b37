/* Places of the blocks of a move, and moves whose blocks are runs of bytes. */
#include "coll/move/moves.h"

#include <string.h>

int tutti_move_reaches(struct tutti_move *move, struct tutti_move_block *block)
{
    const char *first, *end;
    tutti_elements_span(&block->elements, &first, &end);
    if (tutti_seen_holds(&move->seen, first, end)) {
        block->gpu = move->seen.memory.gpu;
        block->allocation = move->seen.memory.id;
        return 1;
    }
    const struct tutti_places *places = tutti_elements_places(&block->elements);
    block->gpu = places->gpu;
    block->allocation = places->id;
    if (!places->device)
        return TUTTI_NO(HOST_SOME);
    if (!tutti_places_reached(places))
        return places->spread ? TUTTI_NO(TWO_GPUS) : TUTTI_NO(HOST_SOME);
    return 1;
}

/* A block that has bytes. */
static int flatten_block(struct tutti_move *move, struct tutti_move_block *block, int *gpu)
{
    if (!block->elements.whole)
        return TUTTI_NO(TYPE);
    if (!tutti_move_reaches(move, block))
        return 0;
    if (*gpu >= 0 && block->gpu >= 0 && block->gpu != *gpu)
        return TUTTI_NO(TWO_GPUS);
    *gpu = block->gpu >= 0 ? block->gpu : *gpu;
    return 1;
}

int tutti_move_flatten(const struct tutti_team *team, struct tutti_move *move, struct tutti_move_flow *flow, int *gpu,
                       int *near)
{
    uint64_t to = 0, from = 0;
    *gpu = -1;
    *near = 1;
    if (team->size > TUTTI_MAX_GPUS)
        return TUTTI_NO(MANY_GPUS);
    memset(flow, 0, sizeof *flow);
    for (int i = 0; i < move->sends; i++) {
        struct tutti_move_block *block = &move->send[i];
        if (to >> block->rank & 1)
            return TUTTI_NO(EDGES);
        to |= UINT64_C(1) << block->rank;
        if (block->bytes == 0)
            continue;
        if (!flatten_block(move, block, gpu))
            return 0;
        flow->send[block->rank].at = tutti_elements_run(&block->elements);
        flow->send[block->rank].bytes = block->bytes;
    }
    for (int i = 0; i < move->receives; i++) {
        struct tutti_move_block *block = &move->receive[i];
        if (from >> block->rank & 1)
            return TUTTI_NO(EDGES);
        from |= UINT64_C(1) << block->rank;
        if (block->bytes == 0)
            continue;
        if (!flatten_block(move, block, gpu))
            return 0;
        *near &= !block->elements.placed;
        flow->receive[block->rank].at = tutti_elements_run(&block->elements);
        flow->receive[block->rank].bytes = block->bytes;
    }
    return flow->send[team->rank].bytes == flow->receive[team->rank].bytes || TUTTI_NO(OTHER);
}

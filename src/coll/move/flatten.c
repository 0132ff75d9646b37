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
        block->lowest = first;
        return 1;
    }
    const struct tutti_places *places = tutti_elements_places(&block->elements);
    block->gpu = places->gpu;
    block->allocation = places->id;
    block->lowest = NULL;
    if (!places->device)
        return TUTTI_NO(HOST_SOME);
    if (!tutti_places_reached(places))
        return places->spread ? TUTTI_NO(TWO_GPUS) : TUTTI_NO(HOST_SOME);
    return 1;
}

/* A block that has bytes. *packed: 1 if it is not a run in memory of the GPU, and has to become one. */
static int flatten_block(struct tutti_move *move, struct tutti_move_block *block, int *gpu, int *packed)
{
    if (!tutti_move_reaches(move, block)) {
        const struct tutti_places *places = tutti_elements_places(&block->elements);
        block->host = !places->device && !places->spread && block->elements.whole;
        if (!block->host)
            return 0; /* the reason is set */
        *packed = 1;
        return 1;
    }
    block->host = 0;
    if (*gpu >= 0 && block->gpu >= 0 && block->gpu != *gpu)
        return TUTTI_NO(TWO_GPUS);
    *gpu = block->gpu >= 0 ? block->gpu : *gpu;
    *packed |= !block->elements.whole;
    return 1;
}

/* Where the run of a block begins; NULL: not known yet. */
static void *flatten_run(const struct tutti_move_block *block)
{
    return block->elements.whole && !block->host ? tutti_elements_run(&block->elements) : NULL;
}

int tutti_move_flatten(const struct tutti_team *team, struct tutti_move *move)
{
    uint64_t to = 0, from = 0;
    int host = 0;
    struct tutti_move_runs *runs = &move->runs;
    struct tutti_move_flow *flow = &runs->flow;
    runs->gpu = -1;
    runs->near = 1;
    runs->packed = 0;
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
        if (!flatten_block(move, block, &runs->gpu, &runs->packed))
            return 0;
        host |= block->host;
        runs->packed |= move->aside;
        flow->send[block->rank].at = move->aside ? NULL : flatten_run(block);
        flow->send[block->rank].bytes = block->bytes;
    }
    for (int i = 0; i < move->receives; i++) {
        struct tutti_move_block *block = &move->receive[i];
        if (from >> block->rank & 1)
            return TUTTI_NO(EDGES);
        from |= UINT64_C(1) << block->rank;
        if (block->bytes == 0)
            continue;
        if (!flatten_block(move, block, &runs->gpu, &runs->packed))
            return 0;
        host |= block->host;
        runs->near &= !block->elements.placed;
        flow->receive[block->rank].at = flatten_run(block);
        flow->receive[block->rank].bytes = block->bytes;
    }
    if (host && runs->gpu < 0) /* all of this rank's blocks are: the MPI needs no GPU for the call */
        return TUTTI_NO(HOST_SOME);
    return flow->send[team->rank].bytes == flow->receive[team->rank].bytes || TUTTI_NO(OTHER);
}

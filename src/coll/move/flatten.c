/* Places of the blocks of a move, and moves whose blocks are runs of bytes. */
#include "coll/move/moves.h"
#include "coll/move/packing.h"

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

/* A block that has bytes. *packed: TUTTI_PACKED if it is not a run in memory of the GPU, and has to become one. */
static int flatten_block(struct tutti_move *move, struct tutti_move_block *block, int *gpu, int *packed)
{
    if (!tutti_move_reaches(move, block)) {
        const struct tutti_places *places = tutti_elements_places(&block->elements);
        block->host = !places->device && !places->spread && block->elements.whole;
        if (!block->host)
            return 0; /* the reason is set */
        *packed = TUTTI_PACKED;
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

/* Adds the block to the run of its rank, which holds the earlier blocks of that rank. Bit r of *seen: rank r has had a
 * block; of *joined: its run is put together in scratch. */
static void flatten_add(const struct tutti_move_block *block, int aside, void **run, uint64_t *bytes, uint64_t *seen,
                        uint64_t *joined)
{
    const uint64_t bit = UINT64_C(1) << block->rank;
    void *at = aside ? NULL : flatten_run(block);
    if (!(*seen & bit))
        *run = at;
    else if (!*run || !at || (char *)*run + *bytes != at)
        *joined |= bit;
    if (*joined & bit)
        *run = NULL;
    *bytes += block->bytes;
    *seen |= bit;
}

static int flatten_sends(struct tutti_move *move, int *host)
{
    struct tutti_move_runs *runs = &move->runs;
    uint64_t seen = 0;
    for (int i = 0; i < move->sends; i++) {
        struct tutti_move_block *block = &move->send[i];
        struct tutti_move_send *run = &runs->flow.send[block->rank];
        void *at = (void *)(uintptr_t)run->at;
        if (block->bytes == 0)
            continue;
        if (!flatten_block(move, block, &runs->gpu, &runs->packed))
            return 0;
        *host |= block->host;
        runs->packed |= move->aside;
        flatten_add(block, move->aside, &at, &run->bytes, &seen, &runs->joined_sends);
        run->at = at;
    }
    return 1;
}

static int flatten_receives(struct tutti_move *move, int *host)
{
    struct tutti_move_runs *runs = &move->runs;
    uint64_t seen = 0;
    for (int i = 0; i < move->receives; i++) {
        struct tutti_move_block *block = &move->receive[i];
        struct tutti_move_receive *run = &runs->flow.receive[block->rank];
        if (block->bytes == 0)
            continue;
        if (!flatten_block(move, block, &runs->gpu, &runs->packed))
            return 0;
        *host |= block->host;
        runs->near &= !block->elements.placed;
        flatten_add(block, 0, &run->at, &run->bytes, &seen, &runs->joined_receives);
    }
    return 1;
}

/* 1 if each rank would pack and unpack by kernels that wait for its turn on the GPU (device.h, gpu.turns). Fetches of
 * the blocks by copies do not. */
static int flatten_waits_for_turns(const struct tutti_team *team, const struct tutti_move *move, int host)
{
    return move->runs.packed && !host && !move->aside && team->state == TUTTI_TEAM_OPEN && team->gpus < team->size &&
           team->device->gpu.turns && team->device->gpu.turns(team->gpu);
}

int tutti_move_flatten(const struct tutti_team *team, struct tutti_move *move)
{
    int host = 0;
    struct tutti_move_runs *runs = &move->runs;
    struct tutti_move_flow *flow = &runs->flow;
    runs->gpu = -1;
    runs->near = 1;
    runs->packed = TUTTI_PACKED_NOT;
    runs->joined_sends = runs->joined_receives = 0;
    if (team->size > TUTTI_MAX_GPUS)
        return TUTTI_NO(MANY_GPUS);
    if (move->sends > TUTTI_PACKING_BLOCKS || move->receives > TUTTI_PACKING_BLOCKS)
        return TUTTI_NO(EDGES);
    memset(flow, 0, sizeof *flow);
    if (!flatten_sends(move, &host) || !flatten_receives(move, &host))
        return 0;
    if (!runs->packed && (runs->joined_sends != 0 || runs->joined_receives != 0))
        runs->packed = TUTTI_PACKED_JOINED;
    if (host && runs->gpu < 0) /* all of this rank's blocks are: the MPI needs no GPU for the call */
        return TUTTI_NO(HOST_SOME);
    if (flatten_waits_for_turns(team, move, host))
        return TUTTI_NO(TURNS);
    return flow->send[team->rank].bytes == flow->receive[team->rank].bytes || TUTTI_NO(OTHER);
}

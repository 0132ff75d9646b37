/* Places of the blocks of a move, and moves whose blocks are runs of bytes. */
#include "coll/move/moves.h"
#include "coll/move/packing.h"

#include <stdatomic.h>
#include <string.h>

#include "core/lives.h"

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

/* A block that has bytes: finds its memory, and counts it, also among those in memory of the host. A block that is not
 * a run in memory of the GPU has to become one. */
static int flatten_block(struct tutti_move *move, struct tutti_move_block *block, int *blocks, int *hosts)
{
    struct tutti_move_runs *const runs = &move->runs;
    block->host = 0;
    if (!tutti_move_reaches(move, block)) {
        const struct tutti_places *places = tutti_elements_places(&block->elements);
        block->host = places->device || places->spread ? 0 : places->host ? 1 : TUTTI_BLOCK_PINNED;
        if (!block->host)
            return 0; /* the reason is set */
        runs->packed = TUTTI_PACKED;
    } else {
        if (runs->gpu >= 0 && block->gpu >= 0 && block->gpu != runs->gpu)
            return TUTTI_NO(TWO_GPUS);
        runs->gpu = block->gpu >= 0 ? block->gpu : runs->gpu;
        runs->packed |= !block->elements.whole;
    }
    runs->ordinary |= block->host == 1;
    *hosts += block->host != 0;
    ++*blocks;
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

static int flatten_sends(struct tutti_move *move, int *blocks, int *hosts)
{
    struct tutti_move_runs *runs = &move->runs;
    uint64_t seen = 0;
    for (int i = 0; i < move->sends; i++) {
        struct tutti_move_block *block = &move->send[i];
        struct tutti_move_send *run = &runs->flow.send[block->rank];
        void *at = (void *)(uintptr_t)run->at;
        if (block->bytes == 0)
            continue;
        if (!flatten_block(move, block, blocks, hosts))
            return 0;
        runs->packed |= move->aside;
        flatten_add(block, move->aside, &at, &run->bytes, &seen, &runs->joined_sends);
        run->at = at;
    }
    return 1;
}

static int flatten_receives(struct tutti_move *move, int *blocks, int *hosts)
{
    struct tutti_move_runs *runs = &move->runs;
    uint64_t seen = 0;
    for (int i = 0; i < move->receives; i++) {
        struct tutti_move_block *block = &move->receive[i];
        struct tutti_move_receive *run = &runs->flow.receive[block->rank];
        if (block->bytes == 0)
            continue;
        if (!flatten_block(move, block, blocks, hosts))
            return 0;
        runs->near &= !block->elements.placed && !block->host;
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

/* The GPU whose memory the program has passed to a call last, -1: any, and its life then: life << 8 | GPU + 2. 0: none.
 */
static _Atomic uint64_t flatten_met;

static uint64_t flatten_meeting(int gpu)
{
    return (uint64_t)tutti_gpu_life(gpu) << 8 | (uint64_t)(gpu + 2);
}

void tutti_move_meets(int gpu)
{
    const uint64_t meeting = flatten_meeting(gpu);
    if (atomic_load_explicit(&flatten_met, memory_order_relaxed) != meeting)
        atomic_store_explicit(&flatten_met, meeting, memory_order_relaxed);
}

/* 0: none, or it has been reset since. */
static int flatten_has_met(int *gpu)
{
    const uint64_t met = atomic_load_explicit(&flatten_met, memory_order_relaxed);
    *gpu = (int)(met & 0xff) - 2;
    return met != 0 && flatten_meeting(*gpu) == met;
}

/* All blocks lie in memory of the host. The MPI needs no GPU for such a call, unless it is of peers with device memory.
 * Then the blocks pass through scratch of the team's GPU, or of the one that the program has used. */
static int flatten_joins(const struct tutti_team *team, struct tutti_move *move)
{
    move->runs.host = TUTTI_HOSTED_ALL;
    if (!move->joins)
        return TUTTI_NO(HOST_SOME);
    return team->state == TUTTI_TEAM_OPEN || flatten_has_met(&move->runs.gpu) || TUTTI_NO(HOST_SOME);
}

int tutti_move_flatten(const struct tutti_team *team, struct tutti_move *move)
{
    int blocks = 0, hosts = 0;
    struct tutti_move_runs *runs = &move->runs;
    struct tutti_move_flow *flow = &runs->flow;
    runs->gpu = -1;
    runs->near = 1;
    runs->packed = TUTTI_PACKED_NOT;
    runs->host = TUTTI_HOSTED_NONE;
    runs->ordinary = 0;
    runs->piece = runs->pieces = 0;
    runs->joined_sends = runs->joined_receives = 0;
    if (team->size > TUTTI_MAX_GPUS)
        return TUTTI_NO(MANY_GPUS);
    if (move->sends > TUTTI_PACKING_BLOCKS || move->receives > TUTTI_PACKING_BLOCKS)
        return TUTTI_NO(EDGES);
    memset(flow, 0, sizeof *flow);
    if (!flatten_sends(move, &blocks, &hosts) || !flatten_receives(move, &blocks, &hosts))
        return 0;
    if (!runs->packed && (runs->joined_sends != 0 || runs->joined_receives != 0))
        runs->packed = TUTTI_PACKED_JOINED;
    runs->host = hosts > 0 ? TUTTI_HOSTED_SOME : TUTTI_HOSTED_NONE;
    if (blocks > hosts)
        tutti_move_meets(runs->gpu);
    else if (hosts > 0 && !flatten_joins(team, move))
        return 0;
    if (flatten_waits_for_turns(team, move, hosts > 0))
        return TUTTI_NO(TURNS);
    return flow->send[team->rank].bytes == flow->receive[team->rank].bytes || TUTTI_NO(OTHER);
}

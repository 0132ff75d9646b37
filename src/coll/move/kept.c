/* kept: as fetch, where each receiver keeps the memory mapped from which a block comes, or mapping it pays by now: few
 * bytes, which a kernel that stays on the receiver's GPU fetches sooner than a launched one sends packets. Not where
 * ranks take turns on a GPU (without MPS), since none stays there. Calls that go another way count for the mapping and
 * for the packing kernels. */
#include "coll/move/moves.h"
#include "core/lives.h"

enum {
    LOSES_NS = 2000, /* a block by packets */
    UNLOADED = 32    /* calls that are made so before the packing kernels are loaded */
};

/* 1 if no kernel may stay on the GPU of a received block: the ranks' kernels take turns there. */
static int kept_takes_turns(const struct tutti_team *team, const struct tutti_move *move,
                            const struct tutti_move_block *block)
{
    return tutti_gpu_takes_turns(block->gpu) ||
           tutti_endpoint_takes_turns(move->worker->endpoint, tutti_team_peer(team, block->rank), block->gpu);
}

static int kept_is_ready(const struct tutti_team *team, const struct tutti_move *move,
                         const struct tutti_move_block *block)
{
    if (kept_takes_turns(team, move, block))
        return TUTTI_NO(TURNS);
    return !tutti_endpoint_lacks_kernels(move->worker->endpoint, block->gpu) || TUTTI_NO(FIRST_CALLS);
}

/* Bytes of the allocation of a sent block; 0: not known. */
static uint64_t kept_extent(const struct tutti_move *move, const struct tutti_move_block *block)
{
    return move->seen.memory.id == block->allocation ? move->seen.memory.bytes : 0;
}

static int move_kept_can(const struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_move *move = call->move;
    if (!tutti_move_fetch.can(team, call))
        return 0;
    for (int i = 0; i < move->receives; i++) {
        if (move->receive[i].bytes > 0 && !kept_is_ready(team, move, &move->receive[i]))
            return 0;
    }
    for (int i = 0; i < move->sends; i++) {
        const struct tutti_move_block *const block = &move->send[i];
        if (block->bytes > 0 && !tutti_endpoint_keeps(move->worker->endpoint, tutti_team_peer(team, block->rank),
                                                      block->allocation, kept_extent(move, block)))
            return TUTTI_NO(UNMAPPED);
    }
    return 1;
}

static void move_kept_missed(const struct tutti_team *team, const struct tutti_call *call)
{
    const struct tutti_move *move = call->move;
    for (int i = 0; i < move->receives; i++) {
        const struct tutti_move_block *const block = &move->receive[i];
        if (block->bytes == 0 || !block->allocation ||
            !tutti_endpoint_lacks_kernels(move->worker->endpoint, block->gpu))
            continue;
        if (!kept_takes_turns(team, move, block))
            tutti_pack_lost(block->gpu, TUTTI_PACK_LOADING_NS / UNLOADED);
        break;
    }
    for (int i = 0; i < move->sends; i++) {
        if (move->send[i].bytes > 0)
            tutti_endpoint_block_lost(move->worker->endpoint, tutti_team_peer(team, move->send[i].rank),
                                      move->send[i].allocation, LOSES_NS);
    }
}

static int move_kept_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    const struct tutti_move *move = call->move;
    for (int i = 0; i < move->sends; i++) {
        if (move->send[i].bytes > 0)
            tutti_endpoint_block_asks(move->worker->endpoint, tutti_team_peer(team, move->send[i].rank),
                                      move->send[i].allocation, kept_extent(move, &move->send[i]));
    }
    return tutti_move_fetch.run(team, call, fits);
}

const struct tutti_algorithm tutti_move_kept = {
    .name = "kept",
    .collectives = TUTTI_ON_MOVES,
    .posts = 1,
    .can = move_kept_can,
    .missed = move_kept_missed,
    .run = move_kept_run,
    .how = "fetched from memory that is kept mapped",
};

/* kept: as fetch, where each receiver keeps the memory mapped from which a block comes, or mapping it pays by now: few
 * bytes, which a kernel that stays on the receiver's GPU fetches sooner than a launched one sends packets. Not where
 * ranks take turns on a GPU (without MPS), since none stays there. */
#include "coll/move/moves.h"
#include "coll/state.h"
#include "core/lives.h"

enum {
    LOSES_NS = 2000, /* a block by packets */
    UNLOADED = 32    /* calls that are made so before the packing kernels are loaded */
};

/* 1 if a kernel may stay on the GPU of a received block: the ranks' kernels do not take turns there, and the packing
 * kernels are loaded, which they are after some such calls. */
static int kept_is_ready(const struct tutti_team *team, const struct tutti_move *move,
                         const struct tutti_move_block *block)
{
    const struct tutti_endpoint *const endpoint = move->worker->endpoint;
    if (tutti_gpu_takes_turns(block->gpu) ||
        tutti_endpoint_takes_turns(endpoint, tutti_team_peer(team, block->rank), block->gpu))
        return TUTTI_NO(TURNS);
    if (!tutti_endpoint_lacks_kernels(endpoint, block->gpu))
        return 1;
    tutti_pack_lost(block->gpu, TUTTI_PACK_LOADING_NS / UNLOADED);
    return TUTTI_NO(FIRST_CALLS);
}

/* 1 if the receiver keeps the memory of a sent block mapped, or is to map it now; nothing is counted for that before
 * all other ranks could run the row in some call. */
static int kept_is_mapped(const struct tutti_team *team, const struct tutti_move *move,
                          const struct tutti_move_block *block)
{
    const struct tutti_memory *const seen = &move->seen.memory;
    const uint64_t extent = seen->id == block->allocation ? seen->bytes : 0,
                   loses = tutti_coll_of(team)->others >> TUTTI_MOVE_kept & 1 ? LOSES_NS : 0;
    return tutti_endpoint_keeps(move->worker->endpoint, tutti_team_peer(team, block->rank), block->allocation, extent,
                                loses) ||
           TUTTI_NO(UNMAPPED);
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
        if (move->send[i].bytes > 0 && !kept_is_mapped(team, move, &move->send[i]))
            return 0;
    }
    return 1;
}

static int move_kept_run(struct tutti_team *team, const struct tutti_call *call, int *fits)
{
    return tutti_move_fetch.run(team, call, fits);
}

const struct tutti_algorithm tutti_move_kept = {
    .name = "kept",
    .collectives = TUTTI_ON_MOVES,
    .posts = 1,
    .can = move_kept_can,
    .run = move_kept_run,
    .how = "fetched from memory that is kept mapped",
};

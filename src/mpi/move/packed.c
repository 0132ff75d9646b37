/* Blocks of types without a plan, in a call that all ranks have agreed to make in a way that needs plans: this rank
 * brings packed bytes in host memory instead, so that no other rank needs to know. */
#include <stdlib.h>

#include "mpi/bounce/blocks.h"
#include "mpi/move/mover_own.h"

static int packed_one(enum tutti_direction direction, const struct tutti_mover_block *block, char *packed)
{
    return tutti_packed_by_mpi(direction, block->at, block->count, block->type, (size_t)block->layout->size, packed);
}

/* 1 if block i has bytes, and is not packed yet. */
static int packed_lacks(const struct tutti_move_block *block)
{
    return block->bytes > 0 && !block->elements.plan;
}

static void packed_put(struct tutti_move_block *block, char *packed)
{
    block->elements = tutti_message_elements(packed, (MPI_Count)block->bytes, tutti_layout_of(tutti_handles.byte));
}

int tutti_mover_pack(struct tutti_mover *mover)
{
    struct tutti_move *move = &mover->move;
    uint64_t bytes = 0, at = 0;
    int status = TUTTI_OK;
    if (!mover->without)
        return TUTTI_OK;
    for (int i = 0; i < move->sends + move->receives; i++)
        bytes += packed_lacks(&move->send[i]) ? move->send[i].bytes : 0;
    if (!tutti_layout_of(tutti_handles.byte) || !(mover->packed = malloc(bytes)))
        return TUTTI_ERR_MEMORY;
    for (int i = 0; i < move->sends && status == TUTTI_OK; i++) {
        struct tutti_move_block *block = &move->send[i];
        const struct tutti_mover_block *of = &mover->blocks.in[i];
        if (!packed_lacks(block))
            continue;
        if (i > 0 && of->at == of[-1].at && of->count == of[-1].count && of->type == of[-1].type) { /* for all ranks */
            block->elements = block[-1].elements;
            continue;
        }
        packed_put(block, mover->packed + at);
        status = packed_one(TUTTI_PACK, of, mover->packed + at);
        at += block->bytes;
    }
    for (int i = 0; i < move->receives; i++) {
        if (!packed_lacks(&move->receive[i]))
            continue;
        packed_put(&move->receive[i], mover->packed + at);
        at += move->receive[i].bytes;
    }
    return status;
}

int tutti_mover_unpack(struct tutti_mover *mover)
{
    const struct tutti_move *move = &mover->move;
    int status = TUTTI_OK;
    for (int i = 0; mover->without && i < move->receives && status == TUTTI_OK; i++) {
        const struct tutti_mover_block *of = &mover->blocks.out[i];
        if (move->receive[i].bytes > 0 && !of->layout->plan)
            status = packed_one(TUTTI_UNPACK, of, move->receive[i].elements.buffer);
    }
    return status;
}

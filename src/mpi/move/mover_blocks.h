/* A collective that moves data as blocks that this rank sends to and receives from each other rank. */
#ifndef TUTTI_MPI_MOVER_BLOCKS_H
#define TUTTI_MPI_MOVER_BLOCKS_H

#include "coll/coll.h"
#include "mpi/move/collective.h"

/* A block for one rank, or from it. Several blocks of one rank are in matching order. */
struct tutti_mover_block {
    char *at;
    MPI_Count count;
    MPI_Datatype type;
    struct tutti_layout *layout; /* of the type; NULL: no elements. Set by the caller that describes them */
    int rank;
    int gpu; /* GPU that holds the block; set by the caller that classifies it */
};

enum { TUTTI_MOVER_BLOCKS_FEW = 16 }; /* without an allocation */

struct tutti_mover_blocks {
    struct tutti_mover_block *in, *out; /* sent; received */
    int ins, outs;
    int aside; /* 1: received where others are sent from */
    void *own; /* NULL: they are in `few` */
    struct tutti_mover_block few[TUTTI_MOVER_BLOCKS_FEW];
};

static inline void tutti_mover_blocks_none(struct tutti_mover_blocks *blocks)
{
    blocks->in = blocks->out = NULL;
    blocks->ins = blocks->outs = blocks->aside = 0;
    blocks->own = NULL;
}

/* Local. 1, and the result must be freed by tutti_mover_blocks_close(); 0 if the MPI must make the call: wrong
 * arguments. nonblocking: MPIs match repeated neighbours in another order in such calls. */
int tutti_mover_blocks_open(struct tutti_mover_blocks *blocks, const struct tutti_collective_args *call,
                            int nonblocking, int rank, int ranks);
void tutti_mover_blocks_close(struct tutti_mover_blocks *blocks);

#endif

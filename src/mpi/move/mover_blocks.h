/* Collectives that move data, as what this rank sends to and receives from each other rank. */
#ifndef TUTTI_MPI_MOVER_BLOCKS_H
#define TUTTI_MPI_MOVER_BLOCKS_H

#include "coll/coll.h"
#include "mpi/move/collective.h"

/* What goes to one rank, or comes from it. Those of one rank are in the order in which they meet. */
struct tutti_mover_block {
    char *at;
    MPI_Count count;
    MPI_Datatype type;
    struct tutti_layout *layout; /* of the type; NULL where there are no elements. Set by who describes them */
    int rank;
    int gpu; /* that holds the block; set by who looks where it lies */
};

struct tutti_mover_blocks {
    struct tutti_mover_block *in, *out; /* sent; received */
    int ins, outs;
    void *own;
};

/* Local. 1 and what is to be freed by tutti_mover_blocks_close(); 0 where the call is one that the MPI has to do: wrong
 * arguments, in place among all. nonblocking: MPIs have an order of repeated neighbours of its own for such calls. */
int tutti_mover_blocks_open(struct tutti_mover_blocks *blocks, const struct tutti_collective_args *call,
                            int nonblocking, int rank, int ranks);
void tutti_mover_blocks_close(struct tutti_mover_blocks *blocks);

#endif

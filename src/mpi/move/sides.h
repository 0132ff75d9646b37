/* The send side and the receive side of a collective on this rank, as buffers to be staged. */
#ifndef TUTTI_MPI_SIDES_H
#define TUTTI_MPI_SIDES_H

#include "mpi/bounce/blocks.h"
#include "mpi/move/pattern.h"

struct tutti_sides {
    struct tutti_side in, out; /* out.peers points into the pattern */
};
/* Local. */
void tutti_sides_of(struct tutti_sides *sides, const struct tutti_pattern *pattern,
                    const struct tutti_collective_args *call);

#endif

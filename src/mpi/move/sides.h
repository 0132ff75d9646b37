/* What this rank sends and receives in a collective, as buffers to be staged. */
#ifndef TUTTI_MPI_SIDES_H
#define TUTTI_MPI_SIDES_H

#include "mpi/bounce/blocks.h"
#include "mpi/comm/neighbours.h"
#include "mpi/move/collective.h"

/* What this rank is in a communicator, and in a call with this root. */
struct tutti_role {
    int inter, rank;
    int peers; /* ranks that it sends to and receives from among all: of the other group, of an intercommunicator */
    int root;  /* 1: it is the root; 0: it sends to one or receives from one; -1: neither */
};
void tutti_role_of(struct tutti_role *role, MPI_Comm comm, int root);

struct tutti_sides {
    struct tutti_side in, out;
    struct tutti_neighbours ring; /* whom a call with neighbours is with; out.peers points there */
};
/* Local. A status; tutti_sides_close() in any case. */
int tutti_sides_open(struct tutti_sides *sides, const struct tutti_collective_args *args);
void tutti_sides_close(struct tutti_sides *sides);

#endif

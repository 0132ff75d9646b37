/* The neighbours of a rank, as its communicator's topology has them. */
#ifndef TUTTI_MPI_NEIGHBOURS_H
#define TUTTI_MPI_NEIGHBOURS_H

#include "mpi/real/door.h"

struct tutti_neighbours {
    int kind;                  /* MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH; MPI_UNDEFINED: no topology */
    int *from, *to, ins, outs; /* ranks, or MPI_PROC_NULL */
    void *own;
};

/* Local. A status; tutti_neighbours_close() in any case. */
int tutti_neighbours_open(struct tutti_neighbours *neighbours, MPI_Comm comm);
void tutti_neighbours_close(struct tutti_neighbours *neighbours);

#endif

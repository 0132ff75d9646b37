/* Collectives that move data, as what this rank sends to and receives from each other rank. */
#ifndef TUTTI_MPI_PARCELS_H
#define TUTTI_MPI_PARCELS_H

#include "coll/coll.h"
#include "mpi/real/door.h"

/* One buffer of a call. */
struct tutti_half {
    const void *buffer;
    MPI_Count count;    /* of each block, where there are no counts */
    const void *counts; /* one for each rank, int or MPI_Count; NULL: `count` */
    const void *displs; /* likewise, int or MPI_Aint: in extents of the type, or bytes where there are types */
    MPI_Datatype type;
    const MPI_Datatype *types; /* one for each rank, or NULL */
    int aint;                  /* displs are MPI_Aint also where counts are int */
};

/* A blocking call, as the program made it. */
struct tutti_moved {
    enum tutti_collective collective;
    const char *name;
    MPI_Comm comm;
    int root, large; /* large: counts are MPI_Count, displacements MPI_Aint */
    struct tutti_half in, out;
};

/* What goes to one rank, or comes from it. Those of one rank are in the order in which they meet. */
struct tutti_parcel {
    char *at;
    MPI_Count count;
    MPI_Datatype type;
    int rank;
};

struct tutti_parcels {
    struct tutti_parcel *in, *out; /* sent; received */
    int ins, outs;
    void *own;
};

/* Local. 1 and what is to be freed by tutti_parcels_close(); 0 where the call is one that the MPI has to do: wrong
 * arguments, in place among all. */
int tutti_parcels_open(struct tutti_parcels *parcels, const struct tutti_moved *call, int rank, int ranks);
void tutti_parcels_close(struct tutti_parcels *parcels);

#endif

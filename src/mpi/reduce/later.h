/* Nonblocking collectives that must not overtake a nonblocking reduction of their communicator: while it is not known
 * who makes that, they are written down, get a request of Tutti's own, and are started when their turn comes. */
#ifndef TUTTI_MPI_LATER_H
#define TUTTI_MPI_LATER_H

#include "mpi/real/door.h"

/* The arguments of a call, by the names that calls.def gives them. */
struct tutti_later {
    int (*start)(struct tutti_later *later); /* makes the call; an MPI code */
    void (*end)(struct tutti_later *later);  /* gives it back */
    const char *name;
    const void *sendbuf;
    void *recvbuf, *buffer;
    MPI_Count count, sendcount, recvcount;
    const void *sendcounts, *recvcounts, *displs, *sdispls, *rdispls;
    MPI_Datatype datatype, sendtype, recvtype;
    const MPI_Datatype *sendtypes, *recvtypes;
    MPI_Info info;
    int root;
    MPI_Comm comm, *newcomm;
    MPI_Request *request;
    int held; /* bits: datatype, sendtype, recvtype, info are duplicates */
};

/* A persistent request over `later`, whose start() is called at each MPI_Start and whose end() with the request's.
 * `own` is a communicator of this request alone, which goes with it; errors are raised on `comm`. Local. 0: no memory,
 * and nothing was taken. */
int tutti_later_persistent(struct tutti_later *later, MPI_Comm own, MPI_Comm comm, MPI_Request *request);
/* Replaces the MPI's calls by those that look whose turn it is. */
void tutti_calls_later(void);

#endif

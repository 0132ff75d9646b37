/* Nonblocking collectives that must not overtake a nonblocking reduction of their communicator: while it is not known
 * who makes that, they are written down, get a request of Tutti's own, and are started when their turn comes. */
#ifndef TUTTI_MPI_LATER_H
#define TUTTI_MPI_LATER_H

#include "mpi/real/door.h"

enum { TUTTI_LATER_LISTS = 7 };

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
    int root, rooted;                /* rooted: the call has a root */
    size_t count_bytes, displ_bytes; /* of an entry of the lists */
    MPI_Comm comm, *newcomm;
    MPI_Request *request;
    /* What it holds: types are held, lists and the info are copies. */
    int holds, own_info, sendtypes_held, recvtypes_held, lists;
    void *list[TUTTI_LATER_LISTS];
};

/* later_held.c: the program may free types and info, and write into the lists, as soon as the call has returned. 0: no
 * memory; let go of it then too. */
int tutti_later_hold(struct tutti_later *later);
void tutti_later_let_go(struct tutti_later *later);

/* A persistent request over `later`, whose start() is called at each MPI_Start and whose end() with the request's.
 * `own` is a communicator of this request alone, which goes with it; errors are raised on `comm`. Local. 0: no memory,
 * and nothing was taken. */
int tutti_later_persistent(struct tutti_later *later, MPI_Comm own, MPI_Comm comm, MPI_Request *request);
/* Replaces the MPI's calls by those that look whose turn it is. */
void tutti_calls_later(void);

#endif

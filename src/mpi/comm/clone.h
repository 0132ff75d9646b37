/* Communicators of Tutti's own over the ranks of one of the program's. */
#ifndef TUTTI_MPI_CLONE_H
#define TUTTI_MPI_CLONE_H

#include "mpi/real/door.h"

/* Collective over `comm`: another communicator of the same ranks in the same order, of an intercommunicator another
 * one; with the same neighbours, where `neighbours` says 1 and there are some. Not a duplicate: attributes of the
 * program stay with its communicator. An MPI code; errors have gone to the error handler of `comm`. The caller frees
 * *own. */
int tutti_comm_clone(MPI_Comm comm, int neighbours, MPI_Comm *own);

#endif

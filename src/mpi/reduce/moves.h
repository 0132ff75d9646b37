/* Nonblocking and persistent collectives that move data, where the ranks of a node may make them without the MPI: jobs
 * of the communicator's worker, in one order with its nonblocking reductions. Every rank announces every such call to
 * the nonblocking team, so that all know whether all can take part; where one cannot, the MPI has the call on all
 * ranks. */
#ifndef TUTTI_MPI_MOVES_H
#define TUTTI_MPI_MOVES_H

#include "mpi/reduce/nonblocking.h"

/* Parts of the life of an open call whose `later` says `moves`; called with the lock of nonblocking_progress.c.
 * read: the communicator's team is known; gives the call to the worker. Returns the call's next phase; a failure is in
 * *status. ended: the worker is through with it; DONE with *code, or PASSED. */
enum tutti_open_phase tutti_moves_read(struct tutti_open *open, int *status);
int tutti_moves_done(const struct tutti_open *open);
enum tutti_open_phase tutti_moves_ended(struct tutti_open *open, int *code);

#endif

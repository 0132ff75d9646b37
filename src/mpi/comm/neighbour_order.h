/* What an MPI does where two neighbours are one rank. */
#ifndef TUTTI_MPI_TWICE_H
#define TUTTI_MPI_TWICE_H

#include "mpi/real/door.h"
#include "team/control.h"

/* Where blocks of a call with neighbours are for one rank, on a grid or in a directed graph: 1: the last is
 * received first; 0: the first; TUTTI_QUIRK_ASK, which is negative: not known. */
int tutti_twice_reversed(int grid, enum tutti_collective collective);
/* Local, once, before any of them: asks the MPI. */
void tutti_twice_ask(void);

#endif

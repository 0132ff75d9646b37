/* What MPI_Init and MPI_Finalize tell the stub. */
#ifndef TUTTI_MPI_FRONT_H
#define TUTTI_MPI_FRONT_H

#include "mpi/real/door.h"

/* Points the stub's table at the MPI; at the door; in a forked child at the MPI but for what would do harm there. */
enum tutti_table { TUTTI_TABLE_MPI, TUTTI_TABLE_DOOR, TUTTI_TABLE_FORKED };
void tutti_door_table(enum tutti_table where);

#endif

/* The communicators of messages that matched probes have found: errors of receiving them are raised there. */
#ifndef TUTTI_MPI_MATCHED_H
#define TUTTI_MPI_MATCHED_H

#include "mpi/real/door.h"

void tutti_matched_put(MPI_Message message, MPI_Comm comm);
/* For a message that is about to be received; MPI_COMM_WORLD if it is not known. */
MPI_Comm tutti_matched_take(const MPI_Message *message);
/* The same for one that stays, or that this thread has taken and is receiving inside a call of Tutti. */
MPI_Comm tutti_matched_see(MPI_Message message);

#endif

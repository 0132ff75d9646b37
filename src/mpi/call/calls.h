/* What is done to the table of real calls before the door opens; the order is in front.c. */
#ifndef TUTTI_MPI_CALLS_H
#define TUTTI_MPI_CALLS_H

#include "mpi/real/door.h"

/* supplied.c: what the MPI lacks and Tutti makes of other calls. */
void tutti_calls_supply(void);
/* supplied_persistent.c: the same of persistent collectives that move data. */
void tutti_calls_supply_persistent(void);
/* tagless.c: gives ranks of nonblocking collectives that have nothing to move something, where the MPI needs it. */
void tutti_calls_tagless(void);
/* large.c: gives calls that the MPI lacks something to do, once the others are known. */
void tutti_calls_complete(void);
/* comm_info.c: notes the hints of a communicator's info, which the MPI may forget. */
void tutti_calls_comm_info(void);
/* comm_identity.c: notes the numbers of new communicators: at the MPI, and at the program's calls. */
void tutti_calls_comm_made(void);
void tutti_calls_comm_identity(void);
/* Says that the MPI lacks the call; the code for it. */
int tutti_lacking(const char *call);
/* progressing.c: blocking calls that wait for other ranks poll the steps that are open. */
void tutti_calls_progressing(void);
/* detach.c: the same of calls that wait for buffered messages. */
void tutti_calls_detach(void);

#endif

/* A number for each communicator that is the same on all of its ranks, and differs from that of every other
 * communicator of this process. Ranks find it without communication: it is derived from how the communicator was
 * created, which MPI orders. */
#ifndef TUTTI_MPI_IDENTITY_H
#define TUTTI_MPI_IDENTITY_H

#include "mpi/real/door.h"

/* Local. 0: not known: the communicator reaches processes outside MPI_COMM_WORLD, or was created by a session. */
uint64_t tutti_comm_identity(MPI_Comm comm);

/* A collective call on `comm` begins that creates a communicator: the number of the new communicator, 0 if that of
 * `comm` is not known. Once for each such call, in the order of the calls. */
uint64_t tutti_comm_identity_child(MPI_Comm comm);
/* The same for a window that the ranks of `comm` make. */
uint64_t tutti_comm_identity_window(MPI_Comm comm);
/* The same of a call of a group's ranks alone: MPI_Comm_create_group, or one that connects two groups. other: NULL:
 * there is one group. */
uint64_t tutti_comm_identity_of_group(uint64_t parent, MPI_Group group, const MPI_Group *other, int tag);
/* The communicator has been created. */
void tutti_comm_identity_note(MPI_Comm comm, uint64_t identity);
/* It is being freed. */
void tutti_comm_identity_forget(MPI_Comm comm);
/* In MPI_Finalize. */
void tutti_comm_identities_close(void);

#endif

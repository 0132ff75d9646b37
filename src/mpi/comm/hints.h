/* Hints of the program about a communicator that Tutti follows: keys of its info. Kept in an attribute, which goes with
 * the communicator and is not copied: duplicates have no hints of the old one. All functions but the first are local.
 */
#ifndef TUTTI_MPI_HINTS_H
#define TUTTI_MPI_HINTS_H

#include "mpi/real/door.h"
#include "mpi/real/handles.h"

/* "true": its collectives that move data are to take no multiprocessor. */
#define TUTTI_HINT_SPARE "tutti_copy_engines"

/* The program has set this info, in a call of all ranks. A key that it does not have leaves the hint as it is.
 * Collective where the communicator has a stream: calls in stream order follow a hint of all ranks alone. */
void tutti_comm_hints_note(MPI_Comm comm, MPI_Info info);
/* Adds the hints to the info that the program asks for. */
void tutti_comm_hints_tell(MPI_Comm comm, MPI_Info info);
/* `to`, a communicator of Tutti's own, gets the hints of `from`. */
void tutti_comm_hints_copy(MPI_Comm from, MPI_Comm to);
/* 1 where the communicator's moves are to take no multiprocessor: this rank asks for it, or (in_stream) all ranks do. A
 * load where no communicator has hints. */
extern int tutti_comm_hinted;
int tutti_comm_spares_hinted(MPI_Comm comm, int in_stream);
static inline int tutti_comm_spares(MPI_Comm comm, int in_stream)
{
    return unlikely(__atomic_load_n(&tutti_comm_hinted, __ATOMIC_RELAXED)) && tutti_comm_spares_hinted(comm, in_stream);
}
/* Before the MPI ends. */
void tutti_comm_hints_close(void);

#endif

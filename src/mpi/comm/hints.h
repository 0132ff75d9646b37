/* Hints of the program about a communicator that Tutti follows or returns: keys of its info. An attribute holds them:
 * they go with the communicator. Duplicates have no hints of the old communicator. */
#ifndef TUTTI_MPI_HINTS_H
#define TUTTI_MPI_HINTS_H

#include "mpi/real/door.h"
#include "mpi/real/handles.h"

/* "true": collectives of the communicator that move data are to take no multiprocessor. */
#define TUTTI_HINT_SPARE "tutti_copy_engines"
/* "true": messages that calls start in stream order are launched together, by the wait for them. Local; of a
 * communicator with a stream, whose lanes hold it. */
#define TUTTI_HINT_GROUPS "tutti_group_messages"
/* The kinds of memory that the program uses in calls of the communicator (MPI 4.1). MPIs that do not know the key
 * forget it. */
#define TUTTI_HINT_KINDS "mpi_assert_memory_alloc_kinds"

/* The program has set this info, in a call of all ranks. A key that the info lacks leaves its hint as it is. Without
 * memory the hint is forgotten, as MPI allows. Collective where the communicator has a stream: calls in stream order
 * follow a hint of all ranks alone. */
void tutti_comm_hints_note(MPI_Comm comm, MPI_Info info);
/* Local. Adds the hints to the info that the program asks for; of the kinds of memory those in the list `taken`. */
void tutti_comm_hints_add(MPI_Comm comm, MPI_Info info, const char *taken);
/* Local. `to`, a communicator of Tutti's own, gets what Tutti follows of the hints of `from`. */
void tutti_comm_hints_copy(MPI_Comm from, MPI_Comm to);
/* Local. 1 if the communicator's moves are to take no multiprocessor: this rank asks for it, or (in_stream) all
 * ranks do. A load where no communicator has this hint. */
extern int tutti_comm_hinted;
int tutti_comm_spares_hinted(MPI_Comm comm, int in_stream);
static inline int tutti_comm_spares(MPI_Comm comm, int in_stream)
{
    return unlikely(__atomic_load_n(&tutti_comm_hinted, __ATOMIC_RELAXED)) && tutti_comm_spares_hinted(comm, in_stream);
}
/* Local. In MPI_Finalize: the MPI may forget the attribute's key. */
void tutti_comm_hints_close(void);

#endif

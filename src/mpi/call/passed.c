/* The generated wrappers: calls that are passed on, and those that are announced before. */
#include "mpi/move/mover.h"
#include "mpi/real/door.h"
#include "mpi/real/self.h"

#define NO_BUFFER NULL

/* Of the column of errors. An MPI may make calls on files by calls that the program could make, as ROMIO does: these
 * are the MPI's own. */
#define ON_FILE(file) TUTTI_INSIDE()
#define ON_COMM(comm) (void)0
#define ON_WIN(win)   (void)0
#define ON_SELF       (void)0

/* Of PASS. */
#define POLLS_LOOKS   tutti_self_look()
#define POLLS_LOCAL   (void)0
#define POLLS_STANDS  (void)0
#define POLLS_MEETS   (void)0
#define POLLS_ORDERED (void)0
#define POLLS_CREATES (void)0

#define GENERATE_SEE(waits, name, errors, buffers, parameters, arguments)
#define GENERATE_MEET(waits, name, errors, buffers, parameters, arguments)                                             \
    int tutti_door_##name parameters                                                                                   \
    {                                                                                                                  \
        tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, comm);                                                           \
        return tutti_next.name arguments;                                                                              \
    }
#define GENERATE_PASS(waits, name, errors, buffers, parameters, arguments)                                             \
    int tutti_door_##name parameters                                                                                   \
    {                                                                                                                  \
        POLLS_##waits;                                                                                                 \
        errors;                                                                                                        \
        return tutti_next.name arguments;                                                                              \
    }
#define GENERATE_TAKE(waits, name, errors, buffers, parameters, arguments)
#define GENERATE_IO(waits, name, errors, buffers, parameters, arguments)
#define GENERATE_RMA(waits, name, errors, buffers, parameters, arguments)
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    GENERATE_##kind(waits, name, errors, buffers, parameters, arguments)
#include "mpi/real/calls.inc"

/* The file's own communicator needs no team. */
int tutti_door_MPI_File_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *fh)
{
    tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, comm);
    TUTTI_INSIDE();
    return tutti_next.MPI_File_open(comm, filename, amode, info, fh);
}

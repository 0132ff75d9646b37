/* The generated wrappers: calls that are refused with device memory and otherwise passed on, and those that are
 * announced and passed on. */
#include "mpi/bounce/stage.h"
#include "mpi/move/mover.h"
#include "mpi/real/door.h"
#include "mpi/real/errors.h"
#include "mpi/real/self.h"

#define ON_COMM(comm) tutti_fail_comm(comm, MPI_ERR_BUFFER)
#define ON_WIN(win)   tutti_fail_win(win, MPI_ERR_BUFFER)
#define ON_FILE(file) tutti_fail_file(file, MPI_ERR_BUFFER)
#define ON_SELF       tutti_fail_self(MPI_ERR_BUFFER)

/* What the MPI refuses counts as some. */
static int any_bytes(MPI_Count count, MPI_Datatype type)
{
    MPI_Count size = 1;
    return count != 0 && (!tutti_type_is_fine(type) || tutti_next.MPI_Type_size_x(type, &size) != MPI_SUCCESS || size);
}

#define NO_BUFFER NULL

/* Of PASS. */
#define POLLS_LOOKS   tutti_self_look()
#define POLLS_LOCAL   (void)0
#define POLLS_STANDS  (void)0
#define POLLS_MEETS   (void)0
#define POLLS_ORDERED (void)0
#define POLLS_CREATES (void)0

/* NULL: the call reaches no device memory. */
#define FILLED1(a, n, type) (tutti_must_stage(a) && any_bytes(n, type) ? #a : NULL)
#define TO(rank, buffers)   ((rank) == MPI_PROC_NULL ? NULL : (buffers))

#define GENERATE_SEE(waits, name, errors, buffers, parameters, arguments)
#define GENERATE_MEET(waits, name, errors, buffers, parameters, arguments)                                             \
    int tutti_door_##name parameters                                                                                   \
    {                                                                                                                  \
        const char *argument = buffers;                                                                                \
        if (unlikely(argument)) {                                                                                      \
            tutti_refuse(#name, argument);                                                                             \
            return errors;                                                                                             \
        }                                                                                                              \
        tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, comm);                                                           \
        return tutti_next.name arguments;                                                                              \
    }
#define GENERATE_PASS(waits, name, errors, buffers, parameters, arguments)                                             \
    int tutti_door_##name parameters                                                                                   \
    {                                                                                                                  \
        POLLS_##waits;                                                                                                 \
        return tutti_next.name arguments;                                                                              \
    }
#define GENERATE_TAKE(waits, name, errors, buffers, parameters, arguments)
#define GENERATE_IO(waits, name, errors, buffers, parameters, arguments)
#define GENERATE_RMA(waits, name, errors, buffers, parameters, arguments)
#define GENERATE_REFUSE(waits, name, errors, buffers, parameters, arguments)                                           \
    int tutti_door_##name parameters                                                                                   \
    {                                                                                                                  \
        const char *argument = buffers;                                                                                \
        if (likely(!argument))                                                                                         \
            return tutti_next.name arguments;                                                                          \
        tutti_refuse(#name, argument);                                                                                 \
        return errors;                                                                                                 \
    }
#define TUTTI_EACH(kind, waits, name, errors, buffers, parameters, arguments)                                          \
    GENERATE_##kind(waits, name, errors, buffers, parameters, arguments)
#include "mpi/real/calls.inc"

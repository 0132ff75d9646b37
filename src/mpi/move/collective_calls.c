/* Collectives that move data, as MPI has them: the wrapped blocking calls, and the MPI's own. The other forms:
 * reduce/moves.c. */
#include "mpi/move/collective.h"
#include "mpi/move/mover.h"
#include "mpi/real/collective_args.h"

/* The columns of each row yield MPI's own parameters. */
#define HAS_PARAMETERS(call)                                                                                           \
    _Static_assert(__builtin_types_compatible_p(__typeof__(&call), __typeof__(tutti_next.call)), #call);
#define TUTTI_REDUCTION(ID, call, nonblocking, ...) HAS_PARAMETERS(call) HAS_PARAMETERS(nonblocking)
#define TUTTI_MOVER(ID, call, nonblocking, ...)     HAS_PARAMETERS(call) HAS_PARAMETERS(nonblocking)
#include "tutti/collectives.def"

#define WIDTHS_OF "mpi/move/collective_calls.inc"
#include "mpi/real/widths.inc"

int tutti_collective_real(const struct tutti_collective_args *args, enum tutti_collective_form form, MPI_Info info,
                          MPI_Request *request)
{
    tutti_found_end();
    return args->large ? tutti_door_real_collective_c(args, form, info, request)
                       : tutti_door_real_collective(args, form, info, request);
}

/* The MPI's own calls of collectives that move data, by collective, form and width of counts. */
#include "mpi/move/collective.h"

#define WIDTHS_OF "mpi/move/collective_real.inc"
#include "mpi/real/widths.inc"

int tutti_collective_real(const struct tutti_collective_args *args, enum tutti_collective_form form, MPI_Info info,
                          MPI_Request *request)
{
    return args->large ? tutti_door_real_collective_c(args, form, info, request)
                       : tutti_door_real_collective(args, form, info, request);
}

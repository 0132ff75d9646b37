/* How much a message, or an access of a file, has brought. */
#include "mpi/bounce/stage.h"

MPI_Count tutti_received(const MPI_Status *status)
{
    MPI_Count bytes = -1;
    if (tutti_next.MPI_Get_elements_x(status, tutti_handles.byte, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED)
        return -1;
    return bytes;
}

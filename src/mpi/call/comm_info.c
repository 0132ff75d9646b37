/* Calls that set the info of a communicator: Tutti notes the hints in it (mpi/comm/hints.h), which the MPI may forget.
 */
#include "mpi/call/calls.h"
#include "mpi/comm/hints.h"
#include "mpi/move/mover.h"
#include "mpi/real/handles.h"

static int (*just_dup_with_info)(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm);

int tutti_door_MPI_Comm_set_info(MPI_Comm comm, MPI_Info info)
{
    tutti_mover_pass(TUTTI_COLLECTIVE_MEETING, 0, comm);
    const int code = tutti_next.MPI_Comm_set_info(comm, info);
    if (code == MPI_SUCCESS && !tutti_inside)
        tutti_comm_hints_note(comm, info);
    return code;
}

static int dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    const int code = just_dup_with_info(comm, info, newcomm);
    if (code == MPI_SUCCESS && !tutti_inside && *newcomm != tutti_handles.no_comm)
        tutti_comm_hints_note(*newcomm, info);
    return code;
}

void tutti_calls_comm_info(void)
{
    just_dup_with_info = tutti_next.MPI_Comm_dup_with_info;
    if (just_dup_with_info)
        tutti_next.MPI_Comm_dup_with_info = dup_with_info;
}

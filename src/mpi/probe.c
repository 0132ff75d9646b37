/* Probes: what is found may be a mail, and then the message is longer. */
#include "mpi/arrivals.h"

int tutti_door_MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    int code = tutti_real.MPI_Probe(source, tag, comm, status);
    if (code == MPI_SUCCESS && status != MPI_STATUS_IGNORE)
        tutti_watch_probed(comm, status);
    return code;
}

int tutti_door_MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    int code = tutti_real.MPI_Iprobe(source, tag, comm, flag, status);
    if (code == MPI_SUCCESS && *flag && status != MPI_STATUS_IGNORE)
        tutti_watch_probed(comm, status);
    return code;
}

int tutti_door_MPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    int code = tutti_real.MPI_Mprobe(source, tag, comm, message, status);
    if (code == MPI_SUCCESS && status != MPI_STATUS_IGNORE)
        tutti_watch_probed(comm, status);
    return code;
}

int tutti_door_MPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    int code = tutti_real.MPI_Improbe(source, tag, comm, flag, message, status);
    if (code == MPI_SUCCESS && *flag && status != MPI_STATUS_IGNORE)
        tutti_watch_probed(comm, status);
    return code;
}

#include "mpi/rma/trial.h"

#include "mpi/real/handles.h"

void tutti_trial_begin(struct tutti_trial *trial, MPI_Comm comm)
{
    trial->on = tutti_next.MPI_Comm_get_errhandler(comm, &trial->handler) == MPI_SUCCESS;
    if (trial->on)
        tutti_next.MPI_Comm_set_errhandler(comm, tutti_handles.errors_return);
}

void tutti_trial_end(struct tutti_trial *trial, MPI_Comm comm)
{
    if (!trial->on)
        return;
    tutti_next.MPI_Comm_set_errhandler(comm, trial->handler);
    tutti_next.MPI_Errhandler_free(&trial->handler);
}

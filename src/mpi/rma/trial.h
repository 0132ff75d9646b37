#ifndef TUTTI_MPI_RMA_TRIAL_H
#define TUTTI_MPI_RMA_TRIAL_H

#include "mpi/real/mpi_api.h"

/* Errors of the communicator return, while the MPI tries what may fail. Local. */
struct tutti_trial {
    MPI_Errhandler handler;
    int on;
};
void tutti_trial_begin(struct tutti_trial *trial, MPI_Comm comm);
void tutti_trial_end(struct tutti_trial *trial, MPI_Comm comm);

#endif

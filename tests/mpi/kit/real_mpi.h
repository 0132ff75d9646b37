/* The MPI without the library in front: its own functions, found as the library finds them. */
#ifndef TUTTI_TESTS_REAL_MPI_H
#define TUTTI_TESTS_REAL_MPI_H

/* PMPI function of the MPI that this process has loaded; ends the process where it cannot be found. */
void *real_mpi_function(const char *name);

#endif

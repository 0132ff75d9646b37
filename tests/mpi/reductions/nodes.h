/* What the files of mpi-nodes share. */
#ifndef TESTS_MPI_NODES_H
#define TESTS_MPI_NODES_H

#include <mpi.h>

/* The sum of 64-bit integers by the persistent call of this name, started. Tutti supplies it where the MPI lacks it. */
int nodes_call_init(const char *name, const void *in, void *out, int count, MPI_Comm comm, MPI_Request *request);
/* "death" of nodes.c; ends the process. */
void nodes_death(long call);

#endif

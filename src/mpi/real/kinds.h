/* Kinds of memory that a program asks for by the info key mpi_memory_alloc_kinds, a list such as "system,cuda:device".
 */
#ifndef TUTTI_MPI_KINDS_H
#define TUTTI_MPI_KINDS_H

#include "mpi/real/mpi_api.h"

/* 1 if one of the kinds is a device's. */
int tutti_info_asks_device(MPI_Info info);

#endif

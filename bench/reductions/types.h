/* MPI's handles of Tutti's element types and operators. */
#ifndef TUTTI_BENCH_TYPES_H
#define TUTTI_BENCH_TYPES_H

#include <mpi.h>

/* MPI_DATATYPE_NULL and MPI_OP_NULL if the MPI has no such handle. */
MPI_Datatype bench_mpi_type(int type);
MPI_Op bench_mpi_op(int op);
/* 1 if only Tutti knows the type (half precision). */
int bench_type_is_own(int type);

#endif

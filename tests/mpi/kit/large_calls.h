/* Calls with counts of MPI_Count, which an MPI may lack, and its header too: then they are the library's, or NULL. */
#ifndef TUTTI_TESTS_LARGE_CALLS_H
#define TUTTI_TESTS_LARGE_CALLS_H

#include <mpi.h>

#if MPI_VERSION < 4
int MPI_Allreduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, int, MPI_Comm);
int MPI_Reduce_scatter_c(const void *, void *, const MPI_Count[], MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_scatter_block_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Scan_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Exscan_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_local_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op);
int MPI_Iallreduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
int MPI_Ireduce_scatter_c(const void *, void *, const MPI_Count[], MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request *);
int MPI_Send_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
int MPI_Isend_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int MPI_Pack_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Count *, MPI_Comm);
int MPI_Unpack_c(const void *, MPI_Count, MPI_Count *, void *, MPI_Count, MPI_Datatype, MPI_Comm);
#endif
#pragma weak MPI_Allreduce_c
#pragma weak MPI_Reduce_c
#pragma weak MPI_Reduce_scatter_c
#pragma weak MPI_Reduce_scatter_block_c
#pragma weak MPI_Scan_c
#pragma weak MPI_Exscan_c
#pragma weak MPI_Reduce_local_c
#pragma weak MPI_Iallreduce_c
#pragma weak MPI_Ireduce_scatter_c
#pragma weak MPI_Send_c
#pragma weak MPI_Isend_c
#pragma weak MPI_Pack_c
#pragma weak MPI_Unpack_c

#endif

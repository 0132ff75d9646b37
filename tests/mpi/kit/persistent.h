/* Persistent collectives. Where the MPI's header lacks them they come with the library in front, and so do those that
 * move data where the MPI's own are wrong (MPICH 4.0). */
#ifndef TUTTI_TESTS_PERSISTENT_H
#define TUTTI_TESTS_PERSISTENT_H

#include <mpi.h>

/* PERSISTENT_SUPPLIED: they are the library's. */
#if MPI_VERSION >= 4 || (defined OMPI_MAJOR_VERSION && OMPI_MAJOR_VERSION >= 5)
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
enum { PERSISTENT_SUPPLIED = 1 };
#else
enum { PERSISTENT_SUPPLIED = 0 };
#endif
static inline int persistent_there(void)
{
    return 1;
}
#else
enum { PERSISTENT_SUPPLIED = 1 };
#define EVEN      const void *, int, MPI_Datatype, void *, int, MPI_Datatype
#define TO_MANY   const void *, const int[], const int[], MPI_Datatype, void *, int, MPI_Datatype
#define FROM_MANY const void *, int, MPI_Datatype, void *, const int[], const int[], MPI_Datatype
#define LISTS     const void *, const int[], const int[], MPI_Datatype, void *, const int[], const int[], MPI_Datatype
#define WIDE(displ)                                                                                                    \
    const void *, const int[], const displ[], const MPI_Datatype[], void *, const int[], const displ[],                \
        const MPI_Datatype[]
#define REST MPI_Comm, MPI_Info, MPI_Request *
int MPI_Bcast_init(void *, int, MPI_Datatype, int, REST);
int MPI_Gather_init(EVEN, int, REST);
int MPI_Gatherv_init(FROM_MANY, int, REST);
int MPI_Scatter_init(EVEN, int, REST);
int MPI_Scatterv_init(TO_MANY, int, REST);
int MPI_Allgather_init(EVEN, REST);
int MPI_Allgatherv_init(FROM_MANY, REST);
int MPI_Alltoall_init(EVEN, REST);
int MPI_Alltoallv_init(LISTS, REST);
int MPI_Alltoallw_init(WIDE(int), REST);
int MPI_Neighbor_allgather_init(EVEN, REST);
int MPI_Neighbor_allgatherv_init(FROM_MANY, REST);
int MPI_Neighbor_alltoall_init(EVEN, REST);
int MPI_Neighbor_alltoallv_init(LISTS, REST);
int MPI_Neighbor_alltoallw_init(WIDE(MPI_Aint), REST);
int MPI_Barrier_init(REST);
int MPI_Reduce_init(const void *, void *, int, MPI_Datatype, MPI_Op, int, REST);
int MPI_Allreduce_init(const void *, void *, int, MPI_Datatype, MPI_Op, REST);
int MPI_Reduce_scatter_init(const void *, void *, const int[], MPI_Datatype, MPI_Op, REST);
int MPI_Reduce_scatter_block_init(const void *, void *, int, MPI_Datatype, MPI_Op, REST);
int MPI_Scan_init(const void *, void *, int, MPI_Datatype, MPI_Op, REST);
int MPI_Exscan_init(const void *, void *, int, MPI_Datatype, MPI_Op, REST);
#pragma weak MPI_Bcast_init
#pragma weak MPI_Gather_init
#pragma weak MPI_Gatherv_init
#pragma weak MPI_Scatter_init
#pragma weak MPI_Scatterv_init
#pragma weak MPI_Allgather_init
#pragma weak MPI_Allgatherv_init
#pragma weak MPI_Alltoall_init
#pragma weak MPI_Alltoallv_init
#pragma weak MPI_Alltoallw_init
#pragma weak MPI_Neighbor_allgather_init
#pragma weak MPI_Neighbor_allgatherv_init
#pragma weak MPI_Neighbor_alltoall_init
#pragma weak MPI_Neighbor_alltoallv_init
#pragma weak MPI_Neighbor_alltoallw_init
#pragma weak MPI_Barrier_init
#pragma weak MPI_Reduce_init
#pragma weak MPI_Allreduce_init
#pragma weak MPI_Reduce_scatter_init
#pragma weak MPI_Reduce_scatter_block_init
#pragma weak MPI_Scan_init
#pragma weak MPI_Exscan_init
#undef EVEN
#undef TO_MANY
#undef FROM_MANY
#undef LISTS
#undef WIDE
#undef REST
static inline int persistent_there(void)
{
    return MPI_Bcast_init != NULL && MPI_Neighbor_alltoallw_init != NULL;
}
#endif

#endif

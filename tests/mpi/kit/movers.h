/* The calls that move data, as tests number and name them. A test's list:
 *   enum call { KIT_MOVERS(KIT_NUMBER) KIT_NEIGHBORS(KIT_NUMBER) CALLS };
 *   static const char *const names[CALLS] = {KIT_MOVERS(KIT_NAME) KIT_NEIGHBORS(KIT_NAME)}; */
#ifndef TUTTI_TESTS_KIT_MOVERS_H
#define TUTTI_TESTS_KIT_MOVERS_H

/* clang-format off */
#define KIT_MOVERS(X)                                                                                                  \
    X(BCAST, Bcast) X(GATHER, Gather) X(GATHERV, Gatherv) X(SCATTER, Scatter) X(SCATTERV, Scatterv)                    \
    X(ALLGATHER, Allgather) X(ALLGATHERV, Allgatherv)                                                                  \
    X(ALLTOALL, Alltoall) X(ALLTOALLV, Alltoallv) X(ALLTOALLW, Alltoallw)
#define KIT_NEIGHBORS(X)                                                                                               \
    X(NEIGHBOR_ALLGATHER, Neighbor_allgather) X(NEIGHBOR_ALLGATHERV, Neighbor_allgatherv)                              \
    X(NEIGHBOR_ALLTOALL, Neighbor_alltoall) X(NEIGHBOR_ALLTOALLV, Neighbor_alltoallv)                                  \
    X(NEIGHBOR_ALLTOALLW, Neighbor_alltoallw)
/* clang-format on */

#define KIT_NUMBER(number, name)   number,
#define KIT_NAME(number, name)     #name,
#define KIT_MPI_NAME(number, name) "MPI_" #name,

#endif

/* Part of <tutti/mpix.h>, which includes it. */
#ifndef TUTTI_MPIX_PCOLL_H
#define TUTTI_MPIX_PCOLL_H

/* Partitioned collectives, as the MPI Forum's hybrid working group proposes them: persistent requests whose
 * contributions the program marks as ready partition by partition.
 *
 *     MPIX_Pallreduce_init(mine, sum, 16, 4096, MPI_FLOAT, MPI_SUM, comm, MPI_INFO_NULL, &request);
 *     for (...) {
 *         MPI_Start(&request);
 *         for (p = 0; p < 16; p++) { produce(mine + p * 4096); MPI_Pready(p, request); }
 *         MPI_Wait(&request, MPI_STATUS_IGNORE);
 *     }
 *
 * Each MPIX_P..._init is collective over an intracommunicator whose ranks are all of MPI_COMM_WORLD's. It waits for no
 * rank. Counts are those of a partition: a block has partitions * count elements, one partition behind the other.
 * Displacements and blocks are those of MPI's calls. If a call has blocks for several ranks, partition p is partition p
 * of each of them. The two sides of a data mover may have different numbers of partitions, as long as the blocks have
 * the same length; all ranks of a reduction have the same number. MPI_IN_PLACE as in MPI's calls; then the number of
 * partitions is the other side's. Buffers are host or device memory. The info object is not looked at.
 *
 * MPI_Start and MPI_Startall begin a round. A rank that contributes data (in MPIX_Pbcast and MPIX_Pscatter the root
 * alone) marks each partition once a round by MPI_Pready, MPI_Pready_range or MPI_Pready_list, in any order and from
 * any thread. Ranks may use different orders. MPI_Parrived sets the flag if a partition of the result is complete on
 * this rank, in all blocks. Completion calls and MPI_Request_free are MPI's.
 *
 * A partition of a reduction combines its elements in rank order: the bits are those of MPI_Allreduce of Tutti.
 *
 * Errors are raised on `comm`: MPI_ERR_COMM, MPI_ERR_ARG, MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_OP, MPI_ERR_ROOT,
 * MPI_ERR_TOPOLOGY, MPI_ERR_NO_MEM. MPI_Pready and MPI_Parrived: MPI_ERR_REQUEST if the request is not active (Pready),
 * or this rank contributes, or gets, nothing; MPI_ERR_ARG if there is no such partition, or it is ready already.
 * Without a device in the job the calls return MPI_ERR_UNSUPPORTED_OPERATION and call no error handler. */
#include <tutti/mpix_pcoll.def>
#define MPIX_Pbcast_init                tutti_MPIX_Pbcast_init
#define MPIX_Pgather_init               tutti_MPIX_Pgather_init
#define MPIX_Pgatherv_init              tutti_MPIX_Pgatherv_init
#define MPIX_Pscatter_init              tutti_MPIX_Pscatter_init
#define MPIX_Pscatterv_init             tutti_MPIX_Pscatterv_init
#define MPIX_Pallgather_init            tutti_MPIX_Pallgather_init
#define MPIX_Pallgatherv_init           tutti_MPIX_Pallgatherv_init
#define MPIX_Palltoall_init             tutti_MPIX_Palltoall_init
#define MPIX_Palltoallv_init            tutti_MPIX_Palltoallv_init
#define MPIX_Palltoallw_init            tutti_MPIX_Palltoallw_init
#define MPIX_Preduce_init               tutti_MPIX_Preduce_init
#define MPIX_Pallreduce_init            tutti_MPIX_Pallreduce_init
#define MPIX_Preduce_scatter_init       tutti_MPIX_Preduce_scatter_init
#define MPIX_Preduce_scatter_block_init tutti_MPIX_Preduce_scatter_block_init
#define MPIX_Pscan_init                 tutti_MPIX_Pscan_init
#define MPIX_Pexscan_init               tutti_MPIX_Pexscan_init
#define MPIX_Pneighbor_allgather_init   tutti_MPIX_Pneighbor_allgather_init
#define MPIX_Pneighbor_allgatherv_init  tutti_MPIX_Pneighbor_allgatherv_init
#define MPIX_Pneighbor_alltoall_init    tutti_MPIX_Pneighbor_alltoall_init
#define MPIX_Pneighbor_alltoallv_init   tutti_MPIX_Pneighbor_alltoallv_init
#define MPIX_Pneighbor_alltoallw_init   tutti_MPIX_Pneighbor_alltoallw_init

#endif

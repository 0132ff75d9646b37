/* Which calls are made patient, and how (rows.h): SENDS, RECEIVES, TAKES, EXCHANGES and REPLACES have a nonblocking
 * form, a MEETS is begun when all ranks of its communicator have arrived, and of those that a STANDS waits for nothing
 * is known. */
#ifndef TUTTI_MPI_PATIENT_ROWS_H
#define TUTTI_MPI_PATIENT_ROWS_H

#define HOW_MPI_Send                       SENDS, MPI_Isend
#define HOW_MPI_Send_c                     SENDS, MPI_Isend_c
#define HOW_MPI_Ssend                      SENDS, MPI_Issend
#define HOW_MPI_Ssend_c                    SENDS, MPI_Issend_c
#define HOW_MPI_Rsend                      SENDS, MPI_Irsend
#define HOW_MPI_Rsend_c                    SENDS, MPI_Irsend_c
#define HOW_MPI_Recv                       RECEIVES, MPI_Irecv
#define HOW_MPI_Recv_c                     RECEIVES, MPI_Irecv_c
#define HOW_MPI_Mrecv                      TAKES, MPI_Imrecv
#define HOW_MPI_Mrecv_c                    TAKES, MPI_Imrecv_c
#define HOW_MPI_Sendrecv                   EXCHANGES, MPI_Irecv
#define HOW_MPI_Sendrecv_c                 EXCHANGES_C, MPI_Irecv_c
#define HOW_MPI_Sendrecv_replace           REPLACES, int
#define HOW_MPI_Sendrecv_replace_c         REPLACES, MPI_Count
#define HOW_MPI_Barrier                    MEETS, comm
#define HOW_MPI_Comm_dup                   MEETS, comm
#define HOW_MPI_Comm_split                 MEETS, comm
#define HOW_MPI_Comm_split_type            MEETS, comm
#define HOW_MPI_Comm_create                MEETS, comm
#define HOW_MPI_Cart_create                MEETS, comm
#define HOW_MPI_Graph_create               MEETS, comm
#define HOW_MPI_Dist_graph_create          MEETS, comm
#define HOW_MPI_Dist_graph_create_adjacent MEETS, comm
#define HOW_MPI_Allgather                  MEETS, comm
#define HOW_MPI_Allgather_c                MEETS, comm
#define HOW_MPI_Allgatherv                 MEETS, comm
#define HOW_MPI_Allgatherv_c               MEETS, comm
#define HOW_MPI_Barrier_init               MEETS, comm
#define HOW_MPI_Allgather_init             MEETS, comm
#define HOW_MPI_Allgather_init_c           MEETS, comm
#define HOW_MPI_Allgatherv_init            MEETS, comm
#define HOW_MPI_Allgatherv_init_c          MEETS, comm
#define HOW_MPI_Alltoall_init              MEETS, comm
#define HOW_MPI_Alltoall_init_c            MEETS, comm
#define HOW_MPI_Alltoallv_init             MEETS, comm
#define HOW_MPI_Alltoallv_init_c           MEETS, comm
#define HOW_MPI_Alltoallw_init             MEETS, comm
#define HOW_MPI_Alltoallw_init_c           MEETS, comm
#define HOW_MPI_Bcast_init                 MEETS, comm
#define HOW_MPI_Bcast_init_c               MEETS, comm
#define HOW_MPI_Gather_init                MEETS, comm
#define HOW_MPI_Gather_init_c              MEETS, comm
#define HOW_MPI_Gatherv_init               MEETS, comm
#define HOW_MPI_Gatherv_init_c             MEETS, comm
#define HOW_MPI_Scatter_init               MEETS, comm
#define HOW_MPI_Scatter_init_c             MEETS, comm
#define HOW_MPI_Scatterv_init              MEETS, comm
#define HOW_MPI_Scatterv_init_c            MEETS, comm
#define HOW_MPI_Neighbor_allgather_init    MEETS, comm
#define HOW_MPI_Neighbor_allgather_init_c  MEETS, comm
#define HOW_MPI_Neighbor_allgatherv_init   MEETS, comm
#define HOW_MPI_Neighbor_allgatherv_init_c MEETS, comm
#define HOW_MPI_Neighbor_alltoall_init     MEETS, comm
#define HOW_MPI_Neighbor_alltoall_init_c   MEETS, comm
#define HOW_MPI_Neighbor_alltoallv_init    MEETS, comm
#define HOW_MPI_Neighbor_alltoallv_init_c  MEETS, comm
#define HOW_MPI_Neighbor_alltoallw_init    MEETS, comm
#define HOW_MPI_Neighbor_alltoallw_init_c  MEETS, comm
#define HOW_MPI_Allreduce                  MEETS, comm
#define HOW_MPI_Allreduce_c                MEETS, comm
#define HOW_MPI_Alltoall                   MEETS, comm
#define HOW_MPI_Alltoall_c                 MEETS, comm
#define HOW_MPI_Alltoallv                  MEETS, comm
#define HOW_MPI_Alltoallv_c                MEETS, comm
#define HOW_MPI_Alltoallw                  MEETS, comm
#define HOW_MPI_Alltoallw_c                MEETS, comm
#define HOW_MPI_Bcast                      MEETS, comm
#define HOW_MPI_Bcast_c                    MEETS, comm
#define HOW_MPI_Exscan                     MEETS, comm
#define HOW_MPI_Exscan_c                   MEETS, comm
#define HOW_MPI_Gather                     MEETS, comm
#define HOW_MPI_Gather_c                   MEETS, comm
#define HOW_MPI_Gatherv                    MEETS, comm
#define HOW_MPI_Gatherv_c                  MEETS, comm
#define HOW_MPI_Neighbor_allgather         MEETS, comm
#define HOW_MPI_Neighbor_allgather_c       MEETS, comm
#define HOW_MPI_Neighbor_allgatherv        MEETS, comm
#define HOW_MPI_Neighbor_allgatherv_c      MEETS, comm
#define HOW_MPI_Neighbor_alltoall          MEETS, comm
#define HOW_MPI_Neighbor_alltoall_c        MEETS, comm
#define HOW_MPI_Neighbor_alltoallv         MEETS, comm
#define HOW_MPI_Neighbor_alltoallv_c       MEETS, comm
#define HOW_MPI_Neighbor_alltoallw         MEETS, comm
#define HOW_MPI_Neighbor_alltoallw_c       MEETS, comm
#define HOW_MPI_Reduce                     MEETS, comm
#define HOW_MPI_Reduce_c                   MEETS, comm
#define HOW_MPI_Reduce_scatter             MEETS, comm
#define HOW_MPI_Reduce_scatter_c           MEETS, comm
#define HOW_MPI_Reduce_scatter_block       MEETS, comm
#define HOW_MPI_Reduce_scatter_block_c     MEETS, comm
#define HOW_MPI_Scan                       MEETS, comm
#define HOW_MPI_Scan_c                     MEETS, comm
#define HOW_MPI_Scatter                    MEETS, comm
#define HOW_MPI_Scatter_c                  MEETS, comm
#define HOW_MPI_Scatterv                   MEETS, comm
#define HOW_MPI_Scatterv_c                 MEETS, comm
#define HOW_MPI_Comm_dup_with_info         MEETS, comm
#define HOW_MPI_Intercomm_merge            MEETS, comm
#define HOW_MPI_Win_allocate               MEETS, comm
#define HOW_MPI_Win_allocate_c             MEETS, comm
#define HOW_MPI_Win_allocate_shared        MEETS, comm
#define HOW_MPI_Win_allocate_shared_c      MEETS, comm
#define HOW_MPI_Win_create                 MEETS, comm
#define HOW_MPI_Win_create_c               MEETS, comm
#define HOW_MPI_Win_create_dynamic         MEETS, comm
#define HOW_MPI_File_open                  MEETS, comm
#define HOW_MPI_Comm_accept                STANDS,
#define HOW_MPI_Comm_connect               STANDS,
#define HOW_MPI_Comm_create_group          STANDS,
#define HOW_MPI_Comm_spawn                 STANDS,
#define HOW_MPI_Comm_spawn_multiple        STANDS,
#define HOW_MPI_Intercomm_create           STANDS,
#define HOW_MPI_Win_complete               STANDS,
#define HOW_MPI_Win_fence                  STANDS,
#define HOW_MPI_Win_flush                  STANDS,
#define HOW_MPI_Win_flush_all              STANDS,
#define HOW_MPI_Win_free                   STANDS,
#define HOW_MPI_Win_lock                   STANDS,
#define HOW_MPI_Win_lock_all               STANDS,
#define HOW_MPI_Win_start                  STANDS,
#define HOW_MPI_Win_unlock                 STANDS,
#define HOW_MPI_Win_unlock_all             STANDS,
#define HOW_MPI_Win_wait                   STANDS,
#define HOW_MPI_Comm_disconnect            STANDS,
#define HOW_MPI_File_close                 STANDS,
#define HOW_MPI_File_preallocate           STANDS,
#define HOW_MPI_File_set_size              STANDS,
#define HOW_MPI_File_set_view              STANDS,
#define HOW_MPI_File_sync                  STANDS,
#define HOW_MPI_File_read_all              STANDS,
#define HOW_MPI_File_read_all_c            STANDS,
#define HOW_MPI_File_write_all             STANDS,
#define HOW_MPI_File_write_all_c           STANDS,
#define HOW_MPI_File_read_at_all           STANDS,
#define HOW_MPI_File_read_at_all_c         STANDS,
#define HOW_MPI_File_write_at_all          STANDS,
#define HOW_MPI_File_write_at_all_c        STANDS,
#define HOW_MPI_File_read_ordered          STANDS,
#define HOW_MPI_File_read_ordered_c        STANDS,
#define HOW_MPI_File_write_ordered         STANDS,
#define HOW_MPI_File_write_ordered_c       STANDS,
#define HOW_MPI_File_read_all_begin        STANDS,
#define HOW_MPI_File_read_all_begin_c      STANDS,
#define HOW_MPI_File_read_all_end          STANDS,
#define HOW_MPI_File_write_all_begin       STANDS,
#define HOW_MPI_File_write_all_begin_c     STANDS,
#define HOW_MPI_File_write_all_end         STANDS,
#define HOW_MPI_File_read_at_all_begin     STANDS,
#define HOW_MPI_File_read_at_all_begin_c   STANDS,
#define HOW_MPI_File_read_at_all_end       STANDS,
#define HOW_MPI_File_write_at_all_begin    STANDS,
#define HOW_MPI_File_write_at_all_begin_c  STANDS,
#define HOW_MPI_File_write_at_all_end      STANDS,
#define HOW_MPI_File_read_ordered_begin    STANDS,
#define HOW_MPI_File_read_ordered_begin_c  STANDS,
#define HOW_MPI_File_read_ordered_end      STANDS,
#define HOW_MPI_File_write_ordered_begin   STANDS,
#define HOW_MPI_File_write_ordered_begin_c STANDS,
#define HOW_MPI_File_write_ordered_end     STANDS,

#endif

/* The MPI functions that a benchmark calls in more than one way: those of the library in front, and the MPI's own. */
#ifndef TUTTI_BENCH_COMMON_CALLS_H
#define TUTTI_BENCH_COMMON_CALLS_H

#include "bench/common/bench.h"

/* clang-format off */
#define BENCH_CALLS(X) \
    X(Send) X(Recv) X(Sendrecv) X(Isend) X(Irecv) X(Waitall) X(Wait) X(Test) X(Send_init) X(Recv_init) X(Startall) \
    X(Request_free) X(Allreduce) X(Reduce) X(Reduce_scatter) X(Reduce_scatter_block) X(Scan) X(Exscan) X(Bcast) \
    X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv) X(Alltoall) X(Alltoallv) X(Alltoallw) \
    X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv) \
    X(Neighbor_alltoallw) X(Iallreduce) X(Ireduce) X(Ireduce_scatter_block) X(Iscan) X(Ibcast) X(Igather) \
    X(Iscatter) X(Iallgather) X(Ialltoall) X(Ialltoallv) X(Ineighbor_alltoall) \
    X(Ireduce_scatter) X(Iexscan) X(Igatherv) X(Iscatterv) X(Iallgatherv) X(Ialltoallw) X(Ineighbor_allgather) \
    X(Ineighbor_allgatherv) X(Ineighbor_alltoallv) X(Ineighbor_alltoallw) \
    X(File_write_at) X(File_write_at_all) X(File_read_at) X(File_read_at_all) X(Put) X(Get) X(Accumulate) \
    X(Win_create) X(Win_free) X(Win_fence) X(Win_lock) X(Win_unlock) X(Win_flush) X(Win_post) X(Win_start) \
    X(Win_complete) X(Win_wait)
/* clang-format on */
struct bench_calls {
#define BENCH_CALL_FIELD(name) __typeof__(&MPI_##name) name;
    BENCH_CALLS(BENCH_CALL_FIELD)
#undef BENCH_CALL_FIELD
};
/* As the program is linked: the library's, if it is preloaded. */
void bench_calls_linked(struct bench_calls *out);
/* The MPI's own; ends the program if one is missing. */
void bench_calls_own(struct bench_calls *out);

#endif

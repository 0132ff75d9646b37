/* The partitioned collectives, one function a call: each names its two sides. */
#include "mpi/part/coll.h"

#include <stdlib.h>

#include "core/log.h"
#include "mpi/comm/neighbour_order.h"
#include "mpi/comm/neighbours.h"
#include "mpi/real/errors.h"

#define BEGIN(NAME)                                                                                                    \
    struct tutti_pcoll_call call;                                                                                      \
    (void)info;                                                                                                        \
    const int begun = tutti_pcoll_begin(&call, #NAME, comm, request);                                                  \
    if (begun != MPI_SUCCESS)                                                                                          \
        return begun;

/* One block, or one for each of `n` ranks. */
static struct tutti_pcoll_buffer pcoll_blocks_of(const void *buffer, int partitions, int n, MPI_Count count,
                                                 MPI_Datatype type)
{
    return (struct tutti_pcoll_buffer){
        .buffer = buffer, .used = 1, .partitions = partitions, .blocks = n, .count = count, .type = type};
}

static struct tutti_pcoll_buffer blocks_v(const void *buffer, int partitions, int n, const MPI_Count counts[],
                                          const MPI_Aint displs[], MPI_Datatype type)
{
    return (struct tutti_pcoll_buffer){.buffer = buffer,
                                       .used = 1,
                                       .partitions = partitions,
                                       .blocks = n,
                                       .counts = counts,
                                       .displs = displs,
                                       .type = type};
}

static struct tutti_pcoll_buffer blocks_w(const void *buffer, int partitions, int n, const MPI_Count counts[],
                                          const MPI_Aint displs[], const MPI_Datatype types[])
{
    struct tutti_pcoll_buffer out = blocks_v(buffer, partitions, n, counts, displs, tutti_handles.no_type);
    out.types = types;
    return out;
}

/* ---- broadcast ---- */

int tutti_door_MPIX_Pbcast_init(void *buffer, int partitions, MPI_Count count, MPI_Datatype datatype, int root,
                                MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pbcast_init)
    call.kind = TUTTI_PCOLL_BCAST;
    call.root = root;
    call.recv = pcoll_blocks_of(buffer, partitions, 1, count, datatype);
    call.send = call.recv;
    call.send.used = call.rank == root;
    return tutti_pcoll_create(&call, request);
}

/* ---- gather and scatter ---- */

/* all: the root's side, a block for each rank; one: every rank's side, a block to or from the root. In place the root's
 * own block stays where it is. */
static int rooted(struct tutti_pcoll_call *call, int root, const struct tutti_pcoll_buffer *all,
                  const struct tutti_pcoll_buffer *one, int gathers, MPI_Request *request)
{
    struct tutti_pcoll_buffer *root_side = gathers ? &call->recv : &call->send;
    struct tutti_pcoll_buffer *rank_side = gathers ? &call->send : &call->recv;
    const int in_place = call->rank == root && one->buffer == MPI_IN_PLACE;
    call->kind = TUTTI_PCOLL_MOVE;
    call->root = root;
    *root_side = *all;
    *rank_side = *one;
    rank_side->peers = &call->root;
    root_side->used = call->rank == root;
    if (!root_side->used)
        root_side->blocks = 0;
    if (in_place) { /* the root's own side has no block, and as many partitions as the other */
        root_side->skips = 1;
        rank_side->blocks = 0;
        rank_side->partitions = all->partitions;
        rank_side->buffer = all->buffer;
    }
    return tutti_pcoll_create(call, request);
}

int tutti_door_MPIX_Pgather_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount, MPI_Datatype sendtype,
                                 void *recvbuf, int recvpartitions, MPI_Count recvcount, MPI_Datatype recvtype,
                                 int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pgather_init)
    const struct tutti_pcoll_buffer all = pcoll_blocks_of(recvbuf, recvpartitions, call.size, recvcount, recvtype);
    const struct tutti_pcoll_buffer one = pcoll_blocks_of(sendbuf, sendpartitions, 1, sendcount, sendtype);
    return rooted(&call, root, &all, &one, 1, request);
}

int tutti_door_MPIX_Pgatherv_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void *recvbuf, int recvpartitions, const MPI_Count recvcounts[],
                                  const MPI_Aint displs[], MPI_Datatype recvtype, int root, MPI_Comm comm,
                                  MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pgatherv_init)
    const struct tutti_pcoll_buffer all = blocks_v(recvbuf, recvpartitions, call.size, recvcounts, displs, recvtype);
    const struct tutti_pcoll_buffer one = pcoll_blocks_of(sendbuf, sendpartitions, 1, sendcount, sendtype);
    return rooted(&call, root, &all, &one, 1, request);
}

int tutti_door_MPIX_Pscatter_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount, MPI_Datatype sendtype,
                                  void *recvbuf, int recvpartitions, MPI_Count recvcount, MPI_Datatype recvtype,
                                  int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pscatter_init)
    const struct tutti_pcoll_buffer all = pcoll_blocks_of(sendbuf, sendpartitions, call.size, sendcount, sendtype);
    const struct tutti_pcoll_buffer one = pcoll_blocks_of(recvbuf, recvpartitions, 1, recvcount, recvtype);
    return rooted(&call, root, &all, &one, 0, request);
}

int tutti_door_MPIX_Pscatterv_init(const void *sendbuf, int sendpartitions, const MPI_Count sendcounts[],
                                   const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf, int recvpartitions,
                                   MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                                   MPI_Request *request)
{
    BEGIN(MPIX_Pscatterv_init)
    const struct tutti_pcoll_buffer all = blocks_v(sendbuf, sendpartitions, call.size, sendcounts, displs, sendtype);
    const struct tutti_pcoll_buffer one = pcoll_blocks_of(recvbuf, recvpartitions, 1, recvcount, recvtype);
    return rooted(&call, root, &all, &one, 0, request);
}

/* ---- allgather and alltoall ---- */

/* In place the contribution is in the receive buffer, in as many partitions. */
static int among_all(struct tutti_pcoll_call *call, enum tutti_pcoll_kind kind, const struct tutti_pcoll_buffer *send,
                     const struct tutti_pcoll_buffer *recv, MPI_Request *request)
{
    call->kind = kind;
    call->in_place = send->buffer == MPI_IN_PLACE;
    call->send = call->in_place ? *recv : *send;
    call->recv = *recv;
    if (kind == TUTTI_PCOLL_MOVE && call->in_place)
        call->send.skips = call->recv.skips = 1;
    return tutti_pcoll_create(call, request);
}

int tutti_door_MPIX_Pallgather_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount, MPI_Datatype sendtype,
                                    void *recvbuf, int recvpartitions, MPI_Count recvcount, MPI_Datatype recvtype,
                                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pallgather_init)
    const struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, sendpartitions, 1, sendcount, sendtype);
    const struct tutti_pcoll_buffer recv = pcoll_blocks_of(recvbuf, recvpartitions, call.size, recvcount, recvtype);
    return among_all(&call, TUTTI_PCOLL_ALLGATHER, &send, &recv, request);
}

int tutti_door_MPIX_Pallgatherv_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount,
                                     MPI_Datatype sendtype, void *recvbuf, int recvpartitions,
                                     const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,
                                     MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pallgatherv_init)
    const struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, sendpartitions, 1, sendcount, sendtype);
    const struct tutti_pcoll_buffer recv = blocks_v(recvbuf, recvpartitions, call.size, recvcounts, displs, recvtype);
    return among_all(&call, TUTTI_PCOLL_ALLGATHER, &send, &recv, request);
}

int tutti_door_MPIX_Palltoall_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount, MPI_Datatype sendtype,
                                   void *recvbuf, int recvpartitions, MPI_Count recvcount, MPI_Datatype recvtype,
                                   MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Palltoall_init)
    const struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, sendpartitions, call.size, sendcount, sendtype);
    const struct tutti_pcoll_buffer recv = pcoll_blocks_of(recvbuf, recvpartitions, call.size, recvcount, recvtype);
    return among_all(&call, TUTTI_PCOLL_MOVE, &send, &recv, request);
}

int tutti_door_MPIX_Palltoallv_init(const void *sendbuf, int sendpartitions, const MPI_Count sendcounts[],
                                    const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf, int recvpartitions,
                                    const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                    MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Palltoallv_init)
    const struct tutti_pcoll_buffer send = blocks_v(sendbuf, sendpartitions, call.size, sendcounts, sdispls, sendtype);
    const struct tutti_pcoll_buffer recv = blocks_v(recvbuf, recvpartitions, call.size, recvcounts, rdispls, recvtype);
    return among_all(&call, TUTTI_PCOLL_MOVE, &send, &recv, request);
}

int tutti_door_MPIX_Palltoallw_init(const void *sendbuf, int sendpartitions, const MPI_Count sendcounts[],
                                    const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                                    int recvpartitions, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                    const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Palltoallw_init)
    const struct tutti_pcoll_buffer send = blocks_w(sendbuf, sendpartitions, call.size, sendcounts, sdispls, sendtypes);
    const struct tutti_pcoll_buffer recv = blocks_w(recvbuf, recvpartitions, call.size, recvcounts, rdispls, recvtypes);
    return among_all(&call, TUTTI_PCOLL_MOVE, &send, &recv, request);
}

/* ---- reductions ---- */

/* send and recv: with one block each, but for the segments of a reduce-scatter. */
static int reduces(struct tutti_pcoll_call *call, enum tutti_pcoll_kind kind, MPI_Op op,
                   const struct tutti_pcoll_buffer *send, const struct tutti_pcoll_buffer *recv, MPI_Request *request)
{
    call->kind = kind;
    call->reduces = 1;
    call->op = op;
    call->in_place = send->buffer == MPI_IN_PLACE && recv->used;
    call->send = *send;
    call->recv = *recv;
    if (call->in_place)
        call->send.buffer = recv->buffer;
    return tutti_pcoll_create(call, request);
}

int tutti_door_MPIX_Preduce_init(const void *sendbuf, void *recvbuf, int partitions, MPI_Count count,
                                 MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm, MPI_Info info,
                                 MPI_Request *request)
{
    BEGIN(MPIX_Preduce_init)
    const struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, partitions, 1, count, datatype);
    struct tutti_pcoll_buffer recv = pcoll_blocks_of(recvbuf, partitions, 1, count, datatype);
    recv.used = call.rank == root;
    call.root = root;
    return reduces(&call, TUTTI_PCOLL_REDUCE, op, &send, &recv, request);
}

static int reduces_all(struct tutti_pcoll_call *call, enum tutti_pcoll_kind kind, const void *sendbuf, void *recvbuf,
                       int partitions, MPI_Count count, MPI_Datatype datatype, MPI_Op op, MPI_Request *request)
{
    const struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, partitions, 1, count, datatype);
    const struct tutti_pcoll_buffer recv = pcoll_blocks_of(recvbuf, partitions, 1, count, datatype);
    return reduces(call, kind, op, &send, &recv, request);
}

int tutti_door_MPIX_Pallreduce_init(const void *sendbuf, void *recvbuf, int partitions, MPI_Count count,
                                    MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                    MPI_Request *request)
{
    BEGIN(MPIX_Pallreduce_init)
    return reduces_all(&call, TUTTI_PCOLL_ALLREDUCE, sendbuf, recvbuf, partitions, count, datatype, op, request);
}

int tutti_door_MPIX_Pscan_init(const void *sendbuf, void *recvbuf, int partitions, MPI_Count count,
                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pscan_init)
    return reduces_all(&call, TUTTI_PCOLL_SCAN, sendbuf, recvbuf, partitions, count, datatype, op, request);
}

int tutti_door_MPIX_Pexscan_init(const void *sendbuf, void *recvbuf, int partitions, MPI_Count count,
                                 MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pexscan_init)
    return reduces_all(&call, TUTTI_PCOLL_EXSCAN, sendbuf, recvbuf, partitions, count, datatype, op, request);
}

int tutti_door_MPIX_Preduce_scatter_init(const void *sendbuf, void *recvbuf, int partitions,
                                         const MPI_Count recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                                         MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Preduce_scatter_init)
    if (!recvcounts)
        return tutti_fail_comm(comm, MPI_ERR_ARG);
    const struct tutti_pcoll_buffer send = blocks_v(sendbuf, partitions, call.size, recvcounts, NULL, datatype);
    const struct tutti_pcoll_buffer recv = pcoll_blocks_of(recvbuf, partitions, 1, recvcounts[call.rank], datatype);
    return reduces(&call, TUTTI_PCOLL_REDUCE_SCATTER, op, &send, &recv, request);
}

int tutti_door_MPIX_Preduce_scatter_block_init(const void *sendbuf, void *recvbuf, int partitions, MPI_Count recvcount,
                                               MPI_Datatype datatype, MPI_Op op, MPI_Comm comm, MPI_Info info,
                                               MPI_Request *request)
{
    BEGIN(MPIX_Preduce_scatter_block_init)
    const struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, partitions, call.size, recvcount, datatype);
    const struct tutti_pcoll_buffer recv = pcoll_blocks_of(recvbuf, partitions, 1, recvcount, datatype);
    return reduces(&call, TUTTI_PCOLL_REDUCE_SCATTER, op, &send, &recv, request);
}

/* ---- neighbours ---- */

/* Blocks between two ranks are paired in the order of the list; on the receiving side in the MPI's matching order. */
static int *labels_of(const int ranks[], int n, enum tutti_neighbour_order order)
{
    int *labels = calloc((size_t)n + 1, sizeof *labels);
    for (int next = 0; labels && next < n; next++) {
        const int i = tutti_neighbour_sent(order, next, n);
        for (int before = 0; before < next; before++)
            labels[i] += ranks[tutti_neighbour_sent(order, before, n)] == ranks[i];
    }
    return labels;
}

/* The one block of an allgather goes to all neighbours: its counts are those of each. */
static int neighbours_create(struct tutti_pcoll_call *call, const struct tutti_neighbours *all,
                             const struct tutti_pcoll_buffer *send, const struct tutti_pcoll_buffer *recv,
                             enum tutti_collective collective, MPI_Request *request)
{
    const int grid = all->kind == MPI_CART;
    const int order = all->kind == MPI_GRAPH ? -1 : tutti_neighbour_order(1, grid, collective);
    int *to = labels_of(all->to, all->outs, TUTTI_NEIGHBOURS_AS_SENT);
    int *from =
        labels_of(all->from, all->ins, order >= 0 ? (enum tutti_neighbour_order)order : TUTTI_NEIGHBOURS_AS_SENT);
    int code = MPI_ERR_NO_MEM;
    call->kind = TUTTI_PCOLL_MOVE;
    call->send = *send;
    call->recv = *recv;
    call->send.blocks = all->outs;
    call->recv.blocks = all->ins;
    call->send.peers = all->to;
    call->recv.peers = all->from;
    call->send.labels = to;
    call->recv.labels = from;
    code = to && from ? tutti_pcoll_create(call, request) : tutti_fail_comm(call->comm, code);
    free(to);
    free(from);
    return code;
}

static int among_neighbours(struct tutti_pcoll_call *call, const struct tutti_pcoll_buffer *send,
                            const struct tutti_pcoll_buffer *recv, enum tutti_collective collective,
                            MPI_Request *request)
{
    struct tutti_neighbours all;
    const int status = tutti_neighbours_open(&all, call->comm);
    int code = status != TUTTI_OK ? tutti_error_code(status) : MPI_SUCCESS;
    if (code == MPI_SUCCESS && all.kind == MPI_UNDEFINED)
        code = MPI_ERR_TOPOLOGY;
    if (code == MPI_SUCCESS && (send->buffer == MPI_IN_PLACE || recv->buffer == MPI_IN_PLACE))
        code = MPI_ERR_BUFFER;
    code = code != MPI_SUCCESS ? tutti_fail_comm(call->comm, code)
                               : neighbours_create(call, &all, send, recv, collective, request);
    tutti_neighbours_close(&all);
    return code;
}

int tutti_door_MPIX_Pneighbor_allgather_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount,
                                             MPI_Datatype sendtype, void *recvbuf, int recvpartitions,
                                             MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                             MPI_Request *request)
{
    BEGIN(MPIX_Pneighbor_allgather_init)
    struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, sendpartitions, 0, sendcount, sendtype);
    const struct tutti_pcoll_buffer recv = pcoll_blocks_of(recvbuf, recvpartitions, 0, recvcount, recvtype);
    send.shared = 1;
    return among_neighbours(&call, &send, &recv, TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHER, request);
}

int tutti_door_MPIX_Pneighbor_allgatherv_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount,
                                              MPI_Datatype sendtype, void *recvbuf, int recvpartitions,
                                              const MPI_Count recvcounts[], const MPI_Aint displs[],
                                              MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pneighbor_allgatherv_init)
    struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, sendpartitions, 0, sendcount, sendtype);
    const struct tutti_pcoll_buffer recv = blocks_v(recvbuf, recvpartitions, 0, recvcounts, displs, recvtype);
    send.shared = 1;
    return among_neighbours(&call, &send, &recv, TUTTI_COLLECTIVE_NEIGHBOR_ALLGATHERV, request);
}

int tutti_door_MPIX_Pneighbor_alltoall_init(const void *sendbuf, int sendpartitions, MPI_Count sendcount,
                                            MPI_Datatype sendtype, void *recvbuf, int recvpartitions,
                                            MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                            MPI_Request *request)
{
    BEGIN(MPIX_Pneighbor_alltoall_init)
    const struct tutti_pcoll_buffer send = pcoll_blocks_of(sendbuf, sendpartitions, 0, sendcount, sendtype);
    const struct tutti_pcoll_buffer recv = pcoll_blocks_of(recvbuf, recvpartitions, 0, recvcount, recvtype);
    return among_neighbours(&call, &send, &recv, TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALL, request);
}

int tutti_door_MPIX_Pneighbor_alltoallv_init(const void *sendbuf, int sendpartitions, const MPI_Count sendcounts[],
                                             const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                                             int recvpartitions, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                             MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    BEGIN(MPIX_Pneighbor_alltoallv_init)
    const struct tutti_pcoll_buffer send = blocks_v(sendbuf, sendpartitions, 0, sendcounts, sdispls, sendtype);
    const struct tutti_pcoll_buffer recv = blocks_v(recvbuf, recvpartitions, 0, recvcounts, rdispls, recvtype);
    return among_neighbours(&call, &send, &recv, TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALLV, request);
}

int tutti_door_MPIX_Pneighbor_alltoallw_init(const void *sendbuf, int sendpartitions, const MPI_Count sendcounts[],
                                             const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                                             int recvpartitions, const MPI_Count recvcounts[], const MPI_Aint rdispls[],
                                             const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                             MPI_Request *request)
{
    BEGIN(MPIX_Pneighbor_alltoallw_init)
    const struct tutti_pcoll_buffer send = blocks_w(sendbuf, sendpartitions, 0, sendcounts, sdispls, sendtypes);
    const struct tutti_pcoll_buffer recv = blocks_w(recvbuf, recvpartitions, 0, recvcounts, rdispls, recvtypes);
    return among_neighbours(&call, &send, &recv, TUTTI_COLLECTIVE_NEIGHBOR_ALLTOALLW, request);
}

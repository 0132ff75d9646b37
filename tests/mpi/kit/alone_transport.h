/* The transport over the MPI itself, for tests of src/mpi/comm without the library: its table of real calls, and its
 * blocking calls. Included by one source of a program. */
#ifndef TUTTI_TESTS_ALONE_TRANSPORT_H
#define TUTTI_TESTS_ALONE_TRANSPORT_H

#include "core/status.h"
#include "mpi/comm/comms.h"
#include "mpi/comm/transfers.h"

#include "alone.h"

static MPI_Comm alone_comm_of(struct tutti_transport *transport)
{
    return ((struct tutti_mpi_transport *)transport)->comm;
}

static int alone_status(int code)
{
    return code == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

static int alone_barrier(struct tutti_transport *transport)
{
    return alone_status(MPI_Barrier(alone_comm_of(transport)));
}

static int alone_allgather(struct tutti_transport *transport, const void *in, void *out, size_t bytes)
{
    return alone_status(MPI_Allgather(in, (int)bytes, MPI_BYTE, out, (int)bytes, MPI_BYTE, alone_comm_of(transport)));
}

static int alone_allreduce(struct tutti_transport *transport, int64_t *words, size_t count, enum tutti_combine how)
{
    return alone_status(
        MPI_Allreduce(MPI_IN_PLACE, words, (int)count, MPI_INT64_T, tutti_transport_op(how), alone_comm_of(transport)));
}

/* One machine, which TUTTI_NODE_RANKS splits. */
static int alone_node_color(struct tutti_transport *transport, int64_t *color)
{
    (void)transport;
    *color = 0;
    return TUTTI_OK;
}

static void alone_progress(struct tutti_transport *transport)
{
    (void)transport;
}

static const struct tutti_transport_ops alone_transport_ops = {
    .barrier = alone_barrier,
    .allgather = alone_allgather,
    .allreduce = alone_allreduce,
    .node_color = alone_node_color,
    .progress = alone_progress,
    .send = tutti_transport_send,
    .receive = tutti_transport_receive,
    .probe = tutti_transport_probe,
    .receive_caught = tutti_transport_receive_caught,
    .test = tutti_transport_test,
    .cancel = tutti_transport_cancel,
    .iallgather = tutti_transport_iallgather,
    .iallreduce = tutti_transport_iallreduce,
    .pending_test = tutti_transport_pending_test,
};

/* Local, behind MPI_Init(). */
static void alone_transport_calls(void)
{
    tutti_handles = (struct tutti_handles){
        .byte = MPI_BYTE, .int64 = MPI_INT64_T, .world = MPI_COMM_WORLD, .min = MPI_MIN, .max = MPI_MAX};
    tutti_next = (struct tutti_next){.MPI_Isend = MPI_Isend,
                                     .MPI_Issend = MPI_Issend,
                                     .MPI_Irecv = MPI_Irecv,
                                     .MPI_Improbe = MPI_Improbe,
                                     .MPI_Imrecv = MPI_Imrecv,
                                     .MPI_Test = MPI_Test,
                                     .MPI_Wait = MPI_Wait,
                                     .MPI_Cancel = MPI_Cancel,
                                     .MPI_Test_cancelled = MPI_Test_cancelled,
                                     .MPI_Request_get_status = MPI_Request_get_status,
                                     .MPI_Get_elements_x = MPI_Get_elements_x,
                                     .MPI_Iallgather = MPI_Iallgather,
                                     .MPI_Iallreduce = MPI_Iallreduce};
}

static void alone_transport(struct tutti_mpi_transport *transport, MPI_Comm comm)
{
    *transport =
        (struct tutti_mpi_transport){.base = {.ops = &alone_transport_ops, .tags = TUTTI_TAGS_LEAST}, .comm = comm};
    MPI_Comm_rank(comm, &transport->base.rank);
    MPI_Comm_size(comm, &transport->base.size);
}

#endif

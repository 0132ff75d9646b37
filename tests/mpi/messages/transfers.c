/* The messages and nonblocking collectives of the transport over the MPI itself: src/mpi/comm/transfers.c by itself,
 * with a table of real calls that is this program's. */
#include "mpi/comm/transfers.h"

#include <dlfcn.h>
#include <stdio.h>

#include "core/status.h"
#include "mpi/comm/comms.h"
#include "support/check.h"
#include "support/messages.h"

struct tutti_next tutti_next;
struct tutti_handles tutti_handles;
__thread int tutti_inside __attribute__((tls_model("initial-exec")));

#ifdef TUTTI_FRONT_OPENMPI
void *tutti_ompi_symbol(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}
#endif

static int barrier(struct tutti_transport *transport)
{
    return MPI_Barrier(((struct tutti_mpi_transport *)transport)->comm) == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

static const struct tutti_transport_ops ops = {
    .barrier = barrier,
    .send = tutti_transport_send,
    .receive = tutti_transport_receive,
    .probe = tutti_transport_probe,
    .receive_caught = tutti_transport_receive_caught,
    .test = tutti_transport_test,
    .cancel = tutti_transport_cancel,
    .ibarrier = tutti_transport_ibarrier,
    .iallgather = tutti_transport_iallgather,
    .ialltoall = tutti_transport_ialltoall,
    .iallreduce = tutti_transport_iallreduce,
    .pending_test = tutti_transport_pending_test,
};

int main(int argc, char **argv)
{
    struct tutti_mpi_transport transport = {.base = {.ops = &ops}};
    unsigned long long seed = check_seed();
    MPI_Init(&argc, &argv);
    tutti_handles = (struct tutti_handles){.byte = MPI_BYTE,
                                           .int64 = MPI_INT64_T,
                                           .min = MPI_MIN,
                                           .max = MPI_MAX,
                                           .sum = MPI_SUM,
                                           .band = MPI_BAND,
                                           .bor = MPI_BOR};
    tutti_next = (struct tutti_next){
        .MPI_Isend = MPI_Isend,
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
        .MPI_Ibarrier = MPI_Ibarrier,
        .MPI_Iallgather = MPI_Iallgather,
        .MPI_Ialltoall = MPI_Ialltoall,
        .MPI_Iallreduce = MPI_Iallreduce,
    };
    transport.comm = MPI_COMM_WORLD;
    MPI_Comm_rank(transport.comm, &transport.base.rank);
    MPI_Comm_size(transport.comm, &transport.base.size);
    check_rank(transport.base.rank);
    MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, transport.comm);
    int failed = messages_run(&transport.base, seed, (int)check_many("TUTTI_TEST_ROUNDS", 40));
    failed |= collectives_run(&transport.base, seed, (int)check_many("TUTTI_TEST_ROUNDS", 40));
    if (transport.base.rank == 0)
        printf("transfers: %ld checks, seed %llu\n", check_done(), seed);
    MPI_Finalize();
    return failed;
}

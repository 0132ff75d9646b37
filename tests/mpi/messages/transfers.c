/* The messages and nonblocking collectives of the transport over the MPI itself: src/mpi/comm/transfers.c by itself,
 * with a table of real calls that is this program's. */
#include <stdio.h>

#include "support/check.h"
#include "support/messages.h"

#include "alone_transport.h"

__thread int tutti_inside __attribute__((tls_model("initial-exec")));

int main(int argc, char **argv)
{
    struct tutti_mpi_transport transport;
    unsigned long long seed = check_seed();
    MPI_Init(&argc, &argv);
    alone_transport_calls();
    alone_transport(&transport, MPI_COMM_WORLD);
    check_rank(transport.base.rank);
    MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, transport.comm);
    int failed = messages_run(&transport.base, seed, (int)check_many("TUTTI_TEST_ROUNDS", 40));
    failed |= collectives_run(&transport.base, seed, (int)check_many("TUTTI_TEST_ROUNDS", 40));
    if (transport.base.rank == 0)
        printf("transfers: %ld checks, seed %llu\n", check_done(), seed);
    MPI_Finalize();
    return failed;
}

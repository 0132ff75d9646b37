/* A plain program on host memory whose ranks do not all have Tutti in front: each call meets its own kind, and no rank
 * finds a message that no rank of the program has sent. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, size, wrong;

static void check(int good, const char *what)
{
    if (!good && wrong++ < 8)
        fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
}

static void collectives(MPI_Comm comm)
{
    int word = rank == 0 ? 4711 : -1, sum = 0, other = rank == 0 ? 11 : -1, all[64] = {0};
    MPI_Request request[2];
    MPI_Bcast(&word, 1, MPI_INT, 0, comm);
    check(word == 4711, "MPI_Bcast");
    MPI_Ibcast(&other, 1, MPI_INT, 0, comm, &request[0]);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request[1]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    check(other == 11, "MPI_Ibcast");
    check(sum == size * (size - 1) / 2, "MPI_Iallreduce");
    sum = 0;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    check(sum == size * (size - 1) / 2, "MPI_Allreduce");
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm);
    check(all[size - 1] == size - 1, "MPI_Allgather");
}

static void messages(void)
{
    int flag = 0, got = -1;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
    check(!flag, "a message is here that no rank has sent");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Request request;
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 5, MPI_COMM_WORLD, &request);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    check(got == (rank + size - 1) % size && status.MPI_SOURCE == got && status.MPI_TAG == 5, "the message");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    messages();
    collectives(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    collectives(comm);
    MPI_Comm_free(&comm);
    int all = 0;
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("mixed: %d ranks, %d wrong\n", size, all);
    MPI_Finalize();
    return wrong != 0;
}

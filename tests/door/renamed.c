/* A program with Open MPI 4.1's own persistent collectives, compiled with other names for them, and linked with
 * libtutti.so: device memory is reduced and moved by Tutti. Under other MPIs there is nothing to test. */
#define MPIX_Allreduce_init MPI_Allreduce_init
#define MPIX_Alltoall_init  MPI_Alltoall_init
#define MPIX_Barrier_init   MPI_Barrier_init
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdio.h>

#include "tutti/tutti.h"

#ifndef OMPI_HAVE_MPI_EXT_PCOLLREQ
int main(void)
{
    puts("renamed: skipped: the MPI has no such calls");
    return 77;
}
#else
enum { N = 3000, RANKS = 8, STARTS = 4, CALLS = 3 };

static int value(int rank, int start, int i)
{
    return rank * 1000 + start * 10 + i;
}

int main(int argc, char **argv)
{
    static int in[N * RANKS], out[2][N * RANKS];
    void *device[3];
    MPI_Request request[CALLS];
    int size, rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int n = N * size;
    if (size > RANKS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < 3; i++) {
        if (tutti_alloc(sizeof in, &device[i]) != 0)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPIX_Allreduce_init(device[0], device[1], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request[0]);
    MPIX_Alltoall_init(device[0], N, MPI_INT, device[2], N, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request[1]);
    MPIX_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request[2]);
    for (int start = 0; start < STARTS; start++) {
        for (int i = 0; i < n; i++)
            in[i] = value(rank, start, i);
        tutti_copy(device[0], in, sizeof in);
        MPI_Startall(CALLS, request);
        MPI_Waitall(CALLS, request, MPI_STATUSES_IGNORE);
        for (int i = 0; i < 2; i++)
            tutti_copy(out[i], device[1 + i], sizeof in);
        for (int i = 0; i < n; i++) {
            int sum = 0;
            for (int r = 0; r < size; r++)
                sum += value(r, start, i);
            wrong += out[0][i] != sum;
            wrong += out[1][i] != value(i / N, start, rank * N + i % N);
        }
    }
    for (int i = 0; i < CALLS; i++)
        MPI_Request_free(&request[i]);
    for (int i = 0; i < 3; i++)
        tutti_free(device[i]);
    MPI_Finalize();
    if (rank == 0)
        printf("renamed: %d wrong\n", wrong);
    return wrong != 0;
}
#endif

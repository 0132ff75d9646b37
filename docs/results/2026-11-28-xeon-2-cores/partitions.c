/* partitions SENDS RECEIVES ROUNDS BYTES: a partitioned message of host memory between two ranks, all of whose partitions
 * are marked one by one as soon as the round has been started. Best and mean time of a round. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    const int sends = atoi(argv[1]), receives = atoi(argv[2]), rounds = atoi(argv[3]);
    const long bytes = atol(argv[4]);
    int rank;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *memory = calloc((size_t)bytes, 1);
    if (rank == 0)
        MPI_Psend_init(memory, sends, bytes / sends, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(memory, receives, bytes / receives, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    double best = 1e9, sum = 0;
    for (int i = 0; i < rounds; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double time = -MPI_Wtime();
        MPI_Start(&request);
        for (int p = 0; rank == 0 && p < sends; p++)
            MPI_Pready(p, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        time += MPI_Wtime();
        best = time < best ? time : best;
        sum += time;
    }
    if (rank == 0)
        printf("%d partitions of %ld bytes: best %.3f mean %.3f ms\n", sends, bytes / sends, best * 1e3,
               sum / rounds * 1e3);
    MPI_Request_free(&request);
    free(memory);
    MPI_Finalize();
    return 0;
}

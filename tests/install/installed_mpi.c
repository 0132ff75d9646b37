/* A program that knows nothing of Tutti: one sum, checked. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, size, sum = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    rank++;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    if (sum != size * (size + 1) / 2) {
        fprintf(stderr, "rank %d of %d: the sum is %d\n", rank - 1, size, sum);
        return 1;
    }
    return 0;
}

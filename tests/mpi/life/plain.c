/* A program that knows nothing of Tutti and has no device memory: what it prints, and where, must not change under it.
 * With an argument it keeps its numbers in memory from MPI_Alloc_mem. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    enum { COUNT = 1000 };
    int rank, size, wrong = 0;
    double *in, *out;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1) {
        MPI_Alloc_mem(COUNT * sizeof *in, MPI_INFO_NULL, &in);
        MPI_Alloc_mem(COUNT * sizeof *out, MPI_INFO_NULL, &out);
    } else {
        in = malloc(COUNT * sizeof *in);
        out = malloc(COUNT * sizeof *out);
    }
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < COUNT; i++)
            in[i] = rank + i * round;
        MPI_Allreduce(in, out, COUNT, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < COUNT; i++)
            wrong += out[i] != size * (size - 1) / 2 + (double)size * i * round;
    }
    MPI_Bcast(out, COUNT, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Reduce(rank ? &wrong : MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d wrong\n", size, wrong);
    if (argc > 1) {
        MPI_Free_mem(in);
        MPI_Free_mem(out);
    } else {
        free(in);
        free(out);
    }
    MPI_Finalize();
    return wrong != 0;
}

/* An ordinary MPI program: sums on the memory that MPI_Alloc_mem gives, in place and not, on duplicated communicators.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static void check(int good, const char *what)
{
    if (!good && !wrong++)
        fprintf(stderr, "wrong: %s\n", what);
}

static void sum(MPI_Comm comm, int n)
{
    int rank, size;
    float *in, *out;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Alloc_mem((MPI_Aint)n * (MPI_Aint)sizeof *in, MPI_INFO_NULL, &in);
    MPI_Alloc_mem((MPI_Aint)n * (MPI_Aint)sizeof *out, MPI_INFO_NULL, &out);
    for (int i = 0; i < n; i++) {
        in[i] = (float)(i % 1000 + rank);
        out[i] = -1;
    }
    MPI_Allreduce(in, out, n, MPI_FLOAT, MPI_SUM, comm);
    for (int i = 0; i < n; i++)
        check(out[i] == (float)(i % 1000 * size + size * (size - 1) / 2), "sum");
    MPI_Allreduce(MPI_IN_PLACE, in, n, MPI_FLOAT, MPI_MAX, comm);
    for (int i = 0; i < n; i++)
        check(in[i] == (float)(i % 1000 + size - 1), "max in place");
    MPI_Free_mem(in);
    MPI_Free_mem(out);
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    for (int n = 1; n <= 1 << 20; n *= 4) {
        sum(MPI_COMM_WORLD, n);
        sum(MPI_COMM_SELF, n);
    }
    for (int i = 0; i < 50; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        sum(copy, 100 + i);
        MPI_Comm_free(&copy);
    }
    MPI_Finalize();
    return wrong != 0;
}

/* First calls on new communicators. Rank 0 never has device memory, the last rank has.
 * - A root of host memory leaves the first MPI_Bcast before the others enter it, as under the plain MPI.
 * - The first reductions meet where some ranks bring device memory: results are right on all. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tutti/tutti.h"

enum { COUNT = 700, ROUNDS = 8 };
static int rank, size, wrong;
static void *near_in, *near_out;

static void check(int good, const char *what, int got)
{
    if (!good && wrong++ < 8)
        fprintf(stderr, "rank %d: wrong: %s (%d)\n", rank, what, got);
}

/* Rank 1 comes to the broadcast only when rank 0 has left it. */
static void leaves_first(void)
{
    MPI_Comm comm;
    int word = rank == 0 ? 31 : 0, gone = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (rank > 0)
        MPI_Recv(&gone, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&word, 1, MPI_INT, 0, comm);
    for (int r = 1; rank == 0 && r < size; r++)
        MPI_Send(&word, 1, MPI_INT, r, 3, MPI_COMM_WORLD);
    check(word == 31, "MPI_Bcast", word);
    MPI_Comm_free(&comm);
}

static void sums(MPI_Comm comm, int scatter)
{
    int in[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++)
        in[i] = rank * 3 + i;
    void *from = near_in ? near_in : in, *to = near_in ? near_out : out;
    if (near_in)
        tutti_copy(from, in, sizeof in);
    if (scatter)
        MPI_Reduce_scatter_block(from, to, COUNT / size, MPI_INT, MPI_SUM, comm);
    else
        MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, comm);
    if (near_in)
        tutti_copy(out, to, sizeof out);
    for (int i = 0; i < (scatter ? COUNT / size : COUNT); i++)
        check(out[i] == 3 * size * (size - 1) / 2 + size * (scatter ? rank * (COUNT / size) + i : i), "a sum", i);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leaves_first();
    if (rank == size - 1 && (tutti_alloc(COUNT * sizeof(int), &near_in) || tutti_alloc(COUNT * sizeof(int), &near_out)))
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Comm comm;
        int word = rank == 0 ? i : -1;
        MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -rank : rank, &comm);
        MPI_Comm_free(&comm); /* one that never has a call */
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (i % 4 == 2)
            MPI_Bcast(&word, 1, MPI_INT, 0, comm);
        for (int k = 0; k < i % 3 + 1; k++)
            sums(comm, (i + k) % 2);
        check(i % 4 != 2 || word == i, "MPI_Bcast before", word);
        MPI_Comm_free(&comm);
    }
    MPI_Comm kept; /* and has one call */
    int last = rank == 0 ? 17 : 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &kept);
    MPI_Bcast(&last, 1, MPI_INT, 0, kept);
    check(last == 17, "MPI_Bcast on a communicator that is not freed", last);
    tutti_free(near_in);
    tutti_free(near_out);
    MPI_Finalize();
    return wrong != 0;
}

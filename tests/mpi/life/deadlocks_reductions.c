/* Reductions that Tutti leaves to the MPI as they are. Ranks must see all the same which ranks have arrived at them. */
#include "deadlocks.h"

enum { RANKS_MOST = 8 };

int still_reduce_nothing(MPI_Comm comm, int first)
{
    int value = 7;
    (void)first;
    return MPI_Allreduce(MPI_IN_PLACE, &value, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && value == 7;
}

int still_scatter_nothing(MPI_Comm comm, int first)
{
    const int counts[RANKS_MOST] = {0};
    int value = 7, result = 9;
    (void)first;
    return MPI_Reduce_scatter(&value, &result, counts, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && result == 9;
}

static void own_sum(void *in_buffer, void *inout, int *n, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((const int *)in_buffer)[i];
}

int still_reduce_by_own(MPI_Comm comm, int first)
{
    int one = 1, sum = 0, size;
    MPI_Op op;
    (void)first;
    MPI_Comm_size(comm, &size);
    MPI_Op_create(own_sum, 1, &op);
    const int error = MPI_Allreduce(&one, &sum, 1, MPI_INT, op, comm);
    MPI_Op_free(&op);
    return error == MPI_SUCCESS && sum == size;
}

/* A library of the program's defines MPIX_Allreduce_init with handles of its own. Its call gets its arguments as they
 * are, before and after an allreduce of device memory, which Tutti makes. */
#include <mpi.h>
#include <stdio.h>

#include "same_name.h"
#include "tutti/tutti.h"

static int wrong;

static void one(const char *when)
{
    static char at[8];
    const int code =
        MPIX_Allreduce_init(&at[0], &at[1], -3, 0x123456789aL, -5, (void *)&at[2], (void *)&at[3], (void *)&at[4]);
    const struct same_name_call *got = &same_name_call;
    if (code == 77 && got->send == &at[0] && got->receive == &at[1] && got->count == -3 && got->type == 0x123456789aL &&
        got->op == -5 && (void *)got->comm == &at[2] && (void *)got->info == &at[3] && (void *)got->request == &at[4])
        return;
    wrong++;
    fprintf(stderr, "wrong: %s, the library's call has returned %d, or has other arguments\n", when, code);
}

int main(int argc, char **argv)
{
    enum { N = 1000 };
    int values[N], size, rank;
    void *device;
    one("before MPI_Init");
    MPI_Init(&argc, &argv);
    one("after MPI_Init");
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N; i++)
        values[i] = rank + i;
    if (tutti_alloc(sizeof values, &device) != 0 || tutti_copy(device, values, sizeof values) != 0)
        return 1;
    MPI_Allreduce(MPI_IN_PLACE, device, N, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tutti_copy(values, device, sizeof values);
    for (int i = 0; i < N; i++)
        wrong += values[i] != size * i + size * (size - 1) / 2;
    one("after a call of device memory");
    tutti_free(device);
    MPI_Finalize();
    if (rank == 0)
        printf("same_names: %d wrong\n", wrong);
    return wrong != 0;
}

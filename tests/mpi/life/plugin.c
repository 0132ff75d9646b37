/* An MPI program as a shared object, as scripting languages have it; dlopened.c runs it. */
#include "plugin.h"

#include <mpi.h>
#include <stdio.h>

#include "tutti/tutti.h"

int plugin_run(void)
{
    enum { COUNT = 500 };
    int rank, size, wrong = 0, in[COUNT], out[COUNT];
    void *from = NULL, *to = NULL;
    MPI_Init(NULL, NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COUNT; i++)
        in[i] = rank + i;
    MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        wrong += out[i] != size * (size - 1) / 2 + size * i;
    if (tutti_alloc(sizeof in, &from) != 0 || tutti_alloc(sizeof out, &to) != 0 || tutti_copy(from, in, sizeof in) != 0)
        return 2;
    if (MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD) != MPI_SUCCESS ||
        tutti_copy(out, to, sizeof out) != 0)
        return 3;
    for (int i = 0; i < COUNT; i++)
        wrong += out[i] != size * (size - 1) / 2 + size * i;
    tutti_free(from);
    tutti_free(to);
    MPI_Finalize();
    if (rank == 0)
        printf("dlopened: %d ranks, %d wrong\n", size, wrong);
    return wrong != 0;
}

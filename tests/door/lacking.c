/* A program that looks for MPI 4's large-count calls before it uses them, as some do: those that it finds work,
 * also if the MPI lacks them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#if MPI_VERSION < 4
int MPI_Allreduce_c(const void *, void *, MPI_Count, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Allgatherv_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count[], const MPI_Aint[], MPI_Datatype,
                     MPI_Comm);
int MPI_Iallgatherv_c(const void *, MPI_Count, MPI_Datatype, void *, const MPI_Count[], const MPI_Aint[], MPI_Datatype,
                      MPI_Comm, MPI_Request *);
int MPI_Pack_c(const void *, MPI_Count, MPI_Datatype, void *, MPI_Count, MPI_Count *, MPI_Comm);
int MPI_Send_c(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
#endif
#pragma weak MPI_Allreduce_c
#pragma weak MPI_Allgatherv_c
#pragma weak MPI_Iallgatherv_c
#pragma weak MPI_Pack_c
#pragma weak MPI_Send_c

static int wrong, rank, size;

static void check(int good, const char *what)
{
    if (!good && wrong++ < 5)
        fprintf(stderr, "rank %d: wrong: %s\n", rank, what);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!MPI_Allreduce_c || !MPI_Allgatherv_c || !MPI_Iallgatherv_c || !MPI_Pack_c || !MPI_Send_c) {
        MPI_Finalize();
        return 77;
    }
    int one = 1, sum = 0;
    check(MPI_Allreduce_c(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS && sum == size, "allreduce");

    MPI_Count *counts = malloc((size_t)size * sizeof *counts);
    MPI_Aint *places = malloc((size_t)size * sizeof *places);
    int *mine = malloc((size_t)(rank + 1) * sizeof *mine), *all = calloc((size_t)size * (size_t)size, sizeof *all);
    for (int i = 0; i <= rank; i++)
        mine[i] = 10 * rank + i;
    for (int r = 0; r < size; r++) {
        counts[r] = r + 1;
        places[r] = (MPI_Aint)r * size;
    }
    for (int turn = 0; turn < 200; turn++) {
        MPI_Request request = MPI_REQUEST_NULL;
        for (int i = 0; i < size * size; i++)
            all[i] = -1;
        int code = turn % 2 ? MPI_Allgatherv_c(mine, rank + 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD)
                            : MPI_Iallgatherv_c(mine, rank + 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD,
                                                &request);
        check(code == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS, "allgatherv");
        for (int i = 0; i < size * size; i++)
            check(all[i] == (i % size <= i / size ? 10 * (i / size) + i % size : -1), "allgatherv's values");
    }

    char packed[256];
    MPI_Count position = 0;
    check(MPI_Pack_c(mine, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD) == MPI_SUCCESS &&
              position == (MPI_Count)sizeof(int),
          "pack");
    /* A count that a plain call cannot carry is refused, not cut. */
    if (MPI_VERSION < 4)
        check(MPI_Send_c(mine, (MPI_Count)1 << 32, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD) != MPI_SUCCESS,
              "a count beyond 2^31");
    free(counts);
    free(places);
    free(mine);
    free(all);
    MPI_Finalize();
    return wrong != 0;
}

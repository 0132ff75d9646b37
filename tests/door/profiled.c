/* profiled names|finds|inner: a program with host and device memory, with a profiling library (profiler.c) beside
 * Tutti, before or behind it in the search order. names: it sees every call of the program once, and none of Tutti's.
 * finds, inner: behind Tutti it sees what Tutti hands to the MPI. In each case Tutti is in front, and the results are
 * right. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "tutti/tutti.h"

enum { COUNT = 3000, ROUNDS = 3 };
static int rank, size, wrong;

static void check(int good, const char *what, int got)
{
    if (!good && wrong++ < 8)
        fprintf(stderr, "rank %d: wrong: %s (%d)\n", rank, what, got);
}

static int seen(const char *name)
{
    int (*calls)(const char *);
    *(void **)(void *)&calls = dlsym(RTLD_DEFAULT, "profiler_calls");
    return calls ? calls(name) : -1;
}

static void sums(int *in, int *out, int on_device)
{
    int host[COUNT];
    for (int i = 0; i < COUNT; i++)
        host[i] = rank + i;
    if (on_device)
        tutti_copy(in, host, sizeof host);
    else
        memcpy(in, host, sizeof host);
    MPI_Allreduce(in, out, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (on_device)
        tutti_copy(host, out, sizeof host);
    else
        memcpy(host, out, sizeof host);
    for (int i = 0; i < COUNT; i++)
        check(host[i] == size * (size - 1) / 2 + size * i, "an element of MPI_Allreduce", i);
}

static void ring(int *in, int *out)
{
    const int to = (rank + 1) % size, from = (rank + size - 1) % size;
    int got = -1, mine = rank;
    tutti_copy(in, &mine, sizeof mine);
    if (rank % 2 == 0)
        MPI_Send(in, COUNT, MPI_INT, to, 1, MPI_COMM_WORLD);
    MPI_Recv(out, COUNT, MPI_INT, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 == 1)
        MPI_Send(in, COUNT, MPI_INT, to, 1, MPI_COMM_WORLD);
    tutti_copy(&got, out, sizeof got);
    check(got == from, "the message", got);
}

int main(int argc, char **argv)
{
    static int in[COUNT], out[COUNT];
    void *near_in = NULL, *near_out = NULL;
    const char *how = argc > 1 ? argv[1] : "names";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (tutti_alloc(sizeof in, &near_in) != 0 || tutti_alloc(sizeof in, &near_out) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < ROUNDS; i++) {
        sums(in, out, 0);
        sums(near_in, near_out, 1);
        ring(near_in, near_out);
        MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    check(seen("MPI_Init") == 1, "calls of MPI_Init that were seen", seen("MPI_Init"));
    if (strcmp(how, "names") == 0) {
        check(seen("MPI_Bcast") == ROUNDS, "calls of MPI_Bcast", seen("MPI_Bcast"));
        check(seen("MPI_Allreduce") == 2 * ROUNDS, "calls of MPI_Allreduce", seen("MPI_Allreduce"));
        check(seen("MPI_Send") == ROUNDS, "calls of MPI_Send", seen("MPI_Send"));
        check(seen("MPI_Recv") == ROUNDS, "calls of MPI_Recv", seen("MPI_Recv"));
    } else {
        check(seen("MPI_Bcast") >= ROUNDS, "calls of MPI_Bcast", seen("MPI_Bcast"));
        check(seen("MPI_Allreduce") >= ROUNDS, "calls of MPI_Allreduce", seen("MPI_Allreduce"));
    }
    tutti_free(near_in);
    tutti_free(near_out);
    MPI_Finalize();
    check(seen("MPI_Finalize") == 1, "calls of MPI_Finalize", seen("MPI_Finalize"));
    return wrong != 0;
}

/* MPI_Finalize behind calls after which Open MPI's nonblocking collectives on MPI_COMM_WORLD do not match any more: an
 * MPI_Ialltoallv or MPI_Ialltoallw in place in which all counts of some ranks are 0, and those of others are not. The
 * program makes no other nonblocking collective, so that it ends without the library. Host memory alone.
 *   uneven v|w      An alarm ends a rank that hangs. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mpi.h>

enum { SECONDS = 20, RANKS_MOST = 16 };

static void too_long(int signal)
{
    static const char line[] = "FAILED: MPI_Finalize hangs\n";
    (void)signal;
    (void)!write(2, line, sizeof line - 1);
    _exit(3);
}

int main(int argc, char **argv)
{
    int rank, size, counts[RANKS_MOST] = {0}, at[RANKS_MOST] = {0}, value[2] = {4711, 4712};
    MPI_Datatype types[RANKS_MOST];
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 || size > RANKS_MOST)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int r = 0; r < size; r++)
        types[r] = MPI_INT;
    counts[0] = rank == 0; /* for itself */
    int error = strcmp(argv[1], "v") == 0 ? MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, value, counts,
                                                           at, MPI_INT, MPI_COMM_WORLD, &request)
                                          : MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, value, counts, at, types,
                                                           MPI_COMM_WORLD, &request);
    error |= MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS || value[0] != 4711 || value[1] != 4712)
        printf("FAILED: rank %d has %d %d, error %d\n", rank, value[0], value[1], error);
    signal(SIGALRM, too_long);
    alarm(SECONDS);
    MPI_Finalize();
    return error != MPI_SUCCESS || value[0] != 4711 || value[1] != 4712;
}

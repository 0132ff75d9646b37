/* Error handlers of communicators are as the MPI has them: in MPICH a duplicate of MPI_COMM_WORLD or of MPI_COMM_SELF
 * made before the program has set a handler follows that of MPI_COMM_WORLD, so that errors come back once it is
 * MPI_ERRORS_RETURN.
 *
 *   errhandler world|self */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Comm copy;
    int rank, word = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(argc > 1 && strcmp(argv[1], "self") == 0 ? MPI_COMM_SELF : MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Send(&word, 1, MPI_INT, 1000, 0, copy);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("errhandler: the error came back: %s\n", code == MPI_SUCCESS ? "no" : "yes");
    MPI_Comm_free(&copy);
    MPI_Finalize();
    return code == MPI_SUCCESS;
}

/* A plain MPI program for the tests of `tutti run`: says what it sees and ends with the status it is asked for, or,
 * asked to stay, not by itself. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, length, sum = 0;
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Get_library_version(library, &length);
    if (rank == 0) {
        printf("library %s\n", library);
        const char *preload = getenv("LD_PRELOAD"), *device = getenv("TUTTI_DEVICE");
        printf("ranks %d sum %d\npreload %s\ndevice %s\n", size, sum, preload ? preload : "-", device ? device : "-");
        for (int i = 1; i < argc; i++)
            printf("argument %d <%s>\n", i, argv[i]);
    }
    while (argc > 1 && strcmp(argv[1], "stay") == 0)
        pause();
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}

/* What the door costs a program that has no device memory: nanoseconds of an 8-byte MPI_Allreduce, called by its name
 * and by the MPI's own address, in turns within one run, the least of each. Arguments: calls of one turn, turns. The
 * exit status says whether the result was right. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double turn(allreduce *call, int calls, MPI_Comm comm, int *wrong)
{
    int size;
    long one = 1, sum = 0;
    MPI_Comm_size(comm, &size);
    double start = now();
    for (int i = 0; i < calls; i++) {
        call(&one, &sum, 1, MPI_LONG, MPI_SUM, comm);
        *wrong += sum != size;
    }
    return (now() - start) / calls;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    int calls = argc > 1 ? atoi(argv[1]) : 20000, turns = argc > 2 ? atoi(argv[2]) : 25, rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    allreduce *plain = NULL;
    void *mpi = NULL;
    static const char *const names[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1"};
    for (int i = 0; i < 4 && !plain; i++) {
        mpi = dlopen(names[i], RTLD_LAZY | RTLD_NOLOAD);
        *(void **)&plain = mpi ? dlsym(mpi, "PMPI_Allreduce") : NULL;
    }
    double *with = malloc((size_t)turns * sizeof *with), *without = malloc((size_t)turns * sizeof *without);
    for (int comms = 0; plain && comms < 2; comms++) {
        MPI_Comm comm = comms ? MPI_COMM_WORLD : MPI_COMM_SELF;
        turn(MPI_Allreduce, calls, comm, &wrong);
        for (int i = 0; i < turns; i++) {
            without[i] = turn(plain, calls, comm, &wrong);
            with[i] = turn(MPI_Allreduce, calls, comm, &wrong);
        }
        qsort(with, (size_t)turns, sizeof *with, by_value);
        qsort(without, (size_t)turns, sizeof *without, by_value);
        if (rank == 0)
            printf("%s: %.1f ns without, %.1f ns with: %+.1f ns (least of %d turns)\n",
                   comms ? "MPI_COMM_WORLD" : "MPI_COMM_SELF", without[0], with[0], with[0] - without[0], turns);
    }
    free(with);
    free(without);
    MPI_Finalize();
    return wrong || !plain;
}

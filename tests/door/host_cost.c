/* What the door costs a program that has no device memory: nanoseconds of reductions of 8 bytes a rank, called by their
 * names and by the MPI's own addresses, in turns within one run, the least of each. Arguments: calls of one turn,
 * turns. The exit status says whether the results were right. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef int vector(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);
typedef int rooted(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
typedef int scattered(const void *, void *, const int[], MPI_Datatype, MPI_Op, MPI_Comm);
typedef int local(const void *, void *, int, MPI_Datatype, MPI_Op);

enum call { ALLREDUCE, SCAN, EXSCAN, BLOCK, REDUCE, SCATTER, LOCAL, CALLS };
static const char *const names[CALLS] = {
    "MPI_Allreduce", "MPI_Scan",           "MPI_Exscan",      "MPI_Reduce_scatter_block",
    "MPI_Reduce",    "MPI_Reduce_scatter", "MPI_Reduce_local"};
union function {
    void *any;
    vector *vector;
    rooted *rooted;
    scattered *scattered;
    local *local;
};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

enum { RANKS = 64 };

static double turn(enum call what, union function f, int calls, MPI_Comm comm, int *wrong)
{
    int size, rank, counts[RANKS];
    long ones[RANKS], sum = 0, want;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    for (int r = 0; r < RANKS; r++)
        ones[r] = counts[r] = 1;
    want = what == SCAN ? rank + 1 : what == EXSCAN ? rank : what == REDUCE && rank ? 0 : size;
    double start = now();
    for (int i = 0; i < calls; i++) {
        if (what == REDUCE)
            f.rooted(ones, &sum, 1, MPI_LONG, MPI_SUM, 0, comm);
        else if (what == SCATTER)
            f.scattered(ones, &sum, counts, MPI_LONG, MPI_SUM, comm);
        else if (what == LOCAL)
            f.local(ones, &sum, 1, MPI_LONG, MPI_SUM);
        else
            f.vector(ones, &sum, 1, MPI_LONG, MPI_SUM, comm);
        if (what == LOCAL)
            *wrong += sum != i + 1;
        else
            *wrong += sum != want;
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
    union function with[CALLS] = {{.vector = MPI_Allreduce},  {.vector = MPI_Scan},
                                  {.vector = MPI_Exscan},     {.vector = MPI_Reduce_scatter_block},
                                  {.rooted = MPI_Reduce},     {.scattered = MPI_Reduce_scatter},
                                  {.local = MPI_Reduce_local}};
    void *mpi = NULL;
    static const char *const libraries[] = {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi_abi.so.1"};
    for (int i = 0; i < 4 && !mpi; i++)
        mpi = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
    double *of[2] = {malloc((size_t)turns * sizeof(double)), malloc((size_t)turns * sizeof(double))};
    for (int what = 0; mpi && what < CALLS; what++) {
        char name[64];
        snprintf(name, sizeof name, "P%s", names[what]);
        union function plain = {dlsym(mpi, name)};
        for (int comms = what == LOCAL; plain.any && comms < 2; comms++) {
            MPI_Comm comm = comms ? MPI_COMM_WORLD : MPI_COMM_SELF;
            turn((enum call)what, with[what], calls, comm, &wrong);
            for (int i = 0; i < turns; i++) {
                MPI_Barrier(MPI_COMM_WORLD);
                of[0][i] = turn((enum call)what, plain, calls, comm, &wrong);
                MPI_Barrier(MPI_COMM_WORLD);
                of[1][i] = turn((enum call)what, with[what], calls, comm, &wrong);
            }
            qsort(of[0], (size_t)turns, sizeof *of[0], by_value);
            qsort(of[1], (size_t)turns, sizeof *of[1], by_value);
            if (rank == 0)
                printf("%-24s %-14s %.1f ns without, %.1f ns with: %+.1f ns (least of %d turns)\n", names[what],
                       comms ? "MPI_COMM_WORLD" : "MPI_COMM_SELF", of[0][0], of[1][0], of[1][0] - of[0][0], turns);
        }
        wrong += !plain.any;
    }
    free(of[0]);
    free(of[1]);
    MPI_Finalize();
    return wrong || !mpi;
}

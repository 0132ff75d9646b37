/* The fast path takes nothing from the heap and gives nothing back: what the libraries do in calls on device memory,
 * after warm-up, by the address from which malloc() and its kin are called, of all threads. `limits` says what may be.
 *
 *   allocations          every call keeps its limit; prints what is taken a call
 *   allocations breach   with an allocation of another library in each call, which must be seen */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "breach.h"
#include "support/allocations.h"
#include "tutti/tutti.h"

enum { CALLS = 1000, WARM = 200, BYTES = 64 << 10 };

static char *in, *out, *packed;
static int rank, size;
static MPI_Datatype strided;

static void allreduce(int count)
{
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void reduce(int count)
{
    MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}

static void block(int count)
{
    MPI_Reduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void scan(int count)
{
    MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void host_allreduce(int count)
{
    static double from[1], to[1];
    MPI_Allreduce(from, to, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void host_sendrecv(int count)
{
    static double from[1], to[1];
    MPI_Sendrecv(from, count, MPI_DOUBLE, (rank + 1) % size, 7, to, count, MPI_DOUBLE, (rank + size - 1) % size, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sendrecv(int count)
{
    MPI_Sendrecv(in, count, MPI_DOUBLE, (rank + 1) % size, 7, out, count, MPI_DOUBLE, (rank + size - 1) % size, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sendrecv_strided(int count)
{
    MPI_Sendrecv(in, count, strided, (rank + 1) % size, 7, out, count, strided, (rank + size - 1) % size, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void bcast(int count)
{
    MPI_Bcast(in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* Left to the MPI, since the other ranks have host memory. */
static void ibcast_mixed(int count)
{
    static double host[1];
    MPI_Request request;
    MPI_Ibcast(rank == 0 ? (void *)in : host, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void pack(int count)
{
    int at = 0;
    MPI_Pack(in, count, strided, packed, BYTES, &at, MPI_COMM_WORLD);
}

/* What one call may take, and as often give back, on average. A number may only go down; the law is 0. Where it is
 * more, something rare is no breach, as a table that grows. Which way a message takes depends on who comes first. */
enum { RARE_ONE_IN = 10 };
static const struct {
    const char *name;
    void (*call)(int count);
    int count;
    double most;
} limits[] = {
    {"MPI_Allreduce of 8 bytes", allreduce, 1, 0},
    {"MPI_Allreduce of 2 KiB", allreduce, 256, 0},
    {"MPI_Allreduce of 32 KiB", allreduce, 4096, 0},
    {"MPI_Reduce of 8 bytes", reduce, 1, 0},
    {"MPI_Reduce_scatter_block of 8 bytes", block, 1, 0},
    {"MPI_Scan of 8 bytes", scan, 1, 0},
    {"MPI_Allreduce of host memory", host_allreduce, 1, 0},
    {"MPI_Sendrecv of host memory", host_sendrecv, 1, 0},
    {"MPI_Sendrecv of 8 bytes", sendrecv, 1, 0},
    {"MPI_Sendrecv of 2 KiB", sendrecv, 256, 1},
    {"MPI_Sendrecv of 8 KiB", sendrecv, 1024, 4},
    {"MPI_Sendrecv of a strided type", sendrecv_strided, 16, 6},
    {"MPI_Bcast of 8 bytes", bcast, 1, 1},
    {"MPI_Bcast of 8 KiB", bcast, 1024, 7},
    {"MPI_Ibcast of 8 bytes, host memory on other ranks", ibcast_mixed, 1, 1},
    {"MPI_Pack of a strided type", pack, 4, 1},
};

int main(int argc, char **argv)
{
    int failed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int breaks = argc > 1 && strcmp(argv[1], "breach") == 0;
    MPI_Type_vector(64, 1, 2, MPI_DOUBLE, &strided);
    MPI_Type_commit(&strided);
    if (tutti_alloc(BYTES, (void **)&in) || tutti_alloc(BYTES, (void **)&out) || tutti_alloc(BYTES, (void **)&packed)) {
        printf("no device memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    static const char zeros[BYTES];
    tutti_copy(in, zeros, BYTES);

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        for (int n = 0; n < WARM; n++)
            limits[i].call(limits[i].count);
        MPI_Barrier(MPI_COMM_WORLD);
        int libraries = allocations_begin();
        for (int n = 0; n < CALLS; n++) {
            limits[i].call(limits[i].count);
            if (breaks)
                breach();
        }
        struct allocations were = allocations_end();
        double mine[2] = {(double)were.taken / CALLS, (double)were.given_back / CALLS}, most[2];
        MPI_Reduce(mine, most, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%s: at most %.3f taken and %.3f given back a call and rank; the limit is %g%s\n", limits[i].name,
                   most[0], most[1], limits[i].most,
                   most[0] < limits[i].most - 1.0 - 1.0 / RARE_ONE_IN ? " and can go down" : "");
        const double limit = limits[i].most + (limits[i].most > 0 ? 1.0 / RARE_ONE_IN : 0);
        int over = mine[0] > limit || mine[1] > limit;
        if (over && !breaks) {
            printf("%s: rank %d: %.3f taken, %.3f given back a call: TOO MANY\n", limits[i].name, rank, mine[0],
                   mine[1]);
            allocations_tell();
        }
        /* The breach is seen in every call, and none may be where the limit is 0. */
        failed |= breaks ? mine[0] < 1 || mine[1] < 1 || (limits[i].most == 0 && !over) : over;
        if (libraries < 3 + breaks) { /* stub, front end, core */
            printf("rank %d: %d libraries of the project are loaded: they are not in front\n", rank, libraries);
            failed = 1;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    tutti_free(in);
    tutti_free(out);
    tutti_free(packed);
    MPI_Type_free(&strided);
    MPI_Finalize();
    if (breaks)
        printf("rank %d: the breach %s\n", rank, failed ? "was not seen in all calls" : "was seen in all calls");
    return failed;
}

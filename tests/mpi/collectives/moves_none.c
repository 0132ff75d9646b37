/* Collectives on device memory whose ranks have no elements: no row of the statistics names a way in which data moved.
 * One with elements is counted as before. Needs TUTTI_STATS=1. */
#include "kit.h"

static const char *const calls[] = {"MPI_Bcast", "MPI_Allgather", "MPI_Alltoall", "MPI_Gather", "MPI_Ibcast"};
enum { CALLS = sizeof calls / sizeof *calls, COUNT = 4096 };
static struct kit_buffer in, out;

static void each(int count)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    const size_t bytes = (size_t)(kit_size * COUNT) * sizeof(int);
    void *from = kit_put(&in, 0, NULL, bytes), *to = kit_put(&out, 0, NULL, bytes);
    MPI_Bcast(from, count, MPI_INT, 0, comm);
    MPI_Allgather(from, count, MPI_INT, to, count, MPI_INT, comm);
    MPI_Alltoall(from, count, MPI_INT, to, count, MPI_INT, comm);
    MPI_Gather(from, count, MPI_INT, to, count, MPI_INT, 0, comm);
    MPI_Ibcast(from, count, MPI_INT, 0, comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const size_t bytes = (size_t)(kit_size * COUNT) * sizeof(int);
    kit_open(&in, KIT_DEVICE, bytes);
    kit_open(&out, KIT_DEVICE, bytes);
    each(0);
    for (int i = 0; i < CALLS; i++)
        CHECK(kit_plain || kit_counted(calls[i], "fetched from each other") == 0,
              "%s of no elements is counted as fetched", calls[i]);
    each(COUNT);
    for (int i = 0; i < CALLS; i++)
        CHECK(kit_plain || kit_counted(calls[i], "fetched from each other") == 1,
              "%s of elements is counted %d times as fetched", calls[i],
              (int)kit_counted(calls[i], "fetched from each other"));
    kit_close(&in);
    kit_close(&out);
    return kit_end("calls of no elements");
}

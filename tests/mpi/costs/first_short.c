/* The first short calls of a process whose GPU is its own, where opening is slow (TUTTI_HOST_MAPPING_US): a benchmark's
 * warm-up of 100 calls has the opening in it, and few calls are staged. Argument: the call. Needs TUTTI_STATS=1. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { WARM = 100, LEAST = 5, BYTES = 8 };
static const char first[] = "first calls of a communicator";
static struct kit_buffer out, in;

/* One call with its barrier, as benchmarks make them. */
static void one(const char *call)
{
    char *const to = kit_put(&in, 0, NULL, BYTES * (size_t)kit_size);
    const char *const from = kit_put(&out, 0, "12345678", BYTES);
    if (!strcmp(call, "MPI_Bcast"))
        MPI_Bcast(to, BYTES, MPI_BYTE, 0, MPI_COMM_WORLD);
    else if (!strcmp(call, "MPI_Allgather"))
        MPI_Allgather(from, BYTES, MPI_BYTE, to, BYTES, MPI_BYTE, MPI_COMM_WORLD);
    else if (!strcmp(call, "MPI_Alltoall"))
        MPI_Alltoall(from, BYTES / kit_size, MPI_BYTE, to, BYTES / kit_size, MPI_BYTE, MPI_COMM_WORLD);
    else
        MPI_Allreduce(from, to, 1, MPI_LONG, MPI_BAND, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || argc < 2)
        kit_skip("first_short", "needs the library in front, and a call");
    kit_open(&out, KIT_DEVICE, BYTES);
    kit_open(&in, KIT_DEVICE, BYTES * (size_t)kit_size);
    for (int i = 0; i < WARM; i++)
        one(argv[1]);
    const uint64_t staged = kit_counted(argv[1], first), made = kit_counted(argv[1], "accelerated");
    CHECK(staged >= LEAST && made > 0 && staged + made == WARM,
          "%s: %llu calls of the warm-up are staged, %llu are not", argv[1], (unsigned long long)staged,
          (unsigned long long)made);
    one(argv[1]);
    CHECK(kit_counted(argv[1], first) == staged, "%s: a call behind the warm-up is staged", argv[1]);
    kit_close(&out);
    kit_close(&in);
    return kit_end("first_short");
}

/* What the first calls of a new communicator pay where opening is slow (TUTTI_HOST_MAPPING_US): as many are staged as
 * opening it takes, but for the first team of the process, which is lent. One beside open ones pays, and one
 * that gets the channel of a freed communicator of the same ranks, or of more,
 * takes less again. One of ranks that have not been together before takes as much as one beside open ones. Needs
 * TUTTI_STATS=1. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { COUNT = 10000, MOST = 140, FEW = 5, COPY_NS = 3500, FIRST_BYTES = 4096 };
static const long each = COPY_NS + FIRST_BYTES * 3 / 4 + COUNT * (long)sizeof(int) / 4, first_ns = 100000,
                  team_ns = 1500000, again_ns = 500000;
static struct kit_buffer buffer;
static int data[COUNT];

static void one_call(MPI_Comm comm, int number, int root)
{
    int rank, wrong = 0;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < COUNT; i++)
        data[i] = number * 31 + root * 7 + i;
    int *at = kit_put(&buffer, 0, rank == root ? data : NULL, sizeof data);
    CHECK(MPI_Bcast(at, COUNT, MPI_INT, root, comm) == MPI_SUCCESS, "MPI_Bcast %d", number);
    const char *got = kit_get(&buffer, NULL);
    wrong = memcmp(got, data, sizeof data) != 0;
    CHECK(!wrong, "call %d has other data", number);
}

/* Calls on the communicator until one is accelerated, and some more: staged are as many as `price` says. */
static void pays(const char *what, MPI_Comm comm, long price)
{
    static const char first[] = "first calls of a communicator";
    const uint64_t staged = kit_counted("MPI_Bcast", first), made = kit_counted("MPI_Bcast", "accelerated");
    const long expected = (price + each - 1) / each - 1;
    int size;
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < MOST; i++)
        one_call(comm, i, i % size);
    CHECK(kit_counted("MPI_Bcast", first) - staged == (uint64_t)expected, "%s: %llu of %d calls are staged, not %ld",
          what, (unsigned long long)(kit_counted("MPI_Bcast", first) - staged), MOST, expected);
    CHECK(kit_counted("MPI_Bcast", "accelerated") - made == (uint64_t)(MOST - expected),
          "%s: %llu calls are accelerated", what, (unsigned long long)(kit_counted("MPI_Bcast", "accelerated") - made));
}

/* All ranks have left it when this returns. */
static void gone(MPI_Comm *comm)
{
    MPI_Comm_free(comm);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Calls on communicators that have few each: none is worth a team. */
static void few_on_each(int comms)
{
    const uint64_t made = kit_counted("MPI_Bcast", "accelerated");
    for (int c = 0; c < comms; c++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < FEW; i++)
            one_call(comm, i, i % kit_size);
        gone(&comm);
    }
    CHECK(kit_counted("MPI_Bcast", "accelerated") == made, "%d communicators of %d calls each: some are accelerated",
          comms, FEW);
}

int main(int argc, char **argv)
{
    MPI_Comm half, world, beside, other;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || !getenv("TUTTI_HOST_MAPPING_US"))
        kit_skip("new_comms", "needs the library in front, and TUTTI_HOST_MAPPING_US");
    kit_open(&buffer, KIT_DEVICE, sizeof data);
    const int halves = kit_size / 2 > 1; /* or they have one rank each */
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank % 2, kit_rank, &half);
    if (halves) {
        pays("the first team", half, first_ns);
        gone(&half);
        MPI_Comm_dup(MPI_COMM_WORLD, &world);
        few_on_each(3);
        pays("a channel that others have not mapped", world, team_ns);
    } else {
        gone(&half);
        MPI_Comm_dup(MPI_COMM_WORLD, &world);
        pays("the first team", world, first_ns);
        few_on_each(3);
    }
    MPI_Comm_dup(world, &beside);
    pays("beside an open one", beside, team_ns);
    gone(&world);
    MPI_Comm_dup(beside, &world);
    pays("the channel of a freed one", world, again_ns);
    gone(&beside);
    if (halves) {
        MPI_Comm_split(MPI_COMM_WORLD, kit_rank / 2, kit_rank, &other);
        pays("the channel of a larger one", other, again_ns);
        gone(&other);
    }
    MPI_Comm_split(world, 0, -kit_rank, &other);
    pays("the ranks in another order", other, again_ns);
    gone(&other);
    gone(&world);
    kit_close(&buffer);
    return kit_end("new_comms");
}

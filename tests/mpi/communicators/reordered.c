/* Communicators that are freed, after which the MPI uses their handles again, with the ranks in another order: each
 * message goes to the rank that its communicator names. Three ranks or more. */
#include <stdio.h>
#include <string.h>

#include "kit.h"

enum { BYTES = 6000, ROUNDS = 24 };
static struct kit_buffer out, in;
static unsigned char bytes[BYTES];

static const unsigned char *contents(int round, int who)
{
    random_bytes(bytes, random_mix(kit_seed + (uint64_t)round * 7919 + (uint64_t)who), BYTES);
    return bytes;
}

/* Rank 0 stays the first; the others stand in their order or in the opposite one. */
static int place_in(int round, int who)
{
    return who == 0 || round % 2 == 0 ? who : kit_size - who;
}

/* Rank 0 names the same rank of each communicator, and nothing else in between. */
static void one(int round, MPI_Comm comm)
{
    const int mine = place_in(round, kit_rank);
    MPI_Request request;
    int rank = -1;
    MPI_Comm_rank(comm, &rank);
    CHECK(rank == mine, "round %d: rank %d in place of %d", round, rank, mine);
    if (mine == 0) {
        MPI_Isend(kit_put(&out, 0, contents(round, 0), BYTES), BYTES, MPI_BYTE, 1, 3, comm, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (mine == 1) {
        MPI_Recv(kit_put(&in, 0, NULL, BYTES), BYTES, MPI_BYTE, 0, 3, comm, MPI_STATUS_IGNORE);
        const char *got = kit_get(&in, NULL);
        CHECK(memcmp(got, contents(round, 0), BYTES) == 0, "round %d: the message is wrong", round);
    }
}

int main(int argc, char **argv)
{
    int again = 0;
    MPI_Comm last = MPI_COMM_NULL, comm;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size < 3)
        kit_skip("reordered", "three ranks");
    kit_open(&out, KIT_DEVICE, BYTES);
    kit_open(&in, KIT_DEVICE, BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, place_in(round, kit_rank), &comm);
        again += comm == last;
        last = comm;
        one(round, comm);
        MPI_Comm_free(&comm);
    }
    if (kit_rank == 0)
        printf("%d handles were used again\n", again);
    CHECK(kit_plain || kit_rank != 0 || kit_counted("MPI_Isend", "fetched by the receiver") > 0,
          "no message was offered");
    kit_close(&out);
    kit_close(&in);
    return kit_end("reordered");
}

/* Data movers among device memory whose ranks disagree about a length: the receiver of a block that is longer than its
 * buffer gets MPI_ERR_TRUNCATE from its blocking and its nonblocking call, nothing is stored for the block, and calls
 * afterwards are right. */
#include "kit.h"

enum { INTS = 3000, RANKS = 8 };

/* The last rank expects one element less from rank 0. */
static void longer(int nonblocking)
{
    static int values[RANKS * INTS];
    int counts[RANKS], fewer[RANKS], places[RANKS], guards = 1;
    const int last = kit_rank == kit_size - 1;
    struct kit_buffer out, in;
    MPI_Request request;
    for (int i = 0; i < kit_size * INTS; i++)
        values[i] = kit_rank * 1000 + i / INTS;
    for (int r = 0; r < kit_size; r++) {
        counts[r] = INTS;
        fewer[r] = last && r == 0 ? INTS - 1 : INTS;
        places[r] = r * INTS;
    }
    const size_t bytes = (size_t)kit_size * INTS * sizeof(int);
    kit_open(&out, KIT_DEVICE, bytes);
    kit_open(&in, KIT_DEVICE, bytes);
    for (int turn = 0; turn < 3; turn++) {
        const int wrong = turn == 1;
        void *from = kit_put(&out, 0, values, bytes), *to = kit_put(&in, 0, NULL, bytes);
        int code;
        if (nonblocking) {
            code = MPI_Ialltoallv(from, counts, places, MPI_INT, to, wrong ? fewer : counts, places, MPI_INT,
                                  MPI_COMM_WORLD, &request);
            CHECK(code == MPI_SUCCESS, "MPI_Ialltoallv: error class %d", kit_class(code));
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            code = MPI_Alltoallv(from, counts, places, MPI_INT, to, wrong ? fewer : counts, places, MPI_INT,
                                 MPI_COMM_WORLD);
        }
        const int expected = wrong && last ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
        CHECK(kit_class(code) == expected, "turn %d: error class %d, not %d", turn, kit_class(code), expected);
        const int *got = (const int *)(const void *)kit_get(&in, &guards);
        for (int i = wrong && last ? INTS : 0; i < kit_size * INTS; i++) {
            if (!CHECK(guards && got[i] == i / INTS * 1000 + kit_rank, "turn %d: element %d is %d", turn, i, got[i]))
                break;
        }
    }
    kit_close(&out);
    kit_close(&in);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    longer(0);
    CHECK(kit_counted("MPI_Alltoallv", "fetched from each other") == (kit_rank == kit_size - 1 ? 2 : 3),
          "not fetched from each other");
    longer(1);
    return kit_end("moves_longer");
}

/* What src/mpi/real/quirks.h says of receives (irecv_is_own), of the MPI alone: each open one has a handle of its own,
 * which no open send has, also if its message was there before. From the other rank and from this one. */
#include "kit.h"

enum { OPEN = 100, MOST = 60000 };
static const int lengths[] = {0, 8, 96, 480, 5000, MOST};
static MPI_Request sends[OPEN], receives[OPEN];
static MPI_Status statuses[OPEN];
static char out[MOST], in[OPEN][MOST];

/* Returns how many receives were complete at once. */
static int messages(int bytes, int peer)
{
    int complete = 0;
    for (int i = 0; i < OPEN; i++)
        MPI_Isend(out, bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &sends[i]);
    for (int i = 0, flag; i < 10 * OPEN; i++)
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    for (int i = 0; i < OPEN; i++) {
        int flag = 0;
        MPI_Irecv(in[i], MOST, MPI_BYTE, peer, i, MPI_COMM_WORLD, &receives[i]);
        MPI_Request_get_status(receives[i], &flag, &statuses[i]);
        complete += flag;
    }
    for (int i = 0; i < OPEN; i++) {
        int same = 0;
        for (int j = 0; j < OPEN; j++)
            same += (j != i && receives[j] == receives[i]) + (sends[j] == receives[i]);
        CHECK(same == 0, "%d bytes: receive %d shares its handle with %d others", bytes, i, same);
    }
    MPI_Waitall(OPEN, receives, statuses);
    MPI_Waitall(OPEN, sends, statuses);
    MPI_Barrier(MPI_COMM_WORLD);
    return complete;
}

int main(int argc, char **argv)
{
    int complete = 0;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("own_handles", "two ranks are needed");
    for (int l = 0; l < (int)(sizeof lengths / sizeof lengths[0]); l++)
        complete += messages(lengths[l], 1 - kit_rank) + messages(lengths[l], kit_rank);
    CHECK(complete > 0, "no receive was complete at once");
    return kit_end("own_handles");
}

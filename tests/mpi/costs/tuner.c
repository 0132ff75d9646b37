/* A tuner: it makes 10 exchanges, then times 10 more, to choose among ways of its own. Those that it times go as later
 * ones do, also where mapping memory and opening a team are slow (TUTTI_HOST_MAPPING_US): messages are fetched, and
 * MPI_Alltoallv is made by Tutti. Argument `few`: the first messages and calls of other programs are staged as before:
 * two exchanges. Needs TUTTI_STATS=1. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { COLD = 10, HOT = 10, FEW = 2, BYTES = 58000, TAG = 3, TRIES = 4, EARN = 150 /* they save a mapping, 2 ms */ };
static const char unmapped[] = "allocation not mapped by the receiver yet", first[] = "first calls of a communicator";
static struct kit_buffer out, in;
static char data[BYTES];

static void contents(int number, int rank)
{
    for (int i = 0; i < BYTES; i++)
        data[i] = (char)(number * 37 + rank * 11 + i + i / 251);
}

static void exchange(int number, int collective)
{
    const int peer = 1 - kit_rank;
    int counts[2] = {0}, at[2] = {0};
    contents(number, kit_rank);
    char *from = kit_put(&out, 0, data, BYTES), *to = kit_put(&in, 0, NULL, BYTES);
    if (collective) {
        counts[peer] = BYTES;
        MPI_Alltoallv(from, counts, at, MPI_BYTE, to, counts, at, MPI_BYTE, MPI_COMM_WORLD);
    } else {
        MPI_Request request[2];
        MPI_Irecv(to, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request[0]);
        MPI_Isend(from, BYTES, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    }
    contents(number, peer);
    CHECK(memcmp(kit_get(&in, NULL), data, BYTES) == 0, "exchange %d has other data", number);
}

static uint64_t staged(int collective)
{
    return collective ? kit_counted("MPI_Alltoallv", first) : kit_counted("MPI_Isend", unmapped);
}

/* Of this rank as receiver: messages that it has left to the MPI, as a mapping took longer than twice as long as usual:
 * the machine is busy. */
static uint64_t carried(void)
{
    return kit_counted("allocations of other ranks", "after a message that the MPI is to carry");
}

/* Collective. With new memory; 1: as it should be. Messages that were left to the MPI show nothing. */
static int tunes(int few, int collective, int last)
{
    const char *const what = collective ? "MPI_Alltoallv" : "messages";
    const uint64_t before = staged(collective), carried_before = carried();
    kit_open(&out, KIT_DEVICE, BYTES);
    kit_open(&in, KIT_DEVICE, BYTES);
    for (int i = 0; i < (few ? FEW : COLD); i++)
        exchange(i, collective);
    const uint64_t cold = staged(collective) - before;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < HOT && !few; i++)
        exchange(COLD + i, collective);
    const uint64_t hot = staged(collective) - before - cold;
    int fine = hot == 0 && (few ? cold >= FEW - 1 && cold <= FEW : cold > 0 && cold < COLD), all;
    int busy = carried() > carried_before, any;
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&busy, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(all || any || !last, "%s: %llu of the first exchanges are staged, and %llu of those that are timed", what,
          (unsigned long long)cold, (unsigned long long)hot);
    for (int i = 0; i < EARN && !few && !all && !last; i++) /* or nothing is mapped in advance in the next try */
        exchange(COLD + HOT + i, collective);
    kit_close(&out);
    kit_close(&in);
    return all;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("tuner", "needs two ranks, and the library in front");
    const int few = argc > 1 && strcmp(argv[1], "few") == 0;
    int fine = 0;
    for (int i = 0; i < TRIES && !fine; i++)
        fine = tunes(few, 0, i == TRIES - 1);
    tunes(few, 1, 1);
    return kit_end("tuner");
}

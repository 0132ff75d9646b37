/* More allocations than the cache has entries: what a sender has offered can be fetched however many others the
 * receiver maps meanwhile, though the sender is in a call that makes no progress. The first two ranks talk.
 *
 * Rank 0 sends from some allocations that rank 1 does not know yet, and from some that it knows well; rank 1 receives
 * the former first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { OLD = 3, NEW = 24, BYTES = 20000, ROUNDS = 12 };
static struct kit_buffer old[OLD], fresh[NEW], in, go;
static unsigned char bytes[BYTES];

static const unsigned char *contents(int round, int i)
{
    for (size_t b = 0; b < BYTES; b++)
        bytes[b] = (unsigned char)random_mix(kit_seed + (uint64_t)(round * 1000 + i) * 7919 + b);
    return bytes;
}

static void take(int round, int i, const char *how)
{
    void *to = kit_put(&in, 0, NULL, BYTES);
    MPI_Recv(to, BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const char *got = kit_get(&in, NULL);
    CHECK(memcmp(got, contents(round, i), BYTES) == 0, "%s: round %d, message %d is wrong", how, round, i);
}

/* Rank 1 comes to know what rank 0 sends from. */
static void become_known(void)
{
    for (int n = 0; n < 6; n++) {
        for (int i = 0; i < OLD; i++) {
            if (kit_rank == 0)
                MPI_Send(kit_put(&old[i], 0, contents(n, i), BYTES), BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD);
            else
                take(n, i, "to be known");
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* What rank 0 is in until rank 1 has all. */
static void meet(int how, MPI_Comm comm)
{
    char word[8] = "a word";
    if (how == 0 && kit_rank == 0)
        MPI_Recv(word, 8, MPI_BYTE, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (how == 0 && kit_rank == 1)
        MPI_Send(word, 8, MPI_BYTE, 0, 77, MPI_COMM_WORLD);
    if (how == 1) /* the first of its communicator */
        MPI_Allreduce(MPI_IN_PLACE, kit_put(&go, 0, NULL, 8), 2, MPI_INT, MPI_MAX, comm);
}

static void round_of(int round, int how)
{
    static const char *const names[] = {"its sender receives", "its sender is in a first collective"};
    MPI_Request requests[NEW + OLD];
    MPI_Status statuses[NEW + OLD];
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < NEW && kit_rank == 0; i++)
        kit_open(&fresh[i], KIT_DEVICE, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 0) {
        for (int i = 0; i < NEW; i++)
            MPI_Isend(kit_put(&fresh[i], 0, contents(round, OLD + i), BYTES), BYTES, MPI_BYTE, 1, OLD + i,
                      MPI_COMM_WORLD, &requests[i]);
        void *from[OLD];
        for (int i = 0; i < OLD; i++)
            from[i] = kit_put(&old[i], 0, contents(round, i), BYTES);
        for (int i = 0; i < OLD; i++)
            MPI_Isend(from[i], BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD, &requests[NEW + i]);
        MPI_Barrier(MPI_COMM_WORLD);
        meet(how, comm);
        MPI_Waitall(NEW + OLD, requests, statuses);
    } else {
        MPI_Barrier(MPI_COMM_WORLD); /* all have been offered */
        for (int i = 0; i < NEW; i++)
            take(round, OLD + i, names[how]);
        for (int i = 0; i < OLD; i++)
            take(round, i, names[how]);
        meet(how, comm);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < NEW && kit_rank == 0; i++)
        kit_close(&fresh[i]);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("evicted", "two ranks, with the library");
    for (int i = 0; i < OLD; i++)
        kit_open(&old[i], KIT_DEVICE, BYTES);
    kit_open(&in, KIT_DEVICE, BYTES);
    kit_open(&go, KIT_DEVICE, BYTES);
    for (int round = 0; round < ROUNDS; round++) {
        become_known();
        round_of(round, round % 2);
    }
    const uint64_t direct = kit_counted("MPI_Isend", "fetched by the receiver");
    CHECK(kit_rank != 0 || direct > 0, "%llu messages were offered", (unsigned long long)direct);
    for (int i = 0; i < OLD; i++)
        kit_close(&old[i]);
    kit_close(&in);
    kit_close(&go);
    return kit_end("evicted");
}

/* More allocations than the cache has entries: what a sender has offered can be fetched however many others the
 * receiver maps meanwhile, though the sender is in a call that makes no progress. The first two ranks talk.
 *
 * Rank 0 sends from some allocations that rank 1 does not know yet, and from some that it knows well; rank 1 receives
 * the former first, two of each. In some rounds two messages go from each that it knows well, and one of the two is
 * received before all others. And allocations that rank 0 has freed leave their places to others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { OLD = 3, NEW = 24, BYTES = 20000, ROUNDS = 12 };
static struct kit_buffer old[OLD], fresh[NEW], in, go;
static unsigned char bytes[BYTES];

/* Of each known allocation: one message; two, of which the first or the second is received before all others. */
enum open { ONE, FIRST_TAKEN, SECOND_TAKEN, OPENS };
enum { SECOND = 500, TAKEN = 78 };

static const unsigned char *contents(int round, int i)
{
    for (size_t b = 0; b < BYTES; b++)
        bytes[b] = (unsigned char)random_mix(kit_seed + (uint64_t)(round * 1000 + i) * 7919 + b);
    return bytes;
}

static void take_by(int tag, int round, int i, const char *how)
{
    void *to = kit_put(&in, 0, NULL, BYTES);
    MPI_Recv(to, BYTES, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const char *got = kit_get(&in, NULL);
    CHECK(memcmp(got, contents(round, i), BYTES) == 0, "%s: round %d, message %d is wrong", how, round, i);
}

/* Rank 0: sends one message from each of `n` allocations, or two. */
static void send_from(struct kit_buffer from[], int n, int round, int first, int twice, MPI_Request requests[])
{
    void *at[NEW];
    for (int i = 0; i < n; i++)
        at[i] = kit_put(&from[i], 0, contents(round, first + i), BYTES);
    for (int i = 0; i < n; i++) {
        MPI_Isend(at[i], BYTES, MPI_BYTE, 1, first + i, MPI_COMM_WORLD, requests++);
        if (twice)
            MPI_Isend(at[i], BYTES, MPI_BYTE, 1, SECOND + first + i, MPI_COMM_WORLD, requests++);
    }
}

/* Rank 1 comes to know what rank 0 sends from. */
static void become_known(void)
{
    MPI_Request requests[2 * OLD];
    MPI_Status statuses[2 * OLD];
    for (int n = 0; n < 6; n++) {
        if (kit_rank == 0) {
            send_from(old, OLD, n, 0, 1, requests);
            MPI_Waitall(2 * OLD, requests, statuses);
        }
        for (int i = 0; i < 2 * OLD && kit_rank == 1; i++)
            take_by(i % 2 * SECOND + i / 2, n, i / 2, "to be known");
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

/* Allocations that rank 0 frees do not stay known: each of the next ones becomes known too. */
static void come_and_go(void)
{
    const char *const call = "allocations of other ranks", *const word = "known";
    enum { TURNS = 200 };
    for (int n = 0; n < NEW; n++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        const uint64_t before = kit_counted(call, word);
        int known = 0, turn = 0;
        if (kit_rank == 0)
            kit_open(&fresh[0], KIT_DEVICE, BYTES);
        for (; turn < TURNS && !known; turn++) {
            if (kit_rank == 0) {
                send_from(fresh, 1, n, 0, 1, requests);
                MPI_Waitall(2, requests, statuses);
            } else {
                take_by(0, n, 0, "that comes and goes");
                take_by(SECOND, n, 0, "that comes and goes");
            }
            known = kit_counted(call, word) > before;
            MPI_Bcast(&known, 1, MPI_INT, 1, MPI_COMM_WORLD);
        }
        CHECK(known, "allocation %d does not become known by %d messages", n, 2 * turn);
        if (kit_rank == 0)
            kit_close(&fresh[0]);
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

static void round_of(int round, int how, enum open open)
{
    static const char *const names[] = {"its sender receives", "its sender is in a first collective"};
    MPI_Request requests[2 * NEW + 2 * OLD];
    MPI_Status statuses[2 * NEW + 2 * OLD];
    MPI_Comm comm;
    char word = 0;
    const int twice = open != ONE, n = OLD * (1 + twice);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < NEW && kit_rank == 0; i++)
        kit_open(&fresh[i], KIT_DEVICE, BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 0) {
        send_from(old, OLD, round, 0, twice, requests);
        send_from(fresh, NEW, round, OLD, 1, requests + n);
        MPI_Barrier(MPI_COMM_WORLD);
        if (twice)
            MPI_Recv(&word, 1, MPI_CHAR, 1, TAKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < OLD && twice; i++)
            MPI_Wait(&requests[2 * i + (open == SECOND_TAKEN)], MPI_STATUS_IGNORE);
        meet(how, comm);
        MPI_Waitall(2 * NEW + n, requests, statuses);
    } else {
        MPI_Barrier(MPI_COMM_WORLD); /* all have been offered */
        for (int i = 0; i < OLD && twice; i++)
            take_by(i + (open == SECOND_TAKEN) * SECOND, round, i, names[how]);
        if (twice)
            MPI_Send(&word, 1, MPI_CHAR, 0, TAKEN, MPI_COMM_WORLD);
        for (int i = 0; i < 2 * NEW; i++) /* at the second one it maps the allocation */
            take_by(OLD + i / 2 + i % 2 * SECOND, round, OLD + i / 2, names[how]);
        for (int i = 0; i < OLD; i++)
            take_by(i + (open == FIRST_TAKEN) * SECOND, round, i, names[how]);
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
        round_of(round, round % 2, (enum open)(round / 2 % OPENS));
    }
    come_and_go();
    const uint64_t direct = kit_counted("MPI_Isend", "fetched by the receiver");
    CHECK(kit_rank != 0 || direct > 0, "%llu messages were offered", (unsigned long long)direct);
    for (int i = 0; i < OLD; i++)
        kit_close(&old[i]);
    kit_close(&in);
    kit_close(&go);
    return kit_end("evicted");
}

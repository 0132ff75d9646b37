/* Calls that look and do not wait: MPI_Test, Testall, Testany, Testsome and MPI_Request_get_status return in any state
 * of the message, also where its data go through the MPI because the scratch is full (TUTTI_ENDPOINT_MB=1) and its
 * sender makes no call of MPI. Rank 0 sends, rank 1 looks: rank 0 stays away until each call has returned LOOKS times
 * without the message, so a call that waits for it never ends. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "kit.h"
#include "word.h"

/* CARRIED_NS: longer than a sender waits for a receiver before its data go through the MPI. AWAY_US: ends a test that
 * fails. */
enum { BYTES = 4 << 20, LOOKS = 200, CARRIED_NS = 60000000, AWAY_US = 30000000 };
enum how { TEST, TESTALL, TESTANY, TESTSOME, GET_STATUS, HOWS };
static const char *const names[HOWS] = {"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome",
                                        "MPI_Request_get_status"};
static struct kit_buffer buffer;
static atomic_int *word; /* 2n + 1: the sender is away with message n; 2n + 2: the receiver has looked */
static unsigned char bytes[BYTES];

static const unsigned char *contents(int n)
{
    for (size_t b = 0; b < BYTES; b++)
        bytes[b] = (unsigned char)(b * 7 + b / 1000 + (size_t)n * 13);
    return bytes;
}

/* One look: 1 if the message is there. */
static int look(int how, MPI_Request requests[2])
{
    MPI_Status statuses[2];
    int flag = 0, which[2] = {-1, -1}, out = 0;
    switch (how) {
    case TEST:
        MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
        return flag;
    case TESTALL:
        MPI_Testall(1, requests, &flag, statuses);
        return flag;
    case TESTANY:
        MPI_Testany(2, requests, &which[0], &flag, statuses);
        return flag;
    case TESTSOME:
        MPI_Testsome(2, requests, &out, which, statuses);
        return out > 0;
    default:
        MPI_Request_get_status(requests[0], &flag, statuses);
        if (flag)
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        return flag;
    }
}

/* Away until the receiver has looked: it makes no call of MPI. */
static void send_one(int n)
{
    MPI_Request request;
    const void *from = kit_put(&buffer, 0, contents(n), BYTES);
    int flag = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(from, BYTES, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
    for (const uint64_t until = tutti_now_ns() + CARRIED_NS; tutti_now_ns() < until && !flag;)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (!flag)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE); /* the grace of a receiver that takes nothing is over */
    atomic_store(word, 2 * n + 1);
    CHECK(kit_word_await(word, 2 * n + 2, AWAY_US), "%s did not return %d times while the sender was away", names[n],
          LOOKS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receive_one(int n)
{
    MPI_Request requests[2];
    int there = 0, none = 0;
    void *to = kit_put(&buffer, 0, NULL, BYTES);
    MPI_Irecv(to, BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&none, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &requests[1]); /* is never sent */
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(kit_word_await(word, 2 * n + 1, AWAY_US), "the sender of message %d", n);
    int looks = 0;
    while (looks < LOOKS && !there) {
        there = look(n, requests);
        looks++;
    }
    CHECK(!there, "%s: the message was there at look %d, while its sender was away", names[n], looks);
    atomic_store(word, 2 * n + 2);
    while (!there)
        there = look(n, requests);
    CHECK(memcmp(kit_get(&buffer, NULL), contents(n), BYTES) == 0, "%s: the message is wrong", names[n]);
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("never_blocks", "it is for two ranks");
    if (!kit_makes_windows())
        kit_skip("never_blocks", "this MPI makes no windows here");
    word = kit_word_open();
    kit_open(&buffer, KIT_DEVICE, BYTES);
    for (int n = 0; n < 8; n++) { /* so that the receiver has it mapped */
        void *at = kit_put(&buffer, 0, contents(n), BYTES);
        if (kit_rank == 0)
            MPI_Send(at, 200000, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Recv(at, 200000, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int how = 0; how < HOWS; how++) {
        if (kit_rank == 0)
            send_one(how);
        else
            receive_one(how);
    }
    kit_word_close();
    kit_close(&buffer);
    return kit_end("never_blocks");
}

/* Calls that look and do not wait: MPI_Test, Testall, Testany, Testsome and MPI_Request_get_status return soon in any
 * state of the message, also where its data come through the MPI because the scratch is full (TUTTI_ENDPOINT_MB=1)
 * and its sender is busy with something else. Rank 0 sends, rank 1 looks. Prints the longest of each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "kit.h"

enum { BYTES = 4 << 20, BUSY_MS = 1500, MAILED_MS = 60, MOST_MS = 500 };
enum how { TEST, TESTALL, TESTANY, TESTSOME, GET_STATUS, HOWS };
static const char *const names[HOWS] = {"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome",
                                        "MPI_Request_get_status"};
static struct kit_buffer buffer;
static unsigned char bytes[BYTES];

static const unsigned char *contents(int n)
{
    for (size_t b = 0; b < BYTES; b++)
        bytes[b] = (unsigned char)(b * 7 + b / 1000 + (size_t)n * 13);
    return bytes;
}

static double now_ms(void)
{
    return (double)tutti_now_ns() / 1e6;
}

static void busy(double ms)
{
    const struct timespec time = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    nanosleep(&time, NULL);
}

/* One look: 1 if the message is there. */
static int look(enum how how, MPI_Request requests[2])
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

static void send_one(int n)
{
    MPI_Request request;
    const void *from = kit_put(&buffer, 0, contents(n), BYTES);
    int flag = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Isend(from, BYTES, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
    for (double until = now_ms() + MAILED_MS; now_ms() < until && !flag;)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    busy(BUSY_MS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void receive_one(int n, enum how how)
{
    MPI_Request requests[2];
    double longest = 0;
    long looks = 0;
    int there = 0;
    void *to = kit_put(&buffer, 0, NULL, BYTES);
    MPI_Irecv(to, BYTES, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&there, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &requests[1]); /* never comes */
    MPI_Barrier(MPI_COMM_WORLD);
    busy(3 * MAILED_MS);
    for (; !there; looks++) {
        const double begin = now_ms();
        there = look(how, requests);
        const double took = now_ms() - begin;
        longest = took > longest ? took : longest;
        if (!there)
            busy(1);
    }
    CHECK(longest <= MOST_MS, "%s: the longest of %ld took %.0f ms", names[how], looks, longest);
    printf("%s: %ld, the longest %.1f ms\n", names[how], looks, longest);
    CHECK(memcmp(kit_get(&buffer, NULL), contents(n), BYTES) == 0, "%s: the message is wrong", names[how]);
    MPI_Cancel(&requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("never_blocks", "it is for two ranks");
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
            receive_one(how, (enum how)how);
    }
    kit_close(&buffer);
    return kit_end("never_blocks");
}

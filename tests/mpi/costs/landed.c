/* A call that waits for some of several receives returns while others are being fetched: their senders are released all
 * the same, although the receiver makes no further call until they are. In a window all messages arrive. Rank 0 sends,
 * rank 1 receives. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "word.h"

enum { MESSAGES = 4, BYTES = 3 << 20, AWAY_US = 400000, STANDS_US = 20000000, FIRST = 4, ROUNDS = 14 };
static struct kit_buffer buffer[MESSAGES];
static unsigned char bytes[BYTES];
static atomic_int *sent; /* rounds whose sends have returned */

/* The first is the shortest. */
static size_t length_of(int message)
{
    return message == 0 ? BYTES / 6 : BYTES - (size_t)message * 1000;
}

static const unsigned char *contents(int round, int message)
{
    for (size_t b = 0; b < BYTES; b++)
        bytes[b] = (unsigned char)(b * 11 + b / 900 + (size_t)(round * MESSAGES + message) * 17);
    return bytes;
}

static void send_all(int round)
{
    MPI_Request request[MESSAGES];
    MPI_Status status[MESSAGES];
    void *from[MESSAGES];
    for (int m = 0; m < MESSAGES; m++)
        from[m] = kit_put(&buffer[m], 0, contents(round, m), BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int m = 0; m < MESSAGES; m++)
        MPI_Isend(from[m], (int)length_of(m), MPI_BYTE, 1, m, MPI_COMM_WORLD, &request[m]);
    MPI_Waitall(MESSAGES, request, status);
    atomic_store(sent, round + 1);
}

static void receive_all(int round)
{
    MPI_Request request[MESSAGES];
    MPI_Status status[MESSAGES];
    int which[MESSAGES], n = 0, done[MESSAGES] = {0};
    for (int m = 0; m < MESSAGES; m++) {
        void *to = kit_put(&buffer[m], 0, NULL, BYTES);
        MPI_Irecv(to, (int)length_of(m), MPI_BYTE, 0, m, MPI_COMM_WORLD, &request[m]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (round % 2)
        MPI_Waitany(MESSAGES, request, &which[n++], status);
    else
        MPI_Waitsome(MESSAGES, request, &n, which, status);
    for (int i = 0; i < n; i++)
        done[which[i]] = 1;
    const int released = kit_word_await(sent, round + 1, round < FIRST ? AWAY_US : STANDS_US);
    CHECK(released || round < FIRST, "round %d: the sends wait for the receiver's next call", round);
    MPI_Waitall(MESSAGES, request, status);
    for (int m = 0; m < MESSAGES; m++) {
        int length = (int)length_of(m);
        if (!done[m])
            MPI_Get_count(&status[m], MPI_BYTE, &length);
        CHECK(length == (int)length_of(m), "round %d: message %d has %d bytes", round, m, length);
        CHECK(memcmp(kit_get(&buffer[m], NULL), contents(round, m), length_of(m)) == 0, "round %d: message %d is wrong",
              round, m);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("landed", "it is for two ranks");
    sent = kit_word_open();
    for (int m = 0; m < MESSAGES; m++)
        kit_open(&buffer[m], KIT_DEVICE, BYTES);
    for (int round = 0; round < ROUNDS; round++) { /* in the first ones memory is mapped */
        if (kit_rank == 0)
            send_all(round);
        else
            receive_all(round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int m = 0; m < MESSAGES; m++)
        kit_close(&buffer[m]);
    kit_word_close();
    return kit_end("landed");
}

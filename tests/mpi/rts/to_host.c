/* Short messages of device memory whose receiver takes them into host memory (TUTTI_RULES=message_to_host). Once it has
 * fetched four of them in a row, its sender leaves the next ones to the MPI, all but each sixteenth. A message into
 * device memory that is fetched ends that. Longer messages are fetched all the time, and those of nonblocking
 * calls, which may be bursts. Rank 0 sends to rank 1. Needs TUTTI_STATS=1. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { BYTES = 1024, LONGER = 20000, TAG = 3, AFTER = 4, AGAIN = 16, TIMES = 3, BURST = 4 };
static const char why[] = "short messages that the receiver takes into host memory", call[] = "MPI_Send",
                  fetched[] = "fetched by the receiver";
static struct kit_buffer out, into[2];
static char data[LONGER];
static int number;

static void contents(int bytes)
{
    for (int b = 0; b < bytes; b++)
        data[b] = (char)random_mix(kit_seed + (uint64_t)number * 1000003 + (uint64_t)b);
}

/* The receiver has taken the message: a sender that waited for long has packed it, and its call has returned before. */
static void message_is_taken(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A message into memory of this kind. 1: it was left to the MPI, for what the receiver did before. */
static int message(int bytes, enum kit_kind kind)
{
    const uint64_t left = kit_counted(call, why), taken = kit_counted(call, fetched);
    number++;
    contents(bytes);
    if (kit_rank == 0) {
        MPI_Send(kit_put(&out, 0, data, (size_t)bytes), bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        message_is_taken();
        const uint64_t now = kit_counted(call, why) - left;
        CHECK(now + kit_counted(call, fetched) - taken == 1, "message %d goes another way", number);
        return (int)now;
    }
    int guards;
    char *const at = kit_put(&into[kind], 0, NULL, (size_t)bytes);
    MPI_Recv(at, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    message_is_taken();
    CHECK(memcmp(kit_get(&into[kind], &guards), data, (size_t)bytes) == 0 && guards, "message %d: wrong bytes", number);
    return 0;
}

static int messages(int n, int bytes, enum kit_kind kind)
{
    int left = 0;
    for (int i = 0; i < n; i++)
        left += message(bytes, kind);
    return left;
}

static void expect(int left, int expected, const char *what)
{
    if (kit_rank == 0)
        CHECK(left == expected, "%s: %d messages are left to the MPI, not %d", what, left, expected);
}

/* Messages that are open at once. */
static void burst(void)
{
    static char sent[BURST * BYTES], received[BURST * BYTES];
    MPI_Request requests[BURST];
    MPI_Status statuses[BURST];
    const uint64_t before = kit_counted("MPI_Isend", why);
    number++;
    for (int b = 0; b < BURST * BYTES; b++)
        sent[b] = (char)random_mix(kit_seed + (uint64_t)number * 1000003 + (uint64_t)b);
    char *const at = kit_put(&out, 0, sent, sizeof sent);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < BURST && kit_rank == 0; i++)
        MPI_Isend(at + i * BYTES, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < BURST && kit_rank == 1; i++)
        MPI_Irecv(received + i * BYTES, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(BURST, requests, statuses);
    CHECK(kit_rank != 1 || memcmp(sent, received, sizeof sent) == 0, "a burst brings other bytes");
    CHECK(kit_counted("MPI_Isend", why) == before, "messages of a burst are left to the MPI");
}

/* Both ranks send and receive at a time. Rank 0 has received nothing yet. */
static void exchange(void)
{
    const uint64_t before = kit_counted("MPI_Sendrecv", why);
    for (int i = 0; i < AFTER + AGAIN; i++) {
        number++;
        contents(BYTES);
        char *const at = kit_put(&out, 0, data, BYTES), *const to = kit_put(&into[KIT_HOST], 0, NULL, BYTES);
        MPI_Sendrecv(at, BYTES, MPI_BYTE, 1 - kit_rank, TAG, to, BYTES, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        message_is_taken();
        CHECK(memcmp(kit_get(&into[KIT_HOST], NULL), data, BYTES) == 0, "exchange %d: wrong bytes", i);
    }
    const uint64_t left = kit_counted("MPI_Sendrecv", why) - before;
    CHECK(left == (kit_rank == 0 ? AFTER : 0) + AGAIN - 1, "%llu of %d exchanges are left to the MPI",
          (unsigned long long)left, AFTER + AGAIN);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("to_host", "needs two ranks, and the library in front");
    kit_open(&out, KIT_DEVICE, LONGER);
    for (int k = 0; k < 2; k++)
        kit_open(&into[k], (enum kit_kind)k, LONGER);
    kit_open_endpoints(&out, &into[KIT_DEVICE], LONGER, TAG);
    expect(messages(AFTER, BYTES, KIT_HOST), 0, "the first ones");
    expect(messages(TIMES * AGAIN, BYTES, KIT_HOST), TIMES * (AGAIN - 1), "behind them");
    expect(messages(AGAIN, LONGER, KIT_HOST), 0, "longer ones");
    expect(messages(1, BYTES, KIT_HOST), 1, "longer ones change that");
    burst();
    exchange();
    /* The receiver goes on in device memory: it is asked once, and then all are fetched. */
    const int rest = messages(AGAIN, BYTES, KIT_DEVICE);
    if (kit_rank == 0)
        CHECK(rest < AGAIN, "%d messages into device memory are left to the MPI", rest);
    expect(messages(AGAIN, BYTES, KIT_DEVICE), 0, "into device memory");
    for (int i = 0; i < AGAIN; i++) {
        expect(messages(AFTER - 1, BYTES, KIT_HOST), 0, "some in a row");
        expect(message(BYTES, KIT_DEVICE), 0, "one into device memory behind them");
    }
    kit_close(&out);
    for (int k = 0; k < 2; k++)
        kit_close(&into[k]);
    return kit_end("to_host");
}

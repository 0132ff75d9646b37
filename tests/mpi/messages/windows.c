/* Windows of messages between two ranks: a window of receives is posted, then the peer's sends. No pinned memory is
 * taken for receives of what their sender's rank fetches or shows, and later windows allocate nothing, unless the ranks
 * share a GPU. Messages of host memory into such receives are right too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "kit.h"

enum { WINDOW = 64, MOST = 80 << 10, ROUNDS = 6, TAG = 3 };
static const int lengths[] = {8, 200, 4096, 64 << 10, MOST};

static struct kit_buffer out, in, plain;
static MPI_Request requests[WINDOW];
static MPI_Status statuses[WINDOW];

static unsigned char value(int rank, int round, int i, int b)
{
    return (unsigned char)(rank * 151 + round * 31 + i * 7 + b * (1 + i % 5) + b / 251);
}

static void fill(unsigned char *data, int rank, int round, int bytes)
{
    for (int i = 0; i < WINDOW; i++) {
        for (int b = 0; b < bytes; b++)
            data[(size_t)i * (size_t)bytes + (size_t)b] = value(rank, round, i, b);
    }
}

/* Rank 0 sends a window from `from`, rank 1 receives it. */
static void window(struct kit_buffer *from, int round, int bytes)
{
    static unsigned char data[(size_t)WINDOW * MOST];
    const size_t all = (size_t)WINDOW * (size_t)bytes;
    char go = 0;
    if (kit_rank == 0) {
        fill(data, 0, round, bytes);
        char *at = kit_put(from, 0, data, all);
        MPI_Recv(&go, 1, MPI_CHAR, 1, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < WINDOW; i++)
            MPI_Isend(at + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(WINDOW, requests, statuses);
        return;
    }
    char *at = kit_put(&in, 0, NULL, all);
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(at + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Send(&go, 1, MPI_CHAR, 0, TAG + 1, MPI_COMM_WORLD);
    MPI_Waitall(WINDOW, requests, statuses);
    fill(data, 0, round, bytes);
    CHECK(memcmp(kit_get(&in, NULL), data, all) == 0, "a window of %d messages of %d bytes is wrong", WINDOW, bytes);
}

/* Both ranks send a window, and wait for all sends before they wait for a receive. */
static void both_ways(int round, int bytes)
{
    static unsigned char data[(size_t)WINDOW * MOST];
    static MPI_Request receives[WINDOW];
    const int other = 1 - kit_rank;
    const size_t all = (size_t)WINDOW * (size_t)bytes;
    char *to = kit_put(&in, 0, NULL, all);
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(to + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &receives[i]);
    fill(data, kit_rank, round, bytes);
    char *from = kit_put(&out, 0, data, all);
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(from + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(WINDOW, requests, statuses);
    MPI_Waitall(WINDOW, receives, statuses);
    fill(data, other, round, bytes);
    CHECK(memcmp(kit_get(&in, NULL), data, all) == 0, "windows of %d messages of %d bytes at once are wrong", WINDOW,
          bytes);
}

/* Messages by themselves, until a kernel that has stayed after one has fetched another. How many that takes depends on
 * the machine. */
static void one_by_one(void)
{
    int served = 0;
    for (int round = 0; !served; round++) {
        unsigned char data[8];
        for (int b = 0; b < 8; b++)
            data[b] = value(0, round, 0, b);
        if (kit_rank == 0) {
            MPI_Send(kit_put(&out, 0, data, sizeof data), 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            MPI_Recv(&served, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Recv(kit_put(&in, 0, NULL, sizeof data), 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(memcmp(kit_get(&in, NULL), data, sizeof data) == 0, "message %d is wrong", round);
        served = kit_counted("packing kernels", "served") > 4;
        MPI_Send(&served, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
}

/* Pages that this process has met for the first time during a window of receives that no message comes for. */
static long pages_of(int bytes)
{
    struct rusage before, after;
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(kit_put(&in, 0, NULL, (size_t)bytes), bytes, MPI_BYTE, 0, TAG + 2, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < WINDOW; i++)
        MPI_Cancel(&requests[i]);
    MPI_Waitall(WINDOW, requests, statuses);
    getrusage(RUSAGE_SELF, &after);
    return after.ru_minflt - before.ru_minflt;
}

/* Long receives take address space that receives before them have used, also if a window of shorter ones came first. */
static void longer_and_longer(void)
{
    static const int bytes[] = {4300 << 10, 4700 << 10, 5100 << 10};
    for (size_t l = 0; l < sizeof bytes / sizeof bytes[0]; l++) {
        const long first = pages_of(bytes[l]), second = pages_of(bytes[l]), third = pages_of(bytes[l]);
        CHECK(first > WINDOW && (second < WINDOW || third < WINDOW), "%d bytes: windows meet %ld, %ld, %ld pages",
              bytes[l], first, second, third);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size < 2)
        kit_skip("windows", "needs two ranks, and the library in front");
    kit_open(&out, KIT_DEVICE, (size_t)WINDOW * MOST);
    kit_open(&in, KIT_DEVICE, (size_t)WINDOW * MOST);
    kit_open(&plain, KIT_HOST, (size_t)WINDOW * MOST);
    kit_open_endpoints(&out, &in, KIT_OPENING_BYTES, TAG);
    const unsigned long long pinned = kit_counted("bounce buffers", "pinned");
    for (int l = 0; l < (int)(sizeof lengths / sizeof lengths[0]) && kit_rank < 2; l++) {
        unsigned long long made = 0;
        for (int round = 0; round < ROUNDS; round++) {
            window(&out, round, lengths[l]);
            if (round == 0)
                made = kit_counted("bounce buffers", "allocated");
        }
        const unsigned long long now = kit_counted("bounce buffers", "allocated");
        CHECK(kit_shares_gpus() || now == made, "%d bytes: later windows allocate %llu buffers", lengths[l],
              now - made);
    }
    if (getenv("TUTTI_LINGER_US") && kit_rank < 2 && !kit_shares_gpus())
        one_by_one();
    else if (!getenv("TUTTI_LINGER_US") || kit_counted("copies of messages", "share a GPU without MPS") > 0)
        CHECK(kit_counted("packing kernels", "served") == 0, "a kernel has stayed");
    const char *rules = getenv("TUTTI_RULES");
    if (rules && strstr(rules, "engines") && kit_rank == 0)
        CHECK(kit_counted("MPI_Isend", "copied by copy engines") > WINDOW, "no messages for copy engines");
    if (rules && strstr(rules, "engines") && kit_rank == 1)
        CHECK(kit_counted("copies of messages", "copy engines") > WINDOW, "copy engines carry no messages");
    CHECK(kit_shares_gpus() || kit_counted("bounce buffers", "pinned") == pinned, "%llu pinned buffers for receives",
          (unsigned long long)kit_counted("bounce buffers", "pinned") - pinned);
    if (kit_rank == 1)
        longer_and_longer();
    for (int l = 0; l < (int)(sizeof lengths / sizeof lengths[0]) && kit_rank < 2; l++) {
        window(&plain, 50 + l, lengths[l]);
        both_ways(70 + l, lengths[l]);
        window(&out, 60 + l, lengths[l]);
    }
    kit_close(&out);
    kit_close(&in);
    kit_close(&plain);
    return kit_end("windows");
}

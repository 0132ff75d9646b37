/* What a message of device memory asks the GPU's driver, by the library's counters: once what the memory of its buffer
 * is, on either side, and a launch of the receiver for the messages that are there. Nothing is allocated. Buffers of
 * their own for each message, so that none is known from the one before.
 *
 * Argument `first`: the first messages of an allocation, where mapping is slow (TUTTI_HOST_MAPPING_US) and does not pay
 * yet. Each of them asks once what its buffer is, on either side, and no allocation is named.
 *
 * Argument `staged`: nonblocking calls that the MPI makes, by way of host memory. They ask once what their buffer is,
 * and once more where it is filled at the end; few bytes are copied by a kernel. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { WINDOW = 16, WARM = 8, ROUNDS = 12, TAG = 5, MOST = 1 << 20 };
static const int lengths[] = {4, 8, 4096, 64 << 10, MOST};
static struct kit_buffer out[WINDOW], in[WINDOW];
static char *from[WINDOW], *to[WINDOW];
static MPI_Request requests[2 * WINDOW];

static struct counted {
    uint64_t asked, launched, allocated;
} before;

static struct counted now(void)
{
    return (struct counted){kit_counted("GPU driver", "asked"), kit_counted("packing kernels", "launched"),
                            kit_counted("bounce buffers", "allocated")};
}

/* Since the last call. */
static struct counted since(void)
{
    const struct counted at = now(),
                         d = {at.asked - before.asked, at.launched - before.launched, at.allocated - before.allocated};
    before = at;
    return d;
}

static void ping(int bytes)
{
    if (kit_rank == 0)
        MPI_Send(from[0], bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(to[0], bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(int bytes)
{
    MPI_Sendrecv(from[1], bytes, MPI_BYTE, 1 - kit_rank, TAG, to[1], bytes, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* To the right, where the last rank has no neighbour. */
static void shift(int bytes)
{
    const int right = kit_rank == 0 ? 1 : MPI_PROC_NULL, left = kit_rank == 0 ? MPI_PROC_NULL : 0;
    MPI_Sendrecv(from[1], bytes, MPI_BYTE, right, TAG, to[1], bytes, MPI_BYTE, left, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* Calls of a rank that has no neighbours. */
static void at_border(int bytes)
{
    const int none = MPI_PROC_NULL;
    MPI_Send(from[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD);
    MPI_Ssend(from[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD);
    MPI_Recv(to[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(from[0], bytes, MPI_BYTE, none, TAG, to[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv_replace(to[0], bytes, MPI_BYTE, none, TAG, none, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Isend(from[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(from[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Irecv(to[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD, &requests[2]);
#if MPI_VERSION >= 4
    MPI_Isendrecv_replace(to[0], bytes, MPI_BYTE, none, TAG, none, TAG, MPI_COMM_WORLD, &requests[3]);
#else
    requests[3] = MPI_REQUEST_NULL;
#endif
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Send_init(from[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(from[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD, &requests[1]);
    MPI_Rsend_init(from[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv_init(to[0], bytes, MPI_BYTE, none, TAG, MPI_COMM_WORLD, &requests[3]);
    MPI_Startall(4, requests);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 4; i++)
        MPI_Request_free(&requests[i]);
}

static void window(int bytes)
{
    for (int i = 0; i < WINDOW; i++)
        MPI_Irecv(to[i], bytes, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < WINDOW; i++)
        MPI_Isend(from[i], bytes, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD, &requests[WINDOW + i]);
    MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
}

/* asked: of this rank, in one call of `move`; a batch asks for both sides of messages that follow each other in memory,
 * once a launch. */
static void check(const char *name, void (*move)(int), int bytes, int asked, int per_launch)
{
    for (int i = 0; i < WARM; i++)
        move(bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    since();
    for (int i = 0; i < ROUNDS; i++)
        move(bytes);
    const struct counted d = since();
    CHECK(d.asked >= (uint64_t)asked * ROUNDS &&
              d.asked <= (uint64_t)asked * ROUNDS + (uint64_t)per_launch * d.launched,
          "%s of %d bytes: %llu questions about memory in %d rounds and %llu launches, not %d a round", name, bytes,
          (unsigned long long)d.asked, ROUNDS, (unsigned long long)d.launched, asked);
    CHECK(d.allocated == 0, "%s of %d bytes allocates %llu buffers", name, bytes, (unsigned long long)d.allocated);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* New memory on both sides, less than what the host device takes long to allocate (TUTTI_HOST_MAPPING_US). The first
 * message of a process may also look at memory of the library. */
static void first_messages(void)
{
    enum { LONGEST = 64 << 10 };
    static const int shorts[] = {8, 4096, LONGEST};
    for (int round = 0; round < ROUNDS; round++) {
        const int bytes = shorts[round % 3];
        kit_open(&out[0], KIT_DEVICE, LONGEST);
        kit_open(&in[0], KIT_DEVICE, LONGEST);
        from[0] = kit_put(&out[0], 0, NULL, LONGEST);
        to[0] = kit_put(&in[0], 0, NULL, LONGEST);
        MPI_Barrier(MPI_COMM_WORLD);
        for (int call = 0; call < 3; call++) {
            since();
            const uint64_t named = kit_counted("GPU driver", "how memory is shared");
            ping(bytes);
            const uint64_t asked = since().asked;
            CHECK(round == 0 || asked == 1, "call %d of new memory, %d bytes: %llu questions", call + 1, bytes,
                  (unsigned long long)asked);
            CHECK(kit_counted("GPU driver", "how memory is shared") == named,
                  "call %d of new memory, %d bytes, names the allocation", call + 1, bytes);
        }
        kit_close(&out[0]);
        kit_close(&in[0]);
    }
}

static void broadcast(int bytes)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(kit_rank == 0 ? from[0] : to[0], bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* What the receiver gets, and the bytes behind it. */
static void check_broadcast(int bytes)
{
    char want[8], got[8];
    memset(want, 'a', sizeof want);
    memset(got, 'b', sizeof got);
    kit_put(&out[0], 0, want, sizeof want);
    kit_put(&in[0], 0, got, sizeof got);
    broadcast(bytes);
    memset(want + bytes, 'b', sizeof want - (size_t)bytes);
    CHECK(kit_rank == 0 || memcmp(kit_get(&in[0], NULL), want, sizeof want) == 0, "MPI_Ibcast of %d bytes is wrong",
          bytes);
}

static void staged_calls(void)
{
    enum { FEW = 4, READY = 40 }; /* bytes that each device copies by a kernel; calls after which it is loaded */
    for (int i = 0; i < READY; i++)
        broadcast(FEW);
    check("a staged MPI_Ibcast", broadcast, FEW, 1, 0);
    check("a staged MPI_Ibcast", broadcast, MOST, 1, 0);
    check_broadcast(FEW);
    since();
    for (int i = 0; i < ROUNDS; i++)
        broadcast(FEW);
    const uint64_t launched = since().launched;
    CHECK(launched == ROUNDS, "%d staged calls of %d bytes launch %llu kernels", ROUNDS, FEW,
          (unsigned long long)launched);
}

static double sum[2];

static void reduce_static(int unused)
{
    (void)unused;
    MPI_Allreduce(&sum[0], &sum[1], 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

/* Host memory: of static data, and of the heap, on two pages that the device did not know before. */
static void host_memory(void)
{
    static char bytes[64];
    check("MPI_Allreduce of static data", reduce_static, 8, 0, 0);
    from[0] = to[0] = bytes;
    check("a message of static data", ping, sizeof bytes, 0, 0);
    from[0] = to[0] = malloc(sizeof bytes);
    if (CHECK(from[0] != NULL, "no memory")) {
        memset(from[0], 0, sizeof bytes);
        check("a message of the heap", ping, sizeof bytes, 0, 0);
    }
    free(from[0]);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("questions", "needs two ranks, and the library in front");
    if (argc > 1 && strcmp(argv[1], "first") == 0) {
        first_messages();
        return kit_end("questions");
    }
    for (int i = 0; i < WINDOW; i++) {
        kit_open(&out[i], KIT_DEVICE, MOST);
        kit_open(&in[i], KIT_DEVICE, MOST);
        from[i] = kit_put(&out[i], 0, NULL, MOST);
        to[i] = kit_put(&in[i], 0, NULL, MOST);
    }
    if (argc > 1 && strcmp(argv[1], "staged") == 0) {
        staged_calls();
        return kit_end("questions");
    }
    for (int i = 0; i < WARM; i++) /* the ranks get to know each other's memory */
        window(MOST);
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
        check("a message", ping, lengths[l], 1, 0);
        check("MPI_Sendrecv", exchange, lengths[l], 2, 0);
        check("a window", window, lengths[l], 2 * WINDOW, 2);
        check("MPI_Sendrecv of a border", shift, lengths[l], 1, 0);
        check("calls of MPI_PROC_NULL", at_border, lengths[l], 0, 0);
    }
    for (int i = 0; i < WINDOW; i++) {
        kit_close(&out[i]);
        kit_close(&in[i]);
    }
    host_memory();
    return kit_end("questions");
}

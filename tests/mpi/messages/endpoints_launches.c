/* Packing kernels that messages of device memory take, by the library's counters: what completion calls find there is
 * fetched in one launch, and what must leave its buffers is packed in few. Of two ranks between them, of one to itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { NEIGHBOURS = 26, BLOCKS = 1500, BLOCK = 8, STRIDE = 24, BYTES = BLOCKS * BLOCK, ROUNDS = 12, WARM = 2000 };
static struct kit_buffer out[NEIGHBOURS], in[NEIGHBOURS];
static unsigned char bytes[BLOCKS * STRIDE], got[BYTES];
static MPI_Datatype type;
static MPI_Request requests[2 * NEIGHBOURS];
static MPI_Status statuses[2 * NEIGHBOURS];
static uint64_t before;
static int peer, offered; /* offered: by the rules in force */

static const unsigned char *contents(int rank, int round, int i)
{
    for (size_t b = 0; b < sizeof bytes; b++)
        bytes[b] = (unsigned char)random_mix(kit_seed + (uint64_t)rank * 7919 +
                                             (uint64_t)(round * NEIGHBOURS + i) * 104729 + b);
    return bytes;
}

static void begin(void)
{
    before = kit_counted("packing kernels", "launched");
}

static int launched(void)
{
    return (int)(kit_counted("packing kernels", "launched") - before);
}

static void receive_all(void)
{
    for (int i = 0; i < NEIGHBOURS; i++)
        MPI_Irecv(kit_put(&in[i], (size_t)i % 16, NULL, BYTES), BYTES, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
}

static void send_all(int round)
{
    for (int i = 0; i < NEIGHBOURS; i++)
        MPI_Isend(kit_put(&out[i], 0, contents(kit_rank, round, i), sizeof bytes), 1, type, peer, i, MPI_COMM_WORLD,
                  &requests[NEIGHBOURS + i]);
}

static void arrived(int round, const char *how)
{
    for (int i = 0; i < NEIGHBOURS; i++) {
        contents(peer, round, i);
        for (size_t b = 0; b < BYTES; b++)
            got[b] = bytes[b / BLOCK * STRIDE + b % BLOCK];
        int count = -1;
        MPI_Get_count(&statuses[i], MPI_BYTE, &count);
        CHECK(count == BYTES && memcmp(kit_get(&in[i], NULL), got, BYTES) == 0, "%s: message %d of %d bytes is wrong",
              how, i, count);
    }
}

/* The receiver waits when all have been sent. */
static void one_way(int round)
{
    const int receives = kit_size == 1 || kit_rank != round % 2, sends = kit_size == 1 || kit_rank == round % 2;
    if (receives)
        receive_all();
    MPI_Barrier(MPI_COMM_WORLD);
    if (sends)
        send_all(round);
    MPI_Barrier(MPI_COMM_WORLD);
    begin();
    if (receives) {
        MPI_Waitall(NEIGHBOURS, requests, statuses);
        /* Two where the sender, in its barrier, is packing some at this moment. A rank alone may have fetched all in
         * its barrier. */
        CHECK(launched() == 1 || launched() == (kit_size > 1 ? 2 : 0), "round %d: %d launches to fetch what had come",
              round, launched());
        arrived(round, "one way");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (sends)
        MPI_Waitall(NEIGHBOURS, requests + NEIGHBOURS, statuses);
}

/* Nobody receives meanwhile. */
static void sends_alone(int round)
{
    send_all(round);
    begin();
    MPI_Waitall(NEIGHBOURS, requests + NEIGHBOURS, statuses);
    /* Those that were sent just now are left to the receiver a little longer. */
    CHECK(launched() >= offered && launched() <= 3 * offered, "round %d: %d launches to pack what was sent", round,
          launched());
    MPI_Barrier(MPI_COMM_WORLD);
    receive_all();
    MPI_Waitall(NEIGHBOURS, requests, statuses);
    arrived(round, "sends alone");
    MPI_Barrier(MPI_COMM_WORLD);
}

/* An exchange of rims. */
static void both_ways(int round)
{
    receive_all();
    send_all(round);
    MPI_Barrier(MPI_COMM_WORLD);
    begin();
    MPI_Waitall(2 * NEIGHBOURS, requests, statuses);
    /* One to fetch and one to pack where the peer is late; twice where both come at the same moment. */
    CHECK(launched() >= 1 && launched() <= 4, "round %d: %d launches to exchange", round, launched());
    arrived(round, "both ways");
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size > 2)
        kit_skip("endpoints_launches", "it counts what one rank or two launch");
    const char *rules = getenv("TUTTI_RULES");
    offered = !rules || strstr(rules, "direct");
    peer = kit_size - 1 - kit_rank;
    for (int i = 0; i < NEIGHBOURS; i++) {
        kit_open(&out[i], KIT_DEVICE, sizeof bytes);
        kit_open(&in[i], KIT_DEVICE, sizeof bytes);
    }
    MPI_Type_vector(BLOCKS, BLOCK, STRIDE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    /* Endpoints open, and the ranks get to know each other's memory; mapping it may take longer than messages. Copy
     * engines take the messages of a rank to itself until kernels pay. */
    for (int round = 0, few = 0; round < 3 || (few < 3 && round < WARM); round++) {
        int most;
        receive_all();
        send_all(round);
        begin();
        MPI_Waitall(2 * NEIGHBOURS, requests, statuses);
        const int own = launched();
        arrived(round, "the first ones");
        MPI_Allreduce(&own, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        few = most >= 1 && most <= 4 ? few + 1 : 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        one_way(round);
        sends_alone(round);
        both_ways(round);
    }
    MPI_Type_free(&type);
    for (int i = 0; i < NEIGHBOURS; i++) {
        kit_close(&out[i]);
        kit_close(&in[i]);
    }
    return kit_end("endpoints_launches");
}

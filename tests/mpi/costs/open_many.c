/* Ten thousand messages of device memory open at once between two ranks, receives first or sends first: every byte is
 * right. Sends that find no free rendezvous are staged, in pinned memory of which they share allocations. Needs
 * TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MESSAGES = 10000, BYTES = 64, TAGS = 7, ALLOCATED_MOST = MESSAGES / 50 };
static struct kit_buffer out, in;
static unsigned char data[(size_t)MESSAGES * BYTES];
static MPI_Request requests[2 * MESSAGES];

static void fill(int rank, int round)
{
    for (size_t b = 0; b < sizeof data; b++)
        data[b] = (unsigned char)random_mix(kit_seed + b * 31 + (size_t)(rank * 7919 + round * 104729));
}

static void receive_all(char *to)
{
    for (int i = 0; i < MESSAGES; i++)
        MPI_Irecv(to + (size_t)i * BYTES, BYTES, MPI_BYTE, 1 - kit_rank, i % TAGS, MPI_COMM_WORLD, &requests[i]);
}

static void send_all(char *from)
{
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(from + (size_t)i * BYTES, BYTES, MPI_BYTE, 1 - kit_rank, i % TAGS, MPI_COMM_WORLD,
                  &requests[MESSAGES + i]);
}

/* Pinned allocations that messages may share. */
static uint64_t allocated(void)
{
    return kit_counted("bounce buffers", "|pinned") - kit_counted("bounce buffers", "|pinned, may be overrun");
}

static void exchange(int round, int receives_first)
{
    const uint64_t before = allocated();
    fill(kit_rank, round);
    char *from = kit_put(&out, 0, data, sizeof data), *to = kit_put(&in, 0, NULL, sizeof data);
    if (receives_first)
        receive_all(to);
    MPI_Barrier(MPI_COMM_WORLD);
    send_all(from);
    if (!receives_first) {
        MPI_Barrier(MPI_COMM_WORLD);
        receive_all(to);
    }
    MPI_Waitall(2 * MESSAGES, requests, MPI_STATUSES_IGNORE);
    fill(1 - kit_rank, round);
    CHECK(memcmp(kit_get(&in, NULL), data, sizeof data) == 0, "%d messages, %s: wrong", MESSAGES,
          receives_first ? "receives first" : "sends first");
    CHECK(allocated() - before <= ALLOCATED_MOST, "%llu allocations for %d messages",
          (unsigned long long)(allocated() - before), MESSAGES);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("open_many", "needs two ranks");
    kit_open(&out, KIT_DEVICE, sizeof data);
    kit_open(&in, KIT_DEVICE, sizeof data);
    exchange(0, 1);
    exchange(1, 0);
    kit_close(&out);
    kit_close(&in);
    return kit_end("open_many");
}

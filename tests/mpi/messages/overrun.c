/* Receives of device memory by way of the MPI whose messages are far too long, where errors return: the error is
 * MPI_ERR_TRUNCATE, and neither what other receives have under way at the same time nor anything else of the process
 * is written to. Rank 1 sends, rank 0 receives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { N = 6, LEAST = 5000, MOST = 1 << 20, LONGER = 10 };

static struct kit_buffer buffers[N];
static char *data;

static char value(int seed, size_t i)
{
    return (char)random_mix(kit_seed + (uint64_t)seed * 1000003 + i);
}

static void fill(int seed, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        data[i] = value(seed, i);
}

static void check(int seed, struct kit_buffer *buffer, size_t bytes)
{
    int guards = 0;
    const char *got = kit_get(buffer, &guards);
    size_t i = 0;
    while (i < bytes && got[i] == value(seed, i))
        i++;
    CHECK(guards && i == bytes, "message %d of %zu bytes: byte %zu is wrong%s", seed, bytes, i,
          guards ? "" : ", and something was written beside the buffer");
}

/* N receives at once; of every second one the message is LONGER times too long. */
static void round_of(int seed, size_t bytes)
{
    MPI_Request requests[N];
    if (kit_rank == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int m = 0; m < N; m++) {
            size_t n = m % 2 ? bytes * LONGER : bytes;
            fill(seed + m, n);
            MPI_Send(data, (int)n, MPI_BYTE, 0, m, MPI_COMM_WORLD);
        }
        return;
    }
    for (int m = 0; m < N; m++)
        MPI_Irecv(kit_put(&buffers[m], 0, NULL, bytes), (int)bytes, MPI_BYTE, 1, m, MPI_COMM_WORLD, &requests[m]);
    char *beside = malloc(bytes); /* what the C library gives out beside the staged memory */
    if (beside)
        memset(beside, 77, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int m = 0; m < N; m++) {
        MPI_Status status;
        int code = MPI_Wait(&requests[m], &status);
        CHECK(kit_class(code) == (m % 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "message %d: error class %d", m,
              kit_class(code));
    }
    for (int m = 0; m < N; m += 2)
        check(seed + m, &buffers[m], bytes);
    size_t same = 0;
    while (beside && same < bytes && beside[same] == 77)
        same++;
    CHECK(!beside || same == bytes, "memory of the program is written to");
    free(beside);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    data = malloc((size_t)MOST * LONGER);
    for (int m = 0; m < N; m++)
        kit_open(&buffers[m], KIT_DEVICE, MOST);
    int seed = 0;
    for (int round = 0; round < 3; round++) {
        for (size_t bytes = LEAST; bytes <= MOST; bytes = bytes * 3 + 17)
            round_of(seed += N, bytes);
    }
    for (int m = 0; m < N; m++)
        kit_close(&buffers[m]);
    free(data);
    return kit_end("overrun");
}

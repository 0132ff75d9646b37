/* Two ranks whose processes take turns on the GPU that they share, on a device where loading kernels takes longer than
 * a message. Until the kernels are loaded a copy engine stands for them, and its copies within the GPU take turns too:
 * after one that has waited, copies through pinned memory fetch. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <string.h>

#include <tutti/tutti.h>

#include "kit.h"

enum { BYTES = 64 << 10, TAG = 4, TIMES = 200 };
static struct kit_buffer out, in;
static unsigned char data[BYTES];

static const unsigned char *contents(int number)
{
    for (int b = 0; b < BYTES; b++)
        data[b] = (unsigned char)(number * 29 + b + b / 251);
    return data;
}

static int through_pinned(void)
{
    return (int)kit_counted("copies of messages", "through pinned memory");
}

static int by_engines(void)
{
    return (int)kit_counted("copies of messages", "copy engines, while kernels are not loaded");
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("turns_late", "two ranks with the library are needed");
    if (tutti_gpu_count() > 0)
        tutti_gpu_set(kit_rank % tutti_gpu_count());
    kit_open(&out, KIT_DEVICE, BYTES);
    kit_open(&in, KIT_DEVICE, BYTES);
    kit_open_endpoints(&out, &in, BYTES, TAG);
    const int before = through_pinned(), engines = by_engines();
    const int launched = (int)kit_counted("packing kernels", "launched");
    for (int i = 0; i < TIMES; i++) {
        if (kit_rank == 0) {
            MPI_Send(kit_put(&out, 0, contents(i), BYTES), BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
            continue;
        }
        MPI_Recv(kit_put(&in, 0, NULL, BYTES), BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        contents(i);
        CHECK(memcmp(kit_get(&in, NULL), data, BYTES) == 0, "message %d is wrong", i);
    }
    const int passed = through_pinned() - before, turns = by_engines() - engines;
    const int kernels = (int)kit_counted("packing kernels", "launched") - launched;
    printf("rank %d: %d copies through pinned memory, %d by engines, %d kernels\n", kit_rank, passed, turns, kernels);
    CHECK(kit_rank == 0 || passed > TIMES / 2,
          "%d of %d messages came through pinned memory, %d by engines, %d kernels", passed, TIMES, turns, kernels);
    kit_close(&out);
    kit_close(&in);
    return kit_end("turns_late");
}

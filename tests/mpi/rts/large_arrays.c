/* Messages out of large allocations: the first one is mapped when its messages have lost what such a mapping takes, and
 * the second one soon, since further mappings take less time. All bytes are compared. Needs a device whose mappings
 * take long (TUTTI_HOST_MAPPING_US). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { ARRAY = 257 << 20, BYTES = 64 << 10, TAG = 4, MOST = 2000, SOON = 60, MORE = 20, WAIT_US = 1000 };

static unsigned char data[BYTES], nothing[BYTES];

/* Messages that were sent until one was fetched. MORE follow it. */
static int until_fetched(struct kit_buffer *array, struct kit_buffer *in, int wait_us)
{
    int n = 0, until = MOST;
    for (; n < until; n++) {
        const uint64_t before = kit_counted("MPI_Send", "fetched by the receiver");
        memset(data, 1 + n % 200, sizeof data);
        if (kit_rank == 0) {
            MPI_Send(kit_put(array, 0, data, BYTES), BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        } else {
            char *const at = kit_put(in, 0, nothing, BYTES);
            MPI_Recv(at, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(memcmp(kit_get(in, NULL), data, BYTES) == 0, "message %d is wrong", n);
        }
        int fetched = kit_counted("MPI_Send", "fetched by the receiver") > before;
        MPI_Bcast(&fetched, 1, MPI_INT, 0, MPI_COMM_WORLD);
        until = fetched && until == MOST ? n + MORE : until;
        usleep((unsigned)wait_us);
    }
    return until == MOST ? MOST : n - MORE;
}

int main(int argc, char **argv)
{
    struct kit_buffer array[2], in;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("large_arrays", "needs two ranks, and the library in front");
    kit_open(&in, KIT_DEVICE, BYTES);
    for (int i = 0; i < 2; i++)
        kit_open(&array[i], KIT_DEVICE, ARRAY);
    const int first = until_fetched(&array[0], &in, 0), second = until_fetched(&array[1], &in, WAIT_US);
    CHECK(first < MOST, "the first allocation is not mapped");
    CHECK(second < SOON, "the second allocation is mapped after %d messages, the first one after %d", second, first);
    if (kit_rank == 0)
        printf("mapped after %d and %d messages\n", first, second);
    for (int i = 0; i < 2; i++)
        kit_close(&array[i]);
    kit_close(&in);
    return kit_end("large_arrays");
}

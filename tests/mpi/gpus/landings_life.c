/* Short messages that land: their sender's request completes before they are received, and what the sender does then
 * to the memory or to its GPU does not change them; nor does the receiver's reset of its GPU. In turns by two GPUs. */
#include <stdio.h>
#include <string.h>

#include "gpu.h"
#include "kit.h"
#include "turns.h"

enum { BYTES = 1000, TAG = 3, AFTERS = 40 };
enum end { NOTHING, OVERWRITTEN, FREED, SENDER_RESET, RECEIVER_RESET, ENDS };
static const char *const names[ENDS] = {"nothing", "overwritten", "freed", "the sender's GPU is reset",
                                        "the receiver's GPU is reset"};
static unsigned char data[BYTES], got[BYTES];

static void contents(int n)
{
    for (int i = 0; i < BYTES; i++)
        data[i] = (unsigned char)(i * 7 + n * 13 + 1);
}

static uint64_t landed(void)
{
    return kit_counted("MPI_Isend", "memory that its receiver maps");
}

/* The receiver receives when the sender has done that to its memory. A message that does not land may wait for its
 * receiver: NOTHING. */
static void message(int n, int gpu, enum end end)
{
    unsigned char *const memory = gpu_alloc(gpu, BYTES);
    contents(n);
    if (kit_rank == 0) {
        MPI_Request request;
        gpu_copy(gpu, memory, data, BYTES);
        MPI_Isend(memory, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (end == OVERWRITTEN)
            gpu_fill(gpu, memory, 0xee, BYTES);
        else if (end == SENDER_RESET)
            gpu_reset(gpu);
        if (end != SENDER_RESET)
            gpu_free(gpu, memory);
        if (end != NOTHING)
            kit_turn_give(1);
        return;
    }
    if (end != NOTHING)
        kit_turn_take(names[end], n);
    unsigned char *to = memory;
    if (end == RECEIVER_RESET) {
        gpu_reset(gpu);
        to = gpu_alloc(gpu, BYTES);
    }
    MPI_Recv(to, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    gpu_copy(gpu, got, to, BYTES);
    CHECK(memcmp(got, data, BYTES) == 0, "message %d, %s: other bytes have come", n, names[end]);
    gpu_free(gpu, to);
}

/* Until messages from this GPU land; a thread of the sender makes what is necessary. */
static int warm(int n, int gpu)
{
    const uint64_t before = landed();
    int goes_on = 1;
    for (; goes_on; n++) {
        message(n, gpu, NOTHING);
        goes_on = !kit_plain && landed() == before;
        MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return n;
}

int main(int argc, char **argv)
{
    int n = 0;
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int gpus = gpu_count() < 2 ? 1 : 2;
    kit_turns_open();
    for (int gpu = 0; gpu < gpus; gpu++) {
        gpu_set(gpu);
        n = warm(n, gpu);
    }
    const uint64_t before = landed();
    for (int i = 0; i < AFTERS; i++)
        message(n++, i / 2 % gpus, i % 2 ? FREED : OVERWRITTEN);
    CHECK(kit_plain || kit_rank != 0 || landed() == before + AFTERS, "%llu of %d messages have landed",
          (unsigned long long)(landed() - before), AFTERS);
    for (int i = 0; i < 2 * ENDS; i++) {
        n = warm(n, i % gpus);
        message(n++, i % gpus, (enum end)(i / 2));
    }
    kit_turns_close();
    return kit_end("landings_life");
}

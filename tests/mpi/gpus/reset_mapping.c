/* A GPU is reset while memory is being mapped for it on a thread beside: the receiver's, for which the memory is
 * mapped, or the sender's, whose memory it is. Each round sends messages from new memory, by the last of which a
 * mapping pays (TUTTI_HOST_MAPPING_US says how long it takes), and a rank resets its GPU as soon as that message is
 * complete: before, during or after the mapping. All messages, also of the memory that follows, are right, and no GPU
 * is used that is not there. Needs TUTTI_STATS=1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu.h"
#include "kit.h"

/* Of LONG bytes each: by the rule of what traffic costs 0.55 ms, of which three pay for a mapping
 * (TUTTI_MAPPING_PRICE_US=1500). RESET_RANKS: rounds without a reset are among them. */
enum { LONG = 2 << 20, MESSAGES = 3, ROUNDS = 24, RESET_RANKS = 3, STEP_US = 700, LAST = 300 };

static unsigned char *data, *came;

static uint64_t mapped(void)
{
    return kit_counted("memory of other ranks", "of the program");
}

static void message(unsigned char *memory, size_t bytes, int number)
{
    uint64_t *words = (void *)data;
    for (size_t i = 0; i < bytes / sizeof *words + 1; i++)
        words[i] = (i + (uint64_t)number * LONG) * UINT64_C(0x9E3779B97F4A7C15);
    if (kit_rank == 0) {
        gpu_copy(kit_rank, memory, data, bytes);
        MPI_Send(memory, (int)bytes, MPI_BYTE, 1, number, MPI_COMM_WORLD);
    } else {
        MPI_Recv(memory, (int)bytes, MPI_BYTE, 0, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gpu_copy(kit_rank, came, memory, bytes);
        CHECK(memcmp(came, data, bytes) == 0, "message %d: other bytes have come", number);
    }
}

/* On a loaded machine each mapping may end after the round that it is for: memory that stays is mapped at last. */
static void until_mapped(void)
{
    unsigned char *memory = gpu_alloc(kit_rank, LONG);
    int done = 0;
    for (int m = 0; m < LAST && !done; m++) {
        message(memory, LONG, ROUNDS * 10 + m);
        done = mapped() > 0;
        MPI_Bcast(&done, 1, MPI_INT, 1, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    gpu_free(kit_rank, memory);
}

int main(int argc, char **argv)
{
    int during = 0;
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    data = malloc(LONG + sizeof(uint64_t));
    came = malloc(LONG);
    gpu_count();
    gpu_set(kit_rank);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *memory = gpu_alloc(kit_rank, LONG);
        const int resets = round % RESET_RANKS;
        const uint64_t before = mapped();
        MPI_Barrier(MPI_COMM_WORLD);
        for (int m = 0; m < MESSAGES; m++)
            message(memory, LONG, round * 10 + m);
        usleep((useconds_t)(round / RESET_RANKS * STEP_US));
        if (kit_rank == resets) {
            gpu_reset(kit_rank); /* the memory goes with it */
            memory = gpu_alloc(kit_rank, LONG);
        }
        if (kit_rank == 1 && resets == 1)
            during += mapped() == before;
        message(memory, 3000, round * 10 + 5);
        message(memory, LONG, round * 10 + 6);
        message(memory, 100, round * 10 + 7);
        MPI_Barrier(MPI_COMM_WORLD);
        gpu_free(kit_rank, memory);
    }
    until_mapped();
    CHECK(gpu_violations() == 0, "%lu rules of GPUs were broken", gpu_violations());
    if (kit_rank == 1) {
        CHECK(mapped() > 0, "nothing was mapped");
        printf(
            "reset_mapping: %llu mappings; %d of %d resets of the receiver's GPU came before the mapping had ended\n",
            (unsigned long long)mapped(), during, ROUNDS / RESET_RANKS);
    }
    free(data);
    free(came);
    return kit_end("reset_mapping");
}

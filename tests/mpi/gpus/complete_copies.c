/* Messages and reductions right behind synchronous copies and fills of the program, which CUDA lets return before they
 * are complete: a kernel in front of them in the default stream keeps them back for milliseconds. The sender copies
 * within its GPU and sends; the receiver fills what it receives into. The first round is also the first time that the
 * library meets the GPU. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "gpu_filler.h"
#include "kit.h"

enum { MOST = 4 << 20, ROUNDS = 40 };

static const uint64_t cycles = 30000000; /* 15 to 20 ms of an H100 */
static const int sizes[] = {8, 400, 4096, 65536, 1 << 20, MOST};
static unsigned char *data, *came;
static int own, fills;

/* Later work of the default stream waits. */
static void keep_back(void)
{
    if (fills)
        CHECK(gpu_filler_put_blocks(NULL, 1, cycles) == 0, "the kernel of the program");
}

static void message(int round, int bytes, unsigned char *memory, unsigned char *other)
{
    if (kit_rank == 0) {
        gpu_copy(own, other, data, (size_t)bytes);
        keep_back();
        gpu_copy_within(own, memory, other, (size_t)bytes);
        MPI_Send(memory, bytes, MPI_BYTE, 1, round, MPI_COMM_WORLD);
    } else if (kit_rank == 1) {
        keep_back();
        gpu_fill(own, memory, 0xee, (size_t)bytes);
        MPI_Recv(memory, bytes, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        gpu_copy(own, came, memory, (size_t)bytes);
        CHECK(memcmp(came, data, (size_t)bytes) == 0, "round %d: %d bytes: other bytes have come", round, bytes);
    }
}

/* The largest of all ranks' bytes: those of the data, since the other rank's are 0. */
static void reduction(int round, int bytes, unsigned char *memory, unsigned char *other)
{
    memset(came, 0, (size_t)bytes);
    gpu_copy(own, other, kit_rank == 0 ? data : came, (size_t)bytes);
    keep_back();
    gpu_copy_within(own, memory, other, (size_t)bytes);
    MPI_Allreduce(MPI_IN_PLACE, memory, bytes, MPI_UNSIGNED_CHAR, MPI_MAX, MPI_COMM_WORLD);
    gpu_copy(own, came, memory, (size_t)bytes);
    CHECK(memcmp(came, data, (size_t)bytes) == 0, "round %d: %d bytes: another maximum", round, bytes);
}

int main(int argc, char **argv)
{
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int count = gpu_count();
    own = count > 0 ? kit_rank % count : 0;
    gpu_set(own);
    fills = gpu_filler_open();
    data = malloc(MOST);
    came = malloc(MOST);
    unsigned char *memory = gpu_alloc(own, MOST), *other = gpu_alloc(own, MOST);
    for (int round = 0; round < ROUNDS; round++) {
        const int bytes = sizes[round % 6];
        for (int i = 0; i < bytes; i++)
            data[i] = (i * 7 + i / 251 + round) % 128; /* MPICH 4.0 takes MPI_UNSIGNED_CHAR for signed in MPI_MAX */
        (round % 5 == 4 ? reduction : message)(round, bytes, memory, other);
    }
    if (!fills && kit_rank == 0)
        printf("complete_copies: no GPU: copies are complete anyway\n");
    gpu_free(own, memory);
    gpu_free(own, other);
    free(data);
    free(came);
    return kit_end("complete_copies");
}

/* Messages and reductions right behind synchronous copies and fills of the program, which CUDA lets return before they
 * are complete: a kernel in front of them in the default stream keeps them back for milliseconds. The sender copies
 * within its GPU and sends; the receiver fills what it receives into. The first round is also the first time that the
 * library meets the GPU. Some rounds have memory that no call has named before, and some a type whose two blocks lie in
 * two such allocations, of which the second one is never named. */
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

/* Two blocks, in two new allocations. */
static void message_in_two(int round, int bytes, unsigned char *other)
{
    const int lengths[2] = {bytes / 2, bytes - bytes / 2};
    unsigned char *half[2];
    MPI_Aint at[2];
    MPI_Datatype type;
    for (int i = 0; i < 2; i++) {
        half[i] = gpu_alloc(own, MOST);
        MPI_Get_address(half[i], &at[i]);
    }
    MPI_Type_create_hindexed(2, lengths, at, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    if (kit_rank == 0) {
        gpu_copy(own, other, data, (size_t)bytes);
        keep_back();
        for (int i = 0; i < 2; i++)
            gpu_copy_within(own, half[i], other + i * lengths[0], (size_t)lengths[i]);
        MPI_Send(MPI_BOTTOM, 1, type, 1, round, MPI_COMM_WORLD);
    } else if (kit_rank == 1) {
        keep_back();
        for (int i = 0; i < 2; i++)
            gpu_fill(own, half[i], 0xee, (size_t)lengths[i]);
        MPI_Recv(MPI_BOTTOM, 1, type, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2; i++)
            gpu_copy(own, came + i * lengths[0], half[i], (size_t)lengths[i]);
        CHECK(memcmp(came, data, (size_t)bytes) == 0, "round %d: %d bytes in two: other bytes have come", round, bytes);
    }
    MPI_Type_free(&type);
    for (int i = 0; i < 2; i++)
        gpu_free(own, half[i]);
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
        unsigned char *const new = round % 3 == 1 ? gpu_alloc(own, MOST) : memory;
        if (round % 5 == 3)
            message_in_two(round, bytes, other);
        else
            (round % 5 == 4 ? reduction : message)(round, bytes, new, other);
        if (new != memory)
            gpu_free(own, new);
    }
    if (!fills && kit_rank == 0)
        printf("complete_copies: no GPU: copies are complete anyway\n");
    gpu_free(own, memory);
    gpu_free(own, other);
    free(data);
    free(came);
    return kit_end("complete_copies");
}

/* Device memory that passes through bounce buffers of the library, round after round: it asks the device for as many as
 * are in use at a time, not for new ones each round. Two ranks talk. Argument: kind of memory that must have been
 * taken, as the counters name it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MESSAGES = 5, BLOCK = 8, STRIDE = 24, MOST_BLOCKS = 9000, ROUNDS = 60, AT_ONCE = 80 };
static struct kit_buffer out[MESSAGES], in[MESSAGES], all;
static unsigned char bytes[MOST_BLOCKS * STRIDE], packed[2 * MOST_BLOCKS * BLOCK];
static MPI_Datatype block;
static int peer;

static int blocks_of(int i)
{
    return MOST_BLOCKS / (i + 1);
}

static unsigned char value(int rank, int round, int i, size_t b)
{
    return (unsigned char)random_mix(kit_seed + (uint64_t)rank * 7919 + (uint64_t)(round * MESSAGES + i) * 104729 + b);
}

static void *contents(int round, int i)
{
    for (size_t b = 0; b < sizeof bytes; b++)
        bytes[b] = value(kit_rank, round, i, b);
    return kit_put(&out[i], 0, bytes, (size_t)blocks_of(i) * STRIDE);
}

/* `got` holds the typed bytes of what `rank` has sent. */
static void check(const unsigned char *got, int rank, int round, int i, const char *how)
{
    size_t wrong = 0;
    for (size_t b = 0; b < (size_t)blocks_of(i) * BLOCK; b++)
        wrong += got[b] != value(rank, round, i, b / BLOCK * STRIDE + b % BLOCK);
    CHECK(wrong == 0, "%s: round %d, %zu bytes of message %d are wrong", how, round, wrong, i);
}

static void exchange(int round)
{
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];
    for (int i = 0; i < MESSAGES; i++) {
        const size_t room = (size_t)blocks_of(i) * BLOCK;
        MPI_Irecv(kit_put(&in[i], 0, NULL, room), (int)room, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Isend(contents(round, i), blocks_of(i), block, peer, i, MPI_COMM_WORLD, &requests[MESSAGES + i]);
    }
    MPI_Waitall(2 * MESSAGES, requests, statuses);
    for (int i = 0; i < MESSAGES; i++)
        check((unsigned char *)kit_get(&in[i], NULL), peer, round, i, "exchange");
}

static void gather(int round)
{
    const size_t each = (size_t)blocks_of(1) * BLOCK;
    void *to = kit_put(&all, 0, NULL, 2 * each);
    MPI_Allgather(contents(round, 1), blocks_of(1), block, to, (int)each, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < 2; r++)
        check((unsigned char *)kit_get(&all, NULL) + (size_t)r * each, r, round, 1, "allgather");
}

static void pack(int round)
{
    int position = 0;
    MPI_Pack(contents(round, 2), blocks_of(2), block, packed, sizeof packed, &position, MPI_COMM_SELF);
    check(packed, kit_rank, round, 2, "pack");
}

int main(int argc, char **argv)
{
    MPI_Datatype plain;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const char *kind = argc > 1 ? argv[1] : "pinned";
    if (kit_size != 2)
        kit_skip("bounced", "it takes two ranks");
    peer = 1 - kit_rank;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &plain);
    MPI_Type_create_resized(plain, 0, STRIDE, &block);
    MPI_Type_commit(&block);
    for (int i = 0; i < MESSAGES; i++) {
        kit_open(&out[i], KIT_DEVICE, sizeof bytes);
        kit_open(&in[i], KIT_DEVICE, MOST_BLOCKS * BLOCK);
    }
    kit_open(&all, KIT_DEVICE, 2 * MOST_BLOCKS * BLOCK);
    for (int round = 0; round < ROUNDS; round++) {
        exchange(round);
        gather(round);
        pack(round);
    }
    const unsigned long long made = kit_counted("bounce buffers", "allocated"),
                             those = kit_counted("bounce buffers", kind);
    CHECK(kit_plain || those > 0, "no bounce buffer is counted as %s", kind);
    CHECK(made <= AT_ONCE, "%llu bounce buffers were allocated in %d rounds", made, ROUNDS);
    if (kit_rank == 0)
        printf("%llu bounce buffers, %llu of them %s, for %d rounds\n", made, those, kind, ROUNDS);
    for (int i = 0; i < MESSAGES; i++) {
        kit_close(&out[i]);
        kit_close(&in[i]);
    }
    kit_close(&all);
    MPI_Type_free(&plain);
    MPI_Type_free(&block);
    return kit_end("bounced");
}

/* Fetches that follow each other closely, so that a kernel stays for the next ones: to and fro between two ranks, in
 * bursts. First messages for several blocks until some were fetched without a launch, then messages of 1 byte to 100 KB
 * at random places, some in a vector's layout, with pauses now and then, and messages of which each block copies
 * several shares. All bytes are compared. Needs kernels that stay by themselves (TUTTI_HOST_STAY_US) or on request
 * (TUTTI_LINGER_US). */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "kit.h"
#include "support/random.h"

enum { BURST = 12, MOST = 100 << 10, ROOM = BURST * (MOST + 64), ROUNDS = 40, SECONDS = 8, TAG = 5, SERVED = 8 };

static struct kit_buffer out, in;
static unsigned char data[ROOM], expected[ROOM];
static uint64_t state; /* the same on both ranks */

static struct message {
    int from, to, bytes, blocks; /* blocks: 0, or a vector of so many blocks of 8 bytes, 16 apart */
} messages[BURST];

static int drawn(int least, int most)
{
    return least + (int)(random_next(&state) % (uint64_t)(most - least + 1));
}

static void draw(int wide)
{
    int to = 0;
    for (int i = 0; i < BURST; i++) {
        struct message *const m = &messages[i];
        const int kind = wide ? 0 : drawn(0, 5);
        *m = (struct message){.from = drawn(0, 200) * 16};
        m->blocks = kind == 5 ? drawn(1, 400) : 0;
        m->bytes = kind <= 1   ? 16 * drawn(1100, 4000)
                   : kind == 2 ? 16 * drawn(1, 1100)
                   : kind == 3 ? drawn(1, 64)
                   : kind == 4 ? drawn(1, MOST / 2)
                               : m->blocks * 16;
        if (kind == 4)
            m->from += drawn(0, 15);
        to = (to + 15) / 16 * 16;
        m->to = to + m->from % 16;
        to = m->to + m->bytes + drawn(0, 3);
    }
}

static void message_expect(const struct message *m)
{
    if (m->blocks == 0)
        memcpy(expected + m->to, data + m->from, (size_t)m->bytes);
    for (int b = 0; b < m->blocks; b++)
        memcpy(expected + m->to + b * 16, data + m->from + b * 16, 8);
}

/* Messages go both ways, one after the other. */
static void burst(int wide, int pauses)
{
    static const unsigned char nothing[ROOM];
    char *const from = kit_put(&out, 0, data, ROOM), *const to = kit_put(&in, 0, nothing, ROOM);
    draw(wide);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(expected, 0, ROOM);
    for (int i = 0; i < BURST; i++) {
        const struct message *const m = &messages[i];
        MPI_Datatype type = MPI_BYTE;
        const int count = m->blocks ? 1 : m->bytes;
        if (m->blocks) {
            MPI_Type_vector(m->blocks, 8, 16, MPI_BYTE, &type);
            MPI_Type_commit(&type);
        }
        for (int turn = 0; turn < 2; turn++) {
            if (turn == kit_rank)
                MPI_Send(from + m->from, count, type, 1 - kit_rank, TAG, MPI_COMM_WORLD);
            else
                MPI_Recv(to + m->to, count, type, 1 - kit_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (m->blocks)
            MPI_Type_free(&type);
        message_expect(m);
        if (pauses && drawn(0, 4) == 0)
            nanosleep(&(struct timespec){.tv_nsec = drawn(0, 2000000)}, NULL);
    }
    CHECK(memcmp(kit_get(&in, NULL), expected, ROOM) == 0, "a burst%s is wrong", wide ? " of wide messages" : "");
}

/* Up to as many as the kernel of the host device takes, and a little more. */
enum { LONG_UNITS = 100000, LONG_ROOM = LONG_UNITS * 16, LONG_ONES = 4 };

static void long_ones(struct kit_buffer *from, struct kit_buffer *to)
{
    static unsigned char bytes[LONG_ROOM], nothing[LONG_ROOM];
    for (int i = 0; i < LONG_ONES; i++) {
        const int length = 16 * drawn(20000, LONG_UNITS);
        for (int b = 0; b < length; b++)
            bytes[b] = (unsigned char)(b * 7 + b / 4096 + i + length);
        char *const source = kit_put(from, 0, bytes, LONG_ROOM), *const target = kit_put(to, 0, nothing, LONG_ROOM);
        for (int turn = 0; turn < 4; turn++) {
            if (turn % 2 == kit_rank)
                MPI_Send(source, length, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD);
            else
                MPI_Recv(target, length, MPI_BYTE, 1 - kit_rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CHECK(memcmp(kit_get(to, NULL), bytes, (size_t)length) == 0, "a long message of %d bytes is wrong", length);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || kit_size != 2)
        kit_skip("stays", "needs two ranks, and the library in front");
    state = kit_seed;
    for (int b = 0; b < ROOM; b++)
        data[b] = (unsigned char)(random_next(&state) | 1);
    kit_open(&out, KIT_DEVICE, ROOM);
    kit_open(&in, KIT_DEVICE, ROOM);
    kit_open_endpoints(&out, &in, KIT_OPENING_BYTES, TAG);
    const double begun = MPI_Wtime();
    int bursts = 0;
    for (int fewer = 1; fewer; bursts++) { /* on a machine that is busy no fetch may come soon enough */
        burst(1, 0);
        const int mine =
            kit_counted("packing kernels", "served") < SERVED && MPI_Wtime() - begun < SECONDS && !check_failed();
        MPI_Allreduce(&mine, &fewer, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
    struct kit_buffer long_out, long_in;
    kit_open(&long_out, KIT_DEVICE, LONG_ROOM);
    kit_open(&long_in, KIT_DEVICE, LONG_ROOM);
    for (int round = 0; round < ROUNDS; round++) {
        burst(0, round % 3 == 2);
        if (round % 16 == 0)
            long_ones(&long_out, &long_in);
    }
    kit_close(&long_in);
    kit_close(&long_out);
    if (kit_rank == 0)
        printf("%d bursts of wide messages, %d served\n", bursts, (int)kit_counted("packing kernels", "served"));
    kit_close(&in);
    kit_close(&out);
    return kit_end("stays");
}

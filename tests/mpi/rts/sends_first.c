/* A rank that waits for its sends fetches messages of other receives meanwhile, and ends them before its wait has
 * ended: the other rank sends what the wait is for only after its own messages have left. All bytes are compared.
 * sends_first [rounds] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "support/random.h"

enum { MESSAGES = 6, MOST = 300 << 10, SLOT = MOST + 64, ROOM = (MESSAGES + 1) * SLOT, LAST = MESSAGES, TAG = 3 };

static struct kit_buffer out, in;
static unsigned char data[ROOM], nothing[ROOM];
static int lengths[MESSAGES + 1]; /* the last one is sent behind the others */
static uint64_t state;            /* the same on both ranks */

static void sends_first_draw(int round)
{
    static const int most[] = {600, 4096, 40000, MOST};
    for (int i = 0; i <= LAST; i++)
        lengths[i] = 520 + (int)(random_next(&state) % (uint64_t)(most[random_next(&state) % 4] - 520));
    for (int b = 0; b < ROOM; b++)
        data[b] = (unsigned char)(b * 7 + b / 251 + round * 13 + 1);
}

static void waits_for_sends(char *from, char *to)
{
    MPI_Request requests[MESSAGES + 2];
    for (int i = 0; i <= LAST; i++)
        MPI_Irecv(to + i * SLOT, lengths[i], MPI_BYTE, 1, TAG + i, MPI_COMM_WORLD, &requests[i]);
    MPI_Isend(from, lengths[0], MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[LAST + 1]);
    MPI_Waitall(2, requests + LAST, MPI_STATUSES_IGNORE);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}

static void sends_behind(char *from, char *to, int late)
{
    MPI_Request requests[MESSAGES];
    for (int i = 0; i < MESSAGES; i++)
        MPI_Isend(from + i * SLOT, lengths[i], MPI_BYTE, 0, TAG + i, MPI_COMM_WORLD, &requests[i]);
    if (!late)
        MPI_Recv(to, lengths[0], MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    MPI_Send(from + LAST * SLOT, lengths[LAST], MPI_BYTE, 0, TAG + LAST, MPI_COMM_WORLD);
    if (late)
        MPI_Recv(to, lengths[0], MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("sends_first", "needs two ranks");
    const int rounds = argc > 1 ? atoi(argv[1]) : 60;
    state = kit_seed;
    kit_open(&out, KIT_DEVICE, ROOM);
    kit_open(&in, KIT_DEVICE, ROOM);
    kit_open_endpoints(&out, &in, KIT_OPENING_BYTES, TAG);
    for (int round = 0; round < rounds; round++) {
        sends_first_draw(round);
        char *const from = kit_put(&out, 0, data, ROOM), *const to = kit_put(&in, 0, nothing, ROOM);
        MPI_Barrier(MPI_COMM_WORLD);
        if (kit_rank == 0)
            waits_for_sends(from, to);
        else
            sends_behind(from, to, round % 4 == 3);
        const char *const got = kit_get(&in, NULL);
        for (int i = 0; i <= LAST; i++) {
            const int received = kit_rank == 0 ? lengths[i] : i == 0 ? lengths[0] : 0;
            CHECK(memcmp(got + i * SLOT, data + i * SLOT, (size_t)received) == 0 && got[i * SLOT + received] == 0,
                  "round %d: message %d of %d bytes is wrong", round, i, received);
        }
    }
    kit_close(&in);
    kit_close(&out);
    return kit_end("sends_first");
}

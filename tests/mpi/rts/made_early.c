/* Persistent receives of host memory that were made, and some freed, before the program met a GPU. Then their messages
 * come from device memory, a probe finds each before it is started, and the start must get it. More of them are open
 * than are recorded without an allocation. Rank 1 sends, rank 0 receives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { RECEIVES = 700, SHORT = 96, LONG = 20000, LONGER = 16, FIRST = 100, MEET = 1 << 16 };

static MPI_Request request[RECEIVES];
static char *room[RECEIVES];
static struct kit_buffer met[2];

/* A few long ones; the others are shorter than the messages that every receive is looked at for. */
static int length_of(int i)
{
    return i % (RECEIVES / LONGER) == 0 ? LONG : SHORT;
}

static int is_freed(int i)
{
    return i % 5 == 3;
}

static void make(void)
{
    MPI_Datatype word;
    MPI_Type_contiguous(4, MPI_BYTE, &word);
    MPI_Type_commit(&word);
    for (int i = 0; i < RECEIVES; i++) {
        room[i] = calloc(1, LONG);
        if (i % 2)
            MPI_Recv_init(room[i], length_of(i) / 4, word, 1, FIRST + i, MPI_COMM_WORLD, &request[i]);
        else
            MPI_Recv_init(room[i], length_of(i), MPI_BYTE, 1, FIRST + i, MPI_COMM_WORLD, &request[i]);
    }
    MPI_Type_free(&word);
    for (int i = 0; i < RECEIVES; i++) {
        if (is_freed(i))
            MPI_Request_free(&request[i]);
    }
}

/* Both ranks pass memory of a GPU, often enough that messages of device memory are not staged. */
static void meet(void)
{
    for (int k = 0; k < 2; k++)
        kit_open(&met[k], KIT_DEVICE, MEET);
    for (int i = 0; i < 20; i++)
        MPI_Sendrecv(kit_put(&met[0], 0, NULL, MEET), MEET, MPI_BYTE, 1 - kit_rank, 1, kit_put(&met[1], 0, NULL, MEET),
                     MEET, MPI_BYTE, 1 - kit_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive(int i, int round)
{
    MPI_Status status;
    int flag = 0, count = -1;
    while (!flag)
        MPI_Iprobe(1, FIRST + i, MPI_COMM_WORLD, &flag, &status);
    memset(room[i], 0, LONG);
    MPI_Start(&request[i]);
    MPI_Wait(&request[i], &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(status.MPI_SOURCE == 1 && status.MPI_TAG == FIRST + i && count == length_of(i),
          "receive %d: source %d, tag %d, %d bytes", i, status.MPI_SOURCE, status.MPI_TAG, count);
    int wrong = 0;
    for (int b = 0; b < length_of(i); b++)
        wrong += room[i][b] != (char)(i + 7 * round + 1);
    CHECK(!wrong, "receive %d: %d wrong bytes", i, wrong);
}

int main(int argc, char **argv)
{
    char data[LONG];
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_rank == 0)
        make();
    MPI_Barrier(MPI_COMM_WORLD);
    meet();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < RECEIVES; i++) {
            if (is_freed(i))
                continue;
            memset(data, i + 7 * round + 1, LONG);
            if (kit_rank == 1)
                MPI_Send(kit_put(&met[0], 0, data, (size_t)length_of(i)), length_of(i), MPI_BYTE, 0, FIRST + i,
                         MPI_COMM_WORLD);
            else
                receive(i, round);
        }
    }
    for (int i = 0; kit_rank == 0 && i < RECEIVES; i++) {
        if (!is_freed(i))
            MPI_Request_free(&request[i]);
        free(room[i]);
    }
    for (int k = 0; k < 2; k++)
        kit_close(&met[k]);
    return kit_end("made_early");
}

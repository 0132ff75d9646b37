/* MPI_THREAD_MULTIPLE: a thread begins a nonblocking call on device memory and ends, while another one is already
 * in a call of the MPI's own. The call of the first thread makes progress all the same: the other ranks complete it,
 * and send what the second one waits for. Arguments: rounds (20). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kit.h"

enum { COUNT = 3000, TAG = 5 };
static MPI_Comm calls;
static struct kit_buffer in, out;
static MPI_Request request;
static int values[COUNT];

enum { REDUCTION, MIXED, GATHER, WAYS }; /* all bring device memory; some bring host memory; moved, not reduced */
static const char *const names[WAYS] = {"MPI_Iallreduce", "MPI_Iallreduce, host memory on rank 1", "MPI_Iallgather"};

static int value_of(int round, int rank, int i)
{
    return round * 31 + rank * 1000 + i;
}

static void start(int way)
{
    const int bytes = COUNT * (int)sizeof(int), alike = way != MIXED || kit_rank != 1;
    static int host_in[COUNT], host_out[COUNT];
    void *from = host_in, *to = host_out;
    if (alike) {
        from = kit_put(&in, 0, values, (size_t)bytes);
        to = kit_put(&out, 0, NULL, (size_t)bytes * (size_t)kit_size);
    } else {
        for (int i = 0; i < COUNT; i++)
            host_in[i] = values[i];
    }
    int error = way == GATHER ? MPI_Iallgather(from, COUNT, MPI_INT, to, COUNT, MPI_INT, calls, &request)
                              : MPI_Iallreduce(from, to, COUNT, MPI_INT, MPI_SUM, calls, &request);
    CHECK(error == MPI_SUCCESS, "%s: %d", names[way], error);
}

static void *begin_and_leave(void *way)
{
    usleep(5000 + 10000 * (unsigned)(kit_rank % 2)); /* the other thread is in its call */
    start(*(const int *)way);
    return NULL;
}

static void look(int way, int round)
{
    const int *got = (const void *)kit_get(&out, NULL);
    int wrong = 0;
    if (way == MIXED && kit_rank == 1)
        return;
    for (int i = 0; i < COUNT; i++) {
        int sum = 0;
        for (int r = 0; r < kit_size; r++) {
            sum += value_of(round, r, i);
            wrong += way == GATHER && got[r * COUNT + i] != value_of(round, r, i);
        }
        wrong += way != GATHER && got[i] != sum;
    }
    CHECK(wrong == 0, "%s, round %d: %d wrong", names[way], round, wrong);
}

static void one_round(int way, int round)
{
    int word = round;
    for (int i = 0; i < COUNT; i++)
        values[i] = value_of(round, kit_rank, i);
    if (kit_rank == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, begin_and_leave, &way);
        for (int r = 1; r < kit_size; r++) /* in the MPI, until the others have the result */
            MPI_Recv(&word, 1, MPI_INT, r, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        start(way);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
    look(way, round);
}

int main(int argc, char **argv)
{
    const int level = kit_start(&argc, &argv, MPI_THREAD_MULTIPLE);
    const int rounds = argc > 1 ? atoi(argv[1]) : 20;
    if (level < MPI_THREAD_MULTIPLE)
        kit_skip("left_alone", "this MPI has no MPI_THREAD_MULTIPLE");
    MPI_Comm_dup(MPI_COMM_WORLD, &calls);
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values * (size_t)kit_size);
    for (int round = 0; round < rounds; round++)
        one_round(round % WAYS, round);
    kit_close(&in);
    kit_close(&out);
    MPI_Comm_free(&calls);
    return kit_end("left_alone");
}

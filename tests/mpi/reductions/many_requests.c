/* More requests of Tutti's own at once than the 32,768 tags that every MPI has: persistent sends, which cost little,
 * and nonblocking reductions after them. Argument: how many sends. */
#include <stdlib.h>

#include "kit.h"

enum { MANY = 33000, OPEN = 20, COUNT = 300 };

static struct kit_buffer in, out;
static int values[OPEN * COUNT];

/* Nonblocking reductions, all open at once. */
static void reduce(void)
{
    MPI_Request requests[OPEN];
    MPI_Status statuses[OPEN];
    int wrong = 0;
    for (int i = 0; i < OPEN * COUNT; i++)
        values[i] = i * (kit_rank + 1);
    const int *send = kit_put(&in, 0, values, sizeof values);
    int *receive = kit_put(&out, 0, NULL, sizeof values);
    for (int i = 0; i < OPEN; i++) {
        int error = MPI_Iallreduce(send + i * COUNT, receive + i * COUNT, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                   &requests[i]);
        CHECK(error == MPI_SUCCESS, "MPI_Iallreduce %d: error class %d", i, kit_class(error));
    }
    CHECK(MPI_Waitall(OPEN, requests, statuses) == MPI_SUCCESS, "MPI_Waitall");
    const int *got = (const int *)(const void *)kit_get(&out, NULL);
    for (int i = 0; i < OPEN * COUNT; i++)
        wrong += got[i] != i * (kit_size * (kit_size + 1) / 2);
    CHECK(wrong == 0, "%d results are wrong", wrong);
}

/* One of the persistent sends, to the next rank. */
static void message(MPI_Request *request)
{
    const int before = (kit_rank + kit_size - 1) % kit_size;
    int *receive = kit_put(&out, 0, NULL, sizeof values), wrong = 0, error = MPI_Start(request);
    CHECK(error == MPI_SUCCESS, "MPI_Start: error class %d", kit_class(error));
    MPI_Recv(receive, COUNT, MPI_INT, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    const int *got = (const int *)(const void *)kit_get(&out, NULL);
    for (int i = 0; i < COUNT; i++)
        wrong += got[i] != i * (before + 1);
    CHECK(wrong == 0, "a message has %d wrong elements", wrong);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int n = argc > 1 ? atoi(argv[1]) : MANY;
    MPI_Request *requests = malloc((size_t)n * sizeof *requests);
    int failed = 0;
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values);
    reduce();
    const void *send = in.base + KIT_GUARD;
    /* Past this each rank takes messages of device memory: sends to one that does not are staged, a mapping or two
     * each, of which a process has some ten thousand. */
    MPI_Sendrecv(send, COUNT, MPI_INT, (kit_rank + 1) % kit_size, 6, out.base + KIT_GUARD, COUNT, MPI_INT,
                 (kit_rank + kit_size - 1) % kit_size, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < n; i++)
        failed += MPI_Send_init(send, COUNT, MPI_INT, (kit_rank + 1) % kit_size, 7, MPI_COMM_WORLD, &requests[i]) !=
                  MPI_SUCCESS;
    CHECK(failed == 0, "%d of %d calls of MPI_Send_init failed", failed, n);
    if (failed == 0) {
        message(&requests[0]);
        message(&requests[n - 1]);
        reduce();
    }
    for (int i = 0; i < n; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
    }
    kit_close(&in);
    kit_close(&out);
    free(requests);
    return kit_end("many_requests");
}

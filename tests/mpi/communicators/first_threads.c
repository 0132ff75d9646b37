/* MPI_THREAD_MULTIPLE: several threads, each with communicators that are new, whose first calls are nonblocking
 * reductions of device and of host memory, all at once; blocking ones follow, and they end by calls of all
 * kinds, while other threads begin. Arguments: threads (4), rounds (30). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { THREADS = 8, FRESH = 3, CALLS = 3, COUNT = 300 };
static MPI_Comm parents[THREADS];
static long rounds;

static int values_of(int thread, int round, int call, int rank, int i)
{
    return rank * 1000 + thread * 7 + round + call * 3 + i;
}

/* All that are left, by one of the completion calls. */
static int complete(MPI_Request requests[], int n, int how)
{
    int index, flag = 0, done = 0, error = MPI_SUCCESS, indices[FRESH * CALLS];
    MPI_Status statuses[FRESH * CALLS];
    switch (how) {
    case 0:
        return MPI_Waitall(n, requests, statuses);
    case 1:
        for (int i = n; i-- > 0 && error == MPI_SUCCESS;)
            error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        return error;
    case 2:
        while (!flag && error == MPI_SUCCESS)
            error = MPI_Testall(n, requests, &flag, statuses);
        return error;
    case 3:
        for (int i = 0; i < n && error == MPI_SUCCESS; i++)
            error = MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        return error;
    default:
        while (done < n && error == MPI_SUCCESS) {
            error = MPI_Testsome(n, requests, &index, indices, statuses);
            done += index > 0 ? index : 0;
        }
        return error;
    }
}

static void one_round(int thread, int round, uint64_t *random, struct kit_buffer in[], struct kit_buffer out[])
{
    MPI_Comm fresh[FRESH];
    MPI_Request requests[FRESH * CALLS];
    int values[COUNT], wrong = 0, error = MPI_SUCCESS;
    for (int c = 0; c < FRESH; c++)
        MPI_Comm_dup(parents[thread], &fresh[c]);
    for (int i = 0; i < FRESH * CALLS && error == MPI_SUCCESS; i++) {
        const int c = i % FRESH; /* the first call of each, then the second of each ... */
        for (int j = 0; j < COUNT; j++)
            values[j] = values_of(thread, round, i, kit_rank, j);
        error = MPI_Iallreduce(kit_put(&in[i], 0, values, sizeof values), kit_put(&out[i], 0, NULL, sizeof values),
                               COUNT, MPI_INT, MPI_SUM, fresh[c], &requests[i]);
    }
    CHECK(error == MPI_SUCCESS, "thread %d, round %d: class %d at the start", thread, round, kit_class(error));
    /* Blocking ones wait for what other threads bring on too. */
    const unsigned blocking = (unsigned)random_next(random);
    for (int c = 0; c < FRESH && error == MPI_SUCCESS; c++) {
        int all = 0;
        if (blocking >> c & 1)
            error = MPI_Allreduce(&kit_rank, &all, 1, MPI_INT, MPI_SUM, fresh[c]);
        CHECK(!(blocking >> c & 1) || all == kit_size * (kit_size - 1) / 2, "thread %d, round %d: blocking", thread,
              round);
        if (blocking >> (8 + c) & 1)
            error = MPI_Barrier(fresh[c]);
    }
    if (error == MPI_SUCCESS)
        error = complete(requests, FRESH * CALLS, (int)(random_next(random) % 5));
    CHECK(error == MPI_SUCCESS, "thread %d, round %d: class %d at the end", thread, round, kit_class(error));
    for (int i = 0; i < FRESH * CALLS; i++) {
        const int *got = (const void *)kit_get(&out[i], NULL);
        for (int j = 0; j < COUNT; j++) {
            int want = 0;
            for (int r = 0; r < kit_size; r++)
                want += values_of(thread, round, i, r, j);
            wrong += got[j] != want;
        }
    }
    CHECK(wrong == 0, "thread %d, round %d: %d elements are wrong", thread, round, wrong);
    for (int c = 0; c < FRESH; c++)
        MPI_Comm_free(&fresh[c]);
}

static void *work(void *which)
{
    const int thread = (int)(long)which;
    struct kit_buffer in[FRESH * CALLS], out[FRESH * CALLS];
    uint64_t random = kit_seed + (uint64_t)thread * 1000003;
    for (int i = 0; i < FRESH * CALLS;
         i++) { /* on some communicators all in device memory, on others all on the host */
        const enum kit_kind kind = i % FRESH == 1 ? KIT_HOST : KIT_DEVICE;
        kit_open(&in[i], kind, COUNT * sizeof(int));
        kit_open(&out[i], kind, COUNT * sizeof(int));
    }
    for (int round = 0; round < rounds && !check_failed(); round++)
        one_round(thread, round, &random, in, out);
    for (int i = 0; i < FRESH * CALLS; i++) {
        kit_close(&in[i]);
        kit_close(&out[i]);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (kit_start(&argc, &argv, MPI_THREAD_MULTIPLE) < MPI_THREAD_MULTIPLE)
        kit_skip("first_threads", "this MPI has no MPI_THREAD_MULTIPLE");
    int n = argc > 1 ? atoi(argv[1]) : 4;
    n = n < THREADS ? n : THREADS;
    rounds = argc > 2 ? atol(argv[2]) : 30;
    pthread_t threads[THREADS];
    for (int i = 0; i < n; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]);
    for (long i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < n; i++)
        MPI_Comm_free(&parents[i]);
    return kit_end("first_threads");
}

/* MPI_THREAD_MULTIPLE: four threads with a communicator each reduce device memory at the same time, while a fifth sends
 * device memory to itself and to its neighbour. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { THREADS = 4, MOST = 5000 };
static MPI_Comm comms[THREADS + 1];
static long rounds;

static void *reduce(void *which_)
{
    long which = (long)which_;
    static const int types[THREADS] = {TUTTI_TYPE_F64, TUTTI_TYPE_I32, TUTTI_TYPE_F32, TUTTI_TYPE_C32};
    struct kit_pair pair = {kit_handle_of(types[which]), TUTTI_OP_SUM};
    size_t size = oracle_size(types[which]);
    char *mine = malloc(MOST * size), *want = malloc(MOST * size);
    struct kit_buffer in, out;
    kit_open(&in, KIT_DEVICE, MOST * size);
    kit_open(&out, KIT_DEVICE, MOST * size);
    uint64_t random = kit_seed + (uint64_t)which * 1000003;
    for (long i = 0; i < rounds; i++) {
        size_t count = 1 + random_next(&random) % (i % 8 ? 64 : MOST);
        int in_place = (int)(random_next(&random) & 1);
        struct oracle_case c = kit_case(&pair, kit_plain ? ORACLE_PLAIN : ORACLE_HARD, random_next(&random));
        oracle_fill(mine, &c, kit_rank, 0, count);
        kit_expect(want, &c, kit_size, 0, count);
        void *to = kit_put(&out, 0, in_place ? mine : NULL, count * size);
        int error = MPI_Allreduce(in_place ? MPI_IN_PLACE : kit_put(&in, 0, mine, count * size), to, (int)count,
                                  pair.handle->type, MPI_SUM, comms[which]);
        int same = oracle_differ(types[which], kit_get(&out, NULL), want, count, kit_plain) == count;
        if (!CHECK(error == MPI_SUCCESS && same, "thread %ld, round %ld, %zu elements: class %d", which, i, count,
                   kit_class(error)))
            break;
    }
    kit_close(&in);
    kit_close(&out);
    free(mine);
    free(want);
    return NULL;
}

static void *message(void *unused)
{
    enum { COUNT = 1000 };
    struct kit_buffer in, out;
    int values[COUNT], next = (kit_rank + 1) % kit_size, before = (kit_rank + kit_size - 1) % kit_size;
    kit_open(&in, KIT_DEVICE, sizeof values);
    kit_open(&out, KIT_DEVICE, sizeof values);
    for (long i = 0; i < rounds / 2; i++) {
        MPI_Request requests[2];
        MPI_Status statuses[2];
        for (int j = 0; j < COUNT; j++)
            values[j] = kit_rank * 100000 + (int)i + j;
        MPI_Irecv(kit_put(&out, 0, NULL, sizeof values), COUNT, MPI_INT, before, 3, comms[THREADS], &requests[0]);
        MPI_Isend(kit_put(&in, 0, values, sizeof values), COUNT, MPI_INT, next, 3, comms[THREADS], &requests[1]);
        int error = MPI_Waitall(2, requests, statuses);
        const int *got = (const void *)kit_get(&out, NULL);
        int wrong = 0;
        for (int j = 0; j < COUNT; j++)
            wrong += got[j] != before * 100000 + (int)i + j;
        if (!CHECK(error == MPI_SUCCESS && wrong == 0, "message %ld: class %d, %d wrong", i, kit_class(error), wrong))
            break;
    }
    kit_close(&in);
    kit_close(&out);
    return unused;
}

int main(int argc, char **argv)
{
    int level = kit_start(&argc, &argv, MPI_THREAD_MULTIPLE);
    if (level < MPI_THREAD_MULTIPLE)
        kit_skip("threads", "this MPI has no MPI_THREAD_MULTIPLE");
    rounds = check_many("TUTTI_TEST_ROUNDS", 200);
    pthread_t threads[THREADS + 1];
    for (long i = 0; i <= THREADS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    for (long i = 0; i <= THREADS; i++)
        pthread_create(&threads[i], NULL, i < THREADS ? reduce : message, (void *)i);
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i <= THREADS; i++)
        MPI_Comm_free(&comms[i]);
    return kit_end("threads");
}

/* Hundreds of communicators with open nonblocking reductions at once, on few cores; ranks begin them in different
 * orders. Prints how long the first ones and later ones take. Arguments: communicators (200), rounds (3), seconds that
 * a round may take (0: any), threads that the calls may make (0: any). */
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "kit.h"
#include "resources.h"

enum { COUNT = 1000, MOST = 1000 };
static MPI_Comm comms[MOST];
static MPI_Request requests[MOST];
static struct kit_buffer in, out[MOST];
static int values[COUNT];

static double round_of(int n, int round)
{
    const uint64_t begin = tutti_now_ns();
    for (int i = 0; i < COUNT; i++)
        values[i] = kit_rank + i + round;
    const void *from = kit_put(&in, 0, values, sizeof values);
    for (int j = 0; j < n; j++) {
        const int i = kit_rank % 2 ? n - 1 - j : j;
        int error = MPI_Iallreduce(from, kit_put(&out[i], 0, NULL, sizeof values), COUNT, MPI_INT, MPI_SUM, comms[i],
                                   &requests[i]);
        CHECK(error == MPI_SUCCESS, "MPI_Iallreduce on communicator %d: class %d", i, kit_class(error));
    }
    for (int i = 0; i < n; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    const double seconds = (double)(tutti_now_ns() - begin) / 1e9;
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        const int *got = (const int *)(const void *)kit_get(&out[i], NULL);
        for (int j = 0; j < COUNT; j++)
            wrong += got[j] != kit_size * (j + round) + kit_size * (kit_size - 1) / 2;
    }
    CHECK(wrong == 0, "round %d: %d elements are wrong", round, wrong);
    return seconds;
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    int n = argc > 1 ? atoi(argv[1]) : 200;
    const int rounds = argc > 2 ? atoi(argv[2]) : 3;
    const double most = argc > 3 ? atof(argv[3]) : 0;
    const long threads = argc > 4 ? atol(argv[4]) : 0;
    struct resources before;
    n = n < MOST ? n : MOST;
    kit_open(&in, KIT_DEVICE, sizeof values);
    for (int i = 0; i < n; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        kit_open(&out[i], KIT_DEVICE, sizeof values);
    }
    resources_now(&before);
    for (int round = 0; round < rounds; round++) {
        struct resources left;
        const double seconds = round_of(n, round);
        resources_now(&left);
        if (kit_rank == 0)
            printf("round %d: %d communicators, %.3f s, %ld threads\n", round, n, seconds, left.threads);
        CHECK(threads <= 0 || left.threads <= before.threads + threads, "%ld threads, and %ld before", left.threads,
              before.threads);
        CHECK(most <= 0 || seconds <= most, "round %d took %.1f s", round, seconds);
    }
    for (int i = 0; i < n; i++) {
        MPI_Comm_free(&comms[i]);
        kit_close(&out[i]);
    }
    kit_close(&in);
    return kit_end("many_open");
}

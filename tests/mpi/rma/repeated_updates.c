/* An update of a mapped window that is repeated is launched ready: from then on too it reads what the origin
 * holds now, and other updates between its repetitions go their own way. The window and the origins are device memory.
 * Needs TUTTI_STATS=1. */
#include <stdint.h>
#include <stdlib.h>

#include "kit.h"

enum { N = 6, ROUNDS = 120, OTHER_EACH = 7, TARGET = 1 };

static int64_t expected[N];

/* Adds the numbers number * 3 + i, or their maximum, from these origins. */
static void update(struct kit_buffer *origin, int number, int n, MPI_Op op, MPI_Win win)
{
    int64_t values[N];
    for (int i = 0; i < N; i++)
        values[i] = (int64_t)number * 3 + i;
    const void *from = kit_put(origin, 0, values, sizeof values);
    MPI_Accumulate(from, n, MPI_INT64_T, TARGET, 0, n, MPI_INT64_T, op, win);
    MPI_Win_flush(TARGET, win);
    for (int i = 0; i < n; i++) {
        if (op == MPI_SUM)
            expected[i] += values[i];
        else
            expected[i] = expected[i] > values[i] ? expected[i] : values[i];
    }
}

static int updates_of(struct kit_buffer *origins, MPI_Win win)
{
    int n = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, win);
    for (int round = 0; round < ROUNDS; round++, n++) {
        update(&origins[0], round, N, MPI_SUM, win);
        if (round % OTHER_EACH == 0)
            update(&origins[round % 2], -round, round % 3 ? N : N / 2, round % 2 ? MPI_SUM : MPI_MAX, win);
    }
    MPI_Win_unlock(TARGET, win);
    return n;
}

/* Accumulates that wait for a flush: the device is asked once what the allocation is that they read, and again after
 * the flush, since the program may have freed it. */
static void origins_are_known(struct kit_buffer *origins, MPI_Win win)
{
    int64_t values[N];
    for (int i = 0; i < N; i++)
        values[i] = i + 1;
    const char *from[2];
    for (int o = 0; o < 2; o++)
        from[o] = kit_put(&origins[o], 0, values, sizeof values);
    MPI_Win_lock(MPI_LOCK_SHARED, TARGET, 0, win);
    for (int round = 0; round < 2 * OTHER_EACH; round++) {
        const int both = round % 2;
        const uint64_t before = kit_counted("GPU driver", "asked");
        for (int i = 0; i < N; i++) {
            const int o = both && i == N - 1; /* the last one reads another allocation */
            MPI_Accumulate(from[o] + (size_t)i * sizeof values[0], 1, MPI_INT64_T, TARGET,
                           (MPI_Aint)((size_t)i * sizeof values[0]), 1, MPI_INT64_T, MPI_SUM, win);
            expected[i] += values[i];
        }
        const uint64_t asked = kit_counted("GPU driver", "asked") - before;
        CHECK(asked == 1 + (uint64_t)both, "round %d: %d accumulates ask %llu times", round, N,
              (unsigned long long)asked);
        MPI_Win_flush(TARGET, win);
    }
    MPI_Win_unlock(TARGET, win);
}

int main(int argc, char **argv)
{
    struct kit_buffer window, origins[2];
    static int64_t zeros[N];
    MPI_Win win;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || !kit_makes_windows() || kit_size < 2)
        kit_skip("rma-repeated-updates", "needs the library, two ranks and windows of the MPI");
    kit_open(&window, KIT_DEVICE, sizeof zeros);
    void *memory = kit_put(&window, 0, zeros, sizeof zeros);
    for (int i = 0; i < 2; i++)
        kit_open(&origins[i], KIT_DEVICE, sizeof zeros);
    MPI_Win_create(memory, sizeof zeros, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == 0) {
        const int n = updates_of(origins, win);
        CHECK(kit_counted("kernels of updates", "kept ready") > (uint64_t)n / 2, "%llu of %d updates were kept ready",
              (unsigned long long)kit_counted("kernels of updates", "kept ready"), n);
        origins_are_known(origins, win);
    }
    MPI_Bcast(expected, N, MPI_INT64_T, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (kit_rank == TARGET) {
        const int64_t *is = (const int64_t *)kit_get(&window, NULL);
        for (int i = 0; i < N; i++)
            CHECK(is[i] == expected[i], "element %d is %lld, not %lld", i, (long long)is[i], (long long)expected[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    kit_close(&window);
    for (int i = 0; i < 2; i++)
        kit_close(&origins[i]);
    return kit_end("rma-repeated-updates");
}

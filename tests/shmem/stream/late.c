/* Sums in the order of a stream of which one PE puts its own in late. What follows takes as long as where all are
 * together: a kernel that has waited long must not make its peers wait in the next call. Times are those of the late
 * PE, which waits for no other. For GPUs, one for each PE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "shmem/kit.h"

enum { CALLS = 200, ROUNDS = 21, LATE_US = 2000, MOST = 1 << 20, SLACK_US = 10, TIMES = 3 };

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Microseconds of one of many sums, the median of some rounds. */
static double sums(float *dest, const float *source, size_t bytes, int late, void *stream)
{
    const int is_late = tshmem_my_pe() == tshmem_n_pes() - 1;
    double us[ROUNDS];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (late && is_late)
            usleep(LATE_US);
        const uint64_t start = tutti_now_ns();
        int status = 0;
        for (int i = 0; i < CALLS; i++)
            status |=
                tshmem_float_sum_reduce_on_stream(TSHMEM_TEAM_WORLD, dest, source, bytes / sizeof *source, stream);
        CHECK(status == 0 && tutti_stream_sync(stream) == 0, "sums of %zu bytes", bytes);
        us[round] = (double)(tutti_now_ns() - start) / 1e3 / CALLS;
    }
    qsort(us, ROUNDS, sizeof *us, ascending);
    return us[ROUNDS / 2];
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {8, 128 << 10, 256 << 10, 512 << 10, MOST};
    void *stream = NULL;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    check_rank(rank);
    CHECK(tshmem_init() == 0, "tshmem_init");
    float *const source = tshmem_calloc(MOST, 1), *const dest = tshmem_calloc(MOST, 1);
    CHECK(source && dest && tutti_stream_create(&stream) == 0, "a stream");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && check_failed() == 0; i++) {
        const double together = sums(dest, source, sizes[i], 0, stream), late = sums(dest, source, sizes[i], 1, stream);
        if (rank == tshmem_n_pes() - 1) {
            printf("%7zu bytes: %8.2f us together, %8.2f behind a late PE\n", sizes[i], together, late);
            CHECK(late < TIMES * together + SLACK_US, "a late PE makes all calls after it slow");
        }
    }
    tutti_stream_destroy(stream);
    tshmem_finalize();
    long mine[2] = {check_failed(), check_done()}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld checks, %ld failed\n", all[1], all[0]);
    MPI_Finalize();
    return all[0] != 0 || all[1] == 0;
}

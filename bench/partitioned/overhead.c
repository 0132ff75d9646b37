/* The figures without a message: what a kernel and the wait for it take, and calls of the host that prepare partitioned
 * communication. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/columns.h"
#include "bench/common/gpu.h"
#include "bench/partitioned/part.h"
#include "core/clock.h"
#include "tutti/mpix.h"

enum { OVERHEAD_TAG = 5, OVERHEAD_SAMPLES = 50, OVERHEAD_WARM_UP = 5, SYNC_CALLS = 200, SYNC_WARM_UP = 20 };

static double since(uint64_t start)
{
    return (double)(tutti_now_ns() - start) * 1e-3;
}

/* ---- the cost of synchronisation ---- */

static long part_samples(const struct part_bench *b, long usual)
{
    return b->plan->iterations ? b->plan->iterations : usual;
}

int part_sync(struct part_bench *b)
{
    const long n = part_samples(b, SYNC_CALLS);
    struct bench_column columns[2] = {{.name = part_way_name(PART_TUTTI), .iterations = n},
                                      {.name = part_way_name(PART_KERNEL), .iterations = n}};
    for (int c = 0; c < 2; c++) {
        columns[c].samples = calloc((size_t)n, sizeof(double));
        if (!columns[c].samples)
            bench_fail("out of memory");
    }
    for (long i = -SYNC_WARM_UP; i < n; i++) {
        bench_mpi.Barrier(MPI_COMM_WORLD);
        const uint64_t start = tutti_now_ns();
        part_launch_kernel(b, NULL, (uint64_t)(i + SYNC_WARM_UP));
        bench_gpu_sync();
        if (i >= 0)
            columns[0].samples[i] = since(start);
        bench_gpu_start();
        part_launch_kernel(b, NULL, (uint64_t)(i + SYNC_WARM_UP));
        const double took = bench_gpu_stop();
        if (i >= 0)
            columns[1].samples[i] = took;
    }
    bench_say(b->plan, "row 1 %zu sync kernel", b->bytes);
    for (int c = 0; c < 2; c++)
        bench_say_longest(b->plan, &columns[c], PART_WHOLE);
    bench_say(b->plan, "done");
    bench_columns_free(columns, 2);
    return 1;
}

/* ---- the table of overheads ---- */

enum overhead { PSEND_INIT, PRECV_INIT, PALLREDUCE_INIT, PREQUEST_CREATE, PREPARE_FIRST, PREPARE_LATER, OVERHEADS };
static const char *const overhead_names[OVERHEADS] = {
    [PSEND_INIT] = "MPI_Psend_init",
    [PRECV_INIT] = "MPI_Precv_init",
    [PALLREDUCE_INIT] = "MPIX_Pallreduce_init",
    [PREQUEST_CREATE] = "MPIX_Prequest_create",
    [PREPARE_FIRST] = "MPIX_Pbuf_prepare, first",
    [PREPARE_LATER] = "MPIX_Pbuf_prepare, later",
};

static void must(int error, const char *call)
{
    if (error != MPI_SUCCESS)
        bench_fail("%s failed with error %d", call, error);
}

/* A round whose partitions the host marks: its preparation is timed. */
static double overhead_round(struct part_bench *b, MPI_Request *request)
{
    double took = 0;
    bench_mpi.Barrier(MPI_COMM_WORLD);
    if (b->rank > 1)
        return 0;
    must(MPI_Start(request), "MPI_Start");
    const uint64_t start = tutti_now_ns();
    must(MPIX_Pbuf_prepare(*request), "MPIX_Pbuf_prepare");
    took = since(start);
    if (b->rank == 0)
        must(b->calls.pready_range(0, b->partitions - 1, *request), "MPI_Pready_range");
    must(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait"); /* NOLINT(clang-analyzer-optin.mpi.MPI-Checker) */
    return took;
}

static void overhead_message(struct part_bench *b, double took[OVERHEADS])
{
    const MPI_Count each = (MPI_Count)(b->bytes / 4) / b->partitions;
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_Prequest device;
    uint64_t start = tutti_now_ns();
    if (b->rank == 0) {
        must(b->calls.psend_init(b->out, b->partitions, each, MPI_INT, 1, OVERHEAD_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &request),
             "MPI_Psend_init");
        took[PSEND_INIT] = since(start);
    } else if (b->rank == 1) {
        must(b->calls.precv_init(b->in, b->partitions, each, MPI_INT, 0, OVERHEAD_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                 &request),
             "MPI_Precv_init");
        took[PRECV_INIT] = since(start);
    }
    if (b->rank <= 1) {
        start = tutti_now_ns();
        must(MPIX_Prequest_create(request, &device), "MPIX_Prequest_create");
        took[PREQUEST_CREATE] = since(start);
    }
    took[PREPARE_FIRST] = overhead_round(b, &request);
    took[PREPARE_LATER] = overhead_round(b, &request);
    if (b->rank > 1)
        return;
    must(MPIX_Prequest_free(&device), "MPIX_Prequest_free");
    must(MPI_Request_free(&request), "MPI_Request_free");
}

static void overhead_sum(struct part_bench *b, double took[OVERHEADS])
{
    const MPI_Count each = (MPI_Count)(b->bytes / 4) / b->partitions;
    MPI_Request request;
    bench_mpi.Barrier(MPI_COMM_WORLD);
    const uint64_t start = tutti_now_ns();
    must(MPIX_Pallreduce_init(b->out, b->in, b->partitions, each, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                              &request),
         "MPIX_Pallreduce_init");
    took[PALLREDUCE_INIT] = since(start);
    must(MPI_Request_free(&request), "MPI_Request_free");
}

int part_overhead(struct part_bench *b)
{
    const long n = part_samples(b, OVERHEAD_SAMPLES);
    struct bench_column columns[OVERHEADS] = {{0}};
    for (int c = 0; c < OVERHEADS; c++) {
        columns[c] = (struct bench_column){.name = part_way_name(PART_TUTTI), .iterations = n};
        columns[c].samples = calloc((size_t)n, sizeof(double));
        if (!columns[c].samples)
            bench_fail("out of memory");
    }
    for (long i = -OVERHEAD_WARM_UP; i < n; i++) {
        double took[OVERHEADS] = {0};
        bench_mpi.Barrier(MPI_COMM_WORLD);
        overhead_message(b, took);
        overhead_sum(b, took);
        for (int c = 0; i >= 0 && c < OVERHEADS; c++)
            columns[c].samples[i] = took[c];
    }
    for (int c = 0; c < OVERHEADS; c++) {
        bench_say(b->plan, "row %d %zu overhead %s", b->partitions, b->bytes, overhead_names[c]);
        bench_say_longest(b->plan, &columns[c], PART_WHOLE);
        bench_say(b->plan, "done");
    }
    bench_columns_free(columns, OVERHEADS);
    return 1;
}

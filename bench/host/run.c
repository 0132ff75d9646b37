/* Timing of `tutti bench host`: batches of calls, of which the one that takes least counts, on rank 0. All ranks make
 * as many. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench/host/host.h"
#include "core/clock.h"

enum { MOST_TIMES = 4096, LEAST_BATCHES = 5, BATCH_NS = 200000 };

static const struct {
    const char *name;
    enum host_group group;
    void (*make)(struct host *h, long times);
} calls[HOST_CALLS] = {
#define HOST_CALL(id, group, name) {name, HOST_##group, host_call_##id},
#include "bench/words/host_calls.def"
#undef HOST_CALL
};

/* A receive and a send. */
void host_begin(struct host *h, int count, MPI_Datatype type, int source, int tag, MPI_Request requests[2])
{
    MPI_Irecv(h->out, count, type, source, tag, h->comm, &requests[0]);
    MPI_Isend(h->in, count, type, h->right, 3, h->comm, &requests[1]);
}

void host_wait(int n, MPI_Request requests[], MPI_Status statuses[])
{
    if (n == 1)
        MPI_Wait(requests, statuses);
    else
        MPI_Waitall(n, requests, statuses);
}

static void open_windows(struct host *h)
{
    void *memory;
    MPI_Win_allocate(HOST_REGION, 1, MPI_INFO_NULL, h->comm, &memory, &h->fenced);
    MPI_Win_allocate(HOST_REGION, 1, MPI_INFO_NULL, h->comm, &memory, &h->locked);
    MPI_Win_allocate(HOST_REGION, 1, MPI_INFO_NULL, h->comm, &memory, &h->open);
    MPI_Win_fence(0, h->fenced);
    MPI_Win_lock(MPI_LOCK_SHARED, h->rank, 0, h->open);
}

static void open_file(struct host *h)
{
    snprintf(h->path, sizeof h->path, "/tmp/tutti-bench-host-%ld", (long)getpid());
    if (MPI_File_open(MPI_COMM_SELF, h->path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &h->file) != MPI_SUCCESS)
        bench_fail("%s cannot be written", h->path);
    MPI_File_write_at(h->file, 0, h->in, 64, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void open_host(struct host *h, const struct bench_plan *plan, unsigned groups)
{
    const int periodic = 1;
    h->comm = MPI_COMM_WORLD;
    h->rank = plan->rank;
    h->n = plan->size;
    h->right = (h->rank + 1) % h->n;
    h->left = (h->rank + h->n - 1) % h->n;
    MPI_Cart_create(h->comm, 1, &h->n, &periodic, 0, &h->ring);
    MPI_Type_vector(4, 1, 2, MPI_INT, &h->vector);
    MPI_Type_commit(&h->vector);
    MPI_Recv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, h->comm, &h->status);
    if (groups & 1u << HOST_WINDOWS)
        open_windows(h);
    if (groups & 1u << HOST_FILES)
        open_file(h);
}

static void close_host(struct host *h, unsigned groups)
{
    if (groups & 1u << HOST_WINDOWS) {
        MPI_Win_unlock(h->rank, h->open);
        MPI_Win_fence(0, h->fenced);
        MPI_Win_free(&h->open);
        MPI_Win_free(&h->locked);
        MPI_Win_free(&h->fenced);
    }
    if (groups & 1u << HOST_FILES) {
        MPI_File_close(&h->file);
        unlink(h->path);
    }
    MPI_Type_free(&h->vector);
    MPI_Comm_free(&h->ring);
}

/* Seconds of a batch on this rank. */
static double host_batch(struct host *h, int call, long times)
{
    MPI_Barrier(h->comm);
    const uint64_t begun = tutti_now_ns();
    calls[call].make(h, times);
    return (double)(tutti_now_ns() - begun) * 1e-9;
}

/* So many calls that a batch takes long enough to be timed, as rank 0 sees it. */
static long host_times(struct host *h, int call)
{
    long times = 1;
    for (int go = 1; go && times < MOST_TIMES;) {
        go = host_batch(h, call, times) < BATCH_NS * 1e-9;
        MPI_Bcast(&go, 1, MPI_INT, 0, h->comm);
        times *= go ? 4 : 1;
    }
    return times;
}

static void measure_call(const struct bench_plan *plan, struct host *h, int call)
{
    calls[call].make(h, 1);
    const long times = host_times(h, call);
    const uint64_t begun = tutti_now_ns();
    double least = 0;
    for (int batch = 0, go = 1; go; batch++) {
        const double took = host_batch(h, call, times) / (double)times;
        least = batch == 0 || took < least ? took : least;
        go = batch + 1 < LEAST_BATCHES || (double)(tutti_now_ns() - begun) * 1e-9 < plan->seconds;
        MPI_Bcast(&go, 1, MPI_INT, 0, h->comm);
    }
    bench_say(plan, "host %d %.9f %d", call, least * 1e6, bench_mpi.preloaded);
}

void bench_host(struct bench_plan *plan, unsigned groups, int call)
{
    static struct host h;
    if (call >= 0)
        groups = 1u << calls[call].group;
    open_host(&h, plan, groups);
    for (int c = 0; c < HOST_CALLS; c++) {
        if (call >= 0 ? c == call : (groups >> calls[c].group & 1) != 0)
            measure_call(plan, &h, c);
    }
    close_host(&h, groups);
}

/* The calls that `tutti tune` compares, and the communicators that they are made on. */
#include <stdio.h>
#include <string.h>

#include "bench/common/gpu.h"
#include "bench/common/outcome.h"
#include "bench/reductions/enqueue.h"
#include "bench/tune/tune.h"
#include "coll/coll.h"
#include "core/clock.h"
#include "tutti/mpix.h"
#include "tutti/tutti.h"

static MPIX_Stream stream = MPIX_STREAM_NULL;

const char *tune_section_name(int section)
{
    static const char *const names[TUNE_SECTIONS] = {TUNE_SECTION_NAMES};
    return names[section];
}

void tune_stream_open(const struct tune *tune)
{
    char why[256];
    if (tune->plan->order == BENCH_HOST)
        return;
    if (!bench_gpu_open(why, sizeof why))
        bench_fail("%s", why);
    int error = bench_enqueue_stream(&stream);
    if (error != MPI_SUCCESS)
        bench_fail("MPIX_Stream_create: error %d", error);
}

void tune_stream_close(void)
{
    if (stream != MPIX_STREAM_NULL)
        MPIX_Stream_free(&stream);
    bench_gpu_close();
}

size_t tune_bytes(const struct tune *tune, int section, size_t bytes)
{
    size_t ranks = (size_t)tune->plan->size, count = bytes / sizeof(float);
    if (section >= TUNE_FILES)
        return bytes;
    if (section >= TUNE_MESSAGE)
        return tune_message_bytes(bytes);
    if (section == TUNE_REDUCE_SCATTER)
        count = (count < ranks ? 1 : count / ranks) * ranks;
    return count * sizeof(float);
}

void tune_call(const struct tune *tune, int section, size_t bytes)
{
    MPI_Comm comm = tune->comm;
    int n = (int)(tune_bytes(tune, section, bytes) / sizeof(float)), each = n / tune->plan->size, error = MPI_SUCCESS;
    int blocking = tune->plan->order == BENCH_HOST;
#define DO(name, ...) error = blocking ? MPI_##name(__VA_ARGS__) : MPIX_##name##_enqueue(__VA_ARGS__)
    switch (section) {
    case TUNE_ALLREDUCE:
        DO(Allreduce, tune->in, tune->out, n, MPI_FLOAT, MPI_SUM, comm);
        break;
    case TUNE_REDUCE:
        DO(Reduce, tune->in, tune->out, n, MPI_FLOAT, MPI_SUM, 0, comm);
        break;
    case TUNE_REDUCE_SCATTER:
        DO(Reduce_scatter_block, tune->in, tune->out, each, MPI_FLOAT, MPI_SUM, comm);
        break;
    case TUNE_SCAN:
        DO(Scan, tune->in, tune->out, n, MPI_FLOAT, MPI_SUM, comm);
        break;
#undef DO
    case TUNE_BCAST:
        error = MPI_Bcast(tune->plan->rank == 0 ? tune->in : tune->out, n, MPI_FLOAT, 0, comm);
        break;
    case TUNE_GATHER:
        error = MPI_Gather(tune->in, n, MPI_FLOAT, tune->out, n, MPI_FLOAT, 0, comm);
        break;
    case TUNE_SCATTER:
        error = MPI_Scatter(tune->in, n, MPI_FLOAT, tune->out, n, MPI_FLOAT, 0, comm);
        break;
    case TUNE_ALLGATHER:
        error = MPI_Allgather(tune->in, n, MPI_FLOAT, tune->out, n, MPI_FLOAT, comm);
        break;
    case TUNE_ALLTOALL:
        error = MPI_Alltoall(tune->in, n, MPI_FLOAT, tune->out, n, MPI_FLOAT, comm);
        break;
    }
    if (error != MPI_SUCCESS)
        bench_fail("%s of %zu bytes failed with error %d", tune_section_name(section), bytes, error);
}

static void call_finish(const struct tune *tune)
{
    if (tune->plan->order != BENCH_HOST)
        bench_gpu_sync();
}

/* A call that is counted: which algorithm took it. */
static int call_counted(const struct tune *tune, int section, size_t bytes, char *name, size_t size)
{
    static const char *const calls[TUNE_COLLECTIVES] = {"_Allreduce", "_Reduce",    "_Reduce_scatter_block",
                                                        "_Scan",      "_Bcast",     "_Gather",
                                                        "_Scatter",   "_Allgather", "_Alltoall"};
    int accelerated;
    bench_outcome_begin();
    tune_call(tune, section, bytes);
    call_finish(tune);
    bench_outcome_end(calls[section], name, size, &accelerated);
    return accelerated;
}

void tune_rules_take(const char *rules)
{
    char wrong[320] = "";
    if (tutti_rules_set(rules, wrong, sizeof wrong) != 0)
        bench_fail("%s", wrong);
}

void tune_comm_open(struct tune *tune)
{
    char name[96];
    tune_rules_take("");
    tutti_rules_follow(1);
    int error = tune->plan->order == BENCH_HOST ? MPI_Comm_dup(MPI_COMM_WORLD, &tune->comm)
                                                : MPIX_Stream_comm_create(MPI_COMM_WORLD, stream, &tune->comm);
    if (error != MPI_SUCCESS)
        bench_fail("no communicator could be made: error %d", error);
    if (!call_counted(tune, TUNE_ALLREDUCE, 8, name, sizeof name)) /* opens it */
        bench_fail("there is nothing to tune: the library gives calls to the MPI here (%s)", name);
}

void tune_comm_close(struct tune *tune)
{
    if (tune->comm != MPI_COMM_NULL)
        MPI_Comm_free(&tune->comm);
    tutti_rules_follow(0);
    tune_rules_take(NULL);
}

/* Bytes of the result that this rank gets. */
static size_t result_bytes(const struct tune *tune, int section, size_t bytes)
{
    const size_t ranks = (size_t)tune->plan->size;
    const int root = tune->plan->rank == 0;
    bytes = tune_bytes(tune, section, bytes);
    switch (section) {
    case TUNE_REDUCE_SCATTER:
        return bytes / ranks;
    case TUNE_REDUCE:
        return root ? bytes : 0;
    case TUNE_BCAST:
        return root ? 0 : bytes;
    case TUNE_GATHER:
        return root ? ranks * bytes : 0;
    case TUNE_ALLGATHER:
    case TUNE_ALLTOALL:
        return ranks * bytes;
    default:
        return bytes;
    }
}

int tune_try(struct tune *tune, struct tune_column *column, int section, size_t bytes, int keep)
{
    char name[96];
    if (section >= TUNE_SHMEM)
        return tune_shmem_try(tune, column, section, bytes);
    if (section >= TUNE_PARTS)
        return tune_part_try(tune, column, section, bytes);
    if (section >= TUNE_FILES)
        return tune_file_try(tune, column, section, bytes);
    if (section >= TUNE_MESSAGE)
        return tune_message_try(tune, column, section, bytes);
    size_t result = result_bytes(tune, section, bytes);
    int looked_at = bytes <= TUNE_CHECKED && result <= TUNE_CHECKED;
    if (looked_at && result) {
        memset(tune->host, 0xa5, result);
        bench_must(tutti_copy(tune->out, tune->host, result), "copying to the device");
    }
    tune_rules_take(column->rules);
    call_counted(tune, section, bytes, name, sizeof name);
    column->algorithm = tune_by_name(name);
    snprintf(column->how, sizeof column->how, "%s", name);
    if (!looked_at || !result)
        return 1;
    char *right = tune->host + TUNE_CHECKED;
    bench_must(tutti_copy(keep ? right : tune->host, tune->out, result), "copying from the device");
    return keep || memcmp(right, tune->host, result) == 0;
}

/* A call that is left to the MPI is counted as "mpi: reason". Rules for an algorithm alone end with `mpi`, so that what
 * was done otherwise was done by it. */
void tune_name_moves(struct tune *tune, struct tune_column *columns, int n, int section)
{
    if (section < TUNE_REDUCTIONS || section >= TUNE_COLLECTIVES)
        return;
    for (int i = 0; i < n; i++) {
        struct tune_column *column = &columns[i];
        if (strncmp(column->how, "mpi: ", 5) == 0)
            column->algorithm = TUNE_mpi;
        else if (column->wanted != TUNE_DEFAULT) {
            column->algorithm = column->wanted;
            snprintf(tune->how[column->wanted], sizeof tune->how[0], "%s", column->how);
        }
    }
    for (int i = 0; i < n; i++) {
        for (int a = TUNE_MOVES; a < TUNE_mpi && columns[i].wanted == TUNE_DEFAULT; a++) {
            if (tune->how[a][0] && strcmp(tune->how[a], columns[i].how) == 0)
                columns[i].algorithm = a;
        }
    }
}

void tune_graph_make(const struct tune *tune, struct tune_column *column, int section, size_t bytes)
{
    if (tune->plan->order != BENCH_GRAPH)
        return;
    tune_rules_take(column->rules);
    bench_graph_begin();
    for (int i = 0; i < column->calls; i++)
        tune_call(tune, section, bytes);
    column->graph = bench_graph_end();
    bench_graph_launch(column->graph); /* the first launch brings the graph to the device */
    bench_gpu_sync();
}

static void call_put(const struct tune *tune, const struct tune_column *column, int section, size_t bytes, int calls)
{
    if (column->graph) {
        bench_graph_launch(column->graph);
        return;
    }
    for (int i = 0; i < calls; i++)
        tune_call(tune, section, bytes);
}

double tune_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes)
{
    double took = 0;
    if (section >= TUNE_SHMEM)
        return tune_shmem_round(tune, column, section, bytes);
    if (section >= TUNE_PARTS)
        return tune_part_round(tune, column, section, bytes);
    if (section >= TUNE_FILES)
        return tune_file_round(tune, column, section, bytes);
    if (section >= TUNE_MESSAGE)
        return tune_message_round(tune, column, section, bytes);
    tune_rules_take(column->rules);
    if (tune->plan->order != BENCH_HOST) {
        bench_mpi.Barrier(MPI_COMM_WORLD);
        call_put(tune, column, section, bytes, 1 + column->calls / 8); /* brings the ranks together */
        bench_gpu_start();
        call_put(tune, column, section, bytes, column->calls);
        return bench_gpu_stop() / column->calls;
    }
    for (int i = 0; i < column->calls; i++) {
        bench_mpi.Barrier(MPI_COMM_WORLD);
        uint64_t start = tutti_now_ns();
        tune_call(tune, section, bytes);
        took += (double)(tutti_now_ns() - start) * 1e-3;
    }
    return took / column->calls;
}

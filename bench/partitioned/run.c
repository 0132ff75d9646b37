/* tutti bench partitioned: the rows of messages and sums, each way in turn (bench/common/columns.h), and what all
 * figures share. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/columns.h"
#include "bench/common/gpu.h"
#include "bench/common/helper.h"
#include "bench/common/nccl.h"
#include "bench/common/place.h"
#include "bench/partitioned/part.h"
#include "bench/reductions/enqueue.h"
#include "core/clock.h"
#include "rules/rules.h"
#include "tutti/mpix.h"
#include "tutti/tutti.h"

enum { PART_EACH_WORDS = 2048, PART_MOST_BLOCKS = 128, PART_CHECKED = 2 };

const char *part_way_name(int way)
{
    static const char *const names[PART_WAYS] = {
#define PART_WAY(id, name, text) name,
#include "bench/words/part_ways.def"
#undef PART_WAY
    };
    return names[way];
}

static const char *part_figure_name(int figure)
{
    static const char *const names[PART_FIGURES] = {
#define PART_FIGURE(id, name, text, goodput) name,
#include "bench/words/part_figures.def"
#undef PART_FIGURE
    };
    return names[figure];
}

/* ---- what the figures share ---- */

void part_must(const struct part_bench *b, int way, int error, const char *call)
{
    if (error != MPI_SUCCESS)
        bench_fail("%s (%s, %zu bytes, %d partitions) failed with error %d", call, part_way_name(way), b->bytes,
                   b->partitions, error);
}

const char *part_rules(int way)
{
    return way == PART_STORED ? "partitioned: *@kernel" : way == PART_ENGINE ? "partitioned: *@engine" : NULL;
}

int part_take_rules(int way)
{
    char wrong[320];
    return tutti_rules_set(part_rules(way), wrong, sizeof wrong) == 0;
}

uint64_t part_seed_of(uint64_t seed, int rank)
{
    return seed * 1021 + (uint64_t)rank * UINT64_C(0x100000001b3);
}

/* Blocks of about 8 KiB, each in one transport partition. */
static struct part_grid part_grid_of(size_t bytes, int partitions)
{
    const uint64_t words = bytes / 4;
    struct part_grid grid = {.blocks = partitions, .words = words / (uint64_t)partitions};
    while (grid.blocks * 2 <= PART_MOST_BLOCKS && grid.words > PART_EACH_WORDS && grid.words % 2 == 0) {
        grid.blocks *= 2;
        grid.words /= 2;
    }
    return grid;
}

void part_shape(const struct part_bench *b, int way, struct part_request *out)
{
    const int most = way == PART_WARP ? PART_WARPS : way == PART_THREAD ? PART_THREADS : 1;
    out->group = way == PART_WARP ? PART_BY_WARP : way == PART_THREAD ? PART_BY_THREAD : PART_BY_BLOCK;
    out->parts = 1;
    while (out->parts < most && b->grid.words % (uint64_t)(2 * out->parts) == 0)
        out->parts *= 2;
}

MPI_Info part_info(const struct part_bench *b)
{
    char text[16];
    MPI_Info info;
    snprintf(text, sizeof text, "%d", b->partitions);
    MPI_Info_create(&info);
    MPI_Info_set(info, "tutti_transport_partitions", text);
    return info;
}

void part_launch_kernel(struct part_bench *b, const struct part_request *request, uint64_t seed)
{
    struct part_launch launch = {.group = PART_BY_NONE, .blocks = b->grid.blocks, .parts = 1, .words = b->grid.words};
    launch.real = b->row && b->row->real;
    launch.seed = part_seed_of(seed, b->rank);
    launch.out = b->out;
    if (request) {
        launch.group = request->group;
        launch.parts = request->parts;
        launch.request = request->device;
    }
    if (b->kernels->launch(&launch, bench_gpu_stream()) != 0)
        bench_fail("rank %d could not launch a kernel", b->rank);
}

void part_begin(struct part_bench *b, int way)
{
    struct part_request *r = &b->request[way];
    part_must(b, way, MPI_Start(&r->request), "MPI_Start");
    if (b->figure == PART_FIGURE_MESSAGE ? way != PART_HOST : r->has_device)
        part_must(b, way, MPIX_Pbuf_prepare(r->request), "MPIX_Pbuf_prepare");
    b->prepared = (double)(tutti_now_ns() - b->begun) * 1e-3;
}

void part_wait(struct part_bench *b, int way)
{
    /* NOLINTNEXTLINE(clang-analyzer-optin.mpi.MPI-Checker): part_begin() starts it */
    part_must(b, way, MPI_Wait(&b->request[way].request, MPI_STATUS_IGNORE), "MPI_Wait");
}

/* ---- a row ---- */

static uint64_t part_seed(const struct part_bench *b, int way, long i)
{
    return b->plan->seed + b->bytes * 31 + (uint64_t)b->partitions * 131 + (uint64_t)(i + 4096) * 16 + (uint64_t)way;
}

/* Nothing right is left where the result will be looked at. The data are new in every call: the kernel makes them. */
static void part_prepare(void *with, int way, long i, int new_data)
{
    struct part_bench *b = with;
    (void)i;
    part_take_rules(way);
    if (!new_data)
        return;
    memset(b->host, 0xa5, b->bytes);
    bench_must(tutti_copy(b->in, b->host, b->bytes), "a copy");
}

static double part_once(void *with, int way, long i)
{
    struct part_bench *b = with;
    bench_mpi.Barrier(MPI_COMM_WORLD);
    b->prepared = 0;
    b->begun = tutti_now_ns();
    b->row->run(b, way, part_seed(b, way, i));
    const double took = (double)(tutti_now_ns() - b->begun) * 1e-3;
    if (i >= 0 && b->later[way] && b->later[way][i] == 0) /* later calls with this number warm up */
        b->later[way][i] = took - b->prepared;
    return took;
}

static int part_right(void *with, int way, long i)
{
    struct part_bench *b = with;
    bench_gpu_sync();
    bench_must(tutti_copy(b->host, b->in, b->bytes), "a copy");
    if (bench_all_agree(b->row->check(b, part_seed(b, way, i))))
        return 1;
    bench_say(b->plan, "wrong %s of %zu bytes in %d partitions by %s: other data than the kernels have made",
              b->row->call, b->bytes, b->partitions, part_way_name(way));
    return 0;
}

static void part_say(struct part_bench *b, struct bench_column columns[])
{
    bench_say(b->plan, "row %d %zu %s %s", b->partitions, b->bytes, part_figure_name(b->figure), b->row->call);
    for (int way = 0; way < PART_WAYS; way++) {
        if (!columns[way].name)
            continue;
        bench_say_longest(b->plan, &columns[way], PART_WHOLE);
        struct bench_column later = columns[way];
        later.samples = b->later[way];
        if (b->request[way].request != MPI_REQUEST_NULL || way <= PART_HOST)
            bench_say_longest(b->plan, &later, PART_PREPARED);
    }
    bench_say(b->plan, "done");
}

static void part_open(struct part_bench *b, struct bench_column columns[])
{
    for (int way = 0; way < PART_WAYS; way++) {
        b->request[way] = (struct part_request){.request = MPI_REQUEST_NULL};
        if (!(b->ways >> way & 1) || !part_take_rules(way))
            continue;
        part_shape(b, way, &b->request[way]);
        if (bench_all_agree(b->row->open(b, way)))
            columns[way] = (struct bench_column){.name = part_way_name(way)};
    }
}

static void part_close(struct part_bench *b)
{
    bench_gpu_sync();
    part_take_rules(PART_TUTTI);
    for (int way = 0; way < PART_WAYS; way++) {
        struct part_request *r = &b->request[way];
        if (r->has_device)
            part_must(b, way, MPIX_Prequest_free(&r->device), "MPIX_Prequest_free");
        if (r->request != MPI_REQUEST_NULL)
            part_must(b, way, MPI_Request_free(&r->request), "MPI_Request_free");
        free(b->later[way]);
        b->later[way] = NULL;
    }
}

int part_measure(struct part_bench *b)
{
    struct bench_column columns[PART_WAYS] = {{0}};
    char what[96];
    const struct bench_timed timed = {
        .what = what, .bytes = b->bytes, .with = b, .prepare = part_prepare, .call = part_once, .check = part_right};
    snprintf(what, sizeof what, "%s, %zu bytes, %d partitions", b->row->call, b->bytes, b->partitions);
    part_open(b, columns);
    for (int way = 0; way < PART_WAYS; way++) {
        if (!columns[way].name)
            continue;
        bench_column_plan(b->plan, &timed, &columns[way], way, PART_CHECKED);
        b->later[way] = calloc((size_t)columns[way].iterations, sizeof **b->later);
        if (!b->later[way])
            bench_fail("out of memory");
    }
    const int right = bench_columns_run(b->plan, &timed, columns, PART_WAYS);
    if (right)
        part_say(b, columns);
    part_close(b);
    bench_columns_free(columns, PART_WAYS);
    return right;
}

/* ---- figures ---- */

/* A row for each size and number of partitions that divides it. */
static int part_rows(struct part_bench *b, const struct part_row *row)
{
    int right = 1;
    b->row = row;
    for (int i = 0; right && i < b->plan->n_sizes; i++) {
        for (int k = 0; right && k < b->what->n_counts; k++) {
            b->bytes = b->plan->sizes[i];
            b->partitions = b->what->counts[k];
            if (b->bytes / 4 % (size_t)b->partitions != 0 || b->bytes / 4 < (size_t)b->partitions)
                continue;
            b->grid = part_grid_of(b->bytes, b->partitions);
            right = part_measure(b);
        }
    }
    b->row = NULL;
    return right;
}

static int part_figure(struct part_bench *b, enum part_figure figure)
{
    b->figure = figure;
    switch (figure) {
    case PART_FIGURE_MESSAGE:
        return part_rows(b, &part_messages);
    case PART_FIGURE_ALLREDUCE:
        return part_rows(b, &part_sums);
    case PART_FIGURE_SYNC:
        for (int i = 0; i < b->plan->n_sizes; i++) {
            b->bytes = b->plan->sizes[i];
            b->partitions = 1;
            b->grid = part_grid_of(b->bytes, 1);
            if (!part_sync(b))
                return 0;
        }
        return 1;
    default:
        b->bytes = b->plan->sizes[b->plan->n_sizes - 1];
        b->partitions = b->what->counts[b->what->n_counts - 1];
        return part_overhead(b);
    }
}

static void part_leave_out(struct part_bench *b, int way, const char *why)
{
    if (!(b->ways >> way & 1))
        return;
    b->ways &= ~(1u << way);
    bench_say(b->plan, "note %s is left out: %s", part_way_name(way), why);
}

static void part_find(const char *name, void *call)
{
    *(void **)call = dlsym(RTLD_DEFAULT, name);
    if (!*(void **)call)
        bench_fail("%s is not there", name);
}

static void part_ready(struct part_bench *b)
{
    char why[256] = "";
    if (!bench_gpu_open(why, sizeof why))
        bench_fail("%s", why);
    b->kernels = &part_host_kernels;
    if (!bench_on_host())
        b->kernels = bench_helper("tutti-bench-partitioned-cuda.so", PART_KERNELS_SYMBOL, why, sizeof why);
    if (!b->kernels)
        bench_fail("the kernels of the bench: %s", why);
    if (b->kernels->open(b->plan->node_rank % tutti_gpu_count()) != 0)
        bench_fail("rank %d cannot use its kernels", b->rank);
    for (int way = 0; way < PART_WAYS; way++) {
        if (!bench_all_agree(part_take_rules(way)))
            part_leave_out(b, way, "this version has no rules of the section partitioned");
    }
    part_take_rules(PART_TUTTI);
    part_find("MPI_Psend_init", &b->calls.psend_init);
    part_find("MPI_Precv_init", &b->calls.precv_init);
    part_find("MPI_Pready_range", &b->calls.pready_range);
}

/* Kernels of rank 0 store into rank 1's buffer. While a communicator with a stream exists, nothing is mapped any more,
 * so this comes before. */
static void part_meet(struct part_bench *b)
{
    enum { ROUNDS = 3 };
    const int way = b->ways >> PART_STORED & 1 ? PART_STORED : PART_TUTTI;
    if (!(b->what->figures >> PART_FIGURE_MESSAGE & 1) || !part_take_rules(way))
        return;
    b->figure = PART_FIGURE_MESSAGE;
    b->row = &part_messages;
    b->bytes = b->plan->sizes[0];
    b->partitions = 1;
    b->grid = part_grid_of(b->bytes, 1);
    for (int w = 0; w < PART_WAYS; w++)
        b->request[w] = (struct part_request){.request = MPI_REQUEST_NULL};
    part_shape(b, way, &b->request[way]);
    b->row->open(b, way);
    for (int i = 0; i < ROUNDS; i++)
        b->row->run(b, way, (uint64_t)i);
    part_close(b);
    b->row = NULL;
}

static void part_others_open(struct part_bench *b)
{
    char why[256] = "";
    if (b->plan->nodes > 1)
        part_leave_out(b, PART_ENQUEUE, "calls in stream order are for the ranks of one node");
    if (b->ways >> PART_ENQUEUE & 1 && !bench_enqueue_open(why, sizeof why))
        part_leave_out(b, PART_ENQUEUE, why);
    if (b->ways >> PART_NCCL & 1 && !bench_nccl_open(b->plan, why, sizeof why))
        part_leave_out(b, PART_NCCL, why);
}

void bench_partitioned(struct bench_plan *plan, const struct part_plan *what)
{
    static struct part_bench b;
    void *out = NULL, *in = NULL;
    int right = 1;
    if (!bench_mpi.preloaded)
        bench_fail("libtutti.so is not in front of the MPI: start this with `tutti bench`");
    b = (struct part_bench){.plan = plan, .what = what, .ways = plan->ways, .rank = plan->rank};
    bench_say(plan, "nodes %d", plan->nodes);
    bench_choose_gpu(plan);
    part_ready(&b);
    bench_must(tutti_alloc(plan->most, &out), "allocating device memory");
    bench_must(tutti_alloc(plan->most, &in), "allocating device memory");
    b.out = out;
    b.in = in;
    b.host = bench_ordinary(plan->most);
    part_meet(&b);
    part_others_open(&b);
    b.sums_from_kernels = part_sums_from_kernels(&b);
    if (what->figures >> PART_FIGURE_ALLREDUCE & 1 && !b.sums_from_kernels)
        bench_say(plan, "note allreduce: the host marks partitions: in this version kernels do not start collectives");
    bench_say(plan, "start");
    for (int figure = 0; right && figure < PART_FIGURES; figure++) {
        if (what->figures >> figure & 1)
            right = part_figure(&b, (enum part_figure)figure);
    }
    bench_gpu_sync();
    bench_enqueue_close();
    bench_nccl_close();
    tutti_free(b.out);
    tutti_free(b.in);
    free(b.host);
    bench_gpu_close();
    bench_say(plan, "end %d", right);
}

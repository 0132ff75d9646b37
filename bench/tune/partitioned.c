/* Partitions that kernels mark, in `tutti tune`: of messages between ranks 0 and 1, 2 and 3 ..., and of a sum of all
 * ranks, by the way that the rules in force name. Each block of the kernel makes and marks one partition. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/gpu.h"
#include "bench/common/helper.h"
#include "bench/common/outcome.h"
#include "bench/partitioned/part.h"
#include "bench/tune/tune.h"
#include "core/clock.h"
#include "tutti/mpix.h"
#include "tutti/tutti.h"

enum {
    PARTS = 4,
    PART_LARGEST = 4 << 20, /* of a partition */
    PART_TAG = 12,
    PART_PIECE = 64 << 10,
    PART_FIRST = 3, /* rounds in which memory is mapped and ranks agree */
    PART_REQUESTS = 5
};
enum { PART_SECTIONS = 1u << TUNE_PARTITIONED | 1u << TUNE_PARTITIONED_MEET };

static struct {
    const struct part_kernels *kernels;
    uint32_t *out, *in; /* device memory: what the kernel makes, what arrives */
    size_t most;        /* bytes of a partition */
    uint64_t seed;
    int (*psend_init)(const void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
    int (*precv_init)(void *, int, MPI_Count, MPI_Datatype, int, int, MPI_Comm, MPI_Info, MPI_Request *);
    /* Requests of one section and size, each created under its rules. */
    int section, n;
    size_t bytes;
    struct tune_request {
        const char *rules;
        MPI_Request request;
        MPIX_Prequest device;
        int has_device;
    } request[PART_REQUESTS];
} part;

static void request_must(int error, const char *call)
{
    if (error != MPI_SUCCESS)
        bench_fail("%s of partitions of %zu bytes failed with error %d", call, part.bytes, error);
}

const char *tune_part_rules(int section, int way)
{
    if (section == TUNE_PARTITIONED)
        return way == TUNE_part_kernel ? "partitioned: *@kernel" : "partitioned: *@engine";
    return way == TUNE_part_kernel   ? "partitioned_meet: *@kernel"
           : way == TUNE_part_engine ? "partitioned_meet: *@engine"
                                     : "partitioned_meet: *@never";
}

size_t tune_part_size(int section, size_t bytes)
{
    (void)section;
    return bytes <= part.most ? bytes : 0;
}

/* ---- requests ---- */

/* The rank at the other end of the messages; -1: there is no such rank. */
static int message_peer(const struct tune *tune)
{
    const int peer = tune->plan->rank ^ 1;
    return peer < tune->plan->size ? peer : -1;
}

static int is_receiver(const struct tune *tune, int section)
{
    return section == TUNE_PARTITIONED && tune->plan->rank % 2 == 1;
}

static void requests_free(void)
{
    for (int i = 0; i < part.n; i++) {
        struct tune_request *r = &part.request[i];
        if (r->has_device)
            request_must(MPIX_Prequest_free(&r->device), "MPIX_Prequest_free");
        if (r->request != MPI_REQUEST_NULL)
            request_must(MPI_Request_free(&r->request), "MPI_Request_free");
    }
    part.n = 0;
}

static void request_create(const struct tune *tune, int section, struct tune_request *r)
{
    const MPI_Count words = (MPI_Count)(part.bytes / sizeof(float));
    const int peer = message_peer(tune);
    if (section == TUNE_PARTITIONED_MEET)
        request_must(MPIX_Pallreduce_init(part.out, part.in, PARTS, words, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD,
                                          MPI_INFO_NULL, &r->request),
                     "MPIX_Pallreduce_init");
    else if (peer < 0)
        return;
    else if (is_receiver(tune, section))
        request_must(
            part.precv_init(part.in, PARTS, words, MPI_INT, peer, PART_TAG, MPI_COMM_WORLD, MPI_INFO_NULL, &r->request),
            "MPI_Precv_init");
    else
        request_must(part.psend_init(part.out, PARTS, words, MPI_INT, peer, PART_TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                                     &r->request),
                     "MPI_Psend_init");
    if (is_receiver(tune, section))
        return;
    request_must(MPIX_Prequest_create(r->request, &r->device), "MPIX_Prequest_create");
    r->has_device = 1;
}

/* The column's request. Its rules are in force, when it is created and in its rounds. Ranks create them alike. */
static struct tune_request *request_of(const struct tune *tune, const struct tune_column *column, int section,
                                       size_t bytes)
{
    tune_rules_take(column->rules);
    if (part.n > 0 && (part.section != section || part.bytes != bytes))
        requests_free();
    part.section = section;
    part.bytes = bytes;
    for (int i = 0; i < part.n; i++) {
        if (part.request[i].rules == column->rules)
            return &part.request[i];
    }
    if (part.n == PART_REQUESTS)
        requests_free();
    struct tune_request *r = &part.request[part.n++];
    *r = (struct tune_request){.rules = column->rules, .request = MPI_REQUEST_NULL};
    request_create(tune, section, r);
    return r;
}

/* ---- rounds ---- */

static void request_run(const struct tune *tune, int section, struct tune_request *r)
{
    struct part_launch launch = {
        .group = PART_BY_BLOCK, .blocks = PARTS, .parts = 1, .words = part.bytes / 4, .out = part.out};
    if (r->request == MPI_REQUEST_NULL)
        return;
    request_must(MPI_Start(&r->request), "MPI_Start");
    request_must(MPIX_Pbuf_prepare(r->request), "MPIX_Pbuf_prepare");
    if (r->has_device) {
        launch.real = section == TUNE_PARTITIONED_MEET;
        launch.seed = part.seed + (uint64_t)tune->plan->rank * 7919;
        launch.request = r->device;
        if (part.kernels->launch(&launch, bench_gpu_stream()) != 0)
            bench_fail("rank %d could not launch a kernel", tune->plan->rank);
    }
    int which;
    request_must(MPI_Waitany(1, &r->request, &which, MPI_STATUS_IGNORE), "MPI_Waitany");
}

/* What is right in words [from, from + n) of the buffer that arrives. */
static void part_picture(const struct tune *tune, int section, size_t from, size_t n, uint32_t *out)
{
    for (size_t i = 0; i < n; i++) {
        float sum = 0;
        out[i] = part_word(part.seed + (uint64_t)(tune->plan->rank - 1) * 7919, from + i);
        for (int rank = 0; rank < tune->plan->size; rank++)
            sum += part_real(part.seed + (uint64_t)rank * 7919, from + i);
        if (section == TUNE_PARTITIONED_MEET)
            memcpy(&out[i], &sum, sizeof sum);
    }
}

/* Spoils the buffer that arrives, or compares it. 1 if it is right. */
static int part_visit(const struct tune *tune, int section, int compare)
{
    uint32_t *const right = (uint32_t *)(void *)tune->host, *const got = right + PART_PIECE / 4;
    const size_t all = PARTS * part.bytes;
    if (section == TUNE_PARTITIONED && (!is_receiver(tune, section) || message_peer(tune) < 0))
        return 1;
    memset(got, 0xa5, PART_PIECE);
    for (size_t at = 0; at < all; at += PART_PIECE) {
        const size_t n = all - at < PART_PIECE ? all - at : PART_PIECE;
        char *const device = (char *)part.in + at;
        bench_must(compare ? tutti_copy(got, device, n) : tutti_copy(device, got, n), "copying");
        if (compare)
            part_picture(tune, section, at / 4, n / 4, right);
        if (compare && memcmp(right, got, n) != 0)
            return 0;
    }
    return 1;
}

/* How the partitions of the last round went, on this rank; -1: it marks none. */
static int way_taken(const struct tune_request *r, int section)
{
    if (!r->has_device)
        return -1;
    if (section == TUNE_PARTITIONED)
        return bench_outcome_counted("partitions of kernels|launched|sent by the engine") > 0 ? TUNE_part_engine
                                                                                              : TUNE_part_kernel;
    return bench_outcome_counted("partitioned collectives|launched|met in kernels of the engine") > 0 ? TUNE_part_engine
           : bench_outcome_counted("partitioned collectives|launched|met in kernels") > 0             ? TUNE_part_kernel
                                                                                                      : TUNE_part_never;
}

int tune_part_try(struct tune *tune, struct tune_column *column, int section, size_t bytes)
{
    char name[96];
    int accelerated, mine[2], all[2];
    struct tune_request *r = request_of(tune, column, section, bytes);
    for (int i = 0; i < PART_FIRST; i++) {
        part.seed += 0x10000019; /* alike on all ranks */
        request_run(tune, section, r);
    }
    part_visit(tune, section, 0);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    part.seed += 0x10000019;
    bench_outcome_begin();
    request_run(tune, section, r);
    mine[0] = way_taken(r, section);
    mine[1] = mine[0] < 0 ? -TUNE_CHOICES : -mine[0];
    bench_outcome_end("partitions", name, sizeof name, &accelerated);
    bench_gpu_sync();
    bench_mpi.Allreduce(mine, all, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    column->algorithm = all[0] == -all[1] ? all[0] : TUNE_DEFAULT; /* the ranks' ways differ: none is measured */
    return part_visit(tune, section, 1);
}

double tune_part_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes)
{
    struct tune_request *r = request_of(tune, column, section, bytes);
    double took = 0;
    for (int i = 0; i < column->calls; i++) {
        bench_mpi.Barrier(MPI_COMM_WORLD);
        const uint64_t start = tutti_now_ns();
        request_run(tune, section, r);
        took += (double)(tutti_now_ns() - start) * 1e-3;
    }
    return took / column->calls;
}

/* ---- open ---- */

/* NULL, or why there is nothing to measure; alike on all ranks. */
static const char *part_open(const struct tune *tune)
{
    static char why[512];
    void *out = NULL, *in = NULL;
    *(void **)&part.psend_init = dlsym(RTLD_DEFAULT, "MPI_Psend_init");
    *(void **)&part.precv_init = dlsym(RTLD_DEFAULT, "MPI_Precv_init");
    if (!bench_all_agree(part.psend_init && part.precv_init))
        return "the library lacks the calls";
    if (!bench_all_agree(bench_gpu_open(why, sizeof why)))
        return why[0] ? why : "another rank has no stream";
    part.kernels = bench_on_host()
                       ? &part_host_kernels
                       : bench_helper("tutti-bench-partitioned-cuda.so", PART_KERNELS_SYMBOL, why, sizeof why);
    if (!bench_all_agree(part.kernels != NULL))
        return why[0] ? why : "another rank has no kernels";
    if (!bench_all_agree(part.kernels->open(tune->plan->node_rank % tutti_gpu_count()) == 0))
        return "the kernels cannot be used";
    part.most = tune->most < PART_LARGEST ? tune->most : PART_LARGEST;
    part.most -= part.most % 4;
    const int mine = tutti_alloc(PARTS * part.most, &out) == 0 && tutti_alloc(PARTS * part.most, &in) == 0;
    part.out = out;
    part.in = in;
    return bench_all_agree(mine) ? NULL : "there is no device memory left";
}

void tune_part_open(struct tune *tune)
{
    if (!(tune->sections & PART_SECTIONS))
        return;
    const char *const why = part_open(tune);
    if (!why)
        return;
    bench_say(tune->plan, "note no rules for partitions of kernels: %s", why);
    tune->sections &= ~(unsigned)PART_SECTIONS;
}

void tune_part_close(void)
{
    requests_free();
    tutti_free(part.out);
    tutti_free(part.in);
    part.out = part.in = NULL;
}

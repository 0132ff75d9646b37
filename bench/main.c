/* Reads the arguments of the command, and calls the room that measures. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/access/access.h"
#include "bench/hand/hand.h"
#include "bench/host/host.h"
#include "bench/messages/exchange.h"
#include "bench/pack/pack.h"
#include "bench/partitioned/part.h"
#include "bench/reductions/run.h"
#include "bench/shmem/shmem.h"
#include "bench/transfer/transfer.h"
#include "bench/tune/tune.h"
#include "core/reasons.h"
#include "core/settings.h"

static struct bench_plan plan;
static char **words; /* the arguments behind the benchmark's, NULL at the end */

static const char *text_of(const char *name)
{
    size_t n = strlen(name);
    for (char **word = words; *word; word++) {
        if (strncmp(*word, name, n) == 0 && (*word)[n] == '=')
            return *word + n + 1;
    }
    fprintf(stderr, "tutti: %s is missing: this program is started by `tutti bench`\n", name);
    exit(2);
}

static long long value_of(const char *name)
{
    return strtoll(text_of(name), NULL, 10);
}

/* "8,64,512" */
static void read_sizes(const char *text)
{
    char *at;
    for (const char *from = text; plan.n_sizes < BENCH_SIZES; from = at + 1) {
        plan.sizes[plan.n_sizes] = strtoull(from, &at, 10);
        if (plan.sizes[plan.n_sizes] > plan.most)
            plan.most = plan.sizes[plan.n_sizes];
        plan.n_sizes++;
        if (*at != ',')
            break;
    }
}

/* What all but tune take. */
static void read_calls(void)
{
    plan.iterations = (long)value_of("iterations");
    plan.warm_up = (long)value_of("warm_up");
}

/* "energy=TRIALS:SECONDS:UPDATES:WAYS" */
static void read_energy(const char *text)
{
    struct bench_energy_plan *e = &plan.energy;
    if (sscanf(text, "%d:%lf:%ld:%u", &e->trials, &e->seconds, &e->updates, &e->ways) != 4)
        e->trials = 0;
}

/* What all but tune and overhead take. */
static void read_shared(void)
{
    read_calls();
    read_energy(text_of("energy"));
    read_sizes(text_of("sizes"));
    plan.seconds = strtod(text_of("seconds"), NULL);
    plan.check = (int)value_of("check");
    plan.seed = (uint64_t)value_of("seed");
}

static void run_collective(void)
{
    bench_collective(&plan);
}

static void read_collective(void)
{
    read_shared();
    plan.collective = (int)value_of("collective");
    plan.order = (int)value_of("order");
    plan.types = (unsigned)value_of("types");
    plan.ops = (unsigned)value_of("ops");
    plan.type = (int)value_of("type");
    plan.op = (int)value_of("op");
    plan.pairs = (int)value_of("pairs");
    plan.root = (int)value_of("root");
    plan.ways = (unsigned)value_of("ways");
    plan.in_place = (int)value_of("in_place");
    plan.algorithm = text_of("algorithm");
    plan.phases = (int)value_of("phases");
}

static struct pack_plan pack;

static void read_pack(void)
{
    read_shared();
    pack.kind = (enum pack_kind)value_of("layout");
    pack.block = (size_t)value_of("block");
    pack.stride = (size_t)value_of("stride");
    pack.cube = (size_t)value_of("cube");
    pack.parts = text_of("parts");
    pack.descriptions = text_of("descriptions");
    pack.ways = (unsigned)value_of("ways");
}

static void run_pack(void)
{
    bench_pack(&plan, &pack);
}

static struct exchange_plan exchange;

static void read_exchange(void)
{
    read_shared();
    exchange.radius = (int)value_of("radius");
    exchange.quantities = (int)value_of("quantities");
    exchange.block = (size_t)value_of("block");
    exchange.stride = (size_t)value_of("stride");
    exchange.ways = (unsigned)value_of("ways");
}

static void run_halo(void)
{
    bench_halo(&plan, &exchange);
}

static void run_pingpong(void)
{
    bench_pingpong(&plan, &exchange);
}

static unsigned figures;
static int usual;

static void read_shmem(void)
{
    read_shared();
    plan.ways = (unsigned)value_of("ways");
    figures = (unsigned)value_of("figures");
    usual = (int)value_of("usual");
}

static void run_shmem(void)
{
    bench_shmem(&plan, figures, usual);
}

static unsigned long long calls;

static void read_hand(void)
{
    read_shared();
    calls = strtoull(text_of("calls"), NULL, 10);
}

static void run_hand(void)
{
    bench_hand(&plan, calls);
}

static struct transfer_plan transfer;

static void read_transfer(void)
{
    read_shared();
    plan.order = (int)value_of("order");
    plan.ways = (unsigned)value_of("ways");
    transfer.id = (int)value_of("transfer");
    transfer.window = (int)value_of("window");
    transfer.nonblocking = (int)value_of("nonblocking");
    transfer.steps = (int)value_of("steps");
    transfer.fresh = (int)value_of("fresh");
    transfer.host = (unsigned)value_of("host_memory");
    transfer.tests = (int)value_of("tests");
}

static void run_transfer(void)
{
    bench_transfer(&plan, &transfer);
}

static struct access_plan access_of;

static void read_access(void)
{
    read_shared();
    plan.ways = (unsigned)value_of("ways");
    access_of.id = (int)value_of("access");
    access_of.collective = (int)value_of("collective");
    access_of.folder = text_of("folder");
    access_of.sync = (int)value_of("sync");
    access_of.window = (int)value_of("window");
    access_of.exposed_host = (int)value_of("exposed_host");
}

static void run_access(void)
{
    bench_access(&plan, &access_of);
}

static struct part_plan part;

/* "partitions=1,4,16" */
static void read_part(void)
{
    char *at;
    read_shared();
    plan.ways = (unsigned)value_of("ways");
    part.figures = (unsigned)value_of("figures");
    for (const char *from = text_of("partitions"); part.n_counts < PART_COUNTS; from = at + 1) {
        part.counts[part.n_counts++] = (int)strtol(from, &at, 10);
        if (*at != ',')
            break;
    }
}

static void run_part(void)
{
    bench_partitioned(&plan, &part);
}

static void run_overhead(void)
{
    bench_overhead(&plan);
}

static unsigned host_groups;
static int host_call;

static void read_host(void)
{
    plan.seconds = strtod(text_of("seconds"), NULL);
    host_groups = (unsigned)value_of("groups");
    host_call = (int)value_of("call");
}

static void run_host(void)
{
    bench_host(&plan, host_groups, host_call);
}

static unsigned sections;
static const char *tune_folder;

static void read_tune(void)
{
    tune_folder = text_of("folder");
    sections = (unsigned)value_of("sections");
    plan.most = (size_t)value_of("most");
    plan.order = (int)value_of("order");
    plan.seconds = strtod(text_of("seconds"), NULL);
    plan.iterations = (long)value_of("rounds");
}

static void run_tune(void)
{
    bench_tune(&plan, sections, plan.most, tune_folder);
}

static const struct {
    const char *name;
    void (*read)(void); /* the arguments, into the plan */
    void (*run)(void);  /* with the MPI begun */
} benches[] = {
    {BENCH_DOES_COLLECTIVE, read_collective, run_collective},
    {BENCH_DOES_PACK, read_pack, run_pack},
    {BENCH_DOES_HALO, read_exchange, run_halo},
    {BENCH_DOES_PINGPONG, read_exchange, run_pingpong},
    {BENCH_DOES_SHMEM, read_shmem, run_shmem},
    {BENCH_DOES_HAND, read_hand, run_hand},
    {BENCH_DOES_TRANSFER, read_transfer, run_transfer},
    {BENCH_DOES_ACCESS, read_access, run_access},
    {BENCH_DOES_PARTITIONED, read_part, run_part},
    {BENCH_DOES_OVERHEAD, read_calls, run_overhead},
    {BENCH_DOES_HOST, read_host, run_host},
    {BENCH_DOES_TUNE, read_tune, run_tune},
};
enum { BENCHES = sizeof benches / sizeof benches[0] };

static void find_place(void)
{
    MPI_Comm node;
    bench_mpi.Comm_rank(MPI_COMM_WORLD, &plan.rank);
    bench_mpi.Comm_size(MPI_COMM_WORLD, &plan.size);
    bench_mpi.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    bench_mpi.Comm_rank(node, &plan.node_rank);
    bench_mpi.Comm_free(&node);
    const int virtual_ranks = tutti_settings()->node_ranks;
    int first = virtual_ranks > 0 ? plan.node_rank % virtual_ranks == 0 : plan.node_rank == 0;
    bench_mpi.Allreduce(&first, &plan.nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void say_version(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(text, &length);
    for (char *at = text; *at; at++) {
        if (*at == '\n')
            *at = '\0';
        else if (*at == '\t')
            *at = ' ';
    }
    bench_say(&plan, "mpi %s", text);
}

int main(int argc, char **argv)
{
    int i = argc > 1 ? 0 : BENCHES;
    while (i < BENCHES && strcmp(argv[1], benches[i].name) != 0)
        i++;
    if (i == BENCHES) {
        fputs("This program is started by `tutti bench` and `tutti tune`.\n", stderr);
        return 2;
    }
    words = argv + 2;
    benches[i].read();
    tutti_tally_hint_off(); /* the staged ways of a benchmark are no advice to the user */
    MPI_Init(&argc, &argv);
    bench_mpi_find();
    find_place();
    say_version();
    size_t least = 16 * (size_t)plan.size; /* a reduce-scatter has at least an element for each rank */
    if (plan.most < least)
        plan.most = least;
    benches[i].run();
    MPI_Finalize();
    return 0;
}

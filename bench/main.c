/* Reads what the command wants measured, and hands it to the room that measures it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/hand/hand.h"
#include "bench/messages/exchange.h"
#include "bench/pack/pack.h"
#include "bench/reductions/run.h"
#include "bench/shmem/shmem.h"
#include "bench/tune/tune.h"

static const char *text_of(int argc, char **argv, const char *name)
{
    size_t n = strlen(name);
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], name, n) == 0 && argv[i][n] == '=')
            return argv[i] + n + 1;
    }
    fprintf(stderr, "tutti: %s is missing: this program is started by `tutti bench`\n", name);
    exit(2);
}

static long long value_of(int argc, char **argv, const char *name)
{
    return strtoll(text_of(argc, argv, name), NULL, 10);
}

/* "8,64,512" */
static void read_sizes(const char *text, struct bench_plan *plan)
{
    char *at;
    for (const char *from = text; plan->n_sizes < BENCH_SIZES; from = at + 1) {
        plan->sizes[plan->n_sizes] = strtoull(from, &at, 10);
        if (plan->sizes[plan->n_sizes] > plan->most)
            plan->most = plan->sizes[plan->n_sizes];
        plan->n_sizes++;
        if (*at != ',')
            break;
    }
}

static void read_plan(int argc, char **argv, struct bench_plan *plan)
{
    read_sizes(text_of(argc, argv, "sizes"), plan);
    plan->collective = (int)value_of(argc, argv, "collective");
    plan->order = (int)value_of(argc, argv, "order");
    plan->seconds = strtod(text_of(argc, argv, "seconds"), NULL);
    plan->types = (unsigned)value_of(argc, argv, "types");
    plan->ops = (unsigned)value_of(argc, argv, "ops");
    plan->type = (int)value_of(argc, argv, "type");
    plan->op = (int)value_of(argc, argv, "op");
    plan->pairs = (int)value_of(argc, argv, "pairs");
    plan->root = (int)value_of(argc, argv, "root");
    plan->ways = (unsigned)value_of(argc, argv, "ways");
    plan->in_place = (int)value_of(argc, argv, "in_place");
    plan->check = (int)value_of(argc, argv, "check");
    plan->algorithm = text_of(argc, argv, "algorithm");
    plan->phases = (int)value_of(argc, argv, "phases");
    plan->seed = (uint64_t)value_of(argc, argv, "seed");
}

/* What packing and typed messages share. */
static void read_typed(int argc, char **argv, struct bench_plan *plan)
{
    read_sizes(text_of(argc, argv, "sizes"), plan);
    plan->seconds = strtod(text_of(argc, argv, "seconds"), NULL);
    plan->check = (int)value_of(argc, argv, "check");
    plan->seed = (uint64_t)value_of(argc, argv, "seed");
}

static void read_pack(int argc, char **argv, struct pack_plan *pack)
{
    pack->kind = (enum pack_kind)value_of(argc, argv, "layout");
    pack->block = (size_t)value_of(argc, argv, "block");
    pack->stride = (size_t)value_of(argc, argv, "stride");
    pack->cube = (size_t)value_of(argc, argv, "cube");
    pack->parts = text_of(argc, argv, "parts");
    pack->descriptions = text_of(argc, argv, "descriptions");
    pack->ways = (unsigned)value_of(argc, argv, "ways");
}

static void read_exchange(int argc, char **argv, struct exchange_plan *what)
{
    what->radius = (int)value_of(argc, argv, "radius");
    what->quantities = (int)value_of(argc, argv, "quantities");
    what->block = (size_t)value_of(argc, argv, "block");
    what->stride = (size_t)value_of(argc, argv, "stride");
    what->ways = (unsigned)value_of(argc, argv, "ways");
}

static void find_place(struct bench_plan *plan)
{
    MPI_Comm node;
    bench_mpi.Comm_rank(MPI_COMM_WORLD, &plan->rank);
    bench_mpi.Comm_size(MPI_COMM_WORLD, &plan->size);
    bench_mpi.Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    bench_mpi.Comm_rank(node, &plan->node_rank);
    bench_mpi.Comm_free(&node);
    int first = plan->node_rank == 0;
    bench_mpi.Allreduce(&first, &plan->nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
}

static void say_version(const struct bench_plan *plan)
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
    bench_say(plan, "mpi %s", text);
}

int main(int argc, char **argv)
{
    static struct bench_plan plan;
    static struct pack_plan pack;
    static struct exchange_plan what;
    int packing = argc > 1 && strcmp(argv[1], BENCH_DOES_PACK) == 0,
        halo = argc > 1 && strcmp(argv[1], BENCH_DOES_HALO) == 0;
    int exchange = halo || (argc > 1 && strcmp(argv[1], BENCH_DOES_PINGPONG) == 0);
    int overhead = argc > 1 && strcmp(argv[1], BENCH_DOES_OVERHEAD) == 0,
        tune = argc > 1 && strcmp(argv[1], BENCH_DOES_TUNE) == 0;
    int gas = argc > 1 && strcmp(argv[1], BENCH_DOES_SHMEM) == 0,
        hand = argc > 1 && strcmp(argv[1], BENCH_DOES_HAND) == 0;
    unsigned long long calls = 0;
    unsigned sections = 0, figures = 0;
    int usual = 0;
    if (argc < 2 ||
        (!overhead && !tune && !packing && !exchange && !gas && !hand && strcmp(argv[1], BENCH_DOES_COLLECTIVE) != 0)) {
        fputs("This program is started by `tutti bench` and `tutti tune`.\n", stderr);
        return 2;
    }
    if (tune) {
        sections = (unsigned)value_of(argc, argv, "sections");
        plan.most = (size_t)value_of(argc, argv, "most");
        plan.order = (int)value_of(argc, argv, "order");
        plan.seconds = strtod(text_of(argc, argv, "seconds"), NULL);
        plan.iterations = (long)value_of(argc, argv, "rounds");
    } else {
        plan.iterations = (long)value_of(argc, argv, "iterations");
        plan.warm_up = (long)value_of(argc, argv, "warm_up");
    }
    if (packing || exchange || gas || hand)
        read_typed(argc, argv, &plan);
    if (packing)
        read_pack(argc, argv, &pack);
    else if (exchange)
        read_exchange(argc, argv, &what);
    else if (gas) {
        plan.ways = (unsigned)value_of(argc, argv, "ways");
        figures = (unsigned)value_of(argc, argv, "figures");
        usual = (int)value_of(argc, argv, "usual");
    } else if (hand)
        calls = strtoull(text_of(argc, argv, "calls"), NULL, 10);
    else if (!overhead && !tune)
        read_plan(argc, argv, &plan);
    MPI_Init(&argc, &argv);
    bench_mpi_find();
    find_place(&plan);
    say_version(&plan);
    size_t least = 16 * (size_t)plan.size; /* a reduce-scatter has at least an element for each rank */
    if (plan.most < least)
        plan.most = least;
    if (tune)
        bench_tune(&plan, sections, plan.most);
    else if (overhead)
        bench_overhead(&plan);
    else if (packing)
        bench_pack(&plan, &pack);
    else if (exchange)
        (halo ? bench_halo : bench_pingpong)(&plan, &what);
    else if (gas)
        bench_shmem(&plan, figures, usual);
    else if (hand)
        bench_hand(&plan, calls);
    else
        bench_collective(&plan);
    MPI_Finalize();
    return 0;
}

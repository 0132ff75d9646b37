#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/types.h"
#include "tools/bench/bench.h"

enum {
    KEY_NP = BENCH_KEY_OWN,
    KEY_OP,
    KEY_TYPE,
    KEY_IN_PLACE,
    KEY_ALGORITHM,
    KEY_PAIRS,
    KEY_LIMIT,
    KEY_ORDER,
    KEY_ROOT,
    KEY_WAYS,
    KEY_OPS,
    KEY_TYPES,
    KEY_PHASES
};

#define STARTING                                                                                                       \
    {"ranks", 'n', "RANKS", 0, "Number of ranks (2)", 1},                                                              \
        {"np", KEY_NP, "RANKS", OPTION_ALIAS | OPTION_HIDDEN, NULL, 1},                                                \
        {"mpi",                                                                                                        \
         BENCH_KEY_MPI,                                                                                                \
         "MPI",                                                                                                        \
         0,                                                                                                            \
         "MPI to use: openmpi, mpich, impi, a launcher, or the folder an MPI is installed in. Without it Open MPI, "   \
         "then "                                                                                                       \
         "MPICH, then Intel MPI",                                                                                      \
         1},                                                                                                           \
        {"mpi-args", BENCH_KEY_ARGUMENTS, "OPTIONS", 0, "More options for the launcher, in one word", 1},              \
    {                                                                                                                  \
        "timeout", BENCH_KEY_TIMEOUT, "SECONDS", 0, "End it where the ranks have not said a word for so long (600)", 1 \
    }

static const struct argp_option collective_options[] = {
    STARTING,
    {"device", BENCH_KEY_DEVICE, "DEVICE", 0, "auto, cuda or host: sets TUTTI_DEVICE", 1},
    {"message-size", 'm', "SIZES", 0,
     "Bytes of one rank's contribution: [MIN:]MAX, doubling from MIN (8) to MAX (1m), or a list 8,2k,1m; suffixes k, "
     "m, "
     "g",
     2},
    {"iterations", 'i', "N", 0, "Timed calls a size (1000 to 8k, 20 from 32m, otherwise 100; more in stream order)", 2},
    {"warmup", 'x', "N", 0, "Calls before them (100, 3, 10)", 2},
    {"seconds", BENCH_KEY_SECONDS, "S", 0, "Fewer calls where one way at one size would take longer than about this",
     2},
    {"order", KEY_ORDER, "ORDER", 0,
     "host (default): blocking calls, each timed by itself. stream: MPIX_..._enqueue, back to back on a stream. graph: "
     "the same, captured in a CUDA graph that is replayed",
     2},
    {"phases", KEY_PHASES, NULL, 0, "Where the time of a blocking call goes", 2},
    {"op", KEY_OP, "OP", 0, "Operator (sum)", 3},
    {"type", KEY_TYPE, "TYPE", 0, "Element type (float)", 3},
    {"ops", KEY_OPS, "LIST", 0, "Operators, with commas, or all: a row for each legal pair, beside the sum of float",
     3},
    {"types", KEY_TYPES, "LIST", 0, "Element types, with commas, or all: likewise (sizes: 16m)", 3},
    {"root", KEY_ROOT, "RANK", 0, "Of a reduce: a rank (0), or all, each in turn", 3},
    {"in-place", KEY_IN_PLACE, NULL, 0, "Use MPI_IN_PLACE", 3},
    {"algorithm", KEY_ALGORITHM, "NAME", 0, "Measure this algorithm alone; refused where it cannot do one of the calls",
     3},
    {"ways", KEY_WAYS, "LIST", 0, "Other ways to measure, with commas: all (default), none, or of the list below", 3},
    {"seed", BENCH_KEY_SEED, "N", 0, "Seed of the data", 3},
    {"no-validation", BENCH_KEY_NO_CHECK, NULL, 0, "Do not check results", 3},
    {"json", BENCH_KEY_JSON, "FILE", 0, "Write the results as JSON too", 4},
    {"plot", BENCH_KEY_PLOT, "FILE.png", 0, "Plot them (with gnuplot)", 4},
    {.name = NULL},
};

static const struct argp_option overhead_options[] = {
    STARTING,
    {"iterations", 'i', "N", 0, "Calls of one run (1000000)", 2},
    {"warmup", 'x', "N", 0, "Calls before them (10000)", 2},
    {"pairs", KEY_PAIRS, "N", 0, "Pairs of runs, one with the library in front and one without (5)", 2},
    {"limit", KEY_LIMIT, "PERCENT", 0, "End with status 1 where it costs more", 2},
    {"json", BENCH_KEY_JSON, "FILE", 0, "Write the results as JSON too", 4},
    {.name = NULL},
};

static const char *const type_names[] = {
#define TUTTI_TYPE(id, name, ctype, bytes, class_, unsigned_) name,
#include "tutti/types.def"
#undef TUTTI_TYPE
};
static const char *const op_names[] = {
#define TUTTI_OP(id, name, kernel, signs, groups) name,
#include "tutti/ops.def"
#undef TUTTI_OP
};
static const char *const algorithm_names[] = {
#define TUTTI_ALGORITHM(name, order, text) #name,
#include "tutti/algorithms.def"
#undef TUTTI_ALGORITHM
};
static const char *const order_names[BENCH_ORDERS] = {BENCH_ORDER_NAMES};
static const char *const way_names[] = {
#define BENCH_WAY(id, name, text) name,
#include "bench/words/ways.def"
#undef BENCH_WAY
};
#define NAMES(list) list, (int)(sizeof(list) / sizeof((list)[0]))

static int read_root(const char *text)
{
    return strcmp(text, "all") == 0 ? BENCH_ALL_ROOTS : (int)tool_number("--root", text, 0, 65535);
}

/* The ways between the library itself and its reference, which are not for choice. */
static unsigned read_ways(const char *text)
{
    if (strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") == 0)
        return ~0u;
    return bench_some_of("--ways", text, way_names + BENCH_STAGED, BENCH_REFERENCE - BENCH_STAGED) << BENCH_STAGED;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct bench_options *o = state->input;
    char *end;
    if (bench_shared_option(key, argument, o))
        return 0;
    switch (key) {
    case 'n':
    case KEY_NP:
        o->ranks = (int)tool_number("-n", argument, 1, 65536);
        break;
    case KEY_OP:
        o->op = tool_one_of("--op", argument, NAMES(op_names));
        break;
    case KEY_TYPE:
        o->type = tool_one_of("--type", argument, NAMES(type_names));
        break;
    case KEY_OPS:
        o->ops = bench_some_of("--ops", argument, NAMES(op_names));
        o->pairs = 1;
        break;
    case KEY_TYPES:
        o->types = bench_some_of("--types", argument, NAMES(type_names));
        o->pairs = 1;
        break;
    case KEY_ORDER:
        o->order = tool_one_of("--order", argument, NAMES(order_names));
        break;
    case KEY_ROOT:
        o->root = read_root(argument);
        break;
    case KEY_WAYS:
        o->ways = read_ways(argument);
        break;
    case KEY_PHASES:
        o->phases = 1;
        break;
    case KEY_IN_PLACE:
        o->in_place = 1;
        break;
    case KEY_ALGORITHM:
        o->algorithm = algorithm_names[tool_one_of("--algorithm", argument, NAMES(algorithm_names))];
        break;
    case KEY_PAIRS:
        o->pairs = (int)tool_number("--pairs", argument, 1, 1000);
        break;
    case KEY_LIMIT:
        o->limit = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(o->limit >= 0 && o->limit <= 1000))
            tool_refuse("--limit %s is not valid: a percentage from 0 to 1000 is", argument);
        break;
    case ARGP_KEY_ARG:
        tool_refuse("bench: '%s' is not understood: options alone may follow", argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp collective_argp = {
    .options = collective_options,
    .parser = parse,
    .doc =
        "Measures a reduction on device memory, and in the same run the other ways to do the same call.\v"
        "Columns of blocking calls: a call is timed by itself on every rank, after a barrier. Avg is over calls and "
        "ranks, Median over calls (of the average over ranks), Min and Max are the smallest and the largest average of "
        "a rank; all in microseconds, as the OSU benchmarks have them. In stream order and in graphs a round is many "
        "calls between two marks in the stream; of each round the slowest rank counts, and the columns are over "
        "rounds. The other ways show their median, and behind it (x) how many times Tutti's median that is; best is "
        "the fastest of them.\n\n"
        "Ways: staged copies to host memory, calls the plain MPI there and copies back; plain (host device) is the "
        "plain MPI on ordinary memory; native is the MPI's own way with device pointers, where it has one; nccl is "
        "NCCL call by call, where it is installed and each rank has a GPU of its own; nccl_graph is NCCL in a graph, "
        "nccl_sym the same with buffers in registered symmetric memory, nccl_sym32 that with NCCL_SYM_CTAS=32.\n\n"
        "Data is random. The last calls of every way, inside the timed loop, get new input, and their results are "
        "checked: Tutti's bit by bit against contributions combined in rank order; above 4 MiB at 64 places. The exit "
        "status is 1 where a result is wrong, 2 where an option, a setting or a rule is.",
};

static const struct argp overhead_argp = {
    .options = overhead_options,
    .parser = parse,
    .doc =
        "Measures what the library costs a program that never uses device memory: 8-byte MPI_Allreduce on host memory, "
        "with the library in front and without, in turn.",
};

/* What does not go together. */
static void check_together(const struct bench_options *o)
{
    if (o->root != 0 && strcmp(o->kind->name, "reduce") != 0)
        tool_refuse("--root: tutti bench %s has no root: a reduce has", o->kind->name);
    if (o->root >= o->ranks)
        tool_refuse("--root %d: with -n %d the last rank is %d", o->root, o->ranks, o->ranks - 1);
    if (o->phases && (o->order != BENCH_HOST || o->pairs))
        tool_refuse("--phases are those of blocking calls of one type and operator: leave out %s",
                    o->pairs ? "--ops and --types" : "--order");
    if (o->phases && o->in_place)
        tool_refuse("--phases are measured out of place: leave out --in-place");
}

void bench_collective_options(const struct bench_kind *kind, int argc, char **argv, struct bench_options *out)
{
    *out = (struct bench_options){.kind = kind, .ranks = 2, .warm_up = -1, .check = 1, .timeout = 600, .ways = ~0u};
    out->type = TUTTI_TYPE_F32;
    out->op = TUTTI_OP_SUM;
    out->seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    tool_check_options(collective_options, argc, argv, 0);
    argp_parse(&collective_argp, argc, argv, 0, NULL, out);
    if (out->pairs) {
        out->types = out->types ? out->types : 1u << out->type;
        out->ops = out->ops ? out->ops : 1u << out->op;
        out->type = TUTTI_TYPE_F32; /* what the ranks open with */
        out->op = TUTTI_OP_SUM;
    }
    if (out->n_sizes == 0)
        out->sizes[out->n_sizes++] = (size_t)(out->pairs ? 16 : 1) << 20;
    check_together(out);
    bench_check_call(out);
    if (out->algorithm) {
        char *rule = tool_print("%s: *@%s %s_enqueue: *@%s", kind->rules, out->algorithm, kind->rules, out->algorithm);
        setenv("TUTTI_RULES", rule, 1);
        free(rule);
    }
    tool_check_settings();
    bench_check_device(out);
}

void bench_overhead_options(int argc, char **argv, struct bench_options *out)
{
    *out = (struct bench_options){.ranks = 2, .iterations = 1000000, .warm_up = 10000, .pairs = 5, .timeout = 600};
    out->limit = -1;
    tool_check_options(overhead_options, argc, argv, 0);
    argp_parse(&overhead_argp, argc, argv, 0, NULL, out);
    tool_check_settings();
}

/* tutti bench allreduce, reduce ...: options, and the rows of the benchmarks. */
#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "team/control.h"
#include "tools/bench/collective.h"
#include "tools/bench/phases.h"

enum {
    KEY_OP = BENCH_KEY_OWN,
    KEY_TYPE,
    KEY_IN_PLACE,
    KEY_ALGORITHM,
    KEY_ORDER,
    KEY_ROOT,
    KEY_WAYS,
    KEY_OPS,
    KEY_TYPES,
    KEY_PHASES
};

static const struct argp_option collective_own[] = {
    {"message-size", 'm', "SIZES", 0,
     "Bytes of one rank's contribution: [MIN:]MAX, doubling from MIN (8) to MAX (1m), or a list 8,2k,1m; suffixes k, "
     "m, g",
     2},
    {"iterations", 'i', "N", 0, "Timed calls a size (1000 to 8k, 20 from 32m, otherwise 100; more in stream order)", 3},
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

/* Ways between the library and its reference, which cannot be chosen. */
static unsigned read_ways(const char *text)
{
    if (strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") == 0)
        return ~0u;
    return bench_some_of("--ways", text, way_names + BENCH_STAGED, BENCH_REFERENCE - BENCH_STAGED) << BENCH_STAGED;
}

static int collective_take(int key, char *argument)
{
    struct bench_options *o = &collective_options;
    switch (key) {
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
        o->order = tool_one_of("--order", argument, NAMES(collective_orders));
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
    default:
        return 0;
    }
    return 1;
}

static const char collective_doc[] =
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
    "status is 1 if a result is wrong, 2 if an option, a setting or a rule is.";

/* Refuses contradictions. */
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

static struct bench_sheet sheet = {.columns = &collective_latency, .options = &collective_options};
static struct phases_table phases = {.options = &collective_options,
                                     .members = collective_members,
                                     .choice = collective_choice,
                                     .refuse = collective_refuse};

static int collective_by_phases(void)
{
    return collective_options.phases;
}

/* ---- the benchmarks ---- */

static void collective_begin(const struct bench *bench)
{
    sheet.name = bench->name;
    collective_options.kind = bench->kind;
    collective_options.type = TUTTI_TYPE_F32;
    collective_options.op = TUTTI_OP_SUM;
}

static void collective_check(void)
{
    struct bench_options *o = &collective_options;
    if (o->pairs) {
        o->types = o->types ? o->types : 1u << o->type;
        o->ops = o->ops ? o->ops : 1u << o->op;
        o->type = TUTTI_TYPE_F32; /* the first arguments of the ranks */
        o->op = TUTTI_OP_SUM;
    }
    if (o->n_sizes == 0)
        o->sizes[o->n_sizes++] = (size_t)(o->pairs ? 16 : 1) << 20;
    check_together(o);
    bench_check_call(o);
    if (o->algorithm) {
        char *rule =
            tool_print("%s: *@%s %s_enqueue: *@%s", o->kind->rules, o->algorithm, o->kind->rules, o->algorithm);
        setenv("TUTTI_RULES", rule, 1);
        free(rule);
    }
    collective_set_members();
    sheet.columns = o->pairs ? &collective_pairs : &collective_latency;
}

static void collective_tell(struct tool_words *words)
{
    const struct bench_options *o = &collective_options;
    bench_word_add(words, "collective", o->kind->collective);
    bench_word_add(words, "order", o->order);
    bench_word_add(words, "root", o->root);
    bench_word_add(words, "type", o->type);
    bench_word_add(words, "op", o->op);
    bench_word_add(words, "types", o->types);
    bench_word_add(words, "ops", o->ops);
    bench_word_add(words, "pairs", o->pairs);
    bench_word_add(words, "ways", o->ways);
    bench_word_add(words, "in_place", o->in_place);
    bench_word_add(words, "phases", o->phases);
    tool_words_take(words, tool_print("algorithm=%s", o->algorithm ? o->algorithm : ""));
}

#define COLLECTIVE(name_, call_, rules_, collective_, note)                                                            \
    const struct bench bench_##name_ = {                                                                               \
        .name = #name_,                                                                                                \
        .text = "MPI_" call_ " on device memory" note ", beside the other ways to do it",                              \
        .does = BENCH_DOES_COLLECTIVE,                                                                                 \
        .kind = &(const struct bench_kind){#name_, call_, rules_, TUTTI_COLLECTIVE_##collective_},                     \
        .spec = {.own = collective_own, .take = collective_take, .doc = collective_doc},                               \
        .options = &collective_options,                                                                                \
        .sheet = &sheet,                                                                                               \
        .by_table = collective_by_phases,                                                                              \
        .table = &phases,                                                                                              \
        .report = &phases.report,                                                                                      \
        .begin = collective_begin,                                                                                     \
        .check = collective_check,                                                                                     \
        .tell = collective_tell,                                                                                       \
        .record = bench_phases_record,                                                                                 \
        .json = BENCH_JSON(bench_phases_json),                                                                         \
        .plot = bench_phases_plot,                                                                                     \
    };
COLLECTIVE(allreduce, "Allreduce", "allreduce", ALLREDUCE, "")
COLLECTIVE(reduce, "Reduce", "reduce", REDUCE, "")
COLLECTIVE(reduce_scatter, "Reduce_scatter", "reduce_scatter", REDUCE_SCATTER, ", with equal segments")
COLLECTIVE(reduce_scatter_block, "Reduce_scatter_block", "reduce_scatter", REDUCE_SCATTER_BLOCK, "")
COLLECTIVE(scan, "Scan", "scan", SCAN, "")
COLLECTIVE(exscan, "Exscan", "scan", EXSCAN, "")

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"
#include "core/types.h"
#include "device/device.h"

enum {
    KEY_MPI = 256,
    KEY_NP,
    KEY_DEVICE,
    KEY_ARGUMENTS,
    KEY_OP,
    KEY_TYPE,
    KEY_IN_PLACE,
    KEY_ALGORITHM,
    KEY_JSON,
    KEY_PLOT,
    KEY_NO_CHECK,
    KEY_SEED,
    KEY_TIMEOUT,
    KEY_PAIRS,
    KEY_LIMIT
};

#define STARTING                                                                                                       \
    {"ranks", 'n', "RANKS", 0, "Number of ranks (2)", 1},                                                              \
        {"np", KEY_NP, "RANKS", OPTION_ALIAS | OPTION_HIDDEN, NULL, 1},                                                \
        {"mpi",                                                                                                        \
         KEY_MPI,                                                                                                      \
         "MPI",                                                                                                        \
         0,                                                                                                            \
         "MPI to use: openmpi, mpich, impi, a launcher, or the folder an MPI is installed in. Without it Open MPI, "   \
         "then "                                                                                                       \
         "MPICH, then Intel MPI",                                                                                      \
         1},                                                                                                           \
        {"mpi-args", KEY_ARGUMENTS, "OPTIONS", 0, "More options for the launcher, in one word", 1},                    \
    {                                                                                                                  \
        "timeout", KEY_TIMEOUT, "SECONDS", 0, "End it where the ranks have not said a word for so long (600)", 1       \
    }

static const struct argp_option allreduce_options[] = {
    STARTING,
    {"device", KEY_DEVICE, "DEVICE", 0, "auto, cuda or host: sets TUTTI_DEVICE", 1},
    {"message-size", 'm', "[MIN:]MAX", 0, "Sizes in bytes, doubling from MIN (8) to MAX (1m); suffixes k, m, g", 2},
    {"iterations", 'i', "N", 0, "Timed calls a size (1000 to 8k, 20 from 32m, otherwise 100)", 2},
    {"warmup", 'x', "N", 0, "Calls before them (100, 3, 10)", 2},
    {"op", KEY_OP, "OP", 0, "Operator (sum)", 3},
    {"type", KEY_TYPE, "TYPE", 0, "Element type (float)", 3},
    {"in-place", KEY_IN_PLACE, NULL, 0, "Use MPI_IN_PLACE", 3},
    {"algorithm", KEY_ALGORITHM, "NAME", 0, "Take this algorithm wherever it can run: sets TUTTI_RULES", 3},
    {"seed", KEY_SEED, "N", 0, "Seed of the data", 3},
    {"no-validation", KEY_NO_CHECK, NULL, 0, "Do not check results", 3},
    {"json", KEY_JSON, "FILE", 0, "Write the results as JSON too", 4},
    {"plot", KEY_PLOT, "FILE.png", 0, "Plot them (with gnuplot)", 4},
    {.name = NULL},
};

static const struct argp_option overhead_options[] = {
    STARTING,
    {"iterations", 'i', "N", 0, "Calls of one run (1000000)", 2},
    {"warmup", 'x', "N", 0, "Calls before them (10000)", 2},
    {"pairs", KEY_PAIRS, "N", 0, "Pairs of runs, one with the library in front and one without (5)", 2},
    {"limit", KEY_LIMIT, "PERCENT", 0, "End with status 1 where it costs more", 2},
    {"json", KEY_JSON, "FILE", 0, "Write the results as JSON too", 4},
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
#define NAMES(list) list, (int)(sizeof(list) / sizeof((list)[0]))

static char *join(const char *const names[], int n)
{
    size_t room = 1;
    for (int i = 0; i < n; i++)
        room += strlen(names[i]) + 2;
    char *all = tool_alloc(room);
    for (int i = 0; i < n; i++)
        strcat(strcat(all, i ? ", " : ""), names[i]);
    return all;
}

/* Position of `word` in the list; otherwise refuses with what would be right. */
static int one_of(const char *option, const char *word, const char *const names[], int n)
{
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], word) == 0)
            return i;
    }
    const char *near = tool_nearest(word, names, n);
    if (near)
        tool_refuse("%s %s is not known: did you mean %s?", option, word, near);
    tool_refuse("%s %s is not known: there are %s", option, word, join(names, n));
}

static void read_sizes(const char *text, struct bench_options *out)
{
    char *copy = tool_print("%s", text), *colon = strchr(copy, ':'), *most = copy;
    if (colon) {
        *colon = '\0';
        most = colon + 1;
        if (!tool_size(copy, &out->least))
            tool_refuse("-m %s: '%s' is not a size; 8, 64k or 1m are", text, copy);
        if (out->least == 0)
            tool_refuse("-m %s: sizes double from MIN, so it cannot be 0", text);
    }
    if (!tool_size(most, &out->most) || out->most == 0)
        tool_refuse("-m %s: '%s' is not a size; a range is like 8:1m", text, most);
    if (colon && out->least > out->most)
        tool_refuse("-m %s: the first size is larger than the last; a range is like 8:1m", text);
    free(copy);
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct bench_options *o = state->input;
    char *end;
    switch (key) {
    case 'n':
    case KEY_NP:
        o->ranks = (int)tool_number("-n", argument, 1, 65536);
        break;
    case KEY_MPI:
        o->mpi = argument;
        break;
    case KEY_DEVICE:
        setenv("TUTTI_DEVICE", argument, 1);
        break;
    case KEY_ARGUMENTS:
        o->arguments = argument;
        break;
    case KEY_TIMEOUT:
        o->timeout = (int)tool_number("--timeout", argument, 1, 86400);
        break;
    case 'm':
        read_sizes(argument, o);
        break;
    case 'i':
        o->iterations = tool_number("-i", argument, 1, 1000000000);
        break;
    case 'x':
        o->warm_up = tool_number("-x", argument, 0, 1000000000);
        break;
    case KEY_OP:
        o->op = one_of("--op", argument, NAMES(op_names));
        break;
    case KEY_TYPE:
        o->type = one_of("--type", argument, NAMES(type_names));
        break;
    case KEY_IN_PLACE:
        o->in_place = 1;
        break;
    case KEY_ALGORITHM:
        o->algorithm = algorithm_names[one_of("--algorithm", argument, NAMES(algorithm_names))];
        break;
    case KEY_SEED:
        o->seed = (uint64_t)tool_number("--seed", argument, 1, LONG_MAX);
        break;
    case KEY_NO_CHECK:
        o->check = 0;
        break;
    case KEY_JSON:
        o->json = argument;
        break;
    case KEY_PLOT:
        o->plot = argument;
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

static const struct argp allreduce_argp = {
    .options = allreduce_options,
    .parser = parse,
    .doc =
        "Measures MPI_Allreduce on device memory, and in the same run the other ways to do the same call.\v"
        "Columns: a call is timed by itself on every rank, after a barrier. Avg is over calls and ranks, Median over "
        "calls "
        "(of the average over ranks), Min and Max are the smallest and the largest average of a rank; all in "
        "microseconds, as the OSU benchmarks have them. The other ways show their median, and behind it (x) how many "
        "times "
        "Tutti's median that is: staged copies to host memory, calls the plain MPI there and copies back; plain "
        "(host device) is the plain MPI on ordinary memory; native is the MPI's own way with device pointers, where it "
        "has one; nccl is NCCL's allreduce and a stream synchronise, where it is installed and each rank has a GPU of "
        "its own.\n\n"
        "Data is random. The last calls of every way, inside the timed loop, get new input, and their results are "
        "checked "
        "in full: Tutti's bit by bit against contributions combined in rank order. The exit status is 1 where a result "
        "is "
        "wrong, 2 where an option, a setting or a rule is.",
};

static const struct argp overhead_argp = {
    .options = overhead_options,
    .parser = parse,
    .doc =
        "Measures what the library costs a program that never uses device memory: 8-byte MPI_Allreduce on host memory, "
        "with the library in front and without, in turn.",
};

static void check_call(struct bench_options *o, int given)
{
    size_t size = tutti_type_size(o->type);
    if (!tutti_has_kernel(o->type, o->op)) {
        const char *right[TUTTI_OPS];
        int n = 0;
        for (int op = 0; op < TUTTI_OPS; op++) {
            if (tutti_has_kernel(o->type, op))
                right[n++] = op_names[op];
        }
        tool_refuse("--op %s is not legal on %s: legal are %s", op_names[o->op], type_names[o->type], join(right, n));
    }
    if (!given && o->least < size)
        o->least = size;
    if (o->least % size != 0)
        tool_refuse("-m: the first size, %zu bytes, is not a whole number of %s (%zu bytes each)", o->least,
                    type_names[o->type], size);
    if (o->least > o->most)
        tool_refuse("-m: the last size, %zu bytes, is below the first, %zu", o->most, o->least);
    if (o->most / size > INT_MAX)
        tool_refuse("-m: %zu bytes are more than %d elements of %s, the most that MPI_Allreduce takes", o->most,
                    INT_MAX, type_names[o->type]);
}

static void check_device(void)
{
    const struct tutti_device *device = tutti_device();
    char why[512] = "";
    if (!device)
        tool_refuse("TUTTI_DEVICE=none leaves no device memory to measure: use --device cuda or --device host");
    if (!device->open || device->open(why, sizeof why) != 0)
        tool_refuse("the %s device cannot be used: %s; --device host needs no GPU", device->name,
                    why[0] ? why : "it is not in this build");
}

void bench_allreduce_options(int argc, char **argv, struct bench_options *out)
{
    *out = (struct bench_options){.ranks = 2, .most = (size_t)1 << 20, .warm_up = -1, .check = 1, .timeout = 600};
    out->type = TUTTI_TYPE_F32;
    out->op = TUTTI_OP_SUM;
    out->seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    tool_check_options(allreduce_options, argc, argv, 0);
    argp_parse(&allreduce_argp, argc, argv, 0, NULL, out);
    int given = out->least != 0;
    if (!given)
        out->least = out->most < 8 ? out->most : 8;
    check_call(out, given);
    if (out->algorithm) {
        char *rule = tool_print("allreduce: *@%s", out->algorithm);
        setenv("TUTTI_RULES", rule, 1);
        free(rule);
    }
    tool_check_settings();
    check_device();
}

void bench_overhead_options(int argc, char **argv, struct bench_options *out)
{
    *out = (struct bench_options){.ranks = 2, .iterations = 1000000, .warm_up = 10000, .pairs = 5, .timeout = 600};
    out->limit = -1;
    tool_check_options(overhead_options, argc, argv, 0);
    argp_parse(&overhead_argp, argc, argv, 0, NULL, out);
    tool_check_settings();
}

/* tutti energy allreduce, bcast ...: the benchmarks of tutti bench (their options, their ranks, their calls), which
 * measure joules in place of times. */
#include <stdlib.h>
#include <string.h>

#include "bench/words/transfer.h"
#include "core/types.h"
#include "tools/bench/shmem.h"
#include "tools/energy/energy.h"

enum { KEY_VARIANTS = BENCH_KEY_OWN + 100, KEY_TRIALS, KEY_WINDOW_SECONDS, KEY_UPDATES };

static const struct call {
    const char *name, *text;
    const struct bench *bench;
    double per_byte; /* a call of pingpong is a round trip */
    int figure;      /* enum gas_figure, of bench_shmem; otherwise -1 */
} calls[] = {
    {"allreduce", "joules of MPI_Allreduce on device memory", &bench_allreduce, 1, -1},
    {"reduce", "joules of MPI_Reduce", &bench_reduce, 1, -1},
    {"reduce_scatter", "joules of MPI_Reduce_scatter, with equal segments", &bench_reduce_scatter, 1, -1},
    {"reduce_scatter_block", "joules of MPI_Reduce_scatter_block", &bench_reduce_scatter_block, 1, -1},
    {"scan", "joules of MPI_Scan", &bench_scan, 1, -1},
    {"exscan", "joules of MPI_Exscan", &bench_exscan, 1, -1},
    {"bcast", "joules of MPI_Bcast", &bench_transfers[TRANSFER_BCAST], 1, -1},
    {"gather", "joules of MPI_Gather", &bench_transfers[TRANSFER_GATHER], 1, -1},
    {"scatter", "joules of MPI_Scatter", &bench_transfers[TRANSFER_SCATTER], 1, -1},
    {"allgather", "joules of MPI_Allgather", &bench_transfers[TRANSFER_ALLGATHER], 1, -1},
    {"alltoall", "joules of MPI_Alltoall", &bench_transfers[TRANSFER_ALLTOALL], 1, -1},
    {"alltoallv", "joules of MPI_Alltoallv", &bench_transfers[TRANSFER_ALLTOALLV], 1, -1},
    {"pingpong", "joules of a round trip of a message between two ranks", &bench_transfers[TRANSFER_LATENCY], 2, -1},
    {"globalsum", "joules of the sum of all elements of all PEs, by a grid inside a kernel", &bench_shmem, 1,
     GAS_FIGURE_SUM},
    {"grid_allreduce", "joules of an allreduce of float by a grid inside a kernel", &bench_shmem, 1,
     GAS_FIGURE_ALLREDUCE},
    {"grid_reduce", "joules of a reduce of float by a grid inside a kernel", &bench_shmem, 1, GAS_FIGURE_REDUCE},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

const char *const energy_way_names[ENERGY_WAYS] = {
#define ENERGY_WAY(id, name, reduction, transfer, grid, text) name,
#include "bench/words/energy_ways.def"
#undef ENERGY_WAY
};
const char *const energy_part_names[ENERGY_PARTS] = {ENERGY_PART_NAMES};

const char *energy_call_name(int i, const char **text)
{
    if (i >= CALLS)
        return NULL;
    *text = calls[i].text;
    return calls[i].name;
}

static const struct argp_option own_options[] = {
    {"variants", KEY_VARIANTS, "LIST", 0, "Ways of the call, with commas, of the list below (all)", 2},
    {"trials", KEY_TRIALS, "N", 0, "Windows of each way that count, in turns; a short one before them does not (4)", 3},
    {"window-seconds", KEY_WINDOW_SECONDS, "S", 0, "Least length of a window (5)", 3},
    {"updates", KEY_UPDATES, "N", 0,
     "A window lasts until the counters were updated so often, at most four times as long (50)", 3},
};
enum { OWN = sizeof own_options / sizeof own_options[0], OPTIONS = 64 };
/* Options of the benchmarks that have no meaning for joules. */
static const char *const without[] = {"ways",        "order", "phases", "ops",   "types",       "in-place", "window",
                                      "nonblocking", "tests", "steps",  "fresh", "host-memory", "figures"};

static const char energy_doc[] = "Measures joules of a call, in many ways beside each other.\v"
                                 "Each way makes its calls back to back over windows, in turns, and energy counters "
                                 "are read at both ends. J is of one call, "
                                 "summed over all ranks: of the GPUs that the ranks use (NVML's energy counter), of "
                                 "the processor packages and of the DRAM "
                                 "of their nodes (RAPL). net is less what the idle window of the same trial drew; +- "
                                 "is half the 95 % confidence interval "
                                 "over trials. int % is how far the integral of the GPUs' power is from their counter. "
                                 "A source that the machine or the "
                                 "user lacks is shown as unavailable, with the reason.\n\n"
                                 "Variants: idle (the ranks sleep; contexts and buffers are open), auto, spin, yield "
                                 "and sleep (the library, by TUTTI_WAIT), "
                                 "stream (in stream order, the host sleeps), staged (copies to pinned host memory, the "
                                 "plain MPI, copies back), plain (the "
                                 "plain MPI on ordinary memory, on the host device), native (the MPI's own way with "
                                 "device pointers), nccl (in stream order, "
                                 "the host sleeps), nccl_wait (NCCL, the host waits for each call). globalsum, "
                                 "grid_allreduce and grid_reduce have kernel (inside a kernel, the host sleeps), "
                                 "nvshmem (the same by NVSHMEM), and auto, spin, yield and sleep: MPI's call on the "
                                 "same memory, of globalsum after a kernel that adds up the own part.\n\n"
                                 "Data is random; the result of one more call of each way is checked.";

static struct energy_table table;
static const struct call *call;
static const struct bench *base;

static void energy_begin(const struct bench *bench)
{
    (void)bench;
    base->begin(base);
    struct bench_options *o = base->options;
    o->trials = 4;
    o->window = 5;
    o->updates = 50;
    o->variants = (1u << ENERGY_WAYS) - 1;
    o->timeout = 600;
}

static double read_seconds(const char *text)
{
    char *end;
    const double seconds = strtod(text, &end);
    if (end == text || *end != '\0' || !(seconds > 0 && seconds <= 3600))
        tool_refuse("--window-seconds %s is not valid: a number above 0, at most 3600, is", text);
    return seconds;
}

static int energy_take(int key, char *argument)
{
    struct bench_options *o = base->options;
    switch (key) {
    case KEY_VARIANTS:
        o->variants = bench_some_of("--variants", argument, energy_way_names, ENERGY_WAYS);
        return 1;
    case KEY_TRIALS:
        o->trials = (int)tool_number("--trials", argument, 1, 64);
        return 1;
    case KEY_WINDOW_SECONDS:
        o->window = read_seconds(argument);
        return 1;
    case KEY_UPDATES:
        o->updates = tool_number("--updates", argument, 0, 1000000);
        return 1;
    }
    return base->spec.take && base->spec.take(key, argument);
}

static int is_of_grid(void)
{
    return call->figure >= 0;
}

/* The ways of the benchmark that the variants need. */
static unsigned needed_ways(unsigned variants)
{
    enum { BENCH_NONE = -1, TRANSFER_WAY_NONE = -1, GAS_NONE = -1 };
    static const struct {
        int reduction, transfer, grid;
    } ways[ENERGY_WAYS] = {
#define ENERGY_WAY(id, name, reduction, transfer, grid, text) {BENCH_##reduction, TRANSFER_WAY_##transfer, GAS_##grid},
#include "bench/words/energy_ways.def"
#undef ENERGY_WAY
    };
    unsigned mask = 0;
    for (int way = 0; way < ENERGY_WAYS; way++) {
        const int needed = is_of_grid() ? ways[way].grid : base->kind ? ways[way].reduction : ways[way].transfer;
        if (variants >> way & 1 && needed >= 0)
            mask |= 1u << needed;
    }
    return mask;
}

static void energy_check(void)
{
    struct bench_options *o = base->options;
    if (o->n_sizes == 0) {
        o->sizes[o->n_sizes++] = (size_t)64 << 10;
        o->sizes[o->n_sizes++] = is_of_grid() ? (size_t)16 << 20 : (size_t)256 << 20;
    }
    o->sizes_given = 1; /* one size is one */
    o->order = BENCH_HOST;
    o->in_place = o->phases = o->pairs = 0;
    o->seconds = 0;
    if (base->check)
        base->check();
    if (o->n_sizes > ENERGY_LINES)
        tool_refuse("-m: more than %d sizes", ENERGY_LINES);
    o->ways = needed_ways(o->variants);
    if (is_of_grid())
        shmem_take_figure(call->figure, o->ways);
    if (base->kind)
        snprintf(table.members, sizeof table.members, "%s of %s", tutti_op_name(o->op), tutti_type_name(o->type));
}

static int is_left_out(const char *name)
{
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        if (strcmp(without[i], name) == 0)
            return 1;
    }
    return 0;
}

int energy_calls_run(int i, int argc, char **argv)
{
    struct argp_option options[OPTIONS] = {{.name = NULL}};
    int n = 0;
    call = &calls[i];
    base = call->bench;
    for (const struct argp_option *own = base->spec.own; own && own->name && n < OPTIONS - OWN - 1; own++) {
        if (!is_left_out(own->name) && strcmp(own->name, "iterations") != 0 && strcmp(own->name, "message-size") != 0)
            options[n++] = *own;
    }
    for (int own = 0; own < OWN; own++)
        options[n++] = own_options[own];
    options[n++] = (struct argp_option){
        "message-size", 'm', "SIZES", 0, "Bytes: a list 64k,256m (default), or MIN:MAX, doubling; suffixes k, m, g", 2};
    struct bench energy = *base;
    energy.spec = (struct bench_spec){
        .without = "iterations warmup seconds", .own = options, .take = energy_take, .doc = energy_doc};
    energy.sheet = NULL;
    energy.by_table = NULL;
    energy.table = &table;
    energy.report = &table.report;
    energy.begin = energy_begin;
    energy.check = energy_check;
    energy.record = energy_table_record;
    energy.close = energy_table_close;
    energy.json = BENCH_JSON(energy_table_json);
    energy.plot = energy_table_plot;
    energy.run = NULL;
    table.options = base->options;
    table.name = call->name;
    table.call = call->text;
    table.per_byte = call->per_byte;
    return bench_run(&energy, argc, argv);
}

/* tutti bench halo and tutti bench pingpong: options, and the run. */
#include "tools/bench/exchange.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEY_EDGES = BENCH_KEY_OWN, KEY_RADIUS, KEY_QUANTITIES, KEY_BLOCK, KEY_STRIDE, KEY_WAYS };

#define STARTING                                                                                                       \
    {"ranks", 'n', "RANKS", 0, "Number of ranks (2)", 1},                                                              \
        {"mpi",                                                                                                        \
         BENCH_KEY_MPI,                                                                                                \
         "MPI",                                                                                                        \
         0,                                                                                                            \
         "MPI to use: openmpi, mpich, impi, a launcher, or the folder an MPI is installed in. Without it Open MPI, "   \
         "then MPICH, then Intel MPI",                                                                                 \
         1},                                                                                                           \
        {"device", BENCH_KEY_DEVICE, "DEVICE", 0, "auto, cuda or host: sets TUTTI_DEVICE", 1},                         \
        {"mpi-args", BENCH_KEY_ARGUMENTS, "OPTIONS", 0, "More options for the launcher, in one word", 1},              \
        {"timeout", BENCH_KEY_TIMEOUT, "SECONDS", 0, "End it where the ranks have not said a word for so long (600)",  \
         1},                                                                                                           \
        {"iterations", 'i', "N", 0, "Timed exchanges (1000 to 8k, 20 from 32m, otherwise 100)", 3},                    \
        {"warmup", 'x', "N", 0, "Exchanges before them (100, 3, 10)", 3},                                              \
        {"seconds", BENCH_KEY_SECONDS, "S", 0, "Fewer where one way would take longer than about this (0.5)", 3},      \
        {"ways", KEY_WAYS, "LIST", 0, "Other ways, with commas: all (default), none, or of the list below", 3},        \
        {"seed", BENCH_KEY_SEED, "N", 0, "Seed of the data", 3},                                                       \
        {"no-validation", BENCH_KEY_NO_CHECK, NULL, 0, "Do not check results", 3},                                     \
        {"json", BENCH_KEY_JSON, "FILE", 0, "Write the results as JSON too", 4},                                       \
    {                                                                                                                  \
        "plot", BENCH_KEY_PLOT, "FILE.png", 0, "Plot them (with gnuplot)", 4                                           \
    }

static const struct argp_option halo_options[] = {
    STARTING,
    {"edges", KEY_EDGES, "LIST", 0, "Cells along an edge of a rank's part, with commas (256)", 2},
    {"radius", KEY_RADIUS, "CELLS", 0, "Width of the rim (3)", 2},
    {"quantities", KEY_QUANTITIES, "N", 0, "Arrays of 8 bytes a cell (8)", 2},
    {.name = NULL},
};
static const struct argp_option pingpong_options[] = {
    STARTING,
    {"message-size", 'm', "SIZES", 0, "Bytes of the message: MIN:MAX, doubling, or a list (1k:16m)", 2},
    {"block", KEY_BLOCK, "BYTES", 0, "Length of a block (8)", 2},
    {"stride", KEY_STRIDE, "BYTES", 0, "From a block to the next (twice the block)", 2},
    {.name = NULL},
};

static unsigned read_ways(const char *text)
{
    const char *names[EXCHANGE_WAYS];
    for (int way = 0; way < EXCHANGE_WAYS; way++)
        names[way] = exchange_way_title(way);
    if (strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") == 0)
        return ~0u;
    return bench_some_of("--ways", text, names + 1, EXCHANGE_WAYS - 1) << 1;
}

static void read_edges(const char *text, struct bench_options *b)
{
    char *copy = tool_print("%s", text), *rest = copy, *word;
    b->n_sizes = 0;
    while ((word = strsep(&rest, ",")) != NULL) {
        if (b->n_sizes == BENCH_SIZES)
            tool_refuse("--edges %s: more than %d", text, BENCH_SIZES);
        b->sizes[b->n_sizes++] = (size_t)tool_number("--edges", word, 1, 1024);
    }
    free(copy);
}

static size_t read_bytes(const char *option, const char *text)
{
    size_t bytes;
    if (!tool_size(text, &bytes) || bytes == 0 || bytes > 1 << 30)
        tool_refuse("%s %s is not valid: bytes from 1 to 1g are", option, text);
    return bytes;
}

static error_t parse(int key, char *argument, struct argp_state *state)
{
    struct exchange_options *o = state->input;
    struct bench_options *b = &o->bench;
    if (bench_shared_option(key, argument, b))
        return 0;
    switch (key) {
    case 'n':
        b->ranks = (int)tool_number("-n", argument, 1, 65536);
        break;
    case KEY_EDGES:
        read_edges(argument, b);
        break;
    case KEY_RADIUS:
        o->radius = (int)tool_number("--radius", argument, 1, 64);
        break;
    case KEY_QUANTITIES:
        o->quantities = (int)tool_number("--quantities", argument, 1, 64);
        break;
    case KEY_BLOCK:
        o->block = read_bytes("--block", argument);
        break;
    case KEY_STRIDE:
        o->stride = read_bytes("--stride", argument);
        break;
    case KEY_WAYS:
        o->ways = read_ways(argument);
        break;
    case ARGP_KEY_ARG:
        tool_refuse("bench: '%s' is not understood: options alone may follow", argument);
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

#define COLUMNS                                                                                                        \
    "A time is that of one exchange after a barrier, of the rank that takes longest; medians over exchanges in "       \
    "microseconds. The other ways show, behind their median (x), how many times Tutti's that is; by_ ones how many "   \
    "times "                                                                                                           \
    "what they repeat, and how the messages went. Data is random; the "                                                \
    "last exchange of every way is checked, holes included. The exit status is 1 where a result is wrong, 2 where an " \
    "option or a setting is."

static const struct argp halo_argp = {
    .options = halo_options,
    .parser = parse,
    .doc = "Measures the exchange of rims between the parts of a periodic grid, each rank with 26 neighbours: faces, "
           "edges and corners of several arrays of device memory.\v"
           "Ways: tutti is one MPI_Neighbor_alltoallw with types; isend has an MPI_Isend and an MPI_Irecv with a type "
           "for each neighbour; by_staged, by_packed and by_direct are isend with that rule for messages in force; "
           "fused packs by hand, all neighbours in one launch, and sends what was packed; each "
           "calls MPI_Pack for each neighbour and quantity; plain (host device) is the plain MPI on ordinary memory, "
           "native the MPI's own way with device pointers.\n\n" COLUMNS,
};
static const struct argp pingpong_argp = {
    .options = pingpong_options,
    .parser = parse,
    .doc =
        "Measures half a round trip of a message of blocks between two ranks, from device memory into the same "
        "layout.\v"
        "Ways: tutti is MPI_Send and MPI_Recv with the type; by_staged, by_packed and by_direct are the same with that "
        "rule for messages in force; packed calls MPI_Pack, sends, and calls MPI_Unpack; "
        "flat sends as many bytes without gaps; plain (host device) is the plain MPI on ordinary memory, native the "
        "MPI's own way with device pointers.\n\n" COLUMNS,
};

static void check_pingpong(struct exchange_options *o)
{
    struct bench_options *b = &o->bench;
    if (b->ranks != 2)
        tool_refuse("-n %d: a ping-pong has two ranks", b->ranks);
    if (o->stride < o->block)
        tool_refuse("--stride %zu is less than --block %zu: blocks would lie one over the other", o->stride, o->block);
    for (size_t bytes = 1024; b->n_sizes == 0 || (!b->sizes_given && bytes <= 16 << 20 && b->n_sizes < 15); bytes *= 2)
        b->sizes[b->n_sizes++] = bytes;
    for (int i = 0; i < b->n_sizes; i++) {
        if (b->sizes[i] % o->block != 0 || b->sizes[i] > INT_MAX)
            tool_refuse("-m: %zu bytes are not a whole number of blocks of %zu, or more than MPI_Send takes",
                        b->sizes[i], o->block);
    }
}

static void read_options(int halo, int argc, char **argv, struct exchange_options *out)
{
    *out = (struct exchange_options){.halo = halo, .radius = 3, .quantities = 8, .block = 8, .ways = ~0u};
    out->bench = (struct bench_options){.ranks = 2, .warm_up = -1, .check = 1, .timeout = 600, .seconds = 0.5};
    out->bench.seed = (uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000;
    tool_check_options(halo ? halo_options : pingpong_options, argc, argv, 0);
    argp_parse(halo ? &halo_argp : &pingpong_argp, argc, argv, 0, NULL, out);
    if (!out->stride)
        out->stride = 2 * out->block;
    if (!halo)
        check_pingpong(out);
    else if (out->bench.n_sizes == 0)
        out->bench.sizes[out->bench.n_sizes++] = 256;
    for (int i = 0; halo && i < out->bench.n_sizes; i++) {
        if (out->bench.sizes[i] < (size_t)out->radius)
            tool_refuse("--edges: %zu cells are fewer than the rim has, %d", out->bench.sizes[i], out->radius);
    }
    tool_check_settings();
    bench_check_device(&out->bench);
}

int bench_exchange(int halo, int argc, char **argv)
{
    struct exchange_options o;
    static struct bench_place place;
    static struct exchange_table table;
    read_options(halo, argc, argv, &o);
    bench_files_check(&o.bench);
    bench_place_find(&o.bench, &place);
    table.options = &o;
    table.report.place = &place;

    struct tool_words words = {.word = NULL};
    bench_words_begin(&words, halo ? BENCH_DOES_HALO : BENCH_DOES_PINGPONG, &o.bench);
    bench_word_add(&words, "radius", o.radius);
    bench_word_add(&words, "quantities", o.quantities);
    bench_word_add(&words, "block", (long long)o.block);
    bench_word_add(&words, "stride", (long long)o.stride);
    bench_word_add(&words, "ways", o.ways);
    int status = bench_start(&o.bench, &place, words.word, 1, exchange_table_record, &table);
    tool_words_free(&words);

    int failed = exchange_json_write(&table) | exchange_plot_write(&table);
    return bench_report_status(&table.report, status, failed);
}

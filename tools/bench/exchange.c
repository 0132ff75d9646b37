/* tutti bench halo and tutti bench pingpong: options and columns. */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/words/exchange_way.h"
#include "tools/bench/sheet.h"

enum { KEY_EDGES = BENCH_KEY_OWN, KEY_RADIUS, KEY_QUANTITIES, KEY_BLOCK, KEY_STRIDE, KEY_WAYS };

static struct {
    struct bench_options bench; /* sizes: edges of the halo, bytes of the ping-pong */
    int halo;                   /* 1; 0: pingpong */
    int radius, quantities;
    size_t block, stride;
    unsigned ways;
} options;

static const char *const ways[EXCHANGE_WAYS] = {
#define EXCHANGE_WAY(id, name, text) name,
#include "bench/words/exchange_ways.def"
#undef EXCHANGE_WAY
};

#define WAYS_OPTION                                                                                                    \
    {                                                                                                                  \
        "ways", KEY_WAYS, "LIST", 0, "Other ways, with commas: all (default), none, or of the list below", 3           \
    }
static const struct argp_option halo_own[] = {
    WAYS_OPTION,
    {"edges", KEY_EDGES, "LIST", 0, "Cells along an edge of a rank's part, with commas (256)", 2},
    {"radius", KEY_RADIUS, "CELLS", 0, "Width of the rim (3)", 2},
    {"quantities", KEY_QUANTITIES, "N", 0, "Arrays of 8 bytes a cell (8)", 2},
    {.name = NULL},
};
static const struct argp_option pingpong_own[] = {
    WAYS_OPTION,
    {"message-size", 'm', "SIZES", 0, "Bytes of the message: MIN:MAX, doubling, or a list (1k:16m)", 2},
    {"block", KEY_BLOCK, "BYTES", 0, "Length of a block (8)", 2},
    {"stride", KEY_STRIDE, "BYTES", 0, "From a block to the next (twice the block)", 2},
    {.name = NULL},
};

static unsigned read_ways(const char *text)
{
    if (strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") == 0)
        return ~0u;
    return bench_some_of("--ways", text, ways + 1, EXCHANGE_WAYS - 1) << 1;
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

static int exchange_take(int key, char *argument)
{
    switch (key) {
    case KEY_EDGES:
        read_edges(argument, &options.bench);
        break;
    case KEY_RADIUS:
        options.radius = (int)tool_number("--radius", argument, 1, 64);
        break;
    case KEY_QUANTITIES:
        options.quantities = (int)tool_number("--quantities", argument, 1, 64);
        break;
    case KEY_BLOCK:
        options.block = read_bytes("--block", argument);
        break;
    case KEY_STRIDE:
        options.stride = read_bytes("--stride", argument);
        break;
    case KEY_WAYS:
        options.ways = read_ways(argument);
        break;
    default:
        return 0;
    }
    return 1;
}

#define COLUMNS_DOC                                                                                                    \
    "A time is that of one exchange after a barrier, of the rank that takes longest; medians over exchanges in "       \
    "microseconds. The other ways show, behind their median (x), how many times Tutti's that is; by_ ones how many "   \
    "times "                                                                                                           \
    "what they repeat, and how the messages went. Data is random; the "                                                \
    "last exchange of every way is checked, holes included. The exit status is 1 if a result is wrong, 2 if an "       \
    "option or a setting is."

static const char halo_doc[] =
    "Measures the exchange of rims between the parts of a periodic grid, each rank with 26 neighbours: faces, "
    "edges and corners of several arrays of device memory.\v"
    "Ways: tutti is one MPI_Neighbor_alltoallw with types; isend has an MPI_Isend and an MPI_Irecv with a type "
    "for each neighbour; by_staged, by_packed and by_direct are isend with that rule for messages in force; "
    "fused packs by hand, all neighbours in one launch, and sends what was packed; each "
    "calls MPI_Pack for each neighbour and quantity; plain (host device) is the plain MPI on ordinary memory, "
    "native the MPI's own way with device pointers.\n\n" COLUMNS_DOC;
static const char pingpong_doc[] =
    "Measures half a round trip of a message of blocks between two ranks, from device memory into the same "
    "layout.\v"
    "Ways: tutti is MPI_Send and MPI_Recv with the type; by_staged, by_packed and by_direct are the same with that "
    "rule for messages in force; packed calls MPI_Pack, sends, and calls MPI_Unpack; "
    "flat sends as many bytes without gaps; plain (host device) is the plain MPI on ordinary memory, native the "
    "MPI's own way with device pointers.\n\n" COLUMNS_DOC;

static void pingpong_check(void)
{
    struct bench_options *b = &options.bench;
    if (!options.stride)
        options.stride = 2 * options.block;
    if (b->ranks != 2)
        tool_refuse("-n %d: a ping-pong has two ranks", b->ranks);
    if (options.stride < options.block)
        tool_refuse("--stride %zu is less than --block %zu: blocks would lie one over the other", options.stride,
                    options.block);
    for (size_t bytes = 1024; b->n_sizes == 0 || (!b->sizes_given && bytes <= 16 << 20 && b->n_sizes < 15); bytes *= 2)
        b->sizes[b->n_sizes++] = bytes;
    for (int i = 0; i < b->n_sizes; i++) {
        if (b->sizes[i] % options.block != 0 || b->sizes[i] > INT_MAX)
            tool_refuse("-m: %zu bytes are not a whole number of blocks of %zu, or more than MPI_Send takes",
                        b->sizes[i], options.block);
    }
}

/* ---- columns ---- */

static int exchange_has_rules(int way)
{
    return way >= EXCHANGE_BY_STAGED && way <= EXCHANGE_BY_PIPELINED;
}

static int halo_base(int way)
{
    return exchange_has_rules(way) ? EXCHANGE_ISEND : EXCHANGE_TUTTI;
}

static char *exchange_title(void)
{
    return tool_print(options.halo ? "halo exchange" : "ping-pong of a type");
}

static void exchange_about(const struct bench_sheet *sheet)
{
    const char *typed = options.halo ? "isend" : "tutti";
    if (options.halo)
        printf("# periodic, 26 neighbours, rim of %d cells, %d quantities of 8 bytes\n", options.radius,
               options.quantities);
    if ((options.ways >> EXCHANGE_BY_STAGED & 15) && sheet->options->ranks > 1)
        printf("# by_: %s with the rule 'message: *@...' (between nodes message_far:); x: in units of %s's, with the "
               "rules in force; went: how many of the messages of all ranks, by the library's counters\n",
               typed, typed);
}

static const char *halo_option(int i, double *value)
{
    *value = i ? options.quantities : options.radius;
    return i == 0 ? "radius" : i == 1 ? "quantities" : NULL;
}

static const struct bench_field exchange_fields[] = {
    {.key = "layout", .title = "# Layout", .width = -16, .text = 1},
    {.key = "bytes", .title = "Bytes", .width = 10},
    {.key = "algorithm", .title = "Algorithm", .width = -24, .text = 1, .own = 1, .word = "how"},
    {.key = NULL}};
#define EXCHANGE_COLUMNS(...)                                                                                          \
    {                                                                                                                  \
        .ways = ways, .n_ways = EXCHANGE_WAYS, .fields = exchange_fields, .size = 1,                                   \
        .times = SHEET_MEDIAN | SHEET_MIN | SHEET_MAX | SHEET_ITERATIONS, .title = exchange_title,                     \
        .about = exchange_about, __VA_ARGS__                                                                           \
    }
static const struct bench_columns halo_columns = EXCHANGE_COLUMNS(.went = 22, .base = halo_base, .option = halo_option);
static const struct bench_columns pingpong_columns = EXCHANGE_COLUMNS(.went = 9);

static struct bench_sheet sheet = {.options = &options.bench};

static void exchange_begin(const struct bench *bench)
{
    sheet.name = bench->name;
    options.halo = strcmp(bench->name, BENCH_DOES_HALO) == 0;
    sheet.columns = options.halo ? &halo_columns : &pingpong_columns;
    options.radius = 3;
    options.quantities = 8;
    options.block = 8;
    options.ways = ~0u;
    options.bench.seconds = 0.5;
}

static void halo_check(void)
{
    struct bench_options *b = &options.bench;
    if (b->n_sizes == 0)
        b->sizes[b->n_sizes++] = 256;
    for (int i = 0; i < b->n_sizes; i++) {
        if (b->sizes[i] < (size_t)options.radius)
            tool_refuse("--edges: %zu cells are fewer than the rim has, %d", b->sizes[i], options.radius);
    }
}

static void exchange_tell(struct tool_words *words)
{
    bench_word_add(words, "radius", options.radius);
    bench_word_add(words, "quantities", options.quantities);
    bench_word_add(words, "block", (long long)options.block);
    bench_word_add(words, "stride", (long long)options.stride);
    bench_word_add(words, "ways", options.ways);
}

const struct bench bench_halo = {
    .name = BENCH_DOES_HALO,
    .text = "the exchange of rims with 26 neighbours, with types and packed by hand",
    .does = BENCH_DOES_HALO,
    .spec = {.without = "message-size", .own = halo_own, .take = exchange_take, .doc = halo_doc},
    .options = &options.bench,
    .sheet = &sheet,
    .begin = exchange_begin,
    .check = halo_check,
    .tell = exchange_tell,
};

const struct bench bench_pingpong = {
    .name = BENCH_DOES_PINGPONG,
    .text = "MPI_Send and MPI_Recv of blocks in device memory",
    .does = BENCH_DOES_PINGPONG,
    .spec = {.own = pingpong_own, .take = exchange_take, .doc = pingpong_doc},
    .options = &options.bench,
    .sheet = &sheet,
    .begin = exchange_begin,
    .check = pingpong_check,
    .tell = exchange_tell,
};

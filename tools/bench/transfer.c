/* tutti bench latency, bw ... neighbor_alltoallv: options, columns, and the rows of the benchmarks. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/words/transfer.h"
#include "tools/bench/sheet.h"

enum { KEY_WINDOW = BENCH_KEY_OWN, KEY_NONBLOCKING, KEY_TESTS, KEY_ORDER, KEY_WAYS, KEY_STEPS, KEY_FRESH, KEY_HOST };
enum { TRANSFER_MOST_WINDOW = 1024 };

static const struct transfer_kind {
    const char *name, *call;
    enum transfer_group group;
    enum transfer_figure figure;
} kinds[TRANSFERS] = {
#define TRANSFER(id, name, call, group, figure, text) {name, call, TRANSFER_##group, TRANSFER_##figure},
#include "bench/words/transfers.def"
#undef TRANSFER
};

static struct {
    struct bench_options bench;
    int id; /* enum transfer_id */
    int window, nonblocking, tests, steps, fresh;
    unsigned host; /* bit of each enum transfer_host */
} options;

static const char *const hosts[TRANSFER_HOSTS] = {
#define TRANSFER_HOST(id, name) name,
#include "bench/words/transfer_hosts.def"
#undef TRANSFER_HOST
};

static const char *const ways[TRANSFER_WAYS] = {
#define TRANSFER_WAY(id, name, text) name,
#include "bench/words/transfer_ways.def"
#undef TRANSFER_WAY
};

/* ---- options ---- */

#define WAYS_OPTION                                                                                                    \
    {                                                                                                                  \
        "ways", KEY_WAYS, "LIST", 0, "Other ways to measure, with commas: all (default), none, or of the list below",  \
            3                                                                                                          \
    }
#define STEPS_OPTION                                                                                                   \
    {                                                                                                                  \
        "steps", KEY_STEPS, NULL, 0,                                                                                   \
            "Below each row: the median time between the steps of a message in the library, in ns, of ranks 0 and 1",  \
            2                                                                                                          \
    }
#define FRESH_OPTION                                                                                                   \
    {                                                                                                                  \
        "fresh", KEY_FRESH, "N", 0,                                                                                    \
            "Above each row: the first N calls of new memory, each by itself, of tutti, hand and staged", 2            \
    }
#define ORDER_OPTION                                                                                                   \
    {                                                                                                                  \
        "order", KEY_ORDER, "ORDER", 0,                                                                                \
            "host (default): each call timed by itself. stream: MPIX_..._enqueue, back to back on a stream. graph: "   \
            "the same, captured in a CUDA graph that is replayed",                                                     \
            2                                                                                                          \
    }
static const struct argp_option messages_own[] = {
    {"message-size", 'm', "SIZES", 0, "Bytes of a message: [MIN:]MAX, doubling from MIN (1) to MAX (4m), or a list", 2},
    {"window", KEY_WINDOW, "N", 0, "Messages of a window (64)", 2},
    STEPS_OPTION,
    FRESH_OPTION,
    WAYS_OPTION,
    {.name = NULL},
};
static const struct argp_option latency_own[] = {
    {"message-size", 'm', "SIZES", 0, "Bytes of a message: [MIN:]MAX, doubling from MIN (1) to MAX (4m), or a list", 2},
    ORDER_OPTION,
    STEPS_OPTION,
    FRESH_OPTION,
    WAYS_OPTION,
    {.name = NULL},
};
static const struct argp_option movers_own[] = {
    {"message-size", 'm', "SIZES", 0,
     "Bytes that a rank sends to one other: [MIN:]MAX, doubling from MIN (1) to MAX (1m), or a list", 2},
    {"nonblocking", KEY_NONBLOCKING, NULL, 0,
     "The nonblocking call: its time, the same with a computation that takes as long, and the overlap", 2},
    {"tests", KEY_TESTS, "N", 0, "MPI_Test calls inside that computation (0)", 2},
    {"host-memory", KEY_HOST, "LIST", 0,
     "Buffers in host memory, with commas: send, recv (of all ranks), root (both of rank 0), others (both of all "
     "others); pinned: in pinned memory",
     2},
    ORDER_OPTION,
    WAYS_OPTION,
    {.name = NULL},
};

static unsigned transfer_read_ways(const char *text)
{
    if (strcmp(text, "none") == 0)
        return 0;
    if (strcmp(text, "all") == 0)
        return ~0u;
    return bench_some_of("--ways", text, ways + 1, TRANSFER_WAYS - 1) << 1;
}

static int transfer_take(int key, char *argument)
{
    static const char *const orders[BENCH_ORDERS] = {BENCH_ORDER_NAMES};
    switch (key) {
    case KEY_ORDER:
        options.bench.order = tool_one_of("--order", argument, orders, BENCH_ORDERS);
        break;
    case KEY_WINDOW:
        options.window = (int)tool_number("--window", argument, 1, TRANSFER_MOST_WINDOW);
        break;
    case KEY_NONBLOCKING:
        options.nonblocking = 1;
        break;
    case KEY_TESTS:
        options.tests = (int)tool_number("--tests", argument, 0, 1000000);
        break;
    case KEY_STEPS:
        options.steps = 1;
        break;
    case KEY_FRESH:
        options.fresh = (int)tool_number("--fresh", argument, 1, TRANSFER_FRESH_MOST);
        break;
    case KEY_HOST:
        options.host = bench_some_of("--host-memory", argument, hosts, TRANSFER_HOSTS);
        break;
    case KEY_WAYS:
        options.bench.ways = transfer_read_ways(argument);
        break;
    default:
        return 0;
    }
    return 1;
}

#define WAYS_DOC                                                                                                       \
    "Ways: hand copies to pinned host memory by hand, calls the MPI itself there and copies back; staged is the "      \
    "library "                                                                                                         \
    "under rules by which it stages; plain (host device) is the plain MPI on ordinary memory; native is the MPI's "    \
    "own way with device pointers, where it has one; nccl is NCCL, where it is installed and each rank has a GPU of "  \
    "its own"
#define CHECK_DOC                                                                                                      \
    "\n\nData is random. The last calls of every way, inside the timed loop, get new data, and what they have "        \
    "delivered is compared with what was sent; above 4 MiB at 64 places. The exit status is 1 if a result is "         \
    "wrong, 2 if an option or a setting is."

static const char messages_doc[] =
    "Measures messages between device memory of ranks, as the OSU benchmarks define it, and in the same run the other "
    "ways to move them.\v"
    "latency: half a round trip of MPI_Send and MPI_Recv, of many round trips in a row; with --order stream or graph "
    "of MPIX_Send_enqueue and MPIX_Recv_enqueue, beside ncclSend and ncclRecv in a graph. bw: rank 0 sends a window of "
    "messages by MPI_Isend, each from and into memory of its own, and rank 1 answers with one word. bibw: both send a "
    "window at once. mbw_mr: the ranks of the first half send windows to those of the second; all pairs together. "
    "Times are those of the sender that takes longest, medians in microseconds; GB/s are 10^9 bytes a second, of "
    "medians. "
    "The other ways show their median or GB/s, and behind it (x) how many times Tutti's time theirs is; best is the "
    "fastest of them.\n\n" WAYS_DOC " (windows as a group of sends and receives)." CHECK_DOC;
static const char movers_doc[] =
    "Measures a collective that moves data between device memory of ranks, and in the same run the other ways to do "
    "the same call.\v"
    "A call is timed by itself on every rank, after a barrier. Avg is over calls and ranks, Median over calls (of the "
    "average over ranks), Min and Max are the smallest and the largest average of a rank; all in microseconds, as the "
    "OSU benchmarks have them. The other ways show their median, and behind it (x) how many times Tutti's median that "
    "is; best is the fastest of them. With --nonblocking: Pure is the call and its wait; Overall the same with a "
    "computation between the two that takes as long as Pure; Compute that computation alone; Start the call before "
    "it; Wait MPI_Wait behind it; Overlap is "
    "100 - 100 * (Overall - Compute) / Pure, at least 0, in percent, of averages.\n\n" WAYS_DOC
    "; nccl_ce is NCCL by copy engines, where NCCL has them for the call (2.28). With --order stream or graph a round "
    "is many calls between two marks in the stream, and nccl_graph and nccl_sym are NCCL in a graph, the latter with "
    "buffers in registered symmetric memory." CHECK_DOC;

/* ---- columns ---- */

/* Messages of all ranks in one timed window. */
static double transfer_messages(void)
{
    const int pairs = options.id == TRANSFER_MBW_MR ? options.bench.ranks / 2 : options.id == TRANSFER_BIBW ? 2 : 1;
    return (double)options.window * pairs;
}

static double transfer_gb(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    return bench_sheet_gb(sheet, line, way, 0, transfer_messages());
}

static double transfer_rate(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    const double us = line->time[way][0].median;
    (void)sheet;
    return us > 0 ? transfer_messages() / us : 0;
}

static double transfer_average_of(const struct bench_line *line, int way, int part)
{
    return line->time[way][part].average;
}

#define TRANSFER_SHOWN(name, of, part)                                                                                 \
    static double transfer_##name(const struct bench_sheet *sheet, const struct bench_line *line, int way)             \
    {                                                                                                                  \
        (void)sheet;                                                                                                   \
        return transfer_##of(line, way, TRANSFER_##part);                                                              \
    }
TRANSFER_SHOWN(pure, average_of, PURE)
TRANSFER_SHOWN(overall, average_of, OVERALL)
TRANSFER_SHOWN(compute, average_of, COMPUTE)
TRANSFER_SHOWN(started, average_of, START)
TRANSFER_SHOWN(waited, average_of, WAIT)

static double transfer_overlap(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    const double pure = transfer_pure(sheet, line, way);
    const double left = transfer_overall(sheet, line, way) - transfer_compute(sheet, line, way);
    const double overlap = pure > 0 ? 100 - 100 * left / pure : 0;
    return overlap > 0 ? overlap : 0;
}

/* The same by medians, which a few long calls do not change; such calls show in the longest wait. */
static double transfer_median_of(const struct bench_line *line, int way, int part)
{
    return line->time[way][part].median;
}

TRANSFER_SHOWN(started_median, median_of, START)
TRANSFER_SHOWN(waited_median, median_of, WAIT)
TRANSFER_SHOWN(pure_median, median_of, PURE)

static double transfer_waited_most(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    (void)sheet;
    return line->time[way][TRANSFER_WAIT].most;
}

static double transfer_overlap_median(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    const double pure = transfer_pure_median(sheet, line, way);
    const double overlap = pure > 0 ? 100 - 100 * transfer_median_of(line, way, TRANSFER_LEFT) / pure : 0;
    return overlap > 0 ? overlap : 0;
}

static const struct bench_shown bytes_shown[] = {{"GB/s", "gb_per_s", transfer_gb, 1}, {.title = NULL}};
static const struct bench_shown rate_shown[] = {
    {"GB/s", "gb_per_s", transfer_gb, 0}, {"M/s", "messages_per_us", transfer_rate, 1}, {.title = NULL}};
static const struct bench_shown overlap_shown[] = {
    {"Overall", "overall_us", transfer_overall, 0},
    {"Compute", "compute_us", transfer_compute, 0},
    {"Start", "start_us", transfer_started, 0},
    {"Wait", "wait_us", transfer_waited, 0},
    {"Pure", "pure_us", transfer_pure, 0},
    {"Overlap %", "overlap_percent", transfer_overlap, 1},
    {"Start 50%", "start_median_us", transfer_started_median, 0},
    {"Wait 50%", "wait_median_us", transfer_waited_median, 0},
    {"Wait max", "wait_most_us", transfer_waited_most, 0},
    {"Pure 50%", "pure_median_us", transfer_pure_median, 0},
    {"Overlap 50%", "overlap_median_percent", transfer_overlap_median, 0},
    {.title = NULL}};

static char *transfer_title(void)
{
    const struct transfer_kind *kind = &kinds[options.id];
    if (options.id == TRANSFER_LATENCY && options.bench.order != BENCH_HOST)
        return tool_print("MPIX_Send_enqueue and MPIX_Recv_enqueue %s latency, half a round trip",
                          options.bench.order == BENCH_GRAPH ? "in a graph" : "back to back");
    if (kind->group == TRANSFER_MESSAGES)
        return kind->figure == TRANSFER_TIME
                   ? tool_print("latency of messages, half a round trip")
                   : tool_print("%s of messages, windows of %d", options.id == TRANSFER_MBW_MR ? "rate" : kind->name,
                                options.window);
    if (options.bench.order != BENCH_HOST)
        return tool_print("MPIX_%s_enqueue %s latency", kind->call,
                          options.bench.order == BENCH_GRAPH ? "in a graph" : "back to back");
    if (!options.nonblocking)
        return tool_print("MPI_%s latency", kind->call);
    char *call = tool_print("MPI_I%s overlap", kind->call);
    call[5] = (char)(call[5] - 'A' + 'a');
    return call;
}

static void transfer_about(const struct bench_sheet *sheet)
{
    for (int i = 0; i < TRANSFER_HOSTS; i++) {
        if (options.host >> i & 1)
            printf("# in host memory: %s\n", hosts[i]);
    }
    if (sheet->fact[0][0])
        printf("# NCCL %s\n", sheet->fact[0]);
    if (sheet->fact[1][0])
        printf("# hand: %s host memory\n", sheet->fact[1]);
    if (options.nonblocking)
        printf("# computation as long as Pure, MPI_Test calls in it: %d; of the other ways: overlap in %%, and x of "
               "their pure medians\n",
               options.tests);
}

static const char *transfer_option(int i, double *value)
{
    static const char *const keys[] = {"window", "nonblocking", "tests", "host_memory"};
    const double values[] = {options.window, options.nonblocking, options.tests, options.host};
    if (i >= 4)
        return NULL;
    *value = values[i];
    return keys[i];
}

static const struct bench_field fields[] = {
    {.key = "bytes", .title = "# Size", .width = -10},
    {.key = "iterations", .title = NULL},
    {.key = "algorithm", .title = "Algorithm", .width = -24, .text = 1, .own = 1, .word = "how"},
    {.key = NULL}};
static const char *const facts[] = {"nccl", "staging", NULL};

#define COLUMNS(times_, shown_)                                                                                        \
    {                                                                                                                  \
        .ways = ways, .n_ways = TRANSFER_WAYS, .fields = fields, .times = times_, .shown = shown_, .facts = facts,     \
        .best = 1, .title = transfer_title, .about = transfer_about, .option = transfer_option,                        \
    }
enum {
    TRANSFER_ALL_TIMES = SHEET_AVERAGE | SHEET_MEDIAN | SHEET_MIN | SHEET_MAX | SHEET_ITERATIONS,
    TRANSFER_SOME_TIMES = SHEET_MEDIAN | SHEET_ITERATIONS
};
static const struct bench_columns columns_of[] = {[TRANSFER_TIME] = COLUMNS(TRANSFER_ALL_TIMES, NULL),
                                                  [TRANSFER_BYTES] = COLUMNS(TRANSFER_SOME_TIMES, bytes_shown),
                                                  [TRANSFER_RATE] = COLUMNS(TRANSFER_SOME_TIMES, rate_shown)};
static const struct bench_columns overlap_columns = COLUMNS(SHEET_ITERATIONS, overlap_shown);

static struct bench_sheet sheet = {.options = &options.bench};

/* ---- the benchmarks ---- */

static void transfer_begin(const struct bench *bench)
{
    options.id = 0;
    while (strcmp(kinds[options.id].name, bench->name) != 0)
        options.id++;
    options.window = 64;
    options.bench.seconds = 0.5;
    sheet.name = bench->name;
}

static void transfer_fill_sizes(struct bench_options *b)
{
    const size_t usual = (size_t)(kinds[options.id].group == TRANSFER_MESSAGES ? 4 : 1) << 20;
    const size_t most = b->n_sizes > 0 ? b->sizes[0] : usual;
    b->n_sizes = 0;
    for (size_t bytes = 1; bytes <= most && b->n_sizes < BENCH_SIZES; bytes *= 2)
        b->sizes[b->n_sizes++] = bytes;
}

static void transfer_check(void)
{
    struct bench_options *b = &options.bench;
    const struct transfer_kind *kind = &kinds[options.id];
    const int pair = kind->group == TRANSFER_MESSAGES && options.id != TRANSFER_MBW_MR;
    if (pair && b->ranks != 2)
        tool_refuse("-n %d: tutti bench %s has two ranks; mbw_mr has pairs", b->ranks, kind->name);
    if (options.id == TRANSFER_MBW_MR && b->ranks % 2 != 0)
        tool_refuse("-n %d: tutti bench mbw_mr has pairs of ranks", b->ranks);
    if (b->order != BENCH_HOST && strncmp(kind->name, "neighbor_", strlen("neighbor_")) == 0)
        tool_refuse("--order: MPI_%s has no form in stream order", kind->call);
    if (b->order != BENCH_HOST && options.nonblocking)
        tool_refuse("--nonblocking: calls in stream order do not wait: leave out --order");
    if (b->order != BENCH_HOST && options.host)
        tool_refuse("--host-memory: calls in stream order take device memory: leave out --order");
    if (options.tests && !options.nonblocking)
        tool_refuse("--tests: a blocking call is not tested: --nonblocking is missing");
    if (options.steps && b->order != BENCH_HOST)
        tool_refuse("--steps are those of calls of the host: leave out --order");
    if (!options.fresh)
        setenv("TUTTI_MAPPING_PRICE_US", "1", 0); /* not the first messages, which are staged */
    if (options.fresh && b->order != BENCH_HOST)
        tool_refuse("--fresh times calls of the host: leave out --order");
    if (!b->sizes_given)
        transfer_fill_sizes(b);
    for (int i = 0; i < b->n_sizes; i++) {
        const size_t blocks = kind->group == TRANSFER_MOVERS ? (size_t)b->ranks : 1;
        if (b->sizes[i] > (size_t)INT_MAX / blocks)
            tool_refuse("-m: %zu bytes for each of %zu ranks are more than a displacement of int takes", b->sizes[i],
                        blocks);
    }
    sheet.columns = options.nonblocking ? &overlap_columns : &columns_of[kind->figure];
}

static void transfer_tell(struct tool_words *words)
{
    bench_word_add(words, "transfer", options.id);
    bench_word_add(words, "order", options.bench.order);
    bench_word_add(words, "ways", options.bench.ways);
    bench_word_add(words, "window", options.window);
    bench_word_add(words, "nonblocking", options.nonblocking);
    bench_word_add(words, "tests", options.tests);
    bench_word_add(words, "steps", options.steps);
    bench_word_add(words, "fresh", options.fresh);
    bench_word_add(words, "host_memory", (long long)options.host);
}

#define OWN_MESSAGES_TIME  latency_own
#define OWN_MESSAGES_BYTES messages_own
#define OWN_MESSAGES_RATE  messages_own
#define OWN_MOVERS_TIME    movers_own
#define DOC_MESSAGES       messages_doc
#define DOC_MOVERS         movers_doc
const struct bench bench_transfers[TRANSFERS] = {
#define TRANSFER(id, name_, call, group, figure, text_)                                                                \
    [TRANSFER_##id] = {                                                                                                \
        .name = name_,                                                                                                 \
        .text = text_,                                                                                                 \
        .does = BENCH_DOES_TRANSFER,                                                                                   \
        .spec = {.own = OWN_##group##_##figure, .take = transfer_take, .doc = DOC_##group},                            \
        .options = &options.bench,                                                                                     \
        .sheet = &sheet,                                                                                               \
        .begin = transfer_begin,                                                                                       \
        .check = transfer_check,                                                                                       \
        .tell = transfer_tell,                                                                                         \
    },
#include "bench/words/transfers.def"
#undef TRANSFER
};

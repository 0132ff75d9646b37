/* tutti bench file_write, file_read, put, get, accumulate: options, columns, and the rows of the benchmarks. */
#include <limits.h>
#include <string.h>

#include "bench/words/access.h"
#include "tools/bench/sheet.h"

enum { KEY_COLLECTIVE = BENCH_KEY_OWN, KEY_FOLDER, KEY_SYNC, KEY_WINDOW, KEY_HOST_WINDOW, KEY_WAYS };
enum { ACCESS_MOST_WINDOW = 1024 };

static const struct access_kind {
    const char *name, *call;
    enum access_group group;
} kinds[ACCESSES] = {
#define ACCESS(id, name, call, group, text) {name, call, ACCESS_##group},
#include "bench/words/accesses.def"
#undef ACCESS
};

static struct {
    struct bench_options bench;
    int id; /* enum access_id */
    int collective, sync, window, exposed_host;
    const char *folder;
} options;

static const char *const ways[ACCESS_WAYS] = {
#define ACCESS_WAY(id, name, text) name,
#include "bench/words/access_ways.def"
#undef ACCESS_WAY
};
static const char *const syncs[ACCESS_SYNCS] = {ACCESS_SYNC_NAMES};

/* ---- options ---- */

#define WAYS_OPTION                                                                                                    \
    {                                                                                                                  \
        "ways", KEY_WAYS, "LIST", 0, "Other ways to measure, with commas: all (default), none, hand, host", 3          \
    }
static const struct argp_option files_own[] = {
    {"message-size", 'm', "SIZES", 0, "Bytes that a rank writes or reads: [MIN:]MAX, doubling, or a list (64k:64m)", 2},
    {"collective", KEY_COLLECTIVE, NULL, 0, "The collective call, MPI_File_write_at_all or MPI_File_read_at_all", 2},
    {"folder", KEY_FOLDER, "FOLDER", 0, "Where the file lies, as all ranks see it (/tmp)", 2},
    WAYS_OPTION,
    {.name = NULL},
};
static const struct argp_option windows_own[] = {
    {"message-size", 'm', "SIZES", 0, "Bytes of an operation: [MIN:]MAX, doubling from MIN (4) to MAX (4m), or a list",
     2},
    {"sync", KEY_SYNC, "SYNC", 0,
     "What ends operations: fence, lock (MPI_Win_lock and MPI_Win_unlock), flush (default), pscw (post, start, "
     "complete, "
     "wait)",
     2},
    {"window", KEY_WINDOW, "N", 0, "Operations that end together, for the bandwidth (64)", 2},
    {"host-window", KEY_HOST_WINDOW, NULL, 0,
     "Tutti's window lies in host memory too: the origin alone has device memory", 2},
    WAYS_OPTION,
    {.name = NULL},
};

static int access_take(int key, char *argument)
{
    switch (key) {
    case KEY_COLLECTIVE:
        options.collective = 1;
        break;
    case KEY_FOLDER:
        options.folder = argument;
        break;
    case KEY_SYNC:
        options.sync = tool_one_of("--sync", argument, syncs, ACCESS_SYNCS);
        break;
    case KEY_WINDOW:
        options.window = (int)tool_number("--window", argument, 1, ACCESS_MOST_WINDOW);
        break;
    case KEY_HOST_WINDOW:
        options.exposed_host = 1;
        break;
    case KEY_WAYS:
        options.bench.ways = strcmp(argument, "none") == 0 ? 0
                             : strcmp(argument, "all") == 0
                                 ? ~0u
                                 : bench_some_of("--ways", argument, ways + 1, ACCESS_WAYS - 1) << 1;
        break;
    default:
        return 0;
    }
    return 1;
}

#define CHECK_DOC                                                                                                      \
    "\n\nData is made from a seed. The last two calls of every way get new data, and all bytes of their results are "  \
    "compared. The exit status is 1 if a result is wrong, 2 if an option or a setting is."

static const char files_doc[] =
    "Measures accesses of one file from device memory, and in the same run the other ways to make them.\v"
    "Each rank writes or reads its own part of the file, the parts one behind the other. A time is that of one call, "
    "after "
    "a barrier, of the rank that takes longest; GB/s are 10^9 bytes of all ranks a second, of medians. The file is not "
    "synced: what the system keeps of files in memory counts.\n\nWays: hand copies all to pinned host memory, calls "
    "the "
    "MPI there, or copies back; host is the MPI from pinned host memory without a copy, the most that can be "
    "reached." CHECK_DOC;
static const char windows_doc[] =
    "Measures one operation on a window and what ends it, and windows of operations that end together, as the OSU "
    "benchmarks do; and in the same run the other ways.\v"
    "Rank 0 is the origin, rank 1 the target; times are rank 0's, medians in microseconds. GB/s are 10^9 bytes a "
    "second of "
    "--window operations, each with a place of its own up to 64 MiB; the other ways show them in place of the "
    "median, and x is their latency in units of Tutti's.\n\nWays: hand has its window in pinned host memory, copies "
    "from "
    "device to pinned memory before or back behind, at the origin alone; host is the MPI on pinned host memory on both "
    "sides." CHECK_DOC;

/* ---- columns ---- */

static double access_file_gb(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    return bench_sheet_gb(sheet, line, way, ACCESS_ONE, options.bench.ranks);
}

static double access_window_gb(const struct bench_sheet *sheet, const struct bench_line *line, int way)
{
    return bench_sheet_gb(sheet, line, way, ACCESS_MANY, (double)options.window);
}

static char *access_title(void)
{
    const struct access_kind *kind = &kinds[options.id];
    if (kind->group == ACCESS_FILES)
        return tool_print("MPI_%s%s bandwidth", kind->call, options.collective ? "_all" : "");
    return tool_print("MPI_%s latency and bandwidth, %s", kind->call, syncs[options.sync]);
}

static const char *access_option(int i, double *value)
{
    static const char *const keys[] = {"collective", "window", "host_window"};
    const double values[] = {options.collective, options.window, options.exposed_host};
    if (i >= 3)
        return NULL;
    *value = values[i];
    return keys[i];
}

static const struct bench_shown file_shown[] = {{"GB/s", "gb_per_s", access_file_gb, 1}, {.title = NULL}};
static const struct bench_shown window_shown[] = {{"GB/s", "gb_per_s", access_window_gb, 1}, {.title = NULL}};
static const struct bench_field fields[] = {{.key = "bytes", .title = "# Size", .width = -10}, {.key = NULL}};
static const char *const parts[] = {"window_us", NULL};

#define COLUMNS(shown_, parts_)                                                                                        \
    {                                                                                                                  \
        .ways = ways, .n_ways = ACCESS_WAYS, .fields = fields, .times = SHEET_MEDIAN | SHEET_MIN | SHEET_ITERATIONS,   \
        .shown = shown_, .parts = parts_, .best = 1, .title = access_title, .option = access_option,                   \
    }
static const struct bench_columns columns_of[] = {
    [ACCESS_FILES] = COLUMNS(file_shown, NULL), [ACCESS_WINDOWS] = COLUMNS(window_shown, parts)};

static struct bench_sheet sheet = {.options = &options.bench};

/* ---- the benchmarks ---- */

static void access_begin(const struct bench *bench)
{
    options.id = 0;
    while (strcmp(kinds[options.id].name, bench->name) != 0)
        options.id++;
    options.sync = ACCESS_FLUSH;
    options.window = 64;
    options.folder = "/tmp";
    options.bench.seconds = 0.5;
    sheet.name = bench->name;
}

static void access_fill_sizes(struct bench_options *b, int files)
{
    const size_t least = files ? 64 << 10 : 4, usual = (size_t)(files ? 64 : 4) << 20;
    const size_t most = b->n_sizes > 0 ? b->sizes[0] : usual;
    b->n_sizes = 0;
    for (size_t bytes = least; bytes <= most && b->n_sizes < BENCH_SIZES; bytes *= 2)
        b->sizes[b->n_sizes++] = bytes;
}

static void access_check(void)
{
    struct bench_options *b = &options.bench;
    const int files = kinds[options.id].group == ACCESS_FILES;
    if (!files && b->ranks != 2)
        tool_refuse("-n %d: tutti bench %s has two ranks", b->ranks, kinds[options.id].name);
    if (strchr(options.folder, ' '))
        tool_refuse("--folder %s: a name with a space is not possible", options.folder);
    if (!b->sizes_given)
        access_fill_sizes(b, files);
    for (int i = 0; i < b->n_sizes; i++) {
        if (b->sizes[i] == 0 || b->sizes[i] > INT_MAX)
            tool_refuse("-m: %zu bytes: from 1 to %d are possible", b->sizes[i], INT_MAX);
        if (options.id == ACCESS_ACCUMULATE && b->sizes[i] % sizeof(int) != 0)
            tool_refuse("-m: %zu bytes are not a whole number of ints, which are summed", b->sizes[i]);
    }
    sheet.columns = &columns_of[kinds[options.id].group];
}

static void access_tell(struct tool_words *words)
{
    bench_word_add(words, "access", options.id);
    bench_word_add(words, "ways", options.bench.ways);
    bench_word_add(words, "collective", options.collective);
    bench_word_add(words, "sync", options.sync);
    bench_word_add(words, "window", options.window);
    bench_word_add(words, "exposed_host", options.exposed_host);
    tool_words_take(words, tool_print("folder=%s", options.folder));
}

#define OWN_FILES   files_own
#define OWN_WINDOWS windows_own
#define DOC_FILES   files_doc
#define DOC_WINDOWS windows_doc
const struct bench bench_accesses[ACCESSES] = {
#define ACCESS(id, name_, call, group, text_)                                                                          \
    [ACCESS_##id] = {                                                                                                  \
        .name = name_,                                                                                                 \
        .text = text_,                                                                                                 \
        .does = BENCH_DOES_ACCESS,                                                                                     \
        .spec = {.own = OWN_##group, .take = access_take, .doc = DOC_##group},                                         \
        .options = &options.bench,                                                                                     \
        .sheet = &sheet,                                                                                               \
        .begin = access_begin,                                                                                         \
        .check = access_check,                                                                                         \
        .tell = access_tell,                                                                                           \
    },
#include "bench/words/accesses.def"
#undef ACCESS
};

/* tutti bench never-slower: options and columns. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bench/words/hand.h"
#include "tools/bench/sheet.h"

enum { KEY_CALLS = BENCH_KEY_OWN, KEY_TOLERANCE, KEY_LIMIT };

static struct {
    struct bench_options bench;
    unsigned long long calls; /* mask of enum hand_call_id */
    double tolerance;         /* percent by which a call may take longer than by hand */
    int fails;                /* 1: exit status 1 if a call takes longer */
} options;

static const struct argp_option hand_own[] = {
    {"message-size", 'm', "SIZES", 0,
     "Bytes of a message, of a block for each rank, of a contribution: MIN:MAX, doubling, or a list "
     "(8,256,1k,8k,64k,1m)",
     2},
    {"calls", KEY_CALLS, "LIST", 0,
     "Calls to measure, with commas: all (default), groups (messages, reductions, movers, neighbours, nonblocking, "
     "windows), or names such as Send or Bcast",
     2},
    {"tolerance", KEY_TOLERANCE, "PERCENT", 0,
     "A call is behind where it takes longer than by hand by more than this (5)", 4},
    {"limit", KEY_LIMIT, "PERCENT", 0, "The same, and the exit status is 1 if a call is behind", 4},
    {.name = NULL},
};

static const struct {
    const char *name;
    enum hand_group group;
} calls[HAND_CALLS] = {
#define HAND_CALL(id, group, name) {name, HAND_##group},
#include "bench/words/hand_calls.def"
#undef HAND_CALL
};
static const char *const groups[HAND_GROUPS] = {HAND_GROUP_NAMES};

/* The mask of one word: a group, or a call with or without its MPI_. */
static unsigned long long calls_of(const char *word)
{
    const char *names[HAND_GROUPS + HAND_CALLS];
    unsigned long long mask = 0;
    for (int g = 0; g < HAND_GROUPS; g++)
        names[g] = groups[g];
    for (int c = 0; c < HAND_CALLS; c++)
        names[HAND_GROUPS + c] = calls[c].name;
    const char *bare = strncmp(word, "MPI_", 4) == 0 ? word + 4 : word;
    const int found = tool_one_of("--calls", bare, names, HAND_GROUPS + HAND_CALLS);
    for (int c = 0; c < HAND_CALLS; c++) {
        if (found == HAND_GROUPS + c || found == (int)calls[c].group)
            mask |= 1ull << c;
    }
    return mask;
}

static unsigned long long read_calls(const char *text)
{
    unsigned long long mask = 0;
    if (strcmp(text, "all") == 0)
        return (1ull << HAND_CALLS) - 1;
    char *copy = tool_print("%s", text), *rest = copy, *word;
    while ((word = strsep(&rest, ",")) != NULL)
        mask |= calls_of(word);
    free(copy);
    return mask;
}

static double read_percent(const char *option, const char *text)
{
    char *end;
    const double percent = strtod(text, &end);
    if (end == text || *end != '\0' || !(percent >= 0 && percent <= 1e9))
        tool_refuse("%s %s is not valid: a percentage from 0 on is", option, text);
    return percent;
}

static int hand_take(int key, char *argument)
{
    switch (key) {
    case KEY_CALLS:
        options.calls = read_calls(argument);
        break;
    case KEY_TOLERANCE:
        options.tolerance = read_percent("--tolerance", argument);
        break;
    case KEY_LIMIT:
        options.tolerance = read_percent("--limit", argument);
        options.fails = 1;
        break;
    default:
        return 0;
    }
    return 1;
}

static const char hand_doc[] =
    "Measures every call on device memory beside the same by hand: a copy to pinned host memory, the call of the "
    "MPI "
    "itself, a copy back. No call should take longer than that.\v"
    "A time is that of one call after a barrier, of the rank that takes longest; medians over calls in "
    "microseconds. MPI_Send is half a round trip, MPI_Isend a window of 16 messages and an answer, MPI_Send_init "
    "one "
    "start of a pair of persistent requests; of nonblocking calls the wait is part. x is the time by hand in units "
    "of "
    "Tutti's: below 1, by hand is faster, and the row says behind where that is more than the tolerance. Behind x "
    "is how the call went, or why it was staged. The last lines name the rows that are behind.\n\n"
    "Data is random. The last call of each way has new data, and what it has written is compared with what the MPI "
    "makes of the same data in ordinary memory. The exit status is 1 if a result is wrong or, with --limit, a "
    "call is "
    "behind, 2 if an option or a setting is not valid.";

/* ---- columns ---- */

static const char *const ways[HAND_WAYS] = {HAND_WAY_NAMES};

static int hand_is_behind(const struct bench_sheet *sheet, const struct bench_line *line)
{
    const struct bench_time *own = line->time[HAND_WAY_TUTTI], *hand = line->time[HAND_WAY_BY_HAND];
    (void)sheet;
    return own->known && hand->known && own->median > hand->median * (1 + options.tolerance / 100);
}

static char *hand_title(void)
{
    return tool_print("never-slower, every call beside the same by hand");
}

static void hand_about(const struct bench_sheet *sheet)
{
    printf("# by_hand: a copy to %s host memory, the MPI's own call, a copy back\n",
           sheet->fact[0][0] ? sheet->fact[0] : "ordinary");
}

static struct bench_sheet sheet;

static int hand_behind(void)
{
    int behind = 0;
    for (int i = 0; i < sheet.lines; i++)
        behind += hand_is_behind(&sheet, &sheet.line[i]);
    return behind;
}

static const char *hand_option(int i, double *value)
{
    *value = i ? hand_behind() : options.tolerance;
    return i == 0 ? "tolerance_percent" : i == 1 ? "behind" : NULL;
}

static const struct bench_field hand_fields[] = {{.key = "call", .title = "# Call", .width = -28, .text = 1},
                                                 {.key = "bytes", .title = "Bytes", .width = 10},
                                                 {.key = "how", .title = "how", .text = 1, .own = 2, .word = "how"},
                                                 {.key = NULL}};
static const char *const hand_facts[] = {"staging", NULL};
static const struct bench_columns hand_columns = {
    .ways = ways,
    .n_ways = HAND_WAYS,
    .fields = hand_fields,
    .size = 1,
    .times = SHEET_MEDIAN | SHEET_MIN | SHEET_MAX | SHEET_ITERATIONS,
    .facts = hand_facts,
    .marks = 1,
    .behind = hand_is_behind,
    .title = hand_title,
    .about = hand_about,
    .option = hand_option,
};
static struct bench_sheet sheet = {.columns = &hand_columns, .options = &options.bench, .name = BENCH_DOES_HAND};

/* Below the last row: lists the rows that are behind. Returns their number. */
static int hand_print_end(void)
{
    const int behind = hand_behind();
    if (behind == 0) {
        printf("# never slower: none of %d rows is behind copying by hand by more than %g %%\n", sheet.lines,
               options.tolerance);
        return 0;
    }
    printf("# never slower: %d of %d rows %s behind copying by hand by more than %g %%:\n", behind, sheet.lines,
           behind == 1 ? "is" : "are", options.tolerance);
    for (int i = 0; i < sheet.lines; i++) {
        const struct bench_line *line = &sheet.line[i];
        if (hand_is_behind(&sheet, line))
            printf("#   %s, %lld bytes: x %.2f, %s\n", line->text[0], line->number[1],
                   bench_sheet_ratio(&sheet, line, HAND_WAY_BY_HAND), line->text[2]);
    }
    return behind;
}

/* ---- the benchmark ---- */

static void hand_begin(const struct bench *bench)
{
    (void)bench;
    options.calls = read_calls("all");
    options.tolerance = 5;
    options.bench.seconds = 0.2;
}

static void hand_check(void)
{
    static const size_t usual[] = {8, 256, 1 << 10, 8 << 10, 64 << 10, 1 << 20};
    struct bench_options *b = &options.bench;
    for (size_t i = 0; b->n_sizes == 0 || (!b->sizes_given && i < sizeof usual / sizeof usual[0] && i > 0); i++)
        b->sizes[b->n_sizes++] = usual[i];
    for (int i = 0; i < b->n_sizes; i++) {
        if (b->sizes[i] > (size_t)INT_MAX / (size_t)(b->ranks > 16 ? b->ranks : 16))
            tool_refuse(
                "-m: %zu bytes for each of %d ranks, or 16 messages of them, are more than a count of int takes",
                b->sizes[i], b->ranks);
    }
}

static void hand_tell(struct tool_words *words)
{
    bench_word_add(words, "calls", (long long)options.calls);
}

/* Lists the rows that are behind; with --limit the command fails then. */
static int hand_close(void *unused, int status)
{
    (void)unused;
    const int behind = status == 0 && sheet.report.ended ? hand_print_end() : 0;
    return options.fails && behind > 0;
}

const struct bench bench_hand = {
    .name = BENCH_DOES_HAND,
    .text = "every call on device memory, beside copying by hand",
    .does = BENCH_DOES_HAND,
    .spec = {.without = "plot", .own = hand_own, .take = hand_take, .doc = hand_doc},
    .options = &options.bench,
    .sheet = &sheet,
    .begin = hand_begin,
    .check = hand_check,
    .tell = hand_tell,
    .close = hand_close,
};

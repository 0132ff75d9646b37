/* tutti tune: measures which algorithm is the fastest for which sizes here, and writes rules. */
#include "tools/tune/tune.h"

#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "device/device.h"
#include "tools/common/commands.h"

const char *const tune_sections[TUNE_SECTIONS] = {TUNE_SECTION_NAMES};
const char *const tune_verdicts[TUNE_VERDICTS] = {TUNE_VERDICT_NAMES};

enum {
    KEY_ORDER = BENCH_KEY_OWN,
    KEY_TIME,
    KEY_ROUNDS,
    KEY_OUTPUT,
    KEY_DRY_RUN,
    KEY_LARGEST,
    KEY_COLLECTIVE,
    KEY_FOLDER
};

static struct tune_options options;

static const struct argp_option tune_own[] = {
    {"ranks", 'n', "RANKS", 0, "Number of ranks: as many as your jobs have on a machine (one a GPU, at least 2)", 1},
    {"timeout", BENCH_KEY_TIMEOUT, "SECONDS", 0, "End it where the ranks print nothing for this long (120)", 1},
    {"collective", KEY_COLLECTIVE, "LIST", 0,
     "allreduce, reduce, reduce_scatter, scan, bcast, gather, scatter, allgather, alltoall, message (how messages go "
     "to ranks of the node), message_far (to other "
     "nodes), file_write, file_read (how files are accessed), partitioned, partitioned_meet (how partitions that "
     "kernels mark are moved and combined), shmem (from which size on puts and gets of kernels go to "
     "copy engines; shmem_put_128 and so on by the "
     "threads of a group), with commas, or all. Default: all but those of files; rules of others stay in the file",
     2},
    {"order", KEY_ORDER, "ORDER", 0,
     "host (default): blocking calls. stream, graph: MPIX_..._enqueue, on a stream or in a CUDA graph; makes rules for "
     "calls in stream order alone",
     2},
    {"largest", KEY_LARGEST, "SIZE", 0,
     "Largest contribution of a rank, or message (64m); less if memory does not suffice", 2},
    {"folder", KEY_FOLDER, "FOLDER", 0, "Where the file lies, as all ranks see it (/tmp)", 2},
    {"time", KEY_TIME, "SECONDS", 0, "About how long it may take (100)", 2},
    {"rounds", KEY_ROUNDS, "N", 0, "Measure every size N times, from 1 to 31, however long that takes", 2},
    {"output", KEY_OUTPUT, "FILE", 0, "File of rules (TUTTI_RULES_FILE, or .config/tutti/rules in the home folder)", 3},
    {"dry-run", KEY_DRY_RUN, NULL, 0, "Print the rules and write no file", 3},
    {"json", BENCH_KEY_JSON, "FILE", 0, "Write all that was measured as JSON", 3},
    {.name = NULL},
};

/* "shmem": all of its sections. */
static unsigned read_sections(const char *text)
{
    const unsigned all = (1u << TUNE_SECTIONS) - 1;
    const char *names[TUNE_SECTIONS + 1];
    memcpy(names, tune_sections, sizeof tune_sections);
    names[TUNE_SECTIONS] = "shmem";
    const unsigned some = bench_some_of("--collective", text, names, TUNE_SECTIONS + 1);
    return (some >> TUNE_SECTIONS ? some | all >> TUNE_SHMEM << TUNE_SHMEM : some) & all;
}

static int tune_take(int key, char *argument)
{
    static const char *const orders[BENCH_ORDERS] = {BENCH_ORDER_NAMES};
    struct tune_options *o = &options;
    char *end;
    switch (key) {
    case 'n':
        o->start.ranks = (int)tool_number("-n", argument, 2, 65536);
        break;
    case KEY_COLLECTIVE:
        o->sections = read_sections(argument);
        break;
    case KEY_ORDER:
        o->start.order = tool_one_of("--order", argument, orders, BENCH_ORDERS);
        break;
    case KEY_LARGEST:
        if (!tool_size(argument, &o->most) || o->most < 64 || o->most > (size_t)4 << 30)
            tool_refuse("--largest %s is not valid: a size from 64 to 4g is", argument);
        break;
    case KEY_FOLDER:
        o->folder = argument;
        break;
    case KEY_TIME:
        o->seconds = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(o->seconds > 0 && o->seconds <= 86400))
            tool_refuse("--time %s is not valid: seconds, above 0, at most 86400, are", argument);
        break;
    case KEY_ROUNDS:
        o->rounds = (int)tool_number("--rounds", argument, 1, TUNE_ROUNDS);
        break;
    case KEY_OUTPUT:
        o->output = argument;
        break;
    case KEY_DRY_RUN:
        o->dry_run = 1;
        break;
    default:
        return 0;
    }
    return 1;
}

static const struct bench_spec tune_spec = {
    .without = "message-size iterations warmup seconds seed no-validation plot",
    .own = tune_own,
    .take = tune_take,
    .doc =
        "Measures every algorithm of reductions and data movers that can run here, from 8 bytes on, and every way of "
        "messages, and "
        "writes rules that choose the fastest; then measures these beside the defaults, and leaves the default where a "
        "rule loses.\v"
        "The library reads the rules at a program's start: after TUTTI_RULES, before its defaults, on the device "
        "that they were measured on. Tune with the machine otherwise idle. Ctrl-C ends the measurement early and keeps "
        "what it has; a second one ends it without writing. The exit status is 1 if something failed or an "
        "algorithm gave a wrong result, 2 if an option, a setting or a file is not valid.",
};

static void tune_options_read(int argc, char **argv)
{
    struct tune_options *out = &options;
    *out =
        (struct tune_options){.sections = ((1u << TUNE_SECTIONS) - 1) & ~(1u << TUNE_FILE_WRITE | 1u << TUNE_FILE_READ),
                              .seconds = 100,
                              .most = (size_t)64 << 20,
                              .folder = "/tmp"};
    out->start.timeout = 120;
    out->start.interrupt = tune_interrupt;
    bench_options_read(&tune_spec, &out->start, argc, argv);
    out->most -= out->most % 8;
    if (strchr(out->folder, ' '))
        tool_refuse("--folder %s: a name with a space is not possible", out->folder);
    tool_check_settings();
    bench_check_device(&out->start);
    if (out->start.order != BENCH_HOST && out->sections >> TUNE_REDUCTIONS << TUNE_REDUCTIONS == out->sections)
        tool_refuse("--collective: data movers, messages, files, partitions and transfers of kernels have no rules in "
                    "stream order; leave "
                    "--order out");
    if (out->start.order != BENCH_HOST)
        out->sections &= (1u << TUNE_REDUCTIONS) - 1;
    if (out->start.ranks == 0) {
        const struct tutti_device *device = tutti_device();
        int gpus = !device->simulates && device->gpu.count ? device->gpu.count() : 0;
        out->start.ranks = gpus < 2 ? 2 : gpus;
    }
}

/* One communicator for each algorithm is open, and each has a channel. */
static void make_room(void)
{
    enum { COMMUNICATORS = 24 };
    const struct tutti_settings *settings = tutti_settings();
    long each = settings->channel_mb ? settings->channel_mb : (long)tutti_device()->channel_mb;
    if (settings->window_mb >= 2 * COMMUNICATORS * each) /* the second half is given out in small parts */
        return;
    char *room = tool_print("%d", (int)(2 * COMMUNICATORS * each));
    setenv("TUTTI_WINDOW_MB", room, 1);
    free(room);
}

/* Writes files and texts, after the ranks have ended without an error. */
static int tune_keep(const struct tune_run *run)
{
    char *entry = tune_file_entry(run);
    int failed = tune_json_write(run);
    if (run->options->dry_run) {
        printf("# %s would hold:\n%s", run->path, entry);
    } else {
        failed |= tune_file_write(run, entry);
        if (!failed)
            printf("# written to %s\n", run->path);
    }
    free(entry);
    return failed;
}

int tool_tune(int argc, char **argv)
{
    static struct bench_place place;
    static struct tune_run run = {.options = &options, .place = &place};
    const struct tune_options *o = &options;
    tune_options_read(argc, argv);
    tune_json_check(o);
    bench_place_find(&o->start, &place);
    tune_file_check(&run);
    make_room();
    setenv("TUTTI_MAPPING_PRICE_US", "1", 0); /* not the first calls, which are staged */
    setenv("TUTTI_SHMEM_HEAP_MB", "48", 0);   /* two buffers: bench/tune/shmem.c */
    if (o->sections & (1u << TUNE_PARTITIONED | 1u << TUNE_PARTITIONED_MEET) && tutti_device()->simulates)
        setenv("TUTTI_HOST_STRICT", "0", 1); /* the kernels are functions of the program */
    if (tutti_settings()->rules[0])
        fputs("tutti: TUTTI_RULES is set: its rules come before those of the file\n", stderr);

    struct tool_words words = {.word = NULL};
    tool_words_add(&words, BENCH_DOES_TUNE);
    tool_words_take(&words, tool_print("sections=%u", o->sections));
    tool_words_take(&words, tool_print("most=%zu", o->most));
    tool_words_take(&words, tool_print("order=%d", o->start.order));
    tool_words_take(&words, tool_print("folder=%s", o->folder));
    tool_words_take(&words, tool_print("seconds=%g", o->rounds ? 0 : o->seconds));
    tool_words_take(&words, tool_print("rounds=%d", o->rounds));
    int status = bench_start(&o->start, &place, words.word, 1, tune_record, &run);
    tool_words_free(&words);
    if (status != 0 || !run.ended) {
        fputs("tutti: the ranks ended before they were done: no rules were written\n", stderr);
        return status != 0 ? status : 1;
    }
    tune_table(&run);
    if (run.rows == 0) {
        fprintf(stderr, "tutti: %s: no rules were written\n",
                run.note[0] ? run.note : "there was no time to measure anything");
        return 1;
    }
    int failed = tune_keep(&run);
    return failed || !run.right;
}

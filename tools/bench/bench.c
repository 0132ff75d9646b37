/* tutti bench: the table of benchmarks. A benchmark starts the ranks, which measure, and shows the records that they
 * print. */
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "bench/words/access.h"
#include "bench/words/transfer.h"
#include "tools/bench/sheet.h"
#include "tools/common/commands.h"

static const struct bench *const benches[] = {
    &bench_allreduce, &bench_reduce,      &bench_reduce_scatter, &bench_reduce_scatter_block,
    &bench_scan,      &bench_exscan,
#define TRANSFER(id, name, call, group, figure, text) &bench_transfers[TRANSFER_##id],
#include "bench/words/transfers.def"
#undef TRANSFER
#define ACCESS(id, name, call, group, text) &bench_accesses[ACCESS_##id],
#include "bench/words/accesses.def"
#undef ACCESS
    &bench_pack,      &bench_halo,        &bench_pingpong,       &bench_shmem,
    &bench_hand,      &bench_partitioned, &bench_overhead,       &bench_host,
};
enum { BENCHES = sizeof benches / sizeof benches[0] };

/* The functions that read the records of the ranks and write files: from a description of columns, or the
 * benchmark's own. */
struct bench_ends {
    void *table;
    struct bench_report *report;
    void (*record)(void *table, char *text);
    int (*json)(const void *table);
    int (*plot)(const void *table);
};

static struct bench_ends bench_ends_of(const struct bench *bench)
{
    if (!bench->sheet || (bench->by_table && bench->by_table()))
        return (struct bench_ends){bench->table, bench->report, bench->record, bench->json, bench->plot};
    return (struct bench_ends){bench->sheet, &bench->sheet->report, bench_sheet_record, BENCH_JSON(bench_sheet_json),
                               bench->sheet->columns->plot ? bench->sheet->columns->plot : bench_sheet_plot};
}

int bench_run(const struct bench *bench, int argc, char **argv)
{
    static struct bench_place place;
    struct bench_options *options = bench->options;
    *options = bench_options_usual();
    bench->begin(bench);
    bench_options_read(&bench->spec, options, argc, argv);
    if (bench->check)
        bench->check();
    tool_check_settings();
    if (bench->run) {
        bench_files_check(options);
        bench_place_find(options, &place);
        return bench->run(&place);
    }
    bench_check_device(options);
    if (bench->prepare)
        bench->prepare();
    bench_files_check(options);
    bench_place_find(options, &place);
    const struct bench_ends ends = bench_ends_of(bench);
    ends.report->place = &place;

    struct tool_words words = {.word = NULL};
    bench_words_begin(&words, bench->does, options);
    bench->tell(&words);
    const int status = bench_start(options, &place, words.word, 1, ends.record, ends.table);
    tool_words_free(&words);

    int failed = bench->close ? bench->close(ends.table, status) : 0;
    if (options->json && ends.json)
        failed |= ends.json(ends.table);
    if (options->plot && ends.plot)
        failed |= ends.plot(ends.table);
    return bench_report_status(ends.report, status, failed);
}

static void bench_usage(FILE *to)
{
    fputs("Usage: tutti bench BENCHMARK [OPTION...]\n\n", to);
    for (int i = 0; i < BENCHES; i++)
        fprintf(to, "  %-21s %s\n", benches[i]->name, benches[i]->text);
    fputs("\ntutti bench BENCHMARK --help lists the options.\n\nExamples:\n"
          "  tutti bench allreduce -n 4 -m 8:64m --json results.json --plot results.png\n"
          "  tutti bench reduce -n 4 -m 8,2k,512k,8m --order graph\n"
          "  tutti bench allreduce -n 4 -m 16m --ops all --types all\n"
          "  tutti bench allreduce -n 4 --phases\n"
          "  tutti bench pack --layout blocks --block 8 --stride 16 -m 1m:256m\n"
          "  tutti bench shmem -n 4 --figures allreduce --plot allreduce.png\n"
          "  tutti bench never-slower -n 4 -m 8,1k,1m\n"
          "  tutti bench partitioned -n 2 --figures message -m 8,1k,1m --partitions 1,16\n"
          "  tutti bench overhead -n 2\n",
          to);
}

static const struct bench *bench_find(const char *name)
{
    const char *names[BENCHES];
    for (int i = 0; i < BENCHES; i++) {
        if (strcmp(benches[i]->name, name) == 0)
            return benches[i];
        names[i] = benches[i]->name;
    }
    const char *near = tool_nearest(name, names, BENCHES);
    if (near)
        tool_refuse("there is no benchmark %s: did you mean %s?", name, near);
    tool_refuse("there is no benchmark %s: there are %s", name, tool_join(names, BENCHES));
}

int tool_bench(int argc, char **argv)
{
    if (argc < 2) {
        bench_usage(stderr);
        return TOOL_WRONG_USE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        bench_usage(stdout);
        return 0;
    }
    const struct bench *bench = bench_find(argv[1]);
    char *name = tool_print("tutti bench %s", bench->name);
    argv[1] = name;
    const int status = bench_run(bench, argc - 1, argv + 1);
    argv[1] = NULL;
    free(name);
    return status;
}

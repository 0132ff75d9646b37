/* tutti bench: starts the ranks of a benchmark itself and shows what they measure. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "bench_overhead.h"
#include "commands.h"

static char *pair(const char *name, unsigned long long value)
{
    return tool_print("%s=%llu", name, value);
}

static int bench_allreduce(int argc, char **argv)
{
    struct bench_options o;
    static struct bench_place place;
    static struct bench_table table;
    bench_allreduce_options(argc, argv, &o);
    bench_files_check(&o);
    bench_place_find(&o, &place);
    table.options = &o;
    table.place = &place;

    struct tool_words words = {.word = NULL};
    tool_words_add(&words, "allreduce");
    tool_words_take(&words, pair("least", o.least));
    tool_words_take(&words, pair("most", o.most));
    tool_words_take(&words, pair("iterations", (unsigned long long)o.iterations));
    tool_words_take(&words, tool_print("warm_up=%ld", o.warm_up));
    tool_words_take(&words, pair("type", (unsigned long long)o.type));
    tool_words_take(&words, pair("op", (unsigned long long)o.op));
    tool_words_take(&words, pair("in_place", (unsigned long long)o.in_place));
    tool_words_take(&words, pair("check", (unsigned long long)o.check));
    tool_words_take(&words, pair("seed", o.seed));
    int status = bench_start(&o, &place, words.word, 1, bench_table_record, &table);
    tool_words_free(&words);

    int failed = bench_json_write(&table) | bench_plot_write(&table);
    if (status == 0 && !table.ended) {
        fputs("tutti: the ranks ended before they were done\n", stderr);
        return 1;
    }
    if (status != 0)
        return status;
    return failed || !table.right;
}

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *text;
} benches[] = {
    {"allreduce", bench_allreduce, "MPI_Allreduce on device memory, beside the other ways to do it"},
    {"overhead", bench_overhead, "what the library costs a program that uses host memory alone"},
};
enum { BENCHES = sizeof benches / sizeof benches[0] };

static void usage(FILE *to)
{
    fputs("Usage: tutti bench BENCHMARK [OPTION...]\n\n", to);
    for (int i = 0; i < BENCHES; i++)
        fprintf(to, "  %-10s %s\n", benches[i].name, benches[i].text);
    fputs("\ntutti bench BENCHMARK --help lists the options.\n\nExamples:\n"
          "  tutti bench allreduce -n 4 -m 8:64m --json results.json --plot results.png\n"
          "  tutti bench overhead -n 2\n",
          to);
}

int tool_bench(int argc, char **argv)
{
    if (argc < 2) {
        usage(stderr);
        return TOOL_WRONG_USE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-?") == 0) {
        usage(stdout);
        return 0;
    }
    const char *names[BENCHES];
    for (int i = 0; i < BENCHES; i++) {
        names[i] = benches[i].name;
        if (strcmp(argv[1], names[i]) != 0)
            continue;
        char *name = tool_print("tutti bench %s", names[i]);
        argv[1] = name;
        int status = benches[i].run(argc - 1, argv + 1);
        argv[1] = NULL;
        free(name);
        return status;
    }
    const char *near = tool_nearest(argv[1], names, BENCHES);
    if (near)
        tool_refuse("there is no benchmark %s: did you mean %s?", argv[1], near);
    tool_refuse("there is no benchmark %s: there are allreduce and overhead", argv[1]);
}

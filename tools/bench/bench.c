/* tutti bench: starts the ranks of a benchmark itself and shows what they measure. */
#include "tools/bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "team/control.h"
#include "tools/bench/exchange.h"
#include "tools/bench/hand.h"
#include "tools/bench/overhead.h"
#include "tools/bench/pack.h"
#include "tools/bench/shmem.h"
#include "tools/common/commands.h"

const struct bench_kind bench_kinds[BENCH_KINDS] = {
    {"allreduce", "Allreduce", "allreduce", TUTTI_COLLECTIVE_ALLREDUCE,
     "MPI_Allreduce on device memory, beside the other ways to do it"},
    {"reduce", "Reduce", "reduce", TUTTI_COLLECTIVE_REDUCE, "the same for MPI_Reduce"},
    {"reduce_scatter", "Reduce_scatter", "reduce_scatter", TUTTI_COLLECTIVE_REDUCE_SCATTER,
     "... MPI_Reduce_scatter, with equal segments"},
    {"reduce_scatter_block", "Reduce_scatter_block", "reduce_scatter", TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK,
     "... MPI_Reduce_scatter_block"},
    {"scan", "Scan", "scan", TUTTI_COLLECTIVE_SCAN, "... MPI_Scan"},
    {"exscan", "Exscan", "scan", TUTTI_COLLECTIVE_EXSCAN, "... MPI_Exscan"},
};

static int bench_collective(const struct bench_kind *kind, int argc, char **argv)
{
    struct bench_options o;
    static struct bench_place place;
    static struct bench_table table;
    bench_collective_options(kind, argc, argv, &o);
    bench_files_check(&o);
    bench_place_find(&o, &place);
    table.options = &o;
    table.report.place = &place;
    table.type = o.type;
    table.op = o.op;

    struct tool_words words = {.word = NULL};
    bench_words_begin(&words, BENCH_DOES_COLLECTIVE, &o);
    bench_word_add(&words, "collective", kind->collective);
    bench_word_add(&words, "order", o.order);
    bench_word_add(&words, "root", o.root);
    bench_word_add(&words, "type", o.type);
    bench_word_add(&words, "op", o.op);
    bench_word_add(&words, "types", o.types);
    bench_word_add(&words, "ops", o.ops);
    bench_word_add(&words, "pairs", o.pairs);
    bench_word_add(&words, "ways", o.ways);
    bench_word_add(&words, "in_place", o.in_place);
    bench_word_add(&words, "phases", o.phases);
    tool_words_take(&words, tool_print("algorithm=%s", o.algorithm ? o.algorithm : ""));
    int status = bench_start(&o, &place, words.word, 1, bench_table_record, &table);
    tool_words_free(&words);

    int failed = bench_json_write(&table) | bench_plot_write(&table);
    return bench_report_status(&table.report, status, failed);
}

static void usage(FILE *to)
{
    fputs("Usage: tutti bench BENCHMARK [OPTION...]\n\n", to);
    for (int i = 0; i < BENCH_KINDS; i++)
        fprintf(to, "  %-21s %s\n", bench_kinds[i].name, bench_kinds[i].text);
    fprintf(to, "  %-21s %s\n", BENCH_DOES_PACK,
            "MPI_Pack and MPI_Unpack of layouts on device memory, beside other ways");
    fprintf(to, "  %-21s %s\n", BENCH_DOES_HALO,
            "the exchange of rims with 26 neighbours, with types and packed by hand");
    fprintf(to, "  %-21s %s\n", BENCH_DOES_PINGPONG, "MPI_Send and MPI_Recv of blocks in device memory");
    fprintf(to, "  %-21s %s\n", BENCH_DOES_SHMEM,
            "the global address space inside kernels: the figures of two papers, beside NVSHMEM");
    fprintf(to, "  %-21s %s\n", BENCH_DOES_HAND, "every call on device memory, beside copying by hand");
    fprintf(to, "  %-21s %s\n", BENCH_DOES_OVERHEAD, "what the library costs a program that uses host memory alone");
    fputs("\ntutti bench BENCHMARK --help lists the options.\n\nExamples:\n"
          "  tutti bench allreduce -n 4 -m 8:64m --json results.json --plot results.png\n"
          "  tutti bench reduce -n 4 -m 8,2k,512k,8m --order graph\n"
          "  tutti bench allreduce -n 4 -m 16m --ops all --types all\n"
          "  tutti bench allreduce -n 4 --phases\n"
          "  tutti bench pack --layout blocks --block 8 --stride 16 -m 1m:256m\n"
          "  tutti bench shmem -n 4 --figures allreduce --plot allreduce.png\n"
          "  tutti bench never-slower -n 4 -m 8,1k,1m\n"
          "  tutti bench overhead -n 2\n",
          to);
}

enum { BENCH_OTHERS = 6 }; /* benchmarks that are no reductions */

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
    const char *names[BENCH_KINDS + BENCH_OTHERS], *word = argv[1];
    int kind = -1;
    for (int i = 0; i < BENCH_KINDS; i++) {
        names[i] = bench_kinds[i].name;
        if (strcmp(word, names[i]) == 0)
            kind = i;
    }
    names[BENCH_KINDS] = BENCH_DOES_OVERHEAD;
    names[BENCH_KINDS + 1] = BENCH_DOES_PACK;
    names[BENCH_KINDS + 2] = BENCH_DOES_HALO;
    names[BENCH_KINDS + 3] = BENCH_DOES_PINGPONG;
    names[BENCH_KINDS + 4] = BENCH_DOES_SHMEM;
    names[BENCH_KINDS + 5] = BENCH_DOES_HAND;
    int halo = strcmp(word, BENCH_DOES_HALO) == 0, exchange = halo || strcmp(word, BENCH_DOES_PINGPONG) == 0;
    int overhead = strcmp(word, BENCH_DOES_OVERHEAD) == 0, packing = strcmp(word, BENCH_DOES_PACK) == 0;
    int shmem = strcmp(word, BENCH_DOES_SHMEM) == 0, hand = strcmp(word, BENCH_DOES_HAND) == 0;
    if (kind < 0 && !overhead && !packing && !exchange && !shmem && !hand) {
        const char *near = tool_nearest(word, names, BENCH_KINDS + BENCH_OTHERS);
        if (near)
            tool_refuse("there is no benchmark %s: did you mean %s?", word, near);
        tool_refuse("there is no benchmark %s: there are %s", word, tool_join(names, BENCH_KINDS + BENCH_OTHERS));
    }
    char *name = tool_print("tutti bench %s", word);
    argv[1] = name;
    int status = overhead   ? bench_overhead(argc - 1, argv + 1)
                 : packing  ? bench_pack(argc - 1, argv + 1)
                 : shmem    ? bench_shmem(argc - 1, argv + 1)
                 : hand     ? bench_hand(argc - 1, argv + 1)
                 : exchange ? bench_exchange(halo, argc - 1, argv + 1)
                            : bench_collective(&bench_kinds[kind], argc - 1, argv + 1);
    argv[1] = NULL;
    free(name);
    return status;
}

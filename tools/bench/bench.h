/* tutti bench: shared by its parts. The ranks are programs of their own (bench/ in the sources): they measure, and
 * print records line by line. The command shows and writes the results. */
#ifndef TUTTI_TOOLS_BENCH_H
#define TUTTI_TOOLS_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/words/plan.h"
#include "bench/words/way.h"
#include "tools/bench/report.h"
#include "tools/start/start.h"

/* A collective that is measured. */
struct bench_kind {
    const char *name, *call; /* "reduce", "Reduce" */
    const char *rules;       /* as rules name it */
    int collective;          /* enum tutti_collective */
};

struct bench_options {
    const struct bench_kind *kind;
    const char *mpi, *arguments, *algorithm, *json, *plot;
    int ranks;
    size_t sizes[BENCH_SIZES]; /* bytes */
    int n_sizes, sizes_given;
    long iterations, warm_up; /* 0 and -1: by size */
    double seconds;           /* most of one way at one size; 0: no limit */
    int type, op, in_place, check;
    unsigned types, ops; /* pairs: masks */
    int pairs;           /* 1: all pairs of types and ops; overhead: pairs of runs */
    int order, root, phases;
    unsigned ways;     /* mask of those that are wanted */
    int trials;        /* energy: counted windows of each way; 0: times are measured */
    double window;     /* energy: seconds of a window */
    long updates;      /* energy: least of the counters in a window */
    unsigned variants; /* energy: mask of enum energy_way */
    double limit;      /* overhead: percent; negative: none */
    int timeout;       /* seconds without a line from the ranks */
    uint64_t seed;
    /* Called on Ctrl-C, as part of a signal handler, in place of the end of the ranks; a second Ctrl-C ends them.
     * NULL: the first one does. */
    void (*interrupt)(void);
};

/* Options on a command line: those that all benchmarks share, and a benchmark's own. */
struct bench_spec {
    const char *without;                  /* shared options that the benchmark lacks: "plot warmup"; NULL: it has all */
    const struct argp_option *own;        /* NULL: none. One with the key of a shared option takes its place */
    int (*take)(int key, char *argument); /* an own option: 1: accepted, 0: unknown. NULL: there are no own options */
    const char *doc;
    char *(*explain)(int key, const char *text, void *input); /* filter of --help, or NULL */
};
/* Keys of the shared options; own ones begin at BENCH_KEY_OWN. */
enum {
    BENCH_KEY_MPI = 256,
    BENCH_KEY_DEVICE,
    BENCH_KEY_NODE_RANKS,
    BENCH_KEY_ARGUMENTS,
    BENCH_KEY_JSON,
    BENCH_KEY_PLOT,
    BENCH_KEY_NO_CHECK,
    BENCH_KEY_SEED,
    BENCH_KEY_TIMEOUT,
    BENCH_KEY_SECONDS,
    BENCH_KEY_OWN
};
/* What every benchmark begins with. */
struct bench_options bench_options_usual(void);
/* Reads the command line into *options; refuses invalid options in the name of argv[0], "tutti bench pack". */
void bench_options_read(const struct bench_spec *spec, struct bench_options *options, int argc, char **argv);

/* A benchmark: its options, the arguments of its ranks, the columns of its table, its files. Functions may be NULL;
 * each works on the benchmark's own options and table. */
struct bench_place;
struct bench_sheet;
struct bench {
    const char *name, *text; /* on the command line, and in the list of benchmarks */
    const char *does;        /* of the ranks: BENCH_DOES_... */
    const struct bench_kind *kind;
    struct bench_spec spec;
    struct bench_options *options;
    /* Its table, by a description of columns. NULL, or a run for which by_table() returns 1: `table`, `report`,
     * `record`, `json` and `plot` are its own. */
    struct bench_sheet *sheet;
    int (*by_table)(void);
    void *table; /* its own kind, and in it the report */
    struct bench_report *report;
    void (*begin)(const struct bench *bench);    /* sets its defaults, if they differ from the usual ones */
    void (*check)(void);                         /* refuses contradictions; fills in open options */
    void (*prepare)(void);                       /* before the ranks start: kernels, environment */
    void (*tell)(struct tool_words *words);      /* arguments of the ranks, behind the shared ones */
    void (*record)(void *table, char *text);     /* handles a record of the ranks */
    int (*close)(void *table, int status);       /* prints the lines below the table; 1: the command fails */
    int (*json)(const void *table);              /* 0, or 1: not written (reported) */
    int (*plot)(const void *table);              /* likewise */
    int (*run)(const struct bench_place *place); /* in place of all functions from `prepare` on: the exit status */
};
/* A function that writes JSON, in a build that can. */
#ifdef TUTTI_JANSSON
#define BENCH_JSON(write) write
#else
#define BENCH_JSON(write) NULL
#endif
extern const struct bench bench_allreduce, bench_reduce, bench_reduce_scatter, bench_reduce_scatter_block, bench_scan,
    bench_exscan, bench_pack, bench_halo, bench_pingpong, bench_shmem, bench_hand, bench_partitioned, bench_overhead,
    bench_host, bench_transfers[], bench_accesses[]; /* in the order of bench/words/transfers.def, accesses.def */

/* Runs it: reads the options, starts the ranks, shows and writes what they measure. argv[0]: the benchmark's name with
 * its command. The exit status. */
int bench_run(const struct bench *bench, int argc, char **argv);

/* Parsers of options. `option` is the name in an error. */
void bench_sizes_read(const char *text, struct bench_options *out);
/* "sum,max" or "all" as a mask. */
unsigned bench_some_of(const char *option, const char *words, const char *const names[], int n);
/* Arguments of the ranks: the benchmark, what all of them take, and one more. */
void bench_words_begin(struct tool_words *words, const char *benchmark, const struct bench_options *options);
void bench_word_add(struct tool_words *words, const char *name, long long value);
void bench_check_call(struct bench_options *options);
void bench_check_device(const struct bench_options *options);

/* The MPI of the bench and its program of ranks. */
struct bench_place {
    struct tool_mpis mpis;
    const struct tool_mpi *mpi;
    struct tool_program program;
};
void bench_place_find(const struct bench_options *options, struct bench_place *out);

/* Starts the ranks with `arguments` and passes each record to `record` ("row 8 2 1000 oneshot"), other lines to
 * standard output. Returns the launcher's exit status, or 1 if it printed nothing for options->timeout seconds and
 * was ended. */
int bench_start(const struct bench_options *options, const struct bench_place *place, char **arguments, int preload,
                void (*record)(void *with, char *text), void *with);

/* Refuses, before anything starts, a file that cannot be written, and JSON in a build without it. */
void bench_files_check(const struct bench_options *options);
/* 0, or 1 after an error message. */
int bench_json_overhead(const struct bench_options *options, const struct bench_place *place, const double *without,
                        const double *with, int pairs, double ratio);
/* Refuses the name of a picture whose ending gnuplot cannot write. NULL is allowed. */
void bench_plot_check(const char *plot);
/* For gnuplot, in its double quotes; an underscore would lower what follows. */
void bench_plot_text(FILE *to, const char *text, int underscores);
/* The picture's size in pixels, its file, its title from these words; what follows are the data. */
void bench_plot_head(FILE *to, const struct bench_options *options, const char *what, const char *members,
                     const char *device, int wide, int high);
/* Plots `table` to the file by gnuplot; without gnuplot the data go to PLOT.dat. 0, or 1 after an error message. */
int bench_gnuplot(const char *plot, void (*script)(FILE *to, const void *table),
                  void (*data)(FILE *to, const void *table), const void *table);

#endif

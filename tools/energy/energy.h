/* tutti energy: joules of a command, and of calls in many ways. */
#ifndef TUTTI_TOOLS_ENERGY_H
#define TUTTI_TOOLS_ENERGY_H

#include "bench/words/energy.h"
#include "tools/bench/bench.h"
#include "tutti/energy.h"

/* ---- joules of calls (calls.c, table.c, files.c) ---- */

enum { ENERGY_LINES = 64, ENERGY_SHOWN_SOURCES = 64 };

/* A value, and half the width of its 95 % confidence interval. */
struct energy_value {
    double mean, half;
};

/* A way at one size; all figures are of a call. */
struct energy_cell {
    int known, trials;
    struct energy_value us, joules[ENERGY_PARTS], net[ENERGY_PARTS];
    double calls, seconds;
    long updates;
};

struct energy_line {
    size_t bytes;
    char algorithm[96];
    struct energy_cell cell[ENERGY_WAYS];
};

struct energy_table {
    struct bench_report report;
    const struct bench_options *options;
    const char *name, *call; /* "allreduce", "MPI_Allreduce" */
    double per_byte;         /* messages: bytes of a call in units of the size */
    char members[64], nccl[96], staging[32];
    double bare[ENERGY_PARTS]; /* watts */
    double meter, whole;       /* processor seconds of the reading thread, and how long it has run */
    struct energy_line line[ENERGY_LINES];
    int lines;
    char source[ENERGY_SHOWN_SOURCES][512]; /* records of the last row */
    int sources;
};

extern const char *const energy_way_names[ENERGY_WAYS];
extern const char *const energy_part_names[ENERGY_PARTS];

/* Names of benchmarks, NULL at the end; `text`: what each does. */
const char *energy_call_name(int i, const char **text);
/* argv[0] is "tutti energy NAME". The exit status. */
int energy_calls_run(int i, int argc, char **argv);

/* As of struct bench. */
void energy_table_record(void *with, char *text);
int energy_table_close(void *with, int status);
int energy_table_json(const void *with);
int energy_table_plot(const void *with);
/* GPUs, packages and DRAM that are known, added; NAN if all are unknown. By the counter of the GPUs. */
double energy_cell_joules(const struct energy_cell *cell, int net);
/* Splits a record of a source: name, id, model, module, four numbers, reason. */
enum { ENERGY_SOURCE_FIELDS = 9 };
void energy_source_split(char *record, char *field[ENERGY_SOURCE_FIELDS]);

/* ---- joules of a command (command.c, ranks.c, trace.c) ---- */

enum { ENERGY_RANKS = 1024 };

/* Processes of the command that a launcher has given a rank. */
struct energy_ranks;
struct energy_rank {
    int rank, pid;
    double begin, end, cpu; /* seconds since the command's start; processor seconds */
    uint64_t sources;       /* mask of the sources (GPUs) that list a process of the rank */
};
/* Starts a thread that looks for them below this process, in /proc, and on the GPUs of the meter. */
struct energy_ranks *energy_ranks_open(struct tutti_energy *meter);
/* Ends the thread. The number of ranks, in their order, at most ENERGY_RANKS. */
int energy_ranks_close(struct energy_ranks *ranks, struct energy_rank out[ENERGY_RANKS]);

struct energy_run {
    char *const *command;
    const char *json, *csv, *plot;
    double idle; /* seconds before the start; 0: idle is not measured */
    struct tutti_energy *meter;
    int sources;
    struct tutti_energy_source source[ENERGY_SHOWN_SOURCES];
    struct tutti_energy_figure figure[ENERGY_SHOWN_SOURCES], before[ENERGY_SHOWN_SOURCES]; /* before: idle */
    double seconds, cpu, begun, own; /* cpu: of all processes of the command; begun: on the clock of the samples */
    int status;
    struct energy_rank rank[ENERGY_RANKS];
    int ranks;
};
/* Files of a run: 0, or 1 after an error message. */
int energy_trace_csv(const struct energy_run *run);
int energy_trace_json(const struct energy_run *run);
int energy_trace_plot(const struct energy_run *run);
int energy_command_run(int argc, char **argv);
/* The options of a command, for --help. */
void energy_command_help(FILE *to);

#endif

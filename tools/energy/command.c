/* tutti energy -- PROGRAM: joules and watts while a program runs. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/clock.h"
#include "core/launched.h"
#include "tools/energy/energy.h"
#include "tools/start/launch.h"
#include "tutti/tutti.h"

enum { KEY_IDLE = 256, KEY_CSV, KEY_JSON, KEY_PLOT, KEY_INTERVAL };

static struct energy_run run;
static int interval_ms;

static const struct argp_option options[] = {
    {"idle", KEY_IDLE, "SECONDS", 0, "Read the idle machine for so long first, and show joules less idle too", 0},
    {"interval", KEY_INTERVAL, "MS", 0, "Milliseconds between two samples (TUTTI_ENERGY_INTERVAL_MS)", 0},
    {"csv", KEY_CSV, "FILE", 0, "Write the power over time as CSV", 0},
    {"json", KEY_JSON, "FILE", 0, "Write the figures and the power over time as JSON", 0},
    {"plot", KEY_PLOT, "FILE.png", 0, "Plot the power over time (with gnuplot)", 0},
    {.name = NULL},
};

static error_t command_parse(int key, char *argument, struct argp_state *state)
{
    char *end;
    switch (key) {
    case KEY_IDLE:
        run.idle = strtod(argument, &end);
        if (end == argument || *end != '\0' || !(run.idle > 0 && run.idle <= 3600))
            tool_refuse("--idle %s is not valid: seconds above 0, at most 3600, are", argument);
        break;
    case KEY_INTERVAL:
        interval_ms = (int)tool_number("--interval", argument, 1, 60000);
        break;
    case KEY_CSV:
        run.csv = argument;
        break;
    case KEY_JSON:
        run.json = argument;
        break;
    case KEY_PLOT:
        run.plot = argument;
        break;
    case ARGP_KEY_ARG:
        run.command = &state->argv[state->next - 1];
        state->next = state->argc; /* everything from the program on is the program's */
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {.options = options, .parser = command_parse, .args_doc = "PROGRAM [ARGUMENT...]"};

void energy_command_help(FILE *to)
{
    char name[] = "tutti energy";
    argp_help(&argp, to, ARGP_HELP_LONG, name);
}

/* ---- what is shown ---- */

static void show_number(FILE *to, const char *format, double value)
{
    char text[32];
    snprintf(text, sizeof text, format, value);
    fprintf(to, " %11s", isnan(value) ? "-" : text);
}

static void show_source(FILE *to, int s)
{
    const struct tutti_energy_figure *f = &run.figure[s], *idle = &run.before[s];
    fprintf(to, "tutti: %-12s", run.source[s].name);
    if (isnan(f->joules) && isnan(f->integral)) {
        fprintf(to, " unavailable: %s\n", f->reason);
        return;
    }
    const double joules = isnan(f->joules) ? f->integral : f->joules;
    show_number(to, "%.3f", f->joules);
    show_number(to, "%.2f", joules / f->seconds);
    show_number(to, "%.3f", f->integral);
    show_number(to, "%.2f", f->difference);
    if (run.idle > 0)
        show_number(to, "%.3f",
                    joules - (isnan(f->joules) ? idle->integral : idle->joules) / idle->seconds * f->seconds);
    fprintf(to, " %8ld  %s%s%s\n", f->updates, run.source[s].model,
            f->scope == TUTTI_ENERGY_MODULE ? " (the counter counts the module)" : "", f->reason);
}

/* Sum of the sources of a kind; NAN if one of them is unavailable or the kind has no source. */
static double kind_joules(int kind)
{
    double sum = 0;
    int n = 0;
    for (int s = 0; s < run.sources; s++) {
        if (run.source[s].kind != kind)
            continue;
        sum += isnan(run.figure[s].joules) ? run.figure[s].integral : run.figure[s].joules;
        n++;
    }
    return n ? sum : NAN;
}

static void show_sums(FILE *to)
{
    static const char *const names[TUTTI_ENERGY_KINDS] = {"GPUs", "packages", "DRAM"};
    double all = NAN;
    for (int kind = 0; kind < TUTTI_ENERGY_KINDS; kind++) {
        const double joules = kind_joules(kind);
        if (isnan(joules))
            continue;
        all = isnan(all) ? joules : all + joules;
        fprintf(to, "tutti: sum of %-9s %.3f J, %.2f W\n", names[kind], joules, joules / run.seconds);
    }
    if (!isnan(all))
        fprintf(to, "tutti: all that is known %.3f J, %.2f W\n", all, all / run.seconds);
}

/* The rank's processor seconds, and the joules of its GPUs: of the whole GPU, also where ranks share it. */
static void show_rank(FILE *to, const struct energy_rank *rank)
{
    fprintf(to, "tutti: rank %d: %.1f s, %.2f processor seconds (process %d)", rank->rank, rank->end - rank->begin,
            rank->cpu, rank->pid);
    for (int s = 0; s < run.sources; s++) {
        int users = 0;
        if (!(rank->sources >> s & 1))
            continue;
        for (int r = 0; r < run.ranks; r++)
            users += run.rank[r].sources >> s & 1;
        const struct tutti_energy_figure *f = &run.figure[s];
        fprintf(to, ", %s: %.3f J", run.source[s].name, isnan(f->joules) ? f->integral : f->joules);
        if (users > 1)
            fprintf(to, " (%d ranks)", users);
    }
    fputc('\n', to);
}

static void show_run(FILE *to)
{
    fprintf(to, "tutti: %.3f s, %.3f processor seconds (%.2f cores busy), reading %.3f %% of a core\n", run.seconds,
            run.cpu, run.cpu / run.seconds, 100 * run.own / run.seconds);
    if (tutti_launched_local_rank() > 0)
        return; /* the first rank of the node shows its sources */
    fprintf(to, "tutti: %-12s %11s %11s %11s %11s", "source", "J", "W", "integral J", "differs %");
    fprintf(to, run.idle > 0 ? " %11s %8s\n" : "%s %8s\n", run.idle > 0 ? "less idle J" : "", "updates");
    for (int s = 0; s < run.sources; s++)
        show_source(to, s);
    show_sums(to);
    for (int r = 0; r < run.ranks; r++)
        show_rank(to, &run.rank[r]);
}

/* ---- the run ---- */

static double children_cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e-6;
}

static void meter_open(void)
{
    const struct tutti_energy_options o = {.interval_ms = interval_ms, .trace = run.csv || run.json || run.plot};
    const int status = tutti_energy_open(&o, &run.meter);
    if (status < 0)
        tool_refuse("the energy counters cannot be read: %s", tutti_status_text(status));
    run.sources = tutti_energy_sources(run.meter);
    run.sources = run.sources < ENERGY_SHOWN_SOURCES ? run.sources : ENERGY_SHOWN_SOURCES;
    for (int s = 0; s < run.sources; s++)
        tutti_energy_source(run.meter, s, &run.source[s]);
}

static void measure_idle(void)
{
    const int window = tutti_energy_begin(run.meter);
    nanosleep(&(const struct timespec){(time_t)run.idle, (long)((run.idle - floor(run.idle)) * 1e9)}, NULL);
    tutti_energy_end(run.meter, window, run.before, ENERGY_SHOWN_SOURCES);
}

static void measure_command(const char *path)
{
    int status = 0;
    char *name = run.command[0];
    struct tool_words words = {.word = NULL};
    tool_words_add(&words, path);
    for (int i = 1; run.command[i]; i++)
        tool_words_add(&words, run.command[i]);
    struct energy_ranks *ranks = energy_ranks_open(run.meter);
    double opened = 0;
    const long samples = tutti_energy_samples(run.meter);
    const int window = tutti_energy_begin(run.meter);
    if (samples > 0)
        tutti_energy_sample(run.meter, samples, &opened, NULL, NULL, 0);
    run.begun = opened;
    const uint64_t start = tutti_now_ns();
    const pid_t child = tool_launch(words.word, NULL, NULL);
    if (child < 0)
        tool_refuse("%s: %s", name, strerror(errno));
    tool_launch_wait(child, -1, &status);
    tutti_energy_end(run.meter, window, run.figure, ENERGY_SHOWN_SOURCES);
    run.seconds = (double)(tutti_now_ns() - start) * 1e-9;
    run.cpu = children_cpu();
    run.own = tutti_energy_own_seconds(run.meter);
    run.status = tool_launch_end(status);
    run.ranks = energy_ranks_close(ranks, run.rank);
    tool_words_free(&words);
}

int energy_command_run(int argc, char **argv)
{
    static char path[PATH_MAX];
    argp_err_exit_status = tool_refusal = TOOL_RUN_FAILED;
    tool_check_options(options, argc, argv, 1);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &run);
    tool_check_settings();
    if (!run.command)
        tool_refuse("energy: no program was named: tutti energy -- ./program");
    const struct bench_options files = {.json = run.json, .plot = run.plot};
    FILE *csv = run.csv ? fopen(run.csv, "a") : NULL;
    if (run.csv && (!csv || fclose(csv) != 0))
        tool_refuse("--csv %s cannot be written: %s", run.csv, strerror(errno));
    bench_files_check(&files);
    if (!tool_program_find(run.command[0], path))
        tool_refuse_program(TOOL_RUN_NOT_FOUND, "%s: there is no such program", run.command[0]);
    meter_open();
    if (run.idle > 0)
        measure_idle();
    measure_command(path);
    show_run(stderr);
    int failed = 0;
    if (run.csv)
        failed |= energy_trace_csv(&run);
    if (run.json)
        failed |= energy_trace_json(&run);
    if (run.plot)
        failed |= energy_trace_plot(&run);
    tutti_energy_close(run.meter);
    return run.status ? run.status : failed;
}

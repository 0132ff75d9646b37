/* The power over time of a command: CSV, JSON, plot. */
#include <math.h>
#include <stdlib.h>

#include "tools/bench/json.h"
#include "tools/energy/energy.h"

static void write_value(FILE *to, double value, const char *missing)
{
    if (isnan(value))
        fputs(missing, to);
    else
        fprintf(to, "%.6g", value);
}

/* A row for each sample: seconds since the command's start, and of each source watts and joules. */
static void write_samples(FILE *to, const struct energy_run *run, char between, const char *missing)
{
    double seconds, watts[ENERGY_SHOWN_SOURCES], joules[ENERGY_SHOWN_SOURCES];
    const long n = tutti_energy_samples(run->meter);
    for (long i = 0; i < n; i++) {
        if (tutti_energy_sample(run->meter, i, &seconds, watts, joules, run->sources) != 0)
            continue;
        fprintf(to, "%.6f", seconds - run->begun);
        for (int s = 0; s < run->sources; s++) {
            fputc(between, to);
            write_value(to, watts[s], missing);
            fputc(between, to);
            write_value(to, joules[s], missing);
        }
        fputc('\n', to);
    }
}

int energy_trace_csv(const struct energy_run *run)
{
    FILE *to = fopen(run->csv, "w");
    if (to) {
        fputs("seconds", to);
        for (int s = 0; s < run->sources; s++)
            fprintf(to, ",%s W,%s J", run->source[s].name, run->source[s].name);
        fputc('\n', to);
        write_samples(to, run, ',', "");
    }
    if (to && fclose(to) == 0)
        return 0;
    fprintf(stderr, "tutti: %s cannot be written\n", run->csv);
    return 1;
}

#ifdef TUTTI_JANSSON
static json_t *trace_number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static json_t *trace_source(const struct energy_run *run, int s)
{
    static const char *const kinds[TUTTI_ENERGY_KINDS] = {"gpu", "package", "dram"};
    const struct tutti_energy_source *source = &run->source[s];
    const struct tutti_energy_figure *f = &run->figure[s], *idle = &run->before[s];
    json_t *out =
        json_pack("{s:s, s:s, s:o, s:o, s:s, s:o, s:i, s:i}", "name", source->name, "kind", kinds[source->kind], "id",
                  bench_json_text(source->id), "model", bench_json_text(source->model), "scope",
                  f->scope == TUTTI_ENERGY_MODULE ? "module" : "own", "unavailable", bench_json_text(f->reason),
                  "updates", (int)f->updates, "samples", (int)f->samples);
    json_object_set_new(out, "joules", trace_number(f->joules));
    json_object_set_new(out, "integral", trace_number(f->integral));
    json_object_set_new(out, "differs_percent", trace_number(f->difference));
    json_object_set_new(out, "idle_w", trace_number(run->idle > 0 ? idle->joules / idle->seconds : NAN));
    json_object_set_new(out, "sm_mhz", trace_number(f->clock_mhz));
    json_object_set_new(out, "memory_mhz", trace_number(f->memory_clock_mhz));
    json_object_set_new(out, "celsius", trace_number(f->celsius));
    json_object_set_new(out, "cap_w", trace_number(f->cap_w));
    return out;
}

static json_t *trace_samples(const struct energy_run *run)
{
    double seconds, watts[ENERGY_SHOWN_SOURCES];
    json_t *out = json_array();
    const long n = tutti_energy_samples(run->meter);
    for (long i = 0; i < n; i++) {
        if (tutti_energy_sample(run->meter, i, &seconds, watts, NULL, run->sources) != 0)
            continue;
        json_t *row = json_array();
        json_array_append_new(row, json_real(seconds - run->begun));
        for (int s = 0; s < run->sources; s++)
            json_array_append_new(row, trace_number(watts[s]));
        json_array_append_new(out, row);
    }
    return out;
}

static json_t *trace_rank(const struct energy_run *run, const struct energy_rank *rank)
{
    json_t *gpus = json_array();
    for (int s = 0; s < run->sources; s++) {
        if (rank->sources >> s & 1)
            json_array_append_new(gpus, json_string(run->source[s].name));
    }
    return json_pack("{s:i, s:f, s:f, s:i, s:o}", "rank", rank->rank, "seconds", rank->end - rank->begin, "cpu_seconds",
                     rank->cpu, "process", rank->pid, "gpus", gpus);
}

int energy_trace_json(const struct energy_run *run)
{
    json_t *all = json_object(), *command = json_array(), *sources = json_array(), *ranks = json_array();
    for (char *const *word = run->command; *word; word++)
        json_array_append_new(command, bench_json_text(*word));
    for (int s = 0; s < run->sources; s++)
        json_array_append_new(sources, trace_source(run, s));
    for (int r = 0; r < run->ranks; r++)
        json_array_append_new(ranks, trace_rank(run, &run->rank[r]));
    json_object_set_new(all, "command", command);
    json_object_set_new(all, "status", json_integer(run->status));
    json_object_set_new(all, "seconds", json_real(run->seconds));
    json_object_set_new(all, "cpu_seconds", json_real(run->cpu));
    json_object_set_new(all, "reading_cpu_seconds", json_real(run->own));
    json_object_set_new(all, "sources", sources);
    json_object_set_new(all, "ranks", ranks);
    json_object_set_new(all, "watts", trace_samples(run));
    return bench_json_dump(all, run->json);
}
#else
int energy_trace_json(const struct energy_run *run)
{
    (void)run;
    return 0;
}
#endif

static void trace_data(FILE *to, const void *with)
{
    const struct energy_run *run = with;
    fputs("# seconds, and of each source watts and joules\n", to);
    write_samples(to, run, ' ', "-");
}

static void trace_script(FILE *to, const void *with)
{
    const struct energy_run *run = with;
    fputs("set terminal pngcairo size 900,500\nset output \"", to);
    bench_plot_text(to, run->plot, 0);
    fputs("\"\nset title \"power of ", to);
    bench_plot_text(to, run->command[0], 1);
    fputs("\"\n$data << END_OF_DATA\n", to);
    trace_data(to, with);
    fputs("END_OF_DATA\nset datafile missing '-'\nset xlabel 'seconds'\nset ylabel 'watts'\nset yrange [0:*]\nset "
          "grid\nplot ",
          to);
    for (int s = 0, lines = 0; s < run->sources; s++) {
        if (isnan(run->figure[s].joules) && isnan(run->figure[s].integral))
            continue;
        fprintf(to, "%s$data using 1:%d with lines linewidth 2 title \"%s\"", lines++ ? ", " : "", 2 + 2 * s,
                run->source[s].name);
    }
    fputc('\n', to);
}

int energy_trace_plot(const struct energy_run *run)
{
    int known = 0;
    for (int s = 0; s < run->sources; s++)
        known |= !isnan(run->figure[s].joules) || !isnan(run->figure[s].integral);
    if (!known) {
        fputs("tutti: there are no watts to plot\n", stderr);
        return 0;
    }
    return bench_gnuplot(run->plot, trace_script, trace_data, run);
}

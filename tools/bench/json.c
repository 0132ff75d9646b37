/* Results as JSON. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/types.h"
#include "tools/bench/bench.h"
#include "tools/bench/json.h"
#include "tutti/tutti.h"

static void check_file(const char *option, const char *path)
{
    FILE *file = path ? fopen(path, "a") : NULL;
    if (path && (!file || fclose(file) != 0))
        tool_refuse("%s %s cannot be written: %s", option, path, strerror(errno));
}

#ifdef TUTTI_JANSSON
void bench_files_check(const struct bench_options *options)
{
    bench_plot_check(options->plot);
    check_file("--json", options->json);
    check_file("--plot", options->plot);
}

json_t *bench_json_text(const char *value)
{
    return value && *value ? json_string_nocheck(value) : json_null();
}

json_t *bench_json_about(const struct bench_options *o, const struct bench_place *place)
{
    char date[32], host[256] = "";
    time_t now = time(NULL);
    struct tm parts;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    gethostname(host, sizeof host - 1);
    return json_pack("{s:s, s:s, s:o, s:i, s:{s:s, s:s, s:o}}", "version", tutti_version(), "date", date, "host",
                     bench_json_text(host), "ranks", o->ranks, "mpi", "name", tool_family_name(place->mpi->family),
                     "version", place->mpi->version, "launcher", bench_json_text(place->mpi->launcher));
}

void bench_json_report(json_t *all, const struct bench_options *options, const struct bench_report *report)
{
    json_object_set_new(all, "mpi_library", bench_json_text(report->mpi));
    if (report->nodes > 0)
        json_object_set_new(all, "nodes", json_integer(report->nodes));
    json_object_set_new(all, "device", bench_json_text(report->device));
    json_object_set_new(all, "gpu", bench_json_text(report->gpu));
    json_object_set_new(all, "gpus", json_integer(report->gpus));
    json_object_set_new(all, "seed", json_integer((json_int_t)options->seed));
    json_object_set_new(all, "validated", json_boolean(options->check));
    json_object_set_new(all, "wrong", bench_json_text(report->wrong));
}

json_t *bench_json_time(const struct bench_time *time, const struct bench_time *own)
{
    json_t *out = json_pack("{s:f, s:f, s:f, s:f, s:I, s:b}", "average_us", time->average, "median_us", time->median,
                            "min_us", time->least, "max_us", time->most, "iterations", (json_int_t)time->iterations,
                            "extrapolated", time->extrapolated);
    if (time != own)
        json_object_set_new(out, "ratio", json_real(bench_time_ratio(time, own)));
    return out;
}

void bench_json_choices(json_t *all, const char *(*choice)(int i, const char **text))
{
    const char *text, *key;
    for (int i = 0; choice && (key = choice(i, &text)) != NULL; i++)
        json_object_set_new(all, key, bench_json_text(text));
}

int bench_json_dump(json_t *all, const char *path)
{
    int failed = json_dump_file(all, path, JSON_INDENT(2)) != 0;
    json_decref(all);
    if (failed)
        fprintf(stderr, "tutti: %s cannot be written\n", path);
    return failed;
}

int bench_json_overhead(const struct bench_options *options, const struct bench_place *place, const double *without,
                        const double *with, int pairs, double ratio)
{
    if (!options->json)
        return 0;
    json_t *all = bench_json_about(options, place), *rows = json_array();
    for (int i = 0; i < pairs; i++)
        json_array_append_new(rows, json_pack("{s:f, s:f}", "without_s", without[i], "with_s", with[i]));
    json_object_set_new(all, "benchmark", json_string("overhead"));
    json_object_set_new(all, "calls", json_integer((json_int_t)options->iterations));
    json_object_set_new(all, "pairs", rows);
    json_object_set_new(all, "ratio", json_real(ratio));
    return bench_json_dump(all, options->json);
}
#else
void bench_files_check(const struct bench_options *options)
{
    bench_plot_check(options->plot);
    if (options->json)
        tool_refuse("--json: this build has no JSON: Jansson was not there when it was built (Debian: libjansson-dev)");
    check_file("--plot", options->plot);
}

int bench_json_overhead(const struct bench_options *options, const struct bench_place *place, const double *without,
                        const double *with, int pairs, double ratio)
{
    (void)options, (void)place, (void)without, (void)with, (void)pairs, (void)ratio;
    return 0;
}
#endif

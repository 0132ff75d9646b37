#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "tools/tune/tune.h"
#include "tutti/tutti.h"

#ifdef TUTTI_JANSSON
#include <jansson.h>

void tune_json_check(const struct tune_options *options)
{
    if (!options->start.json)
        return;
    FILE *file = fopen(options->start.json, "ae");
    if (!file)
        tool_refuse("--json %s cannot be written: %s", options->start.json, strerror(errno));
    fclose(file);
}

static json_t *json_times(const struct tune_run *run)
{
    json_t *all = json_array();
    for (int i = 0; i < run->times; i++) {
        const struct tune_time *time = &run->time[i];
        json_array_append_new(all,
                              json_pack("{s:s, s:I, s:s, s:f}", "collective", tune_sections[time->section], "bytes",
                                        (json_int_t)time->bytes, "algorithm", time->algorithm, "us", time->us));
    }
    return all;
}

static json_t *json_proof(const struct tune_run *run)
{
    json_t *all = json_array();
    for (int i = 0; i < run->rows; i++) {
        const struct tune_row *row = &run->row[i];
        json_array_append_new(all,
                              json_pack("{s:s, s:I, s:s, s:f, s:s, s:f, s:f, s:s}", "collective",
                                        tune_sections[row->section], "bytes", (json_int_t)row->bytes, "default",
                                        row->standard, "default_us", row->standard_us, "tuned", row->tuned, "tuned_us",
                                        row->tuned_us, "ratio", row->ratio, "verdict", tune_verdicts[row->verdict]));
    }
    return all;
}

int tune_json_write(const struct tune_run *run)
{
    static const char *const orders[BENCH_ORDERS] = {BENCH_ORDER_NAMES};
    const struct tune_options *o = run->options;
    if (!o->start.json)
        return 0;
    json_t *rules = json_array();
    for (int s = 0; s < TUNE_SECTIONS; s++) {
        if (run->rules[s][0])
            json_array_append_new(rules, json_string_nocheck(run->rules[s]));
    }
    json_t *all = json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:f, s:b, s:o, s:o, s:o}", "version", tutti_version(),
                            "ranks", o->start.ranks, "order", orders[o->start.order], "mpi", run->mpi, "device",
                            run->device, "entry", run->entry, "seconds", run->took, "interrupted", run->interrupted > 0,
                            "rules", rules, "proof", json_proof(run), "times", json_times(run));
    int failed = !all || json_dump_file(all, o->start.json, JSON_INDENT(2)) != 0;
    json_decref(all);
    if (failed)
        fprintf(stderr, "tutti: --json %s could not be written\n", o->start.json);
    return failed;
}
#else
void tune_json_check(const struct tune_options *options)
{
    if (options->start.json)
        tool_refuse("--json: this build has no JSON: Jansson was not there when it was built (Debian: libjansson-dev)");
}

int tune_json_write(const struct tune_run *run)
{
    (void)run;
    return 0;
}
#endif

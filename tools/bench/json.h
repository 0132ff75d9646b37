/* What the JSON files of the bench share; there where the build found Jansson. */
#ifndef TUTTI_TOOLS_BENCH_JSON_H
#define TUTTI_TOOLS_BENCH_JSON_H

#ifdef TUTTI_JANSSON
#include <jansson.h>

#include "tools/bench/bench.h"

/* A string; null where it is empty. */
json_t *bench_json_text(const char *value);
/* Version, date, host, MPI. */
json_t *bench_json_about(const struct bench_options *options, const struct bench_place *place);
/* Adds what holds for all rows: library, nodes, device, GPUs, seed, whether results were looked at and were right. */
void bench_json_report(json_t *all, const struct bench_options *options, const struct bench_report *report);
/* A time, and where it is another than `own` the ratio of the two. */
json_t *bench_json_time(const struct bench_time *time, const struct bench_time *own);
/* Takes `all`. 0, or 1 where it failed (said). */
int bench_json_dump(json_t *all, const char *path);
#endif

#endif

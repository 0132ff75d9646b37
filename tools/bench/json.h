/* Shared by the JSON files of the bench; compiled if the build found Jansson. */
#ifndef TUTTI_TOOLS_BENCH_JSON_H
#define TUTTI_TOOLS_BENCH_JSON_H

#ifdef TUTTI_JANSSON
#include <jansson.h>

#include "tools/bench/bench.h"

/* A string; null for an empty one. */
json_t *bench_json_text(const char *value);
/* Version, date, host, MPI. */
json_t *bench_json_about(const struct bench_options *options, const struct bench_place *place);
/* Adds the facts about all rows: library, nodes, device, GPUs, seed, whether results were checked and right. */
void bench_json_report(json_t *all, const struct bench_options *options, const struct bench_report *report);
/* Adds the choices of the options that are words: key by key, until choice() returns NULL. choice may be NULL. */
void bench_json_choices(json_t *all, const char *(*choice)(int i, const char **text));
/* A time and, if it is not `own`, the ratio of the two. */
json_t *bench_json_time(const struct bench_time *time, const struct bench_time *own);
/* Frees `all`. 0, or 1 after an error message. */
int bench_json_dump(json_t *all, const char *path);
#endif

#endif

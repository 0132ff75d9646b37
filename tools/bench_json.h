/* What the JSON files of the bench share; there where the build found Jansson. */
#ifndef TUTTI_TOOLS_BENCH_JSON_H
#define TUTTI_TOOLS_BENCH_JSON_H

#ifdef TUTTI_JANSSON
#include <jansson.h>

#include "bench.h"

/* A string; null where it is empty. */
json_t *bench_json_text(const char *value);
/* Version, date, host, MPI. */
json_t *bench_json_about(const struct bench_options *options, const struct bench_place *place);
/* Takes `all`. 0, or 1 where it failed (said). */
int bench_json_dump(json_t *all, const char *path);
#endif

#endif

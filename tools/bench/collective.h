/* Shared by the parts of tutti bench allreduce, reduce ...: options, and the columns of their tables. */
#ifndef TUTTI_TOOLS_BENCH_COLLECTIVE_H
#define TUTTI_TOOLS_BENCH_COLLECTIVE_H

#include "tools/bench/sheet.h"

extern struct bench_options collective_options;
extern const char *const collective_orders[BENCH_ORDERS];
/* Sets the text of the head behind the number of ranks: "ranks, sum of float, in place". */
extern char collective_members[64];
void collective_set_members(void);
/* Of a blocking call or one in stream order; of all pairs of type and operator, beside the sum of float. */
extern const struct bench_columns collective_latency, collective_pairs;
/* As of struct bench_columns. */
const char *collective_choice(int i, const char **text);
/* Reports that the algorithm asked for does not do the call: "8 1 0 oneshot" are bytes, type and operator of the first
 * such call, and the algorithm that does it. */
void collective_refuse(struct bench_report *report, const char *record);

#endif

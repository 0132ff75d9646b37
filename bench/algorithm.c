/* Which algorithm a call takes, asked of the library's counters. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/counters.h"
#include "enqueue.h"
#include "gpu.h"
#include "order.h"

enum { ROWS = 64 };

static struct tutti_counter before[ROWS];
static int known, was;

void bench_outcome_begin(void)
{
    was = tutti_counting;
    tutti_counting = 1;
    known = tutti_counters_read(before, ROWS);
    known = known < ROWS ? known : ROWS;
}

/* Rows read "MPI_Reduce|accelerated|chain"; calls in stream order have names of their own that begin with MPIX_. */
void bench_outcome_end(const char *call, char *name, size_t size, int *accelerated)
{
    static struct tutti_counter now[ROWS];
    int rows = tutti_counters_read(now, ROWS);
    tutti_counting = was;
    *accelerated = 0;
    snprintf(name, size, "-");
    for (int i = 0; i < rows && i < ROWS; i++) {
        uint64_t seen = 0;
        for (int b = 0; b < known; b++) {
            if (strcmp(before[b].text, now[i].text) == 0)
                seen = before[b].count;
        }
        const char *how = strchr(now[i].text, '|'), *under = strchr(now[i].text, '_');
        if (now[i].count == seen || !how || !under || strncmp(under, call, strlen(call)) != 0)
            continue;
        const char *after = under + strlen(call);
        if (after != how && strncmp(after, "_enqueue|", 9) != 0)
            continue;
        const char *bar = strchr(++how, '|');
        *accelerated = strncmp(how, "accelerated|", 12) == 0 || strncmp(how, "enqueued|", 9) == 0;
        if (*accelerated)
            snprintf(name, size, "%s", bar + 1);
        else
            snprintf(name, size, "mpi: %s", bar ? bar + 1 : how);
        return;
    }
}

void bench_find_algorithm(const struct bench_plan *plan, struct bench_ways *ways, char *name, size_t size,
                          int *accelerated)
{
    const struct bench_set *set = bench_way_set(ways, BENCH_TUTTI);
    bench_way_prepare(plan, ways, BENCH_TUTTI, plan->seed);
    bench_outcome_begin();
    if (plan->order == BENCH_HOST) {
        bench_way_call(plan, ways, BENCH_TUTTI);
    } else {
        bench_enqueue(&ways->call, set->in, set->out);
        bench_gpu_sync();
    }
    bench_outcome_end(strchr(bench_call_name(&ways->call), '_'), name, size, accelerated);
}

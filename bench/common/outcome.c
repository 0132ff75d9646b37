#include "bench/common/outcome.h"

#include <stdio.h>
#include <string.h>

#include "bench/common/bench.h"
#include "core/counters.h"
#include "p2p/protocols.h"

enum { ROWS = 512 }; /* as the counters have */

static struct tutti_counter before[ROWS];
static int known, was;

void bench_outcome_begin(void)
{
    was = tutti_counting;
    tutti_counting = 1;
    known = tutti_counters_read(before, ROWS);
    known = known < ROWS ? known : ROWS;
}

/* What has been counted since. */
static uint64_t more_of(const struct tutti_counter *now)
{
    for (int b = 0; b < known; b++) {
        if (strcmp(before[b].text, now->text) == 0)
            return now->count - before[b].count;
    }
    return now->count;
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
        const char *how = strchr(now[i].text, '|'), *under = strchr(now[i].text, '_');
        if (more_of(&now[i]) == 0 || !how || !under || strncmp(under, call, strlen(call)) != 0)
            continue;
        const char *after = under + strlen(call);
        if (after != how && strncmp(after, "_enqueue|", 9) != 0)
            continue;
        const char *bar = strchr(++how, '|');
        *accelerated = now[i].outcome == TUTTI_OUTCOME_ACCELERATED;
        if (*accelerated)
            snprintf(name, size, "%s", bar + 1);
        else
            snprintf(name, size, "mpi: %s", bar ? bar + 1 : how);
        return;
    }
}

unsigned long bench_outcome_counted(const char *row)
{
    static struct tutti_counter now[ROWS];
    const int rows = tutti_counters_read(now, ROWS);
    unsigned long all = 0;
    for (int i = 0; i < rows && i < ROWS; i++)
        all += strncmp(now[i].text, row, strlen(row)) == 0 ? more_of(&now[i]) : 0;
    return all;
}

static const char *way_name(int way)
{
    return way == 0 ? "mpi" : tutti_protocols[way - 1].name;
}

void bench_outcome_messages(const char *call, char *text, size_t size)
{
    enum { MPI_ITSELF, WAYS = TUTTI_PROTOCOLS + 1 }; /* then the protocols */
    static struct tutti_counter now[ROWS];
    unsigned long mine[WAYS] = {0}, all[WAYS];
    const int rows = tutti_counters_read(now, ROWS);
    tutti_counting = was;
    for (int i = 0; i < rows && i < ROWS; i++) {
        const char *under = strchr(now[i].text, '_'), *how = strchr(now[i].text, '|');
        if (!under || !how || (size_t)(how - under) != strlen(call) || strncmp(under, call, strlen(call)) != 0)
            continue;
        int way = MPI_ITSELF;
        for (int p = 0; p < TUTTI_PROTOCOLS; p++) {
            char counted[80];
            snprintf(counted, sizeof counted, "|%s|%s", tutti_outcome_name(tutti_protocols[p].outcome),
                     tutti_protocols[p].reason);
            if (tutti_protocols[p].reason[0] ? strcmp(how, counted) == 0 : strncmp(how, counted, strlen(counted)) == 0)
                way = p + 1;
        }
        mine[way] += more_of(&now[i]);
    }
    bench_mpi.Allreduce(mine, all, WAYS, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    int kinds = 0;
    size_t used = 0;
    for (int way = 0; way < WAYS; way++)
        kinds += all[way] > 0;
    snprintf(text, size, "-");
    for (int way = WAYS - 1; way >= 0; way--) {
        if (all[way] == 0 || used >= size)
            continue;
        if (kinds == 1)
            snprintf(text, size, "%s", way_name(way));
        else
            used += (size_t)snprintf(text + used, size - used, "%s%s %lu", used ? ", " : "", way_name(way), all[way]);
    }
}

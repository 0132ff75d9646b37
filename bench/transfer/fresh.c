/* The first calls of new memory: each sample allocates memory that the library has not met, on both ranks, and times
 * call after call, each way by itself. What the first samples of a process take is shown as the worst. */
#include <stdio.h>
#include <string.h>

#include "bench/common/columns.h"
#include "bench/transfer/ways.h"
#include "tutti/tutti.h"

enum { FRESH_SAMPLES = 20, FRESH_LEAST = 2 << 20 /* bytes of an allocation, as allocators of frameworks take */ };

static void fresh_alloc(struct transfer_memory *m)
{
    for (int side = 0; side < 2; side++) {
        void *memory = NULL;
        const size_t bytes = m->bytes[side] > FRESH_LEAST ? m->bytes[side] : FRESH_LEAST;
        bench_must(tutti_alloc(bytes, &memory), "allocating device memory");
        m->device[side] = memory;
    }
    memset(m->held_bytes, 0, sizeof m->held_bytes);
}

static void fresh_free(struct transfer_memory *m)
{
    for (int side = 0; side < 2; side++)
        tutti_free(m->device[side]);
}

/* One allocation's calls: us[call]. 1 if the last one has delivered the right data. */
static int fresh_sample(struct transfer_fresh *fresh, int way, int sample, double us[])
{
    struct transfer_memory *m = fresh->memory;
    const uint64_t seed = fresh->t->plan->seed + (uint64_t)sample * 131 + (uint64_t)way;
    fresh_alloc(m);
    transfer_fill(fresh->t, m, way, seed, 1);
    for (int call = 0; call < fresh->t->what->fresh; call++)
        us[call] = bench_longest(fresh->once(fresh->with, way, -1));
    const int right = transfer_check(fresh->t, m, way, seed);
    fresh_free(m);
    return right;
}

static void fresh_say(const struct transfer_fresh *fresh, double us[][TRANSFER_FRESH_MOST][FRESH_SAMPLES])
{
    const struct bench_plan *plan = fresh->t->plan;
    char line[TRANSFER_WAYS * 24 + 64];
    int n =
        snprintf(line, sizeof line,
                 "line first calls of new memory, %zu bytes, median us (worst of %d):", fresh->t->bytes, FRESH_SAMPLES);
    for (int way = 0; way < TRANSFER_FRESH_WAYS; way++) {
        if (fresh->used[way])
            n += snprintf(line + n, sizeof line - (size_t)n, " %s", transfer_way_name(way));
    }
    bench_say(plan, "%s", line);
    for (int call = 0; call < fresh->t->what->fresh; call++) {
        n = snprintf(line, sizeof line, "line   call %-3d", call + 1);
        for (int way = 0; way < TRANSFER_FRESH_WAYS; way++) {
            if (!fresh->used[way])
                continue;
            const double median = bench_median(us[way][call], FRESH_SAMPLES);
            n += snprintf(line + n, sizeof line - (size_t)n, " %9.1f (%.1f)", median, us[way][call][FRESH_SAMPLES - 1]);
        }
        bench_say(plan, "%s", line);
    }
}

int transfer_fresh(struct transfer_fresh *fresh)
{
    static double us[TRANSFER_FRESH_WAYS][TRANSFER_FRESH_MOST][FRESH_SAMPLES];
    double of[TRANSFER_FRESH_MOST];
    const struct transfer_memory kept = *fresh->memory;
    const int loops = fresh->t->loops;
    int right = 1;
    fresh->t->loops = 1;
    for (int sample = 0; sample < FRESH_SAMPLES && right; sample++) {
        for (int way = 0; way < TRANSFER_FRESH_WAYS && right; way++) {
            if (!fresh->used[way])
                continue;
            right = fresh_sample(fresh, way, sample, of);
            for (int call = 0; call < fresh->t->what->fresh; call++)
                us[way][call][sample] = of[call];
        }
    }
    fresh->t->loops = loops;
    *fresh->memory = kept;
    memset(fresh->memory->held_bytes, 0, sizeof fresh->memory->held_bytes);
    if (right)
        fresh_say(fresh, us);
    return right;
}

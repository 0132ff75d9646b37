/* What messages in stream order keep whose elements have gaps: scratch and plans. */
#include <stdlib.h>

#include "core/status.h"
#include "dtype/plan.h"
#include "p2p/lanes/lanes_own.h"
#include "team/deferred_free.h"

enum { GRAIN = 64 << 10 };

struct tutti_lanes_scratch {
    struct tutti_lanes_scratch *next;
    void *memory;
    size_t bytes;
    int used, captured; /* captured: graphs use it */
};

/* One that is free: of captures, or of other calls. */
static struct tutti_lanes_scratch *scratch_find(struct tutti_lanes *lanes, size_t bytes, int captured)
{
    struct tutti_lanes_scratch *best = NULL;
    for (struct tutti_lanes_scratch *one = lanes->scratch; one; one = one->next) {
        if (!one->used && one->captured == captured && one->bytes >= bytes && (!best || one->bytes < best->bytes))
            best = one;
    }
    return best;
}

static struct tutti_lanes_scratch *scratch_new(struct tutti_lanes *lanes, size_t bytes)
{
    struct tutti_lanes_scratch *made = calloc(1, sizeof *made);
    const size_t room = bytes > SIZE_MAX - GRAIN ? bytes : (bytes + GRAIN - 1) / GRAIN * GRAIN;
    if (!made || lanes->team->device->memory.alloc(lanes->team->gpu, room, &made->memory) != TUTTI_OK) {
        free(made);
        return NULL;
    }
    made->bytes = room;
    made->next = lanes->scratch;
    lanes->scratch = made;
    return made;
}

int tutti_lanes_scratch_take(struct tutti_lanes *lanes, int captured, size_t bytes, struct tutti_lanes_scratch **out,
                             void **memory)
{
    struct tutti_lanes_scratch *one = scratch_find(lanes, bytes, captured);
    if (!one && captured)
        one = scratch_find(lanes, bytes, 0);
    if (!one && !captured)
        one = scratch_new(lanes, bytes);
    if (!one)
        return captured ? TUTTI_ERR_UNAVAILABLE : TUTTI_ERR_MEMORY;
    one->used = 1;
    one->captured = captured;
    *out = one;
    *memory = one->memory;
    return TUTTI_OK;
}

void tutti_lanes_scratch_give(struct tutti_lanes_scratch *scratch)
{
    if (scratch)
        scratch->used = 0;
}

void tutti_lanes_scratch_forget(struct tutti_lanes *lanes)
{
    for (struct tutti_lanes_scratch *one = lanes->scratch; one; one = one->next)
        one->used = one->captured ? 0 : one->used;
}

int tutti_lanes_hold_plan(struct tutti_lanes *lanes, const struct tutti_plan *plan)
{
    for (size_t i = lanes->plans; i-- > 0;) {
        if (lanes->plan[i] == plan)
            return TUTTI_OK;
    }
    const struct tutti_plan **more = realloc(lanes->plan, (lanes->plans + 1) * sizeof *more);
    if (!more)
        return TUTTI_ERR_MEMORY;
    lanes->plan = more;
    lanes->plan[lanes->plans++] = tutti_plan_hold(plan);
    return TUTTI_OK;
}

const volatile struct tutti_lane_report *tutti_lanes_reports(const struct tutti_lanes *lanes)
{
    return lanes->report ? (const volatile struct tutti_lane_report *)lanes->report->memory : NULL;
}

int tutti_lanes_keep(struct tutti_lanes *lanes, void (*drop)(void *memory), void *memory)
{
    struct tutti_lanes_kept *more = realloc(lanes->kept, (lanes->kepts + 1) * sizeof *more);
    if (!more)
        return TUTTI_ERR_MEMORY;
    lanes->kept = more;
    lanes->kept[lanes->kepts++] = (struct tutti_lanes_kept){drop, memory};
    return TUTTI_OK;
}

void tutti_lanes_scratch_close(struct tutti_lanes *lanes, int alive)
{
    while (lanes->scratch) {
        struct tutti_lanes_scratch *one = lanes->scratch;
        lanes->scratch = one->next;
        if (alive)
            tutti_deferred_free_memory(lanes->team->node, one->memory);
        free(one);
    }
    while (lanes->plans > 0)
        tutti_plan_drop(lanes->plan[--lanes->plans]);
    free(lanes->plan);
    while (lanes->kepts > 0) {
        const struct tutti_lanes_kept *const kept = &lanes->kept[--lanes->kepts];
        kept->drop(kept->memory);
    }
    free(lanes->kept);
    if (alive)
        tutti_bounce_give(lanes->report);
}

/* What a call over nodes waits for: in the message about one that waits for long or fails, and as a phase. */
#include <stdio.h>

#include "coll/hier/own.h"
#include "core/log.h"
#include "core/phases.h"
#include "core/status.h"
#include "core/types.h"

void tutti_nodes_describe_call(const struct tutti_hierarchy *h, const struct tutti_call *call, const char *name,
                               const char *where, char *text, size_t size)
{
    snprintf(text, size, "%s of %zu %s, %s, over %d nodes, on rank %d: %s", name, call->count,
             tutti_type_name(call->type), tutti_op_name(call->op), h->nodes, h->ranks->rank, where);
}

static void nodes_describe(const struct tutti_nodes_call *c, char *text, size_t size)
{
    char where[160] = "";
    if (c->waiting)
        tutti_sched_where(c->waiting, where, sizeof where);
    tutti_nodes_describe_call(c->nodes->hierarchy, c->call, c->moves->name, where[0] ? where : "inside its node", text,
                              size);
}

void tutti_nodes_stalls(const struct tutti_nodes_call *c, uint64_t seconds)
{
    char text[320];
    nodes_describe(c, text, sizeof text);
    tutti_warn("waiting for %llu s in %s", (unsigned long long)seconds, text);
}

/* The schedules of two pieces may be under way; the call waits for one. */
void tutti_nodes_phase(const struct tutti_nodes_call *c)
{
    if (!c->waiting)
        return;
    const void *const at = tutti_sched_at(c->waiting);
    if (c->waiting == c->local.sched) {
        tutti_phase(TUTTI_PHASE_MPI);
        return;
    }
    for (int i = 0; at && i < TUTTI_AREAS; i++) {
        const struct tutti_wire *w = &c->wire[i];
        if (w->sched == c->waiting)
            tutti_phase(at == &w->copy[0]   ? TUTTI_PHASE_COPY_OUT
                        : at == &w->copy[1] ? TUTTI_PHASE_COPY_IN
                                            : TUTTI_PHASE_LEADERS);
    }
}

/* A failure inside the node has been reported where it was seen. */
void tutti_nodes_fails(const struct tutti_nodes_call *c, int status)
{
    char text[320];
    if (!c->waiting)
        return;
    nodes_describe(c, text, sizeof text);
    tutti_error("%s fails: %s", text, tutti_status_text(status));
}

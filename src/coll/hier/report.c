/* What is said about a call over nodes that waits for long, or fails: which call, and what it waits for. */
#include <stdio.h>

#include "coll/hier/own.h"
#include "core/log.h"
#include "core/status.h"
#include "core/types.h"

static void nodes_describe(const struct tutti_nodes_call *c, char *text, size_t size)
{
    char where[160] = "";
    if (c->waiting)
        tutti_sched_where(c->waiting, where, sizeof where);
    snprintf(text, size, "%s of %zu %s, %s, over %d nodes, on rank %d: %s", c->moves->name, c->call->count,
             tutti_type_name(c->call->type), tutti_op_name(c->call->op), c->nodes->hierarchy->nodes,
             c->nodes->hierarchy->ranks->rank, where[0] ? where : "inside its node");
}

void tutti_nodes_stalls(const struct tutti_nodes_call *c, uint64_t seconds)
{
    char text[320];
    nodes_describe(c, text, sizeof text);
    tutti_warn("waiting for %llu s in %s", (unsigned long long)seconds, text);
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

/* Kernels that combine what leaders exchange, in pinned memory, and their results. */
#include "coll/hier/own.h"
#include "core/status.h"
#include "kernels/args.h"
#include "team/deferred_free.h"

/* Loading may wait for running kernels, whose peers may wait for this rank. */
int tutti_nodes_kernels(const struct tutti_nodes_call *c)
{
    const struct tutti_device *device = tutti_device();
    const int type = c->call->type, op = c->call->op;
    if (!tutti_has_kernel(type, op) || !device->launch.kernel)
        return 0;
    if (!device->launch.lacks || !device->launch.lacks(c->in_gpu, TUTTI_KERNEL_DIRECT, type, op))
        return 1;
    return tutti_deferred_free_may_load(c->team->node) &&
           device->launch.prepare(c->in_gpu, UINT32_C(1) << TUTTI_KERNEL_DIRECT, type, op) == TUTTI_OK;
}

/* In a stream of their own: copies of the next piece may be under way. */
int tutti_nodes_wire_kernels(struct tutti_nodes_call *c, int piece, struct tutti_wire *w)
{
    struct tutti_port *port = &c->form->port[TUTTI_PORT_COMBINE];
    if (!c->kernels || !w->pinned || !w->from.stream || w->from.gpu != c->in_gpu ||
        !tutti_nodes_by_kernels(c->nodes, w->count * c->size))
        return TUTTI_OK;
    const int status = tutti_port_open(port, c->in_gpu);
    w->kernels = port->stream;
    w->combined = port->event[piece % TUTTI_AREAS];
    return status;
}

int tutti_nodes_bring_back(struct tutti_nodes_call *c, int piece)
{
    const int area = piece % TUTTI_AREAS;
    const struct tutti_device *device = tutti_device();
    const struct tutti_port *port = &c->form->port[TUTTI_PORT_COMBINE];
    struct tutti_nodes_stored *stored = &c->stored[area];
    c->waiting = NULL;
    if (!stored->at)
        return 1;
    if (!stored->back) {
        int status = device->stream.copy(port->stream, c->area[area].memory + stored->bytes, stored->at, stored->bytes);
        if (status == TUTTI_OK)
            status = device->event.record(port->event[area], port->stream);
        if (status != TUTTI_OK)
            return status;
        stored->back = 1;
    }
    const int done = device->event.query(port->event[area]);
    if (done == 1)
        *stored = (struct tutti_nodes_stored){.at = NULL};
    return done;
}

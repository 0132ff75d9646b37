/* The copies of the row two_rounds, and its reports. A copy of few bytes is one launch of a kernel, which stays for the
 * copy in: a call that ends soon makes one launch. */
#include <stdio.h>
#include <string.h>

#include "coll/hier/two_rounds.h"
#include "core/log.h"
#include "core/status.h"

void tutti_rounds_look_at(struct tutti_rounds *x)
{
    const struct tutti_call *call = x->call;
    const void *const buffer[TUTTI_PORTS] = {[TUTTI_PORT_OUT] = call->in, [TUTTI_PORT_IN] = call->out};
    for (int p = 0; p < TUTTI_PORTS; p++) {
        if (call->kind == TUTTI_ARRIVAL_DEVICE && call->gpu >= 0) /* the door has asked */
            x->gpu[p] = call->gpu;
        else
            tutti_nodes_look_at(buffer[p], &x->host[p], &x->gpu[p]);
    }
    if (!x->host[TUTTI_PORT_OUT] && call->count * x->size <= TUTTI_PACK_PAIR_FEW * tutti_device()->memory.few)
        tutti_nodes_few(x->h->team, x->gpu[TUTTI_PORT_OUT]);
}

/* 1 if the copy is under way. */
static int rounds_copy_by_kernel(struct tutti_rounds *x, enum tutti_direction direction, int gpu, void *memory,
                                 void *host, size_t bytes)
{
    const struct tutti_pack_job job = {.direction = direction,
                                       .plan = tutti_plan_of_byte(),
                                       .count = bytes,
                                       .memory = memory,
                                       .packed = host,
                                       .bytes = bytes};
    unsigned how = x->pair ? TUTTI_PACK_FIRST : 0;
    if (direction == TUTTI_UNPACK)
        how = TUTTI_PACK_SECOND | (x->call->near ? TUTTI_PACK_NEAR : 0u);
    if (!x->area.bounce || !tutti_few_by_kernel(gpu, bytes, TUTTI_FEW_PAIR, 0) || !job.plan)
        return 0;
    return tutti_pack_begin(gpu, &job, 1, how, &x->flight) == TUTTI_OK && x->flight.channel;
}

static int rounds_copy_by_engine(struct tutti_rounds *x, enum tutti_port_id id, void *to, const void *from,
                                 size_t bytes)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_port *port = &x->nodes->form[0].port[id];
    int status = tutti_port_open(port, x->gpu[id]);
    if (status == TUTTI_OK)
        status = device->stream.copy(port->stream, to, from, bytes);
    if (status == TUTTI_OK)
        status = device->event.record(port->event[0], port->stream);
    if (status == TUTTI_OK)
        x->event = port->event[0];
    return status;
}

int tutti_rounds_copy(struct tutti_rounds *x, enum tutti_direction direction, void *memory, void *host, size_t count)
{
    const enum tutti_port_id id = direction == TUTTI_PACK ? TUTTI_PORT_OUT : TUTTI_PORT_IN;
    void *const to = direction == TUTTI_PACK ? host : memory, *const from = direction == TUTTI_PACK ? memory : host;
    x->flight = (struct tutti_pack_flight){.channel = NULL};
    x->event = NULL;
    if (!x->host[id])
        return rounds_copy_by_kernel(x, direction, x->gpu[id], memory, host, count * x->size)
                   ? TUTTI_OK
                   : rounds_copy_by_engine(x, id, to, from, count * x->size);
    if (to != from)
        memcpy(to, from, count * x->size);
    return TUTTI_OK;
}

int tutti_rounds_copied(struct tutti_rounds *x)
{
    int done = 1;
    if (x->flight.channel)
        done = tutti_pack_poll(&x->flight);
    else if (x->event)
        done = tutti_device()->event.query(x->event);
    if (done == 1)
        x->event = NULL;
    return done;
}

/* ---- reports ---- */

void tutti_rounds_describe(const void *rounds, char *text, size_t size)
{
    const struct tutti_rounds *x = rounds;
    char where[96] = "at a copy between device and host memory";
    if (x->received < x->receives && !x->flight.channel && !x->event)
        snprintf(where, sizeof where, "at receive from rank %d", x->from[x->received]);
    else if (x->sent < x->sends)
        snprintf(where, sizeof where, "at send to rank %d", x->to[x->sent]);
    tutti_nodes_describe_call(x->h, x->call, x->name, where, text, size);
}

void tutti_rounds_fails(const struct tutti_rounds *x, int status)
{
    char text[320];
    tutti_rounds_describe(x, text, sizeof text);
    tutti_error("%s fails: %s", text, tutti_status_text(status));
}

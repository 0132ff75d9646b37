#include "coll/carry/wire.h"

#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "core/status.h"
#include "progress/engine.h"
#include "sched/subset.h"

enum { TAGS = 5 }; /* of a wire: more than windows, so that pieces under way of two ranks have different ones */
enum { TAGGED = TUTTI_CARRY_OF_NODE }; /* wires of one transport */
_Static_assert((int)TAGS > (int)TUTTI_CARRY_WINDOWS && TUTTI_HIERARCHY_MOVES + TAGS * TAGGED <= (int)TUTTI_SUBSET_TAGS,
               "tags of a subset");

/* ---- windows ---- */

/* The next piece, if there is one. */
static int flow_next_piece(struct tutti_carry_flow *flow, struct tutti_carry_piece *out)
{
    const uint64_t most = flow->wire->call->piece;
    for (; flow->turn < flow->turns; flow->turn++, flow->next = 0) {
        for (; flow->next < flow->items; flow->next++) {
            struct tutti_carry_item *item = &flow->item[flow->next];
            const uint64_t at = flow->turn * most;
            if (at >= item->bytes)
                continue;
            *out = (struct tutti_carry_piece){.item = item,
                                              .first = item->first + at,
                                              .bytes = item->bytes - at < most ? item->bytes - at : most,
                                              .tag = TUTTI_HIERARCHY_MOVES + flow->wire->number % TAGGED * TAGS +
                                                     (int)(flow->turn % TAGS)};
            return 1;
        }
    }
    return 0;
}

/* Takes the window's pieces. Bytes of its memory. */
static size_t window_fill(struct tutti_carry_window *w)
{
    struct tutti_carry_flow *flow = w->flow;
    size_t bytes = 0, all = 0;
    w->pieces = 0;
    while (w->pieces < TUTTI_CARRY_PIECES && flow_next_piece(flow, &w->piece[w->pieces])) {
        struct tutti_carry_piece *piece = &w->piece[w->pieces];
        struct tutti_elements *elements = piece->item->elements;
        if (w->pieces > 0 && all + piece->bytes > flow->wire->call->piece)
            break;
        piece->copied = !elements || !(tutti_carry_on_host(elements) && elements->whole);
        piece->memory = piece->copied ? NULL : tutti_elements_run(elements) + piece->first;
        bytes += piece->copied ? piece->bytes : 0;
        all += piece->bytes;
        w->pieces++;
        flow->next++;
    }
    return bytes;
}

static int window_transfer(struct tutti_carry_window *w, int *used, const struct tutti_carry_piece *piece, int rank,
                           int receives, int after)
{
    struct tutti_transfer_task *task = &w->transfer[(*used)++];
    *task = (struct tutti_transfer_task){.transport = w->flow->wire->transport,
                                         .memory = piece->memory,
                                         .bytes = piece->bytes,
                                         .rank = rank,
                                         .tag = piece->tag};
    const int number = (receives ? tutti_task_receive : tutti_task_send)(w->sched, task, (uint64_t)rank);
    const int status = number >= 0 && after >= 0 ? tutti_sched_after(w->sched, number, after, TUTTI_AFTER_END) : 0;
    return status < 0 ? status : number;
}

/* Sent pieces are copied first, received ones last. */
static int window_tasks(struct tutti_carry_window *w, int copied)
{
    const int out = w->flow->way == TUTTI_CARRY_OUT;
    int used = 0, copy = -1, status = TUTTI_OK, receives[TUTTI_CARRY_PIECES];
    if (out && copied && (copy = tutti_sched_add(w->sched, &tutti_carry_copies, w, 0)) < 0)
        return copy;
    for (int i = 0; i < w->pieces && status >= 0; i++) {
        const struct tutti_carry_piece *piece = &w->piece[i];
        int after = piece->copied ? copy : -1;
        if (!out)
            status = after = receives[i] = window_transfer(w, &used, piece, piece->item->from, 1, -1);
        for (int t = 0; t < piece->item->tos && status >= 0; t++)
            status = window_transfer(w, &used, piece, piece->item->to[t], 0, after);
    }
    if (status < 0 || out || !copied)
        return status < 0 ? status : TUTTI_OK;
    copy = status = tutti_sched_add(w->sched, &tutti_carry_copies, w, 0);
    for (int i = 0; i < w->pieces && status >= 0; i++)
        status = tutti_sched_after(w->sched, copy, receives[i], TUTTI_AFTER_END);
    return status < 0 ? status : TUTTI_OK;
}

static int window_start(struct tutti_carry_window *w)
{
    const size_t bytes = window_fill(w);
    size_t at = 0, transfers = 0;
    int status = bytes > 0 ? tutti_host_memory_take(&w->area, bytes) : TUTTI_OK;
    for (int i = 0; i < w->pieces; i++) {
        struct tutti_carry_piece *piece = &w->piece[i];
        transfers += (size_t)piece->item->tos + (w->flow->way == TUTTI_CARRY_IN);
        if (!piece->copied)
            continue;
        piece->memory = w->area.memory + at;
        at += piece->bytes;
    }
    w->transfer = calloc(transfers, sizeof *w->transfer);
    w->sched = tutti_sched_new("move over several nodes");
    if (status == TUTTI_OK && (!w->transfer || !w->sched))
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = window_tasks(w, bytes > 0);
    if (status == TUTTI_OK)
        tutti_sched_start(w->sched);
    return status;
}

static void window_end(struct tutti_carry_window *w)
{
    tutti_sched_free(w->sched);
    free(w->transfer);
    tutti_host_memory_give(&w->area);
    w->sched = NULL;
    w->transfer = NULL;
}

/* ---- directions ---- */

static int items_by_order(const void *one, const void *other)
{
    const struct tutti_carry_item *a = one, *b = other;
    return (a->order > b->order) - (a->order < b->order);
}

/* Of all elements: other threads only read where they lie later. Opens a stream on the first GPU that holds some. */
static int flow_look(struct tutti_carry_flow *flow, struct tutti_elements *elements)
{
    struct tutti_port *port = &flow->wire->call->kept->port[flow->wire->number][flow->way];
    const int host = tutti_carry_on_host(elements);
    if (flow->port || host || !tutti_places_reached(&elements->places))
        return TUTTI_OK;
    int gpu = elements->places.gpu;
    if (gpu < 0)
        gpu = flow->wire->call->move->current;
    if (gpu < 0 && tutti_device()->gpu.current(&gpu) != TUTTI_OK)
        gpu = 0;
    const int status = tutti_port_open(port, gpu);
    flow->port = status == TUTTI_OK ? port : NULL;
    return status;
}

static int flow_open(struct tutti_carry_flow *flow)
{
    const uint64_t most = flow->wire->call->piece;
    int status = TUTTI_OK;
    if (flow->items > 1)
        qsort(flow->item, (size_t)flow->items, sizeof *flow->item, items_by_order);
    for (int i = 0; i < flow->items && status == TUTTI_OK; i++) {
        const struct tutti_carry_item *item = &flow->item[i];
        const uint64_t turns = (item->bytes + most - 1) / most;
        flow->turns = turns > flow->turns ? turns : flow->turns;
        if (item->elements)
            status = flow_look(flow, item->elements);
        for (int k = 0; k < item->parts && status == TUTTI_OK; k++)
            status = flow_look(flow, item->part[k].elements);
    }
    for (int k = 0; k < TUTTI_CARRY_WINDOWS; k++)
        flow->window[k] = (struct tutti_carry_window){.flow = flow, .event = flow->port ? flow->port->event[k] : NULL};
    return status;
}

static int flow_at_end(const struct tutti_carry_flow *flow)
{
    struct tutti_carry_flow ahead = {.wire = flow->wire,
                                     .item = flow->item,
                                     .items = flow->items,
                                     .turn = flow->turn,
                                     .next = flow->next,
                                     .turns = flow->turns};
    struct tutti_carry_piece unused;
    return !flow_next_piece(&ahead, &unused);
}

/* 1: all pieces have gone; 0; a status. */
static int flow_advance(struct tutti_carry_flow *flow)
{
    while (flow->ended < flow->begun) {
        struct tutti_carry_window *w = &flow->window[flow->ended % TUTTI_CARRY_WINDOWS];
        if (!tutti_sched_done(w->sched))
            break;
        if (tutti_sched_status(w->sched) != TUTTI_OK)
            return tutti_sched_status(w->sched);
        window_end(w);
        flow->ended++;
    }
    while (flow->begun - flow->ended < TUTTI_CARRY_WINDOWS && !flow_at_end(flow)) {
        const int status = window_start(&flow->window[flow->begun++ % TUTTI_CARRY_WINDOWS]);
        if (status != TUTTI_OK)
            return status;
    }
    return flow->ended == flow->begun;
}

/* ---- wires ---- */

int tutti_carry_wire_open(struct tutti_carry_wire *wire, struct tutti_carry_call *call,
                          struct tutti_transport *transport, int number, int outs, int ins)
{
    memset(wire, 0, sizeof *wire);
    wire->call = call;
    wire->transport = transport;
    wire->number = number;
    for (int way = 0; way < TUTTI_CARRY_WAYS; way++) {
        struct tutti_carry_flow *flow = &wire->flow[way];
        flow->wire = wire;
        flow->way = (enum tutti_carry_way)way;
        flow->item = calloc((size_t)(way == TUTTI_CARRY_OUT ? outs : ins) + 1, sizeof *flow->item);
        if (!flow->item)
            return TUTTI_ERR_MEMORY;
    }
    return TUTTI_OK;
}

void tutti_carry_wire_send(struct tutti_carry_wire *wire, struct tutti_elements *elements, uint64_t first,
                           uint64_t bytes, const int *to, int tos, int order)
{
    struct tutti_carry_flow *flow = &wire->flow[TUTTI_CARRY_OUT];
    if (bytes > 0 && tos > 0)
        flow->item[flow->items++] = (struct tutti_carry_item){
            .elements = elements, .first = first, .bytes = bytes, .from = -1, .to = to, .tos = tos, .order = order};
}

void tutti_carry_wire_receive(struct tutti_carry_wire *wire, struct tutti_elements *elements, uint64_t first,
                              uint64_t bytes, int from, const int *pass_to, int tos, int order)
{
    struct tutti_carry_flow *flow = &wire->flow[TUTTI_CARRY_IN];
    if (bytes > 0)
        flow->item[flow->items++] = (struct tutti_carry_item){.elements = elements,
                                                              .first = first,
                                                              .bytes = bytes,
                                                              .from = from,
                                                              .to = pass_to,
                                                              .tos = tos,
                                                              .order = order};
}

void tutti_carry_wire_join(struct tutti_carry_wire *wire, enum tutti_carry_way way, const struct tutti_carry_part *part,
                           int parts, const int *rank, int order)
{
    struct tutti_carry_flow *flow = &wire->flow[way];
    const int out = way == TUTTI_CARRY_OUT;
    if (parts > 0)
        flow->item[flow->items++] = (struct tutti_carry_item){.part = part,
                                                              .parts = parts,
                                                              .bytes = part[parts - 1].end,
                                                              .from = out ? -1 : *rank,
                                                              .to = out ? rank : NULL,
                                                              .tos = out,
                                                              .order = order};
}

static void wire_cancel(void *with, int status)
{
    struct tutti_carry_wire *wire = with;
    for (int i = 0; i < TUTTI_CARRY_WAYS * TUTTI_CARRY_WINDOWS; i++) {
        struct tutti_carry_window *w = &wire->flow[i / TUTTI_CARRY_WINDOWS].window[i % TUTTI_CARRY_WINDOWS];
        if (!w->sched)
            continue;
        tutti_sched_cancel(w->sched, status);
        w->area = (struct tutti_host_memory){.memory = NULL}; /* the transport may still use it: it is lost */
    }
}

static int wire_advance(void *with)
{
    struct tutti_carry_wire *wire = with;
    const int in = flow_advance(&wire->flow[TUTTI_CARRY_IN]);
    const int out = in >= 0 ? flow_advance(&wire->flow[TUTTI_CARRY_OUT]) : in;
    return out < 0 ? out : in && out;
}

int tutti_carry_wire_start(struct tutti_carry_wire *wire)
{
    int status = flow_open(&wire->flow[TUTTI_CARRY_OUT]);
    if (status == TUTTI_OK)
        status = flow_open(&wire->flow[TUTTI_CARRY_IN]);
    if (status == TUTTI_OK && wire->call->desk) {
        wire->handed.advance = wire_advance;
        wire->handed.cancel = wire_cancel;
        wire->handed.with = wire;
        tutti_carry_handed_give(wire->call->desk, wire->number, &wire->handed);
    } else if (status == TUTTI_OK) {
        status = wire_advance(wire);
    }
    return status < 0 ? status : TUTTI_OK;
}

int tutti_carry_wire_wait(struct tutti_carry_wire *wire)
{
    if (wire->call->desk)
        return tutti_carry_handed_wait(&wire->handed);
    return tutti_progress_wait(&(const struct tutti_wait){.done = wire_advance,
                                                          .with = wire,
                                                          .what = "for other ranks, in a move over several nodes",
                                                          .crowded = 1, /* a round takes longer than to yield */
                                                          .seconds = tutti_settings()->timeout_seconds,
                                                          .watched = 1});
}

void tutti_carry_wire_where(const struct tutti_carry_wire *wire, char *text, size_t size)
{
    text[0] = '\0';
    for (int i = 0; i < TUTTI_CARRY_WAYS * TUTTI_CARRY_WINDOWS && text[0] == '\0'; i++) {
        const struct tutti_sched *sched =
            wire->flow[TUTTI_CARRY_IN - i / TUTTI_CARRY_WINDOWS].window[i % TUTTI_CARRY_WINDOWS].sched;
        if (sched && !tutti_sched_done(sched))
            tutti_sched_where(sched, text, size);
    }
}

void tutti_carry_wire_close(struct tutti_carry_wire *wire, int status)
{
    const int given = wire->handed.with != NULL;
    if (status < 0 && given)
        tutti_carry_handed_stop(wire->call->desk, wire->number, &wire->handed, status);
    else if (status < 0)
        wire_cancel(wire, status);
    for (int way = 0; way < TUTTI_CARRY_WAYS; way++) {
        struct tutti_carry_flow *flow = &wire->flow[way];
        for (int k = 0; k < TUTTI_CARRY_WINDOWS; k++)
            window_end(&flow->window[k]);
        free(flow->item);
        free(flow->part);
        flow->item = NULL;
        flow->part = NULL;
    }
}

/* One call: a row of steps that is the same on all ranks. Each piece of the message is reduced in the node, exchanged,
 * and handed out. With overlap the node reduces the next piece, and begins its exchange, before it waits for the
 * exchange of this one: so the network has something to do when an exchange ends, and between the two halves of one. */
#include <stdlib.h>

#include "coll/hier/own.h"
#include "core/phases.h"
#include "core/reserve.h"
#include "core/settings.h"
#include "core/status.h"
#include "core/types.h"
#include "progress/engine.h"

_Static_assert(TUTTI_HIERARCHY_REDUCTIONS + 2 * TUTTI_AREAS * TUTTI_WIRE_TAGS <= TUTTI_HIERARCHY_MOVES, "two forms");

/* ---- pieces and steps ---- */

static int wanted_in_node(const struct tutti_nodes_call *c, struct tutti_part_of of)
{
    const struct tutti_hierarchy *h = c->nodes->hierarchy;
    int wanted = 0;
    for (int i = 0; i < h->size && !wanted; i++)
        wanted = tutti_nodes_wanted(c, h->member[i], of, NULL).count > 0;
    return wanted;
}

/* Step number `at`; *piece: of which piece, which may be one past the last. */
static enum tutti_nodes_step step_of(const struct tutti_nodes_call *c, int at, int *piece)
{
    static const enum tutti_nodes_step steps[] = {TUTTI_STEP_REDUCE, TUTTI_STEP_BEGIN, TUTTI_STEP_AWAIT,
                                                  TUTTI_STEP_HAND_OUT};
    if (!c->row->overlaps || at < 2) { /* the first piece is reduced and begun in any case */
        *piece = at / 4;
        return steps[at % 4];
    }
    const enum tutti_nodes_step step = steps[(at - 2) % 4];
    *piece = (at - 2) / 4 + (step == TUTTI_STEP_REDUCE || step == TUTTI_STEP_BEGIN);
    return step;
}

static int steps_of(const struct tutti_nodes_call *c)
{
    return c->row->overlaps ? 4 * c->pieces + 2 : 4 * c->pieces;
}

/* ---- steps ---- */

/* 1 if the ranks of this node meet in a call. */
static int meets_in_node(const struct tutti_nodes_call *c)
{
    return !c->row->flat && c->nodes->hierarchy->size > 1;
}

/* A job, at once or on the worker. 1: it has ended; 0: not yet. A status. */
static int job_step(struct tutti_nodes_call *c, int (*run)(void *with), int piece)
{
    c->waiting = NULL;
    if (!c->under_way) {
        c->under_way = 1;
        c->job_piece = piece;
        c->job = (struct tutti_job){.run = run, .with = c};
        if (!c->worker) {
            c->job.status = run(c);
            return c->job.status < 0 ? c->job.status : 1;
        }
        const int status = tutti_worker_give(c->worker, &c->job);
        return status < 0 ? status : 0;
    }
    if (c->worker && !tutti_job_done(&c->job))
        return 0;
    return c->job.status < 0 ? c->job.status : 1;
}

/* A schedule in the node. 1, 0 or a status. */
static int local_step(struct tutti_nodes_call *c, int (*build)(struct tutti_nodes_call *c, int piece), int piece)
{
    if (!c->local.sched) {
        const int status = build(c, piece);
        if (status != TUTTI_OK)
            return status;
        tutti_sched_start(c->local.sched);
    }
    c->waiting = c->local.sched;
    if (!tutti_sched_done(c->local.sched))
        return 0;
    const int status = tutti_sched_status(c->local.sched);
    if (status == TUTTI_OK)
        tutti_wire_end(&c->local);
    return status == TUTTI_OK ? 1 : status;
}

static int reduce_step(struct tutti_nodes_call *c, int piece)
{
    if (!meets_in_node(c))
        return 1;
    if (!c->by_messages) {
        const int done = job_step(c, tutti_nodes_reduce, piece);
        if (done != 1 || c->taken == TUTTI_REDUCE_DONE)
            return done;
        c->by_messages = c->out_by_messages = 1;
    }
    return local_step(c, tutti_nodes_gather, piece);
}

/* Where the exchange takes the contribution from. */
static int wire_from(struct tutti_nodes_call *c, int piece, struct tutti_part_of part, struct tutti_wire *w)
{
    const int area = piece % TUTTI_AREAS;
    char *const in = (char *)(uintptr_t)c->call->in + part.begin * c->size;
    if (!meets_in_node(c))
        return tutti_nodes_end(c, TUTTI_PORT_OUT, c->in_gpu, c->in_host, in, area, &w->from);
    if (!c->by_messages)
        return tutti_nodes_end(c, TUTTI_PORT_OUT, c->in_gpu, 0, tutti_nodes_arrives(c, piece), area, &w->from);
    w->from = (struct tutti_wire_end){.memory = w->in};
    return TUTTI_OK;
}

/* Where its result goes: to the program's buffer if this rank gets it, or if it hands it out from there; otherwise back
 * to where the node's reduction has arrived. What is handed out by messages stays in the area. */
static int wire_to(struct tutti_nodes_call *c, int piece, struct tutti_part_of part, struct tutti_wire *w)
{
    const int area = piece % TUTTI_AREAS;
    char *to = NULL;
    const struct tutti_part_of wanted = tutti_nodes_wanted(c, c->nodes->hierarchy->ranks->rank, part, &to);
    if (!meets_in_node(c) || (c->all_get && !c->out_by_messages)) {
        w->to_first = wanted.begin - part.begin;
        w->to_count = wanted.count;
        return tutti_nodes_end(c, TUTTI_PORT_IN, c->out_gpu, c->out_host, to, area, &w->to);
    }
    if (c->out_by_messages || !wanted_in_node(c, part))
        return TUTTI_OK;
    w->to_count = part.count;
    return tutti_nodes_end(c, TUTTI_PORT_IN, c->in_gpu, 0, tutti_nodes_arrives(c, piece), area, &w->to);
}

static int begin_step(struct tutti_nodes_call *c, int piece)
{
    const struct tutti_hierarchy *h = c->nodes->hierarchy;
    const struct tutti_part_of part = tutti_nodes_own_part(c, piece);
    struct tutti_wire *w = &c->wire[piece % TUTTI_AREAS];
    struct tutti_host_memory *area = &c->area[piece % TUTTI_AREAS];
    if (part.count == 0)
        return 1;
    const struct tutti_exchange_row *row = tutti_nodes_exchange(c, part.count);
    const size_t bytes = part.count * c->size;
    int status = tutti_area_take_piece(c, piece);
    *w = (struct tutti_wire){.transport = h->ranks,
                             .peer = c->row->flat ? c->nodes->all : h->peer,
                             .names = c->row->flat ? c->nodes->all : h->peer,
                             .n = tutti_nodes_participants(c),
                             .me = c->row->flat ? h->ranks->rank : h->node,
                             .pinned = area->bounce != NULL,
                             .tag = c->tag + piece % TUTTI_AREAS * TUTTI_WIRE_TAGS,
                             .type = c->call->type,
                             .op = c->call->op,
                             .size = c->size,
                             .count = part.count,
                             .in = area->memory,
                             .out = area->memory + bytes,
                             .room = area->memory + 2 * bytes};
    const struct tutti_part_of of = {tutti_nodes_piece(c, piece).begin + part.begin, part.count};
    if (status == TUTTI_OK)
        status = wire_from(c, piece, of, w);
    if (status == TUTTI_OK)
        status = wire_to(c, piece, of, w);
    if (status == TUTTI_OK && !row->prefixes)
        status = tutti_nodes_wire_kernels(c, piece, w);
    if (status == TUTTI_OK)
        status = tutti_wire_build(w, row);
    if (status != TUTTI_OK) {
        tutti_wire_end(w);
        return status;
    }
    c->stored[piece % TUTTI_AREAS] = (struct tutti_nodes_stored){.at = w->stored ? w->to.memory : NULL, .bytes = bytes};
    tutti_sched_start(w->sched);
    return 1;
}

/* What the wire leaves in its area is handed out from there, so only the schedule is freed. */
static int await_step(struct tutti_nodes_call *c, int piece)
{
    struct tutti_wire *w = &c->wire[piece % TUTTI_AREAS];
    if (!w->sched)
        return 1;
    c->waiting = w->sched;
    if (!tutti_sched_done(w->sched))
        return 0;
    const int status = tutti_sched_status(w->sched);
    if (status == TUTTI_OK)
        tutti_wire_end(w);
    return status == TUTTI_OK ? 1 : status;
}

static int hand_out_step(struct tutti_nodes_call *c, int piece)
{
    if (!meets_in_node(c) || !wanted_in_node(c, tutti_nodes_piece(c, piece)))
        return 1;
    if (!c->out_by_messages) {
        const int done = job_step(c, tutti_nodes_hand_out, piece);
        if (done != 1 || c->how)
            return done;
        c->out_by_messages = 1;
    }
    const int back = tutti_nodes_bring_back(c, piece);
    return back == 1 ? local_step(c, tutti_nodes_scatter, piece) : back;
}

/* As far as it goes without waiting for another rank, but for the jobs of a blocking call. 1: it has ended. A status.
 */
static int advance(struct tutti_nodes_call *c)
{
    static int (*const run[])(struct tutti_nodes_call *, int) = {[TUTTI_STEP_REDUCE] = reduce_step,
                                                                 [TUTTI_STEP_BEGIN] = begin_step,
                                                                 [TUTTI_STEP_AWAIT] = await_step,
                                                                 [TUTTI_STEP_HAND_OUT] = hand_out_step};
    static const enum tutti_phase phase[] = {[TUTTI_STEP_REDUCE] = TUTTI_PHASE_ARRIVAL,
                                             [TUTTI_STEP_BEGIN] = TUTTI_PHASE_LEADERS,
                                             [TUTTI_STEP_AWAIT] = TUTTI_PHASE_LEADERS,
                                             [TUTTI_STEP_HAND_OUT] = TUTTI_PHASE_HANDOUT};
    const int steps = steps_of(c);
    while (c->at < steps) {
        int piece;
        const enum tutti_nodes_step step = step_of(c, c->at, &piece);
        tutti_phase(phase[step]);
        tutti_phase_hold(step == TUTTI_STEP_HAND_OUT);
        const int done = piece < c->pieces ? run[step](c, piece) : 1;
        tutti_phase_hold(0);
        if (done != 1)
            return done;
        c->under_way = 0;
        c->at++;
    }
    return 1;
}

/* ---- calls ---- */

static void nodes_call_open(struct tutti_nodes_call *c, struct tutti_nodes *nodes, const struct tutti_call *call,
                            const struct tutti_nodes_row *row, const struct tutti_nodes_moves *moves,
                            struct tutti_worker *worker)
{
    const struct tutti_hierarchy *h = nodes->hierarchy;
    *c = (struct tutti_nodes_call){.nodes = nodes, .call = call, .moves = moves, .worker = worker};
    c->size = tutti_type_size(call->type);
    c->row = row->scans && tutti_nodes_is_scan(call->collective) ? &tutti_nodes_ranks : row;
    c->form = &nodes->form[worker != NULL];
    c->team = worker ? h->team->nonblocking : h->team;
    c->tag = TUTTI_HIERARCHY_REDUCTIONS + (worker ? TUTTI_AREAS * TUTTI_WIRE_TAGS : 0);
    c->leaders = c->row->leaders > 0 ? c->row->leaders : h->least;
    c->all_get = call->collective == TUTTI_COLLECTIVE_ALLREDUCE;
    tutti_nodes_look_at(call->in, &c->in_host, &c->in_gpu);
    tutti_nodes_look_at(call->out, &c->out_host, &c->out_gpu);
    const size_t part = ((size_t)tutti_settings()->nodes_piece_kb << 10) / c->size;
    c->each = part * (size_t)(c->row->flat ? 1 : c->leaders);
    c->pieces = (int)((call->count + c->each - 1) / c->each);
    if (call->kind == TUTTI_ARRIVAL_DEVICE && call->gpu >= 0) /* managed memory is of any GPU */
        c->in_gpu = c->out_gpu = call->gpu;
    c->by_messages = c->out_by_messages = c->row->messages;
    const size_t few = call->count < part ? call->count : part;
    c->kernels = !c->in_host && few > 0 && tutti_nodes_by_kernels(nodes, few * c->size) && tutti_nodes_kernels(c);
    if (call->kind == TUTTI_ARRIVAL_DEVICE && meets_in_node(c) && !c->by_messages)
        tutti_nodes_scratch(c);
    else if (!c->in_host && !worker && call->count * c->size <= tutti_device()->memory.few)
        tutti_nodes_few(c->team, c->in_gpu);
}

/* The ranks of the node notice a failure through their team. */
static void break_node(struct tutti_team *team, int status)
{
    if (team->size > 1 && team->state != TUTTI_TEAM_BROKEN)
        tutti_team_break(team, status);
}

static int nodes_call_close(struct tutti_nodes_call *c, int status)
{
    if (status < 0) {
        tutti_nodes_fails(c, status);
        c->nodes->status = status;
        for (int i = 0; i < TUTTI_AREAS; i++) {
            if (c->wire[i].sched)
                tutti_sched_cancel(c->wire[i].sched, status);
        }
        if (c->local.sched)
            tutti_sched_cancel(c->local.sched, status);
        break_node(c->team, status);
    }
    for (int i = 0; i < TUTTI_AREAS; i++) {
        if (status < 0 && (c->wire[i].sched || c->stored[i].back))
            c->area[i] = (struct tutti_host_memory){
                .memory = NULL}; /* the transport or the device may still use it: it is lost */
        tutti_host_memory_give(&c->area[i]);
    }
    if (status < 0 && c->local.sched)
        c->local_area = (struct tutti_host_memory){.memory = NULL};
    tutti_host_memory_give(&c->local_area);
    for (int i = 0; i < TUTTI_AREAS; i++)
        tutti_wire_end(&c->wire[i]);
    tutti_wire_end(&c->local);
    return status < 0 ? status : TUTTI_OK;
}

static int sched_ended(void *with)
{
    const struct tutti_nodes_call *c = with;
    if (TUTTI_PHASES_WATCHED)
        tutti_nodes_phase(c);
    return !c->waiting || tutti_sched_done(c->waiting);
}

/* By pieces and steps. */
static int call_run(struct tutti_nodes *nodes, const struct tutti_call *call, const struct tutti_nodes_row *row,
                    const struct tutti_nodes_moves *moves)
{
    struct tutti_nodes_call c;
    int done;
    nodes_call_open(&c, nodes, call, row, moves, NULL);
    while ((done = advance(&c)) == 0) {
        const int status = tutti_progress_wait(&(const struct tutti_wait){.done = sched_ended,
                                                                          .with = &c,
                                                                          .what = "for other ranks, in a reduction",
                                                                          .seconds = tutti_settings()->timeout_seconds,
                                                                          .watched = 1});
        if (status != TUTTI_OK)
            return nodes_call_close(&c, status);
    }
    return nodes_call_close(&c, done);
}

int tutti_nodes_run(struct tutti_nodes *nodes, const struct tutti_call *call, const struct tutti_nodes_moves *moves,
                    const char **why)
{
    if (nodes->status != TUTTI_OK)
        return nodes->status;
    const struct tutti_nodes_row *row =
        tutti_nodes_choose(nodes, call->collective, call->count * tutti_type_size(call->type));
    *why = row->name;
    if (!row->run)
        return call_run(nodes, call, row, moves);
    nodes->status = row->run(nodes, call, moves->name);
    if (nodes->status != TUTTI_OK)
        break_node(nodes->hierarchy->team, nodes->status);
    return nodes->status;
}

struct tutti_nodes_call *tutti_nodes_begin(struct tutti_nodes *nodes, const struct tutti_call *call,
                                           const struct tutti_nodes_moves *moves, struct tutti_worker *worker)
{
    static struct tutti_reserve reserve; /* a rank without memory would leave the others waiting */
    struct tutti_nodes_call *c = tutti_reserve_take(&reserve, sizeof *c);
    if (c)
        nodes_call_open(c, nodes, call,
                        tutti_nodes_choose(nodes, call->collective, call->count * tutti_type_size(call->type)), moves,
                        worker);
    return c;
}

/* A nonblocking call that waits for messages. 0, or TUTTI_ERR_TIMEOUT. */
static int look_at_time(struct tutti_nodes_call *c)
{
    uint64_t seconds;
    const int status = tutti_stall_look(&c->stall, &seconds);
    if (status == TUTTI_STALL_REPORT)
        tutti_nodes_stalls(c, seconds);
    return status == TUTTI_ERR_TIMEOUT ? status : 0;
}

int tutti_nodes_poll(struct tutti_nodes_call *call, int *status, const char **why)
{
    const int first = call->at == 0 && !call->under_way;
    int done = first && call->nodes->status != TUTTI_OK ? call->nodes->status : advance(call);
    tutti_stall_poll(&call->stall, call->at);
    if (done == 0 && call->waiting) /* a job has a time limit of its own, and reports itself */
        done = look_at_time(call);
    if (done == 0)
        return 0;
    *why = call->row->name;
    *status = nodes_call_close(call, done);
    free(call);
    return 1;
}

#include "coll/hier/wire.h"

#include <stdlib.h>
#include <string.h>

#include "core/phases.h"
#include "core/status.h"
#include "kernels/args.h"

/* ---- adding tasks ---- */

static int wire_keep(struct tutti_wire *w, int task)
{
    if (task < 0 && w->status == TUTTI_OK)
        w->status = task;
    return task;
}

void tutti_wire_after(struct tutti_wire *wire, int task, int before, enum tutti_task_after what)
{
    if (wire->status == TUTTI_OK && task >= 0 && before >= 0)
        wire_keep(wire, tutti_sched_after(wire->sched, task, before, what));
}

void tutti_wire_ends(struct tutti_wire *wire, int task)
{
    if (wire->status == TUTTI_OK && task >= 0)
        wire->end[wire->ends++] = task;
}

static struct tutti_transfer_task *wire_transfer(struct tutti_wire *w, int peer, int tag, void *memory, size_t count)
{
    struct tutti_transfer_task *task = &w->transfer[w->transfers++];
    *task = (struct tutti_transfer_task){.transport = w->transport,
                                         .memory = memory,
                                         .bytes = count * w->size,
                                         .rank = w->peer[peer],
                                         .tag = w->tag + tag};
    return task;
}

int tutti_wire_send(struct tutti_wire *wire, int to, int tag, const void *memory, size_t count, int after)
{
    if (wire->status != TUTTI_OK)
        return -1;
    struct tutti_transfer_task *task = wire_transfer(wire, to, tag, (void *)(uintptr_t)memory, count);
    const int number = wire_keep(wire, tutti_task_send(wire->sched, task, (uint64_t)wire->names[to]));
    tutti_wire_after(wire, number, after, TUTTI_AFTER_END);
    return number;
}

int tutti_wire_receive(struct tutti_wire *wire, int from, int tag, void *memory, size_t count)
{
    if (wire->status != TUTTI_OK)
        return -1;
    return wire_keep(wire, tutti_task_receive(wire->sched, wire_transfer(wire, from, tag, memory, count),
                                              (uint64_t)wire->names[from]));
}

/* A kernel takes so many contributions; of more, the result so far is the first of the next ones. */
int tutti_wire_combine(struct tutti_wire *wire, void *out, size_t count)
{
    return tutti_wire_combine_some(wire, NULL, 0, wire->n, out, count, -1);
}

int tutti_wire_combine_some(struct tutti_wire *wire, const void *so_far, int begin, int end, void *out, size_t count,
                            int after)
{
    int last = after;
    for (int next = begin; next < end && wire->status == TUTTI_OK;) {
        struct tutti_combine_task *task = &wire->combine[wire->combines++];
        const void **inputs = &wire->inputs[wire->input_count];
        const int first = next;
        int n = 0;
        if (next > begin || so_far)
            inputs[n++] = next == begin ? so_far : out;
        while (n < TUTTI_MAX_RANKS && next < end)
            inputs[n++] = wire->theirs[next++];
        wire->input_count += n;
        *task = (struct tutti_combine_task){.type = wire->type,
                                            .op = wire->op,
                                            .inputs = n,
                                            .in = inputs,
                                            .out = out,
                                            .count = count,
                                            .stream = wire->kernels,
                                            .event = wire->combined};
        const int number = wire_keep(wire, tutti_task_combine(wire->sched, task, (uint64_t)first));
        tutti_wire_after(wire, number, last, TUTTI_AFTER_END);
        for (int i = first; i < next; i++)
            tutti_wire_after(wire, number, wire->brought[i], TUTTI_AFTER_END);
        last = number;
    }
    return last;
}

int tutti_wire_copy(struct tutti_wire *wire, void *to, const void *from, size_t count, int after)
{
    if (wire->status != TUTTI_OK)
        return -1;
    wire->copy[2] = (struct tutti_copy_task){
        .job = {.direction = TUTTI_PACK, .memory = (void *)(uintptr_t)from, .packed = to, .bytes = count * wire->size}};
    const int number = wire_keep(wire, tutti_task_copy(wire->sched, &wire->copy[2], 0));
    tutti_wire_after(wire, number, after, TUTTI_AFTER_END);
    return number;
}

/* ---- the whole ---- */

/* The host may copy when the task is posted. The time in which a device copies is seen in the wait. */
static __thread enum tutti_phase phase_before;

static int wire_copy_ready(void *unused, uint64_t direction)
{
    (void)unused;
    phase_before = tutti_phase(direction == TUTTI_PACK ? TUTTI_PHASE_COPY_OUT : TUTTI_PHASE_COPY_IN);
    return 1;
}

static void wire_copy_begun(void *unused, uint64_t direction)
{
    (void)unused, (void)direction;
    tutti_phase(phase_before);
}

static const struct tutti_task_hooks copy_phases = {.ready = wire_copy_ready, .begun = wire_copy_begun};

/* A copy between host memory and an end. */
static int wire_copy_end(struct tutti_wire *w, struct tutti_copy_task *task, const struct tutti_wire_end *end,
                         char *host, size_t count, enum tutti_direction direction)
{
    *task = (struct tutti_copy_task){
        .user = {.hooks = &copy_phases},
        .job = {.direction = direction, .memory = end->memory, .packed = host, .bytes = count * w->size},
        .gpu = end->gpu,
        .stream = end->stream,
        .event = end->event,
        .reached = w->pinned};
    return wire_keep(w, tutti_task_copy(w->sched, task, (uint64_t)direction));
}

/* As many of each as any row adds. */
static int wire_room(struct tutti_wire *w, int prefixes)
{
    const size_t n = (size_t)w->n, each = prefixes ? n / TUTTI_MAX_RANKS + 1 : 1;
    w->transfer = calloc(4 * n, sizeof *w->transfer);
    w->combine = calloc(2 * n * each, sizeof *w->combine);
    w->inputs = calloc(prefixes ? (n + each) * n : 2 * n, sizeof *w->inputs);
    w->end = calloc(4 * n, sizeof *w->end);
    w->theirs = calloc(n, sizeof *w->theirs);
    w->brought = calloc(n, sizeof *w->brought);
    w->sched = tutti_sched_new("reduction over several nodes");
    const int fine = w->transfer && w->combine && w->inputs && w->end && w->theirs && w->brought && w->sched;
    return fine ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

int tutti_wire_build(struct tutti_wire *wire, const struct tutti_exchange_row *row)
{
    wire->transfers = wire->combines = wire->input_count = wire->ends = 0;
    wire->status = wire_room(wire, row->prefixes);
    if (wire->status != TUTTI_OK)
        return wire->status;
    wire->mine = wire->from.stream ? wire->in : wire->from.memory;
    wire->have = -1;
    if (wire->from.memory && wire->from.stream)
        wire->have = wire_copy_end(wire, &wire->copy[0], &wire->from, wire->in, wire->count, TUTTI_PACK);
    wire->held = wire->kernels ? wire->from.memory : wire->mine;
    wire->holds = wire->kernels ? -1 : wire->have;
    wire->stored = row->stores && wire->kernels && wire->to.stream && wire->to.gpu == wire->from.gpu &&
                   wire->to_count == wire->count;
    row->add(wire);
    if (wire->status == TUTTI_OK && wire->to.memory && wire->to_count > 0 && !wire->stored) {
        const int last = wire_copy_end(wire, &wire->copy[1], &wire->to, wire->out + wire->to_first * wire->size,
                                       wire->to_count, TUTTI_UNPACK);
        for (int i = 0; i < wire->ends; i++)
            tutti_wire_after(wire, last, wire->end[i], TUTTI_AFTER_END);
    }
    return wire->status;
}

void tutti_wire_end(struct tutti_wire *wire)
{
    tutti_sched_free(wire->sched);
    free(wire->transfer);
    free(wire->combine);
    free(wire->inputs);
    free(wire->end);
    free(wire->theirs);
    free(wire->brought);
    *wire = (struct tutti_wire){.sched = NULL};
}

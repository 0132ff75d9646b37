/* Programs of the model in words. */
#include <stdio.h>

#include "model.h"

static const char *const kinds[] = {"host", "device", "pinned", "managed"};

static int text_layout(const struct model_layout *l, char *to, size_t room)
{
    return snprintf(to, room, "%d x %s in %d elements of %d runs, extent %ld, from %ld to %ld", l->n,
                    model_element_names[l->element], l->count, l->runs, l->extent, l->low, l->high);
}

static void text_op(const struct model *m, const struct model_op *op, char *to, size_t room)
{
    static const char *const names[] = {"origin", "compare", "result"};
    const struct model_window *window = &m->window[op->window];
    size_t at = (size_t)snprintf(
        to, room, "%s to rank %d, window %d (flavour %d, unit %d, %s) region %d at %zu: ", model_call_names[op->call],
        op->target, op->window, (int)window->flavour, op->target < 0 ? 0 : window->unit[op->target],
        op->target < 0 ? "none" : kinds[window->region[op->target][op->region].kind], op->region, op->at);
    if (at < room)
        at += (size_t)text_layout(&op->to, to + at, room - at);
    if (at < room)
        at += (size_t)snprintf(to + at, room - at, ", %s", model_operator_names[op->op]);
    for (int b = 0; b < MODEL_BUFFERS && at < room; b++) {
        if (op->buffer[b].used && at < room)
            at += (size_t)snprintf(to + at, room - at, "; %s: %s at %zu, %d elements of %d runs", names[b],
                                   kinds[op->buffer[b].kind], op->buffer[b].at, op->buffer[b].layout.count,
                                   op->buffer[b].layout.runs);
    }
}

void model_text(const struct model *m, const struct model_action *a, char *text, size_t room)
{
    static const char *const names[] = {"barrier", "fence",     "post",     "start",      "complete", "wait",
                                        "lock",    "unlock",    "lock_all", "unlock_all", "flush",    "flush_all",
                                        "sync",    "operation", "requests", "look at",    "store",    "sleep"};
    int used = snprintf(text, room, "rank %d: %s %d %d %d %d ", a->rank, names[a->what], a->a, a->b, a->c, a->d);
    if (a->what == MODEL_OPERATE || a->what == MODEL_LOOK)
        text_op(m, &m->op[a->a], text + used, room - (size_t)used);
    else if (a->what == MODEL_REQUESTS) {
        for (int i = 0; i < a->b && used < (int)room - 12; i++)
            used += snprintf(text + used, room - (size_t)used, "%d ", m->list[a->a + i]);
    }
}

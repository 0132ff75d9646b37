/* A sequence as text: one line for each unit. */
#include <stdarg.h>
#include <stdio.h>

#include "sequences.h"

static void say(char **text, char *end, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(char **text, char *end, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(*text, (size_t)(end - *text), format, list);
    va_end(list);
    if (n > 0)
        *text = n < end - *text ? *text + n : end - 1;
}

static void say_call(char **text, char *end, const struct seq *seq, int number)
{
    static const char *const kinds[] = {"Allreduce", "Reduce",     "Reduce_scatter", "Reduce_scatter_block",
                                        "Scan",      "Exscan",     "Barrier",        "Bcast",
                                        "Gather",    "Gatherv",    "Scatter",        "Scatterv",
                                        "Allgather", "Allgatherv", "Alltoall",       "Alltoallv"};
    static const char *const forms[] = {"MPI_", "nonblocking ", "MPIX_"};
    const struct seq_call *call = &seq->call[number];
    say(text, end, "call %d: %s%s%s on %d, %zu x %s %s, %zu bytes%s", number, forms[call->form], kinds[call->kind],
        call->form == SEQ_ENQUEUED ? "_enqueue" : "", call->slot, call->total, call->handle->name,
        oracle_op_name(call->op), call->total * call->handle->size, call->in_place ? ", in place" : "");
    if (call->kind == SEQ_REDUCE || (call->kind >= SEQ_BCAST && call->kind <= SEQ_SCATTERV))
        say(text, end, ", root %d", call->root);
    if (call->kind == SEQ_REDUCE_SCATTER || (seq_moves(call->kind) && call->count == 0)) {
        say(text, end, ", to each");
        for (int q = 0; q < call->shape.size; q++)
            say(text, end, " %d", call->counts[q]);
    }
    if (call->times > 1 && call->group < 0)
        say(text, end, ", %d times", call->times);
    say(text, end, "\n");
}

void seq_text(const struct seq *seq, char *text, size_t size)
{
    char *end = text + size;
    for (int slot = 0; slot < SEQ_SLOTS; slot++) {
        struct seq_shape shape = seq_shape_of(slot, seq->id[slot]);
        say(&text, end, "  communicator %d%s: ranks", slot, slot < seq_streams() ? ", with a stream" : "");
        for (int q = 0; q < shape.size; q++)
            say(&text, end, " %d", shape.members[q]);
        say(&text, end, "\n");
    }
    for (int u = 0; u < seq->units; u++) {
        const struct seq_unit *unit = &seq->unit[u];
        say(&text, end, "  %2d ", u);
        if (unit->what == SEQ_CALL) {
            say_call(&text, end, seq, unit->number);
        } else if (unit->what == SEQ_SYNC) {
            say(&text, end, "wait for the stream of %d\n", unit->slot);
        } else if (unit->what == SEQ_MEMORY) {
            say(&text, end, "memory freed and allocated again\n");
        } else if (unit->what == SEQ_RENEW) {
            struct seq_shape shape = seq_shape_of(unit->slot, unit->id);
            say(&text, end, "communicator %d freed and made anew: ranks", unit->slot);
            for (int q = 0; q < shape.size; q++)
                say(&text, end, " %d", shape.members[q]);
            say(&text, end, "\n");
        } else {
            const struct seq_group *group = &seq->group[unit->number];
            say(&text, end, "group %d of %d\n", unit->number, unit->slot);
            for (int i = 0; i < group->calls; i++) {
                say(&text, end, "       ");
                say_call(&text, end, seq, group->first + i);
            }
        }
    }
}

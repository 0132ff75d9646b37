/* all_at_once: each participant sends all of its contribution to all others, and combines for itself. One latency, for
 * few bytes. */
#include "coll/hier/wire.h"

static size_t all_at_once_room(int n, size_t count, size_t size)
{
    return (size_t)n * count * size;
}

static void all_at_once_add(struct tutti_wire *w)
{
    for (int i = 0; i < w->n; i++) {
        char *const theirs = w->room + (size_t)i * w->count * w->size;
        w->theirs[i] = i == w->me ? w->held : theirs;
        w->brought[i] = i == w->me ? w->holds : tutti_wire_receive(w, i, 0, theirs, w->count);
    }
    for (int k = 1; k < w->n; k++) /* each participant begins with another peer */
        tutti_wire_ends(w, tutti_wire_send(w, (w->me + k) % w->n, 0, w->mine, w->count, w->have));
    tutti_wire_ends(w, tutti_wire_combine(w, w->out, w->count));
}

const struct tutti_exchange_row tutti_exchange_all_at_once = {
    .name = "all_at_once",
    .room = all_at_once_room,
    .add = all_at_once_add,
};

/* ---- swap: two participants, each with the room of one part; they send as many bytes as in slices, in one round
 * instead of two, and kernels that combine store the result where it goes ---- */

static size_t swap_room(int n, size_t count, size_t size)
{
    (void)n;
    return count * size;
}

/* The result may go to where the contribution lies, which is copied out before. */
static void swap_add(struct tutti_wire *w)
{
    const int other = 1 - w->me;
    w->theirs[w->me] = w->held;
    w->brought[w->me] = w->have;
    w->theirs[other] = w->room;
    w->brought[other] = tutti_wire_receive(w, other, 0, w->room, w->count);
    tutti_wire_ends(w, tutti_wire_send(w, other, 0, w->mine, w->count, w->have));
    tutti_wire_ends(w, tutti_wire_combine(w, w->stored ? w->to.memory : w->out, w->count));
}

const struct tutti_exchange_row tutti_exchange_swap = {
    .name = "swap",
    .room = swap_room,
    .add = swap_add,
    .stores = 1,
    .most = 2,
};

/* swap: two participants send each other their whole part, and each combines for itself. They send as many bytes as in
 * slices, in one round instead of two; kernels that combine store the result where it goes. */
#include "coll/hier/wire.h"

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

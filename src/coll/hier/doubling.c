/* doubling: as all_at_once, in steps: a participant passes on what it has received before, so that the number of steps
 * grows with the logarithm of the number of participants. Source: J. Bruck et al., "Efficient Algorithms for All-to-All
 * Communications in Multiport Message-Passing Systems" (IEEE TPDS 8(11), 1997), for the gathering. */
#include "coll/hier/wire.h"

static size_t doubling_room(int n, size_t count, size_t size)
{
    return (size_t)n * count * size;
}

/* Block k of the room: the contribution of participant me + k. */
static char *doubling_block(const struct tutti_wire *w, int k)
{
    return w->room + (size_t)k * w->count * w->size;
}

static void doubling_add(struct tutti_wire *w)
{
    int last = tutti_wire_copy(w, w->room, w->mine, w->count, w->have);
    for (int k = 0; k < w->n; k++)
        w->theirs[(w->me + k) % w->n] = doubling_block(w, k);
    w->brought[w->me] = last;
    for (int distance = 1; distance < w->n; distance *= 2) {
        const int blocks = distance < w->n - distance ? distance : w->n - distance;
        const size_t count = (size_t)blocks * w->count;
        const int receive = tutti_wire_receive(w, (w->me + distance) % w->n, 0, doubling_block(w, distance), count);
        tutti_wire_ends(w, tutti_wire_send(w, (w->me + w->n - distance) % w->n, 0, w->room, count, last));
        for (int k = distance; k < distance + blocks; k++)
            w->brought[(w->me + k) % w->n] = receive;
        tutti_wire_after(w, receive, last, TUTTI_AFTER_END); /* so that the next step has the blocks of all before */
        last = receive;
    }
    tutti_wire_ends(w, tutti_wire_combine(w, w->out, w->count));
}

const struct tutti_exchange_row tutti_exchange_doubling = {
    .name = "doubling",
    .room = doubling_room,
    .add = doubling_add,
};

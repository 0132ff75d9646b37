/* slices: each participant combines one slice of all contributions, in the order of the participants, and sends its
 * result to all others. Each link carries each byte twice, however many participants there are. */
#include "coll/hier/slices.h"

#include "core/status.h"

size_t tutti_slices_room(int n, size_t count, size_t size)
{
    return (size_t)n * tutti_part_of(count, n, 0).count * size;
}

void tutti_slices_exchange(struct tutti_wire *w)
{
    const struct tutti_part_of mine = tutti_part_of(w->count, w->n, w->me);
    for (int i = 0; i < w->n; i++) {
        char *const theirs = w->room + (size_t)i * mine.count * w->size;
        w->theirs[i] = i == w->me ? w->held + mine.begin * w->size : theirs;
        w->brought[i] =
            i == w->me || mine.count == 0 ? w->holds : tutti_wire_receive(w, i, TUTTI_SLICES_IN, theirs, mine.count);
    }
    for (int k = 1; k < w->n; k++) {
        const int to = (w->me + k) % w->n;
        const struct tutti_part_of part = tutti_part_of(w->count, w->n, to);
        if (part.count > 0)
            tutti_wire_ends(
                w, tutti_wire_send(w, to, TUTTI_SLICES_IN, w->mine + part.begin * w->size, part.count, w->have));
    }
}

int tutti_slices_reduce(struct tutti_wire *w)
{
    const struct tutti_part_of mine = tutti_part_of(w->count, w->n, w->me);
    tutti_slices_exchange(w);
    if (mine.count == 0)
        return w->have;
    return tutti_wire_combine(w, w->out + mine.begin * w->size, mine.count);
}

static void slices_add(struct tutti_wire *w)
{
    const struct tutti_part_of mine = tutti_part_of(w->count, w->n, w->me);
    const int combined = tutti_slices_reduce(w);
    if (mine.count > 0)
        tutti_wire_ends(w, combined);
    for (int k = 1; k < w->n; k++) {
        const int peer = (w->me + k) % w->n;
        const struct tutti_part_of part = tutti_part_of(w->count, w->n, peer);
        if (part.count > 0)
            tutti_wire_ends(w,
                            tutti_wire_receive(w, peer, TUTTI_SLICES_OUT, w->out + part.begin * w->size, part.count));
        if (mine.count > 0)
            tutti_wire_ends(
                w, tutti_wire_send(w, peer, TUTTI_SLICES_OUT, w->out + mine.begin * w->size, mine.count, combined));
    }
}

const struct tutti_exchange_row tutti_exchange_slices = {
    .name = "slices",
    .room = tutti_slices_room,
    .add = slices_add,
};

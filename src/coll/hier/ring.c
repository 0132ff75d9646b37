/* ring: as slices, but each participant hands the combined slices on to the next one, so that it has two peers at a
 * time. */
#include "coll/hier/slices.h"

/* Step k: the slice that arrived in the step before is sent to the right. */
static void ring_add(struct tutti_wire *w)
{
    const int right = (w->me + 1) % w->n, left = (w->me + w->n - 1) % w->n;
    int have = tutti_slices_reduce(w), sent = -1, received = -1;
    tutti_wire_ends(w, have);
    for (int k = 0; k < w->n - 1; k++) {
        const struct tutti_part_of out = tutti_part_of(w->count, w->n, (w->me + w->n - k) % w->n);
        const struct tutti_part_of in = tutti_part_of(w->count, w->n, (left + w->n - k) % w->n);
        const int receive =
            in.count > 0 ? tutti_wire_receive(w, left, TUTTI_SLICES_OUT, w->out + in.begin * w->size, in.count) : -1;
        tutti_wire_after(w, receive, received, TUTTI_AFTER_POST);
        if (out.count > 0) {
            const int send = tutti_wire_send(w, right, TUTTI_SLICES_OUT, w->out + out.begin * w->size, out.count, have);
            tutti_wire_after(w, send, sent, TUTTI_AFTER_POST);
            tutti_wire_ends(w, sent = send);
        }
        if (receive >= 0)
            tutti_wire_ends(w, received = receive);
        have = receive;
    }
}

const struct tutti_exchange_row tutti_exchange_ring = {
    .name = "ring",
    .room = tutti_slices_room,
    .add = ring_add,
};

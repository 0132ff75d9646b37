/* scan: each participant combines the prefixes of one slice, and sends each participant its own. Each link carries each
 * byte twice, however many participants there are. The bits are those of one node: half precision is rounded once, so
 * a prefix cannot be a term of the next one. */
#include "coll/hier/slices.h"

#include "core/status.h"
#include "core/types.h"
#include "kernels/args.h"

static int scan_is_rounded(int type)
{
    return type == TUTTI_TYPE_F16 || type == TUTTI_TYPE_BF16;
}

/* Contributions of a slice, and its prefixes. */
static size_t scan_room(int n, size_t count, size_t size)
{
    return 2 * tutti_slices_room(n, count, size);
}

/* Where the prefix of this slice lies that participant r gets. */
static char *scan_prefix_at(const struct tutti_wire *w, int r)
{
    const struct tutti_part_of mine = tutti_part_of(w->count, w->n, w->me);
    if (r == w->me)
        return w->out + mine.begin * w->size;
    return w->room + (size_t)(w->n + r) * mine.count * w->size;
}

/* Adds the prefix through contribution `last`, for participant r. before: the task of the prefix before it; -1: none.
 * Returns its task. */
static int scan_add_prefix(struct tutti_wire *w, int last, int r, int before)
{
    const struct tutti_part_of mine = tutti_part_of(w->count, w->n, w->me);
    char *const out = scan_prefix_at(w, r);
    if (scan_is_rounded(w->type) || last < 2)
        return tutti_wire_combine_some(w, NULL, 0, last + 1, out, mine.count, -1);
    return tutti_wire_combine_some(w, scan_prefix_at(w, r - 1), last, last + 1, out, mine.count, before);
}

static void scan_add(struct tutti_wire *w, int exclusive)
{
    const struct tutti_part_of mine = tutti_part_of(w->count, w->n, w->me);
    tutti_slices_exchange(w);
    for (int r = exclusive, before = -1; r < w->n && mine.count > 0; r++) {
        before = scan_add_prefix(w, r - exclusive, r, before);
        tutti_wire_ends(
            w, r == w->me ? before : tutti_wire_send(w, r, TUTTI_SLICES_OUT, scan_prefix_at(w, r), mine.count, before));
    }
    for (int k = 1; k < w->n && w->me >= exclusive; k++) {
        const int peer = (w->me + k) % w->n;
        const struct tutti_part_of part = tutti_part_of(w->count, w->n, peer);
        if (part.count > 0)
            tutti_wire_ends(w,
                            tutti_wire_receive(w, peer, TUTTI_SLICES_OUT, w->out + part.begin * w->size, part.count));
    }
}

static void scan_through(struct tutti_wire *w)
{
    scan_add(w, 0);
}

static void scan_before(struct tutti_wire *w)
{
    scan_add(w, 1);
}

const struct tutti_exchange_row tutti_exchange_through = {
    .name = "scan", .room = scan_room, .add = scan_through, .prefixes = 1};
const struct tutti_exchange_row tutti_exchange_before = {
    .name = "exscan", .room = scan_room, .add = scan_before, .prefixes = 1};

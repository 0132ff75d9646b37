/* Datatypes and buffers of random programs: drawn, placed, and copied by plain loops over the type map. */
#include <limits.h>
#include <string.h>

#include "programs.h"

const size_t prog_element_bytes[PROG_ELEMENTS] = {1, 2, 4, 8};
const char *const prog_element_names[PROG_ELEMENTS] = {"byte", "short", "int", "double"};

static int run_of_rest(struct prog_drawer *d, int rest, int runs_left)
{
    return runs_left == 1 ? rest : prog_dice(d, rest + 1);
}

/* Cuts k into runs with gaps between them; vectors have equal ones. */
static void draw_runs(struct prog_drawer *d, struct prog_layout *layout)
{
    int bytes = (int)prog_element_bytes[layout->element], at = 0, k = layout->k;
    int runs = 1 + prog_dice(d, PROG_RUNS);
    if (layout->family == PROG_VECTOR) {
        while (k % runs)
            runs--;
        int gap = prog_dice(d, 4);
        for (int i = 0; i < runs; i++) {
            layout->len[i] = k / runs;
            layout->disp[i] = i * (k / runs + gap) * bytes;
        }
        layout->runs = runs;
        return;
    }
    at = layout->family == PROG_STRUCT ? prog_dice(d, 5) - 2 : prog_dice(d, 2);
    for (int i = 0, rest = k; i < runs; i++) {
        layout->len[i] = run_of_rest(d, rest, runs - i);
        layout->disp[i] = at * bytes;
        at += layout->len[i] + prog_dice(d, 4);
        rest -= layout->len[i];
    }
    layout->runs = runs;
    if (prog_dice(d, 3) == 0 && runs > 1) { /* in another order */
        int i = prog_dice(d, runs), j = prog_dice(d, runs), disp = layout->disp[i], len = layout->len[i];
        layout->disp[i] = layout->disp[j];
        layout->len[i] = layout->len[j];
        layout->disp[j] = disp;
        layout->len[j] = len;
    }
}

void prog_layout_draw(struct prog_drawer *d, struct prog_layout *layout, enum prog_element element, size_t n, int all)
{
    int bytes = (int)prog_element_bytes[element];
    *layout = (struct prog_layout){.family = PROG_NAMED, .element = element, .k = 1, .runs = 1, .len = {1}};
    layout->extent = bytes;
    if (all == 0 && (!prog_chance(d, PROG_types, 45) || n == 0 || n > INT_MAX / 64))
        return;
    if (all == 1 && !prog_chance(d, PROG_types, 45))
        return;
    static const int divisors[] = {1, 2, 3, 4, 5, 6, 8, 16, 64};
    int k = divisors[prog_dice(d, sizeof divisors / sizeof *divisors)];
    if (prog_dice(d, 3) == 0)
        k = (int)n;
    layout->k = all ? all : n % (size_t)k == 0 ? k : 1;
    layout->family = (enum prog_family)(1 + prog_dice(d, PROG_FAMILIES - 1));
    layout->len[0] = layout->k;
    if (layout->family != PROG_CONTIGUOUS)
        draw_runs(d, layout);
    long low = LONG_MAX, high = LONG_MIN;
    for (int i = 0; i < layout->runs; i++) {
        if (layout->len[i] == 0) /* counts for the bounds all the same, in some MPIs: no such runs */
            continue;
        long end = layout->disp[i] + (long)layout->len[i] * bytes;
        low = layout->disp[i] < low ? layout->disp[i] : low;
        high = end > high ? end : high;
    }
    layout->lb = low;
    layout->extent = high - low;
    if (prog_dice(d, 3) == 0) {
        layout->resized = 1;
        layout->lb = low - (long)prog_dice(d, 3) * bytes;
        layout->extent = high - layout->lb + (long)prog_dice(d, 5) * bytes;
    }
}

/* Bytes from the address that a block touches. */
static void span(const struct prog_side *side, long *lowest, long *highest)
{
    const struct prog_layout *layout = &side->layout;
    long bytes = (long)prog_element_bytes[layout->element];
    *lowest = LONG_MAX;
    *highest = LONG_MIN;
    for (int b = 0; b < side->blocks; b++) {
        if (side->count[b] == 0)
            continue;
        long first = (long)side->displ[b] * layout->extent, last = first + (long)(side->count[b] - 1) * layout->extent;
        for (int i = 0; i < layout->runs; i++) {
            if (layout->len[i] == 0)
                continue;
            long low = first + layout->disp[i], high = last + layout->disp[i] + layout->len[i] * bytes;
            *lowest = low < *lowest ? low : *lowest;
            *highest = high > *highest ? high : *highest;
        }
    }
    if (*lowest > *highest)
        *lowest = *highest = 0;
}

int prog_side_place(struct prog_drawer *d, int rank, struct prog_side *side)
{
    long low, high;
    int device = prog_may(d, PROG_device) && (!prog_may(d, PROG_host) || prog_dice(d, 5) < 3);
    int other = prog_chance(d, PROG_pinned, 25) ? PROG_PINNED : prog_chance(d, PROG_managed, 15) ? PROG_MANAGED : 0;
    span(side, &low, &high);
    side->memory = other ? other : !device ? 0 : prog_may(d, PROG_arenas) ? 1 + prog_dice(d, PROG_PINNED - 1) : 1;
    side->lowest = low;
    side->bytes = (size_t)(high - low);
    size_t *used = &d->p->used[rank][side->memory], at = *used + PROG_GUARD;
    at = prog_dice(d, 3) ? (at + 15) / 16 * 16 + (size_t)prog_dice(d, 4) * 8 : (at + 255) / 256 * 256;
    if (at + side->bytes + PROG_GUARD > (d->ending ? d->arena : d->arena / 2)) /* the other half ends programs */
        return 0;
    side->place = at;
    side->used = 1;
    *used = at + side->bytes + PROG_GUARD;
    return 1;
}

int prog_side_draw(struct prog_drawer *d, int rank, struct prog_side *side, enum prog_element element, size_t n)
{
    *side = (struct prog_side){.blocks = 1};
    prog_layout_draw(d, &side->layout, element, n, 0);
    side->count[0] = (int)(n / (size_t)side->layout.k);
    if (n == 0 && prog_chance(d, PROG_types, 45)) { /* some elements of a type without bytes */
        side->layout = (struct prog_layout){.family = PROG_CONTIGUOUS, .element = element, .k = 1, .runs = 1};
        side->count[0] = 1 + prog_dice(d, 5);
    }
    side->bottom = prog_chance(d, PROG_bottom, 25);
    side->wide = prog_chance(d, PROG_wide, 30);
    return prog_side_place(d, rank, side);
}

static MPI_Datatype handle(enum prog_element element)
{
    return element == PROG_BYTE    ? MPI_BYTE
           : element == PROG_SHORT ? MPI_SHORT
           : element == PROG_INT   ? MPI_INT
                                   : MPI_DOUBLE;
}

MPI_Datatype prog_layout_type(const struct prog_layout *layout)
{
    MPI_Datatype type = MPI_DATATYPE_NULL, base = handle(layout->element), all[PROG_RUNS];
    MPI_Aint disps[PROG_RUNS];
    int lens[PROG_RUNS], units[PROG_RUNS], bytes = (int)prog_element_bytes[layout->element], runs = 0;
    if (layout->family == PROG_NAMED)
        return base;
    for (int i = 0; i < layout->runs; i++) {
        if (layout->len[i] == 0)
            continue;
        lens[runs] = layout->len[i];
        units[runs] = layout->disp[i] / bytes;
        disps[runs] = layout->disp[i];
        all[runs++] = base;
    }
    switch (layout->family) {
    case PROG_CONTIGUOUS:
        MPI_Type_contiguous(layout->len[0], base, &type);
        break;
    case PROG_VECTOR:
        MPI_Type_vector(runs, lens[0], runs > 1 ? units[1] - units[0] : lens[0], base, &type);
        break;
    case PROG_INDEXED:
        MPI_Type_indexed(runs, lens, units, base, &type);
        break;
    default:
        MPI_Type_create_struct(runs, lens, disps, all, &type);
    }
    if (layout->resized) {
        MPI_Datatype inner = type;
        MPI_Type_create_resized(inner, layout->lb, layout->extent, &type);
        MPI_Type_free(&inner);
    }
    MPI_Type_commit(&type);
    return type;
}

void prog_side_copy(const struct prog_side *side, int block, size_t n, char *image, char *packed, int into_image)
{
    const struct prog_layout *layout = &side->layout;
    size_t bytes = prog_element_bytes[layout->element], done = 0;
    for (long t = 0; done < n; t++) {
        long at = (side->displ[block] + t) * layout->extent - side->lowest;
        for (int i = 0; i < layout->runs && done < n; i++) {
            size_t len = (size_t)layout->len[i];
            len = len < n - done ? len : n - done;
            char *here = image + at + layout->disp[i], *there = packed + done * bytes;
            memcpy(into_image ? here : there, into_image ? there : here, len * bytes);
            done += len;
        }
    }
}

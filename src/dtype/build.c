/* The forms of descriptions, from the inside out. */
#include "core/status.h"
#include "dtype/tree.h"

#include <stdlib.h>

__extension__ typedef __int128 wide;

enum { SPLICE = 64 /* parts that a sequence inside a sequence may have to be taken apart */ };

static int build(struct tutti_workshop *shop, const struct tutti_description *what, unsigned depth,
                 struct tutti_made *out);

static bool fits(wide value)
{
    return value >= -TUTTI_TREE_LIMIT && value <= TUTTI_TREE_LIMIT;
}

static int set_bounds(struct tutti_workshop *shop, struct tutti_made *made, wide lower, wide upper)
{
    if (!fits(lower) || !fits(upper))
        return tutti_workshop_refuse(shop, "bounds beyond 62 bits");
    made->lower = (int64_t)lower;
    made->upper = (int64_t)upper;
    return TUTTI_OK;
}

static int64_t extent_of(const struct tutti_made *made)
{
    return made->upper - made->lower;
}

/* `count` times what is in *made, in its place. */
static int repeat(struct tutti_workshop *shop, struct tutti_made *made, uint64_t count, int64_t stride)
{
    if (count == 0 || !made->any) {
        *made = (struct tutti_made){0};
        return TUTTI_OK;
    }
    if (count > (uint64_t)TUTTI_TREE_LIMIT && stride != 0)
        return tutti_workshop_refuse(shop, "a count beyond 62 bits");
    wide all = stride == 0 ? 0 : (wide)(count - 1) * stride;
    int status = set_bounds(shop, made, made->lower + (all < 0 ? all : 0), made->upper + (all > 0 ? all : 0));
    if (status == TUTTI_OK)
        status = tutti_place_loop(shop, count, stride, made->place, &made->place);
    return status == TUTTI_OK ? tutti_place_normal(shop, &made->place) : status;
}

static int move(struct tutti_workshop *shop, struct tutti_made *made, int64_t by)
{
    if (!made->any)
        return TUTTI_OK;
    int status = set_bounds(shop, made, (wide)made->lower + by, (wide)made->upper + by);
    return status == TUTTI_OK ? tutti_place_move(shop, &made->place, by) : status;
}

/* ---- rows: indexed, struct ---- */

/* Bounds of a row: markers count before all else. */
struct bounds {
    int64_t lower[2], upper[2]; /* [1]: of markers */
    bool has_lower[2], has_upper[2];
};

static void bounds_add(struct bounds *all, const struct tutti_made *part)
{
    bool low = part->lower_marked, high = part->upper_marked;
    if (!all->has_lower[low] || part->lower < all->lower[low])
        all->lower[low] = part->lower;
    if (!all->has_upper[high] || part->upper > all->upper[high])
        all->upper[high] = part->upper;
    all->has_lower[low] = all->has_upper[high] = true;
}

static void bounds_take(const struct bounds *all, struct tutti_made *out)
{
    bool low = all->has_lower[1], high = all->has_upper[1];
    out->any = all->has_lower[0] || low;
    out->lower_marked = low;
    out->upper_marked = high;
    out->lower = out->any ? all->lower[low] : 0;
    out->upper = out->any ? all->upper[high] : 0;
}

/* Children of a struct that were built before, by address: types name their parts again and again. */
struct known {
    const struct tutti_description *is;
    struct tutti_made made;
};

struct parts {
    struct known *table;
    size_t n, room; /* a power of two, or 0 */
};

static struct known *known_slot(const struct parts *parts, const struct tutti_description *is)
{
    size_t i = (size_t)tutti_mix(0, (uint64_t)(uintptr_t)is) & (parts->room - 1);
    while (parts->table[i].is && parts->table[i].is != is)
        i = (i + 1) & (parts->room - 1);
    return &parts->table[i];
}

static int parts_grow(struct parts *parts)
{
    struct parts more = {.n = parts->n, .room = parts->room ? 4 * parts->room : 16};
    if (!(more.table = calloc(more.room, sizeof *more.table)))
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < parts->room; i++) {
        if (parts->table[i].is)
            *known_slot(&more, parts->table[i].is) = parts->table[i];
    }
    free(parts->table);
    *parts = more;
    return TUTTI_OK;
}

static int child_of(struct tutti_workshop *shop, struct parts *parts, const struct tutti_description *is,
                    unsigned depth, struct tutti_made *out)
{
    struct known *slot = parts->room ? known_slot(parts, is) : NULL;
    if (slot && slot->is) {
        *out = slot->made;
        return TUTTI_OK;
    }
    int status = build(shop, is, depth + 1, out);
    if (status != TUTTI_OK || is->form == TUTTI_FORM_BYTES)
        return status;
    if (2 * parts->n >= parts->room && (status = parts_grow(parts)) != TUTTI_OK)
        return status;
    *known_slot(parts, is) = (struct known){is, *out};
    parts->n++;
    return TUTTI_OK;
}

static const struct tutti_description *child_at(const struct tutti_description *what, uint64_t i)
{
    return what->child[what->form == TUTTI_FORM_STRUCT ? i : 0];
}

static uint64_t length_at(const struct tutti_description *what, uint64_t i)
{
    return what->form == TUTTI_FORM_BLOCKS ? what->length : what->lengths[i];
}

/* A row that has few blocks in all is made of blocks. A short sequence inside a short one is taken apart. */
static int row_add(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_place place, bool splice)
{
    const struct tutti_tree *tree = place.tree;
    if (!tree || tree->kind != TUTTI_TREE_SEQ || !splice || row->n + tree->n > SPLICE)
        return tutti_row_push(shop, row, place);
    int status = TUTTI_OK;
    for (size_t k = 0; k < tree->n && status == TUTTI_OK; k++) {
        struct tutti_place part = tree->parts[k];
        part.offset += place.offset;
        status = tutti_row_push(shop, row, part);
    }
    return status;
}

static int build_row(struct tutti_workshop *shop, const struct tutti_description *what, unsigned depth,
                     struct parts *known, struct tutti_row *row, struct tutti_made *out)
{
    const struct tutti_description *last = NULL;
    struct tutti_made child = {0}, block = {0};
    struct bounds bounds = {0};
    uint64_t last_length = 0, size = 0;
    int status = TUTTI_OK;
    for (uint64_t i = 0; i < what->count && status == TUTTI_OK; i++) {
        uint64_t length = length_at(what, i);
        const struct tutti_description *is = child_at(what, i);
        if (length == 0)
            continue;
        if (is != last) {
            status = child_of(shop, known, is, depth, &child);
            last = is;
            last_length = 0;
        }
        if (status == TUTTI_OK && length != last_length) {
            block = child;
            status = repeat(shop, &block, length, extent_of(&child));
            last_length = length;
        }
        struct tutti_made part = block;
        if (status != TUTTI_OK || !part.any)
            continue;
        status = move(shop, &part, what->offsets[i]);
        bounds_add(&bounds, &part);
        size += tutti_place_size(part.place);
        if (size > (uint64_t)TUTTI_TREE_LIMIT)
            return tutti_workshop_refuse(shop, "a size beyond 62 bits");
        if (status == TUTTI_OK)
            status = row_add(shop, row, part.place, what->form == TUTTI_FORM_STRUCT);
    }
    bounds_take(&bounds, out);
    return status;
}

static int build_many(struct tutti_workshop *shop, const struct tutti_description *what, unsigned depth,
                      struct tutti_made *out)
{
    struct parts known = {0};
    struct tutti_row row = {0};
    int status = build_row(shop, what, depth, &known, &row, out);
    free(known.table);
    uint64_t runs = 0;
    bool flat = true;
    for (size_t i = 0; i < row.n && runs <= TUTTI_TREE_FLAT; i++) {
        flat = flat && !row.at[i].tree;
        runs += tutti_place_runs(row.at[i]);
    }
    if (status == TUTTI_OK && !flat && runs <= TUTTI_TREE_FLAT) {
        struct tutti_row blocks = {0};
        for (size_t i = 0; i < row.n && status == TUTTI_OK; i++)
            status = tutti_row_push_runs(shop, &blocks, row.at[i]);
        tutti_row_free(&row);
        row = blocks;
    }
    if (status == TUTTI_OK)
        status = tutti_place_settle(shop, &row, &out->place);
    tutti_row_free(&row);
    return status;
}

/* ---- arrays ---- */

/* The part of one dimension that this process has: `whole` full blocks of `block` indices, `step` apart, from `start`
 * on, and `rest` more indices after the next step. */
struct share {
    uint64_t start, block, step, whole, rest;
};

static int share_of(const struct tutti_description *what, uint32_t d, struct share *out)
{
    if (what->form == TUTTI_FORM_SUBARRAY) {
        if (what->subsizes[d] > what->sizes[d] || what->starts[d] > what->sizes[d] - what->subsizes[d])
            return TUTTI_ERR_ARGUMENT;
        *out = (struct share){what->starts[d], what->subsizes[d], 0, 1, 0};
        return TUTTI_OK;
    }
    uint64_t size = what->sizes[d], grid = what->grid[d], at = what->coords[d], block = what->dargs[d];
    if (grid == 0 || at >= grid || grid > (uint64_t)TUTTI_TREE_LIMIT || size > (uint64_t)TUTTI_TREE_LIMIT)
        return TUTTI_ERR_ARGUMENT;
    switch (what->distribution[d]) {
    case TUTTI_DISTRIBUTE_NONE:
        if (grid != 1)
            return TUTTI_ERR_ARGUMENT;
        *out = (struct share){0, size, 0, 1, 0};
        return TUTTI_OK;
    case TUTTI_DISTRIBUTE_BLOCK:
        if (block == UINT64_MAX)
            block = (size + grid - 1) / grid;
        if ((wide)block * (wide)grid < size)
            return TUTTI_ERR_ARGUMENT;
        break;
    case TUTTI_DISTRIBUTE_CYCLIC:
        if (block == UINT64_MAX)
            block = 1;
        if (block == 0)
            return TUTTI_ERR_ARGUMENT;
        break;
    default:
        return TUTTI_ERR_ARGUMENT;
    }
    wide start = (wide)block * (wide)at, step = (wide)block * (wide)grid;
    *out = (struct share){0};
    if (start >= size)
        return TUTTI_OK;
    uint64_t left = size - (uint64_t)start;
    out->start = (uint64_t)start;
    out->block = block;
    out->step = fits(step) ? (uint64_t)step : size; /* farther than the array: there is no second one */
    out->whole = left / out->step;
    out->rest = left % out->step;
    if (out->rest >= block) {
        out->whole++;
        out->rest = 0;
    }
    return TUTTI_OK;
}

/* One dimension around *made, whose indices are `pitch` bytes apart. */
static int build_share(struct tutti_workshop *shop, const struct share *share, wide pitch, struct tutti_place *place)
{
    struct tutti_place whole, rest;
    wide start = pitch * share->start, step = pitch * share->step, next = step * share->whole;
    if (!fits(start) || !fits(next) || (share->whole > 1 && !fits(step)))
        return tutti_workshop_refuse(shop, "displacements beyond 62 bits");
    int status = tutti_place_loop(shop, share->block, (int64_t)pitch, *place, &whole);
    if (status == TUTTI_OK)
        status = tutti_place_loop(shop, share->whole, (int64_t)step, whole, &whole);
    if (status == TUTTI_OK)
        status = tutti_place_loop(shop, share->rest, (int64_t)pitch, *place, &rest);
    if (status == TUTTI_OK)
        status = tutti_place_move(shop, &rest, (int64_t)next);
    if (status != TUTTI_OK)
        return status;
    struct tutti_row row = {0};
    status = tutti_row_push(shop, &row, whole);
    if (status == TUTTI_OK)
        status = tutti_row_push(shop, &row, rest);
    if (status == TUTTI_OK)
        status = tutti_place_settle(shop, &row, place);
    tutti_row_free(&row);
    if (status == TUTTI_OK)
        status = tutti_place_move(shop, place, (int64_t)start);
    return status == TUTTI_OK ? tutti_place_normal(shop, place) : status;
}

static int build_array(struct tutti_workshop *shop, const struct tutti_description *what, struct tutti_made *made)
{
    wide pitch = extent_of(made);
    if (what->dims > TUTTI_ARRAY_DIMS)
        return tutti_workshop_refuse(shop, "arrays of more than 64 dimensions");
    for (uint32_t d = what->dims; d-- > 0;) {
        struct share share;
        int status = share_of(what, d, &share);
        if (status == TUTTI_OK)
            status = build_share(shop, &share, pitch, &made->place);
        if (status != TUTTI_OK)
            return status;
        if (what->sizes[d] > (uint64_t)TUTTI_TREE_LIMIT || !fits(pitch *= what->sizes[d]))
            return tutti_workshop_refuse(shop, "an array beyond 62 bits");
    }
    made->any = made->lower_marked = made->upper_marked = true;
    return set_bounds(shop, made, 0, pitch);
}

/* ---- all ---- */

static int build(struct tutti_workshop *shop, const struct tutti_description *what, unsigned depth,
                 struct tutti_made *out)
{
    *out = (struct tutti_made){0};
    if (depth > TUTTI_TREE_DEPTH)
        return tutti_workshop_refuse(shop, "types more than 512 deep");
    if (what->form == TUTTI_FORM_BYTES) {
        if (what->bytes > (uint64_t)TUTTI_TREE_LIMIT)
            return tutti_workshop_refuse(shop, "a size beyond 62 bits");
        out->any = true;
        out->place.length = what->bytes;
        return set_bounds(shop, out, 0, (wide)what->bytes);
    }
    if (what->form == TUTTI_FORM_INDEXED || what->form == TUTTI_FORM_BLOCKS || what->form == TUTTI_FORM_STRUCT)
        return build_many(shop, what, depth, out);
    int status = build(shop, what->child[0], depth + 1, out);
    if (status != TUTTI_OK)
        return status;
    switch (what->form) {
    case TUTTI_FORM_CONTIGUOUS:
        return repeat(shop, out, what->count, extent_of(out));
    case TUTTI_FORM_VECTOR:
        status = repeat(shop, out, what->length, extent_of(out));
        return status == TUTTI_OK ? repeat(shop, out, what->count, what->stride) : status;
    case TUTTI_FORM_SUBARRAY:
    case TUTTI_FORM_DARRAY:
        return build_array(shop, what, out);
    case TUTTI_FORM_RESIZED:
        out->any = out->lower_marked = out->upper_marked = true;
        return set_bounds(shop, out, what->lower, (wide)what->lower + what->extent);
    default:
        return TUTTI_ERR_ARGUMENT;
    }
}

int tutti_build(struct tutti_workshop *shop, const struct tutti_description *what, struct tutti_made *out)
{
    return build(shop, what, 0, out);
}

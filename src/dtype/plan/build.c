/* The forms of descriptions, from the inside out. */
#include "dtype/plan/runs.h"

#include <stdlib.h>

enum {
    SPREAD = 1 << 18,  /* blocks of a row with lists in it that is taken apart */
    SPLICE = 64,       /* parts that a sequence inside a sequence may have to be taken apart */
    RESERVED = 1 << 20 /* places made room for at once */
};

static int plan_build(struct tutti_workshop *shop, const struct tutti_description *what, unsigned depth,
                      struct tutti_made *out);

int tutti_made_bounds(struct tutti_workshop *shop, struct tutti_made *made, tutti_wide lower, tutti_wide upper)
{
    if (!tutti_fits(lower) || !tutti_fits(upper))
        return tutti_workshop_refuse(shop, "bounds beyond 62 bits");
    made->lower = (int64_t)lower;
    made->upper = (int64_t)upper;
    return TUTTI_OK;
}

/* `count` times what is in *made, in its place. */
static int build_repeat(struct tutti_workshop *shop, struct tutti_made *made, uint64_t count, int64_t stride)
{
    if (count == 0 || !made->any) {
        *made = (struct tutti_made){0};
        return TUTTI_OK;
    }
    if (count > (uint64_t)TUTTI_TREE_LIMIT && stride != 0)
        return tutti_workshop_refuse(shop, "a count beyond 62 bits");
    tutti_wide all = stride == 0 ? 0 : (tutti_wide)(count - 1) * stride;
    int status = tutti_made_bounds(shop, made, made->lower + (all < 0 ? all : 0), made->upper + (all > 0 ? all : 0));
    if (status == TUTTI_OK)
        status = tutti_membership_loop(shop, count, stride, made->place, &made->place);
    return status == TUTTI_OK ? tutti_membership_normal(shop, &made->place) : status;
}

static int build_move(struct tutti_workshop *shop, struct tutti_made *made, int64_t by)
{
    if (!made->any)
        return TUTTI_OK;
    int status = tutti_made_bounds(shop, made, (tutti_wide)made->lower + by, (tutti_wide)made->upper + by);
    return status == TUTTI_OK ? tutti_membership_move(shop, &made->place, by) : status;
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
    size_t i = (size_t)tutti_hash_mix(0, (uint64_t)(uintptr_t)is) & (parts->room - 1);
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
    int status = plan_build(shop, is, depth + 1, out);
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

static inline uint64_t build_length_at(const struct tutti_description *what, uint64_t i)
{
    if (what->form == TUTTI_FORM_BLOCKS)
        return what->length;
    return what->lengths ? what->lengths[i] : (uint64_t)what->short_lengths[i];
}

static inline int64_t offset_at(const struct tutti_description *what, uint64_t i)
{
    return what->offsets ? what->offsets[i] : what->short_offsets[i] * what->unit;
}

/* A row that has few blocks in all is made of blocks. A short sequence inside a short one is taken apart. */
static int row_add(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_tree_place place, bool splice)
{
    const struct tutti_tree *tree = place.tree;
    if (!tree || tree->kind != TUTTI_TREE_SEQ || !splice || row->n + tree->n > SPLICE)
        return tutti_row_push(shop, row, place);
    int status = TUTTI_OK;
    for (size_t k = 0; k < tree->n && status == TUTTI_OK; k++) {
        struct tutti_tree_place part = tree->parts[k];
        part.offset += place.offset;
        status = tutti_row_push(shop, row, part);
    }
    return status;
}

/* What follows one another with the same child and length differs in its offset alone: its bounds are those of the
 * lowest and of the highest one. */
struct group {
    struct tutti_made block;
    int64_t low, high;
    int64_t least, most; /* offsets that stay within the limit */
    uint64_t n;
};

static void group_begin(struct group *group)
{
    int64_t low = group->block.place.offset + tutti_membership_low(group->block.place);
    int64_t high = group->block.place.offset + tutti_membership_high(group->block.place);
    group->least = -TUTTI_TREE_LIMIT - (low < 0 ? low : 0);
    group->most = TUTTI_TREE_LIMIT - (high > 0 ? high : 0);
    group->n = 0;
}

static int group_end(struct tutti_workshop *shop, struct group *group, struct bounds *bounds, uint64_t *size)
{
    int status = TUTTI_OK;
    uint64_t bytes = tutti_membership_size(group->block.place);
    for (int which = 0; which < 2 && group->n > 0 && status == TUTTI_OK; which++) {
        struct tutti_made part = group->block;
        status = build_move(shop, &part, which ? group->high : group->low);
        if (part.any)
            bounds_add(bounds, &part);
    }
    if (bytes > 0 && (group->n > (uint64_t)TUTTI_TREE_LIMIT || *size > (uint64_t)TUTTI_TREE_LIMIT - bytes ||
                      group->n > ((uint64_t)TUTTI_TREE_LIMIT - *size) / bytes))
        return tutti_workshop_refuse(shop, "a size beyond 62 bits");
    *size += group->n * bytes;
    group->n = 0;
    return status;
}

/* Where the child is a block as long as its extent: the rows of most indexed types. */
static int build_add_dense(struct tutti_workshop *shop, const struct tutti_description *what,
                           const struct tutti_made *child, struct tutti_block_runs *runs, struct tutti_made *out)
{
    const int64_t shift = child->place.offset;
    const uint64_t bytes = child->place.length, most = (uint64_t)TUTTI_TREE_LIMIT / bytes;
    int64_t low = INT64_MAX, high = INT64_MIN;
    uint64_t size = 0;
    int status = tutti_block_runs_reserve(runs, what->count < RESERVED ? what->count : RESERVED);
    for (uint64_t i = 0; i < what->count && status == TUTTI_OK; i++) {
        uint64_t length = build_length_at(what, i);
        int64_t offset = offset_at(what, i);
        if (length == 0)
            continue;
        if (length > most || offset < -TUTTI_TREE_LIMIT || offset > TUTTI_TREE_LIMIT)
            return tutti_workshop_refuse(shop, "displacements or lengths beyond 62 bits");
        offset += shift;
        length *= bytes;
        if (offset < -TUTTI_TREE_LIMIT || offset > TUTTI_TREE_LIMIT - (int64_t)length ||
            (size += length) > (uint64_t)TUTTI_TREE_LIMIT)
            return tutti_workshop_refuse(shop, "displacements beyond 62 bits");
        low = offset < low ? offset : low;
        high = offset + (int64_t)length > high ? offset + (int64_t)length : high;
        status = tutti_block_runs_add(runs, offset, length);
    }
    if (status != TUTTI_OK || size == 0)
        return status;
    *out = *child;
    return tutti_made_bounds(shop, out, (tutti_wide)low + child->lower - shift,
                             (tutti_wide)high + child->upper - shift - (int64_t)bytes);
}

static int build_dense(struct tutti_workshop *shop, const struct tutti_description *what,
                       const struct tutti_made *child, struct tutti_made *out)
{
    struct tutti_block_runs runs = {0};
    int status = build_add_dense(shop, what, child, &runs, out);
    if (status == TUTTI_OK)
        status = tutti_block_runs_settle(shop, &runs, &out->place);
    tutti_block_runs_free(&runs);
    return status;
}

/* child: of an indexed type. */
static int build_row(struct tutti_workshop *shop, const struct tutti_description *what, unsigned depth,
                     struct tutti_made child, struct parts *known, struct tutti_row *row, struct tutti_made *out)
{
    const struct tutti_description *last = what->form == TUTTI_FORM_STRUCT ? NULL : what->child[0];
    struct group group = {0};
    struct bounds bounds = {0};
    uint64_t last_length = 0, size = 0;
    int status = TUTTI_OK;
    for (uint64_t i = 0; i < what->count && status == TUTTI_OK; i++) {
        uint64_t length = build_length_at(what, i);
        const struct tutti_description *is = child_at(what, i);
        int64_t offset = offset_at(what, i);
        if (length == 0)
            continue;
        if (is != last || length != last_length) {
            status = group_end(shop, &group, &bounds, &size);
            if (status == TUTTI_OK && is != last)
                status = child_of(shop, known, is, depth, &child);
            group.block = child;
            if (status == TUTTI_OK && length > 1)
                status = build_repeat(shop, &group.block, length, tutti_made_extent(&child));
            if (status != TUTTI_OK)
                return status;
            group_begin(&group);
            last = is;
            last_length = length;
        }
        if (offset < group.least || offset > group.most)
            return tutti_workshop_refuse(shop, "displacements beyond 62 bits");
        if (group.n == 0 || offset < group.low)
            group.low = offset;
        if (group.n == 0 || offset > group.high)
            group.high = offset;
        group.n++;
        struct tutti_tree_place place = group.block.place;
        place.offset += offset;
        status = row_add(shop, row, place, what->form == TUTTI_FORM_STRUCT);
    }
    if (status == TUTTI_OK)
        status = group_end(shop, &group, &bounds, &size);
    bounds_take(&bounds, out);
    return status;
}

/* Rows of few blocks, and rows with lists in them, give the same plan as a description block by block. */
static int row_by_runs(struct tutti_workshop *shop, struct tutti_row *row, size_t blocks, struct tutti_tree_place *out)
{
    struct tutti_block_runs runs = {0};
    int status = tutti_block_runs_reserve(&runs, blocks);
    for (size_t i = 0; i < row->n && status == TUTTI_OK; i++)
        status = tutti_block_runs_add_place(&runs, row->at[i]);
    if (status == TUTTI_OK)
        status = tutti_block_runs_settle(shop, &runs, out);
    tutti_block_runs_free(&runs);
    return status;
}

static int build_many(struct tutti_workshop *shop, const struct tutti_description *what, unsigned depth,
                      struct tutti_made *out)
{
    struct parts known = {0};
    struct tutti_row row = {0};
    struct tutti_made child = {0};
    int status = what->form == TUTTI_FORM_STRUCT ? TUTTI_OK : plan_build(shop, what->child[0], depth + 1, &child);
    if (status == TUTTI_OK && !child.place.tree && child.place.length > 0 &&
        tutti_made_extent(&child) == (int64_t)child.place.length)
        return build_dense(shop, what, &child, out);
    if (status == TUTTI_OK)
        status = tutti_row_reserve(&row, what->count < RESERVED ? what->count : RESERVED);
    if (status == TUTTI_OK)
        status = build_row(shop, what, depth, child, &known, &row, out);
    free(known.table);
    uint64_t runs = 0;
    bool flat = true, lists = false;
    for (size_t i = 0; i < row.n && runs <= SPREAD; i++) {
        flat = flat && !row.at[i].tree;
        lists = lists || (row.at[i].tree && row.at[i].tree->has_list);
        runs += tutti_membership_runs(row.at[i]);
    }
    if (status == TUTTI_OK)
        status = !flat && (runs <= TUTTI_TREE_FLAT || (lists && row.n > 1 && runs <= SPREAD))
                     ? row_by_runs(shop, &row, runs, &out->place)
                     : tutti_membership_settle(shop, &row, &out->place);
    tutti_row_free(&row);
    return status;
}

/* ---- all ---- */

static int plan_build(struct tutti_workshop *shop, const struct tutti_description *what, unsigned depth,
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
        return tutti_made_bounds(shop, out, 0, (tutti_wide)what->bytes);
    }
    if (what->form == TUTTI_FORM_INDEXED || what->form == TUTTI_FORM_BLOCKS || what->form == TUTTI_FORM_STRUCT)
        return build_many(shop, what, depth, out);
    int status = plan_build(shop, what->child[0], depth + 1, out);
    if (status != TUTTI_OK)
        return status;
    switch (what->form) {
    case TUTTI_FORM_CONTIGUOUS:
        return build_repeat(shop, out, what->count, tutti_made_extent(out));
    case TUTTI_FORM_VECTOR:
        status = build_repeat(shop, out, what->length, tutti_made_extent(out));
        return status == TUTTI_OK ? build_repeat(shop, out, what->count, what->stride) : status;
    case TUTTI_FORM_SUBARRAY:
    case TUTTI_FORM_DARRAY:
        return tutti_build_array(shop, what, out);
    case TUTTI_FORM_RESIZED:
        out->any = out->lower_marked = out->upper_marked = true;
        return tutti_made_bounds(shop, out, what->lower, (tutti_wide)what->lower + what->extent);
    default:
        return TUTTI_ERR_ARGUMENT;
    }
}

int tutti_build(struct tutti_workshop *shop, const struct tutti_description *what, struct tutti_made *out)
{
    return plan_build(shop, what, 0, out);
}

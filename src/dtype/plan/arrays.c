/* Subarrays and distributed arrays: one dimension after the other, from the fastest. */
#include "core/status.h"
#include "dtype/plan/tree.h"

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
        if ((tutti_wide)block * (tutti_wide)grid < size)
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
    tutti_wide start = (tutti_wide)block * (tutti_wide)at, step = (tutti_wide)block * (tutti_wide)grid;
    *out = (struct share){0};
    if (start >= size)
        return TUTTI_OK;
    uint64_t left = size - (uint64_t)start;
    out->start = (uint64_t)start;
    out->block = block;
    out->step = tutti_fits(step) ? (uint64_t)step : size; /* farther than the array: there is no second one */
    out->whole = left / out->step;
    out->rest = left % out->step;
    if (out->rest >= block) {
        out->whole++;
        out->rest = 0;
    }
    return TUTTI_OK;
}

/* One dimension around *made, whose indices are `pitch` bytes apart. */
static int build_share(struct tutti_workshop *shop, const struct share *share, tutti_wide pitch,
                       struct tutti_tree_place *place)
{
    struct tutti_tree_place whole, rest;
    tutti_wide start = pitch * share->start, step = pitch * share->step, next = step * share->whole;
    if (!tutti_fits(start) || !tutti_fits(next) || (share->whole > 1 && !tutti_fits(step)))
        return tutti_workshop_refuse(shop, "displacements beyond 62 bits");
    int status = tutti_membership_loop(shop, share->block, (int64_t)pitch, *place, &whole);
    if (status == TUTTI_OK)
        status = tutti_membership_loop(shop, share->whole, (int64_t)step, whole, &whole);
    if (status == TUTTI_OK)
        status = tutti_membership_loop(shop, share->rest, (int64_t)pitch, *place, &rest);
    if (status == TUTTI_OK)
        status = tutti_membership_move(shop, &rest, (int64_t)next);
    if (status != TUTTI_OK)
        return status;
    struct tutti_row row = {0};
    status = tutti_row_push(shop, &row, whole);
    if (status == TUTTI_OK)
        status = tutti_row_push(shop, &row, rest);
    if (status == TUTTI_OK)
        status = tutti_membership_settle(shop, &row, place);
    tutti_row_free(&row);
    if (status == TUTTI_OK)
        status = tutti_membership_move(shop, place, (int64_t)start);
    return status == TUTTI_OK ? tutti_membership_normal(shop, place) : status;
}

int tutti_build_array(struct tutti_workshop *shop, const struct tutti_description *what, struct tutti_made *made)
{
    tutti_wide pitch = tutti_made_extent(made);
    if (what->dims > TUTTI_ARRAY_DIMS)
        return tutti_workshop_refuse(shop, "arrays of more than 64 dimensions");
    for (uint32_t d = what->dims; d-- > 0;) {
        struct share share;
        int status = share_of(what, d, &share);
        if (status == TUTTI_OK)
            status = build_share(shop, &share, pitch, &made->place);
        if (status != TUTTI_OK)
            return status;
        if (what->sizes[d] > (uint64_t)TUTTI_TREE_LIMIT || !tutti_fits(pitch *= what->sizes[d]))
            return tutti_workshop_refuse(shop, "an array beyond 62 bits");
    }
    made->any = made->lower_marked = made->upper_marked = true;
    return tutti_made_bounds(shop, made, 0, pitch);
}

/* Random types. Strides and places are often those that let parts meet or go on, since that is what is folded. */
#include "dtype/describe_any.h"
#include "dtype/oracle.h"
#include "support/random.h"

enum { FEW = 6 };

struct maker {
    struct any_room *room;
    uint64_t *state;
    size_t most;
};

static uint64_t below(struct maker *m, uint64_t n)
{
    return random_next(m->state) % n;
}

static int64_t between(struct maker *m, int64_t low, int64_t high)
{
    return low + (int64_t)below(m, (uint64_t)(high - low + 1));
}

/* Mostly 1 to 4, sometimes none, sometimes many. */
static uint64_t some(struct maker *m)
{
    uint64_t which = below(m, 32);
    return which == 0 ? 0 : which == 1 ? 5 + below(m, 40) : 1 + below(m, 4);
}

static int64_t extent_of(struct maker *m, any_type what)
{
    struct oracle_map map = {0};
    int64_t lower = 0, upper = 0;
    if (oracle_walk(what, m->most, &map))
        oracle_bounds(&map, &lower, &upper);
    oracle_free(&map);
    return upper - lower;
}

static int64_t stride(struct maker *m, int64_t length)
{
    switch (below(m, 8)) {
    case 0:
        return length;
    case 1:
        return length + between(m, 1, 4);
    case 2:
        return -length - between(m, 0, 4);
    case 3:
        return between(m, -40, 40);
    case 4:
        return length * between(m, 1, 3) / 2;
    default:
        return length * between(m, 1, 4);
    }
}

static any_type leaf(struct maker *m)
{
    static const uint64_t sizes[] = {1, 1, 2, 4, 4, 4, 8, 8, 8, 16, 3, 0};
    return any_bytes(m->room, sizes[below(m, sizeof sizes / sizeof sizes[0])]);
}

static any_type build(struct maker *m, unsigned depth);

/* Places: in steps, or anywhere. */
static void offsets(struct maker *m, uint64_t n, const uint64_t *lengths, int64_t extent, int64_t *out)
{
    int64_t at = between(m, -20, 20), step = stride(m, extent);
    uint64_t how = below(m, 4);
    for (uint64_t i = 0; i < n; i++) {
        out[i] = how == 3 ? between(m, -100, 100) * (below(m, 2) ? 4 : 1) : at;
        at += how == 0 ? step : how == 1 ? (int64_t)lengths[i] * extent : stride(m, (int64_t)lengths[i] * extent);
    }
}

static any_type rows(struct maker *m, unsigned depth)
{
    uint64_t n = below(m, 6) == 0 ? below(m, 60) : below(m, FEW), lengths[64], length = some(m);
    int64_t at[64];
    any_type child = build(m, depth - 1);
    int equal = below(m, 2) == 0;
    for (uint64_t i = 0; i < n; i++)
        lengths[i] = equal ? length : some(m);
    offsets(m, n, lengths, extent_of(m, child), at);
    any_type made = any_indexed(m->room, n, equal && below(m, 2) ? NULL : lengths, length, at, child);
    return below(m, 3) == 0 ? any_short(m->room, made) : made;
}

static any_type structure(struct maker *m, unsigned depth)
{
    uint64_t n = below(m, FEW), lengths[FEW], how = below(m, 3);
    int64_t at[FEW], next = between(m, -20, 20);
    any_type child[FEW];
    for (uint64_t i = 0; i < n; i++) {
        child[i] = i > 0 && below(m, 3) == 0 ? child[i - 1] : build(m, depth - 1);
        lengths[i] = below(m, 2) ? 1 : some(m);
        at[i] = how == 0 ? between(m, -100, 100) : next;
        next += stride(m, (int64_t)lengths[i] * extent_of(m, child[i]));
    }
    any_type made = any_struct(m->room, n, lengths, at, child);
    return below(m, 6) == 0 ? any_short(m->room, made) : made;
}

static any_type array(struct maker *m, unsigned depth)
{
    uint64_t sizes[4], subsizes[4], starts[4], dargs[4], grid[4], coords[4];
    uint32_t distribution[4], dims = (uint32_t)(1 + below(m, 3));
    int cyclic = below(m, 2) == 0;
    for (uint32_t d = 0; d < dims; d++) {
        sizes[d] = 1 + below(m, 6);
        subsizes[d] = 1 + below(m, sizes[d]);
        starts[d] = below(m, sizes[d] - subsizes[d] + 1);
        distribution[d] = (uint32_t)below(m, 3);
        grid[d] = distribution[d] == TUTTI_DISTRIBUTE_NONE ? 1 : 1 + below(m, 3);
        coords[d] = below(m, grid[d]);
        dargs[d] = UINT64_MAX;
        if (below(m, 2) && distribution[d] == TUTTI_DISTRIBUTE_CYCLIC)
            dargs[d] = 1 + below(m, 4);
        else if (below(m, 2) && distribution[d] == TUTTI_DISTRIBUTE_BLOCK)
            dargs[d] = (sizes[d] + grid[d] - 1) / grid[d] + below(m, 3);
    }
    any_type child = build(m, depth - 1);
    return cyclic ? any_darray(m->room, dims, sizes, distribution, dargs, grid, coords, child)
                  : any_subarray(m->room, dims, sizes, subsizes, starts, child);
}

static any_type build(struct maker *m, unsigned depth)
{
    if (depth == 0)
        return leaf(m);
    switch (below(m, 10)) {
    case 0:
        return any_contiguous(m->room, some(m), build(m, depth - 1));
    case 1:
    case 2:
    case 3: {
        any_type child = build(m, depth - 1);
        uint64_t length = some(m);
        return any_vector(m->room, some(m), length, stride(m, (int64_t)length * extent_of(m, child)), child);
    }
    case 4:
    case 5:
        return rows(m, depth);
    case 6:
        return structure(m, depth);
    case 7:
        return array(m, depth);
    case 8: {
        any_type child = build(m, depth - 1);
        return any_resized(m->room, between(m, -16, 16), stride(m, extent_of(m, child)), child);
    }
    default:
        return leaf(m);
    }
}

any_type any_random(struct any_room *room, uint64_t *state, unsigned depth, size_t most)
{
    struct maker maker = {room, state, most};
    for (;;) {
        any_type what = build(&maker, depth);
        struct oracle_map map = {0};
        int fine = oracle_walk(what, most, &map);
        oracle_free(&map);
        if (fine)
            return what;
        any_free(room);
    }
}

/* Progressions in a row of places: what repeats at equal distances. */
#include "dtype/plan/arena.h"
#include "dtype/plan/runs.h"

enum {
    WIDEST = 8,       /* places that repeat together, as they are found in the middle of a row */
    WIDE_ROWS = 4096, /* looked for in rows up to this length */
    ROUNDS = 12
};

/* The step from one place to the next, with the shape of the first: the row's symbol i. */
static bool same_step(const struct tutti_tree_place *t, size_t i, size_t j)
{
    return t[i + 1].offset - t[i].offset == t[j + 1].offset - t[j].offset && tutti_membership_same(t[i], t[j]);
}

/* Periods that divide n have their greatest common divisor among them: the shortest is found prime by prime. */
size_t tutti_progress_period(size_t n, bool (*repeats)(const void *of, size_t whole, size_t part), const void *of)
{
    size_t whole = n, rest = n;
    for (size_t p = 2; rest > 1; p++) {
        if (p > rest / p)
            p = rest;
        for (bool tried = false; rest % p == 0; rest /= p) {
            tried = tried || !repeats(of, whole, whole / p);
            whole = tried ? whole : whole / p;
        }
    }
    return whole;
}

struct with_places {
    const struct tutti_tree_place *t;
    size_t n;
};

static bool places_repeat(const void *of, size_t whole, size_t q)
{
    const struct with_places *with = of;
    const struct tutti_tree_place *t = with->t;
    const size_t end = whole == with->n ? whole - 1 - q : whole;
    for (size_t i = 0; i < end; i++) {
        if (!same_step(t, i, i + q))
            return false;
    }
    return whole < with->n || tutti_membership_same(t[with->n - 1], t[with->n - 1 - q]);
}

static size_t period_of(const struct tutti_tree_place *t, size_t n)
{
    return tutti_progress_period(n, places_repeat, &(struct with_places){t, n});
}

/* How many places from t[0] on repeat its first `q`; a multiple of q. */
static size_t progress_stretch(const struct tutti_tree_place *t, size_t n, size_t q)
{
    if (n < 2 * q || !tutti_membership_same(t[0], t[q]))
        return q;
    int64_t by = t[q].offset - t[0].offset;
    size_t i = q;
    while (i < n && t[i].offset - t[i - q].offset == by && tutti_membership_same(t[i], t[i - q]))
        i++;
    return i / q * q;
}

int tutti_progress_group(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t *n, size_t least,
                         struct tutti_tree_place *into)
{
    struct tutti_row row = {into, 0, *n};
    size_t widest = *n <= WIDE_ROWS && least == 2 ? WIDEST : 1;
    int status = TUTTI_OK;
    for (size_t i = 0; i < *n && status == TUTTI_OK;) {
        size_t best = 1, length = progress_stretch(t + i, *n - i, 1);
        if (length < least)
            length = 1;
        /* Of two that could be a pair the second may begin something longer. */
        if (length == 2 && progress_stretch(t + i + 1, *n - i - 1, 1) > 2)
            length = 1;
        for (size_t q = 2; q <= widest; q++) {
            size_t found = progress_stretch(t + i, *n - i, q);
            if (found >= least * q && found > length) {
                best = q;
                length = found;
            }
        }
        struct tutti_tree_place place = t[i];
        if (length > best) {
            int64_t by = t[i + best].offset - t[i].offset;
            if (best > 1) {
                struct tutti_row part = {tutti_arena_take(best, sizeof *part.at), best, best};
                if (!part.at)
                    return TUTTI_ERR_MEMORY;
                for (size_t k = 0; k < best; k++)
                    part.at[k] = t[i + k];
                status = tutti_membership_settle(shop, &part, &place);
                tutti_row_free(&part);
            }
            if (status == TUTTI_OK)
                status = tutti_membership_loop(shop, length / best, by, place, &place);
        }
        i += length;
        if (status == TUTTI_OK) /* never longer than what was read: `into` may be `t` */
            status = tutti_row_push(shop, &row, place);
    }
    *n = row.n;
    return status;
}

/* Loops in loops, until no more are found. */
static int group_all(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t *n,
                     struct tutti_tree_place *into, size_t *period)
{
    size_t before = *n, limit = shop->loops_made + *n / 16 + 64;
    int status = tutti_progress_group(shop, t, n, 2, into);
    *period = *n;
    for (int round = 1; status == TUTTI_OK && *n < before && round < ROUNDS; round++) {
        if ((*period = period_of(into, *n)) < *n)
            return TUTTI_OK;
        /* Irregular: what is found by chance leads nowhere. */
        if (*n > 64 && (*n > before - before / 16 || shop->loops_made > limit))
            return TUTTI_OK;
        before = *n;
        status = tutti_progress_group(shop, into, n, 2, into);
        *period = *n;
    }
    return status;
}

/* Most irregular rows are seen to be so without making anything. */
static bool progress_hopeless(const struct tutti_tree_place *t, size_t n)
{
    size_t pieces = 0;
    if (n <= WIDE_ROWS)
        return false;
    for (size_t i = 0; i < n; pieces++)
        i += progress_stretch(t + i, n - i, 1);
    return pieces > n / 4;
}

int tutti_progress_settle(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                          struct tutti_tree_place *out)
{
    size_t period = period_of(t, n);
    if (period > 0 && period < n) {
        struct tutti_tree_place inner;
        int status = tutti_progress_settle(shop, t, period, &inner);
        return status != TUTTI_OK ? status
                                  : tutti_membership_loop(shop, n / period, t[period].offset - t[0].offset, inner, out);
    }
    if (n == 1) {
        *out = t[0];
        return TUTTI_OK;
    }
    if (progress_hopeless(t, n))
        return tutti_membership_lists(shop, t, n, out);
    struct tutti_tree_place *grouped = tutti_arena_take(n, sizeof *grouped);
    if (!grouped)
        return TUTTI_ERR_MEMORY;
    size_t less = n;
    int status = group_all(shop, t, &less, grouped, &period);
    if (status == TUTTI_OK) {
        if (period < less)
            status = tutti_progress_settle(shop, grouped, less, out);
        else if (less <= TUTTI_TREE_PARTS)
            status = tutti_membership_seq(shop, grouped, less, out);
        else
            status = tutti_membership_lists(shop, t, n, out);
    }
    tutti_arena_free(grouped);
    return status;
}

/* Described block by block. */
static int settle_blocks(struct tutti_workshop *shop, const struct tutti_row *row, struct tutti_tree_place *out)
{
    struct tutti_block_runs runs = {0};
    int status = tutti_block_runs_reserve(&runs, row->n);
    for (size_t i = 0; i < row->n && status == TUTTI_OK; i++)
        status = tutti_block_runs_add(&runs, row->at[i].offset, row->at[i].length);
    if (status == TUTTI_OK)
        status = tutti_block_runs_settle(shop, &runs, out);
    tutti_block_runs_free(&runs);
    return status;
}

int tutti_membership_settle(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_tree_place *out)
{
    if (row->n == 0) {
        *out = (struct tutti_tree_place){0};
        return TUTTI_OK;
    }
    if (row->n == 1) {
        *out = row->at[0];
        return TUTTI_OK;
    }
    if (row->n > UINT32_MAX)
        return tutti_workshop_refuse(shop, "more than 2^32 blocks");
    bool flat = true;
    for (size_t i = 0; i < row->n && flat; i++)
        flat = !row->at[i].tree;
    if (flat && row->n > TUTTI_TREE_FLAT)
        return settle_blocks(shop, row, out);
    int status = tutti_progress_settle(shop, row->at, row->n, out);
    if (status == TUTTI_OK && flat && out->tree)
        out->tree->flat = true;
    return status;
}

int tutti_membership_normal(struct tutti_workshop *shop, struct tutti_tree_place *place)
{
    if (tutti_membership_flat(*place) || tutti_membership_runs(*place) > TUTTI_TREE_FLAT)
        return TUTTI_OK;
    struct tutti_row row = {0};
    int status = tutti_row_push_runs(shop, &row, *place);
    if (status == TUTTI_OK)
        status = tutti_membership_settle(shop, &row, place);
    tutti_row_free(&row);
    return status;
}

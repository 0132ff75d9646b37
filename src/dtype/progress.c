/* Progressions in a row of places: what repeats at equal distances. */
#include "core/status.h"
#include "dtype/tree.h"

#include <stdlib.h>

enum {
    WIDEST = 8,       /* places that repeat together, as they are found in the middle of a row */
    WIDE_ROWS = 4096, /* looked for in rows up to this length */
    ROUNDS = 12
};

/* The step from one place to the next, with the shape of the first: the row's symbol i. */
static bool same_step(const struct tutti_place *t, size_t i, size_t j)
{
    return t[i + 1].offset - t[i].offset == t[j + 1].offset - t[j].offset && tutti_place_same(t[i], t[j]);
}

size_t tutti_progress_period(const struct tutti_place *t, size_t n, uint32_t *table)
{
    if (n < 2)
        return n;
    size_t symbols = n - 1, border = 0;
    table[0] = 0; /* table[i]: the longest proper beginning of symbols [0, i] that is also their end */
    for (size_t i = 1; i < symbols; i++) {
        while (border > 0 && !same_step(t, i, border))
            border = table[border - 1];
        if (same_step(t, i, border))
            border++;
        table[i] = (uint32_t)border;
    }
    for (border = table[symbols - 1];; border = table[border - 1]) {
        size_t period = symbols - border;
        if (n % period == 0 && period < n && tutti_place_same(t[n - 1], t[n - 1 - period]))
            return period;
        if (border == 0)
            return n;
    }
}

/* How many places from t[0] on repeat its first `q`; a multiple of q. */
static size_t stretch(const struct tutti_place *t, size_t n, size_t q)
{
    if (n < 2 * q || !tutti_place_same(t[0], t[q]))
        return q;
    int64_t by = t[q].offset - t[0].offset;
    size_t i = q;
    while (i < n && t[i].offset - t[i - q].offset == by && tutti_place_same(t[i], t[i - q]))
        i++;
    return i / q * q;
}

int tutti_progress_group(struct tutti_workshop *shop, const struct tutti_place *t, size_t *n, size_t least,
                         struct tutti_place *into)
{
    struct tutti_row row = {into, 0, *n};
    size_t widest = *n <= WIDE_ROWS && least == 2 ? WIDEST : 1;
    int status = TUTTI_OK;
    for (size_t i = 0; i < *n && status == TUTTI_OK;) {
        size_t best = 1, length = stretch(t + i, *n - i, 1);
        if (length < least)
            length = 1;
        /* Of two that could be a pair the second may begin something longer. */
        if (length == 2 && stretch(t + i + 1, *n - i - 1, 1) > 2)
            length = 1;
        for (size_t q = 2; q <= widest; q++) {
            size_t found = stretch(t + i, *n - i, q);
            if (found >= least * q && found > length) {
                best = q;
                length = found;
            }
        }
        struct tutti_place place = t[i];
        if (length > best) {
            int64_t by = t[i + best].offset - t[i].offset;
            if (best > 1) {
                struct tutti_row part = {malloc(best * sizeof *part.at), best, best};
                if (!part.at)
                    return TUTTI_ERR_MEMORY;
                for (size_t k = 0; k < best; k++)
                    part.at[k] = t[i + k];
                status = tutti_place_settle(shop, &part, &place);
                tutti_row_free(&part);
            }
            if (status == TUTTI_OK)
                status = tutti_place_loop(shop, length / best, by, place, &place);
        }
        i += length;
        if (status == TUTTI_OK) /* never longer than what was read: `into` may be `t` */
            status = tutti_row_push(shop, &row, place);
    }
    *n = row.n;
    return status;
}

/* Loops in loops, until no more are found. */
static int group_all(struct tutti_workshop *shop, const struct tutti_place *t, size_t *n, struct tutti_place *into,
                     uint32_t *table, size_t *period)
{
    size_t before = *n, limit = shop->loops_made + *n / 16 + 64;
    int status = tutti_progress_group(shop, t, n, 2, into);
    *period = *n;
    for (int round = 1; status == TUTTI_OK && *n < before && round < ROUNDS; round++) {
        if ((*period = tutti_progress_period(into, *n, table)) < *n)
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
static bool hopeless(const struct tutti_place *t, size_t n, size_t *longest)
{
    size_t pieces = 0;
    *longest = SIZE_MAX;
    if (n <= WIDE_ROWS)
        return false;
    *longest = 1;
    for (size_t i = 0, length; i < n; i += length, pieces++) {
        if ((length = stretch(t + i, n - i, 1)) > *longest)
            *longest = length;
    }
    return pieces > n / 4;
}

static int settle(struct tutti_workshop *shop, const struct tutti_place *t, size_t n, uint32_t *table,
                  struct tutti_place *out)
{
    size_t period = tutti_progress_period(t, n, table);
    if (period < n) {
        struct tutti_place inner;
        int status = settle(shop, t, period, table, &inner);
        return status != TUTTI_OK ? status
                                  : tutti_place_loop(shop, n / period, t[period].offset - t[0].offset, inner, out);
    }
    if (n == 1) {
        *out = t[0];
        return TUTTI_OK;
    }
    size_t longest;
    if (hopeless(t, n, &longest))
        return tutti_place_lists(shop, t, n, longest, out);
    struct tutti_place *grouped = malloc(n * sizeof *grouped);
    if (!grouped)
        return TUTTI_ERR_MEMORY;
    size_t less = n;
    int status = group_all(shop, t, &less, grouped, table, &period);
    if (status == TUTTI_OK) {
        if (period < less)
            status = settle(shop, grouped, less, table, out);
        else if (less <= TUTTI_TREE_PARTS)
            status = tutti_place_seq(shop, grouped, less, out);
        else
            status = tutti_place_lists(shop, t, n, longest, out);
    }
    free(grouped);
    return status;
}

int tutti_place_settle(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_place *out)
{
    if (row->n == 0) {
        *out = (struct tutti_place){0};
        return TUTTI_OK;
    }
    if (row->n == 1) {
        *out = row->at[0];
        return TUTTI_OK;
    }
    if (row->n > UINT32_MAX)
        return tutti_workshop_refuse(shop, "more than 2^32 blocks");
    uint32_t few[256], *table = row->n <= 256 ? few : malloc(row->n * sizeof *table);
    if (!table)
        return TUTTI_ERR_MEMORY;
    bool flat = true;
    for (size_t i = 0; i < row->n && flat; i++)
        flat = !row->at[i].tree;
    int status = settle(shop, row->at, row->n, table, out);
    if (table != few)
        free(table);
    if (status == TUTTI_OK && flat && out->tree)
        out->tree->flat = true;
    return status;
}

#include "dtype/plan/runs.h"

#include "dtype/plan/arena.h"

enum {
    SURE = 256,       /* blocks that are always looked at in every way */
    WIDE_ROWS = 4096, /* blocks that patterns of several are looked for in */
    WIDEST = 8,
    SAMPLES = 128,
    WINDOW = 64
};

int tutti_block_runs_reserve(struct tutti_block_runs *runs, size_t n)
{
    int64_t *offsets;
    uint64_t *lengths;
    if (n < runs->room)
        return TUTTI_OK;
    n++;
    if (!(offsets = tutti_arena_grow(runs->offsets, n, sizeof *offsets)))
        return TUTTI_ERR_MEMORY;
    runs->offsets = offsets;
    if (runs->lengths) {
        if (!(lengths = tutti_arena_grow(runs->lengths, n, sizeof *lengths)))
            return TUTTI_ERR_MEMORY;
        runs->lengths = lengths;
    }
    runs->room = n; /* one more than asked for: begins are one more than blocks */
    return TUTTI_OK;
}

void tutti_block_runs_free(struct tutti_block_runs *runs)
{
    tutti_arena_free(runs->offsets);
    tutti_arena_free(runs->lengths);
    *runs = (struct tutti_block_runs){0};
}

int tutti_block_runs_store_any(struct tutti_block_runs *runs, int64_t at, uint64_t length)
{
    if (runs->n + 1 >= runs->room) {
        int status = tutti_block_runs_reserve(runs, runs->room ? 2 * runs->room : 64);
        if (status != TUTTI_OK)
            return status;
    }
    if (runs->n == 0)
        runs->each = length;
    if (!runs->lengths && length != runs->each) {
        if (!(runs->lengths = tutti_arena_take(runs->room, sizeof *runs->lengths)))
            return TUTTI_ERR_MEMORY;
        for (size_t i = 0; i < runs->n; i++)
            runs->lengths[i] = runs->each;
    }
    runs->offsets[runs->n] = at;
    if (runs->lengths)
        runs->lengths[runs->n] = length;
    runs->n++;
    return TUTTI_OK;
}

int tutti_block_runs_add_place(struct tutti_block_runs *runs, struct tutti_tree_place place)
{
    const struct tutti_tree *tree = place.tree;
    int status = TUTTI_OK;
    if (!tree)
        return place.length > 0 ? tutti_block_runs_add(runs, place.offset, place.length) : TUTTI_OK;
    const bool blocks = !tree->child.tree;
    struct tutti_tree_place part = tree->child;
    switch (tree->kind) {
    case TUTTI_TREE_LOOP:
        for (uint64_t i = 0; i < tree->count && status == TUTTI_OK; i++) {
            part.offset = place.offset + (int64_t)i * tree->stride;
            status =
                blocks ? tutti_block_runs_add(runs, part.offset, part.length) : tutti_block_runs_add_place(runs, part);
        }
        break;
    case TUTTI_TREE_SEQ:
        for (size_t i = 0; i < tree->n && status == TUTTI_OK; i++) {
            part = tree->parts[i];
            part.offset += place.offset;
            status = tutti_block_runs_add_place(runs, part);
        }
        break;
    case TUTTI_TREE_LIST:
        for (size_t i = 0; i < tree->n && status == TUTTI_OK; i++) {
            part.offset = place.offset + tree->offsets[i];
            status =
                blocks ? tutti_block_runs_add(runs, part.offset, part.length) : tutti_block_runs_add_place(runs, part);
        }
        break;
    case TUTTI_TREE_MIXED:
        for (size_t i = 0; i < tree->n && status == TUTTI_OK; i++)
            status = tutti_block_runs_add(runs, place.offset + tree->offsets[i], tree->begins[i + 1] - tree->begins[i]);
        break;
    }
    return status;
}

/* ---- what repeats ---- */

static uint64_t runs_length_at(const struct tutti_block_runs *runs, size_t i)
{
    return runs->lengths ? runs->lengths[i] : runs->each;
}

/* Whether blocks [0, last] and [q, last + q] are the same but for where they are. */
static bool runs_shifted(const struct tutti_block_runs *runs, size_t last, size_t q)
{
    const int64_t *a = runs->offsets, *b = a + q;
    const uint64_t by = (uint64_t)b[0] - (uint64_t)a[0];
    const uint64_t *x = runs->lengths, *y = x ? x + q : NULL;
    uint64_t differ = 0;
    size_t i = 0;
    for (; i + WINDOW <= last + 1 && differ == 0; i += WINDOW) {
        for (size_t k = 0; k < WINDOW; k++)
            differ |= ((uint64_t)b[i + k] - (uint64_t)a[i + k]) ^ by;
        for (size_t k = 0; x && k < WINDOW; k++)
            differ |= x[i + k] ^ y[i + k];
    }
    for (; i <= last && differ == 0; i++)
        differ = (((uint64_t)b[i] - (uint64_t)a[i]) ^ by) | (x ? x[i] ^ y[i] : 0);
    return differ == 0;
}

struct with_runs {
    const struct tutti_block_runs *runs;
    size_t n;
};

static bool runs_repeats(const void *of, size_t whole, size_t part)
{
    const struct with_runs *with = of;
    return runs_shifted(with->runs, whole == with->n ? whole - 1 - part : whole, part);
}

/* Whether there are 64 blocks and more at equal distances. */
static bool has_long(const struct tutti_block_runs *runs, size_t n)
{
    const int64_t *at = runs->offsets;
    for (size_t i = 0; i + 1 < n; i += TUTTI_TREE_LONG / 2) {
        size_t low = i, high = i + 1;
        const int64_t step = at[i + 1] - at[i];
        const uint64_t length = runs_length_at(runs, i);
        if (runs_length_at(runs, i + 1) != length)
            continue;
        while (high + 1 < n && at[high + 1] - at[high] == step && runs_length_at(runs, high + 1) == length)
            high++;
        while (low > 0 && at[low] - at[low - 1] == step && runs_length_at(runs, low - 1) == length)
            low--;
        if (high - low >= TUTTI_TREE_LONG - 1)
            return true;
    }
    return false;
}

/* How many of some blocks have the distance to the next, and the length, of the one `q` further. */
static size_t runs_alike(const struct tutti_block_runs *runs, size_t n, size_t q)
{
    const int64_t *at = runs->offsets;
    size_t found = 0;
    uint64_t place = 0;
    for (int k = 0; k < SAMPLES; k++) {
        size_t i = (size_t)((place += UINT64_C(0x9e3779b97f4a7c15)) >> 32) % (n - 1 - q);
        found +=
            at[i + 1] - at[i] == at[i + q + 1] - at[i + q] && runs_length_at(runs, i) == runs_length_at(runs, i + q);
    }
    return found;
}

/* Loops in loops, and patterns that repeat, have at some distance up to the longest pattern's most blocks alike. */
static bool runs_hopeless(const struct tutti_block_runs *runs, size_t n)
{
    if (n <= SURE)
        return false;
    if (n > WIDE_ROWS)
        return runs_alike(runs, n, 1) < SAMPLES / 2;
    for (size_t q = 1; q <= WIDEST; q++) {
        if (runs_alike(runs, n, q) >= SAMPLES / 4)
            return false;
    }
    return true;
}

/* ---- settling ---- */

static int as_places(const struct tutti_block_runs *runs, size_t n, struct tutti_tree_place **out)
{
    struct tutti_tree_place *t = tutti_arena_take(n, sizeof *t);
    if (!t)
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        t[i] = (struct tutti_tree_place){runs->offsets[i], runs_length_at(runs, i), NULL};
    *out = t;
    return TUTTI_OK;
}

static int runs_settle(struct tutti_workshop *shop, struct tutti_block_runs *runs, struct tutti_tree_place *out)
{
    const struct with_runs with = {runs, runs->n};
    size_t n = runs->n, period = tutti_progress_period(n, runs_repeats, &with);
    if (period > 0 && period < n) {
        struct tutti_tree_place inner;
        int64_t by = runs->offsets[period] - runs->offsets[0];
        runs->n = period;
        int status = runs_settle(shop, runs, &inner);
        return status != TUTTI_OK ? status : tutti_membership_loop(shop, n / period, by, inner, out);
    }
    if (n == 1) {
        *out = (struct tutti_tree_place){runs->offsets[0], runs_length_at(runs, 0), NULL};
        return TUTTI_OK;
    }
    const bool in_vain = runs_hopeless(runs, n);
    if (in_vain && !has_long(runs, n))
        return tutti_block_runs_list(shop, runs, out);
    struct tutti_tree_place *t;
    int status = as_places(runs, n, &t);
    if (status != TUTTI_OK)
        return status;
    status = in_vain ? tutti_membership_lists(shop, t, n, out) : tutti_progress_settle(shop, t, n, out);
    tutti_arena_free(t);
    return status;
}

int tutti_block_runs_settle(struct tutti_workshop *shop, struct tutti_block_runs *runs, struct tutti_tree_place *out)
{
    int status = TUTTI_OK;
    *out = (struct tutti_tree_place){0};
    if (runs->length > 0)
        status = tutti_block_runs_store(runs, runs->at, runs->length);
    runs->length = 0;
    if (status != TUTTI_OK || runs->n == 0)
        return status;
    if (runs->n > UINT32_MAX)
        return tutti_workshop_refuse(shop, "more than 2^32 blocks");
    status = runs_settle(shop, runs, out);
    if (status == TUTTI_OK && out->tree)
        out->tree->flat = true;
    return status;
}

/* Sequences of parts, and rows that are no progression: lists of where equal shapes, or blocks, are. */
#include "core/status.h"
#include "dtype/tree.h"

#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    SHORTEST = 8,       /* a list */
    LISTS = 64,         /* parts of a sequence with lists */
    MOST_RUNS = 1 << 22 /* blocks that a list is made of where its parts are not blocks */
};

/* What all kinds of rows have in common. */
static int new_row(struct tutti_workshop *shop, enum tutti_tree_kind kind, const struct tutti_place *t, size_t n,
                   struct tutti_tree **out)
{
    struct tutti_tree *tree = tutti_workshop_take(shop, 1, sizeof *tree);
    if (!tree)
        return TUTTI_ERR_MEMORY;
    *tree = (struct tutti_tree){.kind = kind, .n = n, .low = INT64_MAX, .high = INT64_MIN};
    for (size_t i = 0; i < n; i++) {
        int64_t at = t[i].offset - t[0].offset, low = at + tutti_place_low(t[i]), high = at + tutti_place_high(t[i]);
        if (low < tree->low)
            tree->low = low;
        if (high > tree->high)
            tree->high = high;
        tree->size += tutti_place_size(t[i]);
        tree->runs += tutti_place_runs(t[i]);
        tree->has_list |= t[i].tree && t[i].tree->has_list;
        if (tree->size > (uint64_t)TUTTI_TREE_LIMIT)
            return tutti_workshop_refuse(shop, "a size beyond 62 bits");
    }
    if (tree->low < -TUTTI_TREE_LIMIT || tree->high > TUTTI_TREE_LIMIT)
        return tutti_workshop_refuse(shop, "displacements beyond 62 bits");
    tree->end = t[n - 1].offset - t[0].offset + tutti_place_end(t[n - 1]);
    *out = tree;
    return TUTTI_OK;
}

int tutti_place_seq(struct tutti_workshop *shop, const struct tutti_place *t, size_t n, struct tutti_place *out)
{
    struct tutti_tree *tree;
    if (n == 1) {
        *out = t[0];
        return TUTTI_OK;
    }
    int status = new_row(shop, TUTTI_TREE_SEQ, t, n, &tree);
    if (status != TUTTI_OK)
        return status;
    if (!(tree->parts = tutti_workshop_take(shop, n, sizeof *tree->parts)))
        return TUTTI_ERR_MEMORY;
    uint64_t hash = tutti_mix(n, TUTTI_TREE_SEQ);
    for (size_t i = 0; i < n; i++) {
        tree->parts[i] = t[i];
        tree->parts[i].offset -= t[0].offset;
        hash = tutti_mix(tutti_mix(hash, (uint64_t)tree->parts[i].offset), t[i].tree ? t[i].tree->hash : t[i].length);
    }
    tree->hash = hash;
    *out = (struct tutti_place){.offset = t[0].offset, .tree = tree};
    return TUTTI_OK;
}

/* Places of one shape, or blocks of any length. */
static int make_list(struct tutti_workshop *shop, const struct tutti_place *t, size_t n, bool mixed,
                     struct tutti_place *out)
{
    struct tutti_tree *tree;
    int status = new_row(shop, mixed ? TUTTI_TREE_MIXED : TUTTI_TREE_LIST, t, n, &tree);
    if (status != TUTTI_OK)
        return status;
    tree->has_list = true;
    tree->next_list = shop->lists;
    shop->lists = tree;
    tree->offsets = malloc(n * sizeof *tree->offsets);
    tree->begins = mixed ? malloc((n + 1) * sizeof *tree->begins) : NULL;
    if (!tree->offsets || (mixed && !tree->begins))
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        tree->offsets[i] = t[i].offset - t[0].offset;
    tree->hash = tutti_mix(XXH3_64bits(tree->offsets, n * sizeof *tree->offsets), n);
    if (mixed) {
        tree->begins[0] = 0;
        for (size_t i = 0; i < n; i++)
            tree->begins[i + 1] = tree->begins[i] + t[i].length;
        tree->hash = tutti_mix(tree->hash, XXH3_64bits(tree->begins, (n + 1) * sizeof *tree->begins));
    } else {
        tree->child = t[0];
        tree->child.offset = 0;
        tree->hash = tutti_mix(tree->hash, t[0].tree ? t[0].tree->hash : t[0].length);
    }
    *out = (struct tutti_place){.offset = t[0].offset, .tree = tree};
    return TUTTI_OK;
}

/* How many places from t[0] on one list can hold; *mixed: blocks whose lengths differ. */
static size_t listable(const struct tutti_place *t, size_t n, bool *mixed)
{
    size_t i = 1;
    *mixed = false;
    if (t[0].tree && t[0].tree->has_list)
        return 1;
    for (; i < n; i++) {
        if (tutti_place_same(t[i], t[0]))
            continue;
        if (t[0].tree || t[i].tree)
            break;
        *mixed = true;
    }
    return i;
}

/* In place. */
static int listed(struct tutti_workshop *shop, struct tutti_place *t, size_t *n)
{
    size_t made = 0;
    int status = TUTTI_OK;
    for (size_t i = 0; i < *n && status == TUTTI_OK;) {
        bool mixed;
        size_t length = listable(t + i, *n - i, &mixed);
        if (length < SHORTEST) {
            while (length-- > 0)
                t[made++] = t[i++];
            continue;
        }
        struct tutti_place list;
        status = make_list(shop, t + i, length, mixed, &list);
        t[made++] = list;
        i += length;
    }
    *n = made;
    return status;
}

static int by_runs(struct tutti_workshop *shop, const struct tutti_place *t, size_t n, struct tutti_place *out)
{
    struct tutti_row row = {0};
    int status = TUTTI_OK;
    for (size_t i = 0; i < n && status == TUTTI_OK; i++)
        status = tutti_row_push_runs(shop, &row, t[i]);
    if (status == TUTTI_OK)
        status = tutti_place_settle(shop, &row, out);
    tutti_row_free(&row);
    return status;
}

int tutti_place_lists(struct tutti_workshop *shop, const struct tutti_place *t, size_t n, size_t longest,
                      struct tutti_place *out)
{
    uint64_t runs = 0;
    bool blocks = true, mixed = false;
    size_t less = n;
    for (size_t i = 0; i < n; i++) {
        blocks = blocks && !t[i].tree;
        mixed = mixed || t[i].length != t[0].length;
        if (runs <= MOST_RUNS)
            runs += tutti_place_runs(t[i]);
    }
    if (blocks && longest < TUTTI_TREE_LONG)
        return make_list(shop, t, n, mixed, out);
    struct tutti_place *made = malloc(n * sizeof *made);
    if (!made)
        return TUTTI_ERR_MEMORY;
    int status = tutti_progress_group(shop, t, &less, TUTTI_TREE_LONG, made);
    if (status == TUTTI_OK)
        status = listed(shop, made, &less);
    if (status == TUTTI_OK) {
        if (less <= LISTS || (less <= TUTTI_TREE_MOST && !blocks && runs > MOST_RUNS))
            status = tutti_place_seq(shop, made, less, out);
        else if (blocks)
            status = make_list(shop, t, n, mixed, out);
        else if (runs <= MOST_RUNS)
            status = by_runs(shop, t, n, out);
        else
            status = tutti_workshop_refuse(shop, "too many parts of too many blocks");
    }
    free(made);
    return status;
}

/* Sequences of parts, and rows that are no progression: lists of where equal shapes, or blocks, are. */
#include "dtype/plan/arena.h"
#include "dtype/plan/runs.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    SHORTEST = 8,       /* a list */
    FINEST = 4,         /* bytes that longer blocks are cut into */
    LISTS = 64,         /* parts of a sequence with lists */
    MOST_RUNS = 1 << 22 /* blocks that a list is made of where its parts are not blocks */
};

/* What all kinds of rows have in common. */
static int new_row(struct tutti_workshop *shop, enum tutti_tree_kind kind, const struct tutti_tree_place *t, size_t n,
                   struct tutti_tree **out)
{
    struct tutti_tree *tree = tutti_workshop_take(shop, 1, sizeof *tree);
    if (!tree)
        return TUTTI_ERR_MEMORY;
    *tree = (struct tutti_tree){.kind = kind, .n = n, .low = INT64_MAX, .high = INT64_MIN};
    for (size_t i = 0; i < n; i++) {
        int64_t at = t[i].offset - t[0].offset, low = at + tutti_membership_low(t[i]),
                high = at + tutti_membership_high(t[i]);
        if (low < tree->low)
            tree->low = low;
        if (high > tree->high)
            tree->high = high;
        tree->size += tutti_membership_size(t[i]);
        tree->runs += tutti_membership_runs(t[i]);
        tree->has_list |= t[i].tree && t[i].tree->has_list;
        if (tree->size > (uint64_t)TUTTI_TREE_LIMIT)
            return tutti_workshop_refuse(shop, "a size beyond 62 bits");
    }
    if (tree->low < -TUTTI_TREE_LIMIT || tree->high > TUTTI_TREE_LIMIT)
        return tutti_workshop_refuse(shop, "displacements beyond 62 bits");
    tree->end = t[n - 1].offset - t[0].offset + tutti_membership_end(t[n - 1]);
    *out = tree;
    return TUTTI_OK;
}

int tutti_membership_seq(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                         struct tutti_tree_place *out)
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
    uint64_t hash = tutti_hash_mix(n, TUTTI_TREE_SEQ);
    for (size_t i = 0; i < n; i++) {
        tree->parts[i] = t[i];
        tree->parts[i].offset -= t[0].offset;
        hash = tutti_hash_mix(tutti_hash_mix(hash, (uint64_t)tree->parts[i].offset),
                              t[i].tree ? t[i].tree->hash : t[i].length);
    }
    tree->hash = hash;
    *out = (struct tutti_tree_place){.offset = t[0].offset, .tree = tree};
    return TUTTI_OK;
}

static void hash_list(struct tutti_tree *tree)
{
    tree->numbers = tutti_hash_mix(XXH3_64bits(tree->offsets, tree->n * sizeof *tree->offsets), tree->n);
    if (tree->begins)
        tree->numbers = tutti_hash_mix(tree->numbers, XXH3_64bits(tree->begins, (tree->n + 1) * sizeof *tree->begins));
    const struct tutti_tree_place child = tree->child;
    tree->hash =
        tree->begins ? tree->numbers : tutti_hash_mix(tree->numbers, child.tree ? child.tree->hash : child.length);
}

/* Places of one shape. */
static int list_shapes(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                       struct tutti_tree_place *out)
{
    struct tutti_tree *tree;
    int status = new_row(shop, TUTTI_TREE_LIST, t, n, &tree);
    if (status != TUTTI_OK)
        return status;
    tree->has_list = true;
    tree->next_list = shop->lists;
    shop->lists = tree;
    tree->child = t[0];
    tree->child.offset = 0;
    if (!(tree->offsets = tutti_arena_take(n, sizeof *tree->offsets)))
        return TUTTI_ERR_MEMORY;
    for (size_t i = 0; i < n; i++)
        tree->offsets[i] = t[i].offset - t[0].offset;
    hash_list(tree);
    *out = (struct tutti_tree_place){.offset = t[0].offset, .tree = tree};
    return TUTTI_OK;
}

/* ---- lists of blocks ---- */

/* What all blocks of a list are, or the shortest one where all are a multiple of it and the most of them once or twice;
 * 0 if they differ. */
static uint64_t common_length(const struct tutti_block_runs *runs, uint64_t size)
{
    uint64_t least = runs->each;
    bool equal = true;
    for (size_t i = 0; runs->lengths && i < runs->n; i++) {
        equal = equal && runs->lengths[i] == runs->lengths[0];
        least = runs->lengths[i] < least ? runs->lengths[i] : least;
    }
    if (equal)
        return runs->lengths ? runs->lengths[0] : least;
    if (least < FINEST || size / least > 2 * runs->n)
        return 0;
    for (size_t i = 0; i < runs->n; i++) {
        const uint64_t length = runs->lengths[i];
        if (length != least && length != 2 * least && length % least != 0) /* divisions are slow */
            return 0;
    }
    return least;
}

/* The offsets of blocks of `length` bytes that all of the blocks are cut into. */
static int cut_offsets(struct tutti_block_runs *runs, uint64_t length, size_t n)
{
    int64_t *offsets = tutti_arena_take(n, sizeof *offsets);
    if (!offsets)
        return TUTTI_ERR_MEMORY;
    size_t k = 0;
    for (size_t i = 0; i < runs->n; i++) {
        for (uint64_t done = 0; done < runs->lengths[i]; done += length)
            offsets[k++] = runs->offsets[i] + (int64_t)done;
    }
    tutti_arena_free(runs->offsets);
    runs->offsets = offsets;
    runs->room = n;
    return TUTTI_OK;
}

/* In place: there is room for one more. */
static uint64_t *begins_of(struct tutti_block_runs *runs)
{
    uint64_t *begins = runs->lengths, at = 0;
    for (size_t i = 0; i <= runs->n; i++) {
        uint64_t length = i < runs->n ? begins[i] : 0;
        begins[i] = at;
        at += length;
    }
    runs->lengths = NULL;
    return begins;
}

/* How much there is, from the lowest to past the highest byte, and whether the blocks rise or fall throughout; false
 * where that is beyond the limits. */
static bool lists_measure(const struct tutti_block_runs *runs, struct tutti_tree *tree)
{
    const int64_t *at = runs->offsets;
    const uint64_t *lengths = runs->lengths, each = runs->each;
    int64_t low = at[0], high = at[0], end = INT64_MIN, last = INT64_MAX;
    bool rises = true, falls = true, fits = true;
    uint64_t size = 0;
    for (size_t i = 0; i < runs->n; i++) {
        const uint64_t length = lengths ? lengths[i] : each;
        const int64_t next = at[i] + (int64_t)length;
        rises &= at[i] >= end;
        falls &= next <= last;
        low = at[i] < low ? at[i] : low;
        high = next > high ? next : high;
        end = next;
        last = at[i];
        size += length;
        fits &= size <= (uint64_t)TUTTI_TREE_LIMIT;
    }
    tree->size = size;
    tree->low = low - at[0];
    tree->high = high - at[0];
    tree->end = end - at[0];
    tree->apart = rises || falls;
    return fits && tree->low >= -TUTTI_TREE_LIMIT && tree->high <= TUTTI_TREE_LIMIT;
}

int tutti_block_runs_list(struct tutti_workshop *shop, struct tutti_block_runs *runs, struct tutti_tree_place *out)
{
    struct tutti_tree *tree = tutti_workshop_take(shop, 1, sizeof *tree);
    if (!tree)
        return TUTTI_ERR_MEMORY;
    *tree = (struct tutti_tree){
        .kind = TUTTI_TREE_MIXED, .n = runs->n, .runs = runs->n, .has_list = true, .next_list = shop->lists};
    shop->lists = tree;
    if (!lists_measure(runs, tree))
        return tutti_workshop_refuse(shop, "displacements or a size beyond 62 bits");
    const uint64_t length = common_length(runs, tree->size);
    if (length > 0) {
        tree->kind = TUTTI_TREE_LIST;
        tree->child.length = length;
        tree->n = (size_t)(tree->size / length);
        if (tree->n > runs->n && cut_offsets(runs, length, tree->n) != TUTTI_OK)
            return TUTTI_ERR_MEMORY;
    } else {
        tree->begins = tutti_arena_fit(begins_of(runs), runs->n + 1, sizeof *tree->begins);
    }
    tree->offsets = tutti_arena_fit(runs->offsets, tree->n, sizeof *tree->offsets);
    runs->offsets = NULL;
    tutti_block_runs_free(runs);
    const int64_t first = tree->offsets[0];
    for (size_t i = 0; i < tree->n; i++)
        tree->offsets[i] -= first;
    hash_list(tree);
    *out = (struct tutti_tree_place){.offset = first, .tree = tree};
    return TUTTI_OK;
}

static int list_blocks(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                       struct tutti_tree_place *out)
{
    struct tutti_block_runs runs = {0};
    int status = tutti_block_runs_reserve(&runs, n);
    for (size_t i = 0; i < n && status == TUTTI_OK; i++)
        status = tutti_block_runs_store(&runs, t[i].offset, t[i].length);
    if (status == TUTTI_OK)
        status = tutti_block_runs_list(shop, &runs, out);
    tutti_block_runs_free(&runs);
    return status;
}

/* How many places from t[0] on one list can hold. */
static size_t lists_listable(const struct tutti_tree_place *t, size_t n)
{
    size_t i = 1;
    if (t[0].tree && t[0].tree->has_list)
        return 1;
    while (i < n && (t[0].tree ? tutti_membership_same(t[i], t[0]) : !t[i].tree))
        i++;
    return i;
}

/* In place. */
static int lists_listed(struct tutti_workshop *shop, struct tutti_tree_place *t, size_t *n)
{
    size_t made = 0;
    int status = TUTTI_OK;
    for (size_t i = 0; i < *n && status == TUTTI_OK;) {
        size_t length = lists_listable(t + i, *n - i);
        if (length < SHORTEST) {
            while (length-- > 0)
                t[made++] = t[i++];
            continue;
        }
        struct tutti_tree_place list;
        status = t[i].tree ? list_shapes(shop, t + i, length, &list) : list_blocks(shop, t + i, length, &list);
        t[made++] = list;
        i += length;
    }
    *n = made;
    return status;
}

static int by_runs(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                   struct tutti_tree_place *out)
{
    struct tutti_block_runs runs = {0};
    int status = TUTTI_OK;
    for (size_t i = 0; i < n && status == TUTTI_OK; i++)
        status = tutti_block_runs_add_place(&runs, t[i]);
    if (status == TUTTI_OK)
        status = tutti_block_runs_settle(shop, &runs, out);
    tutti_block_runs_free(&runs);
    return status;
}

int tutti_membership_lists(struct tutti_workshop *shop, const struct tutti_tree_place *t, size_t n,
                           struct tutti_tree_place *out)
{
    uint64_t runs = 0;
    bool blocks = true;
    size_t less = n;
    for (size_t i = 0; i < n; i++) {
        blocks = blocks && !t[i].tree;
        if (runs <= MOST_RUNS)
            runs += tutti_membership_runs(t[i]);
    }
    struct tutti_tree_place *made = tutti_arena_take(n, sizeof *made);
    if (!made)
        return TUTTI_ERR_MEMORY;
    int status = tutti_progress_group(shop, t, &less, TUTTI_TREE_LONG, made);
    if (status == TUTTI_OK)
        status = lists_listed(shop, made, &less);
    if (status == TUTTI_OK) {
        if (less <= LISTS || (less <= TUTTI_TREE_MOST && !blocks && runs > MOST_RUNS))
            status = tutti_membership_seq(shop, made, less, out);
        else if (blocks)
            status = list_blocks(shop, t, n, out);
        else if (runs <= MOST_RUNS)
            status = by_runs(shop, t, n, out);
        else
            status = tutti_workshop_refuse(shop, "too many parts of too many blocks");
    }
    tutti_arena_free(made);
    return status;
}

/* Whether one element may have a byte twice: by the spans of its parts where that says enough, otherwise by its blocks
 * where they are few. */
#include "dtype/plan/tree.h"

#include "core/status.h"
#include "dtype/plan/arena.h"

#include <string.h>

enum { EXACT = 4096, DIGIT = 11 };

struct span {
    uint64_t from, to; /* shifted so that 0 is the lowest */
};

/* By `from`, digit by digit; both have room for n. */
static void sort_spans(struct span *spans, struct span *spare, size_t n)
{
    uint64_t most = 0;
    for (size_t i = 0; i < n; i++)
        most |= spans[i].from;
    for (unsigned shift = 0; shift < 64 && most >> shift; shift += DIGIT) {
        size_t begin[(1 << DIGIT) + 1] = {0};
        for (size_t i = 0; i < n; i++)
            begin[(spans[i].from >> shift & ((1 << DIGIT) - 1)) + 1]++;
        for (size_t d = 0; d < 1 << DIGIT; d++)
            begin[d + 1] += begin[d];
        for (size_t i = 0; i < n; i++)
            spare[begin[spans[i].from >> shift & ((1 << DIGIT) - 1)]++] = spans[i];
        memcpy(spans, spare, n * sizeof *spans);
    }
}

static bool overlap_disjoint(struct span *spans, size_t n)
{
    struct span *spare = tutti_arena_take(n, sizeof *spare);
    if (!spare)
        return false;
    sort_spans(spans, spare, n);
    tutti_arena_free(spare);
    for (size_t i = 1; i < n; i++) {
        if (spans[i].from < spans[i - 1].to)
            return false;
    }
    return true;
}

/* Loops in loops: apart if each stride, from the shortest on, passes over all that is within. */
static bool loops_apart(const struct tutti_tree *tree, const struct tutti_tree **inside)
{
    uint64_t stride[TUTTI_TREE_PARTS * 4] = {0}, count[TUTTI_TREE_PARTS * 4] = {0};
    size_t n = 0;
    struct tutti_tree_place child = {.tree = (struct tutti_tree *)(uintptr_t)tree};
    for (; child.tree && child.tree->kind == TUTTI_TREE_LOOP; child = child.tree->child) {
        uint64_t by = (uint64_t)(child.tree->stride < 0 ? -child.tree->stride : child.tree->stride);
        size_t i = n++;
        if (n > sizeof stride / sizeof stride[0])
            return false;
        for (; i > 0 && stride[i - 1] > by; i--) {
            stride[i] = stride[i - 1];
            count[i] = count[i - 1];
        }
        stride[i] = by;
        count[i] = child.tree->count;
    }
    *inside = child.tree;
    uint64_t span = (uint64_t)(tutti_membership_high(child) - tutti_membership_low(child));
    for (size_t i = 0; i < n; i++) {
        if (stride[i] < span)
            return false;
        span += (count[i] - 1) * stride[i];
    }
    return true;
}

static struct span overlap_span_of(const struct tutti_tree *tree, size_t i)
{
    struct tutti_tree_place part = tree->child;
    if (tree->kind == TUTTI_TREE_SEQ)
        part = tree->parts[i];
    else if (tree->kind == TUTTI_TREE_MIXED)
        part = (struct tutti_tree_place){tree->offsets[i], tree->begins[i + 1] - tree->begins[i], NULL};
    else
        part.offset = tree->offsets[i];
    return (struct span){(uint64_t)(part.offset + tutti_membership_low(part) - tree->low),
                         (uint64_t)(part.offset + tutti_membership_high(part) - tree->low)};
}

/* Most rows rise or fall; the others are sorted. */
static bool row_apart(const struct tutti_tree *tree)
{
    bool rises = true, falls = true;
    if (tree->apart)
        return true;
    struct span last = overlap_span_of(tree, 0);
    for (size_t i = 1; i < tree->n && (rises || falls); i++) {
        struct span span = overlap_span_of(tree, i);
        rises = rises && span.from >= last.to;
        falls = falls && span.to <= last.from;
        last = span;
    }
    if (rises || falls)
        return true;
    struct span *spans = tutti_arena_take(tree->n, sizeof *spans);
    if (!spans)
        return false;
    for (size_t i = 0; i < tree->n; i++)
        spans[i] = overlap_span_of(tree, i);
    bool apart = overlap_disjoint(spans, tree->n);
    tutti_arena_free(spans);
    return apart;
}

static bool parts_apart(const struct tutti_tree *tree)
{
    const struct tutti_tree *inside;
    if (!tree)
        return true;
    switch (tree->kind) {
    case TUTTI_TREE_LOOP:
        return loops_apart(tree, &inside) && parts_apart(inside);
    case TUTTI_TREE_SEQ:
        for (size_t i = 0; i < tree->n; i++) {
            if (!parts_apart(tree->parts[i].tree))
                return false;
        }
        return row_apart(tree);
    case TUTTI_TREE_LIST:
        return parts_apart(tree->child.tree) && row_apart(tree);
    case TUTTI_TREE_MIXED:
        return row_apart(tree);
    }
    return false;
}

static bool blocks_apart(struct tutti_tree_place place)
{
    struct tutti_workshop shop;
    struct tutti_row row = {0};
    bool apart = false;
    tutti_workshop_open(&shop);
    if (tutti_row_push_runs(&shop, &row, place) == TUTTI_OK) {
        struct span *spans = tutti_arena_take(row.n, sizeof *spans);
        for (size_t i = 0; spans && i < row.n; i++) {
            spans[i].from = (uint64_t)(row.at[i].offset - place.offset - tutti_membership_low(place));
            spans[i].to = spans[i].from + row.at[i].length;
        }
        apart = spans && overlap_disjoint(spans, row.n);
        tutti_arena_free(spans);
    }
    tutti_row_free(&row);
    tutti_workshop_close(&shop);
    return apart;
}

int tutti_membership_overlaps(struct tutti_tree_place place)
{
    if (parts_apart(place.tree))
        return 0;
    return tutti_membership_runs(place) > EXACT || !blocks_apart(place);
}

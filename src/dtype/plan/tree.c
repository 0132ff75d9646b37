#include "dtype/plan/tree.h"

#include "core/status.h"
#include "dtype/plan/arena.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32 << 10 };

struct tutti_workshop_chunk {
    struct tutti_workshop_chunk *next;
    size_t used, room;
    uint64_t memory[];
};

void tutti_workshop_open(struct tutti_workshop *shop)
{
    shop->chunks = NULL;
    memset(shop->loops, 0, sizeof shop->loops);
    shop->loops_made = 0;
    shop->lists = NULL;
    shop->why = NULL;
    shop->used = 0;
}

void tutti_workshop_close(struct tutti_workshop *shop)
{
    for (struct tutti_tree *list = shop->lists; list; list = list->next_list) {
        if (!list->taken) {
            tutti_arena_free(list->offsets);
            tutti_arena_free(list->begins);
        }
    }
    while (shop->chunks) {
        struct tutti_workshop_chunk *next = shop->chunks->next;
        free(shop->chunks);
        shop->chunks = next;
    }
}

void *tutti_workshop_take(struct tutti_workshop *shop, size_t n, size_t size)
{
    size_t bytes, words;
    if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 4)
        return NULL;
    words = (bytes + 7) / 8;
    if (sizeof shop->first / 8 - shop->used >= words) {
        void *memory = shop->first + shop->used;
        shop->used += words;
        return memory;
    }
    struct tutti_workshop_chunk *chunk = shop->chunks;
    if (!chunk || chunk->room - chunk->used < words) {
        size_t room = words > CHUNK / 8 ? words : CHUNK / 8;
        chunk = malloc(sizeof *chunk + room * 8);
        if (!chunk)
            return NULL;
        chunk->next = shop->chunks;
        chunk->used = 0;
        chunk->room = room;
        shop->chunks = chunk;
    }
    void *memory = chunk->memory + chunk->used;
    chunk->used += words;
    return memory;
}

int tutti_workshop_refuse(struct tutti_workshop *shop, const char *why)
{
    shop->why = why;
    return TUTTI_ERR_UNAVAILABLE;
}

bool tutti_tree_same(const struct tutti_tree *x, const struct tutti_tree *y)
{
    if (x->hash != y->hash || x->kind != y->kind || x->size != y->size || x->n != y->n)
        return false;
    switch (x->kind) {
    case TUTTI_TREE_LOOP:
        return x->count == y->count && x->stride == y->stride && tutti_membership_same(x->child, y->child);
    case TUTTI_TREE_SEQ:
        for (size_t i = 0; i < x->n; i++) {
            if (x->parts[i].offset != y->parts[i].offset || !tutti_membership_same(x->parts[i], y->parts[i]))
                return false;
        }
        return true;
    case TUTTI_TREE_LIST:
        return tutti_membership_same(x->child, y->child) &&
               memcmp(x->offsets, y->offsets, x->n * sizeof *x->offsets) == 0;
    case TUTTI_TREE_MIXED:
        return memcmp(x->offsets, y->offsets, x->n * sizeof *x->offsets) == 0 &&
               memcmp(x->begins, y->begins, (x->n + 1) * sizeof *x->begins) == 0;
    }
    return false;
}

int tutti_membership_move(struct tutti_workshop *shop, struct tutti_tree_place *place, int64_t by)
{
    tutti_wide offset = (tutti_wide)place->offset + by;
    if (tutti_membership_size(*place) == 0)
        return TUTTI_OK;
    if (offset < -TUTTI_TREE_LIMIT || offset > TUTTI_TREE_LIMIT ||
        offset + tutti_membership_low(*place) < -TUTTI_TREE_LIMIT ||
        offset + tutti_membership_high(*place) > TUTTI_TREE_LIMIT)
        return tutti_workshop_refuse(shop, "displacements beyond 62 bits");
    place->offset = (int64_t)offset;
    return TUTTI_OK;
}

static uint64_t shape_hash(struct tutti_tree_place place)
{
    return place.tree ? place.tree->hash : tutti_hash_mix(UINT64_C(0x243f6a8885a308d3), place.length);
}

/* A loop that is not folded. The last ones made are remembered: rows of equal stretches then share one tree. */
static int new_loop(struct tutti_workshop *shop, uint64_t count, int64_t stride, struct tutti_tree_place child,
                    struct tutti_tree_place *out)
{
    tutti_wide all = (tutti_wide)stride * (tutti_wide)(count - 1);
    uint64_t hash = tutti_hash_mix(tutti_hash_mix(shape_hash(child), count), (uint64_t)stride);
    struct tutti_tree **kept = &shop->loops[hash & (TUTTI_TREE_SMALL_CACHE - 1)], *loop = *kept;
    int64_t offset = child.offset;
    child.offset = 0;
    if (all < -TUTTI_TREE_LIMIT || all > TUTTI_TREE_LIMIT)
        return tutti_workshop_refuse(shop, "displacements beyond 62 bits");
    if (!loop || loop->hash != hash || loop->count != count || loop->stride != stride ||
        !tutti_membership_same(loop->child, child)) {
        loop = tutti_workshop_take(shop, 1, sizeof *loop);
        if (!loop)
            return TUTTI_ERR_MEMORY;
        *loop = (struct tutti_tree){
            .kind = TUTTI_TREE_LOOP,
            .flat = tutti_membership_flat(child) && tutti_membership_end(child) != stride,
            .has_list = child.tree && child.tree->has_list,
            .size = tutti_membership_size(child) * count,
            .runs = tutti_membership_runs(child) * count,
            .low = tutti_membership_low(child) + (all < 0 ? (int64_t)all : 0),
            .high = tutti_membership_high(child) + (all > 0 ? (int64_t)all : 0),
            .end = tutti_membership_end(child) + (int64_t)all,
            .hash = hash,
            .count = count,
            .stride = stride,
            .child = child,
        };
        *kept = loop;
        shop->loops_made++;
    }
    *out = (struct tutti_tree_place){.tree = loop};
    return tutti_membership_move(shop, out, offset);
}

int tutti_membership_loop(struct tutti_workshop *shop, uint64_t count, int64_t stride, struct tutti_tree_place child,
                          struct tutti_tree_place *out)
{
    uint64_t size = tutti_membership_size(child);
    const struct tutti_tree *inner = child.tree;
    if (count == 0 || size == 0) {
        *out = (struct tutti_tree_place){0};
        return TUTTI_OK;
    }
    if (count == 1) {
        *out = child;
        return TUTTI_OK;
    }
    if (count > (uint64_t)TUTTI_TREE_LIMIT / size)
        return tutti_workshop_refuse(shop, "a size beyond 62 bits");
    if (!inner && stride == (int64_t)child.length) {
        *out = (struct tutti_tree_place){.length = count * child.length};
        return tutti_membership_move(shop, out, child.offset);
    }
    if (inner && inner->kind == TUTTI_TREE_LOOP && (tutti_wide)inner->stride * (tutti_wide)inner->count == stride) {
        struct tutti_tree_place place = inner->child;
        place.offset = child.offset;
        return new_loop(shop, count * inner->count, inner->stride, place, out);
    }
    return new_loop(shop, count, stride, child, out);
}

void tutti_row_free(struct tutti_row *row)
{
    tutti_arena_free(row->at);
    *row = (struct tutti_row){0};
}

int tutti_row_reserve(struct tutti_row *row, size_t n)
{
    struct tutti_tree_place *more;
    if (n <= row->room)
        return TUTTI_OK;
    if (!(more = tutti_arena_grow(row->at, n, sizeof *more)))
        return TUTTI_ERR_MEMORY;
    row->at = more;
    row->room = n;
    return TUTTI_OK;
}

/* Makes `last` longer by the next one, if that continues with the same stride. */
static int tree_absorb(struct tutti_workshop *shop, struct tutti_tree_place *last, struct tutti_tree_place next,
                       bool *done)
{
    const struct tutti_tree *a = last->tree, *b = next.tree;
    struct tutti_tree_place child;
    *done = true;
    if (a && a->kind == TUTTI_TREE_LOOP && next.offset - last->offset == (tutti_wide)a->stride * (tutti_wide)a->count) {
        child = a->child;
        child.offset = last->offset;
        if (tutti_membership_same(a->child, next))
            return tutti_membership_loop(shop, a->count + 1, a->stride, child, last);
        if (b && b->kind == TUTTI_TREE_LOOP && b->stride == a->stride && tutti_membership_same(a->child, b->child))
            return tutti_membership_loop(shop, a->count + b->count, a->stride, child, last);
    }
    if (b && b->kind == TUTTI_TREE_LOOP && next.offset - last->offset == b->stride &&
        tutti_membership_same(*last, b->child))
        return tutti_membership_loop(shop, b->count + 1, b->stride, *last, last);
    *done = false;
    return TUTTI_OK;
}

int tutti_row_push(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_tree_place place)
{
    if (tutti_membership_size(place) == 0)
        return TUTTI_OK;
    if (row->n > 0) {
        struct tutti_tree_place *last = &row->at[row->n - 1];
        if (!last->tree && !place.tree) {
            if (last->offset + (int64_t)last->length == place.offset) {
                last->length += place.length;
                return TUTTI_OK;
            }
        } else {
            bool done;
            int status = tree_absorb(shop, last, place, &done);
            if (status != TUTTI_OK || done)
                return status;
        }
    }
    if (row->n == row->room) {
        int status = tutti_row_reserve(row, row->room ? 2 * row->room : 64);
        if (status != TUTTI_OK)
            return status;
    }
    row->at[row->n++] = place;
    return TUTTI_OK;
}

int tutti_row_push_runs(struct tutti_workshop *shop, struct tutti_row *row, struct tutti_tree_place place)
{
    const struct tutti_tree *tree = place.tree;
    int status = TUTTI_OK;
    if (!tree)
        return tutti_row_push(shop, row, place);
    size_t n = tree->kind == TUTTI_TREE_LOOP ? (size_t)tree->count : tree->n;
    for (size_t i = 0; i < n && status == TUTTI_OK; i++) {
        struct tutti_tree_place part = tree->child;
        switch (tree->kind) {
        case TUTTI_TREE_LOOP:
            part.offset = (int64_t)i * tree->stride;
            break;
        case TUTTI_TREE_SEQ:
            part = tree->parts[i];
            break;
        case TUTTI_TREE_LIST:
            part.offset = tree->offsets[i];
            break;
        case TUTTI_TREE_MIXED:
            part = (struct tutti_tree_place){tree->offsets[i], tree->begins[i + 1] - tree->begins[i], NULL};
            break;
        }
        part.offset += place.offset;
        status = tutti_row_push_runs(shop, row, part);
    }
    return status;
}

#include "dtype/plan/emit.h"

#include "core/status.h"
#include "dtype/plan/arena.h"

#include <stdlib.h>
#include <string.h>

enum { NEST = 128, MOST_SEGMENTS = 1 << 16 };

/* The loops around a block, slowest first, and the list among them. */
struct nest {
    struct tutti_dim dim[NEST];
    uint32_t dims, list_at;
    struct tutti_tree *list;
    uint64_t pitch;
};

void tutti_segments_free(struct tutti_segments *segments)
{
    while (segments->lists) {
        struct tutti_plan_list *next = segments->lists->next;
        tutti_arena_free(segments->lists->offsets);
        tutti_arena_free(segments->lists->begins);
        free(segments->lists);
        segments->lists = next;
    }
    free(segments->at);
    *segments = (struct tutti_segments){0};
}

/* A list that several segments share is kept once. */
static const struct tutti_plan_list *keep_list(struct tutti_segments *out, struct tutti_tree *of)
{
    for (const struct tutti_plan_list *list = out->lists; of->taken && list; list = list->next) {
        if (list->of == of)
            return list;
    }
    struct tutti_plan_list *list = calloc(1, sizeof *list);
    if (!list)
        return NULL;
    list->next = out->lists;
    list->of = of;
    out->lists = list;
    list->offsets = of->offsets;
    list->begins = of->begins;
    list->numbers = of->numbers;
    of->taken = true;
    return list;
}

static int nest_emit(struct tutti_workshop *shop, struct tutti_segments *out, const struct nest *nest, int64_t offset,
                     uint64_t packed, uint64_t block);

/* Dimensions beyond what a segment has: the one of the fewest steps is walked here. */
static int emit_steps(struct tutti_workshop *shop, struct tutti_segments *out, const struct nest *nest, int64_t offset,
                      uint64_t packed, uint64_t block)
{
    struct nest less = *nest;
    uint32_t least = 0;
    for (uint32_t k = 1; k < nest->dims; k++) {
        if (nest->dim[k].count < nest->dim[least].count)
            least = k;
    }
    struct tutti_dim dim = nest->dim[least];
    if (dim.count > MOST_SEGMENTS)
        return tutti_workshop_refuse(shop, "too many dimensions");
    less.dims--;
    memmove(&less.dim[least], &less.dim[least + 1], (less.dims - least) * sizeof less.dim[0]);
    if (least < less.list_at)
        less.list_at--;
    int status = TUTTI_OK;
    for (uint64_t i = 0; i < dim.count && status == TUTTI_OK; i++)
        status =
            nest_emit(shop, out, &less, offset + (int64_t)i * dim.stride, packed + i * (uint64_t)dim.packed, block);
    return status;
}

static int nest_emit(struct tutti_workshop *shop, struct tutti_segments *out, const struct nest *nest, int64_t offset,
                     uint64_t packed, uint64_t block)
{
    if (nest->dims > TUTTI_PLAN_DIMS)
        return emit_steps(shop, out, nest, offset, packed, block);
    if (out->n == out->room) {
        uint32_t room = out->room ? 4 * out->room : 1;
        if (room > MOST_SEGMENTS)
            return tutti_workshop_refuse(shop, "too many segments");
        struct tutti_segment *more = realloc(out->at, room * sizeof *more);
        if (!more)
            return TUTTI_ERR_MEMORY;
        out->at = more;
        out->room = room;
    }
    struct tutti_segment *segment = &out->at[out->n];
    memset(segment, 0, sizeof *segment);
    segment->offset = offset;
    segment->packed = packed;
    segment->block = block;
    segment->dims = nest->dims;
    memcpy(segment->dim, nest->dim, nest->dims * sizeof segment->dim[0]);
    if (nest->list) {
        const struct tutti_plan_list *list = keep_list(out, nest->list);
        if (!list)
            return TUTTI_ERR_MEMORY;
        segment->list_at = nest->list_at;
        segment->entries = nest->list->n;
        segment->pitch = nest->pitch;
        segment->offsets = list->offsets;
        segment->begins = list->begins;
    }
    out->n++;
    return TUTTI_OK;
}

static int emit_walk(struct tutti_workshop *shop, struct tutti_segments *out, struct nest *nest,
                     struct tutti_tree_place place, int64_t offset, uint64_t packed)
{
    struct tutti_tree *tree = place.tree;
    int status = TUTTI_OK;
    if (!tree)
        return nest_emit(shop, out, nest, offset, packed, place.length);
    switch (tree->kind) {
    case TUTTI_TREE_LOOP:
        if (nest->dims == NEST)
            return tutti_workshop_refuse(shop, "too many dimensions");
        nest->dim[nest->dims++] =
            (struct tutti_dim){tree->count, tree->stride, (int64_t)tutti_membership_size(tree->child)};
        status = emit_walk(shop, out, nest, tree->child, offset, packed);
        nest->dims--;
        return status;
    case TUTTI_TREE_SEQ:
        for (size_t i = 0; i < tree->n && status == TUTTI_OK; i++) {
            status = emit_walk(shop, out, nest, tree->parts[i], offset + tree->parts[i].offset, packed);
            packed += tutti_membership_size(tree->parts[i]);
        }
        return status;
    case TUTTI_TREE_LIST:
    case TUTTI_TREE_MIXED:
        nest->list = tree;
        nest->list_at = nest->dims;
        nest->pitch = tree->kind == TUTTI_TREE_LIST ? tutti_membership_size(tree->child) : 0;
        status = tree->kind == TUTTI_TREE_LIST ? emit_walk(shop, out, nest, tree->child, offset, packed)
                                               : nest_emit(shop, out, nest, offset, packed, 0);
        nest->list = NULL;
        nest->list_at = 0;
        return status;
    }
    return TUTTI_ERR_ARGUMENT;
}

int tutti_segments_make(struct tutti_workshop *shop, struct tutti_tree_place place, struct tutti_segments *out)
{
    struct nest nest;
    nest.dims = nest.list_at = 0;
    nest.list = NULL;
    nest.pitch = 0;
    *out = (struct tutti_segments){0};
    if (tutti_membership_size(place) == 0)
        return TUTTI_OK;
    return emit_walk(shop, out, &nest, place, place.offset, 0);
}

static uint64_t list_hash(const struct tutti_segments *segments, const struct tutti_segment *s)
{
    const struct tutti_plan_list *list = segments->lists;
    while (list->offsets != s->offsets)
        list = list->next;
    return list->numbers;
}

uint64_t tutti_segments_hash(const struct tutti_segments *segments)
{
    uint64_t hash = segments->n;
    for (uint32_t i = 0; i < segments->n; i++) {
        const struct tutti_segment *s = &segments->at[i];
        hash = tutti_hash_mix(tutti_hash_mix(tutti_hash_mix(hash, (uint64_t)s->offset), s->packed), s->block);
        hash = tutti_hash_mix(hash, ((uint64_t)s->dims << 32) | s->list_at);
        for (uint32_t k = 0; k < s->dims; k++) {
            hash = tutti_hash_mix(tutti_hash_mix(hash, s->dim[k].count), (uint64_t)s->dim[k].stride);
            hash = tutti_hash_mix(hash, (uint64_t)s->dim[k].packed);
        }
        if (s->entries == 0)
            continue;
        hash = tutti_hash_mix(tutti_hash_mix(hash, s->entries), s->pitch);
        hash = tutti_hash_mix(hash, list_hash(segments, s));
    }
    return hash;
}

bool tutti_segments_equal(const struct tutti_segment *a, const struct tutti_segment *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++, a++, b++) {
        if (a->offset != b->offset || a->packed != b->packed || a->block != b->block || a->dims != b->dims ||
            a->list_at != b->list_at || a->entries != b->entries || a->pitch != b->pitch ||
            memcmp(a->dim, b->dim, a->dims * sizeof a->dim[0]) != 0)
            return false;
        if (a->entries > 0 &&
            (!a->begins != !b->begins || memcmp(a->offsets, b->offsets, a->entries * sizeof *a->offsets) != 0 ||
             (a->begins && memcmp(a->begins, b->begins, (a->entries + 1) * sizeof *a->begins) != 0)))
            return false;
    }
    return true;
}

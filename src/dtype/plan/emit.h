/* From a tree to the segments of a plan. Private to src/dtype. */
#ifndef TUTTI_DTYPE_EMIT_H
#define TUTTI_DTYPE_EMIT_H

#include "dtype/plan.h"
#include "dtype/plan/tree.h"

/* Lists that a plan owns. */
struct tutti_plan_list {
    struct tutti_plan_list *next;
    const struct tutti_tree *of; /* while the plan is made */
    int64_t *offsets;
    uint64_t *begins;
    uint64_t numbers; /* hash of both */
};

struct tutti_segments {
    struct tutti_segment *at;
    uint32_t n, room;
    struct tutti_plan_list *lists;
};

/* Frees with tutti_segments_free() in any case. */
int tutti_segments_make(struct tutti_workshop *shop, struct tutti_tree_place place, struct tutti_segments *out);
void tutti_segments_free(struct tutti_segments *segments);
uint64_t tutti_segments_hash(const struct tutti_segments *segments);
bool tutti_segments_equal(const struct tutti_segment *a, const struct tutti_segment *b, uint32_t n);

/* plan.c: the plan of these segments, which are the plan's from now on; `like` says the rest. One reference more. */
int tutti_plan_adopt(const struct tutti_plan *like, struct tutti_segments *segments, const struct tutti_plan **out);
/* plan.c: `count` elements, at least 1, as one more slowest dimension (stride: the extent; packed stride: the size),
 * folded where it can be. 0 if there is no room for it. */
int tutti_segment_repeat(struct tutti_segment *segment, uint64_t count, int64_t extent, uint64_t size);

#endif

/* Packing by the calling thread. Addresses are numbers here: layouts may be counted from address 0. Each segment's
 * loops are entered at the first block that the range touches, found by division and, in lists, by bisection; only the
 * first and the last block of a range can be cut. */
#include "dtype/plan/emit.h"

#include <stdbool.h>
#include <string.h>

enum { PIECE = 32 << 10 /* packed bytes in which segments that interleave are done, so that they stay in the cache */ };

enum way { PACK, UNPACK };

struct job {
    uintptr_t packed; /* where byte `first` is */
    uint64_t first, end;
    const struct tutti_segment *segment;
};

#define TUTTI_ALWAYS static inline __attribute__((always_inline))

TUTTI_ALWAYS void copy(enum way way, uintptr_t memory, uintptr_t packed, uint64_t bytes)
{
    if (way == PACK)
        memcpy((void *)packed, (const void *)memory, bytes);
    else
        memcpy((void *)memory, (const void *)packed, bytes);
}

/* `count` blocks, whole. */
TUTTI_ALWAYS void blocks(enum way way, uintptr_t memory, uintptr_t packed, uint64_t bytes, uint64_t count,
                         int64_t stride, int64_t step)
{
#define TUTTI_BLOCKS(size)                                                                                             \
    case size:                                                                                                         \
        for (uint64_t i = 0; i < count; i++, memory += (uint64_t)stride, packed += (uint64_t)step)                     \
            copy(way, memory, packed, size);                                                                           \
        break;
    switch (bytes) {
        TUTTI_BLOCKS(1)
        TUTTI_BLOCKS(2)
        TUTTI_BLOCKS(4)
        TUTTI_BLOCKS(8)
        TUTTI_BLOCKS(12)
        TUTTI_BLOCKS(16)
        TUTTI_BLOCKS(24)
        TUTTI_BLOCKS(32)
        TUTTI_BLOCKS(64)
    default:
        for (uint64_t i = 0; i < count; i++, memory += (uint64_t)stride, packed += (uint64_t)step)
            copy(way, memory, packed, bytes);
    }
#undef TUTTI_BLOCKS
}

/* The entries of a level: dimensions, with the list as one of them. */
static uint32_t host_levels_of(const struct tutti_segment *s)
{
    return s->dims + (s->entries > 0);
}

static int is_list(const struct tutti_segment *s, uint32_t level)
{
    return s->entries > 0 && level == s->list_at;
}

static const struct tutti_dim *dim_at(const struct tutti_segment *s, uint32_t level)
{
    return &s->dim[level - (s->entries > 0 && level > s->list_at)];
}

static uint64_t steps_at(const struct tutti_segment *s, uint32_t level)
{
    return is_list(s, level) ? s->entries : dim_at(s, level)->count;
}

/* Steps [from, to) of `level`, all of what is inside them. `memory` and `packed` are where step 0 is. */
static void steps_pack(const struct tutti_segment *s, uint32_t level, uint64_t from, uint64_t to, uintptr_t memory,
                       uintptr_t packed);
static void steps_unpack(const struct tutti_segment *s, uint32_t level, uint64_t from, uint64_t to, uintptr_t memory,
                         uintptr_t packed);

TUTTI_ALWAYS void inside(enum way way, const struct tutti_segment *s, uint32_t level, uint64_t from, uint64_t to,
                         uintptr_t memory, uintptr_t packed)
{
    if (way == PACK)
        steps_pack(s, level, from, to, memory, packed);
    else
        steps_unpack(s, level, from, to, memory, packed);
}

TUTTI_ALWAYS void steps(enum way way, const struct tutti_segment *s, uint32_t level, uint64_t from, uint64_t to,
                        uintptr_t memory, uintptr_t packed)
{
    uint32_t left = host_levels_of(s) - level;
    if (is_list(s, level)) {
        for (uint64_t e = from; e < to; e++) {
            uintptr_t at = memory + (uint64_t)s->offsets[e];
            if (s->begins)
                copy(way, at, packed + s->begins[e], s->begins[e + 1] - s->begins[e]);
            else if (left == 1)
                blocks(way, at, packed + e * s->pitch, s->block, 1, 0, 0);
            else
                inside(way, s, level + 1, 0, steps_at(s, level + 1), at, packed + e * s->pitch);
        }
        return;
    }
    const struct tutti_dim *dim = dim_at(s, level);
    memory += from * (uint64_t)dim->stride;
    packed += from * (uint64_t)dim->packed;
    if (left == 1) {
        blocks(way, memory, packed, s->block, to - from, dim->stride, dim->packed);
    } else if (left == 2 && !is_list(s, level + 1)) {
        const struct tutti_dim *row = dim_at(s, level + 1);
        for (uint64_t i = from; i < to; i++, memory += (uint64_t)dim->stride, packed += (uint64_t)dim->packed)
            blocks(way, memory, packed, s->block, row->count, row->stride, row->packed);
    } else {
        uint64_t inner = steps_at(s, level + 1);
        for (uint64_t i = from; i < to; i++, memory += (uint64_t)dim->stride, packed += (uint64_t)dim->packed)
            inside(way, s, level + 1, 0, inner, memory, packed);
    }
}

static void steps_pack(const struct tutti_segment *s, uint32_t level, uint64_t from, uint64_t to, uintptr_t memory,
                       uintptr_t packed)
{
    steps(PACK, s, level, from, to, memory, packed);
}

static void steps_unpack(const struct tutti_segment *s, uint32_t level, uint64_t from, uint64_t to, uintptr_t memory,
                         uintptr_t packed)
{
    steps(UNPACK, s, level, from, to, memory, packed);
}

/* Packed bytes from the first to past the last of what is inside each level. */
static void spans_of(const struct tutti_segment *s, uint64_t *span)
{
    uint32_t level = host_levels_of(s);
    span[level] = s->block;
    while (level-- > 0) {
        if (!is_list(s, level))
            span[level] = span[level + 1] + (dim_at(s, level)->count - 1) * (uint64_t)dim_at(s, level)->packed;
        else if (s->begins)
            span[level] = s->begins[s->entries];
        else
            span[level] = span[level + 1] + (s->entries - 1) * s->pitch;
    }
}

/* First entry that ends after packed byte `from`, which is within the list. */
static uint64_t segment_entry(const struct tutti_segment *s, uint64_t from)
{
    uint64_t low = 0, high = s->entries;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (s->begins[middle] <= from)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Where the packed bytes of a step begin, relative to those of its level. */
static uint64_t host_begin_of(const struct tutti_segment *s, uint32_t level, uint64_t i)
{
    if (!is_list(s, level))
        return i * (uint64_t)dim_at(s, level)->packed;
    return s->begins ? s->begins[i] : i * s->pitch;
}

/* Steps before the one that packed byte `from` is in, or in the gap after. */
static uint64_t step_at(const struct tutti_segment *s, uint32_t level, uint64_t from)
{
    if (is_list(s, level) && s->begins)
        return segment_entry(s, from);
    uint64_t i = from / (is_list(s, level) ? s->pitch : (uint64_t)dim_at(s, level)->packed);
    return i < steps_at(s, level) ? i : steps_at(s, level) - 1;
}

/* What of [job->first, job->end) is inside `level`, whose packed bytes begin at `at`: a step that is cut, steps that
 * are whole, and one more that is cut. */
static void host_part(enum way way, const struct job *job, const uint64_t *span, uint32_t level, uintptr_t memory,
                      uint64_t at)
{
    const struct tutti_segment *s = job->segment;
    uint64_t length = span[level];
    if (at >= job->end || at + length <= job->first)
        return;
    uint64_t skip = at < job->first ? job->first - at : 0;
    uint64_t stop = job->end - at < length ? job->end - at : length;
    if (level == host_levels_of(s)) {
        copy(way, memory + skip, job->packed + (at + skip - job->first), stop - skip);
        return;
    }
    uint64_t from = step_at(s, level, skip), to = step_at(s, level, stop - 1) + 1;
    bool mixed = is_list(s, level) && s->begins;
    for (int side = 0; side < 2 && from < to; side++) {
        uint64_t i = side ? to - 1 : from, begin = host_begin_of(s, level, i);
        uint64_t bytes = mixed ? s->begins[i + 1] - begin : span[level + 1];
        if (begin >= skip && begin + bytes <= stop)
            continue;
        uint64_t by = is_list(s, level) ? (uint64_t)s->offsets[i] : i * (uint64_t)dim_at(s, level)->stride;
        if (mixed) {
            uint64_t low = begin < skip ? skip - begin : 0, high = begin + bytes > stop ? stop - begin : bytes;
            copy(way, memory + by + low, job->packed + (at + begin + low - job->first), high - low);
        } else {
            host_part(way, job, span, level + 1, memory + by, at + begin);
        }
        from += side == 0;
        to -= side == 1;
    }
    if (from < to) /* step 0 may be before the range: its address is a number that is not used */
        inside(way, s, level, from, to, memory, job->packed + (at - job->first));
}

/* The count of elements is one more dimension, where the segment takes it. */
static void segment_range(enum way way, const struct tutti_plan *plan, uint32_t i, uint64_t count, uintptr_t memory,
                          struct job job)
{
    struct tutti_segment folded = plan->segment[i];
    uint64_t span[TUTTI_PLAN_DIMS + 2];
    if (tutti_segment_repeat(&folded, count, plan->extent, plan->size)) {
        job.segment = &folded;
        spans_of(&folded, span);
        host_part(way, &job, span, 0, memory + (uint64_t)folded.offset, folded.packed);
        return;
    }
    job.segment = &plan->segment[i];
    spans_of(job.segment, span);
    for (uint64_t e = job.first / plan->size; e < count && e * plan->size < job.end; e++)
        host_part(way, &job, span, 0, memory + e * (uint64_t)plan->extent + (uint64_t)job.segment->offset,
                  e * plan->size + job.segment->packed);
}

static void host_range(enum way way, const struct tutti_plan *plan, uint64_t count, uintptr_t memory, uint64_t first,
                       uint64_t end, uintptr_t packed)
{
    uint64_t piece = plan->segments > 1 ? PIECE * (1 + (uint64_t)plan->segments / 8) : end - first;
    for (uint64_t at = first, next; at < end; at = next) {
        next = end - at > piece ? at + piece : end;
        for (uint32_t i = 0; i < plan->segments; i++)
            segment_range(way, plan, i, count, memory, (struct job){packed + (at - first), at, next, NULL});
    }
}

void tutti_plan_pack_host(const struct tutti_plan *plan, uint64_t count, const void *memory, uint64_t first,
                          uint64_t bytes, void *packed)
{
    if (plan->size > 0 && bytes > 0)
        host_range(PACK, plan, count, (uintptr_t)memory, first, first + bytes, (uintptr_t)packed);
}

void tutti_plan_unpack_host(const struct tutti_plan *plan, uint64_t count, void *memory, uint64_t first, uint64_t bytes,
                            const void *packed)
{
    if (plan->size > 0 && bytes > 0)
        host_range(UNPACK, plan, count, (uintptr_t)memory, first, first + bytes, (uintptr_t)packed);
}

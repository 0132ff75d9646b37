/* Packing by the calling thread. Addresses are numbers here: layouts may be counted from address 0. Each segment's
 * loops are entered at the first block that the range touches, found by division and, in lists, by bisection; only the
 * first and the last block of a range can be cut. */
#include "dtype/emit.h"

#include <string.h>

enum { PIECE = 32 << 10 /* packed bytes that segments which interleave are done in, so that they stay in the cache */ };

enum way { PACK, UNPACK };

struct job {
    char *packed; /* where byte `first` is */
    uint64_t first, end;
    const struct tutti_segment *segment;
};

#define TUTTI_ALWAYS static inline __attribute__((always_inline))

TUTTI_ALWAYS void copy(enum way way, uintptr_t memory, char *packed, uint64_t bytes)
{
    if (way == PACK)
        memcpy(packed, (const void *)memory, bytes);
    else
        memcpy((void *)memory, packed, bytes);
}

/* `count` blocks, whole. */
TUTTI_ALWAYS void blocks(enum way way, uintptr_t memory, char *packed, uint64_t bytes, uint64_t count, int64_t stride,
                         int64_t step)
{
#define TUTTI_BLOCKS(size)                                                                                             \
    case size:                                                                                                         \
        for (uint64_t i = 0; i < count; i++, memory += (uint64_t)stride, packed += step)                               \
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
        for (uint64_t i = 0; i < count; i++, memory += (uint64_t)stride, packed += step)
            copy(way, memory, packed, bytes);
    }
#undef TUTTI_BLOCKS
}

/* What stands at a level: dimensions, with the list as one of them. */
static uint32_t levels_of(const struct tutti_segment *s)
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

/* All of what is inside `level`. */
TUTTI_ALWAYS void whole(enum way way, const struct tutti_segment *s, uint32_t level, uintptr_t memory, char *packed);
static void whole_pack(const struct tutti_segment *s, uint32_t level, uintptr_t memory, char *packed);
static void whole_unpack(const struct tutti_segment *s, uint32_t level, uintptr_t memory, char *packed);

TUTTI_ALWAYS void inside(enum way way, const struct tutti_segment *s, uint32_t level, uintptr_t memory, char *packed)
{
    if (way == PACK)
        whole_pack(s, level, memory, packed);
    else
        whole_unpack(s, level, memory, packed);
}

TUTTI_ALWAYS void whole(enum way way, const struct tutti_segment *s, uint32_t level, uintptr_t memory, char *packed)
{
    uint32_t left = levels_of(s) - level;
    if (left == 0) {
        copy(way, memory, packed, s->block);
        return;
    }
    if (is_list(s, level)) {
        for (uint64_t e = 0; e < s->entries; e++) {
            if (s->begins)
                copy(way, memory + (uint64_t)s->offsets[e], packed + s->begins[e], s->begins[e + 1] - s->begins[e]);
            else if (left == 1)
                blocks(way, memory + (uint64_t)s->offsets[e], packed + e * s->pitch, s->block, 1, 0, 0);
            else
                inside(way, s, level + 1, memory + (uint64_t)s->offsets[e], packed + e * s->pitch);
        }
        return;
    }
    const struct tutti_dim *dim = dim_at(s, level);
    if (left == 1) {
        blocks(way, memory, packed, s->block, dim->count, dim->stride, dim->packed);
    } else if (left == 2 && !is_list(s, level + 1)) {
        const struct tutti_dim *row = dim_at(s, level + 1);
        for (uint64_t i = 0; i < dim->count; i++, memory += (uint64_t)dim->stride, packed += dim->packed)
            blocks(way, memory, packed, s->block, row->count, row->stride, row->packed);
    } else {
        for (uint64_t i = 0; i < dim->count; i++, memory += (uint64_t)dim->stride, packed += dim->packed)
            inside(way, s, level + 1, memory, packed);
    }
}

static void whole_pack(const struct tutti_segment *s, uint32_t level, uintptr_t memory, char *packed)
{
    whole(PACK, s, level, memory, packed);
}

static void whole_unpack(const struct tutti_segment *s, uint32_t level, uintptr_t memory, char *packed)
{
    whole(UNPACK, s, level, memory, packed);
}

/* Packed bytes from the first to past the last of what is inside each level. */
static void spans_of(const struct tutti_segment *s, uint64_t *span)
{
    uint32_t level = levels_of(s);
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
static uint64_t entry_at(const struct tutti_segment *s, uint64_t from)
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

/* What of [job->first, job->end) is inside `level`, whose packed bytes begin at `at`. */
static void part(enum way way, const struct job *job, const uint64_t *span, uint32_t level, uintptr_t memory,
                 uint64_t at)
{
    const struct tutti_segment *s = job->segment;
    uint64_t length = span[level];
    if (at >= job->end || at + length <= job->first)
        return;
    if (at >= job->first && at + length <= job->end) {
        inside(way, s, level, memory, job->packed + (at - job->first));
        return;
    }
    uint64_t skip = at < job->first ? job->first - at : 0;
    if (level == levels_of(s)) {
        uint64_t stop = job->end - at < length ? job->end - at : length;
        copy(way, memory + skip, job->packed + (at + skip - job->first), stop - skip);
        return;
    }
    if (is_list(s, level) && s->begins) {
        for (uint64_t e = entry_at(s, skip); e < s->entries && at + s->begins[e] < job->end; e++) {
            uint64_t from = at + s->begins[e], to = at + s->begins[e + 1],
                     cut = from < job->first ? job->first - from : 0;
            if (to > job->end)
                to = job->end;
            copy(way, memory + (uint64_t)s->offsets[e] + cut, job->packed + (from + cut - job->first), to - from - cut);
        }
        return;
    }
    int list = is_list(s, level);
    uint64_t step = list ? s->pitch : (uint64_t)dim_at(s, level)->packed;
    uint64_t count = list ? s->entries : dim_at(s, level)->count;
    uint64_t i = skip / step;
    for (; i < count && at + i * step < job->end; i++)
        part(way, job, span, level + 1,
             memory + (list ? (uint64_t)s->offsets[i] : i * (uint64_t)dim_at(s, level)->stride), at + i * step);
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
        part(way, &job, span, 0, memory + (uint64_t)folded.offset, folded.packed);
        return;
    }
    job.segment = &plan->segment[i];
    spans_of(job.segment, span);
    for (uint64_t e = job.first / plan->size; e < count && e * plan->size < job.end; e++)
        part(way, &job, span, 0, memory + e * (uint64_t)plan->extent + (uint64_t)job.segment->offset,
             e * plan->size + job.segment->packed);
}

static void range(enum way way, const struct tutti_plan *plan, uint64_t count, uintptr_t memory, uint64_t first,
                  uint64_t end, char *packed)
{
    uint64_t piece = plan->segments > 1 ? PIECE : end - first;
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
        range(PACK, plan, count, (uintptr_t)memory, first, first + bytes, packed);
}

void tutti_plan_unpack_host(const struct tutti_plan *plan, uint64_t count, void *memory, uint64_t first, uint64_t bytes,
                            const void *packed)
{
    if (plan->size > 0 && bytes > 0)
        range(UNPACK, plan, count, (uintptr_t)memory, first, first + bytes, (char *)(uintptr_t)packed);
}

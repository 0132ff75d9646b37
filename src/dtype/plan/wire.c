#include "dtype/wire.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "dtype/plan/emit.h"

struct head {
    uint64_t size;
    int64_t lower, extent, true_lower, true_end;
    uint32_t overlaps, segments;
};

struct part {
    int64_t offset;
    uint64_t packed, block, dims;
};

size_t tutti_plan_write(const struct tutti_plan *plan, void *bytes, size_t room)
{
    const struct head head = {plan->size,     plan->lower,    plan->extent,  plan->true_lower,
                              plan->true_end, plan->overlaps, plan->segments};
    size_t used = sizeof head;
    if (room < used)
        return 0;
    memcpy(bytes, &head, sizeof head);
    for (uint32_t i = 0; i < plan->segments; i++) {
        const struct tutti_segment *s = &plan->segment[i];
        const struct part part = {s->offset, s->packed, s->block, s->dims};
        size_t dims = s->dims * sizeof s->dim[0];
        if (s->entries > 0 || room - used < sizeof part + dims)
            return 0;
        memcpy((char *)bytes + used, &part, sizeof part);
        memcpy((char *)bytes + used + sizeof part, s->dim, dims);
        used += sizeof part + dims;
    }
    return used;
}

/* What all segments of a plan touch. */
struct seen {
    uint64_t bytes, packed_end;
    int64_t low, high;
};

static const int64_t most = INT64_C(1) << 62; /* as in tutti_plan_build() */

static int wire_fits(int64_t number)
{
    return number > -most && number < most;
}

/* Adds what a segment touches; 0 if its numbers cannot belong to a plan. */
static int wire_look_at(const struct tutti_segment *s, struct seen *seen)
{
    int64_t bytes = (int64_t)s->block, inner = bytes, low = s->offset, high;
    if (s->block == 0 || !wire_fits(bytes) || bytes < 0 || !wire_fits(low) || s->packed >= (uint64_t)most)
        return 0;
    high = low + bytes;
    for (uint32_t d = s->dims; d-- > 0;) {
        const struct tutti_dim *dim = &s->dim[d];
        int64_t last, steps;
        if (dim->count < 2 || dim->count >= (uint64_t)most || dim->packed < inner ||
            __builtin_mul_overflow((int64_t)dim->count - 1, dim->stride, &last) || !wire_fits(last) ||
            __builtin_mul_overflow((int64_t)dim->count - 1, dim->packed, &steps) || !wire_fits(steps) ||
            __builtin_mul_overflow(bytes, (int64_t)dim->count, &bytes) || !wire_fits(bytes))
            return 0;
        inner += steps;
        low += last < 0 ? last : 0;
        high += last > 0 ? last : 0;
        if (!wire_fits(inner) || !wire_fits(low) || !wire_fits(high))
            return 0;
    }
    seen->low = low < seen->low ? low : seen->low;
    seen->high = high > seen->high ? high : seen->high;
    seen->bytes += (uint64_t)bytes;
    if (s->packed + (uint64_t)inner > seen->packed_end)
        seen->packed_end = s->packed + (uint64_t)inner;
    return seen->bytes < (uint64_t)most;
}

/* Another process's words: a plan that they make is packed by and kept, so it must touch what it says and no more. */
static int wire_sound(const struct head *head, const struct tutti_segments *segments)
{
    struct seen seen = {.low = INT64_MAX, .high = INT64_MIN};
    if (!wire_fits(head->lower) || !wire_fits(head->extent) || head->overlaps > 1)
        return 0;
    for (uint32_t i = 0; i < segments->n; i++) {
        if (!wire_look_at(&segments->at[i], &seen))
            return 0;
    }
    if (segments->n == 0)
        return head->size == 0 && head->true_lower == 0 && head->true_end == 0;
    return seen.bytes == head->size && seen.packed_end <= head->size && seen.low == head->true_lower &&
           seen.high == head->true_end;
}

int tutti_plan_read(const void *bytes, size_t length, const struct tutti_plan **out)
{
    struct head head;
    size_t used = sizeof head;
    if (length < used)
        return TUTTI_ERR_ARGUMENT;
    memcpy(&head, bytes, sizeof head);
    if (head.segments > (length - used) / sizeof(struct part))
        return TUTTI_ERR_ARGUMENT;
    struct tutti_segments segments = {.at = calloc(head.segments ? head.segments : 1, sizeof *segments.at),
                                      .n = head.segments,
                                      .room = head.segments};
    int status = segments.at ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (uint32_t i = 0; i < head.segments && status == TUTTI_OK; i++) {
        struct part part;
        status = length - used < sizeof part ? TUTTI_ERR_ARGUMENT : TUTTI_OK;
        if (status != TUTTI_OK)
            break;
        memcpy(&part, (const char *)bytes + used, sizeof part);
        used += sizeof part;
        if (part.dims > TUTTI_PLAN_DIMS || length - used < part.dims * sizeof(struct tutti_dim)) {
            status = TUTTI_ERR_ARGUMENT;
            break;
        }
        struct tutti_segment *s = &segments.at[i];
        *s = (struct tutti_segment){
            .offset = part.offset, .packed = part.packed, .block = part.block, .dims = (uint32_t)part.dims};
        memcpy(s->dim, (const char *)bytes + used, part.dims * sizeof s->dim[0]);
        used += part.dims * sizeof s->dim[0];
    }
    const struct tutti_plan like = {.size = head.size,
                                    .lower = head.lower,
                                    .extent = head.extent,
                                    .true_lower = head.true_lower,
                                    .true_end = head.true_end,
                                    .overlaps = head.overlaps};
    if (status == TUTTI_OK && !wire_sound(&head, &segments))
        status = TUTTI_ERR_ARGUMENT;
    if (status == TUTTI_OK)
        return tutti_plan_adopt(&like, &segments, out);
    tutti_segments_free(&segments);
    return status;
}

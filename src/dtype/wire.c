#include "dtype/wire.h"

#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "dtype/emit.h"

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
    if (status == TUTTI_OK)
        return tutti_plan_adopt(&like, &segments, out);
    tutti_segments_free(&segments);
    return status;
}

#include "mpi/packed.h"

/* Looks at ranges one after the other; asks the device only where one leaves the allocation of the last. */
struct looking {
    struct tutti_places *places;
    struct tutti_memory last;
    int any;
};

static void look(struct looking *at, const char *from, const char *end)
{
    const char *base = at->last.base;
    if (at->any && at->last.kind == TUTTI_MEMORY_DEVICE && from >= base && end <= base + at->last.bytes)
        return;
    tutti_door.device->classify(from, &at->last);
    at->any = 1;
    if (at->last.kind == TUTTI_MEMORY_HOST) {
        at->places->host = 1;
        return;
    }
    if (at->last.kind == TUTTI_MEMORY_PINNED)
        return;
    at->places->device |= at->last.kind == TUTTI_MEMORY_DEVICE;
    if (at->last.gpu >= 0 && at->places->gpu >= 0 && at->places->gpu != at->last.gpu)
        at->places->spread = 1;
    if (at->last.gpu >= 0)
        at->places->gpu = at->last.gpu;
}

/* The range that one entry of a segment touches. */
static void look_at_entry(struct looking *at, const char *element, const struct tutti_segment *segment, uint64_t entry)
{
    const char *from = element + segment->offset;
    uint64_t block = segment->block;
    if (segment->entries) {
        from += segment->offsets[entry];
        if (block == 0 && segment->begins)
            block = segment->begins[entry + 1] - segment->begins[entry];
    }
    const char *end = from + block;
    for (uint32_t d = 0; d < segment->dims; d++) {
        int64_t reach = (int64_t)(segment->dim[d].count - 1) * segment->dim[d].stride;
        if (reach < 0)
            from += reach;
        else
            end += reach;
    }
    if (end > from)
        look(at, from, end);
}

void tutti_places_of(const struct tutti_plan *plan, MPI_Count count, const void *buffer, struct tutti_places *out)
{
    struct looking at = {.places = out};
    *out = (struct tutti_places){.gpu = -1};
    if (count <= 0 || plan->size == 0)
        return;
    /* All in one allocation: the usual case. */
    MPI_Count reach = (count - 1) * plan->extent;
    const char *first = (const char *)buffer + plan->true_lower, *end = (const char *)buffer + plan->true_end;
    if (reach < 0)
        first += reach;
    else
        end += reach;
    struct tutti_memory memory;
    tutti_door.device->classify(first, &memory);
    const char *base = memory.base;
    if (memory.kind == TUTTI_MEMORY_DEVICE && first >= base && end <= base + memory.bytes) {
        out->device = 1;
        out->gpu = memory.gpu;
        return;
    }
    if (memory.kind == TUTTI_MEMORY_HOST && buffer != MPI_BOTTOM) {
        tutti_door.device->classify(end - 1, &memory);
        if (memory.kind == TUTTI_MEMORY_HOST) {
            out->host = 1;
            return;
        }
    }
    for (MPI_Count e = 0; e < count; e++) {
        for (uint32_t s = 0; s < plan->segments; s++) {
            const struct tutti_segment *segment = &plan->segment[s];
            uint64_t entries = segment->entries ? segment->entries : 1;
            for (uint64_t i = 0; i < entries; i++)
                look_at_entry(&at, (const char *)buffer + e * plan->extent, segment, i);
        }
    }
}

int tutti_packed_move(enum tutti_direction direction, int gpu, const struct tutti_plan *plan, MPI_Count count,
                      void *buffer, uint64_t first, uint64_t bytes, void *packed)
{
    if (bytes == 0)
        return TUTTI_OK;
    if (gpu < 0 && tutti_door.device->current(&gpu) != TUTTI_OK)
        gpu = -1;
    const struct tutti_pack_job job = {
        .direction = direction,
        .plan = plan,
        .count = (uint64_t)count,
        .memory = buffer,
        .packed = packed,
        .first = first,
        .bytes = bytes,
    };
    return tutti_pack_now(gpu, &job, 1);
}

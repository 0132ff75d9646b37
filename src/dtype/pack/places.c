#include "dtype/places.h"

#include <stddef.h>

#include "core/status.h"
#include "device/found.h"

/* Looks at ranges one after the other; asks the device only where one leaves the allocation of the last. */
struct looking {
    const struct tutti_device *device;
    struct tutti_places *places;
    struct tutti_memory last;
    int any;
};

static int places_is_known(const struct looking *at, const char *from, const char *end)
{
    const char *base = at->last.base;
    return at->any && at->last.kind == TUTTI_MEMORY_DEVICE && from >= base && end <= base + at->last.bytes;
}

static void places_look(struct looking *at, const char *from, const char *end)
{
    if (places_is_known(at, from, end))
        return;
    tutti_memory_at(at->device, from, &at->last);
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

/* Blocks of dimensions from the `d`th on. Also two that lie a stride apart may be of different memories. */
static void look_at_blocks(struct looking *at, const struct tutti_segment *segment, uint32_t d, const char *first,
                           uint64_t block)
{
    const char *from = first, *end = first + block;
    for (uint32_t i = d; i < segment->dims; i++) {
        const int64_t reach = (int64_t)(segment->dim[i].count - 1) * segment->dim[i].stride;
        if (reach < 0)
            from += reach;
        else
            end += reach;
    }
    if (block == 0 || places_is_known(at, from, end))
        return;
    if (d == segment->dims) {
        places_look(at, from, end);
        return;
    }
    for (uint64_t i = 0; i < segment->dim[d].count; i++)
        look_at_blocks(at, segment, d + 1, first + (int64_t)i * segment->dim[d].stride, block);
}

/* What one entry of a segment touches. */
static void look_at_entry(struct looking *at, const char *element, const struct tutti_segment *segment, uint64_t entry)
{
    const char *from = element + segment->offset;
    uint64_t block = segment->block;
    if (segment->entries) {
        from += segment->offsets[entry];
        if (block == 0 && segment->begins)
            block = segment->begins[entry + 1] - segment->begins[entry];
    }
    look_at_blocks(at, segment, 0, from, block);
}

void tutti_places_of(const struct tutti_plan *plan, int64_t count, const void *buffer, struct tutti_places *out)
{
    struct looking at = {.device = tutti_device(), .places = out};
    *out = (struct tutti_places){.gpu = -1};
    if (count <= 0 || plan->size == 0)
        return;
    /* All in one allocation: the usual case. */
    int64_t reach = (count - 1) * plan->extent;
    const intptr_t from = (intptr_t)buffer; /* of MPI_BOTTOM 0 */
    const char *first = (const char *)(from + plan->true_lower), *end = (const char *)(from + plan->true_end);
    if (reach < 0)
        first += reach;
    else
        end += reach;
    struct tutti_memory memory;
    tutti_memory_at(at.device, first, &memory);
    const char *base = memory.base;
    if (memory.kind == TUTTI_MEMORY_DEVICE && first >= base && end <= base + memory.bytes) {
        out->device = 1;
        out->gpu = memory.gpu;
        out->id = memory.id;
        return;
    }
    /* Memory of the host has no bounds that the device knows: its two ends stand for what lies between. */
    const struct tutti_memory low = memory;
    if (low.kind != TUTTI_MEMORY_DEVICE && buffer != NULL) {
        tutti_memory_at(at.device, end - 1, &memory);
        if (memory.kind == low.kind && memory.gpu == low.gpu) {
            out->host = low.kind == TUTTI_MEMORY_HOST;
            out->gpu = low.gpu;
            return;
        }
    }
    for (int64_t e = 0; e < count; e++) {
        for (uint32_t s = 0; s < plan->segments; s++) {
            const struct tutti_segment *segment = &plan->segment[s];
            uint64_t entries = segment->entries ? segment->entries : 1;
            for (uint64_t i = 0; i < entries; i++)
                look_at_entry(&at, (const char *)buffer + e * plan->extent, segment, i);
        }
    }
}

/* A part of the packed message, and what has to be copied for it. */
struct window {
    const struct tutti_device *device;
    enum tutti_direction direction;
    uint64_t first, end;
    char *packed; /* of byte `first` */
    int status;
};

static void copy_block(struct window *window, char *memory, uint64_t at, uint64_t bytes)
{
    uint64_t from = at > window->first ? at : window->first;
    uint64_t end = at + bytes < window->end ? at + bytes : window->end;
    if (from >= end || window->status != TUTTI_OK)
        return;
    char *packed = window->packed + (from - window->first);
    memory += from - at;
    window->status = window->direction == TUTTI_PACK ? window->device->memory.copy_now(packed, memory, end - from)
                                                     : window->device->memory.copy_now(memory, packed, end - from);
}

/* Dimensions from the `d`th on, and the list in its place among them. */
static void copy_dims(struct window *window, const struct tutti_segment *segment, uint32_t d, int listed, char *memory,
                      uint64_t at, uint64_t block)
{
    if (!listed && segment->list_at == d) {
        for (uint64_t e = 0; e < segment->entries; e++) {
            uint64_t begin = segment->begins ? segment->begins[e] : e * segment->pitch;
            uint64_t length = segment->block ? segment->block : segment->begins[e + 1] - begin;
            copy_dims(window, segment, d, 1, memory + segment->offsets[e], at + begin, length);
        }
    } else if (d == segment->dims) {
        copy_block(window, memory, at, block);
    } else {
        for (uint64_t i = 0; i < segment->dim[d].count; i++)
            copy_dims(window, segment, d + 1, listed, memory + (int64_t)i * segment->dim[d].stride,
                      at + i * (uint64_t)segment->dim[d].packed, block);
    }
}

static int copy_all(struct window *window, const struct tutti_plan *plan, int64_t count, char *buffer)
{
    uint64_t from = window->first / plan->size, end = (window->end + plan->size - 1) / plan->size;
    for (uint64_t e = from; e < end && e < (uint64_t)count; e++) {
        for (uint32_t s = 0; s < plan->segments; s++) {
            const struct tutti_segment *segment = &plan->segment[s];
            copy_dims(window, segment, 0, segment->entries == 0, buffer + (int64_t)e * plan->extent + segment->offset,
                      e * plan->size + segment->packed, segment->block);
        }
    }
    return window->status;
}

int tutti_packed_move(enum tutti_direction direction, const struct tutti_places *places, const struct tutti_plan *plan,
                      int64_t count, void *buffer, uint64_t first, uint64_t bytes, void *packed)
{
    int gpu = places->gpu, reached = 0, status = TUTTI_OK;
    if (bytes == 0)
        return TUTTI_OK;
    if (gpu < 0 && tutti_device()->gpu.current(&gpu) != TUTTI_OK)
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
    if (tutti_places_reached(places))
        status = tutti_pack_where_reached(gpu, &job, 1, &reached);
    if (reached)
        return status;
    /* Memory of several kinds, or packed elements in ordinary host memory: no kernel reaches both sides. */
    struct window window = {tutti_device(), direction, first, first + bytes, packed, TUTTI_OK};
    return copy_all(&window, plan, count, buffer);
}

#include "dtype/elements.h"

#include "core/status.h"

void tutti_elements_span(const struct tutti_elements *elements, const char **lowest, const char **end)
{
    const struct tutti_plan *plan = elements->plan;
    const int64_t reach = (elements->count - 1) * plan->extent;
    *lowest = (const char *)elements->buffer + plan->true_lower + (reach < 0 ? reach : 0);
    *end = (const char *)elements->buffer + plan->true_end + (reach > 0 ? reach : 0);
}

void tutti_elements_place(struct tutti_elements *elements, const struct tutti_memory *memory)
{
    const char *first, *end, *base = memory->base;
    if (memory->kind != TUTTI_MEMORY_DEVICE || elements->count <= 0)
        return;
    tutti_elements_span(elements, &first, &end);
    if (first < base || end > base + memory->bytes)
        return;
    elements->places = (struct tutti_places){.device = 1, .gpu = memory->gpu, .id = memory->id};
    elements->placed = 1;
}

const struct tutti_places *tutti_elements_places(struct tutti_elements *elements)
{
    if (!elements->placed)
        tutti_places_of(elements->plan, elements->count, elements->buffer, &elements->places);
    elements->placed = 1;
    return &elements->places;
}

int tutti_elements_move(enum tutti_direction direction, struct tutti_elements *elements, uint64_t first, uint64_t bytes,
                        void *packed)
{
    const struct tutti_places *places = tutti_elements_places(elements);
    const uint64_t count = (uint64_t)elements->count;
    if (places->device)
        return tutti_packed_move(direction, places, elements->plan, elements->count, elements->buffer, first, bytes,
                                 packed);
    if (direction == TUTTI_PACK)
        tutti_plan_pack_host(elements->plan, count, elements->buffer, first, bytes, packed);
    else
        tutti_plan_unpack_host(elements->plan, count, elements->buffer, first, bytes, packed);
    return TUTTI_OK;
}

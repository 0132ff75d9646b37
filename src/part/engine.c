/* What all files of this room share: the engine's state, memory for packed partitions, and what has arrived. */
#include <stdlib.h>

#include "part/own.h"

struct tutti_part_engine tutti_part_engine = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *tutti_part_memory(const struct tutti_part *part, uint64_t bytes, struct tutti_bounce **bounce)
{
    *bounce = NULL;
    if (!part->elements.places.device)
        return malloc(bytes ? bytes : 1);
    *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    return *bounce ? (*bounce)->memory : NULL;
}

void tutti_part_memory_free(void *memory, struct tutti_bounce *bounce)
{
    if (bounce)
        tutti_bounce_give(bounce);
    else
        free(memory);
}

void tutti_part_landed(struct tutti_part *part, uint64_t first, uint64_t bytes)
{
    const uint64_t end = first + bytes, capacity = tutti_part_capacity(part), each = part->each;
    part->missing -= bytes;
    for (uint64_t at = first; at < end && at < capacity;) {
        const uint64_t partition = at / each, next = (partition + 1) * each < end ? (partition + 1) * each : end;
        const uint64_t left = atomic_fetch_sub_explicit(&part->left[partition], next - at, memory_order_release);
        if (part->prequest && left == next - at)
            tutti_part_engine.arrived(part, partition);
        at = next;
    }
}

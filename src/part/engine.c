/* What all files of this room share: the engine's state, memory for packed partitions, and what has arrived. */
#include <stdlib.h>

#include "part/own.h"
#include "team/deferred_free.h"

enum { TRANSPORT_BYTES = 64 << 10 }; /* of a transport partition, at least, where the program does not say */

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

int tutti_part_prequest_each(const struct tutti_part *part)
{
    const int n = part->args.partitions;
    if (!part->args.send || n == 0)
        return 1;
    if (part->args.transports > 0)
        return (n + part->args.transports - 1) / part->args.transports;
    if (part->each == 0)
        return n;
    const uint64_t each = (TRANSPORT_BYTES + part->each - 1) / part->each;
    return each < (uint64_t)n ? (int)each : n;
}

void tutti_part_kernels(struct tutti_part *part, int more)
{
    struct tutti_node *node = tutti_part_engine.worker.node;
    const int wait = more > 0 && part->prequest;
    if (node && wait != part->kernels_wait)
        tutti_deferred_free_kernels(node, wait ? 1 : -1);
    part->kernels_wait = node && wait;
}

/* Counters of ranks that meet: device memory that peers map. Peers may keep it mapped after a request has been freed,
 * so it is kept for later requests. Whether GPUs can meet at all. */
#include <stdlib.h>
#include <string.h>

#include "part/coll/meet.h"

enum { LEAST = 64 << 10 };

static struct tutti_meet_memory *all; /* under the engine's lock */

struct tutti_meet_memory *tutti_meet_memory_take(int gpu, size_t bytes)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_memory memory;
    void *base;
    for (struct tutti_meet_memory *m = all; m; m = m->next) {
        if (!m->used && m->gpu == gpu && m->life == tutti_gpu_life(gpu) && m->bytes >= bytes) {
            m->used = 1;
            return m;
        }
    }
    struct tutti_meet_memory *m = calloc(1, sizeof *m);
    bytes = bytes > LEAST ? bytes : LEAST;
    if (!m || device->memory.alloc(gpu, bytes, &base) != TUTTI_OK) {
        free(m);
        return NULL;
    }
    device->memory.classify(base, &memory);
    *m = (struct tutti_meet_memory){
        .next = all, .gpu = gpu, .used = 1, .life = tutti_gpu_life(gpu), .id = memory.id, .bytes = bytes, .base = base};
    return all = m;
}

void tutti_meet_memory_give(struct tutti_meet_memory *memory)
{
    if (memory)
        memory->used = 0;
}

void tutti_pcoll_memory_close(void)
{
    const struct tutti_device *device = tutti_device();
    const int alive = tutti_device_active(device);
    while (all) {
        struct tutti_meet_memory *m = all;
        all = m->next;
        if (alive && m->life == tutti_gpu_life(m->gpu))
            tutti_device()->memory.free(m->base);
        free(m);
    }
}

int tutti_meet_has_atomics(const struct tutti_meet_offer *mine, const unsigned char other[16])
{
    const struct tutti_device *const device = tutti_device();
    return device->gpu.reach(mine->gpu, other) == 2 && (memcmp(mine->uuid, other, sizeof mine->uuid) == 0 ||
                                                        !device->gpu.lines || device->gpu.lines(mine->uuid, other));
}

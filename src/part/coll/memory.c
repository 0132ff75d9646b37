/* Where the buffers of a round lie, and the scratch, stream and events that it needs. They are kept for the next round.
 */
#include <stdlib.h>

#include "core/types.h"
#include "part/coll/own.h"

static void places_add(struct tutti_places *all, const struct tutti_pcoll_side *side)
{
    for (int i = 0; side->used && i < side->blocks; i++) {
        const struct tutti_pcoll_block *block = &side->block[i];
        const int64_t count = block->count * side->partitions;
        struct tutti_places places;
        if (count == 0)
            continue;
        tutti_places_of(block->plan, count, (char *)side->buffer + block->offset, &places);
        all->host |= places.host;
        all->spread |= places.spread || (all->gpu >= 0 && places.gpu >= 0 && all->gpu != places.gpu);
        all->device |= places.device;
        all->gpu = places.gpu >= 0 ? places.gpu : all->gpu;
    }
}

static enum tutti_pcoll_way way_of(struct tutti_pcoll *p, int *gpu)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_places all = {.gpu = -1};
    *gpu = -1;
    if (tutti_device_active(device)) {
        places_add(&all, &p->args.send);
        places_add(&all, &p->args.recv);
    }
    if (p->folds > 0 && p->args.type == TUTTI_TYPE_NONE)
        return TUTTI_PCOLL_STAGED;
    if (!all.device)
        return TUTTI_PCOLL_ON_HOST;
    *gpu = all.gpu;
    return p->folds > 0 && tutti_places_reached(&all) && all.gpu >= 0 ? TUTTI_PCOLL_KERNELS : TUTTI_PCOLL_STAGED;
}

/* What belongs to the GPU. It is not freed if the program has reset the GPU. */
static void gpu_memory_free(struct tutti_pcoll *p)
{
    const struct tutti_device *device = tutti_device();
    const int lives = tutti_device_active(device) && tutti_gpu_life(p->gpu) == p->life;
    for (int t = 0; t < TUTTI_PCOLL_TRACKS; t++) {
        for (int q = 0; p->track[t].state && q < p->track[t].partitions; q++) {
            if (p->track[t].state[q].event && lives)
                device->event.destroy(p->track[t].state[q].event);
            p->track[t].state[q].event = NULL;
        }
    }
    if (p->stream && lives)
        device->stream.destroy(p->stream);
    if (lives)
        tutti_bounce_give(p->scratch);
    p->stream = NULL;
    p->scratch = NULL;
}

void tutti_pcoll_memory_free(struct tutti_pcoll *p)
{
    gpu_memory_free(p);
    free(p->host_scratch);
    p->host_scratch = NULL;
}

/* A status. */
static int gpu_memory_take(struct tutti_pcoll *p, int gpu)
{
    if (p->stream && (p->gpu != gpu || tutti_gpu_life(gpu) != p->life))
        gpu_memory_free(p);
    if (p->stream)
        return TUTTI_OK;
    p->gpu = gpu;
    p->life = tutti_gpu_life(gpu);
    const int status = tutti_device()->stream.create(gpu, &p->stream);
    if (status != TUTTI_OK) {
        p->stream = NULL;
        return status;
    }
    p->scratch = tutti_bounce_take(&tutti_bounce_device, gpu, p->scratch_bytes > 0 ? p->scratch_bytes : 1);
    if (p->scratch)
        return TUTTI_OK;
    gpu_memory_free(p);
    return TUTTI_ERR_MEMORY;
}

int tutti_pcoll_prepare(struct tutti_pcoll *p)
{
    int gpu;
    p->base[TUTTI_PCOLL_SENDBUF] = p->args.send.buffer;
    p->base[TUTTI_PCOLL_RECVBUF] = p->args.recv.buffer;
    p->base[TUTTI_PCOLL_SCRATCH] = NULL;
    p->way = TUTTI_PCOLL_ON_HOST;
    if (p->folds == 0 && p->copies == 0 && p->scratch_bytes == 0)
        return TUTTI_OK;
    p->way = way_of(p, &gpu);
    if (p->way == TUTTI_PCOLL_KERNELS && gpu_memory_take(p, gpu) != TUTTI_OK)
        p->way = TUTTI_PCOLL_STAGED;
    if (p->way == TUTTI_PCOLL_KERNELS) {
        p->base[TUTTI_PCOLL_SCRATCH] = p->scratch->memory;
        return TUTTI_OK;
    }
    if (!p->host_scratch && p->scratch_bytes > 0 && !(p->host_scratch = malloc(p->scratch_bytes)))
        return TUTTI_ERR_MEMORY;
    p->base[TUTTI_PCOLL_SCRATCH] = p->host_scratch;
    return TUTTI_OK;
}

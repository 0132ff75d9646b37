/* The address space's ring and proxy: whether there is one, its memory, its thread. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "device/device.h"
#include "progress/poller.h"
#include "shmem/lane.h"
#include "shmem/meet.h"
#include "shmem/ring/proxy.h"
#include "shmem/space.h"
#include "team/team.h"

struct tutti_serving {
    struct tutti_proxy proxy;
    struct tutti_poller *poller;
    struct tshmem_ring_own *own;
    int own_on_gpu, mapped, told;
};

static int refuse(int status, const char *what)
{
    return tutti_shmem_answer(status, "tshmem_init",
                              "%s for requests of kernels (TUTTI_SHMEM_RING=off disables it): %s", what,
                              tutti_status_text(status));
}

static int all_reached(const struct tutti_shmem *space)
{
    for (int pe = 0; pe < space->transport->size; pe++) {
        if (!tutti_shmem_kernels_reach(pe))
            return 0;
    }
    return 1;
}

/* 1 where there is to be a ring; its thresholds. */
static int is_wanted(const struct tutti_shmem *space, struct tshmem_ring_state *out)
{
    const int setting = tutti_settings()->shmem_ring;
    memset(out, 0, sizeof *out);
    if (setting == TUTTI_SET_SHMEM_RING_OFF)
        return 0;
    if (setting == TUTTI_SET_SHMEM_RING_FORCE) {
        out->elements = 1;
        for (int i = 0; i < TSHMEM_CUTS * TSHMEM_GROUPS; i++)
            out->cutover[i / TSHMEM_GROUPS][i % TSHMEM_GROUPS] = 1;
    }
    /* One agent does all atomics on a heap: where not all PEs can, nobody does them alone. */
    out->atomics = out->elements || !all_reached(space);
    return out->atomics || tutti_cutovers(out->cutover);
}

/* Which process has died, for the proxy. */
static int dead(void)
{
    return tutti_node_dead(tutti_shmem.team->node);
}

/* On the proxy's thread. */
static int poll(void *with)
{
    struct tutti_serving *const serving = with;
    const int done = tutti_proxy_poll(&serving->proxy);
    if (done < 0 && done != TUTTI_ERR_BROKEN) {
        tutti_shmem_leave_all();
        tutti_shmem_answer(done, "the address space ends", "what a kernel asked for could not be done: %s",
                           tutti_status_text(done));
    }
    return done;
}

/* Host memory of the ring, and the kernels' counters: in memory of their GPU, where kernels are not the host's own. */
static int take_memory(struct tutti_serving *serving, uint64_t slots)
{
    struct tutti_proxy *const proxy = &serving->proxy;
    const struct tutti_device *const device = proxy->device;
    const size_t bytes = tutti_ring_bytes(slots);
    void *own = NULL;
    int status = TUTTI_OK;
    if (posix_memalign(&proxy->memory, 1 << 16, (bytes + 0xffff) & ~(size_t)0xffff) != 0)
        return TUTTI_ERR_MEMORY;
    proxy->seen = proxy->memory;
    tutti_ring_lay(&proxy->ring, proxy->memory, slots, 0);
    if (device) {
        status = device->map_host(proxy->gpu, proxy->memory, (bytes + 0xffff) & ~(size_t)0xffff, &proxy->seen);
        serving->mapped = status == TUTTI_OK;
    }
    serving->own_on_gpu = device && !device->simulates;
    if (!serving->own_on_gpu) {
        own = calloc(1, sizeof *serving->own);
        status = status == TUTTI_OK && !own ? TUTTI_ERR_MEMORY : status;
    } else if (status == TUTTI_OK) { /* the first request is number 0: all is zero */
        struct tutti_shmem_lane *lane = tutti_shmem_lane_try();
        status = device->alloc(proxy->gpu, sizeof *serving->own, &own);
        if (status == TUTTI_OK)
            status = device->fill(lane->stream, own, 0, sizeof *serving->own);
        if (status == TUTTI_OK)
            status = device->stream_sync(lane->stream);
        tutti_shmem_lane_give(lane);
    }
    serving->own = own;
    return status;
}

int tutti_shmem_serve_open(struct tutti_shmem *space)
{
    struct tshmem_ring_state wanted;
    uint64_t slots = TUTTI_RING_SLOTS_LEAST;
    if (!is_wanted(space, &wanted))
        return TUTTI_OK;
    if (!space->kind->host_reaches && !space->gpu)
        return TUTTI_OK;
    struct tutti_serving *const serving = calloc(1, sizeof *serving);
    if (!serving)
        return refuse(TUTTI_ERR_MEMORY, "no memory");
    while (slots < (uint64_t)tutti_settings()->shmem_ring_slots)
        slots *= 2;
    space->serving = serving;
    struct tutti_proxy *const proxy = &serving->proxy;
    *proxy = (struct tutti_proxy){.state = &space->state,
                                  .mapped = &space->mapped,
                                  .heaps = space->heaps,
                                  .near = space->gpu ? &tutti_near_device : &tutti_near_host,
                                  .far = space->far_path,
                                  .wire = space->wire,
                                  .wire_by_any = space->transport->any_thread,
                                  .dead = dead,
                                  .kind = space->kind,
                                  .device = space->gpu ? space->gpu->device : NULL,
                                  .gpu = space->gpu ? space->gpu->gpu : -1,
                                  .launch = tutti_shmem_amo_launch};
    int status = take_memory(serving, slots);
    if (status != TUTTI_OK)
        return refuse(status, "no memory");
    for (int i = 0; i < 2 && status == TUTTI_OK; i++) {
        const struct tutti_path *const path = i ? proxy->far : proxy->near;
        status = path && path->open ? path->open(proxy) : TUTTI_OK;
        serving->told = i + 1; /* also where it failed: close() takes what there is */
    }
    if (status != TUTTI_OK)
        return refuse(status, "no streams");
    tutti_ring_tell(&proxy->ring, proxy->seen, serving->own, &space->state.ring);
    space->state.ring.elements = wanted.elements;
    space->state.ring.atomics = wanted.atomics;
    memcpy(space->state.ring.cutover, wanted.cutover, sizeof wanted.cutover);
    return TUTTI_OK;
}

int tutti_shmem_serve_start(struct tutti_shmem *space)
{
    if (!space->serving)
        return TUTTI_OK;
    space->serving->poller = tutti_poller_start(poll, space->serving, space->crowded);
    return space->serving->poller ? TUTTI_OK : refuse(TUTTI_ERR_SYSTEM, "no thread");
}

void tutti_shmem_serve_stop(struct tutti_shmem *space)
{
    if (space->serving)
        tutti_poller_end(space->serving->poller);
    if (space->serving)
        space->serving->poller = NULL;
}

/* 1: all requests before that number are complete. */
static int is_quiet(void *with)
{
    const struct tshmem_ring_progress *told = tutti_shmem.serving->proxy.ring.progress;
    if (__atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED))
        return TUTTI_ERR_BROKEN;
    return (int64_t)(__atomic_load_n(&told->completed, __ATOMIC_ACQUIRE) - *(const uint64_t *)with) >= 0;
}

static void say_quiet(void *with, char *text, size_t size)
{
    (void)with;
    snprintf(text, size, "for what kernels have asked of other PEs");
}

void tutti_shmem_serve_quiet(void)
{
    const struct tutti_serving *const serving = tutti_shmem.serving;
    uint64_t next = 0;
    if (!serving || !serving->poller || __atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED))
        return;
    if (!serving->own_on_gpu)
        next = __atomic_load_n(&serving->own->next, __ATOMIC_ACQUIRE);
    else if (tutti_shmem.kind->copy(&next, &serving->own->next, sizeof next, 0) != TUTTI_OK)
        return; /* that is said, and the address space has ended */
    tutti_shmem_await(is_quiet, say_quiet, &next);
}

void tutti_shmem_serve_close(struct tutti_shmem *space)
{
    struct tutti_serving *const serving = space->serving;
    if (!serving)
        return;
    struct tutti_proxy *const proxy = &serving->proxy;
    tutti_shmem_serve_stop(space);
    for (int i = 0; i < serving->told; i++) {
        const struct tutti_path *const path = i ? proxy->far : proxy->near;
        if (path && path->close)
            path->close(proxy);
    }
    if (serving->own_on_gpu && serving->own)
        proxy->device->free(serving->own);
    else
        free(serving->own);
    if (serving->mapped)
        proxy->device->unmap_host(proxy->gpu, proxy->memory);
    free(proxy->memory);
    free(serving);
    space->serving = NULL;
}

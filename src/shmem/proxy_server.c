/* The proxy server of the address space: decides whether there is a ring, and owns its memory and poller. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "device/device.h"
#include "shmem/copy_queue.h"
#include "shmem/meet.h"
#include "shmem/proxy/proxy.h"
#include "shmem/space.h"
#include "team/team.h"

struct tutti_proxy_server {
    struct tutti_proxy proxy;
    struct tutti_ring_server ring;
    char name[16]; /* of the PE, in messages */
};

static int server_refuse(struct tutti_shmem *space, int status, const char *what)
{
    return tutti_shmem_answer(space, status, "tshmem_init",
                              "%s for requests of kernels (TUTTI_SHMEM_RING=off disables it): %s", what,
                              tutti_status_text(status));
}

static int all_reached(struct tutti_shmem *space)
{
    for (int pe = 0; pe < space->transport->size; pe++) {
        if (!tutti_shmem_kernels_reach(space, pe))
            return 0;
    }
    return 1;
}

/* 1 if there must be a ring; sets its thresholds. */
static int is_wanted(struct tutti_shmem *space, struct tshmem_ring_state *out)
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
    /* One agent must do all atomics on a heap: if some PEs need it, all PEs use it. */
    out->atomics = out->elements || !all_reached(space);
    return out->atomics || tutti_cutovers(out->cutover);
}

/* ---- callbacks of the ring; on the poller's thread ---- */

static int find_dead(void *owner)
{
    const struct tutti_shmem *const space = owner;
    return tutti_node_dead(space->team->node);
}

static void end_space(void *owner, int status)
{
    struct tutti_shmem *const space = owner;
    if (status == TUTTI_ERR_BROKEN) /* it has ended already */
        return;
    tutti_shmem_leave_all(space);
    tutti_shmem_answer(space, status, "the address space ends", "what a kernel asked for could not be done: %s",
                       tutti_status_text(status));
}

/* ---- life ---- */

static int open_ring(struct tutti_shmem *space, struct tutti_proxy_server *server)
{
    uint64_t slots = TUTTI_RING_SLOTS_LEAST;
    while (slots < (uint64_t)tutti_settings()->shmem_ring_slots)
        slots *= 2;
    snprintf(server->name, sizeof server->name, "PE %d", space->state.me);
    server->ring.owner = (struct tutti_ring_owner){
        .name = server->name, .abort = space->state.abort, .dead = find_dead, .ended = end_space, .owner = space};
    if (!space->gpu)
        return tutti_ring_server_open(&server->ring, NULL, -1, NULL, slots);
    struct tutti_shmem_queue *const queue = tutti_shmem_queue_try(space); /* all slots are free yet */
    const int status = tutti_ring_server_open(&server->ring, space->gpu->device, space->gpu->gpu, queue->stream, slots);
    tutti_shmem_queue_give(queue);
    return status;
}

static int open_proxy(struct tutti_shmem *space, struct tutti_proxy_server *server)
{
    server->proxy = (struct tutti_proxy){.space = space,
                                         .state = &space->state,
                                         .mapped = &space->mapped,
                                         .heaps = space->heaps,
                                         .near = space->gpu ? &tutti_near_device : &tutti_near_host,
                                         .far = space->far_path,
                                         .wire = space->wire,
                                         .wire_by_any = space->transport->any_thread,
                                         .kind = space->kind,
                                         .device = space->gpu ? space->gpu->device : NULL,
                                         .gpu = space->gpu ? space->gpu->gpu : -1,
                                         .launch = tutti_shmem_amo_launch,
                                         .shift = tutti_ring_server_shift(&server->ring)};
    return tutti_proxy_open(&server->proxy, &server->ring);
}

int tutti_shmem_proxy_open(struct tutti_shmem *space)
{
    struct tshmem_ring_state wanted;
    if (!is_wanted(space, &wanted))
        return TUTTI_OK;
    if (!space->kind->host_reaches && !space->gpu)
        return TUTTI_OK;
    struct tutti_proxy_server *const server = calloc(1, sizeof *server);
    if (!server)
        return server_refuse(space, TUTTI_ERR_MEMORY, "no memory");
    space->proxy_server = server;
    int status = open_ring(space, server);
    if (status != TUTTI_OK)
        return server_refuse(space, status, "no memory");
    status = open_proxy(space, server);
    if (status != TUTTI_OK)
        return server_refuse(space, status, "no streams");
    const struct tutti_ring_kernel_view view = tutti_ring_server_view(&server->ring);
    tutti_proxy_publish(&view, &space->state.ring);
    space->state.ring.elements = wanted.elements;
    space->state.ring.atomics = wanted.atomics;
    memcpy(space->state.ring.cutover, wanted.cutover, sizeof wanted.cutover);
    return TUTTI_OK;
}

int tutti_shmem_proxy_start(struct tutti_shmem *space)
{
    if (!space->proxy_server)
        return TUTTI_OK;
    const int status = tutti_ring_server_start(&space->proxy_server->ring, space->crowded);
    return status == TUTTI_OK ? TUTTI_OK : server_refuse(space, status, "no thread");
}

void tutti_shmem_proxy_stop(struct tutti_shmem *space)
{
    if (space->proxy_server)
        tutti_ring_server_stop(&space->proxy_server->ring);
}

void tutti_shmem_proxy_close(struct tutti_shmem *space)
{
    struct tutti_proxy_server *const server = space->proxy_server;
    if (!server)
        return;
    tutti_shmem_proxy_stop(space);
    tutti_proxy_close(&server->proxy);
    tutti_ring_server_close(&server->ring);
    free(server);
    space->proxy_server = NULL;
}

/* ---- quiet ---- */

/* with: the number of the first request that the wait does not cover. */
static int proxy_server_is_quiet(struct tutti_shmem *space, void *with)
{
    if (__atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        return TUTTI_ERR_BROKEN;
    return tutti_ring_is_complete(&space->proxy_server->ring.ring, *(const uint64_t *)with);
}

/* A process has few hardware queues under MPS: the proxy's copies may share one with a stream that waits for them. */
static void proxy_server_say_quiet(struct tutti_shmem *space, void *with, char *text, size_t size)
{
    (void)space;
    (void)with;
    snprintf(text, size,
             "for what kernels have asked of other PEs (on a GPU a stream that waits may hold back the copies for it, "
             "under MPS above all: CUDA_DEVICE_MAX_CONNECTIONS=8 gives more queues, docs/streams.md)");
}

void tutti_shmem_proxy_quiet(struct tutti_shmem *space)
{
    const struct tutti_proxy_server *const server = space->proxy_server;
    uint64_t next = 0;
    if (!server || !server->ring.poller || __atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        return;
    const struct tutti_ring_counters *const counters = server->ring.counters;
    if (!server->ring.on_gpu)
        next = __atomic_load_n(&counters->next, __ATOMIC_ACQUIRE);
    else if (space->kind->copy(space, &next, &counters->next, sizeof next, 0) != TUTTI_OK)
        return; /* an error was reported, and the address space has ended */
    tutti_shmem_await(space, proxy_server_is_quiet, proxy_server_say_quiet, &next);
}

/* Begins and ends the address space. */
#include "shmem/meet.h"

#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "device/device.h"
#include "progress/transport.h"
#include "rules/rules.h"
#include "shmem/copy_queue.h"
#include "shmem/far.h"
#include "shmem/local/way.h"
#include "shmem/near.h"
#include "shmem/proxy/proxy.h"
#include "team/team.h"

/* If no setting says otherwise, heaps may grow to this multiple of their first size; on GPUs to at least so many
 * bytes. Growth reserves addresses alone. */
enum { GROWS = 16 };
static const int64_t GPU_GROWS = INT64_C(64) << 30;

/* The place of the heaps, by TUTTI_SHMEM_HEAP: real GPUs, or host memory if the GPU is simulated. */
static const struct tutti_shmem_kind *kind_of_heaps(void)
{
    const struct tutti_device *device = tutti_device();
    const int setting = tutti_settings()->shmem_heap;
    if (setting == TUTTI_SET_SHMEM_HEAP_AUTO)
        return device && !device->simulates && !tutti_shmem_is_loading() && !tutti_shmem_host_heaps()
                   ? &tutti_shmem_device
                   : &tutti_shmem_host;
    return setting == TUTTI_SET_SHMEM_HEAP_DEVICE ? &tutti_shmem_device : &tutti_shmem_host;
}

/* 1 if the PEs of every node can share memory. */
static int are_whole(struct tutti_shmem *space)
{
    int64_t whole = space->team->whole;
    const int status = space->transport->ops->allreduce(space->transport, &whole, 1, TUTTI_COMBINE_MIN);
    if (status == TUTTI_OK && whole)
        return 1;
    tutti_shmem_answer(space, TUTTI_ERR_UNAVAILABLE, "tshmem_init", "ranks of a node cannot share memory%s%s",
                       space->team->whole ? "" : ": ", space->team->whole ? "" : space->team->why);
    return 0;
}

/* Opens the wire to PEs of other nodes, if there are any. */
static int space_open_far(struct tutti_shmem *space)
{
    const int far = space->near->count < space->transport->size;
    int status = far ? tutti_shmem_far_open(space) : TUTTI_OK;
    if (!tutti_shmem_alike(space->transport, status))
        status = TUTTI_ERR_MEMORY;
    space->far_path = space->wire ? &tutti_far_wire : NULL;
    return status == TUTTI_OK ? status
                              : tutti_shmem_answer(space, status, "tshmem_init", "no messages between nodes: %s",
                                                   tutti_status_text(status));
}

/* The channel of all PEs; if some are on other nodes, of those of this node: see stream/flow.c. */
static int open_channel(struct tutti_shmem *space)
{
    const int number = space->near->count == space->transport->size ? TSHMEM_TEAM_WORLD : TSHMEM_TEAM_SHARED;
    if (!space->gpu || !tutti_shmem_stream_channels())
        return TUTTI_OK;
    int status = space->near->count > 1
                     ? tutti_shmem_channel_over(&space->channels, space->team, number, space->gpu->gpu)
                     : TUTTI_OK;
    if (!tutti_shmem_alike(space->transport, status))
        status = TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK)
        status = tutti_shmem_channels_room(&space->channels, space->team->node, &space->near->base, space->gpu->gpu);
    return status == TUTTI_OK ? status
                              : tutti_shmem_answer(space, status, "tshmem_init", "%s", tutti_status_text(status));
}

static int space_make(struct tutti_shmem *space)
{
    const int64_t mib = tutti_shmem_heap_mib(), first = mib > 0 ? mib << 20 : 0;
    const int64_t said = (int64_t)tutti_settings()->shmem_heap_most_mb << 20;
    int64_t most = said ? said : first * GROWS;
    uint64_t heap_bytes = (uint64_t)first;
    if (!are_whole(space))
        return TUTTI_ERR_UNAVAILABLE;
    if (!tutti_shmem_alike(space->transport, first) || !tutti_shmem_alike(space->transport, most))
        return tutti_shmem_answer(space, TUTTI_ERR_SETTING, "tshmem_init",
                                  "TUTTI_SHMEM_HEAP_MB, TUTTI_SHMEM_HEAP_MOST_MB or SHMEM_SYMMETRIC_SIZE is not the "
                                  "same on all ranks");
    if (mib < 0) {
        char text[80];
        return tutti_shmem_answer(
            space, TUTTI_ERR_SETTING, "tshmem_init",
            "SHMEM_SYMMETRIC_SIZE=%s is no size up to 1T: a number such as 64000000, 512M or 1.5g",
            tutti_plain(tutti_shmem_heap_text(), text, sizeof text));
    }
    space->began = heap_bytes;
    space->rules = tutti_rules_in_force();
    if (!tutti_shmem_alike(space->transport, tutti_shmem_stream_rules()))
        return tutti_shmem_answer(space, TUTTI_ERR_SETTING, "tshmem_init",
                                  "rules of the section shmem_stream are not the same on all ranks");
    space->kind = kind_of_heaps();
    if (!tutti_shmem_alike(space->transport, space->kind->host_reaches)) {
        space->kind = &tutti_shmem_host; /* no mapping exists yet */
        return tutti_shmem_answer(space, TUTTI_ERR_SETTING, "tshmem_init",
                                  "TUTTI_SHMEM_HEAP or TUTTI_DEVICE is not the same on all ranks");
    }
    if (!said && !space->kind->host_reaches && tutti_device() && !tutti_device()->simulates && most < GPU_GROWS)
        most = GPU_GROWS;
    heap_bytes += tutti_shmem_statics_find(&space->statics, space->transport,
                                           tutti_shmem_is_loading() && space->kind->host_reaches);
    int status = tutti_shmem_map(space, &heap_bytes, (uint64_t)most + space->statics.all);
    if (status != TUTTI_OK)
        return tutti_shmem_answer(space, status, "tshmem_init", "no memory that all PEs share");
    status = tutti_heap_open(&space->heap, heap_bytes);
    if (!tutti_shmem_alike(space->transport, status)) /* some PEs have no memory: all give up */
        status = TUTTI_ERR_MEMORY;
    if (status != TUTTI_OK)
        return tutti_shmem_answer(space, status, "tshmem_init", "%s", tutti_status_text(status));
    status =
        tutti_shmem_statics_open(&space->statics, space->transport, &space->heap, space->state.heap + space->first);
    if (status != TUTTI_OK)
        return tutti_shmem_answer(space, status, "tshmem_init",
                                  "the program's static variables could not become symmetric");
    space->state.bytes = sizeof space->state;
    space->state.version = TSHMEM_STATE_VERSION;
    space->state.limit_ns = (uint64_t)tutti_settings()->timeout_seconds * 1000000000u;
    const int wait = tutti_settings()->wait; /* virtual nodes share the cores of a machine */
    space->crowded = wait == TUTTI_SET_WAIT_AUTO
                         ? (tutti_settings()->node_ranks > 0 ? space->transport->size : space->near->count) >
                               tutti_node_cores(space->team->node)
                         : wait != TUTTI_SET_WAIT_SPIN;
    status = tutti_shmem_teams_open(space);
    if (!tutti_shmem_alike(space->transport, status))
        status = TUTTI_ERR_UNAVAILABLE;
    if (status != TUTTI_OK)
        return tutti_shmem_answer(space, status, "tshmem_init", "the teams were not copied to the GPU");
    status = space_open_far(space);
    if (status != TUTTI_OK)
        return status;
    status = tutti_shmem_proxy_open(space);
    if (!tutti_shmem_alike(space->transport, status))
        status = TUTTI_ERR_UNAVAILABLE;
    if (status == TUTTI_OK)
        status = open_channel(space);
    return tutti_shmem_alike(space->transport, status) ? status : TUTTI_ERR_UNAVAILABLE;
}

/* Of all PEs. */
static int make_rooms(struct tutti_shmem *space, int pes)
{
    space->kind_of = calloc((size_t)pes, sizeof *space->kind_of);
    space->base = calloc((size_t)pes, sizeof *space->base);
    space->heaps = calloc((size_t)pes, sizeof *space->heaps);
    space->control = calloc((size_t)pes, sizeof *space->control);
    int fine = space->kind_of && space->base && space->heaps && space->control;
    for (int i = 0; i < TSHMEM_TEAMS_MAX && fine; i++) { /* pages that no team has touched take no memory */
        space->world[i] = calloc((size_t)pes, sizeof *space->world[i]);
        fine = space->world[i] != NULL;
    }
    return fine;
}

static void free_rooms(struct tutti_shmem *space)
{
    free(space->kind_of);
    free(space->base);
    free(space->heaps);
    free(space->control);
    for (int i = 0; i < TSHMEM_TEAMS_MAX; i++)
        free(space->world[i]);
}

static void space_unmake(struct tutti_shmem *space)
{
    tutti_shmem_far_close(space);
    tutti_shmem_proxy_close(space);
    tutti_shmem_statics_close(&space->statics);
    tutti_heap_close(&space->heap);
    tutti_shmem_channels_close(&space->channels);
    if (space->kind)
        tutti_shmem_unmap(space);
    if (space->team)
        tutti_team_free(space->team);
    tutti_shmem_near_free(space->near);
    free_rooms(space);
    memset(space, 0, offsetof(struct tutti_shmem, errors));
}

int tutti_shmem_space_open(struct tutti_shmem *space, struct tutti_transport *transport, struct tutti_node *node,
                           const struct tutti_shmem_host *host)
{
    _Static_assert((int)TSHMEM_NEAR_MAX == (int)TUTTI_MAX_RANKS, "a team of as many ranks");
    if (space->state.pes > 0) {
        space->users++;
        return TUTTI_OK;
    }
    tutti_shmem_up(space);
    tutti_shmem_greet(transport->rank == 0);
    space->transport = transport;
    space->host = host;
    if (transport->size > TSHMEM_PES_MAX)
        return tutti_shmem_answer(space, TUTTI_ERR_UNAVAILABLE, "tshmem_init",
                                  "%d processes: an address space has %d PEs at most", transport->size, TSHMEM_PES_MAX);
    space->state.me = transport->rank;
    int status = make_rooms(space, transport->size) ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (!tutti_shmem_alike(transport, status)) /* all give up */
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = tutti_shmem_near_find(space, transport, node);
    if (status == TUTTI_OK)
        status = tutti_team_create(node, &space->near->base, &space->team);
    if (status != TUTTI_OK)
        tutti_shmem_answer(space, status, "tshmem_init", "%s", tutti_status_text(status));
    else
        status = space_make(space);
    /* No PE uses a peer's memory before the peer has laid it out. */
    if (status == TUTTI_OK)
        status = transport->ops->barrier(transport);
    if (status != TUTTI_OK) {
        space_unmake(space);
        return status;
    }
    space->users = 1;
    space->state.pes = transport->size;
    tutti_shmem_up(space);
    status = tutti_shmem_proxy_start(space);
    if (status != TUTTI_OK)
        __atomic_store_n(space->state.abort, 1, __ATOMIC_RELEASE); /* kernels that ask would wait */
    tutti_shmem_bind(space, &space->state);
    tutti_debug("tshmem_init: PE %d of %d, %d on this node, a heap of %llu MiB (%s), %d constant segments",
                space->state.me, space->state.pes, space->near->count, (unsigned long long)(space->began >> 20),
                space->kind->name, space->statics.constants);
    return TUTTI_OK;
}

/* Memory of a GPU is freed once no peer maps it any more. Host memory lives as long as a process maps it. Messages
 * end after the last meeting. */
static void space_unmap_peers(struct tutti_shmem *space)
{
    if ((space->kind->host_reaches && !space->wire) || __atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        return;
    tutti_shmem_complete(space, 0, tutti_shmem_far_quiet, -1);
    if (tutti_shmem_pass(space, TSHMEM_TEAM_WORLD, TUTTI_SHMEM_FINALIZE) != TUTTI_OK)
        return;
    space->kind->unmap_peers(space);
    if (tutti_shmem_pass(space, TSHMEM_TEAM_WORLD, TUTTI_SHMEM_FINALIZE) == TUTTI_OK)
        tutti_shmem_far_leave(space);
}

void tutti_shmem_space_close(struct tutti_shmem *space)
{
    if (space->state.pes == 0)
        return;
    tutti_shmem_bind(space, NULL);
    tutti_shmem_proxy_stop(space);
    tutti_shmem_contexts_close(space);
    space_unmap_peers(space);
    space->state.pes = 0;
    space_unmake(space);
}

void tutti_shmem_space_forget(struct tutti_shmem *space)
{
    tutti_shmem_statics_close(&space->statics);
    space->state.pes = 0;
    space->wire = NULL;
}

/* Making and ending the address space. */
#include "shmem/meet.h"

#include <sched.h>
#include <string.h>

#include "core/settings.h"
#include "device/device.h"
#include "progress/transport.h"
#include "team/team.h"

static int cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* 1 where all ranks bring the same number. */
static int is_alike(struct tutti_transport *transport, int64_t mine)
{
    int64_t words[2] = {mine, -mine};
    return transport->ops->allreduce(transport, words, 2, TUTTI_COMBINE_MIN) == TUTTI_OK && words[0] == -words[1];
}

/* Where the heaps lie, by TUTTI_SHMEM_HEAP: on the GPU where there are such, in host memory where one is simulated. */
static const struct tutti_shmem_kind *kind_of_heaps(void)
{
    const struct tutti_device *device = tutti_device();
    const int setting = tutti_settings()->shmem_heap;
    if (setting == TUTTI_SET_SHMEM_HEAP_AUTO)
        return device && !device->simulates ? &tutti_shmem_device : &tutti_shmem_host;
    return setting == TUTTI_SET_SHMEM_HEAP_DEVICE ? &tutti_shmem_device : &tutti_shmem_host;
}

static int make(struct tutti_shmem *space)
{
    const int64_t heap_bytes = (int64_t)tutti_settings()->shmem_heap_mb << 20;
    const struct tutti_team *team = space->team;
    if (!team->whole)
        return tutti_shmem_fail(TUTTI_ERR_UNAVAILABLE, "tshmem_init",
                                "the ranks cannot share memory (%s); the address space across nodes is not there yet",
                                team->why);
    if (!is_alike(space->transport, heap_bytes))
        return tutti_shmem_fail(TUTTI_ERR_SETTING, "tshmem_init", "TUTTI_SHMEM_HEAP_MB is not the same on all ranks");
    if (!is_alike(space->transport, tutti_settings()->shmem_stream_bytes))
        return tutti_shmem_fail(TUTTI_ERR_SETTING, "tshmem_init",
                                "TUTTI_SHMEM_STREAM_BYTES is not the same on all ranks");
    space->kind = kind_of_heaps();
    if (!is_alike(space->transport, space->kind->host_reaches)) {
        space->kind = &tutti_shmem_host; /* nothing is made yet */
        return tutti_shmem_fail(TUTTI_ERR_SETTING, "tshmem_init",
                                "TUTTI_SHMEM_HEAP or TUTTI_DEVICE is not the same on all ranks");
    }
    int status = tutti_shmem_map(space, (size_t)heap_bytes);
    if (status != TUTTI_OK)
        return tutti_shmem_fail(status, "tshmem_init", "no memory that all PEs share");
    status = tutti_heap_open(&space->heap, (uint64_t)heap_bytes);
    if (!is_alike(space->transport, status)) /* some have no memory: then all give up */
        status = TUTTI_ERR_MEMORY;
    if (status != TUTTI_OK)
        return tutti_shmem_fail(status, "tshmem_init", "%s", tutti_status_text(status));
    space->state.bytes = sizeof space->state;
    space->state.version = TSHMEM_STATE_VERSION;
    space->state.me = team->rank;
    space->state.limit_ns = (uint64_t)tutti_settings()->timeout_seconds * 1000000000u;
    space->crowded = team->size > cores();
    tutti_shmem_teams_open(space);
    return TUTTI_OK;
}

static void unmake(struct tutti_shmem *space)
{
    tutti_heap_close(&space->heap);
    if (space->kind)
        tutti_shmem_unmap(space);
    if (space->team)
        tutti_team_free(space->team);
    const int status = atomic_load(&space->status);
    memset(space, 0, sizeof *space);
    atomic_store(&space->status, status);
}

int tutti_shmem_open(struct tutti_transport *transport, struct tutti_node *node, const struct tutti_shmem_host *host)
{
    struct tutti_shmem *space = &tutti_shmem;
    _Static_assert((int)TSHMEM_PES_MAX == (int)TUTTI_MAX_RANKS, "a team of as many ranks");
    if (space->state.pes > 0) {
        space->users++;
        return TUTTI_OK;
    }
    space->transport = transport;
    space->host = host;
    int status = tutti_team_create(node, transport, &space->team);
    if (status != TUTTI_OK)
        tutti_shmem_fail(status, "tshmem_init", "%s", tutti_status_text(status));
    else
        status = make(space);
    /* Nobody uses a peer's memory before that has laid it out. */
    if (status == TUTTI_OK)
        status = transport->ops->barrier(transport);
    if (status != TUTTI_OK) {
        unmake(space);
        return status;
    }
    space->users = 1;
    space->state.pes = transport->size;
    tutti_shmem_bind(&space->state);
    return TUTTI_OK;
}

/* Memory of a GPU is freed when no peer has it mapped any more. What is in host memory lives as long as somebody maps
 * it. */
static void let_go(struct tutti_shmem *space)
{
    if (space->kind->host_reaches || __atomic_load_n(space->state.abort, __ATOMIC_RELAXED))
        return;
    if (space->kind->quiet(0) != TUTTI_OK)
        return;
    if (tutti_shmem_pass(TSHMEM_TEAM_WORLD, TUTTI_SHMEM_FINALIZE) != TUTTI_OK)
        return;
    space->kind->let_go(space);
    tutti_shmem_pass(TSHMEM_TEAM_WORLD, TUTTI_SHMEM_FINALIZE);
}

void tutti_shmem_close(void)
{
    if (tutti_shmem.state.pes == 0)
        return;
    tutti_shmem_bind(NULL);
    tutti_shmem_contexts_close();
    let_go(&tutti_shmem);
    tutti_shmem.state.pes = 0;
    unmake(&tutti_shmem);
}

void tutti_shmem_forget(void)
{
    tutti_shmem.state.pes = 0;
}

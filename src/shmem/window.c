/* The memory of all PEs: control pages in host memory, then the heaps, of whatever kind. Each is made and mapped in two
 * phases: every rank makes its own; where all could, they hand the descriptors round and map; then all agree once more.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"
#include "progress/transport.h"
#include "shmem/near.h"
#include "shmem/space.h"
#include "team/team.h"

enum { PAGE = 1 << 16 };

_Static_assert(offsetof(struct tshmem_area, packets) % 16 == 0, "packets of 16 bytes");

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* 1 where all ranks say 1. */
static int all_can(struct tutti_transport *transport, int mine)
{
    int64_t word = mine;
    return transport->ops->allreduce(transport, &word, 1, TUTTI_COMBINE_MIN) == TUTTI_OK && word == 1;
}

static int map_control(struct tutti_shmem *space, int pe, int fd)
{
    void *map = tutti_shmem_memfd_map(fd, whole_pages(sizeof(struct tutti_shmem_control)), 0);
    space->control[pe] = map;
    return map != NULL;
}

static int map_heap(struct tutti_shmem *space, int pe, int fd)
{
    const struct tutti_shmem_offer offer = space->control[pe]->offer; /* a copy: what is checked must not change */
    return pe == space->state.me || space->kind->reach(space, pe, &offer, fd) == TUTTI_OK;
}

/* Second phase, after all have made theirs: 1 where all have mapped all. `what` is said of the one that failed. */
static int map_all(struct tutti_shmem *space, int own, int (*map_one)(struct tutti_shmem *space, int pe, int fd),
                   const char *what)
{
    int theirs[TSHMEM_PES_MAX], fine = 1;
    const struct tutti_shmem_near *near = space->near;
    if (tutti_team_pass(space->team, own, theirs) != TUTTI_OK)
        return 0;
    for (int i = 0; i < near->count && fine; i++) {
        fine = map_one(space, near->pe[i], i == near->me ? own : theirs[i]);
        if (!fine)
            tutti_error("tshmem_init: the %s of PE %d could not be mapped", what, near->pe[i]);
    }
    for (int i = 0; i < near->count; i++) {
        if (theirs[i] >= 0)
            close(theirs[i]);
    }
    return all_can(space->transport, fine);
}

static int map_controls(struct tutti_shmem *space)
{
    const int own = tutti_shmem_memfd(whole_pages(sizeof(struct tutti_shmem_control)), space->team->size);
    const int fine = all_can(space->transport, own >= 0) && map_all(space, own, map_control, "control page");
    if (own >= 0)
        close(own);
    return fine;
}

static int map_heaps(struct tutti_shmem *space)
{
    int own = -1;
    struct tutti_shmem_offer *offer = &space->control[space->state.me]->offer;
    const int made = space->kind->make(space, space->state.heap_bytes, offer, &own) == TUTTI_OK;
    const int fine = all_can(space->transport, made) && map_all(space, own, map_heap, "heap");
    if (own >= 0)
        close(own);
    return fine;
}

int tutti_shmem_map(struct tutti_shmem *space, size_t heap_bytes)
{
    const int me = space->state.me;
    const size_t area_bytes = (sizeof(struct tshmem_area) + 255) / 256 * 256;
    struct tshmem_state *state = &space->state;
    /* Areas of calls in kernels, then of those in streams, where there are such. */
    space->first = whole_pages(area_bytes * TSHMEM_TEAMS_MAX * (space->kind->host_reaches ? 1 : 2));
    state->heap_bytes = space->first + heap_bytes;
    if (!map_controls(space) || !map_heaps(space)) {
        tutti_shmem_unmap(space);
        return TUTTI_ERR_MEMORY;
    }
    state->heap = state->peer[me];
    for (int i = 0; i < space->near->count; i++) {
        const int pe = space->near->pe[i];
        space->base[pe] = state->peer[pe];
        space->kind_of[pe] = space->kind;
    }
    state->area = 0;
    state->area_bytes = area_bytes;
    state->team = space->control[me]->team;
    state->abort = &space->control[me]->abort;
    return TUTTI_OK;
}

void tutti_shmem_unmap(struct tutti_shmem *space)
{
    space->kind->let_go(space);
    space->kind->unmake(space);
    for (int pe = 0; pe < TSHMEM_PES_MAX; pe++) {
        if (space->control[pe])
            munmap(space->control[pe], whole_pages(sizeof(struct tutti_shmem_control)));
        space->control[pe] = NULL;
        space->state.peer[pe] = NULL;
    }
}

/* The memory of all PEs: control pages in host memory, then the heaps, of any kind. Each is made and mapped in two
 * phases: every rank makes its own; if all succeed, they exchange descriptors and map; then all agree. The addresses
 * of a heap are reserved as a whole, and pieces are mapped from the beginning on. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"
#include "progress/transport.h"
#include "shmem/local/steps.h"
#include "shmem/near.h"
#include "shmem/space.h"
#include "team/team.h"

enum { PAGE = 1 << 16 };

_Static_assert(offsetof(struct tshmem_area, packets) % 16 == 0, "packets of 16 bytes");

static size_t window_whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* 1 if all ranks pass 1. */
static int all_can(struct tutti_transport *transport, int mine)
{
    int64_t word = mine;
    return transport->ops->allreduce(transport, &word, 1, TUTTI_COMBINE_MIN) == TUTTI_OK && word == 1;
}

/* The second phase of a piece, after all have made theirs: exchanges descriptors and maps. 1 if all are mapped here;
 * otherwise piece->why names the PE. */
static int window_map_all(struct tutti_shmem *space, int own, struct tutti_shmem_piece *piece,
                          int (*map_one)(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe, int fd))
{
    int theirs[TSHMEM_NEAR_MAX], fine = 1;
    const struct tutti_shmem_near *near = space->near;
    snprintf(piece->why, sizeof piece->why, "no descriptors from the other PEs of this node");
    if (tutti_team_pass(space->team, own, theirs) != TUTTI_OK)
        return 0;
    for (int i = 0; i < near->count && fine; i++) {
        snprintf(piece->why, sizeof piece->why, "memory of PE %d could not be mapped", near->pe[i]);
        fine = map_one(space, piece, near->pe[i], i == near->me ? own : theirs[i]);
    }
    for (int i = 0; i < near->count; i++) {
        if (theirs[i] >= 0)
            close(theirs[i]);
    }
    return fine;
}

/* The first piece of something: 1 if all PEs have mapped it. */
static int all_have(struct tutti_shmem *space, const struct tutti_shmem_piece *piece, int mine)
{
    if (!mine && piece->why[0])
        tutti_error("tshmem_init: %s", piece->why);
    return all_can(space->transport, mine);
}

static int map_control(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe, int fd)
{
    space->control[pe] = tutti_shmem_memfd_map(fd, piece->bytes, NULL);
    return space->control[pe] != NULL;
}

static int map_controls(struct tutti_shmem *space)
{
    struct tutti_shmem_piece piece = {.bytes = window_whole_pages(sizeof(struct tutti_shmem_control))};
    const int own = tutti_shmem_memfd(piece.bytes, piece.bytes, space->team->size, piece.why);
    const int fine =
        all_have(space, &piece, own >= 0) && all_have(space, &piece, window_map_all(space, own, &piece, map_control));
    if (own >= 0)
        close(own);
    return fine;
}

static int map_piece(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe, int fd)
{
    const struct tutti_shmem_offer offer = space->control[pe]->offer; /* a copy: what is checked must not change */
    return pe == space->state.me || space->kind->reach(space, piece, pe, &offer, fd) == TUTTI_OK;
}

int tutti_shmem_piece_make(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int *fd)
{
    *fd = -1;
    return space->kind->make(space, piece, &space->control[space->state.me]->offer, fd) == TUTTI_OK;
}

int tutti_shmem_piece_map(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int fd)
{
    return window_map_all(space, fd, piece, map_piece);
}

void tutti_shmem_piece_drop(struct tutti_shmem *space, const struct tutti_shmem_piece *piece)
{
    space->kind->drop(space, piece);
}

/* Reserves addresses for the largest size if all PEs can, otherwise for the first size. */
static int window_reserve(struct tutti_shmem *space, uint64_t *heap_bytes, uint64_t most)
{
    const uint64_t whole = (*heap_bytes + TUTTI_SHMEM_ALIGN_MOST - 1) / TUTTI_SHMEM_ALIGN_MOST * TUTTI_SHMEM_ALIGN_MOST;
    if (most > whole) {
        space->state.heap_bytes = space->first + most / TUTTI_SHMEM_ALIGN_MOST * TUTTI_SHMEM_ALIGN_MOST;
        if (all_can(space->transport, space->kind->reserve(space, 1) == TUTTI_OK)) {
            *heap_bytes = whole;
            return 1;
        }
        space->kind->unreserve(space);
    }
    space->state.heap_bytes = space->first + *heap_bytes;
    const int fine = space->kind->reserve(space, 0) == TUTTI_OK;
    if (!fine)
        tutti_error("tshmem_init: no addresses for heaps of %llu MiB (TUTTI_SHMEM_HEAP_MB)",
                    (unsigned long long)(*heap_bytes >> 20));
    return all_can(space->transport, fine);
}

static int map_heaps(struct tutti_shmem *space, uint64_t heap_bytes)
{
    int own = -1;
    struct tutti_shmem_piece piece = {.bytes = space->first + heap_bytes};
    const int fine = all_have(space, &piece, tutti_shmem_piece_make(space, &piece, &own)) &&
                     all_have(space, &piece, tutti_shmem_piece_map(space, &piece, own));
    if (own >= 0)
        close(own);
    atomic_store(&space->mapped, piece.bytes);
    return fine;
}

static void tell_peers(struct tutti_shmem *space)
{
    struct tshmem_state *state = &space->state;
    const struct tutti_shmem_near *near = space->near;
    const int first = near->pe[0], step = near->count > 1 ? near->pe[1] - first : 1;
    memset(state->peer, 0, sizeof state->peer);
    space->uneven = 0;
    if (space->transport->size <= TSHMEM_NEAR_MAX) {
        for (int i = 0; i < near->count; i++)
            state->peer[near->pe[i]] = space->heaps[near->pe[i]];
        return;
    }
    for (int i = 0; i < near->count; i++)
        space->uneven |= near->pe[i] != first + i * step;
    tutti_shmem_steps(space->uneven ? state->me : first, space->uneven ? 1 : step, state);
    for (int i = 0; i < near->count && !space->uneven; i++)
        state->peer[i] = space->heaps[near->pe[i]];
    if (space->uneven)
        state->peer[0] = state->heap;
}

int tutti_shmem_kernels_reach(struct tutti_shmem *space, int pe)
{
    return space->heaps[pe] && (!space->uneven || pe == space->state.me);
}

int tutti_shmem_map(struct tutti_shmem *space, uint64_t *heap_bytes, uint64_t most)
{
    const int me = space->state.me;
    const size_t pes = (size_t)space->transport->size;
    const size_t behind = pes > TSHMEM_NEAR_MAX ? 3 * pes * sizeof(uint64_t) : 0;
    const size_t area_bytes = (sizeof(struct tshmem_area) + behind + 255) / 256 * 256;
    struct tshmem_state *state = &space->state;
    /* Areas of calls in kernels; for heaps of a device also of calls in streams, and on GPUs the tables for kernels. */
    const int apart = !space->kind->host_reaches && !tutti_device()->simulates;
    const uint64_t areas = area_bytes * TSHMEM_TEAMS_MAX * (space->kind->host_reaches ? 1 : 2);
    const uint64_t told = apart ? sizeof(struct tutti_shmem_kernel_view) : 0;
    const uint64_t lists = apart && pes > TSHMEM_NEAR_MAX ? TSHMEM_TEAMS_MAX * pes * sizeof(int32_t) : 0;
    space->first = window_whole_pages(areas + told + lists);
    if (!map_controls(space) ||
        !all_can(space->transport, !space->kind->open || space->kind->open(space) == TUTTI_OK) ||
        !window_reserve(space, heap_bytes, most) || !map_heaps(space, *heap_bytes)) {
        tutti_shmem_unmap(space);
        return TUTTI_ERR_MEMORY;
    }
    state->heap = space->heaps[me];
    tell_peers(space);
    for (int i = 0; i < space->near->count; i++) {
        const int pe = space->near->pe[i];
        space->base[pe] = space->heaps[pe];
        space->kind_of[pe] = space->kind;
    }
    state->area = 0;
    state->area_bytes = area_bytes;
    space->kernel_view = apart ? (void *)(state->heap + areas) : &space->control[me]->kernel_view;
    space->lists = lists > 0 ? (void *)(state->heap + areas + told) : NULL;
    state->team = space->kernel_view->team;
    state->context = space->kernel_view->context;
    state->abort = &space->control[me]->abort;
    state->failure = &space->control[me]->failure;
    return TUTTI_OK;
}

void tutti_shmem_unmap(struct tutti_shmem *space)
{
    space->kind->unmap_peers(space);
    space->kind->unmake(space);
    for (int pe = 0; pe < space->transport->size; pe++) {
        if (space->control[pe])
            munmap(space->control[pe], window_whole_pages(sizeof(struct tutti_shmem_control)));
        space->control[pe] = NULL;
        space->heaps[pe] = NULL;
    }
}

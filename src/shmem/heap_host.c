/* Heaps in host memory: a memfd for each piece, mapped by all PEs. Puts and gets are plain stores and loads, complete
 * on return. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "progress/transport.h"
#include "shmem/host.h"
#include "shmem/near.h"
#include "shmem/space.h"
#include "shmem/wire/wire.h"
#include "team/team.h"

enum { ALIGN_MOST = 1 << 26 };

static void heap_unmap(struct tutti_shmem *space, int pe)
{
    if (space->heaps[pe])
        munmap(space->heaps[pe], space->state.heap_bytes);
    space->heaps[pe] = NULL;
}

static int heap_host_reserve(struct tutti_shmem *space, int grows)
{
    int fine = 1;
    (void)grows;
    for (int i = 0; i < space->near->count && fine; i++) {
        char *const at = tutti_shmem_reserve(space->state.heap_bytes, space->first, ALIGN_MOST);
        space->heaps[space->near->pe[i]] = at;
        fine = at != NULL;
    }
    return fine ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static void heap_host_unreserve(struct tutti_shmem *space)
{
    for (int i = 0; i < space->near->count; i++)
        heap_unmap(space, space->near->pe[i]);
}

static int heap_host_piece_make(struct tutti_shmem *space, struct tutti_shmem_piece *piece,
                                struct tutti_shmem_offer *offer, int *fd)
{
    (void)offer;
    *fd = tutti_shmem_memfd(piece->bytes, piece->at + piece->bytes, space->team->size, piece->why);
    if (*fd < 0)
        return TUTTI_ERR_MEMORY;
    if (tutti_shmem_memfd_map(*fd, piece->bytes, space->heaps[space->state.me] + piece->at))
        return TUTTI_OK;
    snprintf(piece->why, sizeof piece->why, "%zu MiB of memory could not be mapped", piece->bytes >> 20);
    return TUTTI_ERR_MEMORY;
}

static int heap_host_piece_reach(struct tutti_shmem *space, struct tutti_shmem_piece *piece, int pe,
                                 const struct tutti_shmem_offer *offer, int fd)
{
    (void)offer;
    return tutti_shmem_memfd_map(fd, piece->bytes, space->heaps[pe] + piece->at) ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static void heap_host_piece_drop(struct tutti_shmem *space, const struct tutti_shmem_piece *piece)
{
    for (int i = 0; i < space->near->count; i++)
        tutti_shmem_memfd_unmap(space->heaps[space->near->pe[i]] + piece->at, piece->bytes);
}

static void heap_host_unmap_peers(struct tutti_shmem *space)
{
    for (int pe = 0; pe < space->transport->size; pe++) {
        if (pe != space->state.me)
            heap_unmap(space, pe);
    }
}

static void heap_host_unmake(struct tutti_shmem *space)
{
    heap_unmap(space, space->state.me);
}

static int heap_copy(struct tutti_shmem *space, void *to, const void *from, size_t bytes, int later)
{
    (void)space;
    (void)later;
    tutti_shmem_copy_host(to, from, bytes);
    return TUTTI_OK;
}

static int heap_host_copy_element(struct tutti_shmem *space, void *to, const void *from, size_t bytes)
{
    (void)space;
    const uintptr_t both = (uintptr_t)to | (uintptr_t)from;
    if (bytes == 8 && both % 8 == 0)
        __atomic_store_n((uint64_t *)to, __atomic_load_n((const uint64_t *)from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else if (bytes == 4 && both % 4 == 0)
        __atomic_store_n((uint32_t *)to, __atomic_load_n((const uint32_t *)from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else if (bytes == 2 && both % 2 == 0)
        __atomic_store_n((uint16_t *)to, __atomic_load_n((const uint16_t *)from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
    else
        memcpy(to, from, bytes);
    return TUTTI_OK;
}

static int heap_host_copy_blocks(struct tutti_shmem *space, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst,
                                 size_t block, size_t n, size_t bytes)
{
    char *here = to;
    const char *there = from;
    for (size_t i = 0; i < n; i++) {
        if (block == 1)
            heap_host_copy_element(space, here, there, bytes);
        else
            tutti_shmem_copy_host(here, there, block * bytes);
        here += dst * (ptrdiff_t)bytes;
        there += sst * (ptrdiff_t)bytes;
    }
    return TUTTI_OK;
}

static int heap_put_signal(struct tutti_shmem *space, void *to, const void *from, size_t bytes, uint64_t *at,
                           uint64_t value, int operation, int later)
{
    (void)space;
    (void)later;
    if (bytes > 0)
        tutti_shmem_copy_host(to, from, bytes);
    if (operation == TSHMEM_SIGNAL_ADD) /* a release: the data are visible before it */
        __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
    else
        __atomic_store_n(at, value, __ATOMIC_RELEASE);
    return TUTTI_OK;
}

/* Earlier stores become visible to all PEs before later ones. */
static int heap_quiet(struct tutti_shmem *space, int context)
{
    (void)space;
    (void)context;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return TUTTI_OK;
}

static int heap_move(struct tutti_shmem *space, const struct tutti_shmem_part *parts, size_t n)
{
    (void)space;
    for (size_t i = 0; i < n; i++) {
        if (parts[i].to != parts[i].from && parts[i].bytes > 0)
            memcpy(parts[i].to, parts[i].from, parts[i].bytes);
    }
    return TUTTI_OK;
}

static int heap_clear(struct tutti_shmem *space, void *at, size_t bytes)
{
    (void)space;
    memset(at, 0, bytes);
    return TUTTI_OK;
}

static int heap_peek(struct tutti_shmem *space, struct tutti_shmem_peek *peek, const void *words, size_t bytes)
{
    (void)space;
    (void)bytes;
    peek->seen = words;
    return 1;
}

static void peek_forget(struct tutti_shmem *space, struct tutti_shmem_peek *peek)
{
    (void)space;
    (void)peek;
}

static void *scratch_allocate(struct tutti_shmem *space, size_t bytes)
{
    (void)space;
    return malloc(bytes);
}

static void scratch_give(struct tutti_shmem *space, void *room)
{
    (void)space;
    free(room);
}

/* ---- of the agent: all is done on return ---- */

static int heap_host_agent_room(void *space, size_t bytes, void **out)
{
    (void)space;
    return posix_memalign(out, 128, bytes) == 0 ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static void heap_host_agent_give(void *space, void *room)
{
    (void)space;
    free(room);
}

static int agent_blocks(void *space, void *to, const void *from, ptrdiff_t dst, ptrdiff_t sst, size_t block, size_t n,
                        size_t bytes)
{
    return heap_host_copy_blocks(space, to, from, dst, sst, block, n, bytes);
}

static int agent_amo(void *space, int operation, void *at, size_t bytes, uint64_t value, uint64_t compare,
                     uint64_t *was)
{
    const uint64_t before = tutti_shmem_amo_host(space, operation, at, bytes, value, compare);
    if (was)
        *was = before;
    return TUTTI_OK;
}

static const struct tutti_wire_local local = {
    .room = heap_host_agent_room, .give = heap_host_agent_give, .blocks = agent_blocks, .amo = agent_amo};

const struct tutti_shmem_kind tutti_shmem_host = {
    .name = "host",
    .host_reaches = 1,
    .align_most = ALIGN_MOST,
    .reserve = heap_host_reserve,
    .unreserve = heap_host_unreserve,
    .make = heap_host_piece_make,
    .reach = heap_host_piece_reach,
    .drop = heap_host_piece_drop,
    .unmap_peers = heap_host_unmap_peers,
    .unmake = heap_host_unmake,
    .copy = heap_copy,
    .element = heap_host_copy_element,
    .blocks = heap_host_copy_blocks,
    .amo = tutti_shmem_amo_host,
    .put_signal = heap_put_signal,
    .quiet = heap_quiet,
    .move = heap_move,
    .clear = heap_clear,
    .reduce = tutti_shmem_reduce_host,
    .peek = heap_peek,
    .forget = peek_forget,
    .local = &local,
    .room = scratch_allocate,
    .give = scratch_give,
};

/* The memory of a PE: one memfd with its control page and its heap, mapped by all PEs of the node. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "progress/transport.h"
#include "shmem/space.h"
#include "team/team.h"

enum { PAGE = 1 << 16, SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* All pages are taken now: a full machine must fail here, not with SIGBUS at a later store. What it cannot have at all
 * is not even asked for, since some systems end a process for that. */
static int make(size_t bytes, int pes)
{
    const uint64_t machine = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes > machine / (uint64_t)pes) {
        tutti_error("tshmem_init: %d heaps of %zu MiB (TUTTI_SHMEM_HEAP_MB) are more than the %llu MiB of this machine",
                    pes, bytes >> 20, (unsigned long long)(machine >> 20));
        return -1;
    }
    const int fd = memfd_create("tutti-shmem", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) {
        tutti_error("tshmem_init: memfd_create failed: %s", strerror(errno));
        return -1;
    }
    if (ftruncate(fd, (off_t)bytes) == 0 && fallocate(fd, 0, 0, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == 0)
        return fd;
    tutti_error("tshmem_init: no %zu MiB of memory for the heap (TUTTI_SHMEM_HEAP_MB): %s", bytes >> 20,
                strerror(errno));
    close(fd);
    return -1;
}

/* Maps so that what programs get of the heap begins at a multiple of TUTTI_SHMEM_ALIGN_MOST: room is reserved for the
 * worst case, and what is left over of it goes back. NULL: no memory. */
static void *map_aligned(int fd, size_t bytes, size_t before)
{
    const size_t align = TUTTI_SHMEM_ALIGN_MOST;
    char *room = mmap(NULL, bytes + align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return NULL;
    const size_t skip = -((uintptr_t)room + before) & (align - 1);
    void *map = mmap(room + skip, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
    if (map == MAP_FAILED) {
        munmap(room, bytes + align);
        return NULL;
    }
    if (skip > 0)
        munmap(room, skip);
    if (skip < align)
        munmap(room + skip + bytes, align - skip);
    return map;
}

static int map_one(struct tutti_shmem *space, int pe, int fd)
{
    struct stat stat;
    const int seals = fd < 0 ? 0 : fcntl(fd, F_GET_SEALS);
    if (seals < 0 || (seals & SEALS) != SEALS || fstat(fd, &stat) != 0 || stat.st_size != (off_t)space->map_bytes)
        return 0;
    const size_t control = whole_pages(sizeof(struct tutti_shmem_control));
    void *map = map_aligned(fd, space->map_bytes, control + space->first);
    if (!map)
        return 0;
    space->map[pe] = map;
    space->control[pe] = map;
    space->state.peer[pe] = (char *)map + control;
    return 1;
}

static int map_all(struct tutti_shmem *space, int own, const int theirs[])
{
    for (int pe = 0; pe < space->team->size; pe++) {
        if (map_one(space, pe, pe == space->team->rank ? own : theirs[pe]))
            continue;
        tutti_error("tshmem_init: the heap of PE %d could not be mapped", pe);
        return 0;
    }
    return 1;
}

/* 1 where all ranks say 1. */
static int all_can(struct tutti_transport *transport, int mine)
{
    int64_t word = mine;
    return transport->ops->allreduce(transport, &word, 1, TUTTI_COMBINE_MIN) == TUTTI_OK && word == 1;
}

/* Every rank makes its memory; where all could, they hand the descriptors round and map; then all agree once more. */
int tutti_shmem_map(struct tutti_shmem *space, size_t heap_bytes)
{
    int theirs[TSHMEM_PES_MAX], fine = 0;
    const struct tutti_team *team = space->team;
    const size_t area_bytes = (sizeof(struct tshmem_area) + 255) / 256 * 256;
    const size_t first = whole_pages(area_bytes * TSHMEM_TEAMS_MAX);
    space->map_bytes = whole_pages(sizeof(struct tutti_shmem_control)) + first + heap_bytes;
    space->first = first;
    const int own = make(space->map_bytes, team->size);
    if (all_can(space->transport, own >= 0) && tutti_team_pass(space->team, own, theirs) == TUTTI_OK) {
        fine = map_all(space, own, theirs);
        for (int pe = 0; pe < team->size; pe++) {
            if (theirs[pe] >= 0)
                close(theirs[pe]);
        }
        fine = all_can(space->transport, fine);
    }
    if (own >= 0)
        close(own);
    if (!fine) {
        tutti_shmem_unmap(space);
        return TUTTI_ERR_MEMORY;
    }
    struct tshmem_state *state = &space->state;
    state->heap = state->peer[team->rank];
    state->heap_bytes = first + heap_bytes;
    state->area = 0;
    state->area_bytes = area_bytes;
    state->team = space->control[team->rank]->team;
    state->abort = &space->control[team->rank]->abort;
    return TUTTI_OK;
}

void tutti_shmem_unmap(struct tutti_shmem *space)
{
    for (int pe = 0; pe < TSHMEM_PES_MAX; pe++) {
        if (space->map[pe])
            munmap(space->map[pe], space->map_bytes);
        space->map[pe] = NULL;
        space->control[pe] = NULL;
        space->state.peer[pe] = NULL;
    }
}

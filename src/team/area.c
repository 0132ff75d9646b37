#include "team/area.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"
#include "team/board.h"
#include "team/cache.h"
#include "team/deferred_free.h"
#include "team/node.h"
#include "team/wait.h"

/* This rank's device memory, cleared, and its name. */
static int area_take(struct tutti_team *team, size_t bytes, void **memory, struct tutti_share *share, int *fd)
{
    const struct tutti_device *device = team->device;
    int status = device->memory.alloc_cleared ? device->memory.alloc_cleared(team->gpu, bytes, memory)
                                              : device->memory.alloc(team->gpu, bytes, memory);
    if (status == TUTTI_OK && !device->memory.alloc_cleared)
        status = device->stream.fill(team->stream, *memory, 0, bytes);
    if (status == TUTTI_OK)
        status = device->stream.sync(team->stream);
    if (status == TUTTI_OK)
        status = device->share.export(*memory, &share->what, fd);
    share->shared = status == TUTTI_OK;
    share->offset = share->shared ? (uint64_t)(uintptr_t)*memory - share->what.base : 0;
    return status;
}

/* This rank's host memory: a descriptor; -1: out of memory. */
static int take_host(void **memory)
{
    int fd = memfd_create("tutti-area", MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    if (ftruncate(fd, TUTTI_AREA_HOST_BYTES) == 0 && fallocate(fd, 0, 0, TUTTI_AREA_HOST_BYTES) == 0)
        *memory = mmap(NULL, TUTTI_AREA_HOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (*memory && *memory != MAP_FAILED)
        return fd;
    *memory = NULL;
    close(fd);
    return -1;
}

static int map_host(int fd, void **memory)
{
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, TUTTI_AREA_HOST_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at != MAP_FAILED)
        *memory = at;
    return at != MAP_FAILED;
}

/* Maps the device memory of rank r; 1 if it could. */
static int map_device(struct tutti_team *team, int r, size_t bytes, int fd, struct tutti_area *area)
{
    const struct tutti_share share = team->slot[r]->offer.share; /* a copy: what has been checked must not change */
    const int peer = tutti_team_peer(team, r);
    if (!share.shared || share.offset > share.what.bytes || bytes > share.what.bytes - share.offset)
        return 0;
    struct tutti_mapping *mapping = tutti_cache_find(team->node->cache, peer, team->gpu, &share.what);
    if (!mapping &&
        ((share.what.needs_fd && fd < 0) ||
         tutti_cache_add(team->node->cache, team->device, peer, team->gpu, &share.what, fd, 1, &mapping) != TUTTI_OK))
        return 0;
    area->mapping[r] = mapping;
    area->device[r] = (char *)mapping->base + share.offset;
    return 1;
}

static void close_all(int fds[], int n)
{
    for (int i = 0; i < n; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

/* Hands this rank's two descriptors to the others and maps theirs; *fine is 0 if something could not be mapped. */
static int area_exchange(struct tutti_team *team, size_t bytes, const int mine[2], struct tutti_area *area, int *fine)
{
    int theirs[TUTTI_MAX_RANKS];
    for (int part = 0; part < 2; part++) {
        memset(theirs, 0xff, sizeof theirs); /* -1: none */
        int status = team->size > 1 ? tutti_team_pass(team, mine[part], theirs) : TUTTI_OK;
        for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
            if (r != team->rank &&
                !(part == 0 ? map_device(team, r, bytes, theirs[r], area) : map_host(theirs[r], &area->host[r])))
                *fine = 0;
        }
        if (team->size > 1)
            close_all(theirs, team->size);
        uint32_t all; /* a second descriptor is sent when all have the first: nothing else distinguishes them */
        if (status == TUTTI_OK)
            status = tutti_team_vote(team, 1, &all);
        if (status != TUTTI_OK)
            return status;
    }
    return TUTTI_OK;
}

int tutti_area_open(struct tutti_team *team, size_t bytes, struct tutti_area *area)
{
    int fd[2] = {-1, -1}, fine;
    uint32_t all;
    memset(area, 0, sizeof *area);
    if (team->gpus != team->size || team->size > TUTTI_MAX_GPUS)
        return TUTTI_ERR_UNAVAILABLE;
    fine = area_take(team, bytes, &area->device[team->rank], &team->slot[team->rank]->offer.share, &fd[0]) == TUTTI_OK;
    fd[1] = take_host(&area->host[team->rank]);
    fine &= fd[1] >= 0;
    int status = tutti_team_vote(team, (uint32_t)fine, &all);
    if (status == TUTTI_OK && all) {
        status = area_exchange(team, bytes, fd, area, &fine);
        if (status == TUTTI_OK)
            status = tutti_team_vote(team, (uint32_t)fine, &all);
    }
    close_all(fd, 2);
    if (status == TUTTI_OK && all)
        return TUTTI_OK;
    tutti_area_close(team, area, 1, 0);
    return status != TUTTI_OK ? status : TUTTI_ERR_UNAVAILABLE;
}

void tutti_area_close(struct tutti_team *team, struct tutti_area *area, int alive, int keep)
{
    for (int r = 0; r < team->size && r < TUTTI_MAX_GPUS; r++) {
        if (area->mapping[r] && alive)
            tutti_cache_release(team->node->cache, team->device, area->mapping[r]);
        if (area->host[r])
            munmap(area->host[r], TUTTI_AREA_HOST_BYTES);
    }
    if (area->device[team->rank] && alive && !keep)
        tutti_deferred_free_memory(team->node, area->device[team->rank]);
    memset(area, 0, sizeof *area);
}

/* ---- boards ---- */

/* A descriptor of `bytes` zeros; -1: out of memory. */
static int board_make(size_t bytes)
{
    const int fd = memfd_create("tutti-board", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) == 0)
        return fd;
    close(fd);
    return -1;
}

static void *board_map(int fd, size_t bytes)
{
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return at == MAP_FAILED ? NULL : at;
}

int tutti_board_open(struct tutti_team *team, size_t bytes, struct tutti_board *board)
{
    int theirs[TUTTI_MAX_RANKS], fine = 1;
    uint32_t all;
    *board = (struct tutti_board){.bytes = bytes};
    const int own = board_make(bytes);
    int status = tutti_team_pass(team, own, theirs);
    for (int r = 0; r < team->size && status == TUTTI_OK; r++) {
        const int fd = r == team->rank ? own : theirs[r];
        board->of[r] = board_map(fd, bytes);
        fine &= board->of[r] != NULL;
        if (r != team->rank && fd >= 0)
            close(fd);
    }
    if (own >= 0)
        close(own);
    if (status != TUTTI_OK)
        (void)tutti_team_break(team, status);
    else
        status = tutti_team_vote(team, (uint32_t)fine, &all);
    if (status == TUTTI_OK && !all)
        status = TUTTI_ERR_UNAVAILABLE;
    if (status != TUTTI_OK)
        tutti_board_close(board);
    return status;
}

void tutti_board_close(struct tutti_board *board)
{
    for (int r = 0; r < TUTTI_MAX_RANKS; r++) {
        if (board->of[r])
            munmap(board->of[r], board->bytes);
    }
    memset(board, 0, sizeof *board);
}

struct board_goal {
    const _Atomic uint32_t *word;
    uint32_t value;
};

static int board_is_reached(void *with)
{
    const struct board_goal *goal = with;
    return tutti_reached(atomic_load_explicit(goal->word, memory_order_acquire), goal->value);
}

int tutti_board_await(struct tutti_team *team, int r, const _Atomic uint32_t *word, uint32_t value)
{
    struct board_goal goal = {word, value};
    if (board_is_reached(&goal))
        return TUTTI_OK;
    struct tutti_waiting w = tutti_waiting(team, TUTTI_WAITING_BOARD, UINT64_C(1) << r);
    const int status = tutti_await_near(&w, board_is_reached, &goal);
    if (status == TUTTI_OK || board_is_reached(&goal)) /* a rank may leave behind its last word */
        return TUTTI_OK;
    return tutti_team_break(team, status);
}

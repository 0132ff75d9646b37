/* Ranges of the host device: a region of the arena that gets longer, and what its pieces are: a memfd each, of this
 * process or of a peer. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/status.h"
#include "device/host/gpus.h"
#include "device/host/host.h"

enum { GRAIN = 2 << 20 }; /* that of a GPU */

struct piece {
    struct piece *next;
    char *at;
    size_t bytes;
    uint64_t id;
    int fd; /* -1: imported */
};
static struct piece *pieces;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

size_t tutti_host_range_grain(int gpu)
{
    (void)gpu;
    return GRAIN;
}

int tutti_host_range_open(int gpu, size_t bytes, void **base)
{
    char *at;
    tutti_host_work_on(&gpu, "addresses");
    const int status = bytes % GRAIN ? TUTTI_ERR_ARGUMENT : tutti_host_region_reserve(gpu, bytes, GRAIN, &at);
    if (status == TUTTI_OK)
        *base = at;
    return status;
}

/* The piece that holds the address, or NULL. Under the lock. */
static struct piece **range_place_of(const char *at)
{
    struct piece **place = &pieces;
    while (*place && (size_t)(at - (*place)->at) >= (*place)->bytes)
        place = &(*place)->next;
    return place;
}

static void range_drop(struct piece **place)
{
    struct piece *gone = *place;
    *place = gone->next;
    if (gone->fd >= 0)
        close(gone->fd);
    free(gone);
}

static int host_range_put(char *at, size_t bytes, int fd, int own)
{
    struct piece *piece = calloc(1, sizeof *piece);
    if (!piece)
        return TUTTI_ERR_MEMORY;
    *piece = (struct piece){.at = at, .bytes = bytes, .fd = own ? fd : -1};
    const int status = tutti_host_region_extend(at, bytes, fd, &piece->id);
    if (status != TUTTI_OK) {
        free(piece);
        return status;
    }
    pthread_mutex_lock(&lock);
    piece->next = pieces;
    pieces = piece;
    pthread_mutex_unlock(&lock);
    return TUTTI_OK;
}

int tutti_host_range_add(int gpu, void *at, size_t bytes)
{
    int fd;
    tutti_host_work_on(&gpu, "memory");
    if (tutti_host_forked() || bytes == 0 || bytes % GRAIN)
        return tutti_host_forked() ? TUTTI_ERR_UNAVAILABLE : TUTTI_ERR_ARGUMENT;
    int status = tutti_host_memory(bytes, 0, &fd);
    if (status != TUTTI_OK)
        return status;
    status = host_range_put(at, bytes, fd, 1);
    if (status == TUTTI_OK)
        tutti_host_poison(at, bytes);
    else
        close(fd);
    return status;
}

int tutti_host_range_import(int gpu, const struct tutti_export *what, int fd, void *at)
{
    tutti_host_work_on(&gpu, "a peer's memory");
    const int status = what->bytes % GRAIN ? TUTTI_ERR_ARGUMENT : tutti_host_check_import(what, fd);
    return status == TUTTI_OK ? host_range_put(at, what->bytes, fd, 0) : status;
}

int tutti_host_range_cut(int gpu, void *at)
{
    int status = TUTTI_ERR_ARGUMENT;
    (void)gpu;
    pthread_mutex_lock(&lock);
    struct piece **place = range_place_of(at);
    if (*place && (*place)->at == (char *)at)
        status = tutti_host_region_cut(at, (*place)->bytes);
    if (status == TUTTI_OK)
        range_drop(place);
    pthread_mutex_unlock(&lock);
    return status;
}

int tutti_host_range_close(int gpu, void *base)
{
    struct tutti_host_region region;
    (void)gpu;
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    pthread_mutex_lock(&lock);
    if (tutti_host_region_find(base, &region)) {
        for (struct piece **place = &pieces; *place;) {
            if ((size_t)((*place)->at - region.base) < region.bytes)
                range_drop(place);
            else
                place = &(*place)->next;
        }
    }
    pthread_mutex_unlock(&lock);
    return tutti_host_region_unmap(base, TUTTI_HOST_RANGE);
}

int tutti_host_range_find(const void *pointer, struct tutti_host_region *out)
{
    pthread_mutex_lock(&lock);
    const struct piece *piece = *range_place_of(pointer);
    if (piece)
        *out = (struct tutti_host_region){piece->id,      piece->at, piece->bytes, 0, piece->fd,
                                          piece->fd >= 0, 0,         out->gpu,     0};
    pthread_mutex_unlock(&lock);
    return piece != NULL;
}

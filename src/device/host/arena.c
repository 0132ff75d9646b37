#include "device/host/arena.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/log.h"
#include "core/once.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/host/gpus.h"

enum {
    PAGE = 4096,
    ALIGNMENT = 1 << 16,
    SMALLEST_ARENA = 64 << 20,
    KEPT = 128, /* regions, and bytes of one and of all that are kept */
    LARGEST_KEPT = 4 << 20,
    KEPT_BYTES = 16 << 20,
    LARGEST_CLEARED = 64 << 10 /* longer ones hold what they held: to clear them takes as long as a new one */
};

static char *_Atomic first, *_Atomic second; /* the two ranges; set once, before arena_bytes */
static atomic_size_t arena_bytes;
static atomic_int regions, forked; /* how many there are: 0 in a child after fork; 1 there */
static uint64_t last_id;
static struct tutti_host_region *table; /* sorted by base */
static size_t used, room, packed;       /* packed: so many regions at the start have no gap */
static char *kept[KEPT];                /* idle regions, the last one freed at the end */
static int kept_n;
static size_t kept_bytes;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct tutti_once arena_once = TUTTI_ONCE_INIT;

/* A forked child shares the memory but has no worker threads, so it may not use the device, as with a GPU. The lock may
 * have been held at the fork: the child never takes it. */
static void arena_forget(void)
{
    atomic_store(&forked, 1);
    atomic_store(&regions, 0);
}

int tutti_host_forked(void)
{
    return atomic_load_explicit(&forked, memory_order_relaxed);
}

static void *arena_reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

static void arena_open_once(void)
{
    for (size_t bytes = (size_t)tutti_settings()->host_arena_gb << 30; bytes >= SMALLEST_ARENA; bytes /= 2) {
        char *a = arena_reserve(bytes), *b = a ? arena_reserve(bytes) : NULL;
        if (b) {
            atomic_store(&first, a);
            atomic_store(&second, b);
            atomic_store(&arena_bytes, bytes);
            pthread_atfork(NULL, NULL, arena_forget);
            return;
        }
        if (a)
            munmap(a, bytes);
    }
    tutti_error("host device: no address space for its memory");
}

int tutti_host_arena_open(void)
{
    if (tutti_host_forked())
        return TUTTI_ERR_UNAVAILABLE;
    tutti_once(&arena_once, arena_open_once);
    return first ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

static void arena_count_one(void)
{
    atomic_fetch_add(&regions, 1);
    tutti_host_wake();
}

int tutti_host_arena_active(void)
{
    return atomic_load_explicit(&regions, memory_order_relaxed) != 0;
}

/* 1 if the address lies in the first range, in a region or not. Two compares. */
static int arena_holds(const void *pointer)
{
    size_t bytes = atomic_load_explicit(&arena_bytes, memory_order_acquire);
    return (uintptr_t)pointer - (uintptr_t)atomic_load_explicit(&first, memory_order_relaxed) < bytes;
}

/* Index of the first region that begins after `at`. */
static size_t region_after(const char *at)
{
    size_t low = 0, high = used;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table[middle].base <= at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int map_at(char *at, size_t bytes, int fd)
{
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
}

static void unmap_at(char *at, size_t bytes)
{
    if (mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        tutti_error("host device: memory could not be unmapped");
}

static int arena_grow(void)
{
    if (used < room)
        return 1;
    size_t wanted = room ? 2 * room : 64;
    struct tutti_host_region *larger = realloc(table, wanted * sizeof *table);
    if (!larger)
        return 0;
    table = larger;
    room = wanted;
    return 1;
}

/* ---- regions that are kept ---- */

/* An allocation costs some ten system calls; one that is kept two. Peers that have mapped it would see the next one. */
static int may_keep(const struct tutti_host_region *region)
{
    const size_t mapped = region->span - PAGE;
    return region->own == 1 && !region->shared && mapped <= LARGEST_KEPT && kept_n < KEPT &&
           kept_bytes + mapped <= KEPT_BYTES && !tutti_settings()->host_strict;
}

static int set_access(const struct tutti_host_region *region, int access)
{
    const size_t mapped = region->span - PAGE;
    return mprotect(region->base, mapped, access) == 0 &&
           mprotect(second + (region->base - first), mapped, access) == 0;
}

/* Under the lock, as the others. 0 if it cannot be kept. */
static int arena_keep(struct tutti_host_region *region)
{
    if (!may_keep(region) || !set_access(region, PROT_NONE))
        return 0;
    region->own = TUTTI_HOST_IDLE;
    region->bytes = 0;
    kept[kept_n++] = region->base;
    kept_bytes += region->span - PAGE;
    atomic_fetch_sub(&regions, 1);
    return 1;
}

static void arena_take_out(struct tutti_host_region *region)
{
    const size_t mapped = region->span - PAGE;
    unmap_at(region->base, mapped);
    unmap_at(second + (region->base - first), mapped);
    memmove(region, region + 1, (used - (size_t)(region - table) - 1) * sizeof *table);
    used--;
    if (packed > (size_t)(region - table))
        packed = (size_t)(region - table);
}

static int trim_locked(void)
{
    const int any = kept_n > 0;
    while (kept_n > 0) {
        struct tutti_host_region *region = &table[region_after(kept[--kept_n]) - 1];
        kept_bytes -= region->span - PAGE;
        close(region->fd);
        arena_take_out(region);
    }
    return any;
}

int tutti_host_arena_trim(void)
{
    pthread_rwlock_wrlock(&lock);
    const int any = trim_locked();
    pthread_rwlock_unlock(&lock);
    return any;
}

int tutti_host_region_again(size_t bytes, struct tutti_host_region *out)
{
    const size_t span = (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
    int found = 0;
    if (span - PAGE > LARGEST_KEPT || tutti_settings()->host_strict)
        return 0;
    pthread_rwlock_wrlock(&lock);
    for (int i = kept_n - 1; i >= 0 && !found; i--) {
        struct tutti_host_region *region = &table[region_after(kept[i]) - 1];
        if (region->span != span || !set_access(region, PROT_READ | PROT_WRITE))
            continue;
        memmove(&kept[i], &kept[i + 1], (size_t)(kept_n - i - 1) * sizeof *kept);
        kept_n--;
        kept_bytes -= span - PAGE;
        if (span - PAGE <= LARGEST_CLEARED)
            memset(region->base, 0, span - PAGE);
        region->id = ++last_id;
        region->bytes = bytes;
        region->own = 1;
        region->gpu = out->gpu;
        region->program = out->program;
        arena_count_one();
        *out = *region;
        found = 1;
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

int tutti_host_region_share(const struct tutti_host_region *region)
{
    pthread_rwlock_wrlock(&lock);
    const size_t index = region_after(region->base);
    const int there = index > 0 && table[index - 1].id == region->id && table[index - 1].own == region->own;
    if (there)
        table[index - 1].shared = 1;
    pthread_rwlock_unlock(&lock);
    return there;
}

/* ---- regions ---- */

/* The least address of a region that follows the first `n` ones. */
static char *arena_end_of(size_t n)
{
    const size_t taken = n > 0 ? (size_t)(table[n - 1].base - first) + table[n - 1].span : 0;
    return first + (taken + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* First gap that is large enough: addresses come back soon, as a GPU's do. The index for the new region. */
static size_t find_gap(size_t span, char **base)
{
    for (size_t i = packed; i <= used; i++) {
        char *const at = arena_end_of(i), *const end = i < used ? table[i].base : first + arena_bytes;
        if (at <= end && (size_t)(end - at) >= span) {
            *base = at;
            return i;
        }
    }
    *base = NULL;
    return trim_locked() ? find_gap(span, base) : 0;
}

static void arena_put_in(size_t index, struct tutti_host_region region)
{
    memmove(&table[index + 1], &table[index], (used - index) * sizeof *table);
    table[index] = region;
    used++;
    arena_count_one();
    while (packed < used && table[packed].base == arena_end_of(packed))
        packed++;
}

static int map_locked(int fd, size_t bytes, int own, struct tutti_host_region *out)
{
    size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE, span = mapped + PAGE;
    char *base;
    const size_t index = find_gap(span, &base);
    if (!base || !arena_grow())
        return TUTTI_ERR_MEMORY;
    char *alias = second + (base - first);
    if (!map_at(alias, mapped, fd))
        return TUTTI_ERR_MEMORY;
    if (!tutti_settings()->host_strict && !map_at(base, mapped, fd)) {
        unmap_at(alias, mapped);
        return TUTTI_ERR_MEMORY;
    }
    arena_put_in(
        index, (struct tutti_host_region){++last_id, base, bytes, span, own ? fd : -1, own, 0, out->gpu, out->program});
    *out = table[index];
    return TUTTI_OK;
}

int tutti_host_arena_has(size_t bytes)
{
    char *base;
    pthread_rwlock_wrlock(&lock);
    find_gap((bytes + PAGE - 1) / PAGE * PAGE + PAGE, &base);
    pthread_rwlock_unlock(&lock);
    return base != NULL;
}

size_t tutti_host_arena_most(void)
{
    return arena_bytes - 2 * PAGE;
}

int tutti_host_region_map(int fd, size_t bytes, int own, struct tutti_host_region *out)
{
    int status = tutti_host_arena_open();
    if (status != TUTTI_OK || bytes > tutti_host_arena_most())
        return status != TUTTI_OK ? status : TUTTI_ERR_MEMORY;
    pthread_rwlock_wrlock(&lock);
    status = map_locked(fd, bytes, own, out);
    pthread_rwlock_unlock(&lock);
    return status;
}

int tutti_host_region_unmap(const void *base, int own)
{
    int fd = -1, status = TUTTI_ERR_ARGUMENT;
    if (!tutti_host_arena_active())
        return status;
    pthread_rwlock_wrlock(&lock);
    size_t index = region_after(base);
    if (index > 0 && table[index - 1].base == (const char *)base && table[index - 1].own == own) {
        struct tutti_host_region *region = &table[index - 1];
        if (!arena_keep(region)) {
            fd = region->fd;
            arena_take_out(region);
            atomic_fetch_sub(&regions, 1);
        }
        status = TUTTI_OK;
    }
    pthread_rwlock_unlock(&lock);
    if (fd >= 0)
        close(fd);
    return status;
}

int tutti_host_region_reserve(int gpu, size_t bytes, size_t align, char **base)
{
    int status = tutti_host_arena_open();
    const size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE, span = mapped + PAGE;
    char *at;
    if (status != TUTTI_OK || bytes > tutti_host_arena_most() - align)
        return status != TUTTI_OK ? status : TUTTI_ERR_MEMORY;
    pthread_rwlock_wrlock(&lock);
    const size_t index = find_gap(span + align, &at);
    status = at && arena_grow() ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK) {
        at += -(uintptr_t)at & (align - 1);
        arena_put_in(index, (struct tutti_host_region){++last_id, at, 0, span, -1, TUTTI_HOST_RANGE, 0, gpu, 0});
        *base = at;
    }
    pthread_rwlock_unlock(&lock);
    return status;
}

/* The range in whose addresses `at` lies, or NULL. Under the lock. */
static struct tutti_host_region *arena_range_of(const char *at)
{
    const size_t index = region_after(at);
    struct tutti_host_region *region = index > 0 ? &table[index - 1] : NULL;
    return region && region->own == TUTTI_HOST_RANGE && (size_t)(at - region->base) < region->span - PAGE ? region
                                                                                                          : NULL;
}

int tutti_host_region_extend(char *at, size_t bytes, int fd, uint64_t *id)
{
    char *const alias = second + (at - first);
    int status = TUTTI_ERR_ARGUMENT;
    pthread_rwlock_wrlock(&lock);
    struct tutti_host_region *region = arena_range_of(at);
    if (region && at == region->base + region->bytes && bytes <= region->span - PAGE - region->bytes) {
        status = map_at(alias, bytes, fd) ? TUTTI_OK : TUTTI_ERR_MEMORY;
        if (status == TUTTI_OK && !tutti_settings()->host_strict && !map_at(at, bytes, fd)) {
            unmap_at(alias, bytes);
            status = TUTTI_ERR_MEMORY;
        }
        if (status == TUTTI_OK) {
            region->bytes += bytes;
            *id = ++last_id;
        }
    }
    pthread_rwlock_unlock(&lock);
    return status;
}

int tutti_host_region_cut(char *at, size_t bytes)
{
    int status = TUTTI_ERR_ARGUMENT;
    pthread_rwlock_wrlock(&lock);
    struct tutti_host_region *region = arena_range_of(at);
    if (region && at + bytes == region->base + region->bytes) {
        unmap_at(at, bytes);
        unmap_at(second + (at - first), bytes);
        region->bytes -= bytes;
        status = TUTTI_OK;
    }
    pthread_rwlock_unlock(&lock);
    return status;
}

int tutti_host_region_find(const void *pointer, struct tutti_host_region *out)
{
    int found = 0;
    if (!tutti_host_arena_active() || !arena_holds(pointer))
        return 0;
    pthread_rwlock_rdlock(&lock);
    size_t index = region_after(pointer);
    if (index > 0 && (size_t)((const char *)pointer - table[index - 1].base) < table[index - 1].bytes) {
        *out = table[index - 1];
        found = 1;
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

int tutti_host_region_of(int gpu, struct tutti_host_region *out)
{
    int found = 0;
    pthread_rwlock_rdlock(&lock);
    for (size_t i = 0; i < used && !found; i++) {
        found = table[i].gpu == gpu && table[i].own != TUTTI_HOST_IDLE;
        *out = table[i];
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

void *tutti_host_reach(const void *pointer, size_t bytes)
{
    struct tutti_host_region region;
    if (!arena_holds(pointer))
        return (void *)(uintptr_t)pointer;
    if (!tutti_host_region_find(pointer, &region))
        return NULL;
    size_t offset = (size_t)((const char *)pointer - region.base);
    return bytes <= region.bytes - offset ? second + ((const char *)pointer - first) : NULL;
}

void *tutti_host_reach_over(const void *pointer, size_t bytes)
{
    struct tutti_host_region region;
    void *at = tutti_host_reach(pointer, bytes);
    if (at || !bytes || !tutti_host_region_find(pointer, &region))
        return at;
    const char *last = (const char *)pointer + bytes - 1;
    return tutti_host_region_find(last, &region) ? second + ((const char *)pointer - first) : NULL;
}

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
#include "device/host/kept.h"
#include "device/host/pool.h"

enum {
    PAGE = 4096,
    ALIGNMENT = 1 << 16,
    SMALLEST_ARENA = 64 << 20,
    POOL_FROM = 1024, /* so many regions have memory of their own; behind them small ones are pooled */
    LARGEST_POOLED = 64 << 10
};

static char *_Atomic first, *_Atomic second; /* the two ranges; set once, before arena_bytes */
static atomic_size_t arena_bytes;
static atomic_int regions, forked; /* how many there are: 0 in a child after fork; 1 there */
static uint64_t last_id;
static struct tutti_host_region *table; /* sorted by base */
static size_t used, room, packed;       /* packed: so many regions at the start have no gap */
static size_t pool_next;                /* no gap for a pooled region before this one, as far as is known */
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

char *tutti_host_arena_alias(const void *pointer)
{
    return arena_holds(pointer) ? second + ((const char *)pointer - first) : NULL;
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

static int map_at(char *at, size_t bytes, int fd, size_t offset)
{
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset) != MAP_FAILED;
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

static void arena_take_out(struct tutti_host_region *region)
{
    const size_t mapped = region->span - (tutti_host_pool_is(region->fd) ? 0 : PAGE);
    unmap_at(region->base, mapped);
    unmap_at(second + (region->base - first), mapped);
    memmove(region, region + 1, (used - (size_t)(region - table) - 1) * sizeof *table);
    used--;
    if (packed > (size_t)(region - table))
        packed = (size_t)(region - table);
}

static int trim_locked(void)
{
    int any = 0;
    for (char *base; (base = tutti_host_kept_drop()) != NULL; any = 1) {
        struct tutti_host_region *region = &table[region_after(base) - 1];
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
    const size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
    pthread_rwlock_wrlock(&lock);
    char *base = tutti_host_kept_take(mapped);
    if (base) {
        struct tutti_host_region *region = &table[region_after(base) - 1];
        region->id = ++last_id;
        region->bytes = bytes;
        region->own = 1;
        region->gpu = out->gpu;
        region->program = out->program;
        arena_count_one();
        *out = *region;
    }
    pthread_rwlock_unlock(&lock);
    return base != NULL;
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
static char *arena_end_of(size_t n, size_t align)
{
    const size_t taken = n > 0 ? (size_t)(table[n - 1].base - first) + table[n - 1].span : 0;
    return first + (taken + align - 1) / align * align;
}

/* First gap behind the first `from` regions that is large enough. The index for the new region. */
static size_t find_gap_from(size_t from, size_t span, size_t align, char **base)
{
    for (size_t i = from; i <= used; i++) {
        char *const at = arena_end_of(i, align), *const end = i < used ? table[i].base : first + arena_bytes;
        if (at <= end && (size_t)(end - at) >= span) {
            *base = at;
            return i;
        }
    }
    *base = NULL;
    return 0;
}

/* Addresses come back soon, as a GPU's do. */
static size_t find_gap(size_t span, char **base)
{
    size_t index = find_gap_from(packed, span, ALIGNMENT, base);
    if (!*base && trim_locked())
        index = find_gap_from(packed, span, ALIGNMENT, base);
    return index;
}

static void arena_put_in(size_t index, struct tutti_host_region region)
{
    memmove(&table[index + 1], &table[index], (used - index) * sizeof *table);
    table[index] = region;
    used++;
    arena_count_one();
    while (packed < used && table[packed].base == arena_end_of(packed, ALIGNMENT))
        packed++;
}

/* Maps the file from `offset` on at `base`, and puts the region at `index` of the table. */
static int map_locked(size_t index, char *base, int fd, size_t offset, struct tutti_host_region *out)
{
    const size_t mapped = (out->bytes + PAGE - 1) / PAGE * PAGE;
    if (!base || !arena_grow())
        return TUTTI_ERR_MEMORY;
    char *alias = second + (base - first);
    if (!map_at(alias, mapped, fd, offset))
        return TUTTI_ERR_MEMORY;
    if (!tutti_settings()->host_strict && !map_at(base, mapped, fd, offset)) {
        unmap_at(alias, mapped);
        return TUTTI_ERR_MEMORY;
    }
    out->id = ++last_id;
    out->base = base;
    out->fd = out->own ? fd : -1;
    arena_put_in(index, *out);
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

int tutti_host_region_map(int fd, size_t offset, size_t bytes, int own, struct tutti_host_region *out)
{
    int status = tutti_host_arena_open();
    char *base;
    if (status != TUTTI_OK || bytes > tutti_host_arena_most())
        return status != TUTTI_OK ? status : TUTTI_ERR_MEMORY;
    out->bytes = bytes;
    out->span = (bytes + PAGE - 1) / PAGE * PAGE + PAGE;
    out->own = own;
    pthread_rwlock_wrlock(&lock);
    const size_t index = find_gap(out->span, &base);
    status = map_locked(index, base, fd, offset, out);
    pthread_rwlock_unlock(&lock);
    return status;
}

int tutti_host_region_pooled(size_t bytes, struct tutti_host_region *out)
{
    const size_t mapped = (bytes + PAGE - 1) / PAGE * PAGE;
    int done = 0;
    char *base;
    if (mapped > LARGEST_POOLED || tutti_settings()->host_strict)
        return 0;
    pthread_rwlock_wrlock(&lock);
    if (used >= POOL_FROM) {
        const size_t index = find_gap_from(pool_next < used ? pool_next : used, mapped, PAGE, &base);
        const int fd = base ? tutti_host_pool_take(arena_bytes, (size_t)(base - first), mapped) : -1;
        *out = (struct tutti_host_region){
            .bytes = bytes, .span = mapped, .own = 1, .gpu = out->gpu, .program = out->program};
        done = fd >= 0 && map_locked(index, base, fd, (size_t)(base - first), out) == TUTTI_OK;
        if (fd >= 0 && !done)
            tutti_host_pool_give((size_t)(base - first), mapped);
        if (done)
            pool_next = index + 1;
    }
    pthread_rwlock_unlock(&lock);
    return done;
}

size_t tutti_host_region_offset(const struct tutti_host_region *region)
{
    return tutti_host_pool_is(region->fd) ? (size_t)(region->base - first) : 0;
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
        if (tutti_host_pool_is(region->fd)) {
            tutti_host_pool_give((size_t)(region->base - first), region->span);
            pool_next = index - 1 < pool_next ? index - 1 : pool_next;
            arena_take_out(region);
        } else if (tutti_host_kept_put(region->base, region->span - PAGE, region->own == 1 && !region->shared)) {
            region->own = TUTTI_HOST_IDLE;
            region->bytes = 0;
        } else {
            fd = region->fd;
            arena_take_out(region);
        }
        atomic_fetch_sub(&regions, 1);
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
        status = map_at(alias, bytes, fd, 0) ? TUTTI_OK : TUTTI_ERR_MEMORY;
        if (status == TUTTI_OK && !tutti_settings()->host_strict && !map_at(at, bytes, fd, 0)) {
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

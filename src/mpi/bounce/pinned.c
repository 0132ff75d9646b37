#include "mpi/bounce/pinned.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "core/settings.h"
#include "mpi/real/door.h"

enum { KEPT = 16, LEAST = 4096, PAGE = 4096 };
static const size_t BEHIND = (size_t)1 << 30; /* bytes that a message may be too long by */

/* ---- mappings with address space behind them ---- */

/* What the first page behind begins with: to ask the system would cost each message a call. */
static const char untouched[32] = "nothing has been written here";

/* The page before the memory. */
struct head {
    char *behind;  /* first page that nothing is written to but by an overrun; NULL: none could be reserved */
    size_t mapped; /* bytes, with this page */
};

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static struct head *head_of(void *memory)
{
    return (struct head *)(void *)((char *)memory - PAGE);
}

static void *map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

void *tutti_overrun_map(size_t bytes)
{
    size_t own = PAGE + whole_pages(bytes), behind = tutti_quirks.overruns ? BEHIND : 0;
    char *at = map(own + behind);
    if (!at && behind) { /* address space may be limited */
        behind = 0;
        at = map(own);
    }
    if (!at)
        return NULL;
    *(struct head *)(void *)at = (struct head){.behind = behind ? at + own : NULL, .mapped = own + behind};
    if (behind) {
        madvise(at + own, behind, MADV_NOHUGEPAGE); /* else the last bytes of the memory bring megabytes of it */
        madvise(at + own, behind, MADV_DONTDUMP);
        memcpy(at + own, untouched, sizeof untouched);
    }
    return at + PAGE;
}

void tutti_overrun_unmap(void *memory)
{
    if (memory)
        munmap(head_of(memory), head_of(memory)->mapped);
}

/* Gives back what an overrun has touched. */
static void trim(void *memory)
{
    char *behind = head_of(memory)->behind;
    if (likely(!behind || memcmp(behind, untouched, sizeof untouched) == 0))
        return;
    madvise(behind, BEHIND, MADV_DONTNEED);
    memcpy(behind, untouched, sizeof untouched);
}

/* ---- pinned memory ---- */

static void *pin(size_t bytes)
{
    const struct tutti_device *device = tutti_door.device;
    void *memory = NULL, *seen = NULL;
    if (!tutti_quirks.overruns)
        return device->alloc_pinned(bytes, &memory) == TUTTI_OK ? memory : NULL;
    memory = tutti_overrun_map(bytes);
    if (memory && device->map_host(-1, memory, bytes, &seen) != TUTTI_OK) {
        tutti_overrun_unmap(memory);
        memory = NULL;
    }
    return memory;
}

static void unpin(void *memory)
{
    if (!tutti_quirks.overruns) {
        tutti_door.device->free_pinned(memory);
        return;
    }
    tutti_door.device->unmap_host(-1, memory);
    tutti_overrun_unmap(memory);
}

/* ---- pool ---- */

static struct {
    void *memory;
    size_t room;
} kept[KEPT];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t most_kept(void)
{
    return (size_t)tutti_settings()->staging_mb << 20;
}

void *tutti_pinned_take(size_t bytes, size_t *room)
{
    size_t want = LEAST;
    while (want < bytes && want < most_kept())
        want *= 2;
    if (want < bytes)
        want = whole_pages(bytes);
    void *memory = NULL;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KEPT && !memory; i++) {
        if (kept[i].memory && kept[i].room == want) {
            memory = kept[i].memory;
            kept[i].memory = NULL;
        }
    }
    pthread_mutex_unlock(&lock);
    *room = want;
    return memory || !tutti_door.device->alloc_pinned ? memory : pin(want);
}

void tutti_pinned_give(void *memory, size_t room)
{
    if (!memory)
        return;
    if (tutti_quirks.overruns)
        trim(memory);
    if (room <= most_kept()) {
        pthread_mutex_lock(&lock);
        for (int i = 0; i < KEPT && memory; i++) {
            if (!kept[i].memory) {
                kept[i].memory = memory;
                kept[i].room = room;
                memory = NULL;
            }
        }
        pthread_mutex_unlock(&lock);
    }
    if (memory)
        unpin(memory);
}

void tutti_pinned_close(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KEPT; i++) {
        if (kept[i].memory)
            unpin(kept[i].memory);
        kept[i].memory = NULL;
    }
    pthread_mutex_unlock(&lock);
}

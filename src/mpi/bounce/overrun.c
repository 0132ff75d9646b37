#include "mpi/bounce/overrun.h"

#include <string.h>
#include <sys/mman.h>

#include "mpi/real/door.h"
#include "mpi/real/quirks.h"

enum { PAGE = 4096 };
static const size_t BEHIND = (size_t)1 << 30; /* bytes that a message may be too long by */

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

/* ---- pinned ---- */

static int alloc_pinned(int gpu, size_t bytes, void **out)
{
    void *memory = tutti_overrun_map(bytes), *seen = NULL;
    const int status = memory ? tutti_door.device->memory.map_host(gpu, memory, bytes, &seen) : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        *out = memory;
    else
        tutti_overrun_unmap(memory);
    return status;
}

static void free_pinned(void *memory)
{
    tutti_door.device->memory.unmap_host(-1, memory);
    tutti_overrun_unmap(memory);
}

static int alloc_ordinary(int gpu, size_t bytes, void **out)
{
    (void)gpu;
    *out = tutti_overrun_map(bytes);
    return *out ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

const struct tutti_bounce_kind *tutti_ordinary_kind(void)
{
    static const struct tutti_bounce_kind ordinary = {
        .name = "ordinary", .alloc = alloc_ordinary, .free = tutti_overrun_unmap, .clean = trim};
    return &ordinary;
}

const struct tutti_bounce_kind *tutti_image_kind(void)
{
    return tutti_quirks.offloads ? tutti_ordinary_kind() : tutti_overrun_kind();
}

const struct tutti_bounce_kind *tutti_overrun_kind(void)
{
    static const struct tutti_bounce_kind kind = {
        .name = "pinned, may be overrun", .alloc = alloc_pinned, .free = free_pinned, .clean = trim};
    return tutti_quirks.overruns ? &kind : &tutti_bounce_pinned;
}

#include "mpi/bounce/overrun.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "mpi/real/door.h"
#include "mpi/real/quirks.h"

enum { PAGE = 4096, HUGE = 2 << 20 /* bytes of a huge page */ };
static const size_t BEHIND = (size_t)1 << 30; /* bytes that a message may be too long by */

/* What the first page behind begins with: to ask the system would cost each message a call. */
static const char untouched[32] = "nothing has been written here";

/* The page before the memory. */
struct head {
    char *behind;  /* first page that nothing is written to but by an overrun; NULL: none could be reserved */
    size_t mapped; /* bytes, with this page */
    size_t room;   /* bytes of the memory */
    struct head *next;
};

static size_t overrun_whole_pages(size_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

static struct head *overrun_head(void *memory)
{
    return (struct head *)(void *)((char *)memory - PAGE);
}

static void *pages_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Zeroed host memory in whole pages of its own, not pinned, untouched; NULL without memory. */
static void *overrun_map(size_t bytes)
{
    size_t own = PAGE + overrun_whole_pages(bytes), behind = tutti_quirks.overruns ? BEHIND : 0;
    char *at = pages_map(own + behind);
    if (!at && behind) { /* address space may be limited */
        behind = 0;
        at = pages_map(own);
    }
    if (!at)
        return NULL;
    if (behind) {
        /* Small memory too: then the system keeps neighbours as one mapping, of which a process has some ten thousand.
         */
        char *from = own < HUGE ? at : at + own;
        const size_t rest = own + behind - (size_t)(from - at);
        madvise(from, rest, MADV_NOHUGEPAGE); /* else the last bytes of the memory bring megabytes behind it */
        madvise(from, rest, MADV_DONTDUMP);
        memcpy(at + own, untouched, sizeof untouched);
    }
    *(struct head *)(void *)at =
        (struct head){.behind = behind ? at + own : NULL, .mapped = own + behind, .room = own - PAGE};
    return at + PAGE;
}

/* memory: from overrun_map(), or NULL. */
static void overrun_unmap(void *memory)
{
    if (memory)
        munmap(overrun_head(memory), overrun_head(memory)->mapped);
}

/* Frees the pages that an overrun has touched. */
static void pages_trim(void *memory)
{
    char *behind = overrun_head(memory)->behind;
    if (likely(!behind || memcmp(behind, untouched, sizeof untouched) == 0))
        return;
    madvise(behind, BEHIND, MADV_DONTNEED);
    memcpy(behind, untouched, sizeof untouched);
}

/* ---- kept ---- */

/* What was lent and of which only the first page has been touched. Address space is all that it costs; to map and unmap
 * it for each message would cost several microseconds. */
enum { KEPT = 64 };
static const size_t KEPT_BYTES = (size_t)4 << 30;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
static struct head *kept;
static int kept_count;
static size_t kept_bytes;

/* Takes *at out of the list. The lock is held. */
static struct head *kept_unlink(struct head **at)
{
    struct head *const head = *at;
    *at = head->next;
    kept_count--;
    kept_bytes -= head->room;
    return head;
}

/* The smallest one that is long enough. */
static struct head *kept_take(size_t bytes)
{
    const size_t fits = overrun_whole_pages(bytes);
    struct head **best = NULL;
    pthread_mutex_lock(&kept_lock);
    for (struct head **at = &kept; *at && !(best && (*best)->room == fits); at = &(*at)->next) {
        if ((*at)->room >= fits && (!best || (*at)->room < (*best)->room))
            best = at;
    }
    struct head *const found = best ? kept_unlink(best) : NULL;
    pthread_mutex_unlock(&kept_lock);
    return found;
}

/* The one that was given first; NULL: it may stay beside so many bytes more. The lock is held. */
static struct head *kept_in_the_way(size_t bytes)
{
    struct head **at = &kept;
    if (!kept || (kept_count < KEPT && bytes <= KEPT_BYTES - kept_bytes))
        return NULL;
    while ((*at)->next)
        at = &(*at)->next;
    return kept_unlink(at);
}

/* 1: it is kept, in place of those that were given first: a program may have gone on to longer messages. */
static int kept_give(struct head *head)
{
    struct head *old;
    if (head->room > KEPT_BYTES)
        return 0;
    pthread_mutex_lock(&kept_lock);
    while ((old = kept_in_the_way(head->room)) != NULL) {
        pthread_mutex_unlock(&kept_lock);
        munmap(old, old->mapped);
        pthread_mutex_lock(&kept_lock);
    }
    head->next = kept;
    kept = head;
    kept_count++;
    kept_bytes += head->room;
    pthread_mutex_unlock(&kept_lock);
    return 1;
}

void *tutti_overrun_lend(size_t bytes)
{
    struct head *const head = kept_take(bytes);
    if (head)
        return (char *)(void *)head + PAGE;
    char *memory = overrun_map(bytes);
    if (!memory) { /* address space is limited */
        tutti_overrun_close();
        memory = overrun_map(bytes);
    }
    if (memory) {
        madvise(overrun_head(memory), HUGE, MADV_NOHUGEPAGE); /* else the first page brings megabytes */
        memcpy(memory + PAGE, untouched, sizeof untouched);
    }
    return memory;
}

void tutti_overrun_return(void *memory)
{
    if (memory && (memcmp((char *)memory + PAGE, untouched, sizeof untouched) != 0 || !kept_give(overrun_head(memory))))
        overrun_unmap(memory);
}

void tutti_overrun_close(void)
{
    for (struct head *head; (head = kept_take(0)) != NULL;)
        overrun_unmap((char *)(void *)head + PAGE);
}

/* ---- pinned ---- */

static int overrun_alloc_pinned(int gpu, size_t bytes, void **out)
{
    void *memory = overrun_map(bytes), *seen = NULL;
    const int status = memory ? tutti_door.device->memory.map_host(gpu, memory, bytes, &seen) : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        *out = memory;
    else
        overrun_unmap(memory);
    return status;
}

static void overrun_free_pinned(void *memory)
{
    tutti_door.device->memory.unmap_host(-1, memory);
    overrun_unmap(memory);
}

static int alloc_ordinary(int gpu, size_t bytes, void **out)
{
    (void)gpu;
    *out = overrun_map(bytes);
    return *out ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

const struct tutti_bounce_kind *tutti_ordinary_kind(void)
{
    static const struct tutti_bounce_kind ordinary = {
        .name = "ordinary", .alloc = alloc_ordinary, .free = overrun_unmap, .clean = pages_trim};
    return &ordinary;
}

const struct tutti_bounce_kind *tutti_image_kind(void)
{
    return tutti_quirks.offloads ? tutti_ordinary_kind() : tutti_overrun_kind();
}

const struct tutti_bounce_kind *tutti_overrun_kind(void)
{
    static const struct tutti_bounce_kind kind = {.name = "pinned, may be overrun",
                                                  .waits = 1,
                                                  .alloc = overrun_alloc_pinned,
                                                  .free = overrun_free_pinned,
                                                  .clean = pages_trim,
                                                  .look = tutti_bounce_look};
    return tutti_quirks.overruns ? &kind : &tutti_bounce_pinned;
}

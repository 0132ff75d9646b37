/* tshmem_malloc and related calls. All PEs make the same calls, keep the same books, and compare the arguments
 * before anything changes. Each call is also a barrier: what any PE has put before is complete when an object is
 * freed. */
#include "shmem/here.h"
#include "shmem/meet.h"

#include <stdio.h>
#include <unistd.h>

#include "core/log.h"
#include "core/settings.h"
#include "shmem/far.h"

static const uint64_t nowhere = UINT64_MAX;
enum { SURPLUS = 64 << 20 }; /* the least growth of a heap, but at most its size at the start */

static void *address_of(struct tutti_shmem *space, uint64_t offset)
{
    return space->state.heap + space->first + offset;
}

/* Offset of the object in the books; nowhere: there is no object. */
static uint64_t alloc_offset_of(struct tutti_shmem *space, const void *address)
{
    const uint64_t at = (uint64_t)((uintptr_t)address - (uintptr_t)space->state.heap) - space->first;
    return address && space->state.pes > 0 && tutti_heap_size(&space->heap, at) > 0 ? at : nowhere;
}

/* 1 if all PEs have found the same place. */
static int is_same_room(struct tutti_shmem *space, struct tutti_shmem_call *call)
{
    for (int i = 0; i < call->team->size; i++) {
        if (tutti_shmem_contribution(space, call, i)->word[0] != call->word[0])
            return 0;
    }
    return 1;
}

/* ---- growing ---- */

/* One more meeting, for one word: *least becomes the least value of all PEs. */
static int heap_agree(struct tutti_shmem *space, struct tutti_shmem_call *call, uint64_t mine, uint64_t *least)
{
    call->word[0] = mine;
    const int status = tutti_shmem_again(space, call);
    *least = mine;
    for (int i = 0; i < call->team->size && status == TUTTI_OK; i++) {
        const uint64_t theirs = tutti_shmem_contribution(space, call, i)->word[0];
        *least = theirs < *least ? theirs : *least;
    }
    return status;
}

/* Grows all heaps by `bytes` bytes, or none; *grown says which. Returns the status of the meetings. */
static int grow_by(struct tutti_shmem *space, struct tutti_shmem_call *call, uint64_t bytes, uint64_t *grown,
                   char why[TUTTI_SHMEM_WHY])
{
    struct tutti_shmem_piece piece = {.at = tutti_shmem_mapped(space), .bytes = bytes, .why = "no memory"};
    int fd;
    const int in_books = tutti_heap_extend(&space->heap, bytes) == TUTTI_OK;
    int mine = tutti_shmem_piece_make(space, &piece, &fd) && in_books;
    int status = heap_agree(space, call, (uint64_t)mine, grown);
    if (status == TUTTI_OK && *grown) {
        mine = tutti_shmem_piece_map(space, &piece, fd);
        status = heap_agree(space, call, (uint64_t)mine, grown);
    }
    if (fd >= 0)
        close(fd);
    if (status == TUTTI_OK && *grown) {
        atomic_store_explicit(&space->mapped, piece.at + piece.bytes, memory_order_release);
        tutti_shmem_far_grow(space);
        return status;
    }
    snprintf(why, TUTTI_SHMEM_WHY, "%s", mine ? "" : piece.why);
    if (in_books)
        tutti_heap_shrink(&space->heap, bytes);
    tutti_shmem_piece_drop(space, &piece);
    return status;
}

/* The object fits on no PE. Grows the heaps by more than is missing, so that they have few pieces; if that fails, by
 * what is missing. *grown is the same on all PEs. */
static int heap_grow(struct tutti_shmem *space, struct tutti_shmem_call *call, size_t bytes, size_t align,
                     uint64_t *grown)
{
    const uint64_t unit = TUTTI_SHMEM_ALIGN_MOST, mapped = tutti_shmem_mapped(space);
    const uint64_t room = space->state.heap_bytes - mapped;
    const uint64_t missing = tutti_heap_missing(&space->heap, bytes, align);
    char why[TUTTI_SHMEM_WHY] = "";
    *grown = 0;
    if (missing == 0 || missing > room) /* 0: there was no memory for the books */
        return TUTTI_OK;
    const uint64_t least = (missing + unit - 1) / unit * unit, first = space->began;
    uint64_t more = first < SURPLUS ? first : SURPLUS;
    more = mapped / 8 > more ? mapped / 8 : more;
    more = (more + unit - 1) / unit * unit;
    more = more > room ? room : more;
    int status = more > least ? grow_by(space, call, more, grown, why) : TUTTI_OK;
    if (status == TUTTI_OK && !*grown)
        status = grow_by(space, call, least, grown, why);
    if (!*grown && why[0])
        tutti_error("%s: the heap cannot grow: %s", tutti_shmem_call_name(call), why);
    return status;
}

/* ---- objects ---- */

static int no_room(struct tutti_shmem *space, const struct tutti_shmem_call *call, size_t bytes)
{
    const uint64_t now = tutti_shmem_mapped(space), most = space->state.heap_bytes;
    const char *name = tutti_shmem_call_name(call);
    if (now == most)
        return tutti_shmem_answer(space, TUTTI_ERR_MEMORY, name,
                                  "the heap of %llu MiB has no room for %zu bytes (TUTTI_SHMEM_HEAP_MB, "
                                  "TUTTI_SHMEM_HEAP_MOST_MB)",
                                  (unsigned long long)((now - space->first) >> 20), bytes);
    return tutti_shmem_answer(space, TUTTI_ERR_MEMORY, name,
                              "the heap of %llu MiB, which grows to %llu at most (TUTTI_SHMEM_HEAP_MOST_MB) where all "
                              "PEs have memory, has no room for %zu bytes",
                              (unsigned long long)((now - space->first) >> 20),
                              (unsigned long long)((most - space->first) >> 20), bytes);
}

/* Takes a place after all PEs have compared sizes; grows the heaps if none exists. A failure on this PE (no memory
 * for the books) is published to all. */
static int heap_take(struct tutti_shmem *space, struct tutti_shmem_call *call, size_t bytes, size_t align,
                     uint64_t *out)
{
    uint64_t grown = 0;
    do {
        uint64_t offset;
        if (tutti_heap_take(&space->heap, bytes, align, &offset) != TUTTI_OK)
            offset = nowhere;
        call->word[0] = offset;
        int status = tutti_shmem_again(space, call);
        const int same = status == TUTTI_OK && is_same_room(space, call);
        if (same && offset != nowhere) {
            *out = offset;
            return TUTTI_OK;
        }
        if (offset != nowhere)
            tutti_heap_give(&space->heap, offset);
        if (status == TUTTI_OK && (!same || grown))
            break;
        if (status == TUTTI_OK)
            status = heap_grow(space, call, bytes, align, &grown);
        if (status != TUTTI_OK)
            return status;
    } while (grown);
    return no_room(space, call, bytes);
}

/* Allocates an object; CALLOC: of zeros. For 0 bytes there is no object, and the call waits for no PE. */
static void *heap_allocate(struct tutti_shmem *space, unsigned kind, size_t bytes, size_t align)
{
    uint64_t offset = 0;
    struct tutti_shmem_call call = {.kind = kind, .word = {bytes, align}};
    if (bytes == 0)
        return NULL;
    if (align == 0 || (align & (align - 1)) != 0 || (space->kind && align > space->kind->align_most))
        call.refused = tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, tutti_shmem_call_name(&call),
                                          "an alignment of %zu is no power of two up to %llu", align,
                                          (unsigned long long)(space->kind ? space->kind->align_most : 0));
    tutti_shmem_complete(space, 0, tutti_shmem_far_quiet, -1);
    if (tutti_shmem_begin(space, &call, TSHMEM_TEAM_WORLD) != TUTTI_OK)
        return NULL;
    int status = heap_take(space, &call, bytes, align, &offset);
    if (status == TUTTI_OK && kind == TUTTI_SHMEM_CALLOC)
        status = space->kind->clear(space, address_of(space, offset), bytes);
    return tutti_shmem_end(space, &call, status) == TUTTI_OK ? address_of(space, offset) : NULL;
}

void *tshmem_malloc(size_t bytes)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return heap_allocate(space, TUTTI_SHMEM_MALLOC, bytes, 1);
}

void *tshmem_malloc_with_hints(size_t bytes, long hints)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    (void)hints;
    return heap_allocate(space, TUTTI_SHMEM_MALLOC_WITH_HINTS, bytes, 1);
}

void *tshmem_calloc(size_t count, size_t bytes)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all))
        all = SIZE_MAX; /* more than any heap can have */
    return heap_allocate(space, TUTTI_SHMEM_CALLOC, all, 1);
}

void *tshmem_align(size_t alignment, size_t bytes)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    return heap_allocate(space, TUTTI_SHMEM_ALIGN, bytes, alignment);
}

/* The pointer is no object of the heap: an error. The PE still meets the others, so that they do not wait. */
static int is_object(struct tutti_shmem *space, uint64_t offset)
{
    return offset != nowhere || space->state.pes == 0;
}
#define NO_OBJECT "%p is not what tshmem_malloc gave, or is freed already"

void tshmem_free(void *address)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const uint64_t offset = alloc_offset_of(space, address);
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_FREE, .word = {offset}};
    if (!address)
        return;
    if (!is_object(space, offset))
        call.refused = tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, "tshmem_free", NO_OBJECT, address);
    tshmem_quiet();
    if (tutti_shmem_begin(space, &call, TSHMEM_TEAM_WORLD) != TUTTI_OK)
        return;
    tutti_heap_give(&space->heap, offset);
    tutti_shmem_end(space, &call, TUTTI_OK);
}

void *tshmem_realloc(void *address, size_t bytes)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    uint64_t made = 0;
    if (!address)
        return tshmem_malloc(bytes);
    if (bytes == 0) {
        tshmem_free(address);
        return NULL;
    }
    const uint64_t old = alloc_offset_of(space, address);
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_REALLOC, .word = {bytes, old}};
    if (!is_object(space, old)) /* the NULL result reports it */
        call.refused = tutti_shmem_answer(space, TUTTI_ERR_ARGUMENT, "tshmem_realloc", NO_OBJECT, address);
    tshmem_quiet();
    if (tutti_shmem_begin(space, &call, TSHMEM_TEAM_WORLD) != TUTTI_OK)
        return NULL;
    const uint64_t had = tutti_heap_size(&space->heap, old);
    int status = heap_take(space, &call, bytes, 1, &made);
    if (status == TUTTI_OK) {
        const struct tutti_shmem_part part = {address_of(space, made), address, had < bytes ? had : bytes};
        status = space->kind->move(space, &part, 1);
        tutti_heap_give(&space->heap, old);
    }
    return tutti_shmem_end(space, &call, status) == TUTTI_OK ? address_of(space, made) : NULL;
}

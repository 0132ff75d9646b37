/* tshmem_malloc and its kin: every PE keeps the same books, and all compare before anything is done. Each is a barrier
 * too: what any PE has put before is complete when a place is given away. */
#include "shmem/meet.h"

static const uint64_t nowhere = UINT64_MAX;

static void *address_of(uint64_t offset)
{
    return tutti_shmem.state.heap + tutti_shmem.first + offset;
}

/* Where the object begins, as the books count; nowhere: it is none. */
static uint64_t offset_of(const void *address)
{
    const uint64_t at = (uint64_t)((uintptr_t)address - (uintptr_t)tutti_shmem.state.heap) - tutti_shmem.first;
    return address && tutti_shmem.state.pes > 0 && tutti_heap_size(&tutti_shmem.heap, at) > 0 ? at : nowhere;
}

/* 1 where all PEs have found the same room. */
static int is_same_room(struct tutti_shmem_call *call)
{
    for (int i = 0; i < call->team->size; i++) {
        if (tutti_shmem_said(call, i)->word[0] != call->word[0])
            return 0;
    }
    return 1;
}

/* Takes room after all have brought the same size; of a failure here (no memory for the books) all hear. */
static int take(struct tutti_shmem_call *call, size_t bytes, size_t align, uint64_t *out)
{
    uint64_t offset;
    if (tutti_heap_take(&tutti_shmem.heap, bytes, align, &offset) != TUTTI_OK)
        offset = nowhere;
    call->word[0] = offset;
    const int status = tutti_shmem_again(call);
    if (status == TUTTI_OK && is_same_room(call) && offset != nowhere) {
        *out = offset;
        return TUTTI_OK;
    }
    if (offset != nowhere)
        tutti_heap_give(&tutti_shmem.heap, offset);
    if (status != TUTTI_OK)
        return status;
    return tutti_shmem_fail(TUTTI_ERR_MEMORY, tutti_shmem_call_name(call->kind),
                            "the heap has no room for %zu bytes (TUTTI_SHMEM_HEAP_MB)", bytes);
}

/* A new object; CALLOC: of zeros. */
static void *allocate(unsigned kind, size_t bytes, size_t align)
{
    uint64_t offset = 0;
    struct tutti_shmem_call call = {.kind = kind, .word = {bytes, align}};
    if (align == 0 || (align & (align - 1)) != 0 || align > TUTTI_SHMEM_ALIGN_MOST)
        call.refused = tutti_shmem_fail(TUTTI_ERR_ARGUMENT, tutti_shmem_call_name(kind),
                                        "an alignment of %zu is no power of two up to 2 MiB", align);
    tshmem_quiet();
    if (tutti_shmem_begin(&call, TSHMEM_TEAM_WORLD) != TUTTI_OK)
        return NULL;
    int status = bytes > 0 ? take(&call, bytes, align, &offset) : TUTTI_OK;
    if (status == TUTTI_OK && kind == TUTTI_SHMEM_CALLOC && bytes > 0)
        status = tutti_shmem.kind->clear(address_of(offset), bytes);
    return tutti_shmem_end(&call, status) == TUTTI_OK && bytes > 0 ? address_of(offset) : NULL;
}

void *tshmem_malloc(size_t bytes)
{
    return allocate(TUTTI_SHMEM_MALLOC, bytes, 1);
}

void *tshmem_malloc_with_hints(size_t bytes, long hints)
{
    (void)hints;
    return allocate(TUTTI_SHMEM_MALLOC, bytes, 1);
}

void *tshmem_calloc(size_t count, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all))
        all = SIZE_MAX; /* more than any heap has */
    return allocate(TUTTI_SHMEM_CALLOC, all, 1);
}

void *tshmem_align(size_t alignment, size_t bytes)
{
    return allocate(TUTTI_SHMEM_MALLOC, bytes, alignment);
}

/* Not an object of the heap: said, and the call is made all the same, so that no PE waits. */
static int check_object(const char *name, const void *address, uint64_t offset)
{
    if (offset != nowhere || tutti_shmem.state.pes == 0)
        return TUTTI_OK;
    return tutti_shmem_fail(TUTTI_ERR_ARGUMENT, name, "%p is not what tshmem_malloc gave, or is freed already",
                            address);
}

void tshmem_free(void *address)
{
    const uint64_t offset = offset_of(address);
    struct tutti_shmem_call call = {.kind = TUTTI_SHMEM_FREE, .word = {offset}};
    if (address)
        call.refused = check_object("tshmem_free", address, offset);
    tshmem_quiet();
    if (tutti_shmem_begin(&call, TSHMEM_TEAM_WORLD) != TUTTI_OK)
        return;
    if (offset != nowhere)
        tutti_heap_give(&tutti_shmem.heap, offset);
    tutti_shmem_end(&call, TUTTI_OK);
}

void *tshmem_realloc(void *address, size_t bytes)
{
    uint64_t made = 0;
    if (!address)
        return tshmem_malloc(bytes);
    if (bytes == 0) {
        tshmem_free(address);
        return NULL;
    }
    const uint64_t old = offset_of(address);
    struct tutti_shmem_call call = {
        .kind = TUTTI_SHMEM_REALLOC, .word = {bytes, old}, .refused = check_object("tshmem_realloc", address, old)};
    tshmem_quiet();
    if (tutti_shmem_begin(&call, TSHMEM_TEAM_WORLD) != TUTTI_OK)
        return NULL;
    const uint64_t had = tutti_heap_size(&tutti_shmem.heap, old);
    int status = take(&call, bytes, 1, &made);
    if (status == TUTTI_OK) {
        const struct tutti_shmem_part part = {address_of(made), address, had < bytes ? had : bytes};
        status = tutti_shmem.kind->move(&part, 1);
        tutti_heap_give(&tutti_shmem.heap, old);
    }
    return tutti_shmem_end(&call, status) == TUTTI_OK ? address_of(made) : NULL;
}

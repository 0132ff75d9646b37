#include "mpi/stage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"

/* ---- pool of pinned memory ---- */

enum { KEPT = 16, LEAST = 4096 };

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
        want = bytes;
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
    if (!memory && tutti_door.device->alloc_pinned && tutti_door.device->alloc_pinned(want, &memory) != TUTTI_OK)
        memory = NULL;
    return memory;
}

void tutti_pinned_give(void *memory, size_t room)
{
    if (!memory)
        return;
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
        tutti_door.device->free_pinned(memory);
}

void tutti_pinned_close(void)
{
    pthread_mutex_lock(&lock);
    for (int i = 0; i < KEPT; i++) {
        if (kept[i].memory)
            tutti_door.device->free_pinned(kept[i].memory);
        kept[i].memory = NULL;
    }
    pthread_mutex_unlock(&lock);
}

/* ---- shape of a buffer ---- */

static int named(MPI_Datatype type)
{
    int integers, addresses, types, combiner;
    if (tutti_type_find(type))
        return 1;
    return tutti_real.MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) == MPI_SUCCESS &&
           combiner == MPI_COMBINER_NAMED;
}

int tutti_bottom_on_device(MPI_Datatype type)
{
    MPI_Count lb = 0, extent = 0;
    if (type == tutti_handles.no_type || named(type) ||
        tutti_real.MPI_Type_get_true_extent_x(type, &lb, &extent) != MPI_SUCCESS)
        return 0;
    return tutti_must_stage((const char *)MPI_BOTTOM + lb);
}

/* 1 where the whole span lies in one allocation, gaps included. */
static int in_one(const struct tutti_span *span)
{
    struct tutti_memory memory;
    tutti_door.device->classify(span->user, &memory);
    const char *base = memory.base;
    return memory.kind == TUTTI_MEMORY_DEVICE && span->user >= base && span->user + span->bytes <= base + memory.bytes;
}

/* ---- typed bytes of one element ---- */

struct run {
    size_t at, bytes;
};

/* Marks the typed bytes of one element of `type` with 0xff, by packing ones and unpacking them over zeros. */
static unsigned char *mark(const struct tutti_span *span, MPI_Count true_lb)
{
    size_t bytes = span->true_extent;
    int size = 0, position = 0;
    unsigned char *ones = malloc(bytes ? bytes : 1), *marks = calloc(bytes ? bytes : 1, 1), *packed = NULL;
    int ok = ones && marks && bytes <= INT_MAX &&
             tutti_real.MPI_Pack_size(1, span->type, tutti_handles.self, &size) == MPI_SUCCESS;
    if (ok && (packed = malloc(size ? (size_t)size : 1)) != NULL) {
        memset(ones, 0xff, bytes);
        ok = tutti_real.MPI_Pack(ones - true_lb, 1, span->type, packed, size, &position, tutti_handles.self) ==
             MPI_SUCCESS;
        int length = position;
        position = 0;
        ok = ok && tutti_real.MPI_Unpack(packed, length, &position, marks - true_lb, 1, span->type,
                                         tutti_handles.self) == MPI_SUCCESS;
    }
    if (!packed || !ok) {
        free(marks);
        marks = NULL;
    }
    free(ones);
    free(packed);
    return marks;
}

/* The typed bytes of one element as runs; NULL without memory. */
static struct run *runs_of(const struct tutti_span *span, size_t *n)
{
    MPI_Count lb, extent;
    if (tutti_real.MPI_Type_get_true_extent_x(span->type, &lb, &extent) != MPI_SUCCESS)
        return NULL;
    unsigned char *marks = mark(span, lb);
    struct run *runs = NULL;
    size_t used = 0, room = 0, i = 0;
    while (marks && i < span->true_extent) {
        size_t from = i;
        while (i < span->true_extent && marks[i])
            i++;
        if (i > from) {
            if (used == room) {
                room = room ? 2 * room : 16;
                struct run *more = realloc(runs, room * sizeof *runs);
                if (!more) {
                    free(runs);
                    free(marks);
                    return NULL;
                }
                runs = more;
            }
            runs[used++] = (struct run){from, i - from};
        }
        while (i < span->true_extent && !marks[i])
            i++;
    }
    free(marks);
    *n = used;
    return runs;
}

static int copy_runs(struct tutti_span *span, int out)
{
    size_t n = 0;
    struct run *runs = runs_of(span, &n);
    int status = runs ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (MPI_Count e = 0; e < span->count && status == TUTTI_OK; e++) {
        for (size_t i = 0; i < n && status == TUTTI_OK; i++) {
            MPI_Count at = span->first + e * span->extent + (MPI_Count)runs[i].at;
            char *to = out ? span->user + at : span->memory + at, *from = out ? span->memory + at : span->user + at;
            status = tutti_door.device->copy_now(to, from, runs[i].bytes);
        }
    }
    free(runs);
    return status;
}

static int copy_in(struct tutti_span *span)
{
    if (span->solid || in_one(span))
        return tutti_door.device->copy_now(span->memory, span->user, span->bytes);
    return copy_runs(span, 0);
}

/* ---- spans ---- */

int tutti_span_open(struct tutti_span *span, const void *buffer, MPI_Count count, MPI_Datatype type, int way)
{
    memset(span, 0, sizeof *span);
    span->host = (void *)(uintptr_t)buffer;
    if (count <= 0 || type == tutti_handles.no_type || buffer == MPI_IN_PLACE || !tutti_needs_span(buffer, type))
        return TUTTI_OK;
    TUTTI_INSIDE();
    MPI_Count lb, extent, true_lb, true_extent, size;
    if (tutti_real.MPI_Type_get_extent_x(type, &lb, &extent) != MPI_SUCCESS ||
        tutti_real.MPI_Type_get_true_extent_x(type, &true_lb, &true_extent) != MPI_SUCCESS ||
        tutti_real.MPI_Type_size_x(type, &size) != MPI_SUCCESS)
        return TUTTI_ERR_ARGUMENT;
    if (size == 0)
        return TUTTI_OK;
    MPI_Count reach = (count - 1) * extent, lowest = true_lb + (reach < 0 ? reach : 0);
    span->bytes = (size_t)((reach < 0 ? -reach : reach) + true_extent);
    span->count = count;
    span->type = type;
    span->extent = extent;
    span->true_extent = (size_t)true_extent;
    span->first = true_lb - lowest;
    span->solid = size == true_extent && (extent == size || count == 1);
    span->prefix = span->solid && named(type);
    span->way = way;
    span->user = (char *)(uintptr_t)buffer + lowest;
    span->memory = tutti_pinned_take(span->bytes, &span->room);
    if (!span->memory)
        return TUTTI_ERR_MEMORY;
    span->host = span->memory - lowest;
    span->staged = 1;
    /* What arrives may leave bytes of the span alone: they are fetched first, so that they go back as they were. */
    int status = way & TUTTI_SPAN_IN || !span->prefix ? copy_in(span) : TUTTI_OK;
    if (status != TUTTI_OK)
        tutti_span_close(span);
    return status;
}

int tutti_span_out(struct tutti_span *span, MPI_Count bytes)
{
    if (!span->staged || !(span->way & TUTTI_SPAN_OUT))
        return TUTTI_OK;
    if (!span->solid)
        return copy_runs(span, 1);
    size_t n = span->bytes;
    if (span->prefix && bytes >= 0 && (size_t)bytes < n)
        n = (size_t)bytes;
    return n ? tutti_door.device->copy_now(span->user, span->memory, n) : TUTTI_OK;
}

void tutti_span_shorten(struct tutti_span *span, MPI_Count count)
{
    if (!span->staged || count >= span->count)
        return;
    span->count = count;
    if (span->solid) /* elements follow each other upwards */
        span->bytes = count > 0 ? (size_t)((count - 1) * span->extent) + span->true_extent : 0;
}

void tutti_span_close(struct tutti_span *span)
{
    if (span->staged)
        tutti_pinned_give(span->memory, span->room);
    span->staged = 0;
    span->memory = NULL;
}

MPI_Count tutti_received(const MPI_Status *status)
{
    MPI_Count bytes = -1;
    if (tutti_real.MPI_Get_elements_x(status, tutti_handles.byte, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED)
        return -1;
    return bytes;
}

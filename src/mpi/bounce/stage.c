#include "mpi/bounce/stage.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/settings.h"
#include "mpi/real/handles.h"

enum { LAZY_FROM = 64 << 10 };

/* ---- shape of a buffer ---- */

int tutti_type_is_fine(MPI_Datatype type)
{
    struct tutti_layout *layout = type == tutti_handles.no_type ? NULL : tutti_layout_of(type);
    return layout && tutti_layout_committed(layout, type);
}

int tutti_elements_on_device(const void *buffer, MPI_Datatype type)
{
    if (tutti_inside || buffer == MPI_IN_PLACE || type == tutti_handles.no_type)
        return 0;
    const struct tutti_layout *layout = tutti_layout_of(type);
    if (!layout || !layout->derived || layout->size == 0)
        return 0;
    if (tutti_door.aware && layout->solid) /* as good as bytes to the MPI */
        return 0;
    if (tutti_door.aware && buffer != MPI_BOTTOM)
        return tutti_on_device((const char *)buffer + layout->true_lower);
    if (buffer != MPI_BOTTOM || !layout->plan)
        return layout->true_lower != 0 && tutti_on_device((const char *)buffer + layout->true_lower);
    struct tutti_places places;
    tutti_places_of(layout->plan, 1, buffer, &places);
    return places.device;
}

/* 1 where the whole span lies in one allocation, gaps included. */
static int in_one(const struct tutti_span *span)
{
    struct tutti_memory memory;
    tutti_door.device->classify(span->user, &memory);
    const char *base = memory.base;
    return memory.kind == TUTTI_MEMORY_DEVICE && span->user >= base && span->user + span->bytes <= base + memory.bytes;
}

/* ---- typed bytes of one element, of types without a plan ---- */

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

/* Between the image and the buffer by way of the packed elements: one kernel instead of a copy per run. */
static int copy_packed(struct tutti_span *span, int out)
{
    const size_t bytes = (size_t)span->count * span->plan->size;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    if (!bounce)
        return TUTTI_ERR_MEMORY;
    void *packed = bounce->memory, *user = span->user + span->origin;
    int status = TUTTI_OK;
    if (out) {
        tutti_plan_pack_host(span->plan, (uint64_t)span->count, span->host, 0, bytes, packed);
        status = tutti_packed_move(TUTTI_UNPACK, &span->places, span->plan, span->count, user, 0, bytes, packed);
    } else if ((status = tutti_packed_move(TUTTI_PACK, &span->places, span->plan, span->count, user, 0, bytes,
                                           packed)) == TUTTI_OK) {
        tutti_plan_unpack_host(span->plan, (uint64_t)span->count, span->host, 0, bytes, packed);
    }
    tutti_bounce_give(bounce);
    return status;
}

static int copy_in(struct tutti_span *span)
{
    /* One copy of all is as fast, unless most of it is gaps. */
    int dense = !span->plan || span->bytes / 4 < (size_t)span->count * span->plan->size;
    if (span->solid || (dense && in_one(span)))
        return tutti_door.device->copy_now(span->memory, span->user, span->bytes);
    return span->plan ? copy_packed(span, 0) : copy_runs(span, 0);
}

/* ---- spans ---- */

/* What is known of the type; 0 where the MPI will refuse the call. */
static int shape(struct tutti_span *span, MPI_Count *lowest, struct tutti_layout **layout)
{
    MPI_Count lb, extent, true_lb, true_extent, size;
    int named = tutti_type_find(span->type) != NULL;
    *layout = named ? NULL : tutti_layout_of(span->type);
    if (*layout) {
        extent = (*layout)->extent;
        true_lb = (*layout)->true_lower;
        true_extent = (*layout)->true_extent;
        size = (*layout)->size;
    } else if (tutti_real.MPI_Type_get_extent_x(span->type, &lb, &extent) != MPI_SUCCESS ||
               tutti_real.MPI_Type_get_true_extent_x(span->type, &true_lb, &true_extent) != MPI_SUCCESS ||
               tutti_real.MPI_Type_size_x(span->type, &size) != MPI_SUCCESS) {
        return 0;
    }
    MPI_Count reach = (span->count - 1) * extent;
    *lowest = true_lb + (reach < 0 ? reach : 0);
    span->size = (size_t)size;
    span->bytes = (size_t)((reach < 0 ? -reach : reach) + true_extent);
    span->extent = extent;
    span->true_extent = (size_t)true_extent;
    span->first = true_lb - *lowest;
    span->origin = -*lowest;
    span->solid = size == true_extent && (extent == size || span->count == 1);
    span->prefix =
        span->solid && (named || (*layout && ((*layout)->solid || ((*layout)->in_order && span->count == 1))));
    return 1;
}

int tutti_span_open(struct tutti_span *span, const void *buffer, MPI_Count count, MPI_Datatype type, int way)
{
    memset(span, 0, sizeof *span);
    span->host = (void *)(uintptr_t)buffer;
    span->given = type;
    if (count <= 0 || type == tutti_handles.no_type || buffer == MPI_IN_PLACE || !tutti_needs_span(buffer, type))
        return TUTTI_OK;
    TUTTI_INSIDE();
    MPI_Count lowest;
    struct tutti_layout *layout;
    span->count = count;
    span->type = type;
    span->way = way;
    if (!shape(span, &lowest, &layout))
        return TUTTI_ERR_ARGUMENT;
    if (span->size == 0)
        return TUTTI_OK;
    span->user = (char *)(uintptr_t)buffer + lowest;
    if (layout && layout->plan && !span->prefix) {
        tutti_places_of(layout->plan, count, buffer, &span->places);
        span->plan = tutti_plan_hold(layout->plan);
    } else if (!span->solid) {
        span->own_type = tutti_real.MPI_Type_dup(type, &span->type) == MPI_SUCCESS;
        if (!span->own_type)
            return TUTTI_ERR_MEMORY;
    }
    span->packed = span->plan && way & TUTTI_SPAN_PACKED && tutti_layout_packed(layout, &span->given) == 0;
    if (span->packed)
        span->bytes = (size_t)count * span->size;
    span->lazy = way & TUTTI_SPAN_LAZY && span->bytes > LAZY_FROM && (span->packed || span->prefix);
    if (span->lazy)
        span->memory = tutti_overrun_map(span->bytes);
    else if (span->packed || !layout)
        span->memory = tutti_scratch_take(&span->scratch, span->packed ? &span->places : NULL, span->bytes);
    else /* of the program's derived type, which an MPI may take for one with gaps though it has none */
        span->memory = tutti_scratch_take_image(&span->scratch, span->bytes);
    span->host = span->packed ? span->memory : span->memory - lowest;
    span->staged = 1;
    int status = span->memory ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK && !(way & TUTTI_SPAN_LATER))
        status = tutti_span_in(span);
    if (status != TUTTI_OK)
        tutti_span_close(span);
    return status;
}

int tutti_span_in(struct tutti_span *span)
{
    TUTTI_INSIDE();
    if (!span->staged)
        return TUTTI_OK;
    if (!span->packed) /* what arrives may leave bytes of the image alone: they go back as they were */
        return span->way & TUTTI_SPAN_IN || !span->prefix ? copy_in(span) : TUTTI_OK;
    if (!(span->way & TUTTI_SPAN_IN))
        return TUTTI_OK;
    return tutti_packed_move(TUTTI_PACK, &span->places, span->plan, span->count, span->user + span->origin, 0,
                             span->bytes, span->memory);
}

/* What came after all, through pinned memory. */
static int lazy_out(struct tutti_span *span, size_t bytes)
{
    const size_t most = (size_t)tutti_settings()->staging_mb << 20;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes < most ? bytes : most);
    char *piece = bounce ? bounce->memory : NULL, *user = span->user + span->origin;
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (size_t at = 0; at < bytes && status == TUTTI_OK; at += most) {
        size_t n = bytes - at < most ? bytes - at : most;
        memcpy(piece, span->memory + at, n);
        status = span->packed
                     ? tutti_packed_move(TUTTI_UNPACK, &span->places, span->plan, span->count, user, at, n, piece)
                     : tutti_door.device->copy_now(span->user + at, piece, n);
    }
    tutti_bounce_give(bounce);
    return status;
}

int tutti_span_out(struct tutti_span *span, MPI_Count bytes)
{
    if (!span->staged || !(span->way & TUTTI_SPAN_OUT))
        return TUTTI_OK;
    size_t n = span->bytes;
    if ((span->prefix || span->packed) && bytes >= 0 && (size_t)bytes < n)
        n = (size_t)bytes;
    if (span->lazy)
        return lazy_out(span, n);
    if (span->packed)
        return tutti_packed_move(TUTTI_UNPACK, &span->places, span->plan, span->count, span->user + span->origin, 0, n,
                                 span->memory);
    if (!span->solid)
        return span->plan ? copy_packed(span, 1) : copy_runs(span, 1);
    return n ? tutti_door.device->copy_now(span->user, span->memory, n) : TUTTI_OK;
}

void tutti_span_shorten(struct tutti_span *span, MPI_Count count)
{
    if (!span->staged || count >= span->count)
        return;
    span->count = count;
    if (span->packed)
        span->bytes = count > 0 ? (size_t)count * span->size : 0;
    else if (span->solid) /* elements follow each other upwards */
        span->bytes = count > 0 ? (size_t)((count - 1) * span->extent) + span->true_extent : 0;
}

void tutti_span_close(struct tutti_span *span)
{
    if (!span->staged)
        return;
    if (!span->lazy)
        tutti_scratch_give(&span->scratch);
    else
        tutti_overrun_unmap(span->memory);
    if (span->plan)
        tutti_plan_drop(span->plan);
    if (span->own_type)
        tutti_real.MPI_Type_free(&span->type);
    span->staged = 0;
    span->memory = NULL;
    span->plan = NULL;
}

MPI_Count tutti_received(const MPI_Status *status)
{
    MPI_Count bytes = -1;
    if (tutti_real.MPI_Get_elements_x(status, tutti_handles.byte, &bytes) != MPI_SUCCESS || bytes == MPI_UNDEFINED)
        return -1;
    return bytes;
}

/* Operations on mapped windows with datatypes of too many pieces for a plan: kernels do not take them. Each side has an
 * image in host memory (stage.h), of which the MPI packs and unpacks the elements; only the bytes of the elements
 * go back. */
#include <limits.h>
#include <string.h>

#include "bounce/bounce.h"
#include "mpi/bounce/overrun.h"
#include "mpi/bounce/stage.h"
#include "mpi/rma/mapped.h"

struct side {
    struct tutti_stage stage;
    MPI_Count count;
};

/* Where the elements of a side lie: the window's memory may be of a GPU of another rank. */
enum place { ANYWHERE, WINDOW, HOST };

static int long_side_open(struct side *side, const struct tutti_rma_buffer *buffer, int way, enum place place)
{
    struct tutti_there there = {.staged = place == WINDOW};
    if (place == ANYWHERE)
        (void)tutti_needs_staging_at(buffer->memory, buffer->type, &there);
    side->count = buffer->count;
    return tutti_stage_open_at(&side->stage, buffer->memory, buffer->count, buffer->type, way, &there);
}

static int long_side_pack(const struct side *side, void *packed, uint64_t bytes)
{
    int at = 0;
    TUTTI_INSIDE();
    return tutti_next.MPI_Pack(side->stage.host, (int)side->count, side->stage.given, packed, (int)bytes, &at,
                               tutti_handles.self) == MPI_SUCCESS
               ? TUTTI_OK
               : TUTTI_ERR_ARGUMENT;
}

static int long_side_unpack(struct side *side, const void *packed, uint64_t bytes)
{
    int at = 0;
    TUTTI_INSIDE();
    if (tutti_next.MPI_Unpack(packed, (int)bytes, &at, side->stage.host, (int)side->count, side->stage.given,
                              tutti_handles.self) != MPI_SUCCESS)
        return TUTTI_ERR_ARGUMENT;
    return tutti_stage_out(&side->stage, -1);
}

/* From one side to the other, through `packed`. */
static int long_move(const struct tutti_rma_buffer *from, enum place from_place, const struct tutti_rma_buffer *to,
                     enum place to_place, void *packed, uint64_t bytes)
{
    struct side a, b;
    int status = long_side_open(&a, from, TUTTI_STAGE_IN, from_place);
    if (status != TUTTI_OK)
        return status;
    status = long_side_pack(&a, packed, bytes);
    tutti_stage_close(&a.stage);
    if (status == TUTTI_OK)
        status = long_side_open(&b, to, TUTTI_STAGE_OUT, to_place);
    if (status != TUTTI_OK)
        return status;
    status = long_side_unpack(&b, packed, bytes);
    tutti_stage_close(&b.stage);
    return status;
}

/* The packed elements of a buffer of the origin. */
static int long_packed_of(const struct tutti_rma_buffer *buffer, void *packed, uint64_t bytes)
{
    struct side side;
    int status = long_side_open(&side, buffer, TUTTI_STAGE_IN, ANYWHERE);
    if (status != TUTTI_OK)
        return status;
    status = long_side_pack(&side, packed, bytes);
    tutti_stage_close(&side.stage);
    return status;
}

/* `there` holds the target's elements and gets the new ones; `mine` has room for as many. */
static int long_elements_update(const struct tutti_rma *rma, void *there, void *mine, uint64_t bytes)
{
    const int swaps = rma->kind == TUTTI_RMA_COMPARE_AND_SWAP;
    int status = TUTTI_OK;
    if (swaps) {
        status = long_packed_of(&rma->buffer[TUTTI_RMA_COMPARE], mine, bytes);
        if (status != TUTTI_OK || memcmp(mine, there, (size_t)bytes) != 0)
            return status;
    }
    status = long_packed_of(&rma->buffer[TUTTI_RMA_ORIGIN], mine, bytes);
    if (status != TUTTI_OK || !swaps)
        return status == TUTTI_OK ? tutti_mapped_combine(rma, mine, there, bytes) : status;
    memcpy(there, mine, (size_t)bytes);
    return TUTTI_OK;
}

/* `there` and `mine` have room for the packed elements. This rank is the target's updater. */
static int long_update(const struct tutti_rma *rma, const struct tutti_rma_buffer *target, enum place place,
                       void *there, void *mine, uint64_t bytes)
{
    const struct tutti_rma_buffer *result = &rma->buffer[TUTTI_RMA_RESULT];
    struct side side, other;
    int status = long_side_open(&side, target, TUTTI_STAGE_IN | TUTTI_STAGE_OUT, place);
    if (status != TUTTI_OK)
        return status;
    status = long_side_pack(&side, there, bytes);
    if (status == TUTTI_OK && result->count > 0 &&
        (status = long_side_open(&other, result, TUTTI_STAGE_OUT, ANYWHERE)) == TUTTI_OK) {
        status = long_side_unpack(&other, there, bytes);
        tutti_stage_close(&other.stage);
    }
    if (status == TUTTI_OK && rma->buffer[TUTTI_RMA_ORIGIN].count > 0) {
        status = long_elements_update(rma, there, mine, bytes);
        if (status == TUTTI_OK)
            status = long_side_unpack(&side, there, bytes);
    }
    tutti_stage_close(&side.stage);
    return status;
}

int tutti_mapped_has_plans(const struct tutti_rma *rma)
{
    const struct tutti_layout *layout = tutti_layout_of(rma->to.type);
    int all = layout && layout->plan;
    for (int i = 0; i < TUTTI_RMA_BUFFERS && all; i++) {
        if (rma->buffer[i].count > 0) {
            layout = tutti_layout_of(rma->buffer[i].type);
            all = layout && layout->plan;
        }
    }
    return all;
}

int tutti_mapped_long(struct tutti_mapped *mapped, const struct tutti_rma *rma, void *memory, uint64_t bytes, int kept)
{
    const struct tutti_rma_buffer target = {.memory = memory, .count = rma->to.count, .type = rma->to.type};
    const struct tutti_rma_buffer *origin = &rma->buffer[TUTTI_RMA_ORIGIN], *result = &rma->buffer[TUTTI_RMA_RESULT];
    const enum place place = kept ? WINDOW : HOST;
    /* A rank that has not met a GPU has no pinned memory. */
    const struct tutti_bounce_kind *kind = mapped->met ? &tutti_bounce_pinned : tutti_ordinary_kind();
    if (bytes > INT_MAX || rma->to.count > INT_MAX || origin->count > INT_MAX || result->count > INT_MAX)
        return TUTTI_ERR_UNAVAILABLE;
    int status = tutti_mapped_flush(mapped);
    struct tutti_bounce *bounce = status == TUTTI_OK ? tutti_bounce_take(kind, -1, 2 * (size_t)bytes) : NULL;
    if (!bounce)
        return status == TUTTI_OK ? TUTTI_ERR_MEMORY : status;
    char *packed = bounce->memory;
    if (rma->kind == TUTTI_RMA_PUT) {
        status = long_move(origin, ANYWHERE, &target, place, packed, bytes);
    } else if (rma->kind == TUTTI_RMA_GET) {
        status = long_move(&target, place, result, ANYWHERE, packed, bytes);
    } else if (!kept) {
        status = long_update(rma, &target, place, packed, packed + bytes, bytes);
    } else if ((status = tutti_mapped_update_begin(mapped, rma->target)) == TUTTI_OK) {
        status = long_update(rma, &target, place, packed, packed + bytes, bytes);
        tutti_mapped_update_end(mapped, rma->target);
    }
    tutti_bounce_give(bounce);
    return status;
}

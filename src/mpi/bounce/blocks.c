#include "mpi/bounce/blocks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "dtype/pack.h"
#include "mpi/bounce/stage.h"
#include "mpi/real/lent.h"
#include "mpi/real/self.h"
#include "progress/gate.h"

/* ---- what the program gave ---- */

static MPI_Count blocks_extent_of(MPI_Datatype type)
{
    MPI_Count lower, extent = 0;
    tutti_next.MPI_Type_get_extent_x(type, &lower, &extent);
    return extent;
}

static int on_device(const struct tutti_side *side, struct tutti_memory *lies)
{
    if (side->n <= 0 || side->given.buffer == MPI_IN_PLACE || !tutti_device_active(tutti_door.device) || tutti_inside)
        return 0;
    /* The blocks of one buffer and type are where the first is that has any elements. */
    for (int i = 0; i < side->n; i++) {
        MPI_Datatype type = tutti_buffer_type(&side->given, i);
        if (tutti_buffer_count(&side->given, i) <= 0 || type == tutti_handles.no_type)
            continue;
        const MPI_Count unit = side->given.types ? 1 : blocks_extent_of(type);
        struct tutti_there there;
        if (tutti_part_needs_staging(tutti_buffer_block(&side->given, i, unit), type, &there)) {
            *lies = there.memory;
            return 1;
        }
        if (!side->given.types)
            return !tutti_door.aware && tutti_on_device(side->given.buffer);
    }
    return 0;
}

/* ---- moving ---- */

enum { COPIED_FROM = 64 << 10 }; /* bytes of a row on average, from which on rows are copied one by one */

/* One element of host memory by the MPI's own packing. */
static int mpi_packs(enum tutti_direction direction, char *element, MPI_Datatype type, char *packed, int size)
{
    static char base; /* MPI_BOTTOM is described from another address, where the MPI does not pack from it */
    const MPI_Aint back = -(MPI_Aint)(intptr_t)&base;
    const int shifts = !element && tutti_quirks.pack_lacks_bottom, one = 1;
    int position = 0, code = MPI_SUCCESS;
    MPI_Datatype of = type;
    if (shifts && (tutti_next.MPI_Type_create_struct(1, &one, &back, &type, &of) != MPI_SUCCESS ||
                   tutti_next.MPI_Type_commit(&of) != MPI_SUCCESS))
        return TUTTI_ERR_TRANSPORT;
    element = shifts ? &base : element;
    code = direction == TUTTI_PACK ? tutti_next.MPI_Pack(element, 1, of, packed, size, &position, tutti_handles.self)
                                   : tutti_next.MPI_Unpack(packed, size, &position, element, 1, of, tutti_handles.self);
    if (shifts)
        tutti_next.MPI_Type_free(&of);
    return code == MPI_SUCCESS ? TUTTI_OK : TUTTI_ERR_TRANSPORT;
}

/* Through an image of the elements, one by one: the MPI's packing takes ints. */
int tutti_packed_by_mpi(enum tutti_direction direction, char *at, MPI_Count count, MPI_Datatype type, size_t size,
                        char *packed)
{
    struct tutti_stage stage;
    const int depth = tutti_inside;
    tutti_inside = 0;
    int status = tutti_stage_open(&stage, at, count, type,
                                  TUTTI_STAGE_PART | (direction == TUTTI_PACK ? TUTTI_STAGE_IN : TUTTI_STAGE_OUT));
    tutti_inside = depth;
    TUTTI_INSIDE();
    const MPI_Count extent = blocks_extent_of(type);
    for (MPI_Count e = 0; e < count && status == TUTTI_OK; e++)
        status = mpi_packs(direction, (char *)stage.host + e * extent, type, packed + (size_t)e * size,
                           size <= INT_MAX ? (int)size : -1);
    if (status == TUTTI_OK)
        status = tutti_stage_out(&stage, -1);
    tutti_stage_close(&stage);
    return status;
}

/* A block that kernels do not reach as a whole. */
static int move_slowly(const struct tutti_block *block, enum tutti_direction direction, char *packed)
{
    struct tutti_places places;
    if (!block->plan)
        return tutti_packed_by_mpi(direction, block->at, block->count, block->type, block->size, packed);
    tutti_places_of(block->plan, block->count, block->at, &places);
    return tutti_packed_move(direction, &places, block->plan, block->count, block->at, 0, block->bytes, packed);
}

/* Blocks from `i` on, before `end`, that are one row of bytes both in the program's memory and packed; 0: block `i` has
 * no bytes, or gaps. */
static int row_from(const struct tutti_blocks *blocks, int i, int end, size_t *bytes)
{
    const struct tutti_block *first = &blocks->block[i];
    int n = 0;
    *bytes = 0;
    for (; i + n < end; n++) {
        const struct tutti_block *block = &first[n];
        if (block->bytes == 0)
            continue;
        if (!block->solid || block->idle || block->at != first->at + *bytes || block->place != first->place + *bytes)
            break;
        *bytes += block->bytes;
    }
    return *bytes ? n : 0;
}

/* A copy takes as long as a launch, which moves all rows: a single row is copied, and so are long rows. */
static int are_copied(const struct tutti_blocks *blocks, int first, int end)
{
    size_t bytes, all = 0;
    int rows = 0;
    for (int i = first, n; i < end; i += n ? n : 1) {
        n = row_from(blocks, i, end, &bytes);
        rows += n > 0;
        all += bytes;
    }
    return rows < 2 || all / (size_t)rows >= COPIED_FROM;
}

/* 1 if no kernel may be launched now, or reaches the packed blocks. */
static int blocks_by_copies(const struct tutti_blocks *blocks, int gpu)
{
    return blocks->scratch.ordinary || (tutti_gate_closed() && tutti_pack_state(gpu) != TUTTI_PACK_READY);
}

static int is_within(const struct tutti_memory *memory, const char *at, size_t bytes)
{
    const char *const base = memory->base;
    return memory->kind == TUTTI_MEMORY_DEVICE && at >= base && at + bytes <= base + memory->bytes;
}

/* A row of bytes, outside any stream: by a kernel if they are few, which takes less time than a copy. The device is
 * asked once what the memory is. */
static int row_copy_now(const struct tutti_blocks *blocks, enum tutti_direction direction, char *at, char *packed,
                        size_t bytes)
{
    const struct tutti_device *device = tutti_door.device;
    const int out = direction == TUTTI_UNPACK;
    struct tutti_memory memory = blocks->lies;
    if (!is_within(&memory, at, bytes))
        tutti_memory_at(device, at, &memory);
    const char *const from = out ? packed : at;
    char *const to = out ? at : packed;
    if (!is_within(&memory, at, bytes) || blocks->scratch.on_device)
        return device->memory.copy_now(to, from, bytes);
    if (blocks->scratch.ordinary)
        return device->memory.copy_ordinary ? device->memory.copy_ordinary(memory.gpu, out, to, from, bytes)
                                            : device->memory.copy_now(to, from, bytes);
    return tutti_copy_known(memory.gpu, at, packed, bytes, out);
}

static int row_copy(const struct tutti_blocks *blocks, enum tutti_direction direction, char *at, char *packed,
                    size_t bytes)
{
    if (!blocks->stream)
        return row_copy_now(blocks, direction, at, packed, bytes);
    return tutti_door.device->stream.copy(blocks->stream, direction == TUTTI_PACK ? packed : at,
                                          direction == TUTTI_PACK ? at : packed, bytes);
}

/* All blocks, or the one named. Kernels of one GPU take theirs in one launch. */
static int blocks_move(struct tutti_blocks *blocks, enum tutti_direction direction, int only)
{
    struct tutti_pack_job single, *const jobs = blocks->n == 1 ? &single : calloc((size_t)blocks->n, sizeof *jobs);
    unsigned used = 0;
    int gpu = -1, status = jobs ? TUTTI_OK : TUTTI_ERR_MEMORY;
    const int first = only < 0 ? 0 : only, end = only < 0 ? blocks->n : only + 1;
    const int copied = blocks->stream || blocks->scratch.ordinary || are_copied(blocks, first, end);
    for (int i = first, n; i < end && status == TUTTI_OK; i += n) {
        const struct tutti_block *block = &blocks->block[i];
        char *packed = blocks->memory + block->place;
        struct tutti_places places = {.host = 1};
        size_t bytes;
        n = 1;
        if (block->bytes == 0 || block->idle)
            continue;
        if (block->solid && (copied || !block->plan)) {
            n = row_from(blocks, i, end, &bytes);
            if (blocks->stream && !blocks->scratch.ordinary && bytes <= TUTTI_PACK_RUN_MOST && tutti_plan_of_byte())
                jobs[used++] = direction == TUTTI_PACK ? tutti_pack_run(packed, block->at, bytes)
                                                       : tutti_pack_run(block->at, packed, bytes);
            else
                status = row_copy(blocks, direction, block->at, packed, bytes);
            continue;
        }
        if (block->plan)
            tutti_places_of(block->plan, block->count, block->at, &places);
        if (blocks->stream && !tutti_places_reached(&places)) {
            status = TUTTI_ERR_UNAVAILABLE;
            continue;
        }
        if (!blocks->stream && (!tutti_places_reached(&places) || blocks_by_copies(blocks, places.gpu))) {
            status = move_slowly(block, direction, packed);
            continue;
        }
        if (!blocks->stream && used && places.gpu >= 0 && gpu >= 0 && places.gpu != gpu) {
            status = tutti_pack_now(gpu, jobs, used);
            used = 0;
        }
        gpu = places.gpu >= 0 ? places.gpu : gpu;
        jobs[used++] = (struct tutti_pack_job){.direction = direction,
                                               .plan = block->plan,
                                               .count = (uint64_t)block->count,
                                               .memory = block->at,
                                               .packed = packed,
                                               .bytes = block->bytes};
    }
    if (status == TUTTI_OK && used && blocks->stream) {
        status = tutti_pack_enqueue(blocks->stream, blocks->gpu, jobs, used);
    } else if (status == TUTTI_OK && used) {
        if (gpu < 0 && tutti_door.device->gpu.current(&gpu) != TUTTI_OK)
            gpu = -1;
        status = tutti_pack_now(gpu, jobs, used);
    }
    if (jobs != &single)
        free(jobs);
    return status;
}

/* ---- what the MPI is given ---- */

enum { REFUSED, MEASURED, NO_MEMORY };

/* The blocks one after the other. REFUSED: the MPI will refuse the call; it gets what the program gave. */
static int blocks_measure(struct tutti_blocks *blocks, const struct tutti_side *side)
{
    MPI_Datatype last = tutti_handles.no_type;
    struct tutti_layout *layout = NULL;
    for (int i = 0; i < side->n; i++) {
        struct tutti_block *block = &blocks->block[i];
        MPI_Datatype type = tutti_buffer_type(&side->given, i);
        MPI_Count bytes = 0;
        block->count = tutti_buffer_count(&side->given, i);
        block->place = blocks->bytes;
        block->idle = side->peers && side->peers[i] == MPI_PROC_NULL;
        if (block->count == 0 && side->given.types) { /* the type may be anything */
            blocks->own_types[i] = type;
            continue;
        }
        if (block->count < 0 || type == tutti_handles.no_type)
            return REFUSED;
        if (type != last && !(layout = tutti_layout_of(type)))
            return tutti_self_asks(type) ? NO_MEMORY : REFUSED;
        if (type != last && !tutti_layout_committed(layout, type))
            return REFUSED;
        last = type;
        block->type = type;
        block->at = tutti_buffer_block(&side->given, i, layout->extent);
        block->size = (size_t)layout->size;
        block->solid = layout->solid && layout->true_lower == 0; /* otherwise not where the MPI would look */
        if (layout->plan)
            block->plan = tutti_plan_hold(layout->plan);
        else if (!(block->own_type = tutti_type_hold(type)))
            return NO_MEMORY;
        MPI_Datatype given = type;
        if (__builtin_mul_overflow(layout->size, block->count, &bytes))
            return REFUSED;
        if (side->as_bytes && !side->given.counts && bytes <= INT_MAX && layout->size > 0) {
            given = tutti_handles.byte;
            blocks->times = (int)layout->size;
        } else if (!block->solid && tutti_layout_packed(layout, type, &given) != 0) {
            return NO_MEMORY;
        }
        if (side->given.types)
            blocks->own_types[i] = given;
        else
            blocks->type = given;
        block->bytes = (size_t)bytes;
        blocks->by_kernel |= bytes > 0 && block->plan && !block->solid;
        blocks->bytes += block->bytes;
    }
    return MEASURED;
}

/* Lists of elements become lists of bytes. Where these are too many for the call, it keeps its type: the ranks need not
 * agree. 0: no memory. */
static int blocks_in_bytes(struct tutti_blocks *blocks, const struct tutti_side *side)
{
    if (!side->as_bytes || !side->given.counts || side->given.types || blocks->bytes > INT_MAX)
        return 1;
    blocks->own_counts = calloc((size_t)blocks->n, sizeof(MPI_Count));
    for (int i = 0; i < blocks->n && blocks->own_counts; i++) {
        if (side->given.large_counts)
            ((MPI_Count *)blocks->own_counts)[i] = (MPI_Count)blocks->block[i].bytes;
        else
            ((int *)blocks->own_counts)[i] = (int)blocks->block[i].bytes;
    }
    blocks->type = tutti_handles.byte;
    return blocks->own_counts != NULL;
}

/* Displacements of the packed blocks, in the units of the call. 0 if they are too large for it. */
static int blocks_displace(struct tutti_blocks *blocks, const struct tutti_side *side)
{
    int wide = side->given.large_displs;
    for (int i = 0; side->given.displs && i < side->n; i++) {
        const struct tutti_block *block = &blocks->block[i];
        size_t unit = side->given.types || blocks->own_counts || block->size == 0 ? 1 : block->size,
               displ = block->place / unit;
        if (wide)
            ((MPI_Aint *)blocks->own_displs)[i] = (MPI_Aint)displ;
        else if (displ > INT_MAX)
            return 0;
        else
            ((int *)blocks->own_displs)[i] = (int)displ;
    }
    return 1;
}

/* 1 if kernels of one GPU reach all blocks, in its memory, which has the packed ones too then. */
static int on_one_gpu(const struct tutti_blocks *blocks, struct tutti_places *all)
{
    *all = (struct tutti_places){.gpu = -1};
    for (int i = 0; tutti_door.aware && i < blocks->n; i++) {
        const struct tutti_block *block = &blocks->block[i];
        struct tutti_places one;
        if (block->bytes == 0)
            continue;
        if (!block->plan)
            return 0;
        tutti_places_of(block->plan, block->count, block->at, &one);
        if (!one.device || !tutti_places_reached(&one) || (all->device && one.gpu != all->gpu))
            return 0;
        *all = one;
    }
    return all->device;
}

int tutti_blocks_open(struct tutti_blocks *blocks, const struct tutti_side *side)
{
    *blocks = (struct tutti_blocks){.buffer = side->given.buffer,
                                    .counts = side->given.counts,
                                    .displs = side->given.displs,
                                    .type = side->given.type,
                                    .types = side->given.types,
                                    .times = 1,
                                    .way = side->way};
    struct tutti_memory lies = {.kind = TUTTI_MEMORY_HOST};
    if (!on_device(side, &lies) && !(side->apart && side->n > 0))
        return TUTTI_OK;
    TUTTI_INSIDE();
    size_t n = (size_t)side->n;
    blocks->block = n == 1 ? &blocks->one : calloc(n, sizeof *blocks->block);
    if (!blocks->block)
        return TUTTI_ERR_MEMORY;
    blocks->n = side->n;
    if ((side->given.displs && !(blocks->own_displs = calloc(n, sizeof(MPI_Aint)))) ||
        (side->given.types && !(blocks->own_types = calloc(n, sizeof(MPI_Datatype)))))
        return TUTTI_ERR_MEMORY;
    const int measured = blocks_measure(blocks, side);
    if (measured == NO_MEMORY || (measured == MEASURED && !blocks_in_bytes(blocks, side)))
        return TUTTI_ERR_MEMORY;
    if (measured == REFUSED) {
        blocks->type = side->given.type;
        blocks->times = 1;
        return TUTTI_OK;
    }
    if (!blocks_displace(blocks, side)) {
        tutti_error("the packed blocks are beyond the displacements of this call: use its large-count form");
        return TUTTI_ERR_ARGUMENT;
    }
    struct tutti_places places;
    if (side->stays)
        blocks->lies = lies;
    blocks->stream = side->stream;
    blocks->gpu = side->gpu;
    blocks->memory = side->stream ? tutti_scratch_take_sent(&blocks->scratch, blocks->bytes, 0)
                                  : tutti_scratch_take(&blocks->scratch, on_one_gpu(blocks, &places) ? &places : NULL,
                                                       blocks->bytes);
    if (!blocks->memory)
        return TUTTI_ERR_MEMORY;
    blocks->staged = 1;
    blocks->buffer = blocks->memory;
    if (blocks->own_counts)
        blocks->counts = blocks->own_counts;
    if (side->given.displs)
        blocks->displs = blocks->own_displs;
    if (side->given.types)
        blocks->types = blocks->own_types;
    blocks->only = side->way & TUTTI_STAGE_IN ? -1 : side->only;
    return tutti_blocks_in(blocks);
}

int tutti_blocks_in(struct tutti_blocks *blocks)
{
    if (!blocks->staged || !(blocks->way & TUTTI_STAGE_IN || blocks->only >= 0))
        return TUTTI_OK;
    TUTTI_INSIDE();
    return blocks_move(blocks, TUTTI_PACK, blocks->only);
}

int tutti_blocks_out(struct tutti_blocks *blocks)
{
    if (!blocks->staged || !(blocks->way & TUTTI_STAGE_OUT))
        return TUTTI_OK;
    TUTTI_INSIDE();
    return blocks_move(blocks, TUTTI_UNPACK, -1);
}

void tutti_blocks_close(struct tutti_blocks *blocks)
{
    if (blocks->staged)
        tutti_scratch_give(&blocks->scratch);
    for (int i = 0; i < blocks->n; i++) {
        if (blocks->block[i].plan)
            tutti_plan_drop(blocks->block[i].plan);
        if (blocks->block[i].own_type)
            tutti_type_release(blocks->block[i].type);
    }
    if (blocks->block != &blocks->one)
        free(blocks->block);
    free(blocks->own_counts);
    free(blocks->own_displs);
    free(blocks->own_types);
    *blocks = (struct tutti_blocks){.n = 0};
}

/* ---- counting ---- */

static uint64_t blocks_bytes_of(const struct tutti_blocks *blocks)
{
    uint64_t bytes = 0;
    for (int i = 0; blocks->staged && i < blocks->n; i++)
        bytes += blocks->block[i].idle ? 0 : blocks->block[i].bytes;
    return bytes;
}

void tutti_exchange_count(const struct tutti_exchange *exchange)
{
    const struct tutti_blocks *in = &exchange->in, *out = &exchange->out;
    const char *how = in->scratch.on_device || out->scratch.on_device ? "packed in device memory"
                      : in->by_kernel || out->by_kernel               ? "packed by a kernel"
                                                                      : NULL;
    if (in->staged || out->staged)
        tutti_count_staged(exchange->name, exchange->reason, how, blocks_bytes_of(in) + blocks_bytes_of(out));
}

#include "mpi/bounce/stage.h"

#include <stdatomic.h>
#include <string.h>

#include "core/lives.h"
#include "core/settings.h"
#include "mpi/bounce/alive.h"
#include "mpi/bounce/stage_gaps.h"
#include "mpi/real/handles.h"
#include "mpi/real/lent.h"
#include "mpi/real/self.h"
#include "team/sharing.h"

enum {
    LAZY_FROM = 1 << 20,  /* bytes: up to here pinned memory is taken while messages themselves come, see is_lazy() */
    POOLED_MOST = 4 << 20 /* up to here memory for lazy stages is kept for the next one */
};

/* How many stages more expect the message itself, since a message has arrived whole and no RTS after it. long: of more
 * than LAZY_FROM bytes, for each of which an RTS has arrived since. */
static _Atomic int whole_ones, whole_long_ones;
enum { WHOLE_ONES = 64 };

/* How many stages more of few bytes take memory that is not pinned: where GPUs are slow to begin, the first allocation
 * of pinned memory takes more than a millisecond, and so many copies from and to ordinary memory lose less. */
static _Atomic int ordinary_left = 32;
enum { ORDINARY_MOST = 256 << 10 };

/* 1 if copies into the GPU wait for a turn there, but those from pinned memory (now.c, IN_ROWS). */
static int stage_waits_for_turns(const struct tutti_device *device, int gpu)
{
    if (!device->gpu.turns)
        return 0;
    if (tutti_door.node)
        tutti_sharing_look(tutti_door.node, device, gpu);
    return tutti_gpu_takes_turns(gpu);
}

/* gpu: of the buffer; out: the bytes are copied into it. */
static int takes_ordinary(const struct tutti_device *device, size_t bytes, int gpu, int out)
{
    if (likely(atomic_load_explicit(&ordinary_left, memory_order_relaxed) <= 0) || bytes > ORDINARY_MOST ||
        !device->share.usual_ns || device->share.usual_ns() == 0)
        return 0;
    if (stage_waits_for_turns(device, gpu) && out)
        return 0;
    return atomic_fetch_sub_explicit(&ordinary_left, 1, memory_order_relaxed) > 0;
}

int tutti_stage_expects_rts(void)
{
    return likely(atomic_load_explicit(&whole_ones, memory_order_relaxed) <= 0);
}

void tutti_stage_expect_rts(size_t bytes)
{
    if (unlikely(atomic_load_explicit(&whole_ones, memory_order_relaxed) != 0))
        atomic_store_explicit(&whole_ones, 0, memory_order_relaxed);
    if (bytes > LAZY_FROM && unlikely(atomic_load_explicit(&whole_long_ones, memory_order_relaxed) > 0))
        atomic_fetch_sub_explicit(&whole_long_ones, 1, memory_order_relaxed);
}

struct tutti_alive tutti_alive[TUTTI_ALIVE_SIDES];

/* ---- shape of a buffer ---- */

int tutti_type_is_fine(MPI_Datatype type)
{
    if (type == tutti_handles.no_type)
        return 0;
    struct tutti_layout *layout = tutti_layout_of(type);
    return layout ? tutti_layout_committed(layout, type) : tutti_self_asks(type); /* no memory for it, or no type */
}

static int stage_finds_device(const void *buffer, MPI_Datatype type, int aware)
{
    if (tutti_inside || type == tutti_handles.no_type)
        return 0;
    const struct tutti_layout *layout = tutti_layout_of(type);
    if (!layout || !layout->derived || layout->size == 0)
        return 0;
    if (aware && layout->solid) /* as good as bytes to the MPI */
        return 0;
    if (aware && buffer != MPI_BOTTOM)
        return tutti_on_device((const char *)buffer + layout->true_lower);
    if (buffer != MPI_BOTTOM || !layout->plan)
        return layout->true_lower != 0 && tutti_on_device((const char *)buffer + layout->true_lower);
    struct tutti_places places;
    tutti_places_of(layout->plan, 1, buffer, &places);
    return places.device;
}

int tutti_elements_on_device(const void *buffer, MPI_Datatype type)
{
    return buffer != MPI_IN_PLACE && stage_finds_device(buffer, type, tutti_door.aware);
}

int tutti_part_needs_staging(const void *part, MPI_Datatype type, struct tutti_there *there)
{
    if (likely(part != MPI_IN_PLACE))
        return tutti_needs_staging_at(part, type, there);
    *there = (struct tutti_there){.memory = {.kind = TUTTI_MEMORY_HOST}};
    there->staged = tutti_device_active(tutti_door.device) && stage_finds_device(part, type, tutti_door.aware) &&
                    tutti_type_is_fine(type);
    return there->staged;
}

static int stage_needs_host(const void *buffer, MPI_Datatype type, struct tutti_memory *memory)
{
    const int there = tutti_on_device_at(buffer, memory) && !tutti_inside;
    if (likely(tutti_type_find(type) != NULL))
        return there;
    return (there || (buffer != MPI_IN_PLACE && stage_finds_device(buffer, type, 0))) && tutti_type_is_fine(type);
}

int tutti_needs_host(const void *buffer, MPI_Datatype type, struct tutti_there *there)
{
    there->staged = stage_needs_host(buffer, type, &there->memory);
    return there->staged;
}

/* 1 if the whole stage lies in one allocation, gaps included. */
static int stage_in_one_allocation(const struct tutti_stage *stage)
{
    struct tutti_memory memory;
    tutti_memory_at(tutti_door.device, stage->user, &memory);
    const char *base = memory.base;
    return memory.kind == TUTTI_MEMORY_DEVICE && stage->user >= base &&
           stage->user + stage->bytes <= base + memory.bytes;
}

/* ---- copies ---- */

/* By the driver, which is asked where the program's bytes lie unless that is known, and not what the memory of the
 * stage is. */
static int copy_plainly(const struct tutti_stage *stage, int known, int out, void *to, const void *from, size_t bytes)
{
    const struct tutti_device *device = tutti_door.device;
    int (*const copy)(int, int, void *, const void *, size_t) =
        stage->ordinary ? device->memory.copy_ordinary : device->memory.copy_pinned;
    struct tutti_memory memory;
    if (known && copy)
        return copy(stage->places.gpu, out, to, from, bytes);
    const char *const user = out ? to : from;
    if (copy && !stage->image && !stage->lazy) {
        tutti_memory_at(device, user, &memory);
        const char *const base = memory.base;
        if (memory.kind == TUTTI_MEMORY_DEVICE && user >= base && user + bytes <= base + memory.bytes)
            return copy(memory.gpu, out, to, from, bytes);
    }
    return device->memory.copy_now(to, from, bytes);
}

/* Between the first bytes of the buffer and `host`, which is pinned unless stage->ordinary is 1. */
static int copy_bytes(const struct tutti_stage *stage, size_t at, char *host, size_t bytes, int out)
{
    char *user = stage->user + at, *to = out ? user : host;
    const char *from = out ? host : user;
    const int known = !stage->plan && stage->places.id != 0;
    const enum tutti_few use = stage->way & TUTTI_STAGE_PAIR ? TUTTI_FEW_PAIR : TUTTI_FEW_ALONE;
    if (known && !stage->ordinary &&
        (stage->way & TUTTI_STAGE_KERNEL || tutti_copies_few(stage->places.gpu, bytes, use, out)) &&
        tutti_stage_copy_few(stage, user, host, bytes, out) == TUTTI_OK)
        return TUTTI_OK;
    return copy_plainly(stage, known, out, to, from, bytes);
}

/* Elements without gaps in one allocation of a GPU: copy_bytes(). Of a stage that is filled later the program may free
 * the buffer meanwhile, unless the caller rules that out. */
static void place_solid(struct tutti_stage *stage, const struct tutti_memory *memory)
{
    const char *base = memory->base;
    if (stage->plan || !stage->solid || memory->kind != TUTTI_MEMORY_DEVICE || stage->user < base ||
        stage->user + stage->bytes > base + memory->bytes)
        return;
    stage->places = (struct tutti_places){.device = 1, .gpu = memory->gpu, .id = memory->id};
}

static int copy_in(struct tutti_stage *stage)
{
    /* One copy of all is as fast, unless most of it is gaps. */
    int dense = !stage->plan || stage->bytes / 4 < (size_t)stage->count * stage->plan->size;
    if (stage->solid || (dense && stage_in_one_allocation(stage)))
        return copy_bytes(stage, 0, stage->memory, stage->bytes, 0);
    return tutti_stage_copy_gaps(stage, 0);
}

/* ---- stages ---- */

/* Reads the type; 0 if the MPI will refuse the call. */
static int stage_shape(struct tutti_stage *stage, MPI_Count *lowest, struct tutti_layout **layout)
{
    MPI_Count lb, extent, true_lb, true_extent, size;
    struct tutti_layout *const known = tutti_layout_of(stage->type);
    const int named = tutti_type_find(stage->type) != NULL || (known && tutti_layout_is_bytes(known));
    *layout = named ? NULL : known;
    if (known) {
        extent = known->extent;
        true_lb = known->true_lower;
        true_extent = known->true_extent;
        size = known->size;
    } else if (tutti_next.MPI_Type_get_extent_x(stage->type, &lb, &extent) != MPI_SUCCESS ||
               tutti_next.MPI_Type_get_true_extent_x(stage->type, &true_lb, &true_extent) != MPI_SUCCESS ||
               tutti_next.MPI_Type_size_x(stage->type, &size) != MPI_SUCCESS) {
        return 0;
    }
    MPI_Count reach = (stage->count - 1) * extent;
    *lowest = true_lb + (reach < 0 ? reach : 0);
    stage->size = (size_t)size;
    stage->bytes = (size_t)((reach < 0 ? -reach : reach) + true_extent);
    stage->extent = extent;
    stage->true_extent = (size_t)true_extent;
    stage->first = true_lb - *lowest;
    stage->origin = -*lowest;
    stage->solid = size == true_extent && (extent == size || stage->count == 1);
    stage->prefix =
        stage->solid && (named || (*layout && ((*layout)->solid || ((*layout)->in_order && stage->count == 1))));
    return 1;
}

/* A message received into memory that is not pinned is copied once more, and the pages of a long one are new for each
 * message. That is cheaper than to pin memory that a message may not need, until some have arrived whole; of long ones
 * as long as what is pinned can be kept for the next. */
static int is_lazy(const struct tutti_stage *stage)
{
    if (!(stage->way & TUTTI_STAGE_LAZY) || !(stage->packed || stage->prefix))
        return 0;
    if (stage->bytes > LAZY_FROM)
        return atomic_load_explicit(&whole_long_ones, memory_order_relaxed) <= 0 || !tutti_bounce_fits(stage->bytes);
    if (stage->way & TUTTI_STAGE_LATER) /* for many messages */
        return 0;
    if (likely(atomic_load_explicit(&whole_ones, memory_order_relaxed) <= 0))
        return 1;
    atomic_fetch_sub_explicit(&whole_ones, 1, memory_order_relaxed);
    return 0;
}

int tutti_stage_open(struct tutti_stage *stage, const void *buffer, MPI_Count count, MPI_Datatype type, int way)
{
    struct tutti_there there = {.staged = 0, .memory = {.kind = TUTTI_MEMORY_HOST}};
    if (count > 0 && type != tutti_handles.no_type) {
        if (way & TUTTI_STAGE_HOST)
            there.staged = stage_needs_host(buffer, type, &there.memory);
        else if (way & TUTTI_STAGE_PART)
            tutti_part_needs_staging(buffer, type, &there);
        else if (buffer != MPI_IN_PLACE)
            tutti_needs_staging_at(buffer, type, &there);
    }
    return tutti_stage_open_at(stage, buffer, count, type, way, &there);
}

int tutti_stage_open_at(struct tutti_stage *stage, const void *buffer, MPI_Count count, MPI_Datatype type, int way,
                        const struct tutti_there *there)
{
    memset(stage, 0, sizeof *stage);
    stage->host = (void *)(uintptr_t)buffer;
    stage->given = type;
    stage->refused = there->staged || there->memory.kind == TUTTI_MEMORY_DEVICE;
    if (!there->staged || count <= 0 || type == tutti_handles.no_type ||
        (buffer == MPI_IN_PLACE && !(way & TUTTI_STAGE_PART)))
        return TUTTI_OK;
    TUTTI_INSIDE();
    MPI_Count lowest;
    struct tutti_layout *layout;
    stage->count = count;
    stage->type = type;
    stage->way = way;
    if (!stage_shape(stage, &lowest, &layout))
        return TUTTI_ERR_ARGUMENT;
    if (stage->size == 0)
        return TUTTI_OK;
    stage->user = (char *)(uintptr_t)buffer + lowest;
    /* ROMIO takes elements without gaps that begin before or behind their address for such that begin there. */
    const int shifted = lowest != 0 && way & TUTTI_STAGE_HOST && way & TUTTI_STAGE_PACKED;
    if (layout && layout->plan && (!stage->prefix || shifted)) {
        tutti_places_of(layout->plan, count, buffer, &stage->places);
        stage->plan = tutti_plan_hold(layout->plan);
    } else if (!stage->solid) {
        stage->own_type = tutti_type_hold(type);
        if (!stage->own_type)
            return TUTTI_ERR_MEMORY;
    }
    stage->image = layout != NULL;
    if (!layout && (!(way & TUTTI_STAGE_LATER) || way & TUTTI_STAGE_STAYS))
        place_solid(stage, &there->memory);
    stage->packed = stage->plan && way & TUTTI_STAGE_PACKED && tutti_layout_packed(layout, type, &stage->given) == 0;
    if (stage->packed)
        stage->bytes = (size_t)count * stage->size;
    stage->ordinary = !layout && !(way & TUTTI_STAGE_LATER) &&
                      takes_ordinary(tutti_door.device, stage->bytes, there->memory.gpu, way & TUTTI_STAGE_OUT);
    stage->lazy = !stage->ordinary && is_lazy(stage);
    if (stage->ordinary || (stage->lazy && stage->bytes <= POOLED_MOST))
        stage->memory = tutti_scratch_take_ordinary(&stage->scratch, stage->bytes);
    else if (stage->lazy)
        stage->memory = tutti_overrun_lend(stage->bytes);
    else if (!layout && !(way & TUTTI_STAGE_OUT))
        stage->memory = tutti_scratch_take_sent(&stage->scratch, stage->bytes, way & TUTTI_STAGE_BRIEF);
    else if (stage->packed || !layout)
        stage->memory = tutti_scratch_take(
            &stage->scratch, stage->packed && !(way & TUTTI_STAGE_HOST) ? &stage->places : NULL, stage->bytes);
    else /* of the program's derived type, which an MPI may take for a type with gaps even if it has no gaps */
        stage->memory = tutti_scratch_take_image(&stage->scratch, stage->bytes, !(way & TUTTI_STAGE_OUT));
    stage->ordinary |= stage->scratch.ordinary;
    stage->host = stage->packed ? stage->memory : stage->memory - lowest;
    stage->staged = 1;
    stage->refused = 0;
    int status = stage->memory ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK && !(way & (TUTTI_STAGE_LATER | TUTTI_STAGE_LEFT)))
        status = tutti_stage_in(stage);
    if (status != TUTTI_OK)
        tutti_stage_close(stage);
    return status;
}

int tutti_stage_in_from(struct tutti_stage *stage, const struct tutti_memory *memory)
{
    const struct tutti_places before = stage->places;
    if (stage->staged && !stage->image)
        place_solid(stage, memory);
    const int status = tutti_stage_in(stage);
    stage->places = before;
    return status;
}

int tutti_stage_in(struct tutti_stage *stage)
{
    TUTTI_INSIDE();
    if (!stage->staged)
        return TUTTI_OK;
    if (!stage->packed) /* what arrives may leave bytes of the image alone: they go back as they were */
        return stage->way & TUTTI_STAGE_IN || !stage->prefix ? copy_in(stage) : TUTTI_OK;
    if (!(stage->way & TUTTI_STAGE_IN))
        return TUTTI_OK;
    return tutti_packed_move(TUTTI_PACK, &stage->places, stage->plan, stage->count, stage->user + stage->origin, 0,
                             stage->bytes, stage->memory);
}

void tutti_stage_came_whole(size_t bytes)
{
    atomic_store_explicit(bytes > LAZY_FROM ? &whole_long_ones : &whole_ones, WHOLE_ONES, memory_order_relaxed);
}

/* Stores a message that arrived after all, through pinned memory. */
static int lazy_out(struct tutti_stage *stage, size_t bytes)
{
    const size_t most = (size_t)tutti_settings()->staging_mb << 20;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes < most ? bytes : most);
    char *piece = bounce ? bounce->memory : NULL, *user = stage->user + stage->origin;
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY;
    tutti_stage_came_whole(bytes);
    for (size_t at = 0; at < bytes && status == TUTTI_OK; at += most) {
        size_t n = bytes - at < most ? bytes - at : most;
        memcpy(piece, stage->memory + at, n);
        status = stage->packed
                     ? tutti_packed_move(TUTTI_UNPACK, &stage->places, stage->plan, stage->count, user, at, n, piece)
                     : copy_bytes(stage, at, piece, n, 1);
    }
    tutti_bounce_give(bounce);
    return status;
}

int tutti_stage_out(struct tutti_stage *stage, MPI_Count bytes)
{
    if (!stage->staged || !(stage->way & TUTTI_STAGE_OUT))
        return TUTTI_OK;
    size_t n = stage->bytes;
    if ((stage->prefix || stage->packed) && bytes >= 0 && (size_t)bytes < n)
        n = (size_t)bytes;
    if (stage->lazy)
        return n ? lazy_out(stage, n) : TUTTI_OK;
    if (stage->packed)
        return tutti_packed_move(TUTTI_UNPACK, &stage->places, stage->plan, stage->count, stage->user + stage->origin,
                                 0, n, stage->memory);
    if (!stage->solid)
        return tutti_stage_copy_gaps(stage, 1);
    return n ? copy_bytes(stage, 0, stage->memory, n, 1) : TUTTI_OK;
}

void tutti_stage_shorten(struct tutti_stage *stage, MPI_Count count)
{
    if (!stage->staged || count >= stage->count)
        return;
    stage->count = count;
    if (stage->packed)
        stage->bytes = count > 0 ? (size_t)count * stage->size : 0;
    else if (stage->solid) /* elements follow each other upwards */
        stage->bytes = count > 0 ? (size_t)((count - 1) * stage->extent) + stage->true_extent : 0;
}

void tutti_stage_close(struct tutti_stage *stage)
{
    if (!stage->staged)
        return;
    if (!stage->lazy || stage->scratch.bounce)
        tutti_scratch_give(&stage->scratch);
    else
        tutti_overrun_return(stage->memory);
    if (stage->plan)
        tutti_plan_drop(stage->plan);
    if (stage->own_type)
        tutti_type_release(stage->type);
    stage->staged = 0;
    stage->memory = NULL;
    stage->plan = NULL;
}

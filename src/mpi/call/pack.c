/* MPI_Pack and its like where device memory is involved: one kernel where kernels reach both sides, by pinned memory in
 * pieces where one side is the host's, and through the MPI on host memory for types without a plan. The packed form is
 * that of the MPI's own MPI_Pack, so that either side may unpack what the other has packed. */
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/log.h"
#include "core/settings.h"
#include "mpi/bounce/stage.h"
#include "mpi/message/endpoints.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"

/* One call. The first of its two buffers is laid out by the type, the second is the packed message. */
struct packing {
    const char *name;
    enum tutti_direction direction;
    void *elements, *message; /* of the program; message: at the position */
    MPI_Count count;
    MPI_Datatype type;
    MPI_Count room, moved; /* bytes of the message that there are, and that were moved */
};

/* ---- how the MPI packs ---- */

/* 1 if the MPI's packed form is the elements' bytes in order and nothing else; asked of the MPI itself. */
static int ask_plain(void)
{
    struct gapped {
        char a;
        int b;
        double c;
    } from = {1, 2, 3.0};
    int lengths[] = {1, 1, 1}, position = 0;
    MPI_Aint places[] = {0, offsetof(struct gapped, b), offsetof(struct gapped, c)};
    MPI_Datatype parts[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE}, type;
    char packed[256] = "", plain[sizeof(char) + sizeof(int) + sizeof(double)];
    if (tutti_next.MPI_Type_create_struct(3, lengths, places, parts, &type) != MPI_SUCCESS)
        return 0;
    int fine =
        tutti_next.MPI_Type_commit(&type) == MPI_SUCCESS &&
        tutti_next.MPI_Pack(&from, 1, type, packed, (int)sizeof packed, &position, tutti_handles.self) == MPI_SUCCESS;
    tutti_next.MPI_Type_free(&type);
    memcpy(plain, &from.a, sizeof from.a);
    memcpy(plain + sizeof from.a, &from.b, sizeof from.b);
    memcpy(plain + sizeof from.a + sizeof from.b, &from.c, sizeof from.c);
    return fine && position == (int)sizeof plain && memcmp(packed, plain, sizeof plain) == 0;
}

static int packs_plainly(void)
{
    int is = atomic_load_explicit(&tutti_quirks.packs_plainly, memory_order_relaxed);
    if (unlikely(is == TUTTI_QUIRK_ASK)) {
        TUTTI_INSIDE();
        is = ask_plain();
        atomic_store_explicit(&tutti_quirks.packs_plainly, is, memory_order_relaxed);
    }
    return is;
}

/* ---- kernels ---- */

static size_t pack_piece_bytes(size_t all)
{
    size_t most = (size_t)tutti_settings()->staging_mb << 20;
    return all < most ? all : most;
}

/* A part of the message, into pinned memory or out of it. */
static int piece_copy(const struct packing *call, const struct tutti_memory *message, size_t at, char *piece,
                      size_t bytes)
{
    const int out = call->direction == TUTTI_PACK;
    char *const there = (char *)call->message + at, *const base = message->base;
    if (message->kind == TUTTI_MEMORY_HOST) {
        memcpy(out ? there : piece, out ? piece : there, bytes);
        return TUTTI_OK;
    }
    if (message->kind == TUTTI_MEMORY_DEVICE && there >= base && there + bytes <= base + message->bytes)
        return tutti_copy_known(message->gpu, there, piece, bytes, out);
    return tutti_door.device->memory.copy_now(out ? there : piece, out ? piece : there, bytes);
}

/* A part of the elements, which lie in memory of a GPU, into pinned memory or out of it. */
static int piece_move(const struct packing *call, const struct tutti_plan *plan, const struct tutti_places *places,
                      size_t at, char *piece, size_t bytes)
{
    struct tutti_elements elements = tutti_message_elements(call->elements, call->count, tutti_layout_of(call->type));
    const int in = call->direction == TUTTI_UNPACK;
    if (places->id && elements.plan == plan && elements.whole)
        return tutti_copy_known(places->gpu, tutti_elements_run(&elements) + at, piece, bytes, in);
    return tutti_packed_move(call->direction, places, plan, call->count, call->elements, at, bytes, piece);
}

/* One side is pageable host memory, or another GPU's: by way of pinned memory, piece by piece. */
static int in_pieces(const struct packing *call, const struct tutti_plan *plan, const struct tutti_places *places,
                     const struct tutti_memory *message, size_t bytes)
{
    const size_t most = pack_piece_bytes(bytes);
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, most);
    char *piece = bounce ? bounce->memory : NULL;
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY, packs = call->direction == TUTTI_PACK;
    for (size_t at = 0; at < bytes && status == TUTTI_OK; at += most) {
        size_t n = bytes - at < most ? bytes - at : most;
        if (places->device) {
            if (!packs)
                status = piece_copy(call, message, at, piece, n);
            if (status == TUTTI_OK)
                status = piece_move(call, plan, places, at, piece, n);
            if (packs && status == TUTTI_OK)
                status = piece_copy(call, message, at, piece, n);
        } else if (packs) {
            tutti_plan_pack_host(plan, (uint64_t)call->count, call->elements, at, n, piece);
            status = piece_copy(call, message, at, piece, n);
        } else if ((status = piece_copy(call, message, at, piece, n)) == TUTTI_OK) {
            tutti_plan_unpack_host(plan, (uint64_t)call->count, call->elements, at, n, piece);
        }
    }
    tutti_bounce_give(bounce);
    return status;
}

/* *how says how it was done. */
static int by_plan(const struct packing *call, const struct tutti_plan *plan, size_t bytes, const char **how)
{
    struct tutti_places places;
    struct tutti_memory message;
    tutti_places_of(plan, call->count, call->elements, &places);
    tutti_memory_at(tutti_door.device, call->message, &message);
    int on_host = message.kind == TUTTI_MEMORY_HOST, apart = 0;
    if (message.kind == TUTTI_MEMORY_DEVICE && places.device && message.gpu >= 0 && places.gpu >= 0)
        apart = message.gpu != places.gpu;
    if (!tutti_places_reached(&places) && places.device) {
        *how = places.spread ? "memory of two GPUs, block by block" : "device and host memory, block by block";
        return tutti_packed_move(call->direction, &places, plan, call->count, call->elements, 0, bytes, call->message);
    }
    if (on_host || places.host || apart) {
        *how = apart           ? "kernel, another GPU on one side"
               : places.device ? "kernel, host memory on one side"
                               : "host memory on one side";
        return in_pieces(call, plan, &places, &message, bytes);
    }
    *how = "kernel";
    if (!places.device)
        places.gpu = message.gpu;
    return tutti_packed_move(call->direction, &places, plan, call->count, call->elements, 0, bytes, call->message);
}

/* ---- through the MPI ---- */

static int pack_failed(const struct packing *call, int status, int *code)
{
    tutti_count(call->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    tutti_error("%s: moving device memory failed: %s", call->name, tutti_status_text(status));
    *code = tutti_error_code(status);
    return 0;
}

/* A part of the message in host memory, where the MPI can use it. */
struct part {
    char *host;
    size_t bytes;
    struct tutti_bounce *bounce; /* where `host` lies; NULL: in the message itself */
};

static int part_open(struct part *part, const struct packing *call, MPI_Count most)
{
    *part = (struct part){call->message, (size_t)call->room, NULL};
    if (!tutti_on_device(call->message))
        return TUTTI_OK;
    /* Whole messages may be larger by far than this element of them. */
    part->bytes = (size_t)(most >= 0 && most < call->room ? most : call->room);
    if (!(part->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, part->bytes)))
        return TUTTI_ERR_MEMORY;
    part->host = part->bounce->memory;
    return call->direction == TUTTI_UNPACK && part->bytes
               ? tutti_door.device->memory.copy_now(part->host, call->message, part->bytes)
               : TUTTI_OK;
}

static int part_close(struct part *part, const struct packing *call, size_t bytes)
{
    int status = TUTTI_OK;
    if (part->bounce && call->direction == TUTTI_PACK && bytes)
        status = tutti_door.device->memory.copy_now(call->message, part->host, bytes);
    tutti_bounce_give(part->bounce);
    return status;
}

/* The real call on host memory of `bytes` bytes, from its beginning; *position is what was moved. An MPI code. */
typedef int real_call(void *with, const struct packing *call, void *elements, void *message, size_t bytes,
                      MPI_Count *position);

/* 1 if a side has no address. The MPI does not see the elements, so it cannot refuse them. */
static int pack_lacks_buffer(const struct packing *call, int *code)
{
    if (call->message && !tutti_lacks_buffer(call->elements, call->count, call->type))
        return 0;
    *code = MPI_ERR_BUFFER;
    return 1;
}

/* 1: done, *code is the MPI's; 0: failed, *code is for the error handler. */
static int pack_staged(struct packing *call, enum tutti_reason reason, const char *how, real_call *real, void *with,
                       MPI_Count most, int *code)
{
    struct tutti_stage stage;
    struct part part = {NULL, 0, NULL};
    MPI_Count position = 0;
    int way = call->direction == TUTTI_PACK ? TUTTI_STAGE_IN : TUTTI_STAGE_OUT;
    *code = MPI_SUCCESS;
    int status = tutti_stage_open(&stage, call->elements, call->count, call->type, way);
    if (status == TUTTI_OK)
        status = part_open(&part, call, most);
    if (status == TUTTI_OK) {
        TUTTI_INSIDE();
        tutti_found_end();
        *code = real(with, call, stage.host, part.host, part.bytes, &position);
    }
    if (status == TUTTI_OK && *code == MPI_SUCCESS)
        status = tutti_stage_out(&stage, -1);
    int moved = status == TUTTI_OK && *code == MPI_SUCCESS;
    int closed = part_close(&part, call, moved ? (size_t)position : 0);
    tutti_stage_close(&stage);
    status = status == TUTTI_OK ? closed : status;
    if (status != TUTTI_OK)
        return pack_failed(call, status, code);
    call->moved = position;
    tutti_count_staged(call->name, reason, how, (uint64_t)position);
    return 1;
}

/* ---- calls ---- */

static int too_small(const struct packing *call, MPI_Count bytes)
{
    tutti_error("%s: %lld elements take %lld bytes, but from the position on the buffer has %lld", call->name,
                (long long)call->count, (long long)bytes, (long long)(call->room > 0 ? call->room : 0));
    tutti_count(call->name, TUTTI_OUTCOME_FAILED, "buffer too small");
    return MPI_ERR_TRUNCATE;
}

/* 1: done, *code is the MPI's; 0: failed, *code is for the error handler. The MPI has accepted the arguments. */
static int pack_move(struct packing *call, real_call *real, void *with, int *code)
{
    struct tutti_layout *layout = tutti_layout_of(call->type);
    MPI_Count bytes;
    const char *how;
    *code = MPI_SUCCESS;
    if (!layout)
        return pack_failed(call, TUTTI_ERR_MEMORY, code);
    if (__builtin_mul_overflow(layout->size, call->count, &bytes) || bytes > call->room) {
        *code = too_small(call, bytes);
        return 0;
    }
    if (bytes == 0)
        return 1;
    if (pack_lacks_buffer(call, code))
        return 0;
    if (!packs_plainly())
        return pack_staged(call, TUTTI_REASON_PACKED_FORM, NULL, real, with, -1, code);
    if (!layout->plan)
        return pack_staged(call, TUTTI_REASON_TYPE, layout->why, real, with, bytes, code);
    TUTTI_FOUND_OF(call->elements, call->message);
    tutti_inside++;
    int status = by_plan(call, layout->plan, (size_t)bytes, &how);
    tutti_inside--;
    if (status != TUTTI_OK)
        return pack_failed(call, status, code);
    call->moved = bytes;
    tutti_count_made(call->name, how, (uint64_t)bytes);
    return 1;
}

/* The MPI checks its arguments, and raises its errors. By the size of nothing: not every MPI unpacks nothing
 * (quirks.h). */
static int external_checked(const char *datarep, MPI_Datatype type)
{
    MPI_Aint bytes;
    return tutti_next.MPI_Pack_external_size(datarep, 0, type, &bytes);
}

/* More than external32 makes of the elements; -1: not known. */
static MPI_Count external_most(const struct packing *call)
{
    const struct tutti_layout *layout = tutti_layout_of(call->type);
    MPI_Count bytes;
    if (!layout || __builtin_mul_overflow(layout->size, call->count, &bytes) ||
        __builtin_mul_overflow(bytes, (MPI_Count)4, &bytes))
        return -1;
    return bytes;
}

/* 1: done, *code is the MPI's; 0: failed, *code is for the error handler. */
static int external_move(struct packing *call, real_call *real, const char *datarep, int *code)
{
    const MPI_Count most = external_most(call);
    return (most == 0 || !pack_lacks_buffer(call, code)) &&
           pack_staged(call, TUTTI_REASON_EXTERNAL, NULL, real, (void *)(uintptr_t)datarep, most, code);
}

/* 1 if a call must not go to the MPI as it is. Memory that both reach may: the MPI packs it. */
static inline int pack_is_ours(const void *elements, MPI_Datatype type, const void *message)
{
    if (likely(!tutti_device_active(tutti_door.device)) || tutti_inside)
        return 0;
    return tutti_on_device(elements) || tutti_on_device(message) ||
           (unlikely(!tutti_type_find(type)) && tutti_elements_on_device(elements, type));
}

#define WIDTHS_OF "mpi/call/pack.inc"
#include "mpi/real/widths.inc"

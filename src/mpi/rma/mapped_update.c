/* Accumulating operations of mapped windows. While a rank updates elements of a target no other rank does, so each
 * element is updated by one operation at a time, of any types and operators. One word of 4 or 8 bytes is
 * updated by the kernel of atomics, elements without gaps by the kernel of MPI_Reduce_local on the target's memory, all
 * others by the host, in pinned memory. */
#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "core/log.h"
#include "kernels/reduce.h"
#include "mpi/message/endpoints.h"
#include "mpi/rma/mapped.h"
#include "mpi/type/envelope.h"

enum { PIECE = 1 << 20 };

/* An operation under way. Buffers that it does not have hold no bytes. */
struct update {
    struct tutti_mapped *mapped;
    const struct tutti_rma *rma;
    struct tutti_mapped_buffer *target;
    struct tutti_mapped_buffer buffer[TUTTI_RMA_BUFFERS];
    MPI_Datatype basic;
    const struct tutti_type_row *type; /* of `basic`; NULL: kernels do not reduce it */
    int op;                            /* enum tutti_op, or TUTTI_OP_NONE */
    int replaces, reads;               /* MPI_REPLACE, MPI_NO_OP */
};

/* The one predefined type that elements of a type are made of. */
static MPI_Datatype basic_of(MPI_Datatype type)
{
    struct tutti_reading reading = {.why = NULL};
    struct tutti_contents what;
    while (!tutti_type_find(type) && tutti_envelope(type, &what) == TUTTI_OK &&
           !tutti_combiner_predefined(what.combiner) && what.types > 0 &&
           tutti_contents(&reading, type, &what) == TUTTI_OK)
        type = what.type[0];
    tutti_describe_end(&reading);
    return type;
}

/* ---- one word ---- */

static uint64_t update_word_bits(const void *memory, size_t bytes)
{
    uint32_t half;
    uint64_t whole;
    memcpy(bytes == sizeof half ? (void *)&half : (void *)&whole, memory, bytes);
    return bytes == sizeof half ? half : whole;
}

/* The kernel's form of the operation; 0: none. */
static int update_word_kind(const struct update *u, enum tutti_amo_what *what, int *type, int *op)
{
    static const int words[2] = {TUTTI_TYPE_U32, TUTTI_TYPE_U64};
    const int wide = u->target->bytes == sizeof(uint64_t);
    *type = words[wide];
    *op = TUTTI_OP_SUM;
    *what = u->rma->kind == TUTTI_RMA_COMPARE_AND_SWAP ? TUTTI_AMO_COMPARE_SWAP
            : u->reads                                 ? TUTTI_AMO_FETCH
            : u->replaces                              ? TUTTI_AMO_SWAP
                                                       : TUTTI_AMO_COMBINE;
    if (*what != TUTTI_AMO_COMBINE)
        return 1;
    if (!u->type || !(u->type->legal >> u->op & 1))
        return 0;
    *op = u->op;
    switch (u->type->type) {
    case TUTTI_TYPE_F32:
    case TUTTI_TYPE_F64:
        *type = u->type->type;
        return u->op == TUTTI_OP_SUM;
    case TUTTI_TYPE_I32:
    case TUTTI_TYPE_U32:
    case TUTTI_TYPE_I64:
    case TUTTI_TYPE_U64:
        return u->op == TUTTI_OP_SUM || u->op == TUTTI_OP_BAND || u->op == TUTTI_OP_BOR || u->op == TUTTI_OP_BXOR;
    default:
        return 0;
    }
}

static int update_word_can(const struct update *u)
{
    const uint64_t bytes = u->target->bytes;
    int fine = (bytes == sizeof(uint32_t) || bytes == sizeof(uint64_t)) && u->target->elements.whole &&
               (uintptr_t)tutti_elements_run(&u->target->elements) % bytes == 0;
    MPI_Count size = 0;
    fine = fine && tutti_next.MPI_Type_size_x(u->basic, &size) == MPI_SUCCESS && (uint64_t)size == bytes;
    for (int i = 0; i < TUTTI_RMA_BUFFERS && fine; i++)
        fine = u->buffer[i].bytes == 0 || u->buffer[i].elements.whole;
    return fine && tutti_mapped_words_can();
}

static int update_word_copy(void *to, const void *from, size_t bytes, const struct tutti_mapped_buffer *buffer)
{
    if (buffer->elements.places.device)
        return tutti_door.device->memory.copy_now(to, from, bytes);
    memcpy(to, from, bytes);
    return TUTTI_OK;
}

/* The mutex is held. */
static int update_word_run(struct update *u, enum tutti_amo_what what, int type, int op)
{
    struct tutti_mapped *mapped = u->mapped;
    const size_t bytes = (size_t)u->target->bytes;
    struct tutti_mapped_buffer *from = &u->buffer[TUTTI_RMA_ORIGIN], *compare = &u->buffer[TUTTI_RMA_COMPARE],
                               *result = &u->buffer[TUTTI_RMA_RESULT];
    int status = tutti_mapped_words_open(mapped);
    struct tutti_mapped_words *words = mapped->words;
    if (status == TUTTI_OK && from->bytes > 0)
        status = update_word_copy(&words->value, tutti_elements_run(&from->elements), bytes, from);
    if (status == TUTTI_OK && compare->bytes > 0)
        status = update_word_copy(&words->expected, tutti_elements_run(&compare->elements), bytes, compare);
    if (status != TUTTI_OK)
        return status;
    struct tutti_amo_args args = {.at = tutti_elements_run(&u->target->elements),
                                  .value = update_word_bits(&words->value, bytes),
                                  .expected = update_word_bits(&words->expected, bytes),
                                  .what = (uint32_t)what,
                                  .launch_number = TUTTI_MAPPED_DONE,
                                  .was = &words->was,
                                  .done = &words->done};
    const struct tutti_launch launch = {.kernel = TUTTI_KERNEL_AMO,
                                        .type = type,
                                        .op = op,
                                        .blocks = 1,
                                        .threads = 32,
                                        .gpu = tutti_mapped_words_gpu(mapped),
                                        .amo = &args};
    status = tutti_mapped_words_launch(mapped, &launch);
    if (status != TUTTI_OK || result->bytes == 0)
        return status;
    const uint64_t was = words->was;
    const uint32_t half = (uint32_t)was;
    memcpy(&words->value, bytes == sizeof half ? (const void *)&half : (const void *)&was, bytes);
    return update_word_copy(tutti_elements_run(&result->elements), &words->value, bytes, result);
}

/* ---- by the host ---- */

/* n elements in pinned memory: `to` = `from` op `to`. */
static int update_combine(const struct update *u, const void *from, void *to, uint64_t n)
{
    if (u->type && !u->type->host_ok) {
        const void *const both[2] = {from, to};
        tutti_reduce_host(u->type->type, u->op, 2, both, to, (size_t)n);
        return TUTTI_OK;
    }
    TUTTI_INSIDE();
    return tutti_next.MPI_Reduce_local(from, to, (int)n, u->basic, u->rma->op) == MPI_SUCCESS ? TUTTI_OK
                                                                                              : TUTTI_ERR_ARGUMENT;
}

/* The same of packed elements: those of pairs may have gaps in memory. */
static int update_combine_packed(const struct update *u, const struct tutti_plan *basic, const char *from, char *to,
                                 uint64_t n)
{
    const uint64_t room = n * (uint64_t)basic->extent, bytes = n * basic->size;
    if ((uint64_t)basic->extent == basic->size)
        return update_combine(u, from, to, n);
    char *wide = calloc(2, (size_t)room);
    if (!wide)
        return TUTTI_ERR_MEMORY;
    tutti_plan_unpack_host(basic, n, wide, 0, bytes, from);
    tutti_plan_unpack_host(basic, n, wide + room, 0, bytes, to);
    const int status = update_combine(u, wide, wide + room, n);
    tutti_plan_pack_host(basic, n, wide + room, 0, bytes, to);
    free(wide);
    return status;
}

static int update_by_host(struct update *u)
{
    const struct tutti_layout *layout = tutti_layout_of(u->basic);
    struct tutti_mapped_buffer *from = &u->buffer[TUTTI_RMA_ORIGIN];
    if (!layout || !layout->plan || layout->plan->size == 0)
        return layout ? TUTTI_ERR_UNAVAILABLE : TUTTI_ERR_MEMORY;
    const uint64_t size = layout->plan->size, bytes = u->target->bytes, most = PIECE / size * size,
                   piece = bytes < most ? bytes : most;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, 2 * (size_t)piece);
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (uint64_t done = 0; done < bytes && status == TUTTI_OK; done += piece) {
        const uint64_t n = bytes - done < piece ? bytes - done : piece;
        char *there = bounce->memory, *mine = there + piece;
        status = tutti_mapped_part(u->mapped, TUTTI_PACK, u->target, done, n, there);
        if (status == TUTTI_OK)
            status = tutti_mapped_part(u->mapped, TUTTI_PACK, from, done, n, mine);
        if (status == TUTTI_OK)
            status = update_combine_packed(u, layout->plan, mine, there, n / size);
        if (status == TUTTI_OK)
            status = tutti_mapped_part(u->mapped, TUTTI_UNPACK, u->target, done, n, there);
    }
    tutti_bounce_give(bounce);
    return status;
}

static int update_swap_by_host(struct update *u)
{
    const size_t bytes = (size_t)u->target->bytes;
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, 3 * bytes);
    if (!bounce)
        return TUTTI_ERR_MEMORY;
    char *there = bounce->memory, *expected = there + bytes, *value = expected + bytes;
    int status = tutti_mapped_part(u->mapped, TUTTI_PACK, u->target, 0, bytes, there);
    if (status == TUTTI_OK)
        status = tutti_mapped_part(u->mapped, TUTTI_PACK, &u->buffer[TUTTI_RMA_COMPARE], 0, bytes, expected);
    if (status == TUTTI_OK && memcmp(there, expected, bytes) == 0) {
        status = tutti_mapped_part(u->mapped, TUTTI_PACK, &u->buffer[TUTTI_RMA_ORIGIN], 0, bytes, value);
        if (status == TUTTI_OK)
            status = tutti_mapped_part(u->mapped, TUTTI_UNPACK, u->target, 0, bytes, value);
    }
    if (status == TUTTI_OK)
        status = tutti_mapped_part(u->mapped, TUTTI_UNPACK, &u->buffer[TUTTI_RMA_RESULT], 0, bytes, there);
    tutti_bounce_give(bounce);
    return status;
}

/* ---- all elements ---- */

/* 1 if elements of this buffer lie one behind the other, as the kernel of MPI_Reduce_local takes them. */
static int update_kernel_takes(const struct update *u, const struct tutti_mapped_buffer *buffer)
{
    const size_t size = tutti_type_size(u->type->type);
    return buffer->reached && buffer->elements.whole && (size & (size - 1)) == 0 &&
           (uintptr_t)tutti_elements_run(&buffer->elements) % size == 0;
}

/* 1 if a kernel combines the elements at the target. */
static int update_kernel_can(const struct update *u)
{
    return u->type && u->op != TUTTI_OP_NONE && (u->type->legal >> u->op & 1) && update_kernel_takes(u, u->target);
}

/* An origin that the kernel does not take is packed into pinned memory. TUTTI_ERR_UNAVAILABLE: nothing was done. */
static int update_by_kernel(struct update *u)
{
    struct tutti_mapped_buffer *from = &u->buffer[TUTTI_RMA_ORIGIN];
    if (!update_kernel_can(u))
        return TUTTI_ERR_UNAVAILABLE;
    const uint64_t size = tutti_type_size(u->type->type), bytes = u->target->bytes;
    char *to = tutti_elements_run(&u->target->elements);
    if (update_kernel_takes(u, from))
        return tutti_reduce_local(u->mapped->gpu, tutti_elements_run(&from->elements), to, (size_t)(bytes / size),
                                  u->type->type, u->op);
    const uint64_t piece = bytes < PIECE ? bytes : PIECE; /* whole elements: their sizes are powers of two */
    struct tutti_bounce *bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, (size_t)piece);
    int status = bounce ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (uint64_t done = 0; done < bytes && status == TUTTI_OK; done += piece) {
        const uint64_t n = bytes - done < piece ? bytes - done : piece;
        status = tutti_mapped_part(u->mapped, TUTTI_PACK, from, done, n, bounce->memory);
        if (status == TUTTI_OK)
            status =
                tutti_reduce_local(u->mapped->gpu, bounce->memory, to + done, (size_t)(n / size), u->type->type, u->op);
        if (status == TUTTI_ERR_UNAVAILABLE && done > 0) /* a part is done */
            status = TUTTI_ERR_DEVICE;
    }
    tutti_bounce_give(bounce);
    return status;
}

static int update_elements(struct update *u)
{
    struct tutti_mapped_buffer *from = &u->buffer[TUTTI_RMA_ORIGIN], *result = &u->buffer[TUTTI_RMA_RESULT];
    int status = result->bytes > 0 ? tutti_mapped_move(u->mapped, u->target, result) : TUTTI_OK;
    if (status != TUTTI_OK || u->reads)
        return status;
    if (u->replaces)
        return tutti_mapped_move(u->mapped, from, u->target);
    status = update_by_kernel(u);
    return status == TUTTI_ERR_UNAVAILABLE ? update_by_host(u) : status;
}

static int update_run(struct update *u)
{
    enum tutti_amo_what what;
    int type, op, status;
    if (update_word_can(u) && update_word_kind(u, &what, &type, &op)) {
        pthread_mutex_lock(&u->mapped->mutex);
        status = update_word_run(u, what, type, op);
        pthread_mutex_unlock(&u->mapped->mutex);
        return status;
    }
    return u->rma->kind == TUTTI_RMA_COMPARE_AND_SWAP ? update_swap_by_host(u) : update_elements(u);
}

static struct update update_of(const struct tutti_rma *rma)
{
    struct update u = {.rma = rma, .basic = basic_of(rma->to.type)};
    u.type = tutti_type_find(u.basic);
    u.replaces = rma->op == tutti_handles.op_replaces;
    u.reads = rma->op == tutti_handles.op_reads && rma->kind != TUTTI_RMA_COMPARE_AND_SWAP;
    u.op = u.replaces || u.reads ? TUTTI_OP_NONE : tutti_op_find(rma->op);
    return u;
}

int tutti_mapped_combine(const struct tutti_rma *rma, const void *from, void *to, uint64_t bytes)
{
    const struct update u = update_of(rma);
    const struct tutti_layout *layout = tutti_layout_of(u.basic);
    if (u.reads)
        return TUTTI_OK;
    if (u.replaces) {
        memcpy(to, from, (size_t)bytes);
        return TUTTI_OK;
    }
    if (!layout || !layout->plan || layout->plan->size == 0)
        return layout ? TUTTI_ERR_UNAVAILABLE : TUTTI_ERR_MEMORY;
    return update_combine_packed(&u, layout->plan, from, to, bytes / layout->plan->size);
}

/* ---- by the call that completes it ---- */

static int update_waits(const struct update *u)
{
    return u->rma->kind == TUTTI_RMA_ACCUMULATE && u->target->bytes <= TUTTI_MAPPED_BATCH_MOST &&
           update_kernel_can(u) && tutti_mapped_words_can();
}

static int update_later(struct update *u, const struct tutti_memory *origin)
{
    struct tutti_mapped_buffer *from = &u->buffer[TUTTI_RMA_ORIGIN];
    struct tutti_mapped_added added = {.target = u->rma->target,
                                       .from = tutti_elements_run(&from->elements),
                                       .to = tutti_elements_run(&u->target->elements),
                                       .bytes = u->target->bytes,
                                       .memory = *origin};
    if (!update_kernel_takes(u, from)) {
        added.memory.kind = TUTTI_MEMORY_HOST; /* the program may free it */
        added.bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, (size_t)added.bytes);
        if (!added.bounce)
            return TUTTI_ERR_MEMORY;
        added.from = added.bounce->memory;
        const int status = tutti_mapped_part(u->mapped, TUTTI_PACK, from, 0, added.bytes, added.bounce->memory);
        if (status != TUTTI_OK) {
            tutti_bounce_give(added.bounce);
            return status;
        }
    }
    return tutti_mapped_batch_add(u->mapped, &added, u->type->type, u->op);
}

int tutti_mapped_update(struct tutti_mapped *mapped, const struct tutti_rma *rma, struct tutti_mapped_buffer *target,
                        int now)
{
    struct update u = update_of(rma);
    int status = TUTTI_OK;
    if (target->bytes == 0)
        return TUTTI_OK;
    u.mapped = mapped;
    u.target = target;
    struct tutti_memory origin = {.kind = TUTTI_MEMORY_HOST};
    if (rma->kind == TUTTI_RMA_ACCUMULATE && rma->buffer[TUTTI_RMA_ORIGIN].count > 0)
        tutti_mapped_batch_origin(mapped, rma->buffer[TUTTI_RMA_ORIGIN].memory, &origin);
    for (int i = 0; i < TUTTI_RMA_BUFFERS && status == TUTTI_OK; i++) {
        const struct tutti_rma_buffer *buffer = &rma->buffer[i];
        if (buffer->count > 0)
            status = tutti_mapped_buffer(mapped, buffer->memory, buffer->count, buffer->type,
                                         i == TUTTI_RMA_ORIGIN ? &origin : NULL, &u.buffer[i]);
    }
    if (status != TUTTI_OK)
        return status;
    if (update_waits(&u)) {
        status = update_later(&u, &origin);
        return status == TUTTI_OK && now ? tutti_mapped_batch_run(mapped) : status;
    }
    status = tutti_mapped_batch_run(mapped);
    if (status == TUTTI_OK)
        status = tutti_mapped_update_begin(mapped, rma->target);
    if (status != TUTTI_OK)
        return status;
    status = update_run(&u);
    tutti_mapped_update_end(mapped, rma->target);
    return status;
}

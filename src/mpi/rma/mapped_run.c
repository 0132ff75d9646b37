/* Operations on mapped windows, from their arguments to their way. */
#include "core/counters.h"
#include "mpi/message/endpoints.h"
#include "mpi/real/errors.h"
#include "mpi/rma/attachments.h"
#include "mpi/rma/mapped.h"

/* 1 if the MPI refuses the arguments, whose error is the program's. */
static int mapped_run_is_wrong(const struct tutti_window *window, const struct tutti_rma *rma)
{
    const int n = window->attached ? window->attached->n : window->mapped->n;
    if (rma->target < 0 || rma->target >= n || rma->to.count < 0 || rma->to.type == tutti_handles.no_type ||
        !tutti_type_is_fine(rma->to.type))
        return 1;
    for (int i = 0; i < TUTTI_RMA_BUFFERS; i++) {
        const struct tutti_rma_buffer *buffer = &rma->buffer[i];
        if (buffer->count < 0 ||
            (buffer->count > 0 && (buffer->type == tutti_handles.no_type || !tutti_type_is_fine(buffer->type))))
            return 1;
    }
    return 0;
}

/* Bytes that the operation reaches at the target, from where its displacement points. 0: more than there can be. */
struct span {
    int64_t first, end;
};

static int mapped_run_span_of(const struct tutti_rma *rma, const struct tutti_layout *layout, struct span *span)
{
    int64_t reach;
    if (__builtin_mul_overflow((int64_t)rma->to.count - 1, (int64_t)layout->extent, &reach))
        return 0;
    span->first = layout->true_lower + (reach < 0 ? reach : 0);
    span->end = layout->true_lower + layout->true_extent + (reach > 0 ? reach : 0);
    return 1;
}

static void mapped_run_target_set(const struct tutti_mapped *mapped, const struct tutti_rma *rma, char *memory,
                                  const struct tutti_layout *layout, struct tutti_mapped_buffer *out)
{
    out->memory = memory;
    if (!layout->plan)
        return;
    out->elements = tutti_message_elements(memory, rma->to.count, layout);
    out->elements.places = (struct tutti_places){.device = 1, .gpu = mapped->gpu};
    out->elements.placed = 1;
    out->reached = 1;
}

/* The part of the target's window: 0 if the operation leaves the window. */
static int mapped_run_target_of(const struct tutti_mapped *mapped, const struct tutti_rma *rma,
                                const struct tutti_layout *layout, const struct span *span,
                                struct tutti_mapped_buffer *out)
{
    const struct tutti_mapped_peer *peer = &mapped->peer[rma->target];
    int64_t at, first, end;
    if (__builtin_mul_overflow((int64_t)rma->disp, peer->unit, &at) ||
        __builtin_add_overflow(at, span->first, &first) || __builtin_add_overflow(at, span->end, &end) || first < 0 ||
        (uint64_t)end > peer->bytes)
        return 0;
    mapped_run_target_set(mapped, rma, peer->base + at, layout, out);
    return 1;
}

static int mapped_run_move(struct tutti_mapped *mapped, struct tutti_rma *rma, struct tutti_mapped_buffer *target,
                           int now)
{
    const int put = rma->kind == TUTTI_RMA_PUT;
    const struct tutti_rma_buffer *mine = &rma->buffer[put ? TUTTI_RMA_ORIGIN : TUTTI_RMA_RESULT];
    struct tutti_mapped_buffer buffer = {.bytes = 0};
    if (mine->count == 0 || target->bytes == 0)
        return TUTTI_OK;
    int status = tutti_mapped_buffer(mapped, mine->memory, mine->count, mine->type, NULL, &buffer);
    if (status != TUTTI_OK)
        return status;
    if (buffer.bytes != target->bytes)
        return TUTTI_ERR_ARGUMENT;
    struct tutti_mapped_buffer *from = put ? &buffer : target, *to = put ? target : &buffer;
    return now ? tutti_mapped_move(mapped, from, to) : tutti_mapped_move_later(mapped, from, to);
}

static enum tutti_rma_way mapped_run_failed(struct tutti_rma *rma, int code)
{
    rma->code = code;
    return TUTTI_RMA_FAILED;
}

/* Something that is complete for the program's request to stand for. */
static enum tutti_rma_way mapped_run_done(struct tutti_rma *rma, MPI_Request *request)
{
    TUTTI_INSIDE();
    rma->code = request
                    ? tutti_next.MPI_Irecv(NULL, 0, tutti_handles.byte, MPI_PROC_NULL, 0, tutti_handles.self, request)
                    : MPI_SUCCESS;
    return TUTTI_RMA_DONE;
}

static int mapped_run_updates(const struct tutti_rma *rma)
{
    return rma->kind != TUTTI_RMA_PUT && rma->kind != TUTTI_RMA_GET;
}

static int mapped_run_elements(struct tutti_mapped *mapped, struct tutti_rma *rma, struct tutti_mapped_buffer *target,
                               int now)
{
    int status = TUTTI_ERR_UNAVAILABLE;
    if (target->bytes == 0)
        return TUTTI_OK;
    if (target->elements.plan)
        status = mapped_run_updates(rma) ? tutti_mapped_update(mapped, rma, target, now)
                                         : mapped_run_move(mapped, rma, target, now);
    if (status != TUTTI_ERR_UNAVAILABLE || tutti_mapped_has_plans(rma))
        return status;
    status = mapped_run_updates(rma) ? tutti_mapped_batch_run(mapped) : TUTTI_OK; /* nothing was done */
    return status == TUTTI_OK ? tutti_mapped_long(mapped, rma, target->memory, target->bytes, 1) : status;
}

/* The operation has ended with this status. */
static enum tutti_rma_way mapped_run_ended(struct tutti_rma *rma, int status, MPI_Request *request)
{
    if (status != TUTTI_OK) {
        tutti_stage_report(rma->call, status);
        return mapped_run_failed(rma, status == TUTTI_ERR_ARGUMENT ? MPI_ERR_TRUNCATE : tutti_error_code(status));
    }
    return mapped_run_done(rma, request);
}

/* The operation on the part of a window that `target` is. */
static enum tutti_rma_way mapped_run_one(struct tutti_mapped *mapped, struct tutti_rma *rma,
                                         struct tutti_mapped_buffer *target, MPI_Request *request)
{
    int status = tutti_mapped_enter(mapped, rma->target);
    if (status == TUTTI_ERR_ARGUMENT)
        return mapped_run_failed(rma, MPI_ERR_RMA_SYNC);
    if (status == TUTTI_OK)
        status = mapped_run_elements(mapped, rma, target, request != NULL);
    if (status == TUTTI_OK)
        tutti_count_made(rma->call, "mapped window", target->bytes);
    return mapped_run_ended(rma, status, request);
}

/* The same on memory that its owner alone reaches. */
static enum tutti_rma_way mapped_run_by_owner(struct tutti_mapped *mapped, struct tutti_rma *rma,
                                              const struct tutti_by_owner *what, MPI_Request *request)
{
    int status = tutti_mapped_enter(mapped, rma->target);
    if (status == TUTTI_ERR_ARGUMENT)
        return mapped_run_failed(rma, MPI_ERR_RMA_SYNC);
    if (status == TUTTI_OK && mapped_run_updates(rma))
        status = tutti_mapped_batch_run(mapped);
    if (status == TUTTI_OK)
        status = tutti_mapped_by_owner(mapped, rma, what);
    if (status == TUTTI_OK)
        tutti_count_staged(rma->call, TUTTI_REASON_OWNER, NULL, what->bytes);
    return mapped_run_ended(rma, status, request);
}

/* Of dynamic windows: what lies at the target's address. */
static enum tutti_rma_way mapped_run_attached(const struct tutti_window *window, struct tutti_rma *rma,
                                              const struct tutti_layout *layout, const struct span *span,
                                              struct tutti_mapped_buffer *target, MPI_Request *request)
{
    struct tutti_attachment region;
    const uint64_t first = (uint64_t)rma->disp + (uint64_t)span->first;
    char *base = NULL;
    if (!tutti_attachments_find(window->attached, rma->target, first, &region))
        return TUTTI_RMA_STAGED;
    if ((uint64_t)(span->end - span->first) > region.bytes - (first - region.base))
        return mapped_run_failed(rma, MPI_ERR_RMA_RANGE);
    if (!region.mapped) {
        rma->disp = (MPI_Aint)((uint64_t)rma->disp - region.base + region.copy);
        return TUTTI_RMA_STAGED;
    }
    if (tutti_mapped_reach(window->mapped, rma->target, &region, &base) != TUTTI_OK) {
        const struct tutti_by_owner what = {.row = region.row,
                                            .generation = region.generation,
                                            .at = first - region.base,
                                            .span = (uint64_t)(span->end - span->first),
                                            .lower = span->first,
                                            .bytes = target->bytes};
        return mapped_run_by_owner(window->mapped, rma, &what, request);
    }
    mapped_run_target_set(window->mapped, rma, base + ((uint64_t)rma->disp - region.base), layout, target);
    return mapped_run_one(window->mapped, rma, target, request);
}

/* 1 if the target has device memory that this way may concern. */
static int mapped_run_is_ours(const struct tutti_window *window, const struct tutti_rma *rma)
{
    const struct tutti_mapped *mapped = window->mapped;
    if (window->attached)
        return rma->target >= 0 && rma->target < window->attached->n &&
               tutti_attachments_any(window->attached, rma->target);
    return !mapped->beside || (rma->target >= 0 && rma->target < mapped->n && mapped->peer[rma->target].direct);
}

/* The MPI does not see the operation, so it cannot refuse a buffer. */
static int mapped_run_lacks_buffer(const struct tutti_rma *rma)
{
    for (int i = 0; i < TUTTI_RMA_BUFFERS; i++) {
        if (tutti_lacks_buffer(rma->buffer[i].memory, rma->buffer[i].count, rma->buffer[i].type))
            return 1;
    }
    return 0;
}

enum tutti_rma_way tutti_mapped_run(const struct tutti_window *window, struct tutti_rma *rma, MPI_Request *request)
{
    struct tutti_mapped *mapped = window->mapped;
    struct tutti_mapped_buffer target = {.bytes = 0};
    struct span span;
    if (!mapped_run_is_ours(window, rma))
        return TUTTI_RMA_STAGED;
    if (rma->target == MPI_PROC_NULL)
        return mapped_run_done(rma, request);
    if (mapped_run_is_wrong(window, rma))
        return TUTTI_RMA_PASS;
    if (mapped_run_lacks_buffer(rma))
        return mapped_run_failed(rma, MPI_ERR_BUFFER);
    const struct tutti_layout *layout = tutti_layout_of(rma->to.type);
    if (!layout) {
        tutti_stage_report(rma->call, TUTTI_ERR_MEMORY);
        return mapped_run_failed(rma, tutti_error_code(TUTTI_ERR_MEMORY));
    }
    if (__builtin_mul_overflow((uint64_t)rma->to.count, (uint64_t)layout->size, &target.bytes))
        return mapped_run_failed(rma, MPI_ERR_RMA_RANGE);
    if (target.bytes == 0)
        return window->attached ? TUTTI_RMA_STAGED : mapped_run_one(mapped, rma, &target, request);
    if (!mapped_run_span_of(rma, layout, &span))
        return mapped_run_failed(rma, MPI_ERR_RMA_RANGE);
    if (window->attached)
        return mapped_run_attached(window, rma, layout, &span, &target, request);
    if (!mapped_run_target_of(mapped, rma, layout, &span, &target))
        return mapped_run_failed(rma, MPI_ERR_RMA_RANGE);
    return mapped_run_one(mapped, rma, &target, request);
}

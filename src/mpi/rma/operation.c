/* Operations with buffers of the origin in device memory. They are staged through pinned host memory, which the window
 * keeps until it completes the operation. */
#include "core/counters.h"
#include "mpi/real/errors.h"
#include "mpi/request/request.h"
#include "mpi/rma/mapped.h"

static const int ways[TUTTI_RMA_BUFFERS] = {
    [TUTTI_RMA_ORIGIN] = TUTTI_STAGE_IN, [TUTTI_RMA_COMPARE] = TUTTI_STAGE_IN, [TUTTI_RMA_RESULT] = TUTTI_STAGE_OUT};

static int rma_is_staged(const struct tutti_rma *rma)
{
    for (int i = 0; i < TUTTI_RMA_BUFFERS; i++) {
        const struct tutti_rma_buffer *buffer = &rma->buffer[i];
        if (buffer->count > 0 && buffer->type != tutti_handles.no_type &&
            tutti_needs_staging(buffer->memory, buffer->type))
            return 1;
    }
    return 0;
}

static enum tutti_rma_way rma_failed(struct tutti_rma *rma, int status)
{
    tutti_stage_report(rma->call, status);
    rma->code = tutti_error_code(status);
    if (rma->staged)
        tutti_unfinished_drop(rma->staged);
    return TUTTI_RMA_FAILED;
}

/* 1 if completing the request says that the data are there; otherwise the window says it. */
static int rma_is_told(const struct tutti_rma *rma)
{
    const struct tutti_stage *result = &rma->staged->stage[TUTTI_RMA_RESULT];
    return !tutti_quirks.rget_is_early || !result->staged || rma->kind != TUTTI_RMA_GET ||
           (tutti_type_find(rma->to.type) && tutti_type_find(result->given));
}

enum tutti_rma_way tutti_rma_open(struct tutti_rma *rma, MPI_Request *request)
{
    const struct tutti_window *window = tutti_window_find(rma->win);
    if (window && (window->mapped || window->attached)) {
        const enum tutti_rma_way way = tutti_mapped_run(window, rma, request);
        if (way != TUTTI_RMA_STAGED)
            return way;
    }
    if (rma->target == MPI_PROC_NULL || !rma_is_staged(rma))
        return TUTTI_RMA_PASS;
    rma->staged = tutti_unfinished_new(rma->call, rma->target);
    if (!rma->staged || !tutti_window_of(rma->win))
        return rma_failed(rma, TUTTI_ERR_MEMORY);
    const int packed = rma->typed ? 0 : TUTTI_STAGE_PACKED;
    for (int i = 0; i < TUTTI_RMA_BUFFERS; i++) {
        const struct tutti_rma_buffer *buffer = &rma->buffer[i];
        const int status =
            tutti_stage_open(&rma->staged->stage[i], buffer->memory, buffer->count, buffer->type, ways[i] | packed);
        if (status != TUTTI_OK)
            return rma_failed(rma, status);
    }
    if (request && rma_is_told(rma) && !(rma->entry = tutti_unfinished_request(rma->staged, rma->win)))
        return rma_failed(rma, TUTTI_ERR_MEMORY);
    return TUTTI_RMA_STAGED;
}

static void rma_count(const struct tutti_rma *rma)
{
    uint64_t bytes = 0;
    const char *how = NULL;
    for (int i = 0; i < TUTTI_RMA_BUFFERS; i++) {
        bytes += tutti_stage_bytes(&rma->staged->stage[i]);
        how = how ? how : tutti_stage_how(&rma->staged->stage[i]);
    }
    tutti_count_staged(rma->call, TUTTI_REASON_WINDOWS, how, bytes);
}

int tutti_rma_close(struct tutti_rma *rma, int code, const MPI_Request *request)
{
    if (code != MPI_SUCCESS) {
        if (rma->entry)
            tutti_request_destroy(rma->entry);
        tutti_unfinished_drop(rma->staged);
        return code;
    }
    rma_count(rma);
    tutti_unfinished_keep(tutti_window_find(rma->win), rma->staged);
    return rma->entry ? tutti_request_begun(rma->entry, *request) : MPI_SUCCESS;
}

#include "mpi/move/collective.h"

#include <stdlib.h>

#include "mpi/move/mover.h"
#include "mpi/move/requests.h"
#include "mpi/move/sides.h"
#include "mpi/real/errors.h"

static int collective_failed(const struct tutti_collective_args *args, int status)
{
    tutti_count(args->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    return tutti_stage_failed(args->name, args->comm, status);
}

/* `few` is this rank's own block of `many`, the joined blocks of all ranks. */
static void collective_keep_own_block(struct tutti_blocks *few, const struct tutti_blocks *many, const void *given,
                                      int own)
{
    const struct tutti_block *one = few->block, *all = many->block;
    if (few->n != 1 || many->n != 1 || !one->solid || !all->solid || one->bytes >= all->bytes)
        return;
    const size_t before = (size_t)own * one->bytes;
    if (before + one->bytes <= all->bytes && given == all->at + before)
        few->buffer = many->memory + all->place + before;
}

/* If the program gives one buffer twice, the MPI gets one memory twice, so that it finds that error too. `own`: this
 * rank's block, of a buffer that has several. */
static void collective_keep_alias(struct tutti_exchange *exchange, const struct tutti_side *sent,
                                  const struct tutti_side *received, int own)
{
    const struct tutti_buffer *in = &sent->given, *out = &received->given;
    struct tutti_blocks *from = &exchange->in, *to = &exchange->out;
    if (in->type != out->type || in->types != out->types)
        return;
    if (in->counts == out->counts && in->buffer == out->buffer) {
        from->buffer = to->buffer;
        from->types = to->types;
    } else if (!in->counts && !out->counts) {
        collective_keep_own_block(from, to, in->buffer, own);
        collective_keep_own_block(to, from, out->buffer, own);
    } else if (!in->counts && own < to->n && to->block[own].bytes > 0 && in->buffer == to->block[own].at) {
        from->buffer = to->memory + to->block[own].place;
    } else if (!out->counts && own < from->n && from->block[own].bytes > 0 && out->buffer == from->block[own].at) {
        to->buffer = from->memory + from->block[own].place;
    }
}

/* Stages the buffers in device memory. A persistent call's input is copied now, and again at each start: an MPI may
 * read it when the request is made (quirks.h). A status; collective_close() in any case. */
static int collective_open(struct tutti_exchange *exchange, const struct tutti_collective_args *args,
                           struct tutti_stream *stream, int gpu)
{
    struct tutti_pattern pattern;
    struct tutti_sides sides;
    int status = tutti_pattern_open(&pattern, args);
    tutti_sides_of(&sides, &pattern, args);
    sides.in.stream = sides.out.stream = stream;
    sides.in.gpu = sides.out.gpu = gpu;
    sides.in.stays = sides.out.stays = exchange->stays;
    if (stream) /* packed bytes alone go to the MPI: quirks.h */
        sides.in.apart = sides.out.apart = sides.in.as_bytes = sides.out.as_bytes = 1;
    if (status == TUTTI_OK)
        status = tutti_blocks_open(&exchange->in, &sides.in);
    if (status == TUTTI_OK)
        status = tutti_blocks_open(&exchange->out, &sides.out);
    if (unlikely(tutti_quirks.refuses_alias) && status == TUTTI_OK && exchange->in.staged && exchange->out.staged &&
        !tutti_pattern_has_neighbours(args->collective) && pattern.rank >= 0 && !stream)
        collective_keep_alias(exchange, &sides.in, &sides.out, pattern.rank);
    tutti_pattern_close(&pattern);
    return status;
}

static void collective_close(struct tutti_exchange *exchange)
{
    tutti_blocks_close(&exchange->in);
    tutti_blocks_close(&exchange->out);
}

/* The same of an allocation, which tutti_collective_end() ends in any case. NULL: no memory. */
static struct tutti_exchange *collective_new(const struct tutti_collective_args *args, int stays,
                                             enum tutti_reason reason, struct tutti_stream *stream, int gpu,
                                             int *status)
{
    struct tutti_exchange *exchange = malloc(sizeof *exchange);
    *status = TUTTI_ERR_MEMORY;
    if (!exchange)
        return NULL;
    *exchange = (struct tutti_exchange){.name = args->name, .comm = args->comm, .stays = stays, .reason = reason};
    *status = collective_open(exchange, args, stream, gpu);
    return exchange;
}

/* The MPI's arguments in place of the program's. */
static void collective_replace(struct tutti_buffer *buffer, const struct tutti_blocks *blocks)
{
    buffer->buffer = blocks->buffer;
    buffer->counts = blocks->counts;
    buffer->displs = blocks->displs;
    buffer->type = blocks->type;
    buffer->types = blocks->types;
    buffer->count *= blocks->times;
}

static int collective_call(const struct tutti_exchange *exchange, const struct tutti_collective_args *args,
                           enum tutti_collective_form form, MPI_Info info, MPI_Request *request)
{
    struct tutti_collective_args given = *args;
    collective_replace(&given.in, &exchange->in);
    collective_replace(&given.out, &exchange->out);
    if (args->collective == TUTTI_COLLECTIVE_BCAST && exchange->in.staged) /* its one buffer, at the root */
        given.out = given.in;
    TUTTI_INSIDE();
    return tutti_collective_real(&given, form, info, request);
}

/* 1 if each buffer that this rank uses is one run of elements. Of a gather or scatter by predefined types alone: what
 * is not used may have any other. In place a rank has one block of the run. */
static int collective_in_runs(const struct tutti_collective_args *args)
{
    if (args->collective != TUTTI_COLLECTIVE_GATHER && args->collective != TUTTI_COLLECTIVE_SCATTER)
        return tutti_pattern_is_contiguous(args->collective);
    return args->in.buffer != MPI_IN_PLACE && args->out.buffer != MPI_IN_PLACE && tutti_type_find(args->in.type) &&
           tutti_type_find(args->out.type);
}

static int collective_by_mpi(const struct tutti_collective_args *args, int on_host)
{
    struct tutti_exchange exchange = {.name = args->name, .comm = args->comm, .stays = 1};
    int code = MPI_SUCCESS;
    if (on_host) {
        (void)tutti_why_take(TUTTI_REASON_OTHER); /* nothing is staged */
        return tutti_collective_real(args, TUTTI_BLOCKING, tutti_handles.no_info, NULL);
    }
    if (collective_in_runs(args))
        return tutti_collective_contiguous(args);
    exchange.reason = tutti_why_take(TUTTI_REASON_OTHER);
    int status = collective_open(&exchange, args, NULL, -1);
    if (status == TUTTI_OK)
        code = collective_call(&exchange, args, TUTTI_BLOCKING, tutti_handles.no_info, NULL);
    if (status == TUTTI_OK && code == MPI_SUCCESS)
        status = tutti_blocks_out(&exchange.out);
    if (status == TUTTI_OK)
        tutti_exchange_count(&exchange);
    collective_close(&exchange);
    return status == TUTTI_OK ? code : collective_failed(args, status);
}

int tutti_collective_blocking(const struct tutti_collective_args *args)
{
    TUTTI_FOUND_OF(tutti_buffer_own(&args->in), tutti_buffer_own(&args->out));
    const int on_host = tutti_mover_on_host(args);
    int owed;
    if (tutti_mover_run(args, on_host, &owed))
        return owed;
    const int code = collective_by_mpi(args, on_host);
    return likely(owed == MPI_SUCCESS) || code != MPI_SUCCESS ? code : tutti_fail_comm(args->comm, owed);
}

/* Staged memory is kept until the request has completed: collective_request.c. */
static int collective_start(const struct tutti_collective_args *args, enum tutti_collective_form form, MPI_Info info,
                            MPI_Request *request)
{
    int code = MPI_SUCCESS, status;
    struct tutti_exchange *exchange =
        collective_new(args, form == TUTTI_NONBLOCKING, tutti_why_take(TUTTI_REASON_OTHER), NULL, -1, &status);
    const int staged = status == TUTTI_OK && (exchange->in.staged || exchange->out.staged);
    struct tutti_request *entry = staged ? tutti_collective_entry(exchange, form == TUTTI_PERSISTENT) : NULL;
    if (staged && !entry)
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        code = collective_call(exchange, args, form, info, request);
    if (entry && code == MPI_SUCCESS) {
        if (form == TUTTI_NONBLOCKING)
            tutti_exchange_count(exchange);
        return tutti_request_begun(entry, *request);
    }
    if (entry)
        tutti_request_give(entry);
    if (status != TUTTI_OK)
        code = collective_failed(args, status);
    tutti_collective_end(exchange);
    return code;
}

int tutti_collective_nonblocking(const struct tutti_collective_args *args, MPI_Request *request)
{
    return collective_start(args, TUTTI_NONBLOCKING, tutti_handles.no_info, request);
}

int tutti_collective_persistent(const struct tutti_collective_args *args, MPI_Info info, MPI_Request *request)
{
    return collective_start(args, TUTTI_PERSISTENT, info, request);
}

int tutti_collective_staged(const struct tutti_collective_args *args, enum tutti_reason reason, MPI_Request *request,
                            struct tutti_exchange **out)
{
    int code = MPI_SUCCESS, status;
    struct tutti_exchange *exchange = collective_new(args, 0, reason, NULL, -1, &status);
    *out = NULL;
    if (status == TUTTI_OK)
        code = collective_call(exchange, args, TUTTI_NONBLOCKING, tutti_handles.no_info, request);
    if (status == TUTTI_OK && code == MPI_SUCCESS) {
        tutti_exchange_count(exchange);
        *out = exchange;
        return code;
    }
    if (status != TUTTI_OK) {
        tutti_stage_report(args->name, status);
        code = tutti_error_code(status);
    }
    tutti_collective_end(exchange);
    return code;
}

int tutti_collective_staged_end(struct tutti_exchange *exchange, int code)
{
    const int status = exchange && code == MPI_SUCCESS ? tutti_blocks_out(&exchange->out) : TUTTI_OK;
    tutti_collective_end(exchange);
    return status;
}

/* ---- in the order of a stream ---- */

void tutti_collective_apart(struct tutti_collective_args *args)
{
    if (args->in.buffer == MPI_IN_PLACE && tutti_pattern_exchanges(args->collective))
        args->in = args->out;
}

int tutti_collective_put(const struct tutti_collective_args *args, struct tutti_stream *stream, int gpu,
                         struct tutti_exchange **out)
{
    int status;
    struct tutti_exchange *exchange = collective_new(args, 0, TUTTI_REASON_NODES, stream, gpu, &status);
    if (status == TUTTI_OK)
        *out = exchange;
    else
        tutti_collective_end(exchange);
    return status;
}

int tutti_collective_start(const struct tutti_exchange *exchange, const struct tutti_collective_args *args,
                           MPI_Request *request)
{
    tutti_exchange_count(exchange);
    return collective_call(exchange, args, TUTTI_NONBLOCKING, tutti_handles.no_info, request);
}

int tutti_collective_out(struct tutti_exchange *exchange)
{
    return tutti_blocks_out(&exchange->out);
}

void tutti_collective_end(struct tutti_exchange *exchange)
{
    if (!exchange)
        return;
    collective_close(exchange);
    free(exchange);
}

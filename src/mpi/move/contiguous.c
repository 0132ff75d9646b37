/* Blocking collectives whose buffers are one run of elements each: broadcast, allgather, all-to-all. Each buffer is
 * staged as a whole. */
#include "mpi/bounce/stage.h"
#include "mpi/move/collective.h"
#include "mpi/move/pattern.h"
#include "mpi/real/errors.h"

static int contiguous_call(const struct tutti_collective_args *args)
{
    return tutti_collective_real(args, TUTTI_BLOCKING, tutti_handles.no_info, NULL);
}

/* Opens a stage of the buffer's blocks, which replaces the buffer in the MPI's call. A status. */
static int contiguous_stage(struct tutti_stage *stage, struct tutti_buffer *buffer,
                            const struct tutti_pattern_side *side, int way)
{
    int status =
        tutti_stage_open(stage, buffer->buffer, buffer->count * side->n, buffer->type, way | TUTTI_STAGE_PACKED);
    buffer->buffer = stage->host;
    buffer->type = stage->given;
    return status;
}

/* After the real call, or without one (status): copies the received blocks out. The stages are closed. */
static int contiguous_end(const struct tutti_collective_args *args, enum tutti_reason reason, int code, int status,
                          struct tutti_stage *in, struct tutti_stage *out)
{
    if (out->staged && status == TUTTI_OK && code == MPI_SUCCESS)
        status = tutti_stage_out(out, -1);
    if (status != TUTTI_OK)
        tutti_count(args->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    else if (in->staged || out->staged)
        tutti_count_staged(args->name, reason, tutti_stage_how(out->staged ? out : in),
                           tutti_stage_bytes(in) + tutti_stage_bytes(out));
    tutti_stage_close(in);
    tutti_stage_close(out);
    return status == TUTTI_OK ? code : tutti_stage_failed(args->name, args->comm, status);
}

/* If the program gives one buffer twice, or its own block of the other buffer, so does the MPI get them, which compares
 * them. */
static void contiguous_keep_alias(struct tutti_collective_args *given, const struct tutti_collective_args *args,
                                  const struct tutti_pattern *pattern, const struct tutti_stage *in,
                                  const struct tutti_stage *out)
{
    const MPI_Count before =
        pattern->recv.n > pattern->send.n && pattern->rank > 0 ? pattern->rank * args->out.count : 0;
    const char *const user = args->out.buffer, *const host = given->out.buffer;
    if (args->in.buffer == args->out.buffer)
        given->in.buffer = given->out.buffer;
    else if (before > 0 && in->packed == out->packed && args->in.buffer == user + before * out->extent)
        given->in.buffer = host + before * (out->packed ? (MPI_Count)out->size : out->extent);
}

static int contiguous_staged(const struct tutti_collective_args *args, enum tutti_reason reason,
                             const struct tutti_pattern *pattern)
{
    const int way = pattern->in_place == TUTTI_NOT_IN_PLACE ? TUTTI_STAGE_OUT : TUTTI_STAGE_IN | TUTTI_STAGE_OUT;
    const int both = pattern->in_place != TUTTI_NOT_IN_PLACE ||
                     (pattern->send.used && tutti_needs_staging(args->in.buffer, args->in.type));
    struct tutti_collective_args given = *args;
    struct tutti_stage in = {0}, out = {0};
    int code = MPI_SUCCESS, status = TUTTI_OK;
    if (pattern->recv.used)
        status = contiguous_stage(&out, &given.out, &pattern->recv, both ? way | TUTTI_STAGE_PAIR : way);
    if (pattern->send.used && status == TUTTI_OK)
        status = contiguous_stage(&in, &given.in, &pattern->send,
                                  out.staged ? TUTTI_STAGE_IN | TUTTI_STAGE_PAIR : TUTTI_STAGE_IN);
    if (status == TUTTI_OK) {
        TUTTI_INSIDE();
        if (pattern->shared && pattern->send.used)
            given.out = given.in;
        if (unlikely(tutti_quirks.refuses_alias) && in.staged && out.staged && args->in.type == args->out.type)
            contiguous_keep_alias(&given, args, pattern, &in, &out);
        code = contiguous_call(&given);
    }
    return contiguous_end(args, reason, code, status, &in, &out);
}

int tutti_collective_contiguous(const struct tutti_collective_args *args)
{
    const enum tutti_reason reason = tutti_why_take(TUTTI_REASON_OTHER);
    struct tutti_pattern pattern;
    int status = tutti_pattern_open(&pattern, args); /* fails only for calls with neighbours */
    int code;
    if (status != TUTTI_OK)
        code = tutti_stage_failed(args->name, args->comm, status);
    else if ((pattern.send.used && tutti_needs_staging(args->in.buffer, args->in.type)) ||
             (pattern.recv.used && tutti_needs_staging(args->out.buffer, args->out.type)))
        code = contiguous_staged(args, reason, &pattern);
    else
        code = contiguous_call(args);
    tutti_pattern_close(&pattern);
    return code;
}

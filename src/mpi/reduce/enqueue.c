/* Reductions in stream order. This rank checks everything, then puts the kernels into the communicator's stream. */
#include <stdlib.h>

#include "core/log.h"
#include "mpi/comm/stream_calls.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/reduce/enqueue.h"
#include "mpi/reduce/reduction.h"

static int reduce_enqueue_refuse(const struct tutti_reduction_args *args, int code, const char *why)
{
    return tutti_stream_refuse(args->name, args->comm, code, why);
}

/* Reads the elements of this rank's contribution and result, and the counts of a reduce-scatter. Returns the error,
 * or NULL. */
static const char *enqueue_read_counts(const struct tutti_reduction_args *args, const struct tutti_team *team,
                                       size_t size, size_t counts[], struct tutti_call *call)
{
    static const char negative[] = "a negative number of elements", many[] = "more elements than any memory has";
    size_t total = 0, each = (size_t)args->count, bytes;
    int scatter = args->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER;
    int ranks = scatter || args->collective == TUTTI_COLLECTIVE_REDUCE_SCATTER_BLOCK ? team->size : 1;
    if (!scatter && args->count < 0)
        return negative;
    if (scatter && !args->recvcounts)
        return "no recvcounts";
    for (int r = 0; r < ranks; r++) {
        if (scatter) {
            MPI_Count count =
                args->large ? ((const MPI_Count *)args->recvcounts)[r] : ((const int *)args->recvcounts)[r];
            if (count < 0)
                return negative;
            counts[r] = each = (size_t)count;
        }
        if (__builtin_add_overflow(total, each, &total))
            return many;
    }
    if (__builtin_mul_overflow(total, size, &bytes) || bytes > PTRDIFF_MAX)
        return many;
    call->count = total;
    call->counts = scatter ? counts : NULL;
    return NULL;
}

/* Reads the buffers of the call. Returns the error, or NULL. */
static const char *read_buffers(const struct tutti_reduction_args *args, const struct tutti_comm *state,
                                struct tutti_call *call)
{
    const struct tutti_team *team = state->team;
    int gets = tutti_result_of(call, team->rank, team->size).count > 0;
    int in_place = args->sendbuf == MPI_IN_PLACE;
    if (in_place && args->collective == TUTTI_COLLECTIVE_REDUCE && !gets)
        return "MPI_IN_PLACE on a rank that is not the root";
    call->in = in_place ? args->recvbuf : args->sendbuf;
    call->out = gets || in_place ? args->recvbuf : NULL;
    if (args->recvbuf == MPI_IN_PLACE && call->out)
        return "MPI_IN_PLACE as recvbuf";
    if (!call->in || !tutti_stream_reaches(state->stream, call->in))
        return in_place ? "recvbuf is not memory that kernels of the stream's GPU reach (device, managed or pinned)"
                        : "sendbuf is not memory that kernels of the stream's GPU reach (device, managed or pinned)";
    if (gets && call->out != call->in && (!call->out || !tutti_stream_reaches(state->stream, call->out)))
        return "recvbuf is not memory that kernels of the stream's GPU reach (device, managed or pinned)";
    return NULL;
}

/* With a single rank the contribution is the result, or there is no result. */
static int enqueue_alone(const struct tutti_call *call, struct tutti_stream *stream, const char **why)
{
    *why = "copy";
    if (call->collective == TUTTI_COLLECTIVE_EXSCAN || call->collective == TUTTI_COLLECTIVE_BARRIER ||
        call->in == call->out)
        return TUTTI_OK;
    return tutti_door.device->stream.copy(stream, call->out, call->in, call->count * tutti_type_size(call->type));
}

static int reduce_enqueue_put(const struct tutti_reduction_args *args, const struct tutti_comm *state,
                              const struct tutti_call *call)
{
    struct tutti_stream *stream = state->stream->stream;
    const char *why = "";
    int status;
    tutti_inside++;
    if (unlikely(state->proxy))
        status = state->proxy->reduce(state, args->name, call);
    else
        status =
            state->team->size == 1 ? enqueue_alone(call, stream, &why) : tutti_enqueue(state->team, call, stream, &why);
    tutti_inside--;
    if (status == TUTTI_OK && state->proxy) /* counted when it is made */
        return MPI_SUCCESS;
    if (likely(status == TUTTI_OK)) {
        tutti_count_made(args->name, why, call->count * tutti_type_size(call->type));
        return MPI_SUCCESS;
    }
    return tutti_stream_refuse_status(args->name, args->comm, status);
}

static int reduction_enqueue_counted(const struct tutti_reduction_args *args, const struct tutti_comm *state,
                                     struct tutti_call *call)
{
    const struct tutti_team *team = state->team;
    size_t few[TUTTI_MAX_RANKS]; /* an open team has no more ranks, but one over several nodes may */
    size_t *const many = team->size > TUTTI_MAX_RANKS ? malloc((size_t)team->size * sizeof *many) : NULL;
    if (team->size > TUTTI_MAX_RANKS && !many)
        return reduce_enqueue_refuse(args, MPI_ERR_NO_MEM, "out of memory");
    const char *wrong = enqueue_read_counts(args, team, tutti_type_size(call->type), many ? many : few, call);
    int code = MPI_SUCCESS;
    if (wrong)
        code = reduce_enqueue_refuse(args, MPI_ERR_COUNT, wrong);
    else if (call->count > 0 && (wrong = read_buffers(args, state, call)) != NULL)
        code = reduce_enqueue_refuse(args, MPI_ERR_BUFFER, wrong);
    else if (call->count > 0)
        code = reduce_enqueue_put(args, state, call);
    free(many);
    return code;
}

static int reduction_enqueue(const struct tutti_reduction_args *args)
{
    int code;
    const struct tutti_comm *state = tutti_stream_comm(args->name, args->comm, &code);
    if (unlikely(!state))
        return code;
    const struct tutti_team *team = state->team;
    struct tutti_call call = {.collective = args->collective,
                              .root = args->root,
                              .type = TUTTI_TYPE_U32,
                              .op = TUTTI_OP_SUM,
                              .kind = TUTTI_ARRIVAL_DEVICE,
                              .gpu = state->stream->gpu,
                              .host_ok = 1};
    if (args->collective == TUTTI_COLLECTIVE_BARRIER)
        return reduce_enqueue_put(args, state, &call);
    const struct tutti_type_row *type = tutti_type_find(args->datatype);
    int operation = tutti_op_find(args->op);
    if (!type)
        return reduce_enqueue_refuse(args, MPI_ERR_TYPE, "kernels do not reduce this datatype");
    if (operation == TUTTI_OP_NONE || !(type->legal >> operation & 1))
        return reduce_enqueue_refuse(args, MPI_ERR_OP, tutti_not_reducible(type, operation));
    if (args->collective == TUTTI_COLLECTIVE_REDUCE && (args->root < 0 || args->root >= team->size))
        return reduce_enqueue_refuse(args, MPI_ERR_ROOT, "the root is no rank of the communicator");
    call.type = type->type;
    call.op = operation;
    call.host_ok = type->host_ok;
    return reduction_enqueue_counted(args, state, &call);
}

/* Local: needs no other rank. */
static int enqueue_local(const struct tutti_reduction_args *args)
{
    int code;
    const struct tutti_comm *state = tutti_stream_comm(args->name, args->comm, &code);
    if (unlikely(!state))
        return code;
    const struct tutti_type_row *type = tutti_type_find(args->datatype);
    const int operation = tutti_op_find(args->op);
    size_t bytes;
    if (!type)
        return reduce_enqueue_refuse(args, MPI_ERR_TYPE, "kernels do not reduce this datatype");
    if (operation == TUTTI_OP_NONE || !(type->legal >> operation & 1))
        return reduce_enqueue_refuse(args, MPI_ERR_OP, tutti_not_reducible(type, operation));
    if (args->count < 0 || __builtin_mul_overflow((size_t)args->count, tutti_type_size(type->type), &bytes) ||
        bytes > PTRDIFF_MAX)
        return reduce_enqueue_refuse(args, MPI_ERR_COUNT,
                                     args->count < 0 ? "a negative number of elements"
                                                     : "more elements than any memory has");
    if (args->count == 0)
        return MPI_SUCCESS;
    if (!args->sendbuf || args->sendbuf == MPI_IN_PLACE || !tutti_stream_reaches(state->stream, args->sendbuf))
        return reduce_enqueue_refuse(
            args, MPI_ERR_BUFFER,
            "inbuf is not memory that kernels of the stream's GPU reach (device, managed or pinned)");
    if (!args->recvbuf || args->recvbuf == MPI_IN_PLACE || !tutti_stream_reaches(state->stream, args->recvbuf))
        return reduce_enqueue_refuse(
            args, MPI_ERR_BUFFER,
            "inoutbuf is not memory that kernels of the stream's GPU reach (device, managed or pinned)");
    tutti_inside++;
    const int status = tutti_reduce_local_enqueue(state->stream->stream, args->sendbuf, args->recvbuf,
                                                  (size_t)args->count, type->type, operation);
    tutti_inside--;
    if (status != TUTTI_OK)
        return tutti_stream_refuse_status(args->name, args->comm, status);
    tutti_count_made(args->name, "kernel", bytes);
    return MPI_SUCCESS;
}

int tutti_door_MPIX_Barrier_enqueue(MPI_Comm comm)
{
    const struct tutti_reduction_args args = {
        .collective = TUTTI_COLLECTIVE_BARRIER, .name = "MPIX_Barrier_enqueue", .comm = comm};
    return reduction_enqueue(&args);
}

#define WIDTHS_OF "mpi/reduce/enqueue.inc"
#include "mpi/real/widths.inc"

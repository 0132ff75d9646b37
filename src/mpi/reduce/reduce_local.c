/* MPI_Reduce_local: kernels reduce memory that they reach, the MPI reduces the rest, staged if it is device memory.
 * Tutti always reduces half precision, which the MPI cannot. */
#include "core/log.h"
#include "kernels/reduce.h"
#include "mpi/real/errors.h"
#include "mpi/real/handles.h"
#include "mpi/reduce/reduction.h"

static int reduce_local_failed(const struct tutti_reduction_args *args, int status)
{
    tutti_count(args->name, TUTTI_OUTCOME_FAILED, tutti_status_text(status));
    return tutti_fail_self(tutti_error_code(status));
}

static int real_local(const struct tutti_reduction_args *args, const void *in, void *inout)
{
    return args->large ? tutti_next.MPI_Reduce_local_c(in, inout, args->count, args->datatype, args->op)
                       : tutti_next.MPI_Reduce_local(in, inout, (int)args->count, args->datatype, args->op);
}

/* On host memory: the MPI reduces, or Tutti if the MPI does not know the type (`type` and `operation`). */
static int on_host(const struct tutti_reduction_args *args, const struct tutti_type_row *type, int operation,
                   const void *in, void *inout)
{
    if (type && !type->host_ok) {
        const void *const both[2] = {in, inout};
        tutti_reduce_host(type->type, operation, 2, both, inout, (size_t)args->count);
        return MPI_SUCCESS;
    }
    TUTTI_INSIDE();
    return real_local(args, in, inout);
}

static int reduce_local_staged(const struct tutti_reduction_args *args, const struct tutti_type_row *type,
                               int operation, const char *why)
{
    struct tutti_stage in, inout = {0};
    int alias = args->sendbuf == args->recvbuf, code = MPI_SUCCESS;
    int status =
        tutti_stage_open(&in, alias ? MPI_IN_PLACE : args->sendbuf, args->count, args->datatype, TUTTI_STAGE_IN);
    if (status == TUTTI_OK)
        status = tutti_stage_open(&inout, args->recvbuf, args->count, args->datatype, TUTTI_STAGE_IN | TUTTI_STAGE_OUT);
    int used = in.staged || inout.staged;
    if (status == TUTTI_OK)
        code = on_host(args, type, operation, alias ? inout.host : in.host, inout.host);
    if (status == TUTTI_OK && code == MPI_SUCCESS)
        status = tutti_stage_out(&inout, -1);
    if (status == TUTTI_OK && !used && type && !type->host_ok)
        tutti_count(args->name, TUTTI_OUTCOME_ACCELERATED, why);
    else if (status == TUTTI_OK)
        tutti_staging_count(&(const struct tutti_staging){.in = in, .out = inout}, args->name, why);
    tutti_stage_close(&in);
    tutti_stage_close(&inout);
    if (status != TUTTI_OK) {
        tutti_stage_report(args->name, status);
        return reduce_local_failed(args, status);
    }
    return code;
}

static int reduce_local_reachable(const struct tutti_memory *memory)
{
    return memory->kind == TUTTI_MEMORY_DEVICE || memory->kind == TUTTI_MEMORY_MANAGED;
}

static int reduce_local(const struct tutti_reduction_args *args)
{
    const struct tutti_type_row *type = tutti_type_find(args->datatype);
    int operation = tutti_op_find(args->op);
    struct tutti_memory in, inout;
    if (!type || operation == TUTTI_OP_NONE || !(type->legal >> operation & 1))
        return reduce_local_staged(args, NULL, operation, tutti_not_reducible(type, operation));
    if (!args->sendbuf || !args->recvbuf || args->sendbuf == MPI_IN_PLACE || args->recvbuf == MPI_IN_PLACE)
        return real_local(args, args->sendbuf, args->recvbuf);
    if (tutti_host_only())
        return reduce_local_staged(args, type, operation, TUTTI_REASON_TEXT(HOST_MEMORY));
    tutti_door.device->memory.classify(args->sendbuf, &in);
    tutti_door.device->memory.classify(args->recvbuf, &inout);
    if (!reduce_local_reachable(&in) || !reduce_local_reachable(&inout))
        return reduce_local_staged(args, type, operation, TUTTI_REASON_TEXT(HOST_MEMORY));
    if (args->sendbuf == args->recvbuf) /* the MPI may refuse it */
        return reduce_local_staged(args, type, operation, TUTTI_REASON_TEXT(ALIAS));
    if (in.gpu >= 0 && inout.gpu >= 0 && in.gpu != inout.gpu)
        return reduce_local_staged(args, type, operation, TUTTI_REASON_TEXT(TWO_GPUS));
    tutti_inside++;
    int status = tutti_reduce_local(inout.gpu >= 0 ? inout.gpu : in.gpu, args->sendbuf, args->recvbuf,
                                    (size_t)args->count, type->type, operation);
    tutti_inside--;
    if (status == TUTTI_ERR_UNAVAILABLE)
        return reduce_local_staged(args, type, operation, TUTTI_REASON_TEXT(NO_KERNEL));
    if (status != TUTTI_OK) {
        tutti_error("%s: the kernel failed: %s", args->name, tutti_status_text(status));
        return reduce_local_failed(args, status);
    }
    tutti_count_made(args->name, "kernel", (uint64_t)args->count * tutti_type_size(type->type));
    return MPI_SUCCESS;
}

/* 0: half precision. */
static inline int known_to_mpi(MPI_Datatype datatype)
{
    const struct tutti_type_row *type = tutti_type_find(datatype);
    return !type || type->host_ok;
}

#define WIDTHS_OF "mpi/reduce/reduce_local.inc"
#include "mpi/real/widths.inc"

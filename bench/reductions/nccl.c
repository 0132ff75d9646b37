#include "bench/reductions/nccl.h"

#include "core/types.h"
#include "team/control.h"

static int type_of(int type)
{
    switch (type) {
#define IS(id)                                                                                                         \
    case TUTTI_TYPE_##id:                                                                                              \
        return NCCL_##id;
        IS(I8)
        IS(U8)
        IS(I32)
        IS(U32)
        IS(I64)
        IS(U64)
        IS(F16)
        IS(F32)
        IS(F64)
        IS(BF16)
#undef IS
    }
    return -1;
}

static int op_of(int op)
{
    return op == TUTTI_OP_SUM    ? NCCL_SUM
           : op == TUTTI_OP_PROD ? NCCL_PROD
           : op == TUTTI_OP_MAX  ? NCCL_MAX
           : op == TUTTI_OP_MIN  ? NCCL_MIN
                                 : -1;
}

enum bench_nccl_can bench_nccl_can(int collective, int type, int op)
{
    if (collective == TUTTI_COLLECTIVE_SCAN || collective == TUTTI_COLLECTIVE_EXSCAN)
        return BENCH_NCCL_NO_CALL;
    return type_of(type) < 0 || op_of(op) < 0 ? BENCH_NCCL_NO_PAIR : BENCH_NCCL_CAN;
}

void *bench_nccl_result(const struct bench_call *call, void *out)
{
    struct bench_part part = bench_part_of(call);
    return call->in_place ? (char *)out + part.begin * tutti_type_size(call->type) : out;
}

void bench_nccl_enqueue(const struct bench_call *call, const void *in, void *out, void *stream,
                        enum bench_nccl_copy copy)
{
    const struct bench_nccl *n = bench_nccl(copy);
    int type = type_of(call->type), op = op_of(call->op), failed;
    const void *from = bench_in_place_here(call) ? out : in;
    if (call->collective == TUTTI_COLLECTIVE_ALLREDUCE)
        failed = n->AllReduce(from, out, call->count, type, op, n->comm, stream);
    else if (call->collective == TUTTI_COLLECTIVE_REDUCE)
        failed = n->Reduce(from, out, call->count, type, op, call->root, n->comm, stream);
    else
        failed = n->ReduceScatter(from, bench_nccl_result(call, out), call->count / (size_t)call->ranks, type, op,
                                  n->comm, stream);
    if (failed)
        bench_fail("NCCL's counterpart of %s: %s", bench_call_name(call), n->GetErrorString(failed));
}

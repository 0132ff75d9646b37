/* Reductions of elements that the host loads and stores: the kernel of the algorithm `direct` runs on this thread.
 * There is no kernel for long double, which is reduced here. */
#include <string.h>

#include "core/status.h"
#include "core/types.h"
#include "kernels/reduce.h"
#include "shmem/host.h"

static const int operators[TSHMEM_OPS] = {
    [TSHMEM_OP_AND] = TUTTI_OP_BAND,  [TSHMEM_OP_OR] = TUTTI_OP_BOR,  [TSHMEM_OP_XOR] = TUTTI_OP_BXOR,
    [TSHMEM_OP_MAX] = TUTTI_OP_MAX,   [TSHMEM_OP_MIN] = TUTTI_OP_MIN, [TSHMEM_OP_SUM] = TUTTI_OP_SUM,
    [TSHMEM_OP_PROD] = TUTTI_OP_PROD,
};

int tutti_shmem_operator(int op)
{
    return operators[op];
}

size_t tutti_shmem_type_size(int type)
{
    return type == TSHMEM_ID_LONGDOUBLE ? sizeof(long double) : tutti_type_size(type);
}

/* As in kernels: a NaN stays; of equal values the lowest PE's is taken. */
static long double value_combine(int op, long double a, long double b)
{
    switch (op) {
    case TSHMEM_OP_SUM:
        return a + b;
    case TSHMEM_OP_PROD:
        return a * b;
    case TSHMEM_OP_MIN:
        return b < a || b != b ? b : a;
    default:
        return b > a || b != b ? b : a;
    }
}

/* Elements are copied in parts of their size: the last bytes of a long double hold nothing, and are zero. */
static void value_store(void *to, size_t i, long double value)
{
    long double padded;
    memset(&padded, 0, sizeof padded);
    memcpy(&padded, &value, 10);
    memcpy((char *)to + i * sizeof padded, &padded, sizeof padded);
}

static void reduce_host_run_long_double(const struct tutti_shmem_job *job)
{
    const int scan = job->shape != TUTTI_SHAPE_ALL;
    for (size_t i = 0; i < job->count; i++) {
        long double sum = 0, prefix[TSHMEM_NEAR_MAX];
        for (int r = 0; r < job->ranks; r++) {
            long double value;
            memcpy(&value, (const char *)job->in[r] + i * sizeof value, sizeof value);
            prefix[r] = sum;
            sum = r == 0 ? value : value_combine(job->op, sum, value);
            prefix[r] = job->shape == TUTTI_SHAPE_THROUGH ? sum : prefix[r];
        }
        for (int o = 0; o < job->outs; o++) {
            if (job->out[o])
                value_store(job->out[o], i, scan && o < job->ranks ? prefix[o] : sum);
        }
    }
}

int tutti_shmem_reduce_host(struct tutti_shmem *space, const struct tutti_shmem_job *job)
{
    (void)space;
    if (job->count == 0)
        return TUTTI_OK;
    if (job->type == TSHMEM_ID_LONGDOUBLE) {
        reduce_host_run_long_double(job);
        return TUTTI_OK;
    }
    struct tutti_kernel_args args = {.count = job->count,
                                     .slice = job->count,
                                     .ranks = (uint32_t)job->ranks,
                                     .outs = (uint32_t)job->outs,
                                     .gpus = 1,
                                     .blocks = 1,
                                     .shape = job->shape};
    memcpy(args.in, job->in, sizeof args.in);
    memcpy(args.out, job->out, sizeof args.out);
    tutti_kernel_host(TUTTI_KERNEL_DIRECT, job->type, operators[job->op], &args, 0);
    return TUTTI_OK;
}

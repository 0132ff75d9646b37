/* Reductions: each PE combines a slice of all members' sources, in order of PE, and stores it into their results. */
#include <stdlib.h>

#include "core/types.h"
#include "shmem/here.h"
#include "shmem/host.h"
#include "shmem/move.h"
#include "shmem/spread.h"

_Static_assert((int)TSHMEM_INT8 == (int)TUTTI_TYPE_I8 && (int)TSHMEM_UINT64 == (int)TUTTI_TYPE_U64 &&
                   (int)TSHMEM_ID_HALF == (int)TUTTI_TYPE_F16 && (int)TSHMEM_ID_COMPLEXD == (int)TUTTI_TYPE_C64,
               "numbered as in types.def");

/* Elements [*begin, *begin + *n) that member `me` does: slices of whole lines. */
static void reduction_slice(size_t count, int type, int members, int me, size_t *begin, size_t *n)
{
    const size_t size = tutti_shmem_type_size(type), line = size < 128 ? 128 / size : 1;
    size_t each = count / (size_t)members + (count % (size_t)members != 0);
    each = (each + line - 1) / line * line;
    *begin = each * (size_t)me < count ? each * (size_t)me : count;
    *n = count - *begin < each ? count - *begin : each;
}

/* Refuses types and operators without a reduction. */
static void reduction_check(struct tutti_shmem *space, struct tutti_shmem_call *call, int type, int op)
{
    if (type >= 0 && type < TSHMEM_TYPES && op >= 0 && op < TSHMEM_OPS &&
        (type == TSHMEM_ID_LONGDOUBLE ? op >= TSHMEM_OP_MAX : tutti_has_kernel(type, tutti_shmem_operator(op))))
        return;
    call->refused = tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, tutti_shmem_call_name(call),
                                     "type %d is not reduced by operation %d", type, op);
}

static struct tutti_shmem_call reduction_describe(struct tutti_shmem *space, unsigned kind, void *dest, size_t dest_n,
                                                  const void *source, size_t source_n, int type, int op)
{
    struct tutti_shmem_call call = {.kind = kind, .word = {[3] = (uint64_t)type << 32 | (uint32_t)op}};
    reduction_check(space, &call, type, op);
    const size_t size = call.refused == TUTTI_OK ? tutti_shmem_type_size(type) : 1;
    call.word[0] = tutti_shmem_offset(space, &call, dest, tutti_shmem_product(space, &call, dest_n, size));
    call.word[1] = tutti_shmem_source_offset(space, &call, source, tutti_shmem_product(space, &call, source_n, size));
    call.word[2] = dest_n;
    return call;
}

size_t tutti_shmem_slices(struct tutti_shmem *space, struct tutti_shmem_job *job, const struct tshmem_team_state *team,
                          uint64_t dest, uint64_t source, size_t n, void **zero)
{
    char *const *base = space->base; /* also contributions of far members */
    size_t begin;
    reduction_slice(n, job->type, team->size, team->me, &begin, &job->count);
    const size_t size = tutti_shmem_type_size(job->type), at = begin * size;
    job->ranks = job->outs = team->size;
    *zero = NULL;
    for (int i = 0; i < team->size && job->count > 0; i++) {
        /* a reduction stores into this PE's result first; the results of a scan belong to one PE each */
        const int to = job->shape == TUTTI_SHAPE_ALL ? (team->me + i) % team->size : i;
        job->in[i] = base[tutti_shmem_pe_of(space, team, i)] + source + at;
        job->out[i] = base[tutti_shmem_pe_of(space, team, to)] + dest + at;
    }
    if (job->shape == TUTTI_SHAPE_BEFORE && job->count > 0) {
        *zero = job->out[0];
        job->out[0] = NULL;
    }
    return job->count * size;
}

/* ---- teams of more members than a kernel takes ---- */

/* Memory for the addresses of all members; 0, after an error message: none exists. */
static int large_open(struct tutti_shmem *space, struct tutti_shmem_large_job *job, int members)
{
    job->ranks = job->outs = members;
    job->in = calloc((size_t)members, sizeof *job->in);
    job->out = calloc((size_t)members, sizeof *job->out);
    if (job->in && job->out)
        return TUTTI_OK;
    return tutti_shmem_fail(space, TUTTI_ERR_MEMORY, "a reduction", "no memory for the addresses of %d PEs", members);
}

static void large_close(struct tutti_shmem_large_job *job)
{
    free(job->in);
    free(job->out);
}

/* As below. The first result of an exclusive scan is zero. */
static int reduce_large(struct tutti_shmem *space, const struct tutti_shmem_call *call, size_t n, int type, int op,
                        enum tutti_shape shape)
{
    struct tutti_shmem_large_job job = {.type = type, .op = op, .shape = shape};
    const struct tshmem_team_state *team = call->team;
    const size_t size = tutti_shmem_type_size(type);
    size_t begin;
    int status = large_open(space, &job, team->size);
    reduction_slice(n, type, team->size, team->me, &begin, &job.count);
    for (int i = 0; i < team->size && status == TUTTI_OK; i++) {
        const int to = shape == TUTTI_SHAPE_ALL ? (team->me + i) % team->size : i;
        job.in[i] = (const char *)tutti_shmem_of(space, call, i, call->word[1]) + begin * size;
        job.out[i] = (char *)tutti_shmem_of(space, call, to, call->word[0]) + begin * size;
    }
    char *const zero = status == TUTTI_OK && shape == TUTTI_SHAPE_BEFORE ? job.out[0] : NULL;
    if (zero)
        job.out[0] = NULL;
    if (status == TUTTI_OK && job.count > 0)
        status = tutti_shmem_reduce_large(space, &job);
    if (zero && status == TUTTI_OK && job.count > 0)
        status = tutti_shmem_clear_all(space, zero, job.count * size);
    large_close(&job);
    return status;
}

static int reducescatter_large(struct tutti_shmem *space, const struct tutti_shmem_call *call, void *dest, size_t n,
                               int type, int op)
{
    struct tutti_shmem_large_job job = {.type = type, .op = op, .shape = TUTTI_SHAPE_ALL, .count = n};
    const size_t block = n * tutti_shmem_type_size(type);
    int status = large_open(space, &job, call->team->size);
    for (int i = 0; i < call->team->size && status == TUTTI_OK; i++)
        job.in[i] = (const char *)tutti_shmem_of(space, call, i, call->word[1]) + (size_t)call->team->me * block;
    job.outs = 1;
    if (status == TUTTI_OK && n > 0) {
        job.out[0] = dest;
        status = tutti_shmem_reduce_large(space, &job);
    }
    large_close(&job);
    return status;
}

/* Combines slices of all sources, from this PE's on, into all results. */
static int shmem_reduce_slices(struct tutti_shmem *space, struct tutti_shmem_call *call, tshmem_team_t team, size_t n,
                               int type, int op, enum tutti_shape shape)
{
    int status = tutti_shmem_begin(space, call, team);
    void *zero;
    if (status != TUTTI_OK)
        return status;
    if (call->team->size > TSHMEM_NEAR_MAX)
        return tutti_shmem_end(space, call, reduce_large(space, call, n, type, op, shape));
    struct tutti_shmem_job job = {.type = type, .op = op, .shape = shape};
    const size_t bytes = tutti_shmem_slices(space, &job, call->team, call->word[0], call->word[1], n, &zero);
    if (bytes > 0)
        status = tutti_shmem_reduce_all(space, &job);
    if (zero && status == TUTTI_OK)
        status = tutti_shmem_clear_all(space, zero, bytes);
    return tutti_shmem_end(space, call, status);
}

int tutti_shmem_reduce(tshmem_team_t team, void *dest, const void *source, size_t n, int type, int op)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct tutti_shmem_call call = reduction_describe(space, TUTTI_SHMEM_REDUCE, dest, n, source, n, type, op);
    return shmem_reduce_slices(space, &call, team, n, type, op, TUTTI_SHAPE_ALL);
}

int tutti_shmem_scan(tshmem_team_t team, void *dest, const void *source, size_t n, int type, int exclusive)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    struct tutti_shmem_call call = reduction_describe(space, exclusive ? TUTTI_SHMEM_EXSCAN : TUTTI_SHMEM_INSCAN, dest,
                                                      n, source, n, type, TSHMEM_OP_SUM);
    return shmem_reduce_slices(space, &call, team, n, type, TSHMEM_OP_SUM,
                               exclusive ? TUTTI_SHAPE_BEFORE : TUTTI_SHAPE_THROUGH);
}

int tutti_shmem_reducescatter(tshmem_team_t team, void *dest, const void *source, size_t n, int type, int op)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const int members = tutti_shmem_members(space, team);
    size_t all;
    if (__builtin_mul_overflow(n, (size_t)members, &all))
        all = SIZE_MAX; /* refused as too large */
    struct tutti_shmem_call call = reduction_describe(space, TUTTI_SHMEM_REDUCESCATTER, dest, n, source, all, type, op);
    int status = tutti_shmem_begin(space, &call, team);
    if (status != TUTTI_OK)
        return status;
    if (members > TSHMEM_NEAR_MAX)
        return tutti_shmem_end(space, &call, reducescatter_large(space, &call, dest, n, type, op));
    struct tutti_shmem_job job = {
        .type = type, .op = op, .shape = TUTTI_SHAPE_ALL, .ranks = members, .outs = 1, .count = n};
    const size_t block = n * tutti_shmem_type_size(type);
    for (int i = 0; i < members && n > 0; i++)
        job.in[i] = (const char *)tutti_shmem_of(space, &call, i, call.word[1]) + (size_t)call.team->me * block;
    job.out[0] = dest;
    if (n > 0)
        status = tutti_shmem_reduce_all(space, &job);
    return tutti_shmem_end(space, &call, status);
}

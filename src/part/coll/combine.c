/* The work of a step: combines the terms of a partition from the left, or copies a partition. */
#include <stdlib.h>
#include <string.h>

#include "core/types.h"
#include "kernels/args.h"
#include "kernels/reduce.h"
#include "part/coll/own.h"

enum { BLOCK_BYTES = 16 * 512 };

/* ---- copies ---- */

/* One side of a copy. Without a plan: packed bytes. */
static struct tutti_elements combine_side(const struct tutti_plan *plan, int64_t count, char *memory)
{
    struct tutti_elements side = {
        .plan = plan, .count = count, .buffer = memory, .whole = !plan || tutti_plan_is_run(plan, (uint64_t)count)};
    const struct tutti_device *device = tutti_device();
    if (!tutti_device_active(device)) {
        side.places = (struct tutti_places){.gpu = -1};
        side.placed = 1;
    }
    return side;
}

/* The first byte of a side that is whole. */
static char *combine_run_of(const struct tutti_elements *side)
{
    return side->plan ? tutti_elements_run(side) : side->buffer;
}

static int pcoll_copy_run(const struct tutti_pcoll *p, void *to, const void *from, uint64_t bytes)
{
    if (p->way != TUTTI_PCOLL_ON_HOST && tutti_device_active(tutti_device()))
        return tutti_device()->memory.copy_now(to, from, bytes);
    memmove(to, from, bytes);
    return TUTTI_OK;
}

/* Through packed bytes in memory that kernels reach, if one side may be device memory. A status. */
static int pcoll_copy_packed(const struct tutti_pcoll *p, struct tutti_elements *to, struct tutti_elements *from,
                             uint64_t bytes)
{
    struct tutti_bounce *bounce =
        p->way == TUTTI_PCOLL_ON_HOST ? NULL : tutti_bounce_take(&tutti_bounce_pinned, -1, bytes);
    void *packed = bounce ? bounce->memory : malloc(bytes);
    int status = packed ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = from->plan ? tutti_elements_move(TUTTI_PACK, from, 0, bytes, packed)
                            : pcoll_copy_run(p, packed, from->buffer, bytes);
    if (status == TUTTI_OK)
        status = to->plan ? tutti_elements_move(TUTTI_UNPACK, to, 0, bytes, packed)
                          : pcoll_copy_run(p, to->buffer, packed, bytes);
    if (bounce)
        tutti_bounce_give(bounce);
    else
        free(packed);
    return status;
}

static int pcoll_copy_elements(const struct tutti_pcoll *p, struct tutti_elements to, struct tutti_elements from,
                               uint64_t bytes)
{
    if (bytes == 0)
        return TUTTI_OK;
    if (from.whole && to.whole)
        return pcoll_copy_run(p, combine_run_of(&to), combine_run_of(&from), bytes);
    return pcoll_copy_packed(p, &to, &from, bytes);
}

int tutti_pcoll_run_copy(struct tutti_pcoll *p, const struct tutti_pcoll_copy *copy, int partition)
{
    char *from = tutti_pcoll_address(p, copy->from, partition), *to = tutti_pcoll_address(p, copy->to, partition);
    if (from == to && copy->from_plan == copy->to_plan)
        return TUTTI_OK;
    return pcoll_copy_elements(p, combine_side(copy->to_plan, copy->count, to),
                               combine_side(copy->from_plan, copy->count, from), copy->bytes);
}

/* ---- folds ---- */

static int combine_launch(struct tutti_pcoll *p, const void *const in[], int n, void *out, size_t count)
{
    const size_t blocks = (count * (size_t)p->size + BLOCK_BYTES - 1) / BLOCK_BYTES;
    struct tutti_kernel_args args = {.count = count,
                                     .slice = count,
                                     .ranks = (uint32_t)n,
                                     .outs = 1,
                                     .gpus = 1,
                                     .shape = TUTTI_SHAPE_ALL,
                                     .out = {out},
                                     .blocks = (uint32_t)(blocks < TUTTI_MAX_BLOCKS ? blocks : TUTTI_MAX_BLOCKS)};
    for (int i = 0; i < n; i++)
        args.in[i] = in[i];
    const struct tutti_launch what = {
        .kernel = TUTTI_KERNEL_DIRECT, .type = p->args.type, .op = p->args.op, .blocks = args.blocks, .args = &args};
    return tutti_device()->launch.kernel(p->stream, &what);
}

static int combine_run(struct tutti_pcoll *p, const void *const in[], int n, void *out, size_t count)
{
    if (p->way == TUTTI_PCOLL_KERNELS)
        return combine_launch(p, in, n, out, count);
    tutti_reduce_host(p->args.type, p->args.op, n, in, out, count);
    return TUTTI_OK;
}

/* The first of the terms that is in the scratch, and so can hold a partial result. */
static void *combine_writable_of(const void *in[], const unsigned char writable[], int n)
{
    int i = 0;
    while (i + 1 < n && !writable[i])
        i++;
    return (void *)(uintptr_t)in[i];
}

/* Any number of terms: a kernel takes TUTTI_MAX_RANKS, of which the first one may be the result of those before. */
static int combine_list(struct tutti_pcoll *p, const void *in[], const unsigned char writable[], int n, void *out,
                        size_t count)
{
    int status = TUTTI_OK;
    while (n > TUTTI_MAX_RANKS && status == TUTTI_OK) {
        void *partial = combine_writable_of(in, writable, TUTTI_MAX_RANKS);
        status = combine_run(p, in, TUTTI_MAX_RANKS, partial, count);
        in += TUTTI_MAX_RANKS - 1;
        writable += TUTTI_MAX_RANKS - 1;
        n -= TUTTI_MAX_RANKS - 1;
        in[0] = partial;
    }
    return status == TUTTI_OK ? combine_run(p, in, n, out, count) : status;
}

/* The terms of each node, then the results of the nodes. */
static int combine_groups(struct tutti_pcoll *p, const struct tutti_pcoll_fold *fold, const void *in[],
                          const unsigned char writable[], void *out)
{
    int status = TUTTI_OK;
    const size_t count = (size_t)fold->count;
    if (fold->groups == 1)
        return combine_list(p, in, writable, fold->terms, out, count);
    for (int g = 0, begin = 0; g < fold->groups && status == TUTTI_OK; begin = fold->group_end[g++]) {
        const int n = fold->group_end[g] - begin;
        void *partial = (void *)(uintptr_t)in[begin];
        if (n > 1) {
            partial = combine_writable_of(in + begin, writable + begin, n);
            status = combine_list(p, in + begin, writable + begin, n, partial, count);
        }
        p->result[g] = partial;
        p->result_writable[g] = n > 1 || writable[begin];
    }
    return status == TUTTI_OK ? combine_list(p, p->result, p->result_writable, fold->groups, out, count) : status;
}

/* By the program's function, which writes into its second argument: all terms are copies. The result is the last. */
static int combine_by_function(struct tutti_pcoll *p, const struct tutti_pcoll_fold *fold, const void *in[])
{
    int status = TUTTI_OK;
    for (int i = 1; i < fold->terms && status == TUTTI_OK; i++)
        status = p->args.combine(p->args.with, in[i - 1], (void *)(uintptr_t)in[i], fold->count);
    return status;
}

/* A copy of elements of the program in host memory, laid out as they are. *memory: to be freed. NULL without memory. */
static void *combine_laid_out(const struct tutti_pcoll *p, int64_t count, void **memory)
{
    const int64_t all = count > 0 ? (count - 1) * p->plan0->extent : 0;
    const int64_t low = p->plan0->true_lower + (all < 0 ? all : 0), end = p->plan0->true_end + (all > 0 ? all : 0);
    *memory = malloc(end > low ? (size_t)(end - low) : 1);
    return *memory ? (char *)*memory - low : NULL;
}

/* Host memory: terms in the program's buffers are copied, which are this rank's contribution and, in a chain, what is
 * in the result already. The result is copied out. A status. */
static int combine_staged(struct tutti_pcoll *p, const struct tutti_pcoll_fold *fold, int partition)
{
    const uint64_t bytes = (uint64_t)fold->count * p->plan0->size;
    void *copied[2] = {NULL, NULL}, *out_memory = NULL, *own, *out;
    int status = TUTTI_OK, copies = 0;
    for (int i = 0; i < fold->terms && status == TUTTI_OK; i++) {
        char *term = tutti_pcoll_address(p, fold->term[i], partition);
        p->in[i] = term;
        p->writable[i] = 1;
        if (fold->term[i].base == TUTTI_PCOLL_SCRATCH)
            continue;
        if (copies == 2) {
            status = TUTTI_ERR_UNAVAILABLE;
            break;
        }
        p->in[i] = own = combine_laid_out(p, fold->count, &copied[copies++]);
        status = own ? pcoll_copy_elements(p, combine_side(p->plan0, fold->count, own),
                                           combine_side(p->plan0, fold->count, term), bytes)
                     : TUTTI_ERR_MEMORY;
    }
    out = combine_laid_out(p, fold->count, &out_memory);
    if (status == TUTTI_OK && !out)
        status = TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK && p->args.type == TUTTI_TYPE_NONE) {
        status = combine_by_function(p, fold, p->in);
        out = (void *)(uintptr_t)p->in[fold->terms - 1];
    } else if (status == TUTTI_OK) {
        status = combine_groups(p, fold, p->in, p->writable, out);
    }
    if (status == TUTTI_OK)
        status =
            pcoll_copy_elements(p, combine_side(p->plan0, fold->count, tutti_pcoll_address(p, fold->out, partition)),
                                combine_side(p->plan0, fold->count, out), bytes);
    free(copied[0]);
    free(copied[1]);
    free(out_memory);
    return status;
}

int tutti_pcoll_combine(struct tutti_pcoll *p, const struct tutti_pcoll_fold *fold, int partition,
                        struct tutti_pcoll_state *state)
{
    if (fold->count == 0)
        return 1;
    if (p->way == TUTTI_PCOLL_STAGED) {
        const int status = combine_staged(p, fold, partition);
        return status == TUTTI_OK ? 1 : status;
    }
    for (int i = 0; i < fold->terms; i++) {
        p->in[i] = tutti_pcoll_address(p, fold->term[i], partition);
        p->writable[i] = fold->term[i].base == TUTTI_PCOLL_SCRATCH;
    }
    int status = combine_groups(p, fold, p->in, p->writable, tutti_pcoll_address(p, fold->out, partition));
    if (status != TUTTI_OK || p->way == TUTTI_PCOLL_ON_HOST)
        return status == TUTTI_OK ? 1 : status;
    if (!state->event)
        status = tutti_device()->event.create(p->gpu, &state->event);
    if (status == TUTTI_OK)
        status = tutti_device()->event.record(state->event, p->stream);
    if (status != TUTTI_OK)
        return status;
    state->runs = 1;
    return 0;
}

/* Single and strided elements in stream order: a kernel if it reaches the memory on both sides, otherwise copies of
 * the copy engine; PEs of other nodes by the ring. */
#include "core/status.h"
#include "shmem/here.h"
#include "shmem/stream/stream.h"

#include <string.h>

/* The kernel stores the element at once: peers may wait for it. */
int tutti_shmem_p_on_stream(void *dest, const void *value, size_t bytes, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char name[] = "tshmem_p_on_stream";
    struct tutti_shmem_streamed call = {.args = {.dest = dest, .size = (uint32_t)bytes, .pe = pe}};
    if (bytes == 0 || bytes > sizeof call.args.element)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, name, "an element of %zu bytes: up to 16", bytes);
    void *at = tutti_shmem_at(space, dest, bytes, pe, name);
    if (!at)
        return TUTTI_ERR_ARGUMENT;
    memcpy(call.args.element, value, bytes);
    if (!tutti_shmem_is_far(at))
        return tutti_shmem_stream_one(space, &call, TUTTI_SHMEM_DO_P, 0, name, stream);
    const struct tutti_shmem_asked asked = {.operation = TSHMEM_RING_PUT_VALUE,
                                            .dest = tutti_shmem_stream_offset(space, dest),
                                            .bytes = bytes,
                                            .value = call.args.element[0],
                                            .compare = call.args.element[1]};
    return tutti_shmem_stream_ask(space, &asked, pe, 0, name, stream);
}

/* ---- n blocks of `block` elements, dst and sst elements apart ---- */

struct blocks {
    const char *name;
    int get;
    void *dest;
    const void *source;
    ptrdiff_t dst, sst;
    size_t block, n, bytes;
    int pe;
};

/* Bytes from the first to the last; 0 if that is more than any memory, or the stride is not positive. */
static size_t blocks_reach(const struct blocks *b, ptrdiff_t stride)
{
    size_t last, elements, all;
    if (stride < 1 || __builtin_mul_overflow(b->n - 1, (size_t)stride, &last) ||
        __builtin_add_overflow(last, b->block, &elements) || __builtin_mul_overflow(elements, b->bytes, &all))
        return 0;
    return all;
}

static int by_ring(struct tutti_shmem *space, const struct blocks *b, void *stream)
{
    const struct tutti_shmem_asked asked = {
        .operation = b->get ? TSHMEM_RING_GET_BLOCKS : TSHMEM_RING_PUT_BLOCKS,
        .dest = b->get ? (uint64_t)(uintptr_t)b->dest : tutti_shmem_stream_offset(space, b->dest),
        .source = b->get ? tutti_shmem_stream_offset(space, b->source) : (uint64_t)(uintptr_t)b->source,
        .bytes = b->n,
        .value = (uint64_t)b->dst,
        .compare = (uint64_t)b->sst,
        .extra = b->block,
        .size = (uint32_t)b->bytes};
    return tutti_shmem_stream_ask(space, &asked, b->pe, 1, b->name, stream);
}

/* to, from: as mapped here. */
static int elements_by_copies(struct tutti_shmem *space, const struct blocks *b, char *to, const char *from,
                              void *handle)
{
    const ptrdiff_t step = (ptrdiff_t)b->bytes;
    struct tutti_stream *stream = tutti_shmem_stream_wrap(space, handle, b->name);
    int status = TUTTI_OK;
    if (!stream)
        return tutti_shmem_stream_refused(space);
    for (size_t i = 0; i < b->n && status == TUTTI_OK; i++)
        status = space->gpu->device->stream.copy(stream, to + (ptrdiff_t)i * b->dst * step,
                                                 from + (ptrdiff_t)i * b->sst * step, b->block * b->bytes);
    return tutti_shmem_stream_leave(space, stream, status, b->name);
}

static int elements_move_blocks(struct tutti_shmem *space, const struct blocks *b, void *stream)
{
    if (b->n == 0 || b->block == 0)
        return TUTTI_OK;
    const size_t there = blocks_reach(b, b->get ? b->sst : b->dst), here = blocks_reach(b, b->get ? b->dst : b->sst);
    if (there == 0 || here == 0)
        return tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, b->name,
                                "strides of %td and %td elements: they begin with 1", b->dst, b->sst);
    char *const at = tutti_shmem_at(space, b->get ? b->source : b->dest, there, b->pe, b->name);
    void *const own = b->get ? b->dest : (void *)(uintptr_t)b->source;
    if (!at)
        return TUTTI_ERR_ARGUMENT;
    if (tutti_shmem_is_far(at))
        return by_ring(space, b, stream);
    if (!tutti_shmem_stream_reaches(space, own))
        return b->get ? elements_by_copies(space, b, own, at, stream) : elements_by_copies(space, b, at, own, stream);
    struct tutti_shmem_streamed call = {.args = {.dest = b->get ? NULL : b->dest,
                                                 .source = b->get ? b->source : NULL,
                                                 .own[TUTTI_SHMEM_OWN_BLOCKS] = {own, here},
                                                 .dst = b->dst,
                                                 .sst = b->sst,
                                                 .block = b->block,
                                                 .n = b->n,
                                                 .size = (uint32_t)b->bytes,
                                                 .pe = b->pe}};
    return tutti_shmem_stream_one(space, &call, b->get ? TUTTI_SHMEM_DO_GET_BLOCKS : TUTTI_SHMEM_DO_PUT_BLOCKS,
                                  b->n * b->block * b->bytes, b->name, stream);
}

int tutti_shmem_put_blocks_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                                     size_t n, size_t bytes, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct blocks blocks = {"tshmem_iput_on_stream", 0, dest, source, dst, sst, block, n, bytes, pe};
    return elements_move_blocks(space, &blocks, stream);
}

int tutti_shmem_get_blocks_on_stream(void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t block,
                                     size_t n, size_t bytes, int pe, void *stream)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const struct blocks blocks = {"tshmem_iget_on_stream", 1, dest, source, dst, sst, block, n, bytes, pe};
    return elements_move_blocks(space, &blocks, stream);
}

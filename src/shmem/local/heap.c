#include "shmem/heap.h"

#include <stdlib.h>

#include "core/status.h"

struct tutti_heap_block {
    struct tutti_heap_block *next, *before;
    uint64_t offset, bytes;
    int taken;
};

static struct tutti_heap_block *new_block(uint64_t offset, uint64_t bytes)
{
    struct tutti_heap_block *block = calloc(1, sizeof *block);
    if (block) {
        block->offset = offset;
        block->bytes = bytes;
    }
    return block;
}

int tutti_heap_open(struct tutti_heap *heap, uint64_t bytes)
{
    heap->first = new_block(0, bytes);
    return heap->first ? TUTTI_OK : TUTTI_ERR_MEMORY;
}

void tutti_heap_close(struct tutti_heap *heap)
{
    while (heap->first) {
        struct tutti_heap_block *block = heap->first;
        heap->first = block->next;
        free(block);
    }
}

/* Splits off the last `bytes` bytes of `block` as a free block behind it; 0 if there is no memory. */
static int block_cut(struct tutti_heap_block *block, uint64_t bytes)
{
    struct tutti_heap_block *rest = new_block(block->offset + block->bytes - bytes, bytes);
    if (!rest)
        return 0;
    rest->before = block;
    rest->next = block->next;
    if (rest->next)
        rest->next->before = rest;
    block->next = rest;
    block->bytes -= bytes;
    return 1;
}

/* Joins `block` and the free block behind it. */
static void block_join(struct tutti_heap_block *block)
{
    struct tutti_heap_block *gone = block->next;
    block->bytes += gone->bytes;
    block->next = gone->next;
    if (block->next)
        block->next->before = block;
    free(gone);
}

int tutti_heap_take(struct tutti_heap *heap, uint64_t bytes, uint64_t align, uint64_t *offset)
{
    if (bytes == 0 || bytes > UINT64_MAX - TUTTI_HEAP_ALIGN)
        return TUTTI_ERR_MEMORY;
    align = align < TUTTI_HEAP_ALIGN ? TUTTI_HEAP_ALIGN : align;
    bytes = (bytes + TUTTI_HEAP_ALIGN - 1) / TUTTI_HEAP_ALIGN * TUTTI_HEAP_ALIGN;
    for (struct tutti_heap_block *block = heap->first; block; block = block->next) {
        const uint64_t skip = -block->offset & (align - 1);
        if (block->taken || skip > block->bytes || bytes > block->bytes - skip)
            continue;
        if (skip > 0) { /* the bytes before it stay free */
            if (!block_cut(block, block->bytes - skip))
                return TUTTI_ERR_MEMORY;
            block = block->next;
        }
        if (block->bytes > bytes && !block_cut(block, block->bytes - bytes)) {
            if (skip > 0)
                block_join(block->before);
            return TUTTI_ERR_MEMORY;
        }
        block->taken = 1;
        *offset = block->offset;
        return TUTTI_OK;
    }
    return TUTTI_ERR_MEMORY;
}

static struct tutti_heap_block *last_of(const struct tutti_heap *heap)
{
    struct tutti_heap_block *block = heap->first;
    while (block->next)
        block = block->next;
    return block;
}

uint64_t tutti_heap_missing(const struct tutti_heap *heap, uint64_t bytes, uint64_t align)
{
    const struct tutti_heap_block *last = last_of(heap);
    const uint64_t end = last->offset + last->bytes;
    align = align < TUTTI_HEAP_ALIGN ? TUTTI_HEAP_ALIGN : align;
    const uint64_t at = ((last->taken ? end : last->offset) + align - 1) / align * align;
    if (bytes > UINT64_MAX - TUTTI_HEAP_ALIGN - at)
        return UINT64_MAX;
    const uint64_t wanted = at + (bytes + TUTTI_HEAP_ALIGN - 1) / TUTTI_HEAP_ALIGN * TUTTI_HEAP_ALIGN;
    return wanted > end ? wanted - end : 0;
}

int tutti_heap_extend(struct tutti_heap *heap, uint64_t bytes)
{
    struct tutti_heap_block *last = last_of(heap);
    if (last->taken) {
        last->next = new_block(last->offset + last->bytes, bytes);
        if (!last->next)
            return TUTTI_ERR_MEMORY;
        last->next->before = last;
    } else {
        last->bytes += bytes;
    }
    return TUTTI_OK;
}

void tutti_heap_shrink(struct tutti_heap *heap, uint64_t bytes)
{
    struct tutti_heap_block *last = last_of(heap);
    last->bytes -= bytes;
    if (last->bytes == 0 && last->before) {
        last->before->next = NULL;
        free(last);
    }
}

static struct tutti_heap_block *block_find(const struct tutti_heap *heap, uint64_t offset)
{
    struct tutti_heap_block *block = heap->first;
    while (block && block->offset < offset)
        block = block->next;
    return block && block->offset == offset && block->taken ? block : NULL;
}

int tutti_heap_give(struct tutti_heap *heap, uint64_t offset)
{
    struct tutti_heap_block *block = block_find(heap, offset);
    if (!block)
        return TUTTI_ERR_ARGUMENT;
    block->taken = 0;
    if (block->next && !block->next->taken)
        block_join(block);
    if (block->before && !block->before->taken)
        block_join(block->before);
    return TUTTI_OK;
}

uint64_t tutti_heap_size(const struct tutti_heap *heap, uint64_t offset)
{
    const struct tutti_heap_block *block = block_find(heap, offset);
    return block ? block->bytes : 0;
}

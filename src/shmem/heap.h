/* The books of the symmetric heap: which bytes of a range are taken. The books lie outside the heap. The same calls
 * give the same offsets on every PE: first fit, in order of address. Sizes are bytes. Not safe from several threads. */
#ifndef TUTTI_SHMEM_HEAP_H
#define TUTTI_SHMEM_HEAP_H

#include <stdint.h>

struct tutti_heap_block;
struct tutti_heap {
    struct tutti_heap_block *first; /* in order of address; two free blocks are never neighbours */
};

enum { TUTTI_HEAP_ALIGN = 128 }; /* alignment of objects: two objects share no cache line */

/* A range of `bytes` bytes, all free. */
int tutti_heap_open(struct tutti_heap *heap, uint64_t bytes);
void tutti_heap_close(struct tutti_heap *heap);
/* Takes `bytes` (not 0) at a multiple of `align` (a power of two). TUTTI_ERR_MEMORY if nothing fits. */
int tutti_heap_take(struct tutti_heap *heap, uint64_t bytes, uint64_t align, uint64_t *offset);
/* TUTTI_ERR_ARGUMENT if no object begins there. */
int tutti_heap_give(struct tutti_heap *heap, uint64_t offset);
/* Bytes that are missing at the end of the range for such an object; UINT64_MAX: there is no such size. */
uint64_t tutti_heap_missing(const struct tutti_heap *heap, uint64_t bytes, uint64_t align);
/* grow adds `bytes` free bytes at the end of the range, a multiple of TUTTI_HEAP_ALIGN. shrink removes them, if none
 * was taken since. */
int tutti_heap_extend(struct tutti_heap *heap, uint64_t bytes);
void tutti_heap_shrink(struct tutti_heap *heap, uint64_t bytes);
/* Bytes of the object that begins there, at least those asked for; 0 if none exists. */
uint64_t tutti_heap_size(const struct tutti_heap *heap, uint64_t offset);

#endif

/* The symmetric heap's bookkeeping: which bytes of a range are taken. Nothing of it lies in the heap, and the same
 * calls give the same offsets on every PE: first fit, in order of address. Sizes are bytes. Not safe from several
 * threads. */
#ifndef TUTTI_SHMEM_HEAP_H
#define TUTTI_SHMEM_HEAP_H

#include <stdint.h>

struct tutti_heap_block;
struct tutti_heap {
    struct tutti_heap_block *first; /* in order of address; no two free ones side by side */
};

enum { TUTTI_HEAP_ALIGN = 128 }; /* of every object: what one PE stores lies in no line of another object */

/* A range of `bytes` bytes, all free. */
int tutti_heap_open(struct tutti_heap *heap, uint64_t bytes);
void tutti_heap_close(struct tutti_heap *heap);
/* Takes `bytes` (not 0) at a multiple of `align` (a power of two). TUTTI_ERR_MEMORY where there is no such room. */
int tutti_heap_take(struct tutti_heap *heap, uint64_t bytes, uint64_t align, uint64_t *offset);
/* TUTTI_ERR_ARGUMENT where no object begins there. */
int tutti_heap_give(struct tutti_heap *heap, uint64_t offset);
/* Bytes that the range lacks at its end for such an object to fit there; UINT64_MAX: there is no such size. */
uint64_t tutti_heap_missing(const struct tutti_heap *heap, uint64_t bytes, uint64_t align);
/* `bytes` more free bytes at the end of the range, a multiple of TUTTI_HEAP_ALIGN; and takes them back, of which
 * nothing was taken since. */
int tutti_heap_extend(struct tutti_heap *heap, uint64_t bytes);
void tutti_heap_shrink(struct tutti_heap *heap, uint64_t bytes);
/* Bytes of the object that begins there, at least those asked for; 0 where none does. */
uint64_t tutti_heap_size(const struct tutti_heap *heap, uint64_t offset);

#endif

/* Memory for lists and rows, of any size. Large ones are not from malloc's heap: freeing them there would make malloc
 * return memory to the system, and the next allocation would pay for fetching it again. Some are kept for the next
 * type. Any thread. Private to src/dtype. */
#ifndef TUTTI_DTYPE_ARENA_H
#define TUTTI_DTYPE_ARENA_H

#include <stddef.h>

/* At least `n` things of `size` bytes, not cleared; NULL without memory. */
void *tutti_arena_take(size_t n, size_t size);
/* Enlarges an arena (or NULL); on failure the old one stays valid. */
void *tutti_arena_grow(void *arena, size_t n, size_t size);
/* Frees the rest of the room, if that pays; returns the array's new place. */
void *tutti_arena_fit(void *arena, size_t n, size_t size);
void tutti_arena_free(void *arena);

#endif

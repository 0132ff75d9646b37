/* Memory for lists and rows, of any size. Large ones are not of malloc's heap: giving them back would have it give its
 * own memory back to the system and fetch it again, at the cost of whoever allocates next. Some are kept for the next
 * type. Any thread. Private to src/dtype. */
#ifndef TUTTI_DTYPE_ARENA_H
#define TUTTI_DTYPE_ARENA_H

#include <stddef.h>

/* At least `n` things of `size` bytes, not cleared; NULL without memory. */
void *tutti_arena_take(size_t n, size_t size);
/* The same for what is there already (or NULL), which stays valid where that fails. */
void *tutti_arena_grow(void *arena, size_t n, size_t size);
/* Gives back what is beyond that, where it is worth it; returns what replaces it. */
void *tutti_arena_fit(void *arena, size_t n, size_t size);
void tutti_arena_free(void *arena);

#endif

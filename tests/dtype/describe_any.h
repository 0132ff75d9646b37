/* Random descriptions, and ones made by hand; memory of one case is freed at once. */
#ifndef TUTTI_TESTS_DTYPE_DESCRIBE_ANY_H
#define TUTTI_TESTS_DTYPE_DESCRIBE_ANY_H

#include "dtype/describe.h"

struct any_room {
    struct any_chunk *last;
};
void *any_take(struct any_room *room, size_t n, size_t size);
void any_free(struct any_room *room);

typedef const struct tutti_description *any_type;

/* A type of at most `depth` levels whose map has at most `most` entries. */
any_type any_random(struct any_room *room, uint64_t *state, unsigned depth, size_t most);

any_type any_bytes(struct any_room *room, uint64_t bytes);
any_type any_contiguous(struct any_room *room, uint64_t count, any_type child);
any_type any_vector(struct any_room *room, uint64_t count, uint64_t length, int64_t stride, any_type child);
/* lengths NULL: blocks of `length`. Arrays are copied. */
any_type any_indexed(struct any_room *room, uint64_t count, const uint64_t *lengths, uint64_t length,
                     const int64_t *offsets, any_type child);
any_type any_struct(struct any_room *room, uint64_t count, const uint64_t *lengths, const int64_t *offsets,
                    const any_type *child);
any_type any_subarray(struct any_room *room, uint32_t dims, const uint64_t *sizes, const uint64_t *subsizes,
                      const uint64_t *starts, any_type child);
any_type any_darray(struct any_room *room, uint32_t dims, const uint64_t *sizes, const uint32_t *distribution,
                    const uint64_t *dargs, const uint64_t *grid, const uint64_t *coords, any_type child);
any_type any_resized(struct any_room *room, int64_t lower, int64_t extent, any_type child);

/* A copy of an indexed or struct type whose numbers are told as `int`s where they fit. */
any_type any_short(struct any_room *room, any_type what);
uint64_t any_length(any_type what, uint64_t i);
int64_t any_offset(any_type what, uint64_t i);

/* Shows it on standard error. */
void any_print(any_type what, int indent);

#endif

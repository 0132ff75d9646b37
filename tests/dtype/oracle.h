/* The type map of a description by plain recursion, as the standard defines each constructor: every entry one after the
 * other, markers of bounds among them. Slow and simple: what plans are compared with. */
#ifndef TUTTI_TESTS_DTYPE_ORACLE_H
#define TUTTI_TESTS_DTYPE_ORACLE_H

#include "dtype/describe.h"

enum oracle_kind { ORACLE_BYTES, ORACLE_LOWER, ORACLE_UPPER };

struct oracle_entry {
    int64_t at;
    uint64_t bytes;
    enum oracle_kind kind;
};

struct oracle_map {
    struct oracle_entry *entry;
    size_t n, room;
};

/* Appends the map of `what` to *out (zeroed before the first use). 0 if it would have more than `most` entries. */
int oracle_walk(const struct tutti_description *what, size_t most, struct oracle_map *out);
void oracle_bounds(const struct oracle_map *map, int64_t *lower, int64_t *upper);
void oracle_free(struct oracle_map *map);

#endif

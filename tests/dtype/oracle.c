#include "dtype/oracle.h"

#include "dtype/describe_any.h"

#include <stdio.h>
#include <stdlib.h>

void oracle_free(struct oracle_map *map)
{
    free(map->entry);
    *map = (struct oracle_map){0};
}

static int add(struct oracle_map *map, size_t most, struct oracle_entry entry)
{
    if (map->n >= most)
        return 0;
    if (map->n == map->room) {
        map->room = map->room ? 2 * map->room : 64;
        map->entry = realloc(map->entry, map->room * sizeof *map->entry);
        if (!map->entry) {
            perror("realloc");
            exit(2);
        }
    }
    map->entry[map->n++] = entry;
    return 1;
}

/* The map, `by` bytes farther. */
static int place(struct oracle_map *map, size_t most, const struct oracle_map *child, int64_t by)
{
    for (size_t i = 0; i < child->n; i++) {
        struct oracle_entry entry = child->entry[i];
        entry.at += by;
        if (!add(map, most, entry))
            return 0;
    }
    return 1;
}

static int place_bytes(struct oracle_map *map, size_t most, const struct oracle_map *child, int64_t by)
{
    for (size_t i = 0; i < child->n; i++) {
        struct oracle_entry entry = child->entry[i];
        entry.at += by;
        if (entry.kind == ORACLE_BYTES && !add(map, most, entry))
            return 0;
    }
    return 1;
}

void oracle_bounds(const struct oracle_map *map, int64_t *lower, int64_t *upper)
{
    int marked[2] = {0, 0};
    int found[2] = {0, 0};
    *lower = *upper = 0;
    for (size_t i = 0; i < map->n; i++) {
        marked[0] |= map->entry[i].kind == ORACLE_LOWER;
        marked[1] |= map->entry[i].kind == ORACLE_UPPER;
    }
    for (size_t i = 0; i < map->n; i++) {
        struct oracle_entry e = map->entry[i];
        if (e.kind == (marked[0] ? ORACLE_LOWER : ORACLE_BYTES) && (!found[0]++ || e.at < *lower))
            *lower = e.at;
        if (e.kind == (marked[1] ? ORACLE_UPPER : ORACLE_BYTES) && (!found[1]++ || e.at + (int64_t)e.bytes > *upper))
            *upper = e.at + (int64_t)e.bytes;
    }
}

static int mark(struct oracle_map *map, size_t most, int64_t lower, int64_t upper)
{
    return add(map, most, (struct oracle_entry){lower, 0, ORACLE_LOWER}) &&
           add(map, most, (struct oracle_entry){upper, 0, ORACLE_UPPER});
}

static uint64_t block_of(const struct tutti_description *what, uint32_t d)
{
    uint64_t size = what->sizes[d], grid = what->grid[d];
    if (what->distribution[d] == TUTTI_DISTRIBUTE_NONE)
        return size ? size : 1;
    if (what->dargs[d] != UINT64_MAX)
        return what->dargs[d];
    return what->distribution[d] == TUTTI_DISTRIBUTE_CYCLIC ? 1 : size ? (size + grid - 1) / grid : 1;
}

static int owned(const struct tutti_description *what, uint32_t d, uint64_t index)
{
    if (what->form == TUTTI_FORM_SUBARRAY)
        return index >= what->starts[d] && index < what->starts[d] + what->subsizes[d];
    return index / block_of(what, d) % what->grid[d] == what->coords[d];
}

/* All indices of the global array in order; those that are owned are taken. */
static int array(const struct tutti_description *what, uint32_t d, uint64_t index, int64_t extent, size_t most,
                 const struct oracle_map *child, struct oracle_map *out)
{
    if (d == what->dims)
        return place_bytes(out, most, child, (int64_t)index * extent);
    for (uint64_t i = 0; i < what->sizes[d]; i++) {
        if (owned(what, d, i) && !array(what, d + 1, index * what->sizes[d] + i, extent, most, child, out))
            return 0;
    }
    return 1;
}

static int blocks(const struct tutti_description *what, size_t most, const struct oracle_map *child, int64_t extent,
                  struct oracle_map *out)
{
    uint64_t count = what->count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t length = what->length;
        int64_t at = 0;
        if (what->form == TUTTI_FORM_CONTIGUOUS) {
            length = 1;
            at = (int64_t)i * extent;
        } else if (what->form == TUTTI_FORM_VECTOR) {
            at = (int64_t)i * what->stride;
        } else {
            at = any_offset(what, i);
            length = any_length(what, i);
        }
        for (uint64_t j = 0; j < length; j++) {
            if (!place(out, most, child, at + (int64_t)j * extent))
                return 0;
        }
    }
    return 1;
}

static int structure(const struct tutti_description *what, size_t most, struct oracle_map *out)
{
    for (uint64_t i = 0; i < what->count; i++) {
        struct oracle_map child = {0};
        int64_t lower, upper;
        int fine = oracle_walk(what->child[i], most, &child);
        oracle_bounds(&child, &lower, &upper);
        for (uint64_t j = 0; fine && j < any_length(what, i); j++)
            fine = place(out, most, &child, any_offset(what, i) + (int64_t)j * (upper - lower));
        oracle_free(&child);
        if (!fine)
            return 0;
    }
    return 1;
}

int oracle_walk(const struct tutti_description *what, size_t most, struct oracle_map *out)
{
    if (what->form == TUTTI_FORM_BYTES)
        return add(out, most, (struct oracle_entry){0, what->bytes, ORACLE_BYTES});
    if (what->form == TUTTI_FORM_STRUCT)
        return structure(what, most, out);
    struct oracle_map child = {0};
    int64_t lower, upper, whole;
    int fine = oracle_walk(what->child[0], most, &child);
    oracle_bounds(&child, &lower, &upper);
    whole = upper - lower;
    if (fine) {
        switch (what->form) {
        case TUTTI_FORM_RESIZED:
            fine = place_bytes(out, most, &child, 0) && mark(out, most, what->lower, what->lower + what->extent);
            break;
        case TUTTI_FORM_SUBARRAY:
        case TUTTI_FORM_DARRAY:
            for (uint32_t d = 0; d < what->dims; d++)
                whole *= (int64_t)what->sizes[d];
            fine = array(what, 0, 0, upper - lower, most, &child, out) && mark(out, most, 0, whole);
            break;
        default:
            fine = blocks(what, most, &child, upper - lower, out);
        }
    }
    oracle_free(&child);
    return fine;
}

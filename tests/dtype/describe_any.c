#include "dtype/describe_any.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct any_chunk {
    struct any_chunk *next;
    max_align_t memory[];
};

void *any_take(struct any_room *room, size_t n, size_t size)
{
    struct any_chunk *chunk = calloc(1, sizeof *chunk + n * size);
    if (!chunk) {
        fprintf(stderr, "no room for a test's types\n");
        exit(2);
    }
    chunk->next = room->last;
    room->last = chunk;
    return chunk->memory;
}

void any_free(struct any_room *room)
{
    while (room->last) {
        struct any_chunk *chunk = room->last;
        room->last = chunk->next;
        free(chunk);
    }
}

static const void *copy(struct any_room *room, const void *from, uint64_t n, size_t size)
{
    void *to = any_take(room, n, size);
    if (n > 0)
        memcpy(to, from, n * size);
    return to;
}

static struct tutti_description *form(struct any_room *room, enum tutti_form which, uint32_t children,
                                      const any_type *child)
{
    struct tutti_description *made = any_take(room, 1, sizeof *made);
    made->form = which;
    made->children = children;
    made->child = copy(room, child, children, sizeof *child);
    return made;
}

any_type any_bytes(struct any_room *room, uint64_t bytes)
{
    struct tutti_description *made = form(room, TUTTI_FORM_BYTES, 0, NULL);
    made->bytes = bytes;
    return made;
}

any_type any_contiguous(struct any_room *room, uint64_t count, any_type child)
{
    struct tutti_description *made = form(room, TUTTI_FORM_CONTIGUOUS, 1, &child);
    made->count = count;
    return made;
}

any_type any_vector(struct any_room *room, uint64_t count, uint64_t length, int64_t stride, any_type child)
{
    struct tutti_description *made = form(room, TUTTI_FORM_VECTOR, 1, &child);
    made->count = count;
    made->length = length;
    made->stride = stride;
    return made;
}

any_type any_indexed(struct any_room *room, uint64_t count, const uint64_t *lengths, uint64_t length,
                     const int64_t *offsets, any_type child)
{
    struct tutti_description *made = form(room, lengths ? TUTTI_FORM_INDEXED : TUTTI_FORM_BLOCKS, 1, &child);
    made->count = count;
    made->length = length;
    made->lengths = lengths ? copy(room, lengths, count, sizeof *lengths) : NULL;
    made->offsets = copy(room, offsets, count, sizeof *offsets);
    return made;
}

any_type any_struct(struct any_room *room, uint64_t count, const uint64_t *lengths, const int64_t *offsets,
                    const any_type *child)
{
    struct tutti_description *made = form(room, TUTTI_FORM_STRUCT, (uint32_t)count, child);
    made->count = count;
    made->lengths = copy(room, lengths, count, sizeof *lengths);
    made->offsets = copy(room, offsets, count, sizeof *offsets);
    return made;
}

any_type any_subarray(struct any_room *room, uint32_t dims, const uint64_t *sizes, const uint64_t *subsizes,
                      const uint64_t *starts, any_type child)
{
    struct tutti_description *made = form(room, TUTTI_FORM_SUBARRAY, 1, &child);
    made->dims = dims;
    made->sizes = copy(room, sizes, dims, sizeof *sizes);
    made->subsizes = copy(room, subsizes, dims, sizeof *sizes);
    made->starts = copy(room, starts, dims, sizeof *sizes);
    return made;
}

any_type any_darray(struct any_room *room, uint32_t dims, const uint64_t *sizes, const uint32_t *distribution,
                    const uint64_t *dargs, const uint64_t *grid, const uint64_t *coords, any_type child)
{
    struct tutti_description *made = form(room, TUTTI_FORM_DARRAY, 1, &child);
    made->dims = dims;
    made->sizes = copy(room, sizes, dims, sizeof *sizes);
    made->distribution = copy(room, distribution, dims, sizeof *distribution);
    made->dargs = copy(room, dargs, dims, sizeof *dargs);
    made->grid = copy(room, grid, dims, sizeof *grid);
    made->coords = copy(room, coords, dims, sizeof *coords);
    return made;
}

any_type any_resized(struct any_room *room, int64_t lower, int64_t extent, any_type child)
{
    struct tutti_description *made = form(room, TUTTI_FORM_RESIZED, 1, &child);
    made->lower = lower;
    made->extent = extent;
    return made;
}

static int is_multiple(any_type what, int64_t unit)
{
    for (uint64_t i = 0; i < what->count; i++) {
        if (what->offsets[i] % unit != 0 || what->offsets[i] / unit > INT32_MAX || what->offsets[i] / unit < INT32_MIN)
            return 0;
    }
    return 1;
}

any_type any_short(struct any_room *room, any_type what)
{
    static const int64_t units[] = {24, -8, 4, -1, 1};
    struct tutti_description *made = any_take(room, 1, sizeof *made);
    int *lengths = any_take(room, what->count, sizeof *lengths),
        *offsets = any_take(room, what->count, sizeof *offsets);
    int fit = what->lengths != NULL;
    size_t unit = 0;
    *made = *what;
    for (uint64_t i = 0; fit && i < what->count; i++) {
        fit = what->lengths[i] <= INT32_MAX;
        lengths[i] = (int)what->lengths[i];
    }
    if (fit) {
        made->lengths = NULL;
        made->short_lengths = lengths;
    }
    while (unit < sizeof units / sizeof units[0] && !is_multiple(what, units[unit]))
        unit++;
    if (unit == sizeof units / sizeof units[0])
        return made;
    for (uint64_t i = 0; i < what->count; i++)
        offsets[i] = (int)(what->offsets[i] / units[unit]);
    made->offsets = NULL;
    made->short_offsets = offsets;
    made->unit = units[unit];
    return made;
}

uint64_t any_length(any_type what, uint64_t i)
{
    if (what->form == TUTTI_FORM_BLOCKS)
        return what->length;
    return what->lengths ? what->lengths[i] : (uint64_t)what->short_lengths[i];
}

int64_t any_offset(any_type what, uint64_t i)
{
    return what->offsets ? what->offsets[i] : what->short_offsets[i] * what->unit;
}

static void print_array(any_type what)
{
    for (uint32_t d = 0; d < what->dims; d++) {
        if (what->form == TUTTI_FORM_SUBARRAY)
            fprintf(stderr, " [%ju of %ju from %ju]", (uintmax_t)what->subsizes[d], (uintmax_t)what->sizes[d],
                    (uintmax_t)what->starts[d]);
        else
            fprintf(stderr, " [%ju, distribution %u of %jd, place %ju of %ju]", (uintmax_t)what->sizes[d],
                    what->distribution[d], (intmax_t)what->dargs[d], (uintmax_t)what->coords[d],
                    (uintmax_t)what->grid[d]);
    }
}

void any_print(any_type what, int indent)
{
    static const char *const names[] = {"bytes",  "contiguous", "vector", "indexed", "blocks",
                                        "struct", "subarray",   "darray", "resized"};
    fprintf(stderr, "%*s%s", indent, "", names[what->form]);
    if (what->form == TUTTI_FORM_BYTES)
        fprintf(stderr, " %ju", (uintmax_t)what->bytes);
    else if (what->form == TUTTI_FORM_RESIZED)
        fprintf(stderr, " lower %jd extent %jd", (intmax_t)what->lower, (intmax_t)what->extent);
    else if (what->dims > 0)
        print_array(what);
    else
        fprintf(stderr, " count %ju length %ju stride %jd", (uintmax_t)what->count, (uintmax_t)what->length,
                (intmax_t)what->stride);
    for (uint64_t i = 0; (what->offsets || what->short_offsets) && i < what->count && i < 300; i++)
        fprintf(stderr, " %ju@%jd", (uintmax_t)any_length(what, i), (intmax_t)any_offset(what, i));
    fputc('\n', stderr);
    for (uint32_t i = 0; i < what->children; i++)
        any_print(what->child[i], indent + 2);
}

/* Types without a plan: the bytes of an element are found by packing an element. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "mpi/real/handles.h"
#include "mpi/real/self.h"
#include "mpi/type/datatypes.h"

/* Marks the typed bytes of one element with 0xff, by packing ones and unpacking them over zeros. NULL without memory.
 */
static unsigned char *typed_bytes_mark(MPI_Datatype type, MPI_Count lower, MPI_Count extent)
{
    const size_t bytes = extent > 0 ? (size_t)extent : 1;
    int size = 0, position = 0;
    unsigned char *ones = malloc(bytes), *marks = calloc(bytes, 1), *packed = NULL;
    int ok = ones && marks && bytes <= INT_MAX &&
             tutti_next.MPI_Pack_size(1, type, tutti_handles.self, &size) == MPI_SUCCESS;
    if (ok && (packed = malloc(size ? (size_t)size : 1)) != NULL) {
        memset(ones, 0xff, bytes);
        ok = tutti_next.MPI_Pack(ones - lower, 1, type, packed, size, &position, tutti_handles.self) == MPI_SUCCESS;
        const int length = position;
        position = 0;
        ok = ok && tutti_next.MPI_Unpack(packed, length, &position, marks - lower, 1, type, tutti_handles.self) ==
                       MPI_SUCCESS;
    }
    if (!packed || !ok) {
        free(marks);
        marks = NULL;
    }
    free(ones);
    free(packed);
    return marks;
}

struct typed_runs {
    size_t n, room;
    int64_t *offset;
    uint64_t *length;
};

/* 0 without memory. */
static int typed_runs_add(struct typed_runs *runs, size_t from, size_t bytes)
{
    if (runs->n == runs->room) {
        const size_t room = runs->room ? 2 * runs->room : 16;
        int64_t *const offset = realloc(runs->offset, room * sizeof *offset);
        runs->offset = offset ? offset : runs->offset;
        uint64_t *const length = realloc(runs->length, room * sizeof *length);
        runs->length = length ? length : runs->length;
        if (!offset || !length)
            return 0;
        runs->room = room;
    }
    runs->offset[runs->n] = (int64_t)from;
    runs->length[runs->n++] = bytes;
    return 1;
}

/* The marked bytes as runs; 0 without memory. */
static int typed_runs_find(const unsigned char *marks, size_t bytes, struct typed_runs *runs)
{
    for (size_t i = 0; i < bytes;) {
        const size_t from = i;
        while (i < bytes && marks[i] == marks[from])
            i++;
        if (marks[from] && !typed_runs_add(runs, from, i - from))
            return 0;
    }
    return 1;
}

static const struct tutti_plan *typed_bytes_plan(const struct typed_runs *runs, MPI_Count extent)
{
    const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 1}, *const of_byte = &byte;
    const struct tutti_description row = {.form = TUTTI_FORM_INDEXED,
                                          .children = 1,
                                          .child = &of_byte,
                                          .count = runs->n,
                                          .lengths = runs->length,
                                          .offsets = runs->offset};
    const struct tutti_description *const of_row = &row;
    const struct tutti_description element = {
        .form = TUTTI_FORM_RESIZED, .children = 1, .child = &of_row, .extent = extent};
    const struct tutti_plan *plan = NULL;
    return tutti_plan_build(&element, &plan) == TUTTI_OK ? plan : NULL;
}

const struct tutti_plan *tutti_layout_bytes(struct tutti_layout *layout, MPI_Datatype type)
{
    const struct tutti_plan *plan = atomic_load(&layout->bytes), *none = NULL;
    struct typed_runs runs = {.n = 0};
    if (plan)
        return plan;
    TUTTI_INSIDE();
    unsigned char *marks = typed_bytes_mark(type, layout->true_lower, layout->true_extent);
    if (marks && typed_runs_find(marks, (size_t)layout->true_extent, &runs))
        plan = typed_bytes_plan(&runs, layout->extent);
    free(marks);
    free(runs.offset);
    free(runs.length);
    if (plan && !atomic_compare_exchange_strong(&layout->bytes, &none, plan)) { /* another thread was first */
        tutti_plan_drop(plan);
        plan = none;
    }
    return plan;
}

/* Copies of elements whose type has no plan. */
#include "mpi/bounce/stage_runs.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/real/handles.h"
#include "mpi/real/self.h"

struct run {
    size_t at, bytes;
};

/* Marks the typed bytes of one element of `type` with 0xff, by packing ones and unpacking them over zeros. */
static unsigned char *stage_mark(const struct tutti_stage *stage, MPI_Count true_lb)
{
    size_t bytes = stage->true_extent;
    int size = 0, position = 0;
    unsigned char *ones = malloc(bytes ? bytes : 1), *marks = calloc(bytes ? bytes : 1, 1), *packed = NULL;
    int ok = ones && marks && bytes <= INT_MAX &&
             tutti_next.MPI_Pack_size(1, stage->type, tutti_handles.self, &size) == MPI_SUCCESS;
    if (ok && (packed = malloc(size ? (size_t)size : 1)) != NULL) {
        memset(ones, 0xff, bytes);
        ok = tutti_next.MPI_Pack(ones - true_lb, 1, stage->type, packed, size, &position, tutti_handles.self) ==
             MPI_SUCCESS;
        int length = position;
        position = 0;
        ok = ok && tutti_next.MPI_Unpack(packed, length, &position, marks - true_lb, 1, stage->type,
                                         tutti_handles.self) == MPI_SUCCESS;
    }
    if (!packed || !ok) {
        free(marks);
        marks = NULL;
    }
    free(ones);
    free(packed);
    return marks;
}

/* The typed bytes of one element as runs; NULL without memory. */
static struct run *runs_of(const struct tutti_stage *stage, size_t *n)
{
    MPI_Count lb, extent;
    if (tutti_next.MPI_Type_get_true_extent_x(stage->type, &lb, &extent) != MPI_SUCCESS)
        return NULL;
    unsigned char *marks = stage_mark(stage, lb);
    struct run *runs = NULL;
    size_t used = 0, room = 0, i = 0;
    while (marks && i < stage->true_extent) {
        size_t from = i;
        while (i < stage->true_extent && marks[i])
            i++;
        if (i > from) {
            if (used == room) {
                room = room ? 2 * room : 16;
                struct run *more = realloc(runs, room * sizeof *runs);
                if (!more) {
                    free(runs);
                    free(marks);
                    return NULL;
                }
                runs = more;
            }
            runs[used++] = (struct run){from, i - from};
        }
        while (i < stage->true_extent && !marks[i])
            i++;
    }
    free(marks);
    *n = used;
    return runs;
}

int tutti_stage_copy_runs(const struct tutti_stage *stage, int out)
{
    size_t n = 0;
    struct run *runs = runs_of(stage, &n);
    int status = runs ? TUTTI_OK : TUTTI_ERR_MEMORY;
    for (MPI_Count e = 0; e < stage->count && status == TUTTI_OK; e++) {
        for (size_t i = 0; i < n && status == TUTTI_OK; i++) {
            MPI_Count at = stage->first + e * stage->extent + (MPI_Count)runs[i].at;
            char *to = out ? stage->user + at : stage->memory + at, *from = out ? stage->memory + at : stage->user + at;
            status = tutti_door.device->memory.copy_now(to, from, runs[i].bytes);
        }
    }
    free(runs);
    return status;
}

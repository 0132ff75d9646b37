/* Counts and sizes beyond 2^31: needs about five gigabytes for two ranks, so it runs with TUTTI_TEST_LARGE=1 alone. One
 * buffer a rank, in place; values are made and checked piece by piece. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/tutti.h"

enum { PIECE = 1 << 22 }; /* elements */

static void fill(char *at, const struct oracle_case *c, size_t count, char *piece)
{
    size_t size = oracle_size(c->type);
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        oracle_fill(piece, c, kit_rank, first, some);
        CHECK(tutti_copy(at + first * size, piece, some * size) == 0, "tutti_copy");
    }
}

/* Looks at the pieces at both ends, round 2^31 bytes and 2^31 elements, and at every sixteenth. */
static void compare(const char *at, const struct oracle_case *c, size_t count, char *piece, char *want)
{
    size_t size = oracle_size(c->type), edge = (size_t)1 << 31;
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE, number = first / PIECE;
        if (number % 16 && first + some < count && first / (edge / size) == (first + 2 * some) / (edge / size))
            continue;
        CHECK(tutti_copy(piece, at + first * size, some * size) == 0, "tutti_copy");
        kit_expect(want, c, kit_size, first, some);
        size_t wrong = oracle_differ(c->type, piece, want, some, 0);
        CHECK(wrong == some, "%zu %s: element %zu is wrong", count, oracle_type_name(c->type), first + wrong);
    }
}

static void large(int element, size_t count)
{
    const struct kit_handle *handle = kit_handle_of(element);
    struct oracle_case c = {.type = element, .op = TUTTI_OP_SUM, .mode = ORACLE_HARD, .seed = kit_seed};
    size_t bytes = count * oracle_size(element);
    char *piece = malloc(PIECE * oracle_size(element)), *want = malloc(PIECE * oracle_size(element));
    void *at = NULL;
    int status = tutti_alloc(bytes, &at), error;
    if (!CHECK(status == 0, "tutti_alloc of %zu bytes: %s", bytes, tutti_status_text(status)))
        MPI_Abort(MPI_COMM_WORLD, 1);
    fill(at, &c, count, piece);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    error = MPI_Allreduce_c(MPI_IN_PLACE, at, (MPI_Count)count, handle->type, MPI_SUM, MPI_COMM_WORLD);
#else
    error = MPI_Allreduce(MPI_IN_PLACE, at, (int)count, handle->type, MPI_SUM, MPI_COMM_WORLD);
#endif
    CHECK(error == MPI_SUCCESS, "%zu %s: class %d", count, handle->name, kit_class(error));
    compare(at, &c, count, piece, want);
    tutti_free(at);
    free(piece);
    free(want);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_plain || !check_setting("TUTTI_TEST_LARGE", 0))
        kit_skip("large", "needs five gigabytes: TUTTI_TEST_LARGE=1 runs it");
    large(TUTTI_TYPE_F64, ((size_t)1 << 28) + 1);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    large(TUTTI_TYPE_I8, ((size_t)1 << 31) + 1);
#endif
    return kit_end("large");
}

/* Counts and sizes beyond 2^31, in memory of that size: sixteen gigabytes for two ranks, half of it where the MPI has
 * no large counts. If the machine has less memory free, it is skipped. TUTTI_TEST_LARGE=1 or 0 decides without a
 * look; with an argument it is skipped unless that says 1. One buffer a rank, in place; values are made and checked
 * piece by piece. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "tutti/tutti.h"

enum { PIECE = 1 << 22 }; /* elements */

/* The pieces at both ends, round 2^31 bytes and 2^31 elements, and every sixteenth; of the others any value will do. */
static int is_looked_at(size_t first, size_t count, size_t size)
{
    const size_t edge = (size_t)1 << 31, number = first / PIECE, end = first + 2 * (size_t)PIECE;
    return number % 16 == 0 || count - first <= PIECE || first / (edge / size) != end / (edge / size) ||
           first / edge != end / edge;
}

static void fill(char *at, const struct oracle_case *c, size_t count, char *piece)
{
    size_t size = oracle_size(c->type);
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        if (!is_looked_at(first, count, size))
            continue;
        oracle_fill(piece, c, kit_rank, first, some);
        CHECK(tutti_copy(at + first * size, piece, some * size) == 0, "tutti_copy");
    }
}

static void compare(const char *at, const struct oracle_case *c, size_t count, char *piece, char *want)
{
    size_t size = oracle_size(c->type);
    for (size_t first = 0; first < count; first += PIECE) {
        size_t some = count - first < PIECE ? count - first : PIECE;
        if (!is_looked_at(first, count, size))
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

#if MPI_VERSION >= 4
static void number(uint64_t *piece, int rank, size_t first)
{
    for (size_t i = 0; i < PIECE / sizeof *piece; i++)
        piece[i] = (first + i + 1) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)rank;
}

/* From rank to rank, through one buffer; source and destination are this rank where there is no other. */
static void replace(enum kit_kind kind)
{
    const size_t elements = ((size_t)1 << 31) / PIECE + 1, bytes = elements * PIECE;
    const int to = (kit_rank + 1) % kit_size, from = (kit_rank + kit_size - 1) % kit_size;
    const char *where = kind == KIT_DEVICE ? "device" : "host";
    uint64_t *piece = malloc(PIECE), *want = malloc(PIECE);
    void *at = kind == KIT_HOST ? malloc(bytes) : NULL;
    MPI_Datatype type;
    MPI_Request request;
    MPI_Status status;
    MPI_Count count = 0;
    if (kind == KIT_DEVICE && tutti_alloc(bytes, &at) != 0)
        at = NULL;
    if (!CHECK(at && piece && want, "no %zu bytes of %s memory", bytes, where))
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (size_t first = 0; first < bytes; first += PIECE) {
        number(piece, kit_rank, first);
        CHECK(tutti_copy((char *)at + first, piece, PIECE) == 0, "tutti_copy");
    }
    MPI_Type_contiguous(PIECE, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    int error = MPI_Isendrecv_replace(at, (int)elements, type, to, 1, from, 1, MPI_COMM_WORLD, &request);
    CHECK(error == MPI_SUCCESS, "MPI_Isendrecv_replace of %zu bytes: class %d", bytes, kit_class(error));
    error = error == MPI_SUCCESS ? MPI_Wait(&request, &status) : error;
    if (error == MPI_SUCCESS)
        MPI_Get_elements_x(&status, MPI_BYTE, &count);
    CHECK(error == MPI_SUCCESS && (size_t)count == bytes && status.MPI_SOURCE == from,
          "%lld bytes of %s memory have come", (long long)count, where);
    for (size_t first = 0; first < bytes; first += PIECE) {
        CHECK(tutti_copy(piece, (char *)at + first, PIECE) == 0, "tutti_copy");
        number(want, from, first);
        CHECK(memcmp(piece, want, PIECE) == 0, "piece %zu of %s memory is wrong", first / PIECE, where);
    }
    MPI_Type_free(&type);
    if (kind == KIT_DEVICE)
        tutti_free(at);
    else
        free(at);
    free(piece);
    free(want);
}
#endif

/* Gigabytes that may be taken now without swapping, as the kernel says; the same on all ranks. */
static long available(void)
{
    long kilobytes = 0;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "MemAvailable: %ld", &kilobytes) != 1)
        ;
    if (file)
        fclose(file);
    MPI_Bcast(&kilobytes, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return kilobytes >> 20;
}

#if MPI_VERSION >= 4
enum { NEEDS = 16 };
#else
enum { NEEDS = 8 };
#endif

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const long wanted = check_setting("TUTTI_TEST_LARGE", argc > 1 ? 0 : -1), there = available();
    char why[128];
    snprintf(why, sizeof why, "needs %d GB of memory, %ld are available (TUTTI_TEST_LARGE=1 runs it)", NEEDS, there);
    if (kit_plain || wanted == 0 || (wanted < 0 && there < NEEDS))
        kit_skip("large", kit_plain ? "needs the library in front" : wanted == 0 ? "TUTTI_TEST_LARGE=1 runs it" : why);
    large(TUTTI_TYPE_F64, ((size_t)1 << 28) + 1);
#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
    large(TUTTI_TYPE_I8, ((size_t)1 << 31) + 1);
#endif
#if MPI_VERSION >= 4
    replace(KIT_HOST);
    replace(KIT_DEVICE);
#endif
    return kit_end("large");
}

/* Messages of device memory that are stored in pieces: into memory of the host through more pinned memory than one
 * piece has, by a type without a plan (too many levels) whose pieces are assembled, and between two layouts, whose
 * elements differ in length: the receiver's last element may be filled in part. Every byte is compared, gaps and what
 * lies behind too. Two ranks. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

enum { LONG = (36 << 20) + 20, LEVELS = 210, TAG = 3, PARTS = 5000, TURNS = 3, FETCH_US = 10000 };

static char *data, *want;
static struct kit_buffer buffer;
static size_t most; /* its bytes */

static char byte_of(size_t i, int turn)
{
    return (char)(i * 31 + i / 251 + (size_t)turn * 7);
}

/* The ints of an element that a type has, the others are gaps; NULL: all. */
struct layout {
    int ints, of;
    const int *at;
};
static const int firsts[] = {0, 1, 2, 3}, list[] = {0, 2, 3, 7, 8, 12}, other_list[] = {1, 4, 5, 9};
static const struct layout all = {1, 1, NULL}, one = {1, 2, firsts}, two = {2, 3, firsts}, four = {4, 5, firsts},
                           irregular = {6, 14, list}, irregular_too = {4, 11, other_list};

static MPI_Datatype type_of(const struct layout *layout, int levels)
{
    MPI_Datatype type, next;
    if (!layout->at)
        return MPI_INT;
    MPI_Type_create_indexed_block(layout->ints, 1, layout->at, MPI_INT, &next);
    MPI_Type_create_resized(next, 0, layout->of * (MPI_Aint)sizeof(int), &type);
    MPI_Type_free(&next);
    for (int i = 0; i < levels; i++) {
        MPI_Type_dup(type, &next);
        MPI_Type_free(&type);
        MPI_Type_contiguous(1, next, &type);
        MPI_Type_free(&next);
    }
    MPI_Type_commit(&type);
    return type;
}

/* Where the byte of a packed message lies. */
static size_t place_of(const struct layout *layout, size_t byte)
{
    const size_t i = byte / sizeof(int), element = i / (size_t)layout->ints,
                 at = layout->at ? (size_t)layout->at[i % (size_t)layout->ints] : 0;
    return (element * (size_t)layout->of + at) * sizeof(int) + byte % sizeof(int);
}

/* A message of so many ints, a multiple of the sender's. levels: of the receiver's type. */
static void message(const char *what, int ints, const struct layout *from, const struct layout *to, int levels)
{
    MPI_Datatype sent = type_of(from, 0), type = type_of(to, levels);
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t i = 0; i < most; i++) {
            data[i] = byte_of(i, turn);
            want[i] = (char)~byte_of(i, turn);
        }
        for (size_t i = 0; i < (size_t)ints * sizeof(int); i++)
            want[place_of(to, i)] = data[place_of(from, i)];
        int code = MPI_SUCCESS, count = 0;
        if (kit_rank == 0) {
            MPI_Request request;
            char *const at = kit_put(&buffer, 0, data, most);
            MPI_Isend(at, ints / from->ints, sent, 1, TAG, MPI_COMM_WORLD, &request);
            usleep(FETCH_US); /* a sender that polls packs the message of a receiver that is late */
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Status status;
            for (size_t i = 0; i < most; i++)
                data[i] = (char)~byte_of(i, turn);
            char *const at = kit_put(&buffer, 0, data, most);
            code = MPI_Recv(at, (ints + to->ints - 1) / to->ints, type, 0, TAG, MPI_COMM_WORLD, &status);
            MPI_Get_elements(&status, type, &count);
            CHECK(count == ints, "%s: %d integers", what, count);
            const char *const got = kit_get(&buffer, NULL);
            size_t i = 0;
            while (i < most && got[i] == want[i])
                i++;
            CHECK(i == most, "%s, turn %d: byte %zu of %zu is wrong", what, turn, i, most);
        }
        CHECK(code == MPI_SUCCESS, "%s: class %d", what, kit_class(code));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (from->at)
        MPI_Type_free(&sent);
    if (to->at)
        MPI_Type_free(&type);
}

static void buffer_open(enum kit_kind into, size_t bytes)
{
    most = bytes;
    kit_open(&buffer, kit_rank == 0 ? KIT_DEVICE : into, most);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("types_pieces", "it takes 2 ranks");
    data = malloc(LONG);
    want = malloc(LONG);
    const int ints = 2 * (LONG / 9 / (3 * (int)sizeof(int))) - 4;
    buffer_open(KIT_DEVICE, LONG / 9);
    message("a type without a plan", ints - 1, &all, &two, LEVELS);
    kit_close(&buffer);
    buffer_open(KIT_HOST, LONG / 9);
    message("a type without a plan, on the host", ints, &all, &two, LEVELS);
    kit_close(&buffer);
    buffer_open(KIT_DEVICE, (size_t)PARTS * 64); /* one allocation: the receiver reads it in place once it is mapped */
    message("elements with gaps on both sides", 2 * PARTS, &two, &two, 0);
    message("half an element at the end", 2 * PARTS - 1, &all, &two, 0);
    message("into longer elements", 2 * PARTS, &one, &two, 0);
    message("into shorter elements", 2 * PARTS, &two, &one, 0);
    message("half an element at the end, gaps on both sides", 2 * PARTS - 1, &one, &two, 0);
    message("one element and a half", 3, &one, &two, 0);
    message("elements that no length divides", 4 * PARTS - 6, &two, &four, 0);
    message("into a list", 2 * PARTS, &two, &irregular, 0);
    message("from a list into another one", 6 * (PARTS / 2), &irregular, &irregular_too, 0);
    message("a part of a list at the end", 6 * (PARTS / 2) + 6, &irregular, &irregular_too, 0);
    kit_close(&buffer);
    buffer_open(KIT_HOST, LONG); /* the receiver has passed memory of a GPU before */
    const uint64_t pinned = kit_counted("bounce buffers", "pinned");
    message("into memory of the host", LONG / 4, &all, &all, 0);
    CHECK(kit_rank == 0 || kit_plain || kit_counted("bounce buffers", "pinned") > pinned,
          "into memory of the host: not through pinned memory");
    kit_close(&buffer);
    free(data);
    free(want);
    return kit_end("types_pieces");
}

/* Messages of device memory that are stored in pieces: into memory of the host through more pinned memory than one
 * piece has, by a type without a plan (too many levels) whose pieces are assembled, and between two layouts, of which
 * the receiver's last element is filled in part. Every byte is compared, gaps and what lies behind too. Two ranks. */
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { LONG = (36 << 20) + 20, LEVELS = 210, TAG = 3, PARTS = 5000, TURNS = 3 };

static char *data, *want;
static size_t most;

static char byte_of(size_t i, int turn)
{
    return (char)(i * 31 + i / 251 + (size_t)turn * 7);
}

/* Two ints of three, the last one a gap. */
static MPI_Datatype gapped(int levels)
{
    MPI_Datatype type, next;
    MPI_Type_contiguous(2, MPI_INT, &next);
    MPI_Type_create_resized(next, 0, 3 * (MPI_Aint)sizeof(int), &type);
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

/* The sender's bytes follow each other; `spread`: the receiver has the elements of gapped(). */
static void message(const char *what, enum kit_kind into, int ints, MPI_Datatype theirs, int sends, MPI_Datatype type,
                    int receives, int spread)
{
    struct kit_buffer buffer;
    kit_open(&buffer, kit_rank == 0 ? KIT_DEVICE : into, most);
    for (int turn = 0; turn < TURNS; turn++) {
        for (size_t i = 0; i < most; i++) {
            data[i] = byte_of(i, turn);
            want[i] = (char)~byte_of(i, turn);
        }
        for (size_t i = 0; i < (size_t)ints * sizeof(int); i++) {
            const size_t element = i / (2 * sizeof(int)), to = spread ? i + element * sizeof(int) : i;
            want[to] = data[spread && theirs != MPI_INT ? to : i];
        }
        int code = MPI_SUCCESS, count = 0;
        if (kit_rank == 0) {
            code = MPI_Send(kit_put(&buffer, 0, data, most), sends, theirs, 1, TAG, MPI_COMM_WORLD);
        } else {
            MPI_Status status;
            for (size_t i = 0; i < most; i++)
                data[i] = (char)~byte_of(i, turn);
            char *const at = kit_put(&buffer, 0, data, most);
            code = MPI_Recv(at, receives, type, 0, TAG, MPI_COMM_WORLD, &status);
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
    kit_close(&buffer);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("types_pieces", "it takes 2 ranks");
    data = malloc(LONG);
    want = malloc(LONG);
    MPI_Datatype flat = gapped(0), deep = gapped(LEVELS);
    most = LONG / 9;
    const int elements = (int)(most / (3 * sizeof(int))) - 2;
    message("a type without a plan", KIT_DEVICE, 2 * elements - 1, MPI_INT, 2 * elements - 1, deep, elements, 1);
    message("a type without a plan, on the host", KIT_HOST, 2 * elements, MPI_INT, 2 * elements, deep, elements, 1);
    most = PARTS * 12;
    message("elements with gaps on both sides", KIT_DEVICE, 2 * PARTS, flat, PARTS, flat, PARTS, 1);
    message("half an element at the end", KIT_DEVICE, 2 * PARTS - 1, MPI_INT, 2 * PARTS - 1, flat, PARTS, 1);
    most = LONG; /* the receiver has passed memory of a GPU before */
    message("into memory of the host", KIT_HOST, LONG / 4, MPI_INT, LONG / 4, MPI_INT, LONG / 4, 0);
    MPI_Type_free(&flat);
    MPI_Type_free(&deep);
    free(data);
    free(want);
    return kit_end("types_pieces");
}

/* Long messages of a struct with a pair such as MPI_2INT, from device memory into host memory and back, sent by way of
 * host memory. What stands for the struct there must not be cut where the receiver's is not: MPICH 4.0 keeps a pair
 * whole, and what was sent as the pair's two elements ended in the middle of a receiver's pair, with an error and old
 * data. */
#include <string.h>

#include "kit.h"

enum { COUNT = 20000, EXTENT = 48, PLACE = 16, TAG = 3, ROOM = COUNT * EXTENT };
static char data[ROOM], want[ROOM];
static struct kit_buffer buffer[2]; /* in host and device memory */

static MPI_Datatype struct_of(MPI_Datatype pair)
{
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, PLACE};
    const MPI_Datatype types[] = {MPI_CHAR, pair};
    MPI_Datatype all, made;
    MPI_Type_create_struct(2, lengths, places, types, &all);
    MPI_Type_create_resized(all, 0, EXTENT, &made);
    MPI_Type_commit(&made);
    MPI_Type_free(&all);
    return made;
}

/* The bytes of value and index, where C has them. */
static void pairs_expect(size_t index, size_t value_bytes)
{
    memset(want, 'r', ROOM);
    for (size_t i = 0; i < COUNT; i++) {
        char *to = want + i * EXTENT;
        const char *from = data + i * EXTENT;
        to[0] = from[0];
        memcpy(to + PLACE, from + PLACE, value_bytes);
        memcpy(to + PLACE + index, from + PLACE + index, sizeof(int));
    }
}

static void pairs_send(const char *name, MPI_Datatype type, int from, int to)
{
    int guards;
    if (kit_rank == 0) {
        const void *at = kit_put(&buffer[from], 0, data, ROOM);
        CHECK(MPI_Send(at, COUNT, type, 1, TAG, MPI_COMM_WORLD) == MPI_SUCCESS, "%s is not sent", name);
        return;
    }
    static char before[ROOM];
    memset(before, 'r', ROOM);
    void *at = kit_put(&buffer[to], 0, before, ROOM);
    const int code = MPI_Recv(at, COUNT, type, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const char *got = kit_get(&buffer[to], &guards);
    CHECK(code == MPI_SUCCESS && guards && memcmp(got, want, ROOM) == 0, "%s from %s into %s memory: error %d", name,
          from ? "device" : "host", to ? "device" : "host", code);
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        MPI_Datatype pair;
        size_t index, bytes; /* where the index lies, and bytes of the value */
    } pairs[] = {{"MPI_FLOAT_INT", MPI_FLOAT_INT, 4, 4},
                 {"MPI_DOUBLE_INT", MPI_DOUBLE_INT, 8, 8},
                 {"MPI_LONG_INT", MPI_LONG_INT, sizeof(long), sizeof(long)},
                 {"MPI_SHORT_INT", MPI_SHORT_INT, 4, 2},
                 {"MPI_2INT", MPI_2INT, 4, 4}};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size != 2)
        kit_skip("types-pairs", "needs two ranks");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    kit_open(&buffer[0], KIT_HOST, ROOM);
    kit_open(&buffer[1], KIT_DEVICE, ROOM);
    for (size_t i = 0; i < ROOM; i++)
        data[i] = (char)(i * 7 + i / EXTENT);
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        MPI_Datatype type = struct_of(pairs[p].pair);
        pairs_expect(pairs[p].index, pairs[p].bytes);
        for (int how = 0; how < 4; how++)
            pairs_send(pairs[p].name, type, how & 1, how >> 1);
        MPI_Type_free(&type);
    }
    kit_close(&buffer[0]);
    kit_close(&buffer[1]);
    return kit_end("types-pairs");
}

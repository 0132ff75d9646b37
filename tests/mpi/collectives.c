/* MPI_Bcast, MPI_Allgather and MPI_Alltoall with host and device buffers mixed over ranks and arguments, in place or
 * not, contiguous derived types included. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { MOST = 20000, RANKS = 16 };
static struct kit_buffer in[2], out[2];
static int *mine, *want;

static int value(int call, int rank, int i)
{
    return (int)(random_mix(kit_seed + (uint64_t)call * 7 + (uint64_t)rank * 1000003 + (uint64_t)i) >> 33);
}

static void check(struct kit_buffer *b, int error, size_t count, const char *call)
{
    CHECK(error == MPI_SUCCESS && memcmp(kit_get(b, NULL), want, count * sizeof *want) == 0,
          "%s, %zu elements, into %s memory: class %d", call, count, b->kind == KIT_DEVICE ? "device" : "host",
          kit_class(error));
}

static void round_of(int call)
{
    static const int counts[] = {0, 1, 3, 500, MOST};
    uint64_t random = random_mix(kit_seed + (uint64_t)call), own = random_mix(random + (uint64_t)kit_rank);
    int n = counts[random % 5], root = (int)((random >> 8) % (uint64_t)kit_size), in_place = (int)(random >> 16 & 1);
    struct kit_buffer *source = &in[own & 1], *target = &out[own >> 1 & 1];
    size_t count = (size_t)n, size = (size_t)kit_size, part = count * sizeof *mine;
    MPI_Datatype type = MPI_INT;
    int length = n;
    if (random >> 20 & 1) { /* the same as one element of a contiguous type */
        MPI_Type_contiguous(n, MPI_INT, &type);
        MPI_Type_commit(&type);
        length = 1;
    }

    for (size_t i = 0; i < count; i++) {
        mine[i] = value(call, kit_rank, (int)i);
        want[i] = value(call, root, (int)i);
    }
    void *at = kit_put(target, 4, kit_rank == root ? mine : NULL, part);
    check(target, MPI_Bcast(at, length, type, root, MPI_COMM_WORLD), count, "MPI_Bcast");

    for (size_t i = 0; i < count * size; i++)
        want[i] = value(call, (int)(i / (count ? count : 1)), (int)(i % (count ? count : 1)));
    at = kit_put(target, 0, NULL, part * size);
    if (in_place) {
        int *all = malloc(part * size + 1);
        memset(all, 0x11, part * size);
        memcpy(all + count * (size_t)kit_rank, mine, part);
        at = kit_put(target, 0, all, part * size);
        free(all);
    }
    int error = MPI_Allgather(in_place ? MPI_IN_PLACE : kit_put(source, 8, mine, part), length, type, at, length, type,
                              MPI_COMM_WORLD);
    check(target, error, count * size, in_place ? "MPI_Allgather in place" : "MPI_Allgather");

    for (size_t i = 0; i < count * size; i++)
        mine[i] = value(call, kit_rank, (int)i);
    for (size_t r = 0; r < size; r++)
        for (size_t i = 0; i < count; i++)
            want[r * count + i] = value(call, (int)r, (int)((size_t)kit_rank * count + i));
    at = kit_put(target, 12, in_place ? mine : NULL, part * size);
    error = MPI_Alltoall(in_place ? MPI_IN_PLACE : kit_put(source, 0, mine, part * size), length, type, at, length,
                         type, MPI_COMM_WORLD);
    check(target, error, count * size, in_place ? "MPI_Alltoall in place" : "MPI_Alltoall");
    if (type != MPI_INT)
        MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    size_t room = (size_t)kit_size * MOST * sizeof *mine;
    mine = malloc(room);
    want = malloc(room);
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&in[kind], (enum kit_kind)kind, room);
        kit_open(&out[kind], (enum kit_kind)kind, room);
    }
    for (int call = 0; call < 150; call++)
        round_of(call);
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&in[kind]);
        kit_close(&out[kind]);
    }
    free(mine);
    free(want);
    return kit_end("collectives");
}

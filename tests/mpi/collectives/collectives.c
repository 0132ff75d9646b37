/* MPI_Bcast, MPI_Allgather and MPI_Alltoall with host and device buffers mixed over ranks and arguments, in place or
 * not, contiguous derived types included. A call of device memory is counted once on its rank, with any outcome.
 */
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

static uint64_t counted(const char *call)
{
    return kit_counted(call, "accelerated") + kit_counted(call, "staged");
}

/* `before`: what was counted before the call of `n` elements; on_device: this rank brought device memory. What moves
 * nothing may count or not. */
static void check_counted(const char *call, uint64_t before, int n, int on_device)
{
    uint64_t more = counted(call) - before;
    CHECK(kit_plain || n == 0 || more == (uint64_t)on_device, "%s with%s device memory was counted %llu times", call,
          on_device ? "" : "out", (unsigned long long)more);
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
    const int to_device = own >> 1 & 1, from_device = own & 1;
    uint64_t before;
    int n = counts[random % 5], root = (int)((random >> 8) % (uint64_t)kit_size), in_place = (int)(random >> 16 & 1);
    struct kit_buffer *source = &in[from_device], *target = &out[to_device];
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
    before = counted("MPI_Bcast");
    check(target, MPI_Bcast(at, length, type, root, MPI_COMM_WORLD), count, "MPI_Bcast");
    check_counted("MPI_Bcast", before, n, to_device);

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
    const void *from = in_place ? MPI_IN_PLACE : kit_put(source, 8, mine, part);
    before = counted("MPI_Allgather");
    int error = MPI_Allgather(from, length, type, at, length, type, MPI_COMM_WORLD);
    check_counted("MPI_Allgather", before, n, to_device || (from_device && !in_place));
    check(target, error, count * size, in_place ? "MPI_Allgather in place" : "MPI_Allgather");

    for (size_t i = 0; i < count * size; i++)
        mine[i] = value(call, kit_rank, (int)i);
    for (size_t r = 0; r < size; r++)
        for (size_t i = 0; i < count; i++)
            want[r * count + i] = value(call, (int)r, (int)((size_t)kit_rank * count + i));
    at = kit_put(target, 12, in_place ? mine : NULL, part * size);
    from = in_place ? MPI_IN_PLACE : kit_put(source, 0, mine, part * size);
    before = counted("MPI_Alltoall");
    error = MPI_Alltoall(from, length, type, at, length, type, MPI_COMM_WORLD);
    check_counted("MPI_Alltoall", before, n, to_device || (from_device && !in_place));
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

/* Arrays of structs of basic elements of several sizes, with gaps: messages and collectives between device and host
 * memory, from a few elements to some hundred KiB. An MPI may cut what is packed within a basic element of its
 * receiver. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

enum { TYPES = 6, SHORT = 600, MOST = 10000, SPREAD = 32 /* bytes of an element at most */ };

enum { PAIR = 2 };

static MPI_Datatype type_of(int number, const char **name)
{
    static const char *const names[TYPES] = {
        "double and int", "int and char", "MPI_DOUBLE_INT", "three of short, long", "gap in the middle, resized",
        "nested"};
    MPI_Datatype made, inner, of[2] = {MPI_DOUBLE, MPI_INT};
    MPI_Aint at[2] = {0, 8};
    int lengths[2] = {1, 1};
    *name = names[number];
    switch (number) {
    case 0:
        MPI_Type_create_struct(2, lengths, at, of, &inner);
        MPI_Type_create_resized(inner, 0, 16, &made);
        break;
    case 1:
        of[0] = MPI_INT;
        of[1] = MPI_CHAR;
        at[1] = 4;
        MPI_Type_create_struct(2, lengths, at, of, &inner);
        MPI_Type_create_resized(inner, 0, 8, &made);
        break;
    case PAIR:
        MPI_Type_dup(MPI_DOUBLE_INT, &inner);
        MPI_Type_dup(inner, &made);
        break;
    case 3:
        of[0] = MPI_SHORT;
        of[1] = MPI_LONG;
        lengths[0] = 3;
        MPI_Type_create_struct(2, lengths, at, of, &inner);
        MPI_Type_create_resized(inner, 0, 24, &made);
        break;
    case 4:
        at[1] = 12;
        MPI_Type_create_struct(2, lengths, at, of, &inner);
        MPI_Type_create_resized(inner, 0, 24, &made);
        break;
    default: /* a vector of structs, and bytes behind it */
        of[0] = MPI_SHORT;
        of[1] = MPI_FLOAT;
        at[1] = 4;
        MPI_Type_create_struct(2, lengths, at, of, &inner);
        MPI_Type_vector(2, 1, 1, inner, &of[0]);
        MPI_Type_free(&inner);
        of[1] = MPI_BYTE;
        at[1] = 16;
        lengths[1] = 3;
        MPI_Type_create_struct(2, lengths, at, of, &inner);
        MPI_Type_free(&of[0]);
        MPI_Type_create_resized(inner, 0, 24, &made);
    }
    MPI_Type_free(&inner);
    MPI_Type_commit(&made);
    return made;
}

/* ---- one array, by its packed form ---- */

static struct {
    MPI_Datatype type;
    const char *name;
    int size, extent;
} now;

static char letter(int from, int to, size_t i)
{
    return (char)(i * 7 + i / 251 + (size_t)from * 31 + (size_t)to * 17);
}

/* Elements of an array that nobody sends have this. */
static void fill(char *array, int n, int from, int to)
{
    char *packed = malloc((size_t)n * (size_t)now.size + 1);
    int position = 0;
    for (size_t i = 0; i < (size_t)n * (size_t)now.size; i++)
        packed[i] = letter(from, to, i);
    MPI_Unpack(packed, n * now.size, &position, array, n, now.type, MPI_COMM_SELF);
    free(packed);
}

/* `n` elements from each of `ranks` ranks: *want is what a whole array must be. */
static void check(const char *call, int n, int ranks, struct kit_buffer *out, const char *want)
{
    int guards;
    const char *got = kit_get(out, &guards);
    const size_t bytes = (size_t)ranks * (size_t)n * (size_t)now.extent;
    size_t i = 0;
    while (i < bytes && got[i] == want[i])
        i++;
    CHECK(i == bytes && guards, "%s of %d elements of %s into %s memory: byte %zu (of element %zu) is %d, not %d%s",
          call, n, now.name, out->kind == KIT_DEVICE ? "device" : "host", i, i / (size_t)now.extent,
          i < bytes ? got[i] : 0, i < bytes ? want[i] : 0,
          guards ? "" : ", and beside the buffer something was written");
}

static struct kit_buffer in[2], out[2]; /* of each kind */
static char *sent, *want;

/* From rank 0, in memory of one kind, to rank 1. */
static void message(int n, enum kit_kind from, enum kit_kind to)
{
    const size_t bytes = (size_t)n * (size_t)now.extent;
    MPI_Status status;
    int count = -1, code;
    memset(want, 0x5d, bytes);
    memset(sent, 1, bytes);
    if (kit_rank == 0) {
        fill(sent, n, 0, 1);
        code = MPI_Send(kit_put(&in[from], 0, sent, bytes), n, now.type, 1, 3, MPI_COMM_WORLD);
        CHECK(code == MPI_SUCCESS, "MPI_Send: error class %d", kit_class(code));
    } else if (kit_rank == 1) {
        code = MPI_Recv(kit_put(&out[to], 0, NULL, bytes), n, now.type, 0, 3, MPI_COMM_WORLD, &status);
        CHECK(code == MPI_SUCCESS, "MPI_Recv: error class %d", kit_class(code));
        MPI_Get_count(&status, now.type, &count);
        CHECK(count == n, "MPI_Get_count: %d, not %d", count, n);
        fill(want, n, 0, 1);
        check("MPI_Recv", n, 1, &out[to], want);
    }
}

enum collective { GATHER, GATHERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, COLLECTIVES };
static const char *const names[COLLECTIVES] = {"MPI_Gather",     "MPI_Gatherv",  "MPI_Allgather",
                                               "MPI_Allgatherv", "MPI_Alltoall", "MPI_Alltoallv"};

static int call(enum collective which, const void *send, void *receive, int n)
{
    int counts[16], displs[16];
    for (int r = 0; r < kit_size; r++) {
        counts[r] = n;
        displs[r] = r * n;
    }
    switch (which) {
    case GATHER:
        return MPI_Gather(send, n, now.type, receive, n, now.type, 0, MPI_COMM_WORLD);
    case GATHERV:
        return MPI_Gatherv(send, n, now.type, receive, counts, displs, now.type, 0, MPI_COMM_WORLD);
    case ALLGATHER:
        return MPI_Allgather(send, n, now.type, receive, n, now.type, MPI_COMM_WORLD);
    case ALLGATHERV:
        return MPI_Allgatherv(send, n, now.type, receive, counts, displs, now.type, MPI_COMM_WORLD);
    case ALLTOALL:
        return MPI_Alltoall(send, n, now.type, receive, n, now.type, MPI_COMM_WORLD);
    default:
        return MPI_Alltoallv(send, counts, displs, now.type, receive, counts, displs, now.type, MPI_COMM_WORLD);
    }
}

/* This rank sends memory of one kind and receives into another one. */
static void collective(enum collective which, int n, enum kit_kind from, enum kit_kind to)
{
    const size_t bytes = (size_t)n * (size_t)now.extent, all = bytes * (size_t)kit_size;
    memset(want, 0x5d, all);
    memset(sent, 1, all);
    for (int r = 0; r < (which >= ALLTOALL ? kit_size : 1); r++)
        fill(sent + (size_t)r * bytes, n, kit_rank, r);
    for (int r = 0; r < kit_size && (which >= ALLGATHER || kit_rank == 0); r++)
        fill(want + (size_t)r * bytes, n, r, which >= ALLTOALL ? kit_rank : 0);
    void *send = kit_put(&in[from], 0, sent, all), *receive = kit_put(&out[to], 0, NULL, all);
    int code = call(which, send, receive, n);
    CHECK(code == MPI_SUCCESS, "%s of %d elements of %s: error class %d", names[which], n, now.name, kit_class(code));
    check(names[which], n, kit_size, &out[to], want);
}

static void of_size(int n)
{
    static const enum kit_kind kinds[2] = {KIT_HOST, KIT_DEVICE};
    for (int mixed = 0; mixed < 3; mixed++) /* not both on the host */
        message(n, kinds[mixed != 0], kinds[mixed != 1]);
    for (int which = 0; which < COLLECTIVES; which++) {
        const enum kit_kind some = kinds[kit_rank % 2], others = kinds[(kit_rank + 1) % 2];
        collective((enum collective)which, n, some, some);
        collective((enum collective)which, n, some, others);
        collective((enum collective)which, n, KIT_DEVICE, others);
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const size_t room = (size_t)MOST * SPREAD * (size_t)kit_size;
    uint64_t draws = kit_seed;
    sent = malloc(room);
    want = malloc(room);
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&in[kind], kind ? KIT_DEVICE : KIT_HOST, room);
        kit_open(&out[kind], kind ? KIT_DEVICE : KIT_HOST, room);
    }
    for (int number = 0; number < TYPES; number++) {
        MPI_Aint lower, extent;
        now.type = type_of(number, &now.name);
        MPI_Type_size(now.type, &now.size);
        MPI_Type_get_extent(now.type, &lower, &extent);
        now.extent = (int)extent;
        for (int n = SHORT; n <= MOST / 2; n *= 8)
            of_size(n + (int)(random_next(&draws) % (uint64_t)n));
        MPI_Type_free(&now.type);
    }
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&in[kind]);
        kit_close(&out[kind]);
    }
    free(sent);
    free(want);
    return kit_end("types_uneven");
}

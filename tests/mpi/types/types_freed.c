/* Types freed while calls on device memory are in flight, and persistent requests of them started afterwards: those
 * that have a plan and those that lack one (too many levels). Their handles are given out again at once, for other
 * types. In memory of the host too: the types have an attribute, of which no call makes a copy, and which is deleted
 * once. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "persistent.h"
#include "type_attribute.h"

enum {
    LEVELS = 210,
    BLOCKS = 3,
    EXTENT = 2 * BLOCKS,
    EACH = 1,
    RANKS = 8,
    INTS = RANKS * EACH * EXTENT,
    OTHERS = LEVELS
};

static struct kit_buffer in, out;
static MPI_Datatype others[OTHERS];
static int others_made;

/* Integers at even places. */
static MPI_Datatype even_ones(int deep)
{
    MPI_Datatype type, next;
    MPI_Type_vector(BLOCKS, 1, 2, MPI_INT, &next);
    MPI_Type_create_resized(next, 0, EXTENT * (MPI_Aint)sizeof(int), &type);
    MPI_Type_free(&next);
    for (int i = 0; deep && i < LEVELS; i++) {
        MPI_Type_contiguous(1, type, &next);
        MPI_Type_free(&type);
        type = next;
    }
    MPI_Type_commit(&type);
    MPI_Type_set_attr(type, attribute, &attribute);
    return type;
}

/* Takes the handles that were given back. */
static void let_go(MPI_Datatype *type)
{
    MPI_Type_free(type);
    for (others_made = 0; others_made < OTHERS; others_made++) {
        MPI_Type_vector(2, 1, 4, MPI_CHAR, &others[others_made]);
        MPI_Type_commit(&others[others_made]);
    }
}

static void tidy(void)
{
    while (others_made > 0)
        MPI_Type_free(&others[--others_made]);
}

static int value(int from, int to, int i)
{
    return 1 + from * 10000 + to * 1000 + i;
}

/* What this rank sends to all, or receives: block after block. */
static void fill(int *all, int sent)
{
    memset(all, 0x77, INTS * sizeof(int));
    for (int r = 0; r < kit_size; r++) {
        for (int i = 0; i < EACH * EXTENT; i += 2)
            all[r * EACH * EXTENT + i] = sent ? value(kit_rank, r, i) : value(r, kit_rank, i);
    }
}

struct call {
    const char *name;
    int pair; /* with one peer, not with all */
    int (*start)(void *to, const void *from, MPI_Datatype type, MPI_Request requests[2]);
    int starts; /* 0: it is not persistent */
};

static int peer_of(void)
{
    return kit_rank ^ 1;
}

static int message(void *to, const void *from, MPI_Datatype type, MPI_Request requests[2])
{
    return MPI_Irecv(to, EACH, type, peer_of(), 3, MPI_COMM_WORLD, requests) |
           MPI_Isend(from, EACH, type, peer_of(), 3, MPI_COMM_WORLD, requests + 1);
}

static int message_init(void *to, const void *from, MPI_Datatype type, MPI_Request requests[2])
{
    return MPI_Recv_init(to, EACH, type, peer_of(), 3, MPI_COMM_WORLD, requests) |
           MPI_Send_init(from, EACH, type, peer_of(), 3, MPI_COMM_WORLD, requests + 1);
}

static int alltoall(void *to, const void *from, MPI_Datatype type, MPI_Request requests[2])
{
    return MPI_Ialltoall(from, EACH, type, to, EACH, type, MPI_COMM_WORLD, requests);
}

static int alltoallv(void *to, const void *from, MPI_Datatype type, MPI_Request requests[2])
{
    static int counts[RANKS], places[RANKS];
    for (int r = 0; r < kit_size; r++) {
        counts[r] = EACH;
        places[r] = r * EACH;
    }
    return MPI_Ialltoallv(from, counts, places, type, to, counts, places, type, MPI_COMM_WORLD, requests);
}

static int alltoallw(void *to, const void *from, MPI_Datatype type, MPI_Request requests[2])
{
    static int counts[RANKS], places[RANKS];
    static MPI_Datatype types[RANKS];
    for (int r = 0; r < kit_size; r++) {
        counts[r] = EACH;
        places[r] = r * EACH * EXTENT * (int)sizeof(int);
        types[r] = type;
    }
    return MPI_Ialltoallw(from, counts, places, types, to, counts, places, types, MPI_COMM_WORLD, requests);
}

static int alltoall_init(void *to, const void *from, MPI_Datatype type, MPI_Request requests[2])
{
    return MPI_Alltoall_init(from, EACH, type, to, EACH, type, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
}
enum { AGAIN = 2 };

static void try(const struct call *call, int deep, enum kit_kind memory)
{
    static int mine[INTS], want[INTS], before[INTS];
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Datatype type = even_ones(deep);
    kit_open(&in, memory, INTS * sizeof(int));
    kit_open(&out, memory, INTS * sizeof(int));
    attributes_copied = attributes_deleted = 0;
    fill(mine, 1);
    memset(before, 0x55, sizeof before);
    fill(want, 0);
    int at = call->pair ? peer_of() * EACH * EXTENT : 0, n = (call->pair ? 1 : kit_size) * EACH * EXTENT;
    for (int i = 0; i < INTS; i++) {
        if (i % 2 || i < at || i >= at + n)
            want[i] = before[i];
    }
    int *from = kit_put(&in, 4, mine, sizeof mine), *to = kit_put(&out, 8, before, sizeof before);
    int error = call->start(to + at, from + at, type, requests);
    let_go(&type);
    for (int turn = 0; turn < call->starts; turn++) {
        for (int i = 0; i < 2; i++) {
            if (requests[i] != MPI_REQUEST_NULL)
                error |= MPI_Start(&requests[i]);
        }
        if (turn < call->starts - 1)
            error |= MPI_Waitall(2, requests, statuses);
    }
    error |= MPI_Waitall(2, requests, statuses);
    for (int i = 0; call->starts && i < 2; i++) {
        if (requests[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&requests[i]);
    }
    const int *got = (const void *)kit_get(&out, NULL);
    size_t wrong = 0;
    while (wrong < INTS && got[wrong] == want[wrong])
        wrong++;
    CHECK(error == MPI_SUCCESS && wrong == INTS, "%s%s, %s memory: class %d, integer %zu is %x, not %x", call->name,
          deep ? ", no plan" : "", memory == KIT_HOST ? "host" : "device", kit_class(error), wrong,
          wrong < INTS ? (unsigned)got[wrong] : 0, wrong < INTS ? (unsigned)want[wrong] : 0);
    CHECK(attributes_copied == 0 && attributes_deleted == 1,
          "%s%s, %s memory: the attribute of the type was copied %d times, deleted %d", call->name,
          deep ? ", no plan" : "", memory == KIT_HOST ? "host" : "device", attributes_copied, attributes_deleted);
    tidy();
    kit_close(&in);
    kit_close(&out);
}

int main(int argc, char **argv)
{
    static const struct call calls[] = {
        {"messages", 1, message, 0},
        {"persistent messages", 1, message_init, 2},
        {"MPI_Ialltoall", 0, alltoall, 0},
        {"MPI_Ialltoallv", 0, alltoallv, 0},
        {"MPI_Ialltoallw", 0, alltoallw, 0},
        {"MPI_Alltoall_init", 0, alltoall_init, AGAIN}, /* the last: not everywhere */
    };
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size > RANKS || kit_size % 2)
        kit_skip("types_freed", "needs an even number of ranks, eight at most");
    attribute_open();
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(library, &length);
    /* Intel MPI writes past its own memory when it packs so deep a type. */
    const int most = strstr(library, "Intel") ? 1 : 2;
    for (int deep = 0; deep < most; deep++) {
        for (size_t i = 0; i < sizeof calls / sizeof calls[0] - !persistent_there(); i++) {
            try(&calls[i], deep, KIT_DEVICE);
            if (calls[i].pair || !calls[i].starts) /* Open MPI 5.0 starts it with a type that is gone */
                try(&calls[i], deep, KIT_HOST);
        }
    }
    attribute_close();
    return kit_end("types_freed");
}

/* Collectives that move data on communicators of one rank, in device memory: MPI_COMM_SELF, a communicator that is
 * split off, and a periodic grid whose neighbours are all the rank itself. Blocking and nonblocking, random counts,
 * places, types with gaps on both sides, and MPI_IN_PLACE. MPI_Pack and MPI_Unpack on host memory are the model; of the
 * grid, whose order of blocks is the MPI's own, the same call on host memory is. No call is staged. A call whose sides
 * differ in length gives the MPI's error. Needs TUTTI_STATS=1.
 *   moves_alone        the above
 *   moves_alone first  the same, where calls are staged until that has cost as much as the first copied one
 *   moves_alone large  few large calls cost that much
 *   moves_alone rules  rules that leave all calls to the MPI: none is copied by the library */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "movers.h"

enum { ROUNDS = 400, ROOM = 96 * 1024, FEW = 4 };
enum call { KIT_MOVERS(KIT_NUMBER) NEIGHBOR_ALLGATHER, NEIGHBOR_ALLTOALL, NEIGHBOR_ALLTOALLV, CALLS };
static const char *const blocking[CALLS] = {KIT_MOVERS(KIT_MPI_NAME) "MPI_Neighbor_allgather", "MPI_Neighbor_alltoall",
                                            "MPI_Neighbor_alltoallv"};

static const char *named(int call, int later)
{
    static char name[64];
    if (!later)
        return blocking[call];
    snprintf(name, sizeof name, "MPI_I%c%s", blocking[call][4] - 'A' + 'a', blocking[call] + 5);
    return name;
}

/* What is sent, or received: `count` elements of 6 ints each, in a layout of its own. */
struct side {
    MPI_Datatype type;
    int count, place;
};

struct drawn {
    enum call call;
    int in_place, nonblocking;
    struct side in, out;
    MPI_Comm comm;
};

static MPI_Datatype plain, gaps, columns;
static MPI_Comm split, grid;
static struct kit_buffer device[2];
static char host[2][ROOM];

/* Elements of 24 bytes: without gaps, with one gap, and in columns; extents 24, 40 and 32 bytes. */
static void types_make(void)
{
    MPI_Datatype part;
    MPI_Type_contiguous(6, MPI_INT, &plain);
    MPI_Type_vector(2, 3, 5, MPI_INT, &part);
    MPI_Type_create_resized(part, 0, 40, &gaps);
    MPI_Type_free(&part);
    MPI_Type_vector(3, 2, 3, MPI_INT, &part);
    MPI_Type_create_resized(part, 0, 32, &columns);
    MPI_Type_free(&part);
    MPI_Type_commit(&plain);
    MPI_Type_commit(&gaps);
    MPI_Type_commit(&columns);
}

static uint64_t draw_next(uint64_t *state)
{
    return random_mix((*state)++);
}

static struct side side_draw(uint64_t *state, int count)
{
    const MPI_Datatype types[] = {plain, gaps, columns};
    return (struct side){.type = types[draw_next(state) % 3], .count = count, .place = (int)(draw_next(state) % 5)};
}

static struct drawn draw(uint64_t *state)
{
    struct drawn d = {.call = (enum call)(draw_next(state) % CALLS)};
    const int most = draw_next(state) % 3 == 0 ? 400 : 9, count = (int)(draw_next(state) % (unsigned)most);
    d.in = side_draw(state, count);
    d.out = side_draw(state, count);
    d.in_place = d.call != BCAST && d.call < NEIGHBOR_ALLGATHER && draw_next(state) % 4 == 0;
    d.comm = d.call >= NEIGHBOR_ALLGATHER ? grid : draw_next(state) % 2 ? split : MPI_COMM_SELF;
    d.nonblocking = draw_next(state) % 2 != 0;
    return d;
}

#define EITHER(call, nonblocking, ...) (request ? MPI_##nonblocking(__VA_ARGS__, request) : MPI_##call(__VA_ARGS__))

/* The blocking call, or with a request the nonblocking one. */
static int start(const struct drawn *d, void *from, void *to, MPI_Request *request)
{
    const struct side *i = &d->in, *o = &d->out;
    static int sends[FEW], receives[FEW], send_at[FEW], receive_at[FEW], zero; /* an open call may read them */
    static MPI_Datatype in_type, out_type;
    in_type = i->type;
    out_type = o->type;
    for (int k = 0; k < FEW; k++) {
        sends[k] = receives[k] = i->count;
        send_at[k] = i->place + k * i->count;
        receive_at[k] = o->place + (FEW - 1 - k) * o->count;
    }
    void *in = d->in_place && d->call != SCATTER && d->call != SCATTERV ? MPI_IN_PLACE : from;
    void *out = d->in_place && (d->call == SCATTER || d->call == SCATTERV) ? MPI_IN_PLACE : to;
    switch (d->call) {
    case BCAST:
        return EITHER(Bcast, Ibcast, from, i->count, in_type, 0, d->comm);
    case GATHER:
        return EITHER(Gather, Igather, in, i->count, in_type, out, o->count, out_type, 0, d->comm);
    case GATHERV:
        return EITHER(Gatherv, Igatherv, in, i->count, in_type, out, receives, receive_at, out_type, 0, d->comm);
    case SCATTER:
        return EITHER(Scatter, Iscatter, in, i->count, in_type, out, o->count, out_type, 0, d->comm);
    case SCATTERV:
        return EITHER(Scatterv, Iscatterv, in, sends, send_at, in_type, out, o->count, out_type, 0, d->comm);
    case ALLGATHER:
        return EITHER(Allgather, Iallgather, in, i->count, in_type, out, o->count, out_type, d->comm);
    case ALLGATHERV:
        return EITHER(Allgatherv, Iallgatherv, in, i->count, in_type, out, receives, receive_at, out_type, d->comm);
    case ALLTOALL:
        return EITHER(Alltoall, Ialltoall, in, i->count, in_type, out, o->count, out_type, d->comm);
    case ALLTOALLV:
        return EITHER(Alltoallv, Ialltoallv, in, sends, send_at, in_type, out, receives, receive_at, out_type, d->comm);
    case ALLTOALLW:
        return EITHER(Alltoallw, Ialltoallw, in, sends, &zero, &in_type, out, receives, &zero, &out_type, d->comm);
    case NEIGHBOR_ALLGATHER:
        return EITHER(Neighbor_allgather, Ineighbor_allgather, in, i->count, in_type, out, o->count, out_type, d->comm);
    case NEIGHBOR_ALLTOALL:
        return EITHER(Neighbor_alltoall, Ineighbor_alltoall, in, i->count, in_type, out, o->count, out_type, d->comm);
    default:
        return EITHER(Neighbor_alltoallv, Ineighbor_alltoallv, in, sends, send_at, in_type, out, receives, receive_at,
                      out_type, d->comm);
    }
}

/* A nonblocking call ends by a wait or by tests; a request on a communicator of one rank is complete at once. */
static int run(const struct drawn *d, void *from, void *to)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0, code = start(d, from, to, d->nonblocking ? &request : NULL);
    if (code != MPI_SUCCESS || !d->nonblocking)
        return code;
    if (d->in.place % 2)
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
    while (code == MPI_SUCCESS && !done)
        code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return code;
}

/* The address of the block of the only rank. */
static char *block_of(const struct side *side, char *buffer, int place)
{
    MPI_Aint lower, extent;
    MPI_Type_get_extent(side->type, &lower, &extent);
    return buffer + place * extent;
}

/* What the call makes of both buffers in host memory. */
static int model(const struct drawn *d, char *from, char *to)
{
    static char packed[ROOM];
    const enum call call = d->call;
    const int sends_at = call == SCATTERV || call == ALLTOALLV ? d->in.place : 0;
    const int receives_at =
        call == GATHERV || call == ALLGATHERV || call == ALLTOALLV ? d->out.place + (FEW - 1) * d->out.count : 0;
    int end = 0, at = 0;
    if (call >= NEIGHBOR_ALLGATHER)
        return run(d, from, to);
    if (d->in_place || call == BCAST)
        return MPI_SUCCESS;
    MPI_Pack(block_of(&d->in, from, sends_at), d->in.count, d->in.type, packed, ROOM, &end, MPI_COMM_SELF);
    return MPI_Unpack(packed, end, &at, block_of(&d->out, to, receives_at), d->out.count, d->out.type, MPI_COMM_SELF);
}

static void try(const struct drawn *d, int round, uint64_t *state)
{
    for (int b = 0; b < 2; b++)
        random_bytes(host[b], draw_next(state), ROOM);
    void *from = kit_put(&device[0], 0, host[0], ROOM), *to = kit_put(&device[1], 0, host[1], ROOM);
    const int expected = model(d, host[0], host[1]), code = run(d, from, to);
    CHECK(expected == MPI_SUCCESS && code == MPI_SUCCESS, "round %d, %s: classes %d and %d", round,
          named(d->call, d->nonblocking), kit_class(expected), kit_class(code));
    for (int b = 0; b < 2; b++) {
        int guards;
        const char *got = kit_get(&device[b], &guards);
        CHECK(guards && memcmp(got, host[b], ROOM) == 0, "round %d, %s%s of %d elements: buffer %d differs", round,
              named(d->call, d->nonblocking), d->in_place ? " in place" : "", d->in.count, b);
    }
}

static void all(uint64_t *state, int first_calls)
{
    uint64_t early = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const struct drawn d = draw(state);
        try(&d, i, state);
    }
    for (int i = 0; i < 2 * NEIGHBOR_ALLGATHER; i++) { /* the MPI orders edges that a graph has twice */
        const char *const name = named(i / 2, i % 2);
        const uint64_t first = first_calls ? kit_counted(name, "staged|first calls") : 0;
        early += first;
        CHECK(kit_plain || kit_counted(name, "staged") == first, "%s: %d calls were staged", name,
              (int)(kit_counted(name, "staged") - first));
        CHECK(kit_plain || i / 2 == BCAST || kit_counted(name, "copied on this rank") > 0, "%s: no call was copied",
              name);
    }
    CHECK(kit_plain || (first_calls ? early > 10 && early < 90 : early == 0), "%d first calls were staged", (int)early);
}

/* The receiver has room for less, or for more, than is sent: the class is that of the same call on host memory, and
 * what is behind less room stays. */
static void sides_differ(void)
{
    enum { LENGTH = 64, LESS = 48, BYTES = LENGTH * (int)sizeof(int) };
    int sent[LENGTH], got[2][LENGTH], guards;
    MPI_Comm_set_errhandler(split, MPI_ERRORS_RETURN);
    for (int i = 0; i < 2; i++) {
        const int send = i ? LESS : LENGTH, receive = i ? LENGTH : LESS;
        for (int n = 0; n < LENGTH; n++) {
            sent[n] = 7 * n + i;
            got[0][n] = got[1][n] = -n;
        }
        void *const from = kit_put(&device[0], 0, sent, BYTES), *const to = kit_put(&device[1], 0, got[0], BYTES);
        const int wanted = MPI_Allgather(sent, send, MPI_INT, got[0], receive, MPI_INT, split);
        const int code = MPI_Allgather(from, send, MPI_INT, to, receive, MPI_INT, split);
        memcpy(got[1], kit_get(&device[1], &guards), BYTES);
        CHECK(kit_class(code) == kit_class(wanted), "%d sent, room for %d: class %d, not %d", send, receive,
              kit_class(code), kit_class(wanted));
        CHECK(i == 1 || memcmp(got[0] + LESS, got[1] + LESS, BYTES - LESS * sizeof(int)) == 0,
              "%d sent, room for %d: other data behind that", send, receive);
    }
}

static void large(void)
{
    enum { CALLS_MADE = 60, BYTES = 90 * 1024 }; /* 21 of them cost as much, and 75 short ones */
    void *const from = kit_put(&device[0], 0, NULL, BYTES), *const to = kit_put(&device[1], 0, NULL, BYTES);
    for (int i = 0; i < CALLS_MADE; i++)
        MPI_Allgather(from, BYTES, MPI_BYTE, to, BYTES, MPI_BYTE, MPI_COMM_SELF);
    const uint64_t early = kit_counted("MPI_Allgather", "staged|first calls");
    CHECK(kit_plain || (early > 4 && early < 40), "%d first calls of %d bytes were staged", (int)early, (int)BYTES);
}

static void by_rules(uint64_t *state)
{
    for (int i = 0; i < ROUNDS / 4; i++) {
        const struct drawn d = draw(state);
        try(&d, i, state);
    }
    for (int i = 0; i < 2 * CALLS; i++)
        CHECK(kit_counted(named(i / 2, i % 2), "copied on this rank") == 0, "%s: a call was copied against the rules",
              named(i / 2, i % 2));
}

int main(int argc, char **argv)
{
    const char *const how = argc > 1 ? argv[1] : "";
    const int dims[2] = {1, 1}, periods[2] = {1, 1};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    uint64_t state = kit_seed + (unsigned)kit_rank;
    MPI_Comm_split(MPI_COMM_WORLD, kit_rank, 0, &split);
    MPI_Cart_create(split, 2, dims, periods, 0, &grid);
    types_make();
    kit_open(&device[0], KIT_DEVICE, ROOM);
    kit_open(&device[1], KIT_DEVICE, ROOM);
    if (strcmp(how, "large") == 0)
        large();
    else if (strcmp(how, "rules") == 0)
        by_rules(&state);
    else
        all(&state, strcmp(how, "first") == 0);
    if (kit_errors_returned())
        sides_differ();
    kit_close(&device[0]);
    kit_close(&device[1]);
    MPI_Type_free(&plain);
    MPI_Type_free(&gaps);
    MPI_Type_free(&columns);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&split);
    return kit_end("collectives on one rank");
}

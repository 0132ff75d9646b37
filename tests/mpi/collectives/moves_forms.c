/* Each collective that moves data in each of its forms, blocking, nonblocking and persistent: the result, and that
 * Tutti has made every call of every form itself, by the counters. Blocks from one element on. Arguments: where the
 * buffers lie (device, if none is named), `long` for longer blocks, `pinned` for host memory that is pinned. Needs
 * TUTTI_STATS=1 and rules that stage nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "kit.h"
#include "persistent.h"
#include "support/random.h"

enum { RANKS = 8, MOST = 20000, LONG = 400000, STARTS = 3 };
/* DEVICE: device memory everywhere. SEND, RECV: what is sent from, or received into, lies in memory of the host, on all
 * ranks. ROOT, OTHERS: both buffers of the root, or of all others; a call without a root has one too. SIDES: drawn for
 * each rank and side. PLACE: device memory, MPI_IN_PLACE; PLACE_SIDES: drawn for each rank. */
enum where { DEVICE, SEND, RECV, ROOT, OTHERS, SIDES, PLACE, PLACE_SIDES, WHERES };
static const char *const wheres[WHERES] = {"device", "send", "recv", "root", "others", "sides", "place", "place_sides"};
static enum where where;
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };
static const char *const forms[FORMS] = {"blocking", "nonblocking", "persistent"};
/* clang-format off */
#define CALLS_OF(X) X(Bcast) X(Gather) X(Gatherv) X(Scatter) X(Scatterv) X(Allgather) X(Allgatherv) X(Alltoall)        \
    X(Alltoallv) X(Alltoallw) X(Neighbor_allgather) X(Neighbor_allgatherv) X(Neighbor_alltoall) X(Neighbor_alltoallv)  \
    X(Neighbor_alltoallw)
/* clang-format on */
#define ID(name) name,
enum call { CALLS_OF(ID) CALLS };
#define TEXT(name) #name,
static const char *const names[CALLS] = {CALLS_OF(TEXT)};

static MPI_Comm around; /* each rank's neighbours are the next one and, from three ranks on, the one before */
static int to[2], from[2], neighbours;
static struct kit_buffer out[2], in[2]; /* of host and of device memory */

static int value(int call, int sender, int receiver, int round, int i)
{
    return call * 1000003 + sender * 10007 + receiver * 101 + round * 31 + i;
}

static int is_neighbour(enum call call)
{
    return call >= Neighbor_allgather;
}

/* 1: each receiver gets a block of its own. */
static int is_apart(enum call call)
{
    return (call >= Scatter && call <= Scatterv) || (call >= Alltoall && call <= Alltoallw) ||
           call >= Neighbor_alltoall;
}

static int is_rooted(enum call call)
{
    return call <= Scatterv;
}

static int is_in_place(void)
{
    return where >= PLACE;
}

/* 1: this rank sends from memory of the host in its call number `draw`; side 1: receives into it. */
static int on_host(int side, int root, int draw)
{
    const uint64_t dice = random_mix(kit_seed + (uint64_t)draw * 64 + (uint64_t)kit_rank) >> (is_in_place() ? 0 : side);
    switch (where) {
    case SEND:
        return side == 0;
    case RECV:
        return side == 1;
    case ROOT:
        return kit_rank == root;
    case OTHERS:
        return kit_rank != root;
    case SIDES:
    case PLACE_SIDES:
        return (int)(dice & 1);
    default:
        return 0;
    }
}

/* A call of any form; a persistent one is made alone, not started. */
static int make(enum call call, enum form form, int n, int root, const int *send, int *receive, MPI_Request *request)
{
    int counts[RANKS], displs[RANKS], bytes[RANKS], code = MPI_ERR_OTHER;
    MPI_Aint far[RANKS];
    MPI_Datatype types[RANKS];
    for (int r = 0; r < RANKS; r++) {
        counts[r] = n;
        displs[r] = r * n;
        bytes[r] = r * n * (int)sizeof(int);
        far[r] = bytes[r];
        types[r] = MPI_INT;
    }
#define INTS   send, n, MPI_INT, receive, n, MPI_INT
#define MANY   send, n, MPI_INT, receive, counts, displs, MPI_INT
#define LISTED send, counts, displs, MPI_INT, receive, counts, displs, MPI_INT
#define MAKE(blocking, nonblocking, persistent, comm, ...)                                                             \
    code = form == BLOCKING      ? MPI_##blocking(__VA_ARGS__, comm)                                                   \
           : form == NONBLOCKING ? MPI_##nonblocking(__VA_ARGS__, comm, request)                                       \
                                 : MPI_##persistent(__VA_ARGS__, comm, MPI_INFO_NULL, request);                        \
    break
    switch (call) {
    case Bcast:
        MAKE(Bcast, Ibcast, Bcast_init, MPI_COMM_WORLD, kit_rank == root ? (int *)(uintptr_t)send : receive, n, MPI_INT,
             root);
    case Gather:
        MAKE(Gather, Igather, Gather_init, MPI_COMM_WORLD, INTS, root);
    case Gatherv:
        MAKE(Gatherv, Igatherv, Gatherv_init, MPI_COMM_WORLD, MANY, root);
    case Scatter:
        MAKE(Scatter, Iscatter, Scatter_init, MPI_COMM_WORLD, INTS, root);
    case Scatterv:
        MAKE(Scatterv, Iscatterv, Scatterv_init, MPI_COMM_WORLD, send, counts, displs, MPI_INT, receive, n, MPI_INT,
             root);
    case Allgather:
        MAKE(Allgather, Iallgather, Allgather_init, MPI_COMM_WORLD, INTS);
    case Allgatherv:
        MAKE(Allgatherv, Iallgatherv, Allgatherv_init, MPI_COMM_WORLD, MANY);
    case Alltoall:
        MAKE(Alltoall, Ialltoall, Alltoall_init, MPI_COMM_WORLD, INTS);
    case Alltoallv:
        MAKE(Alltoallv, Ialltoallv, Alltoallv_init, MPI_COMM_WORLD, LISTED);
    case Alltoallw:
        MAKE(Alltoallw, Ialltoallw, Alltoallw_init, MPI_COMM_WORLD, send, counts, bytes, types, receive, counts, bytes,
             types);
    case Neighbor_allgather:
        MAKE(Neighbor_allgather, Ineighbor_allgather, Neighbor_allgather_init, around, INTS);
    case Neighbor_allgatherv:
        MAKE(Neighbor_allgatherv, Ineighbor_allgatherv, Neighbor_allgatherv_init, around, MANY);
    case Neighbor_alltoall:
        MAKE(Neighbor_alltoall, Ineighbor_alltoall, Neighbor_alltoall_init, around, INTS);
    case Neighbor_alltoallv:
        MAKE(Neighbor_alltoallv, Ineighbor_alltoallv, Neighbor_alltoallv_init, around, LISTED);
    default:
        MAKE(Neighbor_alltoallw, Ineighbor_alltoallw, Neighbor_alltoallw_init, around, send, counts, far, types,
             receive, counts, far, types);
    }
    return code;
}

/* Sets the contents for a round, and what must come. *blocks: of the receive buffer. */
static void contents(enum call call, int n, int root, int round, int *sent, int *want, int *blocks)
{
    const int peers = is_neighbour(call) ? neighbours : kit_size;
    for (int p = 0; p < peers; p++) {
        const int receiver = is_neighbour(call) ? to[p] : p, sender = is_neighbour(call) ? from[p] : p;
        for (int i = 0; i < n; i++) {
            sent[p * n + i] = value(call, kit_rank, is_apart(call) ? receiver : 0, round, i);
            want[p * n + i] = value(call, sender, is_apart(call) ? kit_rank : 0, round, i);
        }
    }
    *blocks = peers;
    if (!is_rooted(call))
        return;
    *blocks = call == Gather || call == Gatherv ? (kit_rank == root ? peers : 0) : 1;
    for (int i = 0; i < n && *blocks == 1 && call != Gather && call != Gatherv; i++)
        want[i] = value(call, root, is_apart(call) ? kit_rank : 0, round, i);
    if (call == Bcast && kit_rank == root) /* its buffer is the one that is sent */
        *blocks = 0;
}

/* What is in the receive buffer before a call in place: all blocks that are sent, or this rank's own among others. */
static const int *placed(enum call call, int n, const int *sent, int *room)
{
    if (is_apart(call))
        return sent;
    for (int i = 0; i < n * kit_size; i++)
        room[i] = -1;
    memcpy(room + (size_t)n * (size_t)kit_rank, sent, (size_t)n * sizeof *room);
    return room;
}

/* 1 if this rank's buffers, of those that it uses, are all in memory of the host. */
static int one(enum call call, enum form form, int n, int draw)
{
    static int sent[RANKS * LONG], want[RANKS * LONG], room[RANKS * LONG];
    const int root = where == DEVICE ? (n + (int)call) % kit_size : (int)call % kit_size;
    const int from_host = on_host(0, root, draw), to_host = on_host(1, root, draw);
    struct kit_buffer *source = &out[!from_host], *target = &in[!to_host];
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS, blocks = 0, wrong = 0, guards = 1;
    const size_t bytes = (size_t)kit_size * (size_t)n * sizeof(int);
    for (int round = 0; round < (form == PERSISTENT ? STARTS : 1) && code == MPI_SUCCESS; round++) {
        contents(call, n, root, round, sent, want, &blocks);
        const int *send = is_in_place() ? MPI_IN_PLACE : kit_put(source, 0, sent, bytes);
        int *receive = kit_put(target, 0, is_in_place() ? placed(call, n, sent, room) : NULL, bytes);
        if (round == 0) {
            memcpy(room, kit_get(target, NULL), bytes);
            code = make(call, form, n, root, send, receive, &request);
            if (form == PERSISTENT) /* nothing is moved before the start */
                wrong += memcmp(room, kit_get(target, NULL), bytes) != 0;
        }
        if (code == MPI_SUCCESS && form == PERSISTENT)
            code = MPI_Start(&request);
        if (code == MPI_SUCCESS && form != BLOCKING)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        const int *got = (const void *)kit_get(target, &guards);
        for (int i = 0; i < blocks * n; i++)
            wrong += got[i] != want[i];
    }
    if (form == PERSISTENT && request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    CHECK(code == MPI_SUCCESS && wrong == 0 && guards,
          "%s %s of %d ints, root %d, from %s into %s memory: class %d, %d "
          "wrong",
          forms[form], names[call], n, root, from_host ? "host" : "device", to_host ? "host" : "device",
          kit_class(code), wrong);
    const int sends = !is_in_place() && (!is_rooted(call) || call == Gather || call == Gatherv || kit_rank == root);
    const int receives = !is_rooted(call) || (call == Bcast ? kit_rank != root : blocks > 0);
    return (!sends || from_host) && (!receives || to_host);
}

/* What the counters call a form. */
static const char *counted(enum call call, enum form form)
{
    static char text[64];
    if (form == NONBLOCKING) {
        snprintf(text, sizeof text, "MPI_I%s", names[call]);
        text[5] = (char)(text[5] | 0x20);
    } else {
        snprintf(text, sizeof text, "MPI_%s%s", names[call], form == PERSISTENT ? "_init" : "");
    }
    return text;
}

static void neighbours_open(void)
{
    neighbours = kit_size > 2 ? 2 : 1;
    to[0] = (kit_rank + 1) % kit_size;
    from[0] = (kit_rank + kit_size - 1) % kit_size;
    to[1] = from[0];
    from[1] = to[0];
    const int weights[2] = {1, 1}; /* compilers take MPI_UNWEIGHTED for an array */
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, neighbours, from, weights, neighbours, to, weights, MPI_INFO_NULL, 0,
                                   &around);
}

/* All sizes of a call in one form. Ranks whose buffers lie in memory of the host count nothing. The first call in which
 * some rank has no device memory may be staged: that rank learns that others have. */
static void all_sizes(enum call call, enum form form, const int *sizes, int n_sizes)
{
    static int draw;
    const char *name = counted(call, form);
    const int is_drawn = where == SIDES || where == PLACE_SIDES; /* each call has other ranks in memory of the host */
    uint64_t calls = 0, first = 0;
    for (int s = 0; s < n_sizes; s++, draw++) {
        if (where != DEVICE && where != PLACE && form != PERSISTENT) {
            (void)one(call, form, sizes[s], draw);
            MPI_Barrier(MPI_COMM_WORLD); /* the peers have read this rank's arrival */
        }
        const uint64_t before = kit_counted(name, "staged");
        const int is_host = one(call, form, sizes[s], draw);
        const uint64_t staged = kit_counted(name, "staged") - before;
        first += kit_counted(name, "staged") - before;
        calls += is_host ? 0 : form == PERSISTENT ? STARTS : 1;
        CHECK(kit_plain || is_drawn || staged == 0, "%s of %d ints: %llu staged", name, sizes[s],
              (unsigned long long)staged);
    }
    const uint64_t made = kit_counted(name, "accelerated"), staged = kit_counted(name, "staged");
    CHECK(kit_plain || (where != DEVICE && where != PLACE) || (made == calls && staged == 0),
          "%s: %llu of %llu calls were accelerated, %llu staged", name, (unsigned long long)made,
          (unsigned long long)calls, (unsigned long long)staged);
    CHECK(kit_plain || made + first >= calls, "%s: %llu of %llu calls were accelerated, %llu staged", name,
          (unsigned long long)made, (unsigned long long)calls, (unsigned long long)first);
}

/* Puts the buffer into pinned memory. */
static void pin(struct kit_buffer *b)
{
    void *memory = NULL;
    if (!CHECK(tutti_device()->memory.alloc_pinned(b->room + 2 * KIT_GUARD + KIT_OFFSET, &memory) == 0,
               "pinned memory"))
        return;
    free(b->base);
    b->base = memory;
}

static void unpin(struct kit_buffer *b)
{
    tutti_device()->memory.free_pinned(b->base);
    b->base = NULL;
}

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 2, 25, 1000, MOST}, longer[] = {LONG};
    int is_long = 0, is_pinned = 0;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size < 2 || kit_size > RANKS)
        kit_skip("moves_forms", "two to eight ranks");
    for (int i = 1; i < argc; i++) {
        is_long |= strcmp(argv[i], "long") == 0;
        is_pinned |= strcmp(argv[i], "pinned") == 0 && !kit_plain;
        for (int w = 0; w < WHERES; w++)
            where = strcmp(argv[i], wheres[w]) == 0 ? (enum where)w : where;
    }
    const size_t room = sizeof(int) * (size_t)kit_size * (is_long ? LONG : MOST) + 16;
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&out[kind], kind ? KIT_DEVICE : KIT_HOST, room);
        kit_open(&in[kind], kind ? KIT_DEVICE : KIT_HOST, room);
    }
    if (is_pinned) {
        pin(&out[0]);
        pin(&in[0]);
    }
    neighbours_open();
    if (where != DEVICE) { /* a rank that has passed no device memory takes no part in calls on it */
        void *const met = kit_put(&in[1], 0, NULL, sizeof(int));
        MPI_Bcast(met, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    const int first = is_in_place() ? Allgather : Bcast, end = is_in_place() ? Neighbor_allgather : CALLS;
    for (int call = first; call < end; call++) {
        for (int form = 0; form < FORMS; form++) {
            if (form == PERSISTENT && !persistent_there())
                continue;
            if (is_long)
                all_sizes((enum call)call, (enum form)form, longer, sizeof longer / sizeof *longer);
            else
                all_sizes((enum call)call, (enum form)form, sizes, sizeof sizes / sizeof *sizes);
        }
    }
    MPI_Comm_free(&around);
    if (is_pinned) {
        unpin(&out[0]);
        unpin(&in[0]);
    }
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&out[kind]);
        kit_close(&in[kind]);
    }
    return kit_end("moves_forms");
}

/* Each collective that moves data in each of its forms, blocking, nonblocking and persistent, on device memory of all
 * ranks: the result, and that Tutti has made every call of every form without host memory, by the counters. Blocks from
 * one element on. Needs TUTTI_STATS=1 and rules that stage nothing. */
#include <stdio.h>
#include <string.h>

#include "kit.h"
#include "persistent.h"

enum { RANKS = 8, MOST = 20000, STARTS = 3 };
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
static struct kit_buffer out, in;

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
    const int rooted = call <= Scatterv;
    const int peers = is_neighbour(call) ? neighbours : kit_size;
    for (int p = 0; p < peers; p++) {
        const int receiver = is_neighbour(call) ? to[p] : p, sender = is_neighbour(call) ? from[p] : p;
        for (int i = 0; i < n; i++) {
            sent[p * n + i] = value(call, kit_rank, is_apart(call) ? receiver : 0, round, i);
            want[p * n + i] = value(call, sender, is_apart(call) ? kit_rank : 0, round, i);
        }
    }
    *blocks = peers;
    if (!rooted)
        return;
    *blocks = call == Gather || call == Gatherv ? (kit_rank == root ? peers : 0) : 1;
    for (int i = 0; i < n && *blocks == 1 && call != Gather && call != Gatherv; i++)
        want[i] = value(call, root, is_apart(call) ? kit_rank : 0, round, i);
    if (call == Bcast && kit_rank == root) /* its buffer is the one that is sent */
        *blocks = 0;
}

static void one(enum call call, enum form form, int n)
{
    static int sent[RANKS * MOST], want[RANKS * MOST];
    const int root = (n + (int)call) % kit_size;
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS, blocks = 0, wrong = 0, guards = 1;
    const size_t room = (size_t)kit_size * (size_t)n * sizeof(int);
    for (int round = 0; round < (form == PERSISTENT ? STARTS : 1) && code == MPI_SUCCESS; round++) {
        contents(call, n, root, round, sent, want, &blocks);
        const int *send = kit_put(&out, 0, sent, room);
        int *receive = kit_put(&in, 0, NULL, room);
        if (round == 0)
            code = make(call, form, n, root, send, receive, &request);
        if (code == MPI_SUCCESS && form == PERSISTENT)
            code = MPI_Start(&request);
        if (code == MPI_SUCCESS && form != BLOCKING)
            code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        const int *got = (const void *)kit_get(&in, &guards);
        for (int i = 0; i < blocks * n; i++)
            wrong += got[i] != want[i];
    }
    if (form == PERSISTENT && request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    CHECK(code == MPI_SUCCESS && wrong == 0 && guards, "%s %s of %d ints, root %d: class %d, %d wrong", forms[form],
          names[call], n, root, kit_class(code), wrong);
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

int main(int argc, char **argv)
{
    static const int sizes[] = {1, 2, 25, 1000, MOST};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size < 2 || kit_size > RANKS)
        kit_skip("moves_forms", "two to eight ranks");
    kit_open(&out, KIT_DEVICE, sizeof(int) * RANKS * MOST + 16);
    kit_open(&in, KIT_DEVICE, sizeof(int) * RANKS * MOST + 16);
    neighbours_open();
    for (int call = 0; call < CALLS; call++) {
        for (int form = 0; form < FORMS; form++) {
            if (form == PERSISTENT && !persistent_there())
                continue;
            const char *name = counted((enum call)call, (enum form)form);
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                one((enum call)call, (enum form)form, sizes[s]);
            const uint64_t made = kit_counted(name, "accelerated"), staged = kit_counted(name, "staged");
            const uint64_t calls = sizeof sizes / sizeof *sizes * (form == PERSISTENT ? STARTS : 1);
            CHECK(kit_plain || (made == calls && staged == 0), "%s: %llu of %llu calls were accelerated, %llu staged",
                  name, (unsigned long long)made, (unsigned long long)calls, (unsigned long long)staged);
        }
    }
    MPI_Comm_free(&around);
    kit_close(&out);
    kit_close(&in);
    return kit_end("moves_forms");
}

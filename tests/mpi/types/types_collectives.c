/* Collectives of random types: blocking, nonblocking and, where the MPI has them, persistent; in place; with host and
 * device memory mixed over ranks and sides; against the same call of the MPI on copies in host memory. Gaps between and
 * inside blocks stay as they are. Arguments: number of calls; "device": blocking calls on device memory alone, which go
 * past the MPI; "sides": blocking calls with device memory on one side of each rank at least. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "movers.h"
#include "persistent.h"
#include "typegen.h"

enum { MOST = 512, RANKS = 8, COUNTS = 3, MORE = 40, ROOM = 17 * MOST * (COUNTS + 2) * (RANKS + 1) };

enum call { KIT_MOVERS(KIT_NUMBER) KIT_NEIGHBORS(KIT_NUMBER) CALLS };
static const char *const names[CALLS] = {KIT_MOVERS(KIT_NAME) KIT_NEIGHBORS(KIT_NAME)};
enum form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

static struct kit_buffer in[2], out[2];
static unsigned char *send_copy, *receive_copy;
/* Neighbours: on a ring, and in a graph with edges that come twice and one to the rank itself. */
enum { EDGES = 3 };
static struct {
    MPI_Comm comm;
    int n, from[EDGES], to[EDGES];
} around[2];
static int intel, device_only, sides;

struct shape {
    enum call call;
    enum form form;
    struct typegen type;
    int root, in_place, n; /* n: blocks */
    int topology;          /* of `around` */
    int count;             /* of the even calls */
    int counts_out[RANKS], counts_in[RANKS], places_out[RANKS], places_in[RANKS];
    MPI_Aint bytes_out[RANKS], bytes_in[RANKS];
    int small_out[RANKS], small_in[RANKS];
    MPI_Datatype types[RANKS];
    uint64_t seed;
    size_t span_out, span_in;
};

static void fill(unsigned char *bytes, size_t n, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)random_mix(seed + i);
}

#define EVEN   send, s->count, type, receive, s->count, type
#define OUT_V  send, s->counts_out[kit_rank], type, receive, s->counts_in, s->places_in, type
#define BOTH_V send, s->counts_out, s->places_out, type, receive, s->counts_in, s->places_in, type
#define BOTH_W send, s->counts_out, s->small_out, s->types, receive, s->counts_in, s->small_in, s->types
#define FAR_W  send, s->counts_out, s->bytes_out, s->types, receive, s->counts_in, s->bytes_in, s->types

#define START(name, ...) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
enum { STARTS = 2 };
/* Intel MPI 2021.18, of 1, 2, 4 ... ranks, releases the types of MPI_Allgather_init once too often at each start but
 * the first, so that they go while they are used; it takes several starts for that to show. Types made of the program's
 * hold it; these are lost. Of 3 and more ranks its MPI_Scatter_init fails when it is started again. */
enum { STARTS_INTEL = 10 };
static int starts(enum call call)
{
    if (intel && call == ALLGATHER)
        return STARTS_INTEL;
    return intel && call == SCATTER && kit_size > 2 ? 1 : STARTS;
}

static void hold(MPI_Datatype type)
{
    for (int i = 0; i < 2 * STARTS_INTEL; i++) {
        MPI_Datatype holder;
        MPI_Type_contiguous(1, type, &holder);
    }
}

#define RUN(blocking, nonblocking, ...)                                                                                \
    (s->form == BLOCKING      ? MPI_##blocking(__VA_ARGS__)                                                            \
     : s->form == NONBLOCKING ? MPI_##nonblocking(__VA_ARGS__, &request)                                               \
                              : START(blocking, __VA_ARGS__))

static int run(struct shape *s, const void *send, void *receive)
{
    MPI_Datatype type = s->type.type;
    MPI_Comm comm = MPI_COMM_WORLD, ring = around[s->topology].comm;
    MPI_Request request = MPI_REQUEST_NULL;
    int error = MPI_ERR_OTHER, root = s->root;
    switch (s->call) {
    case BCAST:
        error = RUN(Bcast, Ibcast, receive, s->count, type, root, comm);
        break;
    case GATHER:
        error = RUN(Gather, Igather, EVEN, root, comm);
        break;
    case GATHERV:
        error = RUN(Gatherv, Igatherv, OUT_V, root, comm);
        break;
    case SCATTER:
        error = RUN(Scatter, Iscatter, EVEN, root, comm);
        break;
    case SCATTERV:
        error = RUN(Scatterv, Iscatterv, send, s->counts_in, s->places_out, type, receive, s->counts_in[kit_rank], type,
                    root, comm);
        break;
    case ALLGATHER:
        error = RUN(Allgather, Iallgather, EVEN, comm);
        break;
    case ALLGATHERV:
        error = RUN(Allgatherv, Iallgatherv, OUT_V, comm);
        break;
    case ALLTOALL:
        error = RUN(Alltoall, Ialltoall, EVEN, comm);
        break;
    case ALLTOALLV:
        error = RUN(Alltoallv, Ialltoallv, BOTH_V, comm);
        break;
    case ALLTOALLW:
        error = RUN(Alltoallw, Ialltoallw, BOTH_W, comm);
        break;
    case NEIGHBOR_ALLGATHER:
        error = RUN(Neighbor_allgather, Ineighbor_allgather, EVEN, ring);
        break;
    case NEIGHBOR_ALLGATHERV:
        error = RUN(Neighbor_allgatherv, Ineighbor_allgatherv, send, s->count, type, receive, s->counts_in,
                    s->places_in, type, ring);
        break;
    case NEIGHBOR_ALLTOALL:
        error = RUN(Neighbor_alltoall, Ineighbor_alltoall, EVEN, ring);
        break;
    case NEIGHBOR_ALLTOALLV:
        error = RUN(Neighbor_alltoallv, Ineighbor_alltoallv, BOTH_V, ring);
        break;
    default:
        error = RUN(Neighbor_alltoallw, Ineighbor_alltoallw, FAR_W, ring);
    }
    if (error != MPI_SUCCESS || s->form == BLOCKING)
        return error;
    if (s->form == NONBLOCKING)
        return MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int turn = 0; turn < starts(s->call); turn++)
        error |= MPI_Start(&request) | MPI_Wait(&request, MPI_STATUS_IGNORE);
    return MPI_Request_free(&request) | error;
}

/* Elements from rank a to rank b; the same in both directions where a call in place wants it. */
static int between(const struct shape *s, int a, int b)
{
    int low = a < b ? a : b, high = a < b ? b : a;
    if (s->call == GATHERV || s->call == ALLGATHERV)
        low = high = a;
    else if (s->call == SCATTERV)
        low = high = b;
    return (int)(random_mix(s->seed + (uint64_t)(low * RANKS + high)) % (COUNTS + 1));
}

/* Blocks with gaps between them, in an order that is not that of the ranks. */
static int place(const struct shape *s, const int *counts, int *places)
{
    int at = 1, turn = (int)(s->seed % (uint64_t)s->n);
    for (int i = 0; i < s->n; i++) {
        int k = (i + turn) % s->n;
        places[k] = at;
        at += counts[k] + (int)(random_mix(s->seed + (uint64_t)i) % 2);
    }
    return at;
}

static void plan(struct shape *s, uint64_t *state)
{
    int neighbours = s->call >= NEIGHBOR_ALLGATHER;
    s->topology = (int)(random_next(state) % 2);
    s->root = (int)(random_next(state) % (uint64_t)kit_size);
    s->n = neighbours ? around[s->topology].n : kit_size;
    s->count = (int)(random_next(state) % (COUNTS + 1));
    s->seed = random_next(state);
    s->in_place = !neighbours && s->call != BCAST && random_next(state) % 3 == 0;
#ifdef OPEN_MPI /* 4.1 mixes up messages of nonblocking all-to-alls in place */
    if (s->form != BLOCKING && s->call >= ALLTOALL)
        s->in_place = 0;
#endif
    do {
        if (s->type.text[0])
            typegen_free(&s->type);
        typegen_make(&s->type, state, 1 + (int)(random_next(state) % 4), MOST, 1);
    } while (s->type.size == 0 || !typegen_disjoint(&s->type, 2));
    for (int i = 0; i < s->n; i++) {
        s->counts_out[i] = between(s, kit_rank, neighbours ? around[s->topology].to[i] : i);
        s->counts_in[i] = between(s, neighbours ? around[s->topology].from[i] : i, kit_rank);
        if (s->call == SCATTERV)
            s->counts_in[i] = between(s, s->root, i);
        if (s->call == NEIGHBOR_ALLGATHERV)
            s->counts_in[i] = s->count;
        s->types[i] = s->type.type;
    }
    int all_out = place(s, s->call == SCATTERV ? s->counts_in : s->counts_out, s->places_out);
    int all_in = place(s, s->counts_in, s->places_in);
    int even = s->count * s->n;
    MPI_Count extent = s->type.extent;
    s->span_out = (size_t)((all_out > even ? all_out : even) + 1) * (size_t)extent;
    s->span_in = (size_t)((all_in > even ? all_in : even) + 1) * (size_t)extent;
    for (int i = 0; i < s->n; i++) {
        s->bytes_out[i] = (MPI_Aint)(s->places_out[i] * extent);
        s->bytes_in[i] = (MPI_Aint)(s->places_in[i] * extent);
        s->small_out[i] = (int)s->bytes_out[i];
        s->small_in[i] = (int)s->bytes_in[i];
    }
}

static void call_once(uint64_t *state, enum call call, enum form form)
{
    struct shape s = {.call = call, .form = form};
    plan(&s, state);
    if (intel && call == ALLGATHER && form == PERSISTENT)
        hold(s.type.type);
    int kinds = (int)random_mix(s.seed + 99 + (uint64_t)kit_rank), to_host = kinds & 1, from_host = kinds >> 1 & 1;
    if (device_only)
        to_host = from_host = KIT_DEVICE;
    if (sides && to_host != KIT_DEVICE && from_host != KIT_DEVICE)
        *(kinds >> 2 & 1 ? &to_host : &from_host) = KIT_DEVICE;
    fill(send_copy, s.span_out, s.seed + (uint64_t)kit_rank);
    fill(receive_copy, s.span_in, s.seed * 3 + (uint64_t)kit_rank);
    size_t off = (size_t)(kinds >> 4 & 15), to = (size_t)(kinds >> 8 & 15);
    const void *send = kit_put(&in[from_host], off, send_copy, s.span_out), *send_real = send_copy;
    void *receive = kit_put(&out[to_host], to, receive_copy, s.span_in), *receive_real = receive_copy;
    if (s.in_place && (call == GATHER || call == GATHERV)) {
        if (kit_rank == s.root)
            send = send_real = MPI_IN_PLACE;
    } else if (s.in_place && (call == SCATTER || call == SCATTERV)) {
        if (kit_rank == s.root)
            receive = receive_real = MPI_IN_PLACE;
    } else if (s.in_place) {
        send = send_real = MPI_IN_PLACE;
    }
    int error = run(&s, send, receive), wanted = run(&s, send_real, receive_real);
    const unsigned char *got = (const void *)kit_get(&out[to_host], NULL);
    size_t wrong = 0;
    while (wrong < s.span_in && got[wrong] == receive_copy[wrong])
        wrong++;
    CHECK(error == MPI_SUCCESS && wanted == MPI_SUCCESS, "%s form %d: class %d, the MPI's %d", names[call], form,
          kit_class(error), kit_class(wanted));
    CHECK(wrong == s.span_in, "%s form %d%s, %d->%d, root %d, %d x %s: byte %zu of %zu is %02x, not %02x", names[call],
          form, s.in_place ? " in place" : "", from_host, to_host, s.root, s.count, s.type.text, wrong, s.span_in,
          got[wrong], receive_copy[wrong]);
    const unsigned char *sent = (const void *)kit_get(&in[from_host], NULL);
    CHECK(memcmp(sent, send_copy, s.span_out) == 0, "%s wrote what it sends", names[call]);
    typegen_free(&s.type);
}

static void open_topologies(void)
{
    const int left = (kit_rank + kit_size - 1) % kit_size, right = (kit_rank + 1) % kit_size;
    int once[] = {kit_size}, periodic[] = {1};
    around[0].n = 2;
    around[0].from[0] = around[0].to[0] = left;
    around[0].from[1] = around[0].to[1] = right;
    MPI_Cart_create(MPI_COMM_WORLD, 1, once, periodic, 0, &around[0].comm);
    around[1].n = EDGES;
    around[1].from[0] = around[1].from[2] = left;
    around[1].to[0] = around[1].to[2] = right;
    around[1].from[1] = around[1].to[1] = kit_rank;
    const int weights[EDGES] = {1, 1, 1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, EDGES, around[1].from, weights, EDGES, around[1].to, weights,
                                   MPI_INFO_NULL, 0, &around[1].comm);
}

/* Calls through the channels, in packets or chunks, or by copy engines. */
static uint64_t by_kernels(const char *name)
{
    return kit_counted(name, "packets") + kit_counted(name, "chunks through the windows") +
           kit_counted(name, "stored into results or through the windows") + kit_counted(name, "by the copy engines");
}

/* Calls that this rank has made past the MPI. */
static uint64_t past_mpi(enum call call)
{
    char name[64];
    snprintf(name, sizeof name, "MPI_%s", names[call]);
    return kit_counted(name, "fetched from") + by_kernels(name);
}

/* Draws each call on device memory further, MORE times at most, until all ranks have made it past the MPI: a few draws
 * may all be of no elements, or in place where that is staged. */
static void draw_rest(uint64_t *state)
{
    for (int call = 0; call < CALLS; call++) {
        for (int i = 0; i < MORE; i++) {
            int past = past_mpi((enum call)call) > 0;
            MPI_Allreduce(MPI_IN_PLACE, &past, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
            if (past)
                break;
            call_once(state, (enum call)call, BLOCKING);
        }
    }
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    long cases = argc > 1 ? atol(argv[1]) : 90;
    if (kit_size > RANKS)
        kit_skip("types_collectives", "too many ranks");
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    MPI_Get_library_version(library, &length);
    intel = strstr(library, "Intel") != NULL;
    device_only = argc > 2 && strcmp(argv[2], "device") == 0;
    sides = argc > 2 && strcmp(argv[2], "sides") == 0;
    int forms = device_only || sides ? NONBLOCKING : persistent_there() ? FORMS : PERSISTENT;
    open_topologies();
    for (int kind = 0; kind < 2; kind++) {
        kit_open(&in[kind], (enum kit_kind)kind, ROOM);
        kit_open(&out[kind], (enum kit_kind)kind, ROOM);
    }
    send_copy = malloc(ROOM);
    receive_copy = malloc(ROOM);
    uint64_t state = random_mix(kit_seed);
    for (long i = 0; i < cases; i++)
        call_once(&state, (enum call)(i % CALLS), (enum form)(i / CALLS % forms));
    if (device_only && !kit_plain)
        draw_rest(&state);
    free(send_copy);
    free(receive_copy);
    for (int kind = 0; kind < 2; kind++) {
        kit_close(&in[kind]);
        kit_close(&out[kind]);
    }
    for (int t = 0; t < 2; t++)
        MPI_Comm_free(&around[t].comm);
    const char *const row = getenv("TUTTI_TEST_ROW");
    uint64_t in_channels = 0;
    /* On a ring of two both neighbours are one rank. */
    for (int call = 0; (device_only || sides) && call < CALLS; call++) {
        char name[64];
        snprintf(name, sizeof name, "MPI_%s", names[call]);
        CHECK(kit_plain || sides || past_mpi((enum call)call) > 0, "%s never went past the MPI", name);
        in_channels += by_kernels(name);
        /* Types with gaps too. */
        CHECK(kit_plain || !getenv("TUTTI_TEST_ALL_BY_ROW") || call > ALLTOALL ||
                  kit_counted(name, "fetched from each other") == 0,
              "%s was fetched, not made by %s", name, row ? row : "a row");
    }
    CHECK(kit_plain || !row || in_channels > 0, "nothing went by %s", row);
    return kit_end("types_collectives");
}

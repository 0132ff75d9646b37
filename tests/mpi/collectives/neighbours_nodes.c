/* Collectives with neighbours over virtual nodes (TUTTI_NODE_RANKS) or real hosts, drawn from a seed: on grids, also
 * one and two ranks wide, on graphs, and on directed graphs with repeated edges, edges of a rank to itself, and ranks
 * without edges, over communicators that cut across the nodes. Blocks of other sizes on each edge, types with and
 * without gaps and without a plan, zero counts; device memory on all ranks, host memory on all, or what is drawn for
 * each rank and side; blocking, nonblocking or persistent, completed by any completion call. The plain MPI makes the
 * same call on host memory: every byte of the receive buffer must be alike, gaps and guards too. An MPI_Iallreduce is
 * open on the communicator over every eighth call.
 *
 *   neighbours_nodes CALLS
 *
 * TUTTI_TEST_EXPECT=ROW: it must have made blocking and nonblocking calls. TUTTI_TEST_ONLY=n: the communicators of
 * calls from n on, to repeat a failure in a shorter run. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

#include "moves_nodes.h"
#include "persistent.h"

enum { RANKS = 8, EDGES = 2 * RANKS, LIFE = 16, UNIT = 6, MOST = 1500, ROOM = (EDGES + 2) * MOST * UNIT * 8 };
enum edge_call { N_ALLGATHER, N_ALLGATHERV, N_ALLTOALL, N_ALLTOALLV, N_ALLTOALLW, N_CALLS };
static const char *const names[N_CALLS] = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};
static const char *const forms[] = {"blocking", "nonblocking", "persistent"};

/* MPICH 4.0 loses blocks of MPI_Neighbor_alltoallw in a directed graph, or stands still, on host memory too. */
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
enum { LOSES_BLOCKS = 1 };
#else
enum { LOSES_BLOCKS = 0 };
#endif

/* Open MPI 4.1 by itself, without the library in front: in graphs in which a rank lacks edges in one direction, calls
 * drawn here get the messages of others, or never end. A program of one such call alone is right. */
#ifdef OPEN_MPI
enum { NEEDS_EDGES = 1 };
#else
enum { NEEDS_EDGES = 0 };
#endif

static struct place {
    MPI_Comm comm, plain; /* with one topology; plain: of the calls that the MPI makes for comparison */
    char name[120];
    int size, rank, directed;
    int members[RANKS]; /* their numbers in the world */
    int ins, outs, from[EDGES], to[EDGES];
} place;

static uint64_t draws; /* the same on all ranks of a communicator */

static int below(int n)
{
    return (int)(random_next(&draws) % (uint64_t)n);
}

/* ---- topologies ---- */

/* Dimensions of a grid of all ranks, in a drawn order. */
static void draw_grid(MPI_Comm base)
{
    int dims[4] = {1, 1, 1, 1}, periods[4], n = 1 + below(3);
    for (int left = place.size, d; left > 1;) {
        int factor = 2;
        while (left % factor)
            factor++;
        d = below(n);
        dims[d] *= factor;
        left /= factor;
    }
    for (int d = 0; d < n; d++)
        periods[d] = below(3) > 0;
    MPI_Cart_create(base, n, dims, periods, 0, &place.comm);
    place.ins = place.outs = 2 * n;
    for (int d = 0; d < n; d++)
        MPI_Cart_shift(place.comm, d, 1, &place.from[2 * d], &place.from[2 * d + 1]);
    memcpy(place.to, place.from, sizeof place.to);
    snprintf(place.name, sizeof place.name, "a grid of %d x %d x %d, periods %d %d %d", dims[0], dims[1], dims[2],
             periods[0], n > 1 && periods[1], n > 2 && periods[2]);
}

static void shuffle(int *list, int n, uint64_t own)
{
    for (int i = n - 1; i > 0; i--) {
        const int k = (int)(random_next(&own) % (uint64_t)(i + 1)), kept = list[i];
        list[i] = list[k];
        list[k] = kept;
    }
}

/* Up to two edges from each rank to each, each rank with the list in an order of its own. */
static void draw_directed(MPI_Comm base)
{
    static const int weights[EDGES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const uint64_t own = random_mix(draws + (uint64_t)place.rank * 31 + 1);
    const int dense = 2 + below(4);
    place.ins = place.outs = 0;
    for (int from = 0; from < place.size; from++) {
        for (int to = 0; to < place.size; to++) {
            const int x = below(dense * 2), needed = NEEDS_EDGES && to == (from + 1) % place.size;
            const int edges = x == 0 ? 2 : x < 3 || needed;
            for (int e = 0; e < edges && from == place.rank; e++)
                place.to[place.outs++] = to;
            for (int e = 0; e < edges && to == place.rank; e++)
                place.from[place.ins++] = from;
        }
    }
    shuffle(place.to, place.outs, own);
    shuffle(place.from, place.ins, own + 1);
    MPI_Dist_graph_create_adjacent(base, place.ins, place.from, weights, place.outs, place.to, weights, MPI_INFO_NULL,
                                   0, &place.comm);
    snprintf(place.name, sizeof place.name, "a directed graph, %d edges in and %d out", place.ins, place.outs);
}

/* Edges between some ranks, in both directions. */
static void draw_graph(MPI_Comm base)
{
    int index[RANKS], edges[RANKS * RANKS], n = 0, has[RANKS][RANKS];
    for (int a = 0; a < place.size; a++) {
        for (int b = 0; b <= a; b++)
            has[a][b] = has[b][a] = a != b && (below(3) > 0 || (NEEDS_EDGES && a == b + 1));
    }
    for (int a = 0; a < place.size; a++) {
        const int begin = n;
        for (int b = 0; b < place.size; b++) {
            if (has[a][b])
                edges[n++] = b;
        }
        index[a] = n;
        if (a != place.rank)
            continue;
        place.ins = place.outs = n - begin;
        memcpy(place.from, edges + begin, (size_t)(n - begin) * sizeof *edges);
        memcpy(place.to, place.from, sizeof place.to);
    }
    edges[n] = 0; /* Open MPI wants a list */
    MPI_Graph_create(base, place.size, index, edges, 0, &place.comm);
    snprintf(place.name, sizeof place.name, "a graph, %d edges here", place.ins);
}

static void draw_place(void)
{
    MPI_Comm base;
    const int way = below(4), turn = 1 + below(5);
    const int part = way == 2 ? kit_rank % 2 : way == 3 ? kit_rank == turn % kit_size : 0;
    MPI_Comm_split(MPI_COMM_WORLD, part, way == 1 ? -kit_rank : way == 2 ? kit_rank * 7 % kit_size : kit_rank, &base);
    MPI_Comm_size(base, &place.size);
    MPI_Comm_rank(base, &place.rank);
    MPI_Allgather(&kit_rank, 1, MPI_INT, place.members, 1, MPI_INT, base);
    draws = random_mix(draws + (uint64_t)part * 17);
    const int kind = below(5);
    place.directed = kind == 2 || kind == 3;
    /* Open MPI fails in a graph of one rank without edges. */
    (place.directed ? draw_directed : kind == 4 && place.size > 1 ? draw_graph : draw_grid)(base);
    MPI_Comm_dup(place.comm, &place.plain);
    MPI_Comm_free(&base);
}

/* ---- calls ---- */

struct shape {
    enum edge_call call;
    enum moves_form form;
    unsigned completion;
    int even, deep;
    uint64_t seed;
    long number;
};
/* One buffer of this rank: as in moves_nodes.c. */
struct side {
    int kind, type, deep, n;
    char *image;
    size_t bytes;
    int counts[EDGES], displs[EDGES];
    MPI_Aint bytes_at[EDGES];
    MPI_Datatype types[EDGES];
};
static struct side sides[2];
static struct kit_buffer memory[2][2]; /* by side and kind */
static char *want;
enum { IN, OUT };

/* Units of a block; all edges between two ranks are alike, since MPIs match them in different orders. */
static int units_of(const struct shape *s, int from, int to)
{
    if (s->call == N_ALLGATHER || s->call == N_ALLTOALL)
        return s->even;
    const uint64_t x =
        random_mix(s->seed + (uint64_t)(place.members[from] * 16 + (s->call == N_ALLGATHERV ? 0 : to)) * 7919);
    return x % 4 == 0 ? 0 : x % 16 == 1 ? (int)((x >> 8) % MOST) : (int)((x >> 8) % 40);
}

static void lay_out(const struct shape *s, struct side *side, int out, uint64_t own)
{
    const int *const peers = out ? place.from : place.to;
    const int lists = out ? s->call != N_ALLGATHER && s->call != N_ALLTOALL : s->call >= N_ALLTOALLV;
    const int turned = lists && own % 2, gap = lists && own % 3 == 0, ints = moves_layouts[side->type].ints;
    int at = 0;
    side->n = out ? place.ins : s->call <= N_ALLGATHERV ? 1 : place.outs;
    side->counts[0] = side->displs[0] = 0; /* also without edges, where calls take the first ones all the same */
    side->types[0] = moves_types[side->deep][side->type];
    for (int k = 0; k < side->n; k++) {
        const int i = turned ? side->n - 1 - k : k, peer = !out && s->call <= N_ALLGATHERV ? 0 : peers[i];
        const int there = peer == MPI_PROC_NULL ? 1
                          : out                 ? units_of(s, peer, place.rank)
                                                : units_of(s, place.rank, peer);
        const int units = lists || peer != MPI_PROC_NULL ? there : s->even;
        side->counts[i] = units * UNIT / ints;
        side->displs[i] = at * UNIT / ints;
        side->bytes_at[i] = (MPI_Aint)side->displs[i] * moves_layouts[side->type].extent;
        side->types[i] = moves_types[side->deep][side->type];
        at += units + gap;
    }
    side->bytes = (size_t)at * UNIT / (size_t)ints * (size_t)moves_layouts[side->type].extent;
    for (size_t i = 0; i < side->bytes; i++)
        side->image[i] = out ? 0x5a : (char)(random_mix(s->seed + i / 8 * 131 + (uint64_t)kit_rank) >> (i % 8 * 8));
}

static void draw_buffers(const struct shape *s, uint64_t how)
{
    for (int b = 0; b < 2; b++) {
        const uint64_t own = random_mix(s->seed + (uint64_t)(kit_rank * 2 + b) * 104729);
        sides[b].type = (int)(s->seed % 3 * 2 + (own >> 20) % 2);
        sides[b].kind = how < 6 ? KIT_DEVICE : how == 6 ? KIT_HOST : (own >> 30) % 4 != 0;
        sides[b].deep = (own >> 24) % 8 == 0 && sides[b].type % 2 && s->deep;
        lay_out(s, &sides[b], b == OUT, own >> 40);
    }
}

#define BY_FORM(p, call, ...)                                                                                          \
    (form == MOVES_BLOCKING ? p##MPI_Neighbor_##call(__VA_ARGS__) : p##MPI_Ineighbor_##call(__VA_ARGS__, request))
#define EVEN i->counts[0], i->types[0], out, o->counts[0], o->types[0], comm
#define V    i->counts[0], i->types[0], out, o->counts, o->displs, o->types[0], comm
#define VV   i->counts, i->displs, i->types[0], out, o->counts, o->displs, o->types[0], comm
#define WW   i->counts, i->bytes_at, i->types, out, o->counts, o->bytes_at, o->types, comm
#define ANY(p, BY, ...)                                                                                                \
    (call == N_ALLGATHER    ? BY(p, allgather, in, EVEN)                                                               \
     : call == N_ALLGATHERV ? BY(p, allgatherv, in, V)                                                                 \
     : call == N_ALLTOALL   ? BY(p, alltoall, in, EVEN)                                                                \
     : call == N_ALLTOALLV  ? BY(p, alltoallv, in, VV)                                                                 \
                            : BY(p, alltoallw, in, WW))
#define INIT(p, call, ...) MPI_Neighbor_##call##_init(__VA_ARGS__, MPI_INFO_NULL, request)

/* The plain MPI, past the library. */
static int plain_call(enum edge_call call, enum moves_form form, const void *in, void *out)
{
    const struct side *i = &sides[IN], *o = &sides[OUT];
    const MPI_Comm comm = place.plain;
    MPI_Request pending = MPI_REQUEST_NULL, *const request = &pending;
    const int error = ANY(P, BY_FORM);
    return error == MPI_SUCCESS && form != MOVES_BLOCKING ? PMPI_Wait(request, MPI_STATUS_IGNORE) : error;
}

static int begin_call(enum edge_call call, enum moves_form form, const void *in, void *out, MPI_Request *request)
{
    const struct side *i = &sides[IN], *o = &sides[OUT];
    const MPI_Comm comm = place.comm;
    return form == MOVES_PERSISTENT ? ANY(, INIT) : ANY(, BY_FORM);
}

static int make_call(const struct shape *s, struct kit_buffer *from, struct kit_buffer *to)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const void *const in = kit_put(from, 4, sides[IN].image, sides[IN].bytes);
    void *const out = kit_put(to, 8, sides[OUT].image, sides[OUT].bytes);
    int error = begin_call(s->call, s->form, in, out, &request);
    if (s->form != MOVES_PERSISTENT)
        return error == MPI_SUCCESS && s->form == MOVES_NONBLOCKING ? moves_complete(&request, s->completion) : error;
    for (unsigned start = 0; start <= s->completion / 8 % 3 && error == MPI_SUCCESS; start++) {
        kit_put(from, 4, sides[IN].image, sides[IN].bytes);
        kit_put(to, 8, sides[OUT].image, sides[OUT].bytes);
        error = MPI_Start(&request);
        if (error == MPI_SUCCESS)
            error = moves_complete(&request, s->completion + start);
    }
    if (request != MPI_REQUEST_NULL)
        MPI_Request_free(&request);
    return error;
}

static void one_call(const struct shape *s, uint64_t how)
{
    struct side *out = &sides[OUT];
    int guards;
    draw_buffers(s, how);
    struct kit_buffer *to = &memory[OUT][out->kind];
    const int error = make_call(s, &memory[IN][sides[IN].kind], to);
    const char *const got = kit_get(to, &guards);
    memcpy(want, out->image, out->bytes);
    const int plain = plain_call(s->call, s->form, sides[IN].image, want);
    size_t wrong = 0;
    while (wrong < out->bytes && got[wrong] == want[wrong])
        wrong++;
    CHECK(error == MPI_SUCCESS && plain == MPI_SUCCESS && guards && wrong == out->bytes,
          "call %ld, %s %s on %s of %d ranks, %d units, %s to %s memory, types %d%s and %d%s: byte %zu of %zu differs "
          "(classes %d and %d, guards %d)",
          s->number, forms[s->form], names[s->call], place.name, place.size, s->even,
          sides[IN].kind == KIT_HOST ? "host" : "device", out->kind == KIT_HOST ? "host" : "device", sides[IN].type,
          sides[IN].deep ? " without a plan" : "", out->type, out->deep ? " without a plan" : "", wrong, out->bytes,
          kit_class(error), kit_class(plain), guards);
}

static void begin_sum(const struct shape *s, uint64_t how)
{
    enum { N = 400 };
    static int mine[N], all[N];
    memset(all, 0, sizeof all);
    for (int r = 0; r < place.size; r++) {
        for (int i = 0; i < N; i++) {
            const int value = (int)(random_mix(s->seed + (uint64_t)(place.members[r] * N + i)) % 1000);
            all[i] += value;
            mine[i] = r == place.rank ? value : mine[i];
        }
    }
    moves_sum_begin(place.comm, how < 6 ? KIT_DEVICE : KIT_HOST, N, mine, all);
}

static void programs(long calls)
{
    static const int some[] = {0, 1, 7, 30, 170, MOST};
    const long first = check_setting("TUTTI_TEST_ONLY", 0) / LIFE * LIFE;
    for (long c = first; c < first + calls; c++) {
        const long life = c / LIFE;
        if (c % LIFE == 0) {
            draws = random_mix(kit_seed + (uint64_t)c * 977);
            draw_place();
        }
        /* In every third life calls repeat a kind: they agree in some of them alone. */
        struct shape s = {
            .number = c, .seed = random_next(&draws), .completion = (unsigned)(random_next(&draws) >> 20)};
        s.call = (enum edge_call)((life % 3 == 1 ? (uint64_t)life : s.seed >> 9) % N_CALLS);
        if (LOSES_BLOCKS && place.directed && s.call == N_ALLTOALLW)
            s.call = N_ALLTOALLV;
        s.form = life % 3 == 1 ? MOVES_BLOCKING : moves_form_of(s.completion >> 8);
        s.even = some[below(6)];
        s.deep = (int)(life % 2);
        const uint64_t how = life % 2 ? 0 : random_next(&draws) % 9;
        stands_at("call %ld, %s %s on %s", c, forms[s.form], names[s.call], place.name);
        const int inside = s.seed % 8 == 0;
        if (inside)
            begin_sum(&s, how);
        one_call(&s, how);
        if (inside)
            CHECK(moves_sum_end() == 0, "call %ld, %s inside an open Iallreduce: that is wrong", c, names[s.call]);
        if (c % LIFE == LIFE - 1 || c == first + calls - 1) {
            MPI_Comm_free(&place.comm);
            MPI_Comm_free(&place.plain);
        }
    }
}

static void check_row(void)
{
    const char *const row = getenv("TUTTI_TEST_EXPECT");
    uint64_t made = 0, later = 0;
    for (int call = 0; row && call < N_CALLS; call++) {
        char name[64];
        snprintf(name, sizeof name, "MPI_Neighbor_%s", names[call]);
        made += kit_counted(name, row);
        snprintf(name, sizeof name, "MPI_Ineighbor_%s", names[call]);
        later += kit_counted(name, row);
    }
    CHECK(!row || made > 0, "no blocking call was made by %s", row);
    CHECK(!row || later > 0, "no nonblocking call was made by %s", row);
}

int main(int argc, char **argv)
{
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    if (kit_size > RANKS)
        kit_skip("neighbours_nodes", "too many ranks");
    for (int side = 0; side < 2; side++) {
        sides[side].image = malloc(ROOM);
        for (int kind = 0; kind < 2; kind++)
            kit_open(&memory[side][kind], (enum kit_kind)kind, ROOM);
    }
    want = malloc(ROOM);
    moves_types_make();
    moves_sum_open(MOST);
    programs(argc > 1 ? atol(argv[1]) : 400);
    check_row();
    for (int side = 0; side < 2; side++) {
        free(sides[side].image);
        for (int kind = 0; kind < 2; kind++)
            kit_close(&memory[side][kind]);
    }
    free(want);
    moves_sum_close();
    moves_types_free();
    return kit_end("neighbours_nodes");
}

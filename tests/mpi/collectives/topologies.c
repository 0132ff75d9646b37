/* Neighbourhood collectives on every grid of up to 4 dimensions, and on graphs with repeated edges and edges of a rank
 * to itself, also of blocks with gaps. MPIs differ in which of several blocks between two ranks is received where:
 * device memory must give what this MPI gives on host memory, in every call. Argument: dimensions at most.
 * TUTTI_TEST_EXPECT=HOW: all-to-alls on grids must have been counted so, also where a neighbour appears twice. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"
#include "neighbours.h"

/* GRAPHS: drawn ones of each kind. COUNT: integers of a block, above the least message of Tutti (512 bytes). */
enum { DIMS = 4, MOST = NEIGHBOURS_MOST, COUNT = 160, GAP = 3, ROOM = MOST * 2 * COUNT, GRAPHS = 12 };

static struct place {
    MPI_Comm comm;
    char name[200];
} place;

/* Integers of a block that MPI_Neighbor_allgather(v) and _alltoall send. */
static struct sent {
    int count;
    MPI_Datatype type;
} sent;

static uint64_t draws; /* the same on all ranks */
static struct kit_buffer device_in, device_out, host_in, host_out;

static int below(int n)
{
    return (int)(random_next(&draws) % (uint64_t)n);
}

/* What a call gives on memory of these kinds. */
static const int *given(enum neighbours_call call, enum neighbours_form form, struct kit_buffer *in,
                        struct kit_buffer *out, int *code)
{
    static int data[ROOM], before[ROOM];
    const int block = call == ALLGATHER || call == ALLTOALL ? COUNT : COUNT + GAP;
    for (int i = 0; i < ROOM; i++) {
        data[i] = kit_rank * 1000003 + i / block * 10007 + i % block;
        before[i] = -1000 - i;
    }
    void *send = kit_put(in, 0, data, sizeof data), *receive = kit_put(out, 0, before, sizeof before);
    const struct neighbours_blocks blocks = {COUNT, GAP, 1, MPI_INT, sent.count, sent.type};
    *code = neighbours_run(call, form, place.comm, &blocks, send, receive);
    return (const int *)(const void *)kit_get(out, NULL);
}

static void compare(enum neighbours_call call, enum neighbours_form form, const int *want, struct kit_buffer *in,
                    struct kit_buffer *out)
{
    int code, i = 0;
    const int *got = given(call, form, in, out, &code);
    CHECK(code == MPI_SUCCESS, "%s %s on %s: error class %d", neighbours_forms[form], neighbours_names[call],
          place.name, kit_class(code));
    while (i < ROOM && got[i] == want[i])
        i++;
    CHECK(i == ROOM, "%s %s on %s from %s to %s memory: integer %d is %d, %d on host memory", neighbours_forms[form],
          neighbours_names[call], place.name, in == &device_in ? "device" : "host",
          out == &device_out ? "device" : "host", i, i < ROOM ? got[i] : 0, i < ROOM ? want[i] : 0);
}

/* MPICH 4.0 loses blocks of MPI_Neighbor_alltoallw in a directed graph, or stands still, on host memory too. */
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
enum { LOSES_BLOCKS = 1 };
#else
enum { LOSES_BLOCKS = 0 };
#endif

enum { GRID, GRAPH, DIRECTED };

/* All calls on place.comm, which is freed. */
static void all(int graph)
{
    static int want[ROOM];
    const struct sent blocks = sent;
    int opened;
    sent = (struct sent){COUNT, MPI_INT}; /* which say on which GPU channels are to be opened */
    given(ALLGATHER, BLOCKING, &device_in, &device_out, &opened);
    sent = blocks;
    for (int i = 0; i < (LOSES_BLOCKS && graph == DIRECTED ? ALLTOALLW : CALLS); i++) {
        const enum neighbours_call call = (enum neighbours_call)i;
        int code;
        memcpy(want, given(call, BLOCKING, &host_in, &host_out, &code), sizeof want);
        CHECK(code == MPI_SUCCESS, "%s on %s: error class %d", neighbours_names[call], place.name, kit_class(code));
        compare(call, BLOCKING, want, &device_in, &device_out); /* the first call may have to open channels */
        const char *const how = call == ALLTOALL && !graph ? getenv("TUTTI_TEST_EXPECT") : NULL;
        const uint64_t before = how ? kit_counted("MPI_Neighbor_alltoall", how) : 0;
        compare(call, BLOCKING, want, &device_in, &device_out);
        CHECK(!how || kit_counted("MPI_Neighbor_alltoall", how) > before, "%s: the call was not made by %s", place.name,
              how);
        if (below(2)) { /* one rank in host memory: the MPI has the call on all ranks */
            const int some = kit_rank == below(kit_size);
            compare(call, BLOCKING, want, some ? &host_in : &device_in, &device_out);
            compare(call, BLOCKING, want, &device_in, some ? &host_out : &device_out);
        }
        const enum neighbours_form form = below(2) && persistent_there() ? PERSISTENT : NONBLOCKING;
        memcpy(want, given(call, form, &host_in, &host_out, &code), sizeof want);
        CHECK(code == MPI_SUCCESS, "%s %s on %s: error class %d", neighbours_forms[form], neighbours_names[call],
              place.name, kit_class(code));
        compare(call, form, want, &device_in, &device_out);
    }
    MPI_Comm_free(&place.comm);
}

/* ---- grids ---- */

static void grids_of(int dims, const int *extent)
{
    for (int mask = 0; mask < 1 << dims; mask++) {
        int periods[DIMS], used;
        used = snprintf(place.name, sizeof place.name, "a grid of");
        for (int d = 0; d < dims; d++) {
            periods[d] = mask >> d & 1;
            used += snprintf(place.name + used, sizeof place.name - (size_t)used, " %d%s", extent[d],
                             periods[d] ? " (periodic)" : "");
        }
        MPI_Cart_create(MPI_COMM_WORLD, dims, extent, periods, 0, &place.comm);
        all(GRID);
    }
}

/* Dimension d and those after it have `rest` ranks. */
static void grids(int dims, int d, int rest, int *extent)
{
    if (d == dims - 1) {
        extent[d] = rest;
        grids_of(dims, extent);
        return;
    }
    for (int n = 1; n <= rest; n++) {
        extent[d] = n;
        if (rest % n == 0)
            grids(dims, d + 1, rest / n, extent);
    }
}

/* ---- graphs ---- */

struct graph {
    int ins[16], outs[16], from[16][MOST], to[16][MOST];
};

static void insert(int *list, int *n, int value)
{
    const int at = below(*n + 1);
    memmove(list + at + 1, list + at, (size_t)(*n - at) * sizeof *list);
    list[at] = value;
    ++*n;
}

/* Any edges, in lists of any order; of a graph that is not directed each edge goes both ways. */
static void draw(struct graph *g, int directed)
{
    const int edges = below(3 * kit_size) + 2;
    memset(g, 0, sizeof *g);
    for (int e = 0; e < edges; e++) {
        int a = below(kit_size), b = below(kit_size);
        for (int way = 0; way < (directed || a == b ? 1 : 2); way++) {
            int from = way ? b : a, to = way ? a : b;
            if (g->outs[from] < MOST && g->ins[to] < MOST) {
                insert(g->to[from], &g->outs[from], to);
                insert(g->from[to], &g->ins[to], from);
            }
        }
    }
}

static void describe(const struct graph *g, const char *kind, int n)
{
    int used = snprintf(place.name, sizeof place.name, "%s %d, to this rank", kind, n);
    for (int i = 0; i < g->ins[kit_rank]; i++)
        used += snprintf(place.name + used, sizeof place.name - (size_t)used, " %d", g->from[kit_rank][i]);
}

static void graphs(void)
{
    static const int weights[MOST] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    struct graph g;
    MPI_Datatype pairs; /* two integers with a gap between */
    MPI_Type_vector(2, 1, 2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    for (int n = 0; n < GRAPHS; n++) {
        draw(&g, 1);
        sent = n % 2 ? (struct sent){COUNT / 2, pairs} : (struct sent){COUNT, MPI_INT};
        describe(&g, n % 2 ? "directed graph of blocks with gaps" : "directed graph", n);
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, g.ins[kit_rank], g.from[kit_rank], weights, g.outs[kit_rank],
                                       g.to[kit_rank], weights, MPI_INFO_NULL, 0, &place.comm);
        all(DIRECTED);
        sent = (struct sent){COUNT, MPI_INT};
        draw(&g, 0);
        describe(&g, "graph", n);
        int index[16], edges[16 * MOST], used = 0;
        for (int r = 0; r < kit_size; r++) {
            memcpy(edges + used, g.to[r], (size_t)g.outs[r] * sizeof(int));
            index[r] = used += g.outs[r];
        }
        MPI_Graph_create(MPI_COMM_WORLD, kit_size, index, edges, 0, &place.comm);
        all(GRAPH);
    }
    /* Each rank sends to the one before it; rank 0 also to rank 1, and twice more to the last rank. Those two may be on
     * one GPU. */
    const int last = kit_size - 1, second = last > 1, to[4] = {kit_rank ? kit_rank - 1 : last, second, last, last};
    const int ins = 1 + (kit_rank == second) + 2 * (kit_rank == last), from[4] = {(kit_rank + 1) % kit_size, 0, 0, 0};
    snprintf(place.name, sizeof place.name, "a graph of one and three edges");
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, from, weights, kit_rank ? 1 : 4, to, weights, MPI_INFO_NULL, 0,
                                   &place.comm);
    sent = (struct sent){COUNT / 2, pairs};
    all(DIRECTED);
    MPI_Type_free(&pairs);
}

int main(int argc, char **argv)
{
    int extent[DIMS] = {0};
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int most = argc > 1 ? atoi(argv[1]) : DIMS;
    draws = kit_seed;
    sent = (struct sent){COUNT, MPI_INT};
    kit_open(&device_in, KIT_DEVICE, ROOM * sizeof(int));
    kit_open(&device_out, KIT_DEVICE, ROOM * sizeof(int));
    kit_open(&host_in, KIT_HOST, ROOM * sizeof(int));
    kit_open(&host_out, KIT_HOST, ROOM * sizeof(int));
    for (int dims = 1; dims <= most; dims++)
        grids(dims, 0, kit_size, extent);
    graphs();
    kit_close(&device_in);
    kit_close(&device_out);
    kit_close(&host_in);
    kit_close(&host_out);
    return kit_end("topologies");
}

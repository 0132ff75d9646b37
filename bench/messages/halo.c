/* The halo exchange of a periodic grid: every rank has `edge`^3 cells of some quantities of 8 bytes, each in an array
 * of its own with a rim of `radius` cells, and sends what lies at its 6 faces, 12 edges and 8 corners. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/place.h"
#include "bench/messages/exchange.h"
#include "bench/pack/pack.h"
#include "dtype/pack.h"
#include "tutti/tutti.h"

enum { WAYS = 26, CELL = 8 };

struct halo {
    const struct bench_plan *plan;
    const struct exchange_plan *what;
    size_t edge, side, cells, bytes; /* side: with rims; cells: of an array; bytes: of all arrays */
    int grid[3], place[3];           /* slowest first */
    int to[WAYS], from[WAYS];        /* neighbours in direction k, and against it */
    MPI_Comm graph;
    MPI_Datatype send[WAYS], receive[WAYS];         /* all quantities */
    MPI_Datatype one_send[WAYS], one_receive[WAYS]; /* one */
    const struct tutti_plan *out_plan[WAYS], *in_plan[WAYS];
    size_t message[WAYS], at[WAYS], total; /* bytes, and where in the buffers of packed messages */
    char *memory, *ordinary, *host, *out, *in;
    uint64_t held[2]; /* seeds of the data in `memory` and `ordinary` */
};

/* Component d of direction k: -1, 0 or 1. */
static int halo_step(int k, int d)
{
    const int all = k < 13 ? k : k + 1; /* 13 is the rank itself */
    return (d == 0 ? all / 9 : d == 1 ? all / 3 % 3 : all % 3) - 1;
}

static int rank_at(const struct halo *halo, int k, int sign)
{
    int rank = 0;
    for (int d = 0; d < 3; d++) {
        const int n = halo->grid[d];
        rank = rank * n + (halo->place[d] + sign * halo_step(k, d) + n) % n;
    }
    return rank;
}

/* What is sent in direction k, or (receive) the rim where the message that travels so arrives. */
static void halo_part(const struct halo *halo, int k, int receive, size_t count[3], size_t start[3])
{
    const size_t radius = (size_t)halo->what->radius;
    for (int d = 0; d < 3; d++) {
        const int to = halo_step(k, d);
        count[d] = to ? radius : halo->edge;
        start[d] = radius;
        if (to > 0)
            start[d] = receive ? 0 : halo->edge;
        else if (to < 0 && receive)
            start[d] = radius + halo->edge;
    }
}

static MPI_Datatype make_type(const struct halo *halo, int k, int receive, int quantities)
{
    size_t count[3], start[3];
    int sizes[3], counts[3], starts[3];
    MPI_Datatype one = MPI_DATATYPE_NULL, all = MPI_DATATYPE_NULL;
    halo_part(halo, k, receive, count, start);
    for (int d = 0; d < 3; d++) {
        sizes[d] = (int)halo->side;
        counts[d] = (int)count[d];
        starts[d] = (int)start[d];
    }
    exchange_mpi(MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &one),
                 "MPI_Type_create_subarray");
    exchange_mpi(MPI_Type_create_hvector(quantities, 1, (MPI_Aint)(halo->cells * CELL), one, &all),
                 "MPI_Type_create_hvector");
    exchange_mpi(MPI_Type_commit(&all), "MPI_Type_commit");
    exchange_mpi(MPI_Type_free(&one), "MPI_Type_free");
    return all;
}

static const struct tutti_plan *make_plan(const struct halo *halo, int k, int receive)
{
    size_t count[3], start[3];
    uint64_t sizes[3], counts[3], starts[3];
    halo_part(halo, k, receive, count, start);
    for (int d = 0; d < 3; d++) {
        sizes[d] = halo->side;
        counts[d] = count[d];
        starts[d] = start[d];
    }
    const struct tutti_description cell = {.form = TUTTI_FORM_BYTES, .bytes = CELL}, *cells = &cell;
    const struct tutti_description box = {.form = TUTTI_FORM_SUBARRAY,
                                          .children = 1,
                                          .child = &cells,
                                          .dims = 3,
                                          .sizes = sizes,
                                          .subsizes = counts,
                                          .starts = starts},
                                   *boxes = &box;
    const struct tutti_description all = {.form = TUTTI_FORM_VECTOR,
                                          .children = 1,
                                          .child = &boxes,
                                          .count = (uint64_t)halo->what->quantities,
                                          .length = 1,
                                          .stride = (int64_t)(halo->cells * CELL)};
    const struct tutti_plan *plan = NULL;
    bench_must(tutti_plan_build(&all, &plan), "building a plan");
    return plan;
}

/* Of the whole grid: the number of a cell's row, of all quantities', and its place in the row. */
static uint64_t place_of(const struct halo *halo, int d, size_t cell)
{
    const size_t n = (size_t)halo->grid[d] * halo->edge;
    return ((size_t)halo->place[d] * halo->edge + cell + n - (size_t)halo->what->radius) % n;
}

static uint64_t row_of(const struct halo *halo, size_t quantity, const size_t cell[3])
{
    uint64_t row = quantity;
    for (int d = 0; d < 2; d++)
        row = row * (size_t)halo->grid[d] * halo->edge + place_of(halo, d, cell[d]);
    return row * (size_t)halo->grid[2] * halo->edge;
}

static int halo_inside(const struct halo *halo, const size_t cell[3])
{
    const size_t radius = (size_t)halo->what->radius;
    for (int d = 0; d < 3; d++) {
        if (cell[d] < radius || cell[d] >= radius + halo->edge)
            return 0;
    }
    return 1;
}

/* Fills halo->host, rims wrong, or compares it with what is right. The first cell that is wrong, or the
 * number of all. */
static size_t halo_visit(const struct halo *halo, uint64_t seed, int compare)
{
    size_t i = 0, cell[3];
    for (size_t q = 0; q < (size_t)halo->what->quantities; q++) {
        for (cell[0] = 0; cell[0] < halo->side; cell[0]++) {
            for (cell[1] = 0; cell[1] < halo->side; cell[1]++) {
                const uint64_t row = row_of(halo, q, cell);
                for (cell[2] = 0; cell[2] < halo->side; cell[2]++, i++) {
                    uint64_t right = pack_mix(seed + row + place_of(halo, 2, cell[2]));
                    if (compare && memcmp(halo->host + i * CELL, &right, CELL) != 0)
                        return i;
                    if (!compare && !halo_inside(halo, cell))
                        right = ~right;
                    if (!compare)
                        memcpy(halo->host + i * CELL, &right, CELL);
                }
            }
        }
    }
    return i;
}

static char *memory_of(const struct halo *halo, int way)
{
    return way == EXCHANGE_PLAIN ? halo->ordinary : halo->memory;
}

static void halo_prepare(void *with, int way, uint64_t seed)
{
    struct halo *halo = with;
    uint64_t *held = &halo->held[way == EXCHANGE_PLAIN];
    if (*held == seed)
        return;
    *held = seed;
    halo_visit(halo, seed, 0);
    if (way == EXCHANGE_PLAIN)
        memcpy(halo->ordinary, halo->host, halo->bytes);
    else
        bench_must(tutti_copy(halo->memory, halo->host, halo->bytes), "copying");
}

static int halo_check(void *with, int way, uint64_t seed, char *text, size_t size)
{
    struct halo *halo = with;
    if (way == EXCHANGE_PLAIN)
        memcpy(halo->host, halo->ordinary, halo->bytes);
    else
        bench_must(tutti_copy(halo->host, halo->memory, halo->bytes), "copying");
    size_t i = halo_visit(halo, seed, 1);
    if (i == halo->bytes / CELL)
        return 1;
    size_t in = i % halo->cells, side = halo->side;
    snprintf(text, size, "quantity %zu, cell %zu/%zu/%zu of %zu^3 is wrong", i / halo->cells, in % side,
             in / side % side, in / side / side, side);
    return 0;
}

static void halo_neighbours(const struct halo *halo, int way)
{
    int ones[WAYS];
    MPI_Aint zeros[WAYS] = {0};
    char *memory = memory_of(halo, way);
    for (int k = 0; k < WAYS; k++)
        ones[k] = 1;
    exchange_mpi(way == EXCHANGE_TUTTI ? MPI_Neighbor_alltoallw(memory, ones, zeros, halo->send, memory, ones, zeros,
                                                                halo->receive, halo->graph)
                                       : bench_mpi.Neighbor_alltoallw(memory, ones, zeros, halo->send, memory, ones,
                                                                      zeros, halo->receive, halo->graph),
                 "MPI_Neighbor_alltoallw");
}

static void send_typed(const struct halo *halo)
{
    MPI_Request request[2 * WAYS];
    MPI_Status status[2 * WAYS]; /* gcc takes MPI_STATUSES_IGNORE for an array of nothing */
    for (int k = 0; k < WAYS; k++)
        exchange_mpi(MPI_Irecv(halo->memory, 1, halo->receive[k], halo->from[k], k, MPI_COMM_WORLD, &request[k]),
                     "MPI_Irecv");
    for (int k = 0; k < WAYS; k++)
        exchange_mpi(MPI_Isend(halo->memory, 1, halo->send[k], halo->to[k], k, MPI_COMM_WORLD, &request[WAYS + k]),
                     "MPI_Isend");
    exchange_mpi(MPI_Waitall(2 * WAYS, request, status), "MPI_Waitall");
}

static void pack_fused(const struct halo *halo, int unpack)
{
    struct tutti_pack_job jobs[WAYS];
    for (int k = 0; k < WAYS; k++)
        jobs[k] = (struct tutti_pack_job){
            .direction = unpack ? TUTTI_UNPACK : TUTTI_PACK,
            .plan = unpack ? halo->in_plan[k] : halo->out_plan[k],
            .count = 1,
            .memory = halo->memory,
            .packed = (unpack ? halo->in : halo->out) + halo->at[k],
            .bytes = halo->message[k],
        };
    bench_must(tutti_pack_now(halo->plan->node_rank % tutti_gpu_count(), jobs, WAYS), "packing");
}

static void pack_each(const struct halo *halo, int unpack)
{
    for (int k = 0; k < WAYS; k++) {
        for (int q = 0, position = 0; q < halo->what->quantities; q++) {
            char *array = halo->memory + (size_t)q * halo->cells * CELL;
            const int bytes = (int)halo->message[k];
            exchange_mpi(unpack ? MPI_Unpack(halo->in + halo->at[k], bytes, &position, array, 1, halo->one_receive[k],
                                             MPI_COMM_WORLD)
                                : MPI_Pack(array, 1, halo->one_send[k], halo->out + halo->at[k], bytes, &position,
                                           MPI_COMM_WORLD),
                         unpack ? "MPI_Unpack" : "MPI_Pack");
        }
    }
}

static void send_packed(const struct halo *halo, void (*pack)(const struct halo *halo, int unpack))
{
    MPI_Request request[2 * WAYS];
    MPI_Status status[2 * WAYS]; /* gcc takes MPI_STATUSES_IGNORE for an array of nothing */
    for (int k = 0; k < WAYS; k++)
        exchange_mpi(MPI_Irecv(halo->in + halo->at[k], (int)halo->message[k], MPI_BYTE, halo->from[k], k,
                               MPI_COMM_WORLD, &request[k]),
                     "MPI_Irecv");
    pack(halo, 0);
    for (int k = 0; k < WAYS; k++)
        exchange_mpi(MPI_Isend(halo->out + halo->at[k], (int)halo->message[k], MPI_BYTE, halo->to[k], k, MPI_COMM_WORLD,
                               &request[WAYS + k]),
                     "MPI_Isend");
    exchange_mpi(MPI_Waitall(2 * WAYS, request, status), "MPI_Waitall");
    pack(halo, 1);
}

static void halo_call(void *with, int way)
{
    const struct halo *halo = with;
    if (way == EXCHANGE_ISEND)
        send_typed(halo);
    else if (way == EXCHANGE_FUSED)
        send_packed(halo, pack_fused);
    else if (way == EXCHANGE_EACH)
        send_packed(halo, pack_each);
    else
        halo_neighbours(halo, way);
}

static char *device_memory(size_t bytes)
{
    void *memory = NULL;
    bench_must(tutti_alloc(bytes, &memory), "allocating device memory");
    return memory;
}

static void open_halo(struct halo *halo, int ordinary)
{
    const struct bench_plan *plan = halo->plan;
    const size_t quantities = (size_t)halo->what->quantities;
    int weights[WAYS];
    halo->side = halo->edge + 2 * (size_t)halo->what->radius;
    halo->cells = halo->side * halo->side * halo->side;
    halo->bytes = quantities * halo->cells * CELL;
    exchange_mpi(MPI_Dims_create(plan->size, 3, halo->grid), "MPI_Dims_create");
    for (int d = 2, rest = plan->rank; d >= 0; d--) {
        halo->place[d] = rest % halo->grid[d];
        rest /= halo->grid[d];
    }
    for (int k = 0; k < WAYS; k++) {
        size_t count[3], start[3];
        weights[k] = 1; /* gcc takes MPI_UNWEIGHTED for an array of nothing */
        halo->to[k] = rank_at(halo, k, 1);
        halo->from[k] = rank_at(halo, k, -1);
        halo_part(halo, k, 0, count, start);
        halo->message[k] = quantities * count[0] * count[1] * count[2] * CELL;
        halo->at[k] = halo->total;
        halo->total += (halo->message[k] + 255) / 256 * 256;
        halo->send[k] = make_type(halo, k, 0, halo->what->quantities);
        halo->receive[k] = make_type(halo, k, 1, halo->what->quantities);
        halo->one_send[k] = make_type(halo, k, 0, 1);
        halo->one_receive[k] = make_type(halo, k, 1, 1);
        halo->out_plan[k] = make_plan(halo, k, 0);
        halo->in_plan[k] = make_plan(halo, k, 1);
    }
    exchange_mpi(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, WAYS, halo->from, weights, WAYS, halo->to, weights,
                                                MPI_INFO_NULL, 0, &halo->graph),
                 "MPI_Dist_graph_create_adjacent");
    halo->host = bench_ordinary(halo->bytes);
    halo->ordinary = ordinary ? bench_ordinary(halo->bytes) : NULL;
    halo->memory = device_memory(halo->bytes);
    halo->out = device_memory(halo->total);
    halo->in = device_memory(halo->total);
}

static void close_halo(struct halo *halo)
{
    for (int k = 0; k < WAYS; k++) {
        MPI_Type_free(&halo->send[k]);
        MPI_Type_free(&halo->receive[k]);
        MPI_Type_free(&halo->one_send[k]);
        MPI_Type_free(&halo->one_receive[k]);
        tutti_plan_drop(halo->out_plan[k]);
        tutti_plan_drop(halo->in_plan[k]);
    }
    MPI_Comm_free(&halo->graph);
    free(halo->host);
    free(halo->ordinary);
    tutti_free(halo->memory);
    tutti_free(halo->out);
    tutti_free(halo->in);
}

void bench_halo(struct bench_plan *plan, const struct exchange_plan *what)
{
    static const int ways[] = {EXCHANGE_TUTTI,     EXCHANGE_ISEND,        EXCHANGE_BY_STAGED, EXCHANGE_BY_PACKED,
                               EXCHANGE_BY_DIRECT, EXCHANGE_BY_PIPELINED, EXCHANGE_FUSED,     EXCHANGE_EACH,
                               EXCHANGE_PLAIN,     EXCHANGE_NATIVE};
    int fine = 1;
    bench_say(plan, "nodes %d", plan->nodes);
    bench_choose_gpu(plan);
    bench_say(plan, "start");
    const int apart = exchange_apart(plan);
    for (int i = 0; i < plan->n_sizes && fine; i++) {
        struct halo halo = {.plan = plan, .what = what, .edge = plan->sizes[i]};
        struct exchange exchange = {.counted = "_Neighbor_alltoallw",
                                    .sending = "_Isend",
                                    .typed = EXCHANGE_ISEND,
                                    .share = 1,
                                    .prepare = halo_prepare,
                                    .call = halo_call,
                                    .check = halo_check};
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
            exchange.used[ways[w]] = exchange_has(what, ways[w]);
        exchange.used[EXCHANGE_BY_PACKED] &= !apart;
        exchange.used[EXCHANGE_BY_DIRECT] &= !apart;
        exchange.used[EXCHANGE_BY_PIPELINED] &= apart;
        exchange.used[EXCHANGE_ISEND] |= exchange_has_rules(&exchange);
        open_halo(&halo, exchange.used[EXCHANGE_PLAIN]);
        for (int k = 0; k < WAYS; k++)
            exchange.bytes += halo.message[k];
        snprintf(exchange.name, sizeof exchange.name, "%zu^3", halo.edge);
        exchange.with = &halo;
        fine = exchange_run(plan, &exchange);
        close_halo(&halo);
    }
    bench_say(plan, "end %d", fine);
}

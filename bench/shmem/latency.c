/* Rows of tutti bench shmem: what a call takes, what many blocks move, and what the ring takes. */
#include "bench/shmem/measure.h"

#define WAY(id) GAS_WAY_BIT(id)

static const unsigned forms[] = {1, 32, 128, 1024}; /* a thread, a warp, blocks */

static int forms_of(const struct gas_bench *bench)
{
    return bench->side[GAS_SIDE_TUTTI].groups ? (int)(sizeof forms / sizeof *forms) : 1;
}

/* By all forms. sized: for all sizes, otherwise once. */
static void in_forms(struct gas_bench *bench, struct gas_row row, int sized)
{
    for (int f = 0; f < forms_of(bench); f++) {
        row.threads = forms[f];
        if (sized)
            gas_sizes(bench, row, 1);
        else if (bench->right)
            gas_measure(bench, &row);
    }
}

/* What PE 0 does alone, to a peer if there is one. */
static void one_sided(struct gas_bench *bench)
{
    static const struct {
        int operation;
        const char *name;
    } words[] = {{GAS_P, "p"}, {GAS_ADD, "add"}, {GAS_FETCH_ADD, "fetch_add"}},
      moves[] = {{GAS_PUT, "put"}, {GAS_BLOCKING_GET, "get"}, {GAS_GET, "get_quiet"}};
    struct gas_row row = {.figure = GAS_FIGURE_LATENCY,
                          .target = bench->plan->size > 1,
                          .pes = 1,
                          .blocks = 1,
                          .threads = 1,
                          .bytes = sizeof(uint64_t),
                          .ways = WAY(TUTTI) | WAY(RING) | WAY(NVSHMEM)};
    for (size_t i = 0; bench->right && i < sizeof words / sizeof *words; i++) {
        row.operation = words[i].operation;
        row.name = words[i].name;
        gas_measure(bench, &row);
    }
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        row.operation = moves[i].operation;
        row.name = moves[i].name;
        in_forms(bench, row, 1);
    }
}

/* What takes the kernels of all PEs, or of two. */
static void bench_together(struct gas_bench *bench)
{
    static const struct {
        int operation, sized;
        const char *name;
    } calls[] = {{GAS_PINGPONG, 1, "pingpong"},
                 {GAS_BARRIER, 0, "barrier"},
                 {GAS_SYNC, 0, "sync"},
                 {GAS_TEAM_SUM, 1, "sum"},
                 {GAS_FCOLLECT, 1, "fcollect"}};
    struct gas_row row = {.figure = GAS_FIGURE_LATENCY, .target = -1, .blocks = 1, .ways = WAY(TUTTI) | WAY(NVSHMEM)};
    gas_take_team(bench, bench->plan->size);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        row.operation = calls[i].operation;
        row.name = calls[i].name;
        row.pes = row.operation == GAS_PINGPONG ? 2 : bench->plan->size;
        if (row.pes <= bench->plan->size)
            in_forms(bench, row, calls[i].sized);
    }
}

void gas_latency(struct gas_bench *bench, int alone)
{
    one_sided(bench);
    if (!alone)
        bench_together(bench);
}

void gas_bandwidth(struct gas_bench *bench)
{
    static const struct {
        int operation;
        const char *name;
    } moves[] = {{GAS_PUT, "put"}, {GAS_GET, "get"}};
    const int grid = bench->side[GAS_SIDE_TUTTI].groups;
    struct gas_row row = {.figure = GAS_FIGURE_BANDWIDTH,
                          .target = bench->plan->size > 1,
                          .pes = 1,
                          .threads = grid ? GAS_THREADS : 1,
                          .ways = WAY(TUTTI) | WAY(NVSHMEM)};
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++) {
        row.operation = moves[i].operation;
        row.name = moves[i].name;
        for (unsigned blocks = grid ? 32 : 1; blocks >= (grid ? 8 : 1); blocks /= 2) {
            row.blocks = blocks;
            gas_sizes(bench, row, 16);
        }
    }
}

void gas_ring_figure(struct gas_bench *bench)
{
    static const unsigned shapes[][2] = {{1, 1}, {1, 32}, {1, 256}, {8, 32}, {8, 256}, {32, 256}};
    struct gas_row row = {.figure = GAS_FIGURE_RING,
                          .name = "trip",
                          .operation = GAS_RING_TRIP,
                          .pes = 1,
                          .blocks = 1,
                          .threads = 1,
                          .ways = WAY(TUTTI)};
    gas_measure(bench, &row);
    row.name = "rate";
    row.operation = GAS_RING_RATE;
    for (size_t i = 0; bench->right && i < sizeof shapes / sizeof *shapes; i++) {
        row.blocks = shapes[i][0];
        row.threads = shapes[i][1];
        if (bench->side[GAS_SIDE_TUTTI].groups || i == 0)
            gas_measure(bench, &row);
    }
}

/* tutti bench shmem: the rows of each figure. */
#include "bench/shmem/shmem.h"

#include <stdlib.h>
#include <string.h>

#include "bench/common/energy.h"
#include "bench/common/gpu.h"
#include "bench/common/place.h"
#include "bench/shmem/measure.h"
#include "bench/shmem/side.h"
#include "tutti/device.h"
#include "tutti/shmem.h"
#include "tutti/tutti.h"

/* ---- the sides ---- */

static void *tutti_alloc_symmetric(size_t bytes)
{
    return tshmem_align(256, bytes);
}

static int tutti_fill(void *to, const void *from, size_t bytes)
{
    tshmem_putmem(to, from, bytes, tshmem_my_pe());
    return tshmem_error();
}

static int tutti_fetch(void *to, const void *from, size_t bytes)
{
    tshmem_getmem(to, from, bytes, tshmem_my_pe());
    return tshmem_error();
}

static int tutti_team(int pes)
{
    tshmem_team_t team = TSHMEM_TEAM_INVALID;
    if (pes == tshmem_n_pes())
        return TSHMEM_TEAM_WORLD;
    return tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 1, pes, NULL, 0, &team) == 0 ? team : -1;
}

/* 1 if all ranks have it. */
static int open_side(struct gas_bench *bench, int which, const struct gas_side *side, int gpu, size_t bytes)
{
    const struct bench_plan *plan = bench->plan;
    char unique[1024] = {0};
    int fine = side->unique_bytes <= sizeof unique;
    if (fine && plan->rank == 0 && side->first)
        fine = side->first(unique) == 0;
    if (!bench_all_agree(fine))
        return 0;
    bench_mpi.Bcast(unique, sizeof unique, MPI_BYTE, 0, MPI_COMM_WORLD);
    fine = !side->open || side->open(unique, plan->rank, plan->size, gpu, bytes) == 0;
    if (bench_all_agree(fine))
        bench->side[which] = *side;
    return bench->side[which].name != NULL;
}

static void open_memory(struct gas_bench *bench, int which)
{
    const struct gas_side *side = &bench->side[which];
    struct gas_memory *memory = &bench->memory[which];
    const int pes = bench->plan->size;
    const size_t most = bench->plan->most;
    memory->work_bytes = tutti_grid_work_bytes(pes, most < 4096 ? 4096 : most);
    memory->in = side->alloc(gas_in_bytes(pes, most));
    memory->out = side->alloc(gas_in_bytes(pes, most));
    memory->part = side->alloc(GAS_BLOCKS * sizeof *memory->part);
    memory->work = side->alloc(memory->work_bytes);
    if (!memory->in || !memory->out || !memory->part || !memory->work)
        bench_fail("rank %d: no room in the heap of %s for messages of %zu bytes", bench->plan->rank, side->name, most);
}

#define WAY(id) GAS_WAY_BIT(id)

#define FIGURE(id) (1u << GAS_FIGURE_##id)

/* 1 if one of the figures asks the ring for something, in the ways that are wanted. */
static int by_ring(const struct gas_bench *bench, unsigned figures)
{
    const unsigned ways = bench->plan->ways;
    return (figures & FIGURE(RING) && ways & WAY(TUTTI)) ||
           (figures & (FIGURE(LATENCY) | FIGURE(RMA) | FIGURE(GROUPS)) && ways & (WAY(RING) | WAY(CUTOVER)));
}

/* Figures and ways that need a ring, and rules. */
static void leave_out(struct gas_bench *bench, unsigned *figures)
{
    struct bench_plan *plan = bench->plan;
    if (!by_ring(bench, *figures))
        return;
    if (!bench_all_agree(gas_has_ring())) {
        bench_say(plan, "note ring and cutover are left out: there is no ring");
        plan->ways &= ~(WAY(RING) | WAY(CUTOVER));
        *figures &= ~FIGURE(RING);
    } else if (!(*figures & (FIGURE(RMA) | FIGURE(GROUPS)))) {
        plan->ways &= ~WAY(CUTOVER);
    } else if (!bench_all_agree(gas_cuts_of_rules(&bench->cuts)) && plan->ways & WAY(CUTOVER)) {
        bench_say(plan, "note cutover is left out: no rules say from which size on (tutti tune makes them)");
        plan->ways &= ~WAY(CUTOVER);
    }
}

static void open_sides(struct gas_bench *bench, unsigned *figures, int on_host, int gpus)
{
    const struct bench_plan *plan = bench->plan;
    const int gpu = plan->node_rank % tutti_gpu_count();
    const size_t bytes = (size_t)(4 * plan->size + 8) * plan->most + (16u << 20);
    struct gas_side own = {.name = "tutti"};
    char why[512] = "";
    if (*figures & ~(unsigned)GAS_IN_STREAMS && gas_kernels(&own, why, sizeof why) != 0)
        bench_fail("the kernels of tutti bench shmem, tutti-bench-shmem-cuda.so: %s", why);
    own.alloc = tutti_alloc_symmetric;
    own.fill = tutti_fill;
    own.fetch = tutti_fetch;
    own.team = tutti_team;
    own.enqueue = gas_enqueue_tutti;
    bench_must(by_ring(bench, *figures) ? gas_init() : tshmem_init(), "making the address space");
    leave_out(bench, figures);
    if (!open_side(bench, GAS_SIDE_TUTTI, &own, gpu, bytes))
        bench_fail("the kernels of tutti bench shmem cannot be used");
    open_memory(bench, GAS_SIDE_TUTTI);
    if (on_host || !(plan->ways >> GAS_NVSHMEM & 1))
        return;
    if (gpus < plan->size) {
        bench_say(plan, "note nvshmem is left out: it takes a GPU for each PE");
        return;
    }
    const struct gas_side *nvshmem = gas_load("tutti-bench-nvshmem.so", why, sizeof why);
    if (!bench_all_agree(nvshmem != NULL))
        bench_say(plan, "note nvshmem is left out: %s", nvshmem ? "another rank cannot load it" : why);
    else if (open_side(bench, GAS_SIDE_NVSHMEM, nvshmem, gpu, bytes))
        open_memory(bench, GAS_SIDE_NVSHMEM);
    else
        bench_say(plan, "note nvshmem is left out: it could not be started");
}

void gas_take_team(struct gas_bench *bench, int pes)
{
    for (int which = 0; which < GAS_SIDES && pes != bench->team_size; which++) {
        if (bench->side[which].name)
            bench->team[which] = bench->side[which].team(pes);
    }
    bench->team_size = pes;
}

/* ---- the rows ---- */

static const unsigned group_sizes[] = {1, 16, 128, 1024};
enum { GROUPS = sizeof group_sizes / sizeof *group_sizes, GRID_BLOCKS = 32, GRID_THREADS = 512 };

static int groups_of(const struct gas_bench *bench)
{
    return bench->side[GAS_SIDE_TUTTI].groups ? GROUPS : 1;
}

void gas_sizes(struct gas_bench *bench, struct gas_row row, size_t unit)
{
    for (int i = 0; bench->right && i < bench->n_sizes; i++) {
        row.bytes = bench->sizes[i];
        if (row.bytes % (unit * row.blocks) == 0)
            gas_measure(bench, &row);
    }
}

/* Put and get by one thread: to the own GPU, and to a peer's. */
static void rows_rma(struct gas_bench *bench)
{
    for (int operation = GAS_PUT; operation <= GAS_GET; operation++)
        for (int target = 0; target < 2 && target < bench->plan->size; target++)
            gas_sizes(bench,
                      (struct gas_row){.figure = GAS_FIGURE_RMA,
                                       .name = operation == GAS_PUT ? "put" : "get",
                                       .operation = operation,
                                       .target = target,
                                       .pes = 1,
                                       .blocks = 1,
                                       .threads = 1,
                                       .ways = WAY(TUTTI) | WAY(RING) | WAY(CUTOVER) | WAY(ENGINE) | WAY(NVSHMEM)},
                      1);
}

/* The copy engine has no group: it is shown beside one thread. */
static void rows_groups(struct gas_bench *bench)
{
    const int target = bench->plan->size > 1;
    for (int operation = GAS_PUT; operation <= GAS_GET; operation++) {
        struct gas_row row = {.figure = GAS_FIGURE_GROUPS,
                              .name = operation == GAS_PUT ? "put" : "get",
                              .operation = operation,
                              .target = target,
                              .pes = 1,
                              .blocks = 1};
        for (int g = 0; g < groups_of(bench); g++) {
            row.threads = group_sizes[g];
            row.ways = WAY(TUTTI) | WAY(RING) | WAY(CUTOVER) | WAY(NVSHMEM) | (g == 0 ? WAY(ENGINE) : 0);
            gas_sizes(bench, row, 1);
        }
        if (groups_of(bench) > 1) {
            row.blocks = GRID_BLOCKS;
            row.threads = GAS_THREADS;
            row.ways = WAY(TUTTI) | WAY(RING) | WAY(CUTOVER) | WAY(NVSHMEM);
            gas_sizes(bench, row, 16);
        }
    }
}

/* Blocks of less than a warp get wrong results from NVSHMEM's collectives (3.8.0, fcollect of 8 bytes by 16 threads).
 */
static unsigned nvshmem_of(unsigned threads)
{
    return threads == 1 || threads >= 32 ? WAY(NVSHMEM) : 0;
}

static void rows_collective(struct gas_bench *bench, enum gas_figure figure, int operation, const char *name)
{
    const int size = bench->plan->size;
    for (int pes = 2; pes <= size; pes = pes < size && 2 * pes > size ? size : 2 * pes) {
        gas_take_team(bench, pes);
        for (int g = 0; g < groups_of(bench); g++)
            gas_sizes(bench,
                      (struct gas_row){.figure = figure,
                                       .name = name,
                                       .operation = operation,
                                       .target = -1,
                                       .pes = pes,
                                       .blocks = 1,
                                       .threads = group_sizes[g],
                                       .ways = WAY(TUTTI) | nvshmem_of(group_sizes[g]) | (g == 0 ? WAY(ENGINE) : 0)},
                      4);
    }
}

static void access_figure(struct gas_bench *bench, int grid)
{
    static const char *const names[2][2] = {{"write", "write_2"}, {"read", "read_2"}};
    for (int operation = GAS_WRITE; operation <= GAS_READ; operation++)
        for (unsigned stride = 1; stride <= 2; stride++)
            gas_sizes(bench,
                      (struct gas_row){.figure = GAS_FIGURE_ACCESS,
                                       .name = names[operation - GAS_WRITE][stride - 1],
                                       .operation = operation,
                                       .target = bench->plan->size > 1,
                                       .pes = 1,
                                       .blocks = grid ? GRID_BLOCKS : 1,
                                       .threads = grid ? GRID_THREADS : 1,
                                       .stride = stride,
                                       .ways = WAY(TUTTI) | WAY(NVSHMEM)},
                      sizeof(uint32_t));
}

static void rows_reductions(struct gas_bench *bench, enum gas_figure figure, int operation, int grid)
{
    static const char *const strategies[TUTTI_GRID_STRATEGIES] = {
        [TUTTI_GRID_AUTO] = "auto",           [TUTTI_GRID_READ] = "read",         [TUTTI_GRID_GATHER] = "gather",
        [TUTTI_GRID_ALLGATHER] = "allgather", [TUTTI_GRID_ALLTOALL] = "alltoall", [TUTTI_GRID_TREE] = "tree"};
    const int joules = bench->plan->energy.trials > 0;
    const int some = operation == GAS_SUM || joules ? 1 : TUTTI_GRID_STRATEGIES;
    gas_take_team(bench, bench->plan->size);
    for (int strategy = 0; strategy < some; strategy++) {
        struct gas_row row = {.figure = figure,
                              .name = strategies[strategy],
                              .operation = operation,
                              .strategy = strategy,
                              .target = -1,
                              .pes = bench->plan->size,
                              .blocks = grid ? GRID_BLOCKS : 1,
                              .threads = grid ? GRID_THREADS : 1,
                              .ways = WAY(TUTTI) | (strategy == TUTTI_GRID_AUTO ? WAY(NVSHMEM) | WAY(MPI) : 0)};
        for (int i = 0; bench->right && i < bench->n_sizes; i++) {
            row.bytes = bench->sizes[i];
            if (row.bytes % (operation == GAS_SUM ? sizeof(double) : sizeof(float)) == 0)
                bench->right = joules ? gas_energy(bench, &row) : gas_measure(bench, &row);
        }
    }
}

/* Those that the command was given, or the figure's own. */
static void take_sizes(struct gas_bench *bench, int figure, int usual)
{
    static const size_t own[GAS_FIGURES][GAS_USUAL + 1] = {
#define GAS_FIGURE(id, name, text, rate, ...) {__VA_ARGS__},
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
    };
    bench->sizes = usual ? own[figure] : bench->plan->sizes;
    bench->n_sizes = usual ? 0 : bench->plan->n_sizes;
    while (usual && own[figure][bench->n_sizes] > 0)
        bench->n_sizes++;
}

/* alone: PEs share a GPU. */
static void rows_measure(struct gas_bench *bench, unsigned figures, int usual, int grid, int alone)
{
    for (int figure = 0; bench->right && figure < GAS_FIGURES; figure++) {
        if (!(figures >> figure & 1))
            continue;
        take_sizes(bench, figure, usual);
        if (figure == GAS_FIGURE_LATENCY)
            gas_latency(bench, alone);
        else if (figure == GAS_FIGURE_BANDWIDTH)
            gas_bandwidth(bench);
        else if (figure == GAS_FIGURE_GRAPH || figure == GAS_FIGURE_STREAM)
            gas_ordered(bench, figure);
        else if (figure == GAS_FIGURE_RING)
            gas_ring_figure(bench);
        else if (figure == GAS_FIGURE_RMA)
            rows_rma(bench);
        else if (figure == GAS_FIGURE_GROUPS)
            rows_groups(bench);
        else if (figure == GAS_FIGURE_ACCESS)
            access_figure(bench, grid);
        else if (figure == GAS_FIGURE_FCOLLECT)
            rows_collective(bench, figure, GAS_FCOLLECT, "fcollect");
        else if (figure == GAS_FIGURE_BROADCAST)
            rows_collective(bench, figure, GAS_BROADCAST, "broadcast");
        else
            rows_reductions(bench, figure,
                            figure == GAS_FIGURE_REDUCE      ? GAS_REDUCE
                            : figure == GAS_FIGURE_ALLREDUCE ? GAS_ALLREDUCE
                                                             : GAS_SUM,
                            grid);
    }
}

void bench_shmem(struct bench_plan *plan, unsigned figures, int usual)
{
    static struct gas_bench bench = {.right = 1};
    const unsigned together =
        FIGURE(FCOLLECT) | FIGURE(BROADCAST) | FIGURE(REDUCE) | FIGURE(ALLREDUCE) | FIGURE(SUM) | GAS_IN_STREAMS;
    bench_say(plan, "nodes %d", plan->nodes);
    bench_energy_open(plan);
    const int gpus = bench_choose_gpu(plan), on_host = bench_on_host();
    bench.plan = plan;
    const int alone = !on_host && gpus < plan->size;
    if (alone && figures & (together | FIGURE(LATENCY))) {
        bench_say(plan,
                  "note kernels that wait for each other take a GPU each: collectives and ping-pong are left out");
        figures &= ~together;
    }
    open_sides(&bench, &figures, on_host, gpus);
    figures &= ~gas_ordered_missing(&bench, figures);
    bench.host = bench_ordinary(gas_in_bytes(plan->size, plan->most));
    bench.expected = bench_ordinary(gas_in_bytes(plan->size, plan->most));
    bench_say(plan, "start");
    rows_measure(&bench, figures, usual, !on_host, alone);
    bench_energy_close(plan);
    bench_say(plan, "end %d", bench.right);
    if (bench.side[GAS_SIDE_NVSHMEM].name)
        bench.side[GAS_SIDE_NVSHMEM].close();
    bench_gpu_close();
    tshmem_finalize();
    free(bench.host);
    free(bench.expected);
}

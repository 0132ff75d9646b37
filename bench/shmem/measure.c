#include "bench/shmem/measure.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "tutti/shmem.h"

enum { SAMPLES = 5, ROUNDS_LEAST = 5, ROUNDS_MOST = 5000, HOST_ROUNDS_MOST = 200, EMPTY = 0x5a };

static const char *const way_names[GAS_WAYS] = {
#define GAS_WAY(id, name, text) name,
#include "bench/words/gas_ways.def"
#undef GAS_WAY
};
static const char *const figure_names[GAS_FIGURES] = {
#define GAS_FIGURE(id, name, text, rate) name,
#include "bench/words/gas_figures.def"
#undef GAS_FIGURE
};

size_t gas_in_bytes(int pes, size_t bytes)
{
    const size_t most = pes > 2 ? (size_t)pes : 2;
    return most * bytes + 64;
}

/* ---- data: what each PE has in `out`, and what must be in `in` ---- */

static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Numbers of reductions are whole and small: sums are exact in any order. */
static void data_of(const struct gas_row *row, uint64_t seed, int pe, char *to, size_t bytes)
{
    const uint64_t start = mix(seed + (uint64_t)pe * 7919);
    if (row->operation == GAS_REDUCE || row->operation == GAS_ALLREDUCE) {
        for (size_t i = 0; i < bytes / sizeof(float); i++)
            ((float *)(void *)to)[i] = (float)(mix(start + i) % 2001) - 1000;
    } else if (row->operation == GAS_SUM) {
        for (size_t i = 0; i < bytes / sizeof(double); i++)
            ((double *)(void *)to)[i] = (double)(mix(start + i) % 2001) - 1000;
    } else {
        for (size_t i = 0; i < bytes; i++)
            to[i] = (char)(mix(start + i / 8) >> i % 8 * 8);
    }
}

static size_t out_bytes(const struct gas_row *row)
{
    return row->operation == GAS_READ ? row->bytes * row->stride : row->bytes;
}

/* `in` of this PE afterwards; `mine` is room for what a PE had. Bytes that count. */
static size_t expect(const struct gas_bench *bench, const struct gas_row *row, uint64_t seed, char *to)
{
    const int me = bench->plan->rank;
    const size_t all = gas_in_bytes(row->pes, row->bytes), words = row->bytes / sizeof(uint32_t);
    char *const theirs = bench->host;
    memset(to, EMPTY, all);
    switch (row->operation) {
    case GAS_PUT:
        if (me == row->target)
            data_of(row, seed, 0, to, row->bytes);
        break;
    case GAS_GET:
        if (me == 0)
            data_of(row, seed, row->target, to, row->bytes);
        break;
    case GAS_WRITE:
    case GAS_READ:
        if (me != (row->operation == GAS_WRITE ? row->target : 0))
            break;
        data_of(row, seed, row->operation == GAS_WRITE ? 0 : row->target, theirs, out_bytes(row));
        for (size_t i = 0; i < words; i++)
            memcpy(to + sizeof(uint32_t) * i * (row->operation == GAS_WRITE ? row->stride : 1),
                   theirs + sizeof(uint32_t) * i * (row->operation == GAS_READ ? row->stride : 1), sizeof(uint32_t));
        break;
    case GAS_FCOLLECT:
        for (int pe = 0; me < row->pes && pe < row->pes; pe++)
            data_of(row, seed, pe, to + (size_t)pe * row->bytes, row->bytes);
        break;
    case GAS_BROADCAST:
        if (me < row->pes)
            data_of(row, seed, 0, to, row->bytes);
        break;
    case GAS_SUM: {
        double sum = 0;
        for (int pe = 0; pe < row->pes; pe++) {
            data_of(row, seed, pe, theirs, row->bytes);
            for (size_t i = 0; i < row->bytes / sizeof sum; i++)
                sum += ((double *)(void *)theirs)[i];
        }
        if (me < row->pes)
            memcpy(to, &sum, sizeof sum);
        break;
    }
    default:
        if (me >= (row->operation == GAS_REDUCE ? 1 : row->pes))
            break;
        data_of(row, seed, 0, to, row->bytes);
        for (int pe = 1; pe < row->pes; pe++) {
            data_of(row, seed, pe, theirs, row->bytes);
            for (size_t i = 0; i < row->bytes / sizeof(float); i++)
                ((float *)(void *)to)[i] += ((float *)(void *)theirs)[i];
        }
    }
    return all;
}

/* ---- one way ---- */

static int side_of(int way)
{
    return way == GAS_NVSHMEM ? GAS_SIDE_NVSHMEM : GAS_SIDE_TUTTI;
}

static int fill(struct gas_bench *bench, const struct gas_row *row, int way, uint64_t seed)
{
    const struct gas_side *side = &bench->side[side_of(way)];
    const struct gas_memory *memory = &bench->memory[side_of(way)];
    const size_t in = gas_in_bytes(row->pes, row->bytes);
    memset(bench->host, EMPTY, in);
    int failed = side->fill(memory->in, bench->host, in);
    data_of(row, seed, bench->plan->rank, bench->host, out_bytes(row));
    failed |= side->fill(memory->out, bench->host, out_bytes(row));
    bench_mpi.Barrier(MPI_COMM_WORLD);
    return failed;
}

static int check(struct gas_bench *bench, const struct gas_row *row, int way, uint64_t seed)
{
    const size_t bytes = expect(bench, row, seed, bench->expected);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    if (bench->side[side_of(way)].fetch(bench->host, bench->memory[side_of(way)].in, bytes) != 0)
        return 0;
    /* A reduction to PE 0, or of MPI, may leave something with others. */
    if (row->operation == GAS_REDUCE && bench->plan->rank > 0)
        return 1;
    return memcmp(bench->host, bench->expected, bytes) == 0;
}

/* The host's own calls: microseconds of one, over `rounds`. */
static double by_host(struct gas_bench *bench, const struct gas_row *row, int way, unsigned rounds,
                      struct gas_call *call)
{
    const uint64_t start = tutti_now_ns();
    const int n = (int)(row->bytes / sizeof(float));
    for (unsigned i = 0; i < rounds; i++) {
        if (way == GAS_ENGINE && row->operation == GAS_PUT)
            tshmem_putmem(call->in, call->out, row->bytes, row->target);
        else if (way == GAS_ENGINE && row->operation == GAS_FCOLLECT)
            tshmem_fcollectmem(call->team, call->in, call->out, row->bytes);
        else if (way == GAS_ENGINE && row->operation == GAS_BROADCAST)
            tshmem_broadcastmem(call->team, call->in, call->out, row->bytes, 0);
        else if (way == GAS_ENGINE)
            tshmem_getmem(call->in, call->out, row->bytes, row->target);
        else if (row->operation == GAS_REDUCE)
            MPI_Reduce(call->out, call->in, n, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD);
        else if (row->operation == GAS_ALLREDUCE)
            MPI_Allreduce(call->out, call->in, n, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
        else {
            call->operation = GAS_PARTS;
            call->rounds = 1;
            if (bench->side[GAS_SIDE_TUTTI].run(call, row->blocks, row->threads, 30) < 0)
                return -1;
            MPI_Allreduce(MPI_IN_PLACE, call->in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    if (way == GAS_ENGINE)
        tshmem_quiet(); /* what goes to other nodes is under way */
    return (double)(tutti_now_ns() - start) / rounds;
}

static int takes_part(const struct gas_bench *bench, const struct gas_row *row)
{
    return bench->plan->rank < (row->target >= 0 ? 1 : row->pes);
}

/* Microseconds of a round, of the slowest PE; with new data, which are looked at afterwards. */
static double sample(struct gas_bench *bench, const struct gas_row *row, int way, unsigned rounds, int *right)
{
    static uint64_t number;
    const uint64_t seed = bench->plan->seed + ++number * 1000003;
    const struct gas_memory *memory = &bench->memory[side_of(way)];
    struct gas_call call = {.operation = row->operation,
                            .strategy = row->strategy,
                            .team = bench->team[side_of(way)],
                            .pe = row->target,
                            .rounds = rounds,
                            .stride = row->stride,
                            .bytes = row->bytes,
                            .in = memory->in,
                            .out = memory->out,
                            .part = memory->part,
                            .work = memory->work,
                            .work_bytes = memory->work_bytes};
    struct tshmem_state state;
    double ns = 0;
    gas_state(way == GAS_RING ? GAS_RING_ALL : way == GAS_CUTOVER ? GAS_RING_CUT : GAS_RING_NONE, &bench->cuts, &state);
    call.state = &state;
    if (fill(bench, row, way, seed) != 0)
        bench_fail("rank %d cannot fill its heap", bench->plan->rank);
    if (takes_part(bench, row) || way == GAS_MPI)
        ns = way == GAS_ENGINE || way == GAS_MPI ? by_host(bench, row, way, rounds, &call)
                                                 : bench->side[side_of(way)].run(&call, row->blocks, row->threads, 30);
    if (ns < 0)
        bench_fail("rank %d: %s %s by %s failed", bench->plan->rank, figure_names[row->figure], row->name,
                   way_names[way]);
    if (side_of(way) == GAS_SIDE_TUTTI && (tshmem_error() != 0 || *tshmem_state_get()->abort != 0))
        bench_fail("rank %d: %s %s: the address space is broken", bench->plan->rank, figure_names[row->figure],
                   row->name);
    const double us = bench_longest(ns / 1000);
    *right = !bench->plan->check || bench_all_agree(check(bench, row, way, seed));
    return us;
}

/* As many rounds as fill the plan's time; all ranks alike, since `us` is. */
static unsigned rounds_of(const struct bench_plan *plan, int way, double us)
{
    const double most = way == GAS_ENGINE || way == GAS_MPI ? HOST_ROUNDS_MOST : ROUNDS_MOST;
    const double rounds = us > 0 ? plan->seconds * 1e6 / us : most;
    return rounds < ROUNDS_LEAST ? ROUNDS_LEAST : (unsigned)(rounds > most ? most : rounds);
}

int gas_measure(struct gas_bench *bench, const struct gas_row *row)
{
    const struct bench_plan *plan = bench->plan;
    bench_say(plan, "row %zu %s %s %s %u %u %d", row->bytes, figure_names[row->figure], row->name,
              row->target < 0             ? "team"
              : row->target == plan->rank ? "same"
                                          : "peer",
              row->blocks, row->threads, row->pes);
    for (int way = 0; way < GAS_WAYS; way++) {
        const int samples = plan->iterations > 0 ? (int)plan->iterations : SAMPLES;
        double times[64];
        int right;
        if (!(row->ways >> way & 1) || !(plan->ways >> way & 1) || !bench->side[side_of(way)].name)
            continue;
        double us = sample(bench, row, way, ROUNDS_LEAST, &right);
        const unsigned rounds = rounds_of(plan, way, us);
        for (int i = 0; right && i < samples && i < 64; i++)
            times[i] = sample(bench, row, way, rounds, &right);
        if (!right) {
            bench_say(plan, "wrong %s %s of %zu bytes by %s, %u blocks of %u threads, seed %llu",
                      figure_names[row->figure], row->name, row->bytes, way_names[way], row->blocks, row->threads,
                      (unsigned long long)plan->seed);
            bench->right = 0;
            return 0;
        }
        struct bench_figures figures = bench_figures_of(times, samples < 64 ? samples : 64);
        figures.iterations = (long)rounds * samples;
        bench_say_time(plan, way_names[way], 0, &figures);
    }
    bench_say(plan, "done");
    return 1;
}

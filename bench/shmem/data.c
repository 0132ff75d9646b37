/* What each PE has in `out`, and what must be in `in` afterwards. */
#include <string.h>

#include "bench/shmem/measure.h"

enum { EMPTY = 0x5a };

size_t gas_in_bytes(int pes, size_t bytes)
{
    const size_t most = pes > 2 ? (size_t)pes : 2;
    return most * bytes + 64;
}

static uint64_t data_mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Numbers of reductions are whole and small: sums are exact in any order. */
static void data_of(const struct gas_row *row, uint64_t seed, int pe, char *to, size_t bytes)
{
    const uint64_t start = data_mix(seed + (uint64_t)pe * 7919);
    if (row->operation == GAS_REDUCE || row->operation == GAS_ALLREDUCE || row->operation == GAS_TEAM_SUM) {
        for (size_t i = 0; i < bytes / sizeof(float); i++)
            ((float *)(void *)to)[i] = (float)(data_mix(start + i) % 2001) - 1000;
    } else if (row->operation == GAS_SUM) {
        for (size_t i = 0; i < bytes / sizeof(double); i++)
            ((double *)(void *)to)[i] = (double)(data_mix(start + i) % 2001) - 1000;
    } else {
        for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
            const uint64_t word = data_mix(start + i / sizeof word);
            memcpy(to + i, &word, bytes - i < sizeof word ? bytes - i : sizeof word);
        }
    }
}

static int operation_orders(int operation)
{
    return operation == GAS_BARRIER || operation == GAS_SYNC;
}

static size_t out_bytes(const struct gas_row *row)
{
    return row->operation == GAS_READ         ? row->bytes * row->stride
           : row->operation == GAS_ALLTOALL   ? row->bytes * (size_t)row->pes
           : operation_orders(row->operation) ? sizeof(uint64_t)
                                              : row->bytes;
}

uint64_t gas_value(uint64_t seed)
{
    return data_mix(~seed) | 1;
}

/* The first words of `in`, by PE 0 at the target. */
static void expect_words(const struct gas_row *row, uint64_t seed, int me, unsigned rounds, char *to)
{
    const uint64_t value = gas_value(seed);
    uint64_t first, sum = 0;
    memcpy(&first, to, sizeof first);
    for (unsigned i = 0; i < rounds; i++)
        sum += first + i * value;
    first = row->operation == GAS_P ? value + rounds - 1 : first + rounds * value;
    if (me == row->target)
        memcpy(to, &first, sizeof first);
    if (me == 0 && row->operation == GAS_FETCH_ADD)
        memcpy(to + sizeof first, &sum, sizeof sum);
}

/* `in` of this PE afterwards. Bytes that count. */
static size_t data_expect(const struct gas_bench *bench, const struct gas_row *row, uint64_t seed, unsigned rounds,
                          char *to)
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
    case GAS_BLOCKING_GET:
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
    case GAS_P:
    case GAS_ADD:
    case GAS_FETCH_ADD:
        expect_words(row, seed, me, rounds, to);
        break;
    case GAS_PINGPONG:
        if (me < row->pes)
            data_of(row, seed, 1 - me, to, row->bytes);
        break;
    case GAS_BARRIER:
    case GAS_SYNC:
        for (size_t i = 0; me < row->pes && i < 2; i++)
            data_of(row, seed, (me + row->pes - 1) % row->pes, to + i * sizeof(uint64_t), sizeof(uint64_t));
        break;
    case GAS_ALLTOALL:
        for (int pe = 0; me < row->pes && pe < row->pes; pe++) {
            data_of(row, seed, pe, theirs, out_bytes(row));
            memcpy(to + (size_t)pe * row->bytes, theirs + (size_t)me * row->bytes, row->bytes);
        }
        break;
    case GAS_RING_TRIP:
    case GAS_RING_RATE:
        break;
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

int gas_fill(struct gas_bench *bench, const struct gas_row *row, int which, uint64_t seed)
{
    const struct gas_side *side = &bench->side[which];
    const struct gas_memory *memory = &bench->memory[which];
    const double nothing = 0;
    const size_t in = gas_in_bytes(row->pes, row->bytes);
    memset(bench->host, EMPTY, in);
    int failed = side->fill(memory->in, bench->host, in);
    data_of(row, seed, bench->plan->rank, bench->host, out_bytes(row));
    failed |= side->fill(memory->out, bench->host, out_bytes(row));
    failed |= side->fill(memory->part, &nothing, sizeof nothing);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    return failed;
}

int gas_check(struct gas_bench *bench, const struct gas_row *row, int which, uint64_t seed, unsigned rounds)
{
    const size_t bytes = data_expect(bench, row, seed, rounds, bench->expected);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    if (bench->side[which].fetch(bench->host, bench->memory[which].in, bytes) != 0)
        return 0;
    /* A reduction to PE 0, or of MPI, may leave something with others. */
    if (row->operation == GAS_REDUCE && bench->plan->rank > 0)
        return 1;
    return memcmp(bench->host, bench->expected, bytes) == 0;
}

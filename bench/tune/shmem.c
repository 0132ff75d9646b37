/* Puts and gets of kernels in `tutti tune`: by loads and stores or by copy engines, as the rules in force say. PE 0
 * moves them to and from PE 1, the others wait. */
#include <string.h>

#include "bench/tune/tune.h"
#include "tutti/shmem.h"
#include "tutti/tutti.h"

enum { PIECE = 64 << 10, ROUNDS = 5, MOST = 16 << 20, LIMIT_S = 30 };
enum { SECTIONS = ((1u << TUNE_SECTIONS) - 1) >> TUNE_SHMEM << TUNE_SHMEM };

const char *tune_shmem_rules(int way)
{
#define ALL(way)                                                                                                       \
    "shmem_put_1: *@" way " shmem_put_32: *@" way " shmem_put_128: *@" way " shmem_put_1024: *@" way                   \
    " shmem_get_1: *@" way " shmem_get_32: *@" way " shmem_get_128: *@" way " shmem_get_1024: *@" way
    return way == TUNE_copy_engine ? ALL("copy_engine") : ALL("direct");
#undef ALL
}

/* ---- data ---- */

static uint64_t word_at(const struct tune *tune, size_t at)
{
    const uint64_t x = (tune->shmem.seed + at) * 0x9e3779b97f4a7c15u;
    return x ^ x >> 29;
}

/* Puts new data, or zeros, into the own part of symmetric memory, or compares it. 1 if it is the same. */
static int shmem_visit(const struct tune *tune, char *symmetric, size_t bytes, int zeros, int compare)
{
    char *const here = tune->host, *const got = tune->host + PIECE;
    for (size_t from = 0; from < bytes; from += PIECE) {
        const size_t n = bytes - from < PIECE ? bytes - from : PIECE;
        for (size_t i = 0; i < n; i += sizeof(uint64_t)) {
            const uint64_t word = zeros ? 0 : word_at(tune, from + i);
            memcpy(here + i, &word, sizeof word);
        }
        if (!compare)
            tshmem_putmem(symmetric + from, here, n, tshmem_my_pe());
        else
            tshmem_getmem(got, symmetric + from, n, tshmem_my_pe());
        if (compare && memcmp(here, got, n) != 0)
            return 0;
    }
    return 1;
}

/* ---- calls ---- */

static int cut_of(int section)
{
    return (section - TUNE_SHMEM) / TSHMEM_GROUPS;
}

static int group_of(int section)
{
    return (section - TUNE_SHMEM) % TSHMEM_GROUPS;
}

/* Microseconds of one, by the rules in force; of PE 0. */
static double shmem_run(struct tune *tune, int section, size_t bytes, unsigned rounds)
{
    static const unsigned threads[TSHMEM_GROUPS] = {1, 32, 128, 1024};
    struct tune_shmem *shmem = &tune->shmem;
    struct tshmem_state state;
    struct gas_cuts cuts;
    const struct gas_call call = {.operation = cut_of(section) == TSHMEM_CUT_PUT ? GAS_PUT : GAS_GET,
                                  .pe = 1,
                                  .rounds = rounds,
                                  .bytes = bytes,
                                  .in = shmem->in,
                                  .out = shmem->out,
                                  .state = &state};
    if (tune->plan->rank != 0)
        return 0;
    gas_cuts_of_rules(&cuts);
    gas_state(GAS_RING_CUT, &cuts, &state);
    const double ns = shmem->side.run(&call, 1, threads[group_of(section)], LIMIT_S);
    if (ns < 0 || tshmem_error() != 0 || *tshmem_state_get()->abort != 0)
        bench_fail("%s of %zu bytes failed", tune_section_name(section), bytes);
    return ns / 1000;
}

int tune_shmem_try(struct tune *tune, struct tune_column *column, int section, size_t bytes)
{
    const int put = cut_of(section) == TSHMEM_CUT_PUT, me = tune->plan->rank;
    struct gas_cuts cuts;
    tune_rules_take(column->rules);
    gas_cuts_of_rules(&cuts);
    const uint64_t from = cuts.bytes[cut_of(section)][group_of(section)];
    column->algorithm = from != 0 && bytes >= from ? TUNE_copy_engine : TUNE_way_direct;
    tune->shmem.seed += 0x10000019; /* alike on all ranks */
    if (me < 2) {
        shmem_visit(tune, tune->shmem.in, bytes, 1, 0);
        shmem_visit(tune, tune->shmem.out, bytes, me != !put, 0);
    }
    bench_mpi.Barrier(MPI_COMM_WORLD);
    shmem_run(tune, section, bytes, ROUNDS);
    bench_mpi.Barrier(MPI_COMM_WORLD);
    return me != put || shmem_visit(tune, tune->shmem.in, bytes, 0, 1);
}

double tune_shmem_round(struct tune *tune, const struct tune_column *column, int section, size_t bytes)
{
    tune_rules_take(column->rules);
    return shmem_run(tune, section, bytes, ROUNDS * (unsigned)column->calls);
}

/* ---- the address space ---- */

/* NULL, or why there is nothing to measure; alike on all ranks. */
static const char *open_space(struct tune *tune)
{
    static char why[512];
    struct tune_shmem *shmem = &tune->shmem;
    const struct bench_plan *plan = tune->plan;
    if (!bench_all_agree(gas_kernels(&shmem->side, why, sizeof why) == 0))
        return why[0] ? why : "another rank has no kernels";
    shmem->open = gas_init() == 0;
    if (!bench_all_agree(shmem->open))
        return "the address space cannot be made";
    if (!bench_all_agree(gas_has_ring()))
        return "there is no ring (TUTTI_SHMEM_RING)";
    if (!bench_all_agree(plan->rank != 0 || tshmem_state_get()->peer[1] != NULL))
        return "PE 1 is not reached by loads and stores";
    const int gpu = plan->node_rank % tutti_gpu_count();
    if (!bench_all_agree(!shmem->side.open || shmem->side.open(NULL, plan->rank, plan->size, gpu, 0) == 0))
        return "the kernels cannot be used";
    const size_t room = tshmem_state_get()->heap_bytes / 4; /* alike on all PEs */
    for (shmem->most = 64; shmem->most < MOST && shmem->most < tune->most && 2 * shmem->most <= room;)
        shmem->most *= 2;
    shmem->in = tshmem_align(256, shmem->most);
    shmem->out = shmem->in ? tshmem_align(256, shmem->most) : NULL;
    if (bench_all_agree(shmem->out != NULL))
        return NULL;
    return "there is no room in the heap (TUTTI_SHMEM_HEAP_MB: 48 are enough)";
}

void tune_shmem_open(struct tune *tune)
{
    if (!(tune->sections & SECTIONS))
        return;
    const char *const why = open_space(tune);
    if (why) {
        bench_say(tune->plan, "note no rules for puts and gets of kernels: %s", why);
        tune->sections &= ~(unsigned)SECTIONS;
    } else if (!tune->shmem.side.groups) { /* a kernel is one thread */
        tune->sections &= ~(unsigned)SECTIONS | 1u << TUNE_SHMEM | 1u << (TUNE_SHMEM + TSHMEM_GROUPS);
    }
}

void tune_shmem_close(struct tune *tune)
{
    if (tune->shmem.open)
        tshmem_finalize();
}

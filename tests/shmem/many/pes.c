/* [apart | mixed] More PEs than a node may have: the calls of the host, and some of kernels, over all of them and in
 * teams of them. TUTTI_TEST_ROUNDS: of kernels. */
#include <mpi.h>
#include <stdio.h>

#include "core/status.h"
#include "shmem/kit.h"
#include "tutti/device.h"

enum { FEW = 40, TEAM_MOST = 3 };

/* Symmetric. */
static struct {
    int64_t from[4], counter, pair[2], last;
    float sum[FEW], part[FEW], result;
    int64_t bits[FEW], all[FEW];
} * at;
static int64_t *gathered; /* [PEs * 3] */
static int me, pes;

static void elements(void)
{
    static const int distance[4] = {1, 7, 33, 64};
    for (int i = 0; i < 4; i++) {
        const int pe = (me + distance[i]) % pes;
        tshmem_int64_p(&at->from[i], 1000 * me + i, pe);
        tshmem_int64_atomic_inc(&at->counter, pe);
    }
    tshmem_barrier_all();
    for (int i = 0; i < 4; i++) {
        const int from = (me - distance[i] % pes + pes) % pes;
        CHECK(SEE(&at->from[i]) == 1000 * from + i, "what PE %d has put", from);
        CHECK(tshmem_int64_g(&at->from[i], from) == 1000 * ((from - distance[i] % pes + pes) % pes) + i,
              "what PE %d was given", from);
    }
    CHECK(SEE(&at->counter) == 4, "increments: %lld", (long long)SEE(&at->counter));
    tshmem_barrier_all();
}

/* Of a team whose member i is PE start + i * stride. */
static void collectives(tshmem_team_t team, int start, int stride, int size)
{
    const int rank = (me - start) / stride, root = size - 1, mine = 1 + rank % TEAM_MOST;
    int64_t here[3] = {me, me + 1, me + 2}, before = 0, all = 0;
    CHECK(tshmem_team_n_pes(team) == size && tshmem_team_my_pe(team) == rank, "member %d of %d",
          tshmem_team_my_pe(team), tshmem_team_n_pes(team));
    CHECK(tshmem_team_translate_pe(team, root, TSHMEM_TEAM_WORLD) == start + root * stride, "its last PE");
    shmem_store(at->pair, here, sizeof at->pair);
    CHECK(tshmem_int64_broadcast(team, &at->last, at->pair, 1, root) == 0 && SEE(&at->last) == start + root * stride,
          "broadcast: %lld", (long long)SEE(&at->last));
    CHECK(tshmem_int64_fcollect(team, gathered, at->pair, 2) == 0, "fcollect");
    for (int i = 0; i < size; i++)
        CHECK(SEE(&gathered[2 * i]) == start + i * stride && SEE(&gathered[2 * i + 1]) == start + i * stride + 1,
              "fcollect: of member %d", i);
    int64_t *const source = tshmem_ptr(gathered, me) ? gathered + 3 * (size_t)pes : NULL;
    for (int i = 0; i < size && source; i++)
        SET(&source[i], (int64_t)me * 10000 + i);
    CHECK(tshmem_int64_alltoall(team, gathered, source, 1) == 0, "alltoall");
    for (int i = 0; i < size; i++)
        CHECK(SEE(&gathered[i]) == (int64_t)(start + i * stride) * 10000 + rank, "alltoall: of member %d", i);
    tshmem_team_sync(team);
    CHECK(tshmem_int64_collect(team, gathered, at->pair, (size_t)(mine > 2 ? 0 : mine)) == 0, "collect");
    for (int i = 0; i < size; i++) {
        const int theirs = (1 + i % TEAM_MOST) % TEAM_MOST;
        for (int k = 0; k < theirs; k++)
            CHECK(SEE(&gathered[all + k]) == start + i * stride + k, "collect: of member %d", i);
        before = i == rank ? all : before;
        all += theirs;
    }
}

static void reductions(tshmem_team_t team, int start, int stride, int size)
{
    float mine[FEW], sum[FEW] = {0}, through[FEW] = {0};
    int64_t bits[FEW];
    const int rank = (me - start) / stride;
    for (int i = 0; i < FEW; i++) {
        for (int r = 0; r < size; r++) {
            const int pe = start + r * stride;
            const float theirs = 1.0F / (float)(1 + pe * FEW + i);
            sum[i] = r == 0 ? theirs : sum[i] + theirs;
            through[i] = r == rank ? sum[i] : through[i];
            mine[i] = r == rank ? theirs : r == 0 ? 0 : mine[i];
        }
        bits[i] = (int64_t)1 << (me + i) % 62;
    }
    shmem_store(at->part, mine, sizeof mine);
    shmem_store(at->bits, bits, sizeof bits);
    tshmem_team_sync(team);
    CHECK(tshmem_float_sum_reduce(team, at->sum, at->part, FEW) == 0 && shmem_holds(at->sum, sum, sizeof sum),
          "the sum, in order of PE");
    CHECK(tshmem_int64_or_reduce(team, at->all, at->bits, FEW) == 0 && (SEE(&at->all[3]) & bits[3]) == bits[3], "or");
    CHECK(tshmem_float_sum_inscan(team, at->sum, at->part, FEW) == 0 && shmem_holds(at->sum, through, sizeof sum),
          "an inclusive scan");
    CHECK(tshmem_float_sum_exscan(team, at->sum, at->part, FEW) == 0, "an exclusive scan");
    CHECK(rank > 0 || SEE(&at->sum[1]) == 0, "of the first PE: zero");
    for (int r = 0; r < size; r++)
        SET(&gathered[r], (int64_t)(me + r));
    tshmem_team_sync(team);
    int64_t all = 0;
    for (int r = 0; r < size; r++)
        all += start + r * stride + rank;
    CHECK(tshmem_int64_sum_reducescatter(team, &at->last, gathered, 1) == 0 && SEE(&at->last) == all, "reducescatter");
}

/* Made by the calling thread, to PEs that loads and stores reach, and by the ring. */
static void kernels(long rounds)
{
    const int next = (me + 1) % pes, far = (me + pes / 2) % pes;
    float *const sum = at->sum, *const part = at->part;
    for (long r = 0; r < rounds; r++) {
        int64_t value = me + r, back[2] = {0, 0};
        tshmem_int64_put_block(&at->from[0], &value, 1, next);
        tshmem_int64_put_warp(&at->from[1], &value, 1, far);
        CHECK(tshmem_barrier_block(TSHMEM_TEAM_WORLD) == 0, "a barrier of kernels");
        tshmem_int64_get_block(back, at->from, 2, next);
        CHECK(back[0] == me + r && back[1] == (next - pes / 2 + pes) % pes + r, "got %lld %lld", (long long)back[0],
              (long long)back[1]);
        const float one = 1.0F;
        tshmem_float_put_block(part, &one, 1, me);
        CHECK(tshmem_float_sum_reduce_block(TSHMEM_TEAM_WORLD, sum, part, 1) == 0 && SEE(sum) == (float)pes,
              "a sum of kernels: %g", (double)SEE(sum));
        CHECK(tshmem_barrier_block(TSHMEM_TEAM_WORLD) == 0, "a barrier of kernels");
    }
}

/* One PE brings something else: all hear of it, and nothing else happens. */
static void mismatch(void)
{
    shmem_hush_begin();
    void *const none = tshmem_malloc(me == pes / 2 ? 100 : 200);
    const int status = tshmem_error();
    shmem_hush_end();
    CHECK(!none && status == TUTTI_ERR_MISMATCH, "sizes that differ: %d", status);
}

/* How ranks become PEs: in their order; "apart": those of a node as far apart as there are nodes; "mixed": the first
 * two of them side by side, the others apart. */
static int begin(const char *how)
{
    const char *const said = getenv("TUTTI_NODE_RANKS");
    int rank, size;
    MPI_Comm comm;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int each = said ? atoi(said) : size, in = rank % each, node = rank / each;
    const int key = strcmp(how, "mixed") == 0 && in < 2 ? 2 * node + in : in * size + node;
    if (!how[0])
        return tshmem_init();
    MPI_Comm_split(MPI_COMM_WORLD, 0, key, &comm);
    return tshmem_init_comm(comm);
}

int main(int argc, char **argv)
{
    tshmem_team_t odd;
    int given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    if (begin(argc > 1 ? argv[1] : "") != 0)
        return 1;
    me = tshmem_my_pe();
    pes = tshmem_n_pes();
    check_rank(me);
    at = tshmem_calloc(1, sizeof *at);
    gathered = tshmem_calloc((size_t)pes * 4, sizeof *gathered);
    if (!CHECK(at && gathered, "memory"))
        return 1;
    elements();
    collectives(TSHMEM_TEAM_WORLD, 0, 1, pes);
    reductions(TSHMEM_TEAM_WORLD, 0, 1, pes);
    CHECK(tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 1, 2, pes / 2, NULL, 0, &odd) == 0, "a team");
    if (me % 2 == 1)
        collectives(odd, 1, 2, pes / 2);
    if (me % 2 == 1)
        reductions(odd, 1, 2, pes / 2);
    if (odd != TSHMEM_TEAM_INVALID)
        tshmem_team_destroy(odd);
    tshmem_barrier_all();
    kernels(check_many("TUTTI_TEST_ROUNDS", 1));
    mismatch();
    tshmem_barrier_all();
    CHECK(tshmem_error() == 0, "an error is left over");
    CHECK(tshmem_finalize() == 0, "finalize");
    if (me == 0)
        printf("%ld checks, %ld failed\n", check_done(), check_failed());
    MPI_Finalize();
    return check_failed() != 0;
}

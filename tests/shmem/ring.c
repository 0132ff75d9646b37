/* Calls of kernels that go by the ring, between processes: here a kernel is the calling thread, several of them where
 * they add. Against plain memory; what a kernel has put is looked at by the host, and the other way round. */
#include <pthread.h>

#include "shmem/teams_of.h"
#include "tutti/device.h"

enum { ROUNDS = 60, MOST = 20000, LARGE = 1 << 20, THREADS = 3, ADDS = 200, BLOCKS = 9, TURNS = 20, ZONE = 8192 };

/* Symmetric. */
static struct {
    char in[2][MOST + 32], large[LARGE], strided[4096];
    uint64_t signal, answer, counter, word, pair[2], told[TSHMEM_PES_MAX];
    float sum;
} * at;
static int me, next, from, pes;
static char *own;

/* What PE `pe` sends in that round. */
static size_t drawn(uint64_t round, int pe, size_t *offset, uint64_t *key)
{
    *offset = shmem_draw(round, (uint64_t)pe, 1) % 17;
    *key = shmem_draw(round, (uint64_t)pe, 2);
    return shmem_draw(round, (uint64_t)pe, 3) % (round % 4 == 0 ? 40 : MOST);
}

/* Two places take turns; the answer says that one is free. */
static void ordered(void)
{
    for (uint64_t r = 1; r <= ROUNDS; r++) {
        size_t offset;
        uint64_t key;
        size_t n = drawn(r, me, &offset, &key);
        shmem_fill(own, n, key);
        if (r > 2)
            tshmem_signal_wait_until(&at->answer, TSHMEM_CMP_GE, r - 2);
        char *const dest = at->in[r % 2] + offset;
        switch (r % 3) {
        case 0:
            tshmem_putmem_signal_block(dest, own, n, &at->signal, 1, TSHMEM_SIGNAL_ADD, next);
            break;
        case 1:
            tshmem_putmem_signal_nbi_warp(dest, own, n, &at->signal, r, TSHMEM_SIGNAL_SET, next);
            break;
        default:
            tshmem_putmem_nbi_block(dest, own, n, next);
            tshmem_fence_block();
            tutti_dev_signal(&at->signal, r, TSHMEM_SIGNAL_SET, next);
        }
        tshmem_quiet_warp(); /* `own` is free; and no process looks at a word while it has it changed itself */
        tshmem_signal_wait_until(&at->signal, TSHMEM_CMP_GE, r);
        n = drawn(r, from, &offset, &key);
        shmem_fill(own, n, key);
        CHECK(shmem_holds(at->in[r % 2] + offset, own, n), "round %llu: %zu bytes of PE %d", (unsigned long long)r, n,
              from);
        memset(own, 0, n);
        tshmem_getmem_block(own, at->in[r % 2] + offset, n, me);
        CHECK(shmem_holds(at->in[r % 2] + offset, own, n), "round %llu: %zu bytes fetched", (unsigned long long)r, n);
        tutti_dev_signal(&at->answer, r, TSHMEM_SIGNAL_SET, from);
        tshmem_quiet_block();
    }
}

static void *add(void *wrong)
{
    uint64_t before = 0;
    for (uint64_t i = 0; i < ADDS; i++) {
        const uint64_t was = tutti_dev_amo(TSHMEM_AMO_ADD, &at->counter, 8, i % 5, 0, 0);
        *(long *)wrong += i > 0 && was < before; /* it only grows */
        before = was;
        tutti_dev_amo(TSHMEM_AMO_ADD_FLOAT | TSHMEM_AMO_NO_FETCH, &at->sum, 4, tutti_dev_float_bits(1.0f), 0, next);
    }
    tshmem_quiet_block();
    return NULL;
}

static void atomics(void)
{
    pthread_t thread[THREADS];
    long wrong[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, add, &wrong[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        CHECK(wrong[i] == 0, "thread %d: %ld sums that shrink", i, wrong[i]);
    }
    tshmem_barrier_all();
    CHECK(tshmem_uint64_g(&at->counter, 0) == (uint64_t)pes * THREADS * ADDS * 2, "the sum is %llu",
          (unsigned long long)tshmem_uint64_g(&at->counter, 0));
    CHECK(SEE(&at->sum) == (float)(THREADS * ADDS), "the sum of floats is %g", (double)SEE(&at->sum));
    const uint64_t a = shmem_draw(1, (uint64_t)me, 1), b = shmem_draw(2, (uint64_t)me, 2);
    CHECK(tutti_dev_amo(TSHMEM_AMO_SWAP, &at->word, 8, a, 0, next) == 0, "swap");
    CHECK(tutti_dev_amo(TSHMEM_AMO_COMPARE_SWAP, &at->word, 8, b, a + 1, next) == a, "compare and swap, another");
    CHECK(tutti_dev_amo(TSHMEM_AMO_COMPARE_SWAP, &at->word, 8, b, a, next) == a, "compare and swap");
    CHECK(tutti_dev_amo(TSHMEM_AMO_XOR, &at->word, 8, a, 0, next) == b, "xor");
    CHECK(tutti_dev_amo(TSHMEM_AMO_FETCH, &at->word, 8, 0, 0, next) == (a ^ b), "fetch");
    const uint64_t pair[2] = {a, b};
    uint64_t back[2] = {0, 0};
    tutti_dev_p(at->pair, pair, sizeof pair, next);
    tshmem_quiet_block();
    tutti_dev_g(back, at->pair, sizeof back, next);
    CHECK(back[0] == a && back[1] == b, "an element of 16 bytes");
}

/* Blocks, and what copy engines are for. */
static void shapes(void)
{
    char here[sizeof at->strided], want[sizeof at->strided];
    memset(want, 7, sizeof want);
    shmem_store(at->strided, want, sizeof want);
    tshmem_barrier_all();
    for (int n = 0; n < BLOCKS; n++) {
        const size_t bytes = (size_t)1 << n % 4, block = 1 + (size_t)n % 3, dst = 5, sst = 4;
        shmem_fill(own, 512, shmem_draw((uint64_t)n, (uint64_t)me, 4));
        tutti_shmem_put_blocks_block(at->strided + n * 400, own, (ptrdiff_t)dst, (ptrdiff_t)sst, block, (size_t)n,
                                     bytes, next);
        shmem_fill(own, 512, shmem_draw((uint64_t)n, (uint64_t)from, 4));
        for (size_t i = 0; i < (size_t)n; i++)
            memcpy(want + n * 400 + i * dst * bytes, own + i * sst * bytes, block * bytes);
    }
    tshmem_barrier_all();
    CHECK(shmem_holds(at->strided, want, sizeof want), "strided puts");
    for (int n = 0; n < BLOCKS; n++) {
        const size_t bytes = (size_t)1 << n % 4, block = 1 + (size_t)n % 3, dst = 3, sst = 5;
        memset(here, 1, sizeof here);
        tutti_shmem_get_blocks_warp(here, at->strided + n * 400, (ptrdiff_t)dst, (ptrdiff_t)sst, block, (size_t)n,
                                    bytes, me);
        for (size_t i = 0; i < (size_t)n; i++)
            CHECK(memcmp(here + i * dst * bytes, want + n * 400 + i * sst * bytes, block * bytes) == 0,
                  "strided get %d", n);
    }
    char *const large = malloc(LARGE);
    shmem_fill(large, LARGE, shmem_draw(9, (uint64_t)me, 9));
    tshmem_putmem_block(at->large, large, LARGE, next);
    tshmem_barrier_all();
    shmem_fill(large, LARGE, shmem_draw(9, (uint64_t)from, 9));
    CHECK(shmem_holds(at->large, large, LARGE), "a large put");
    free(large);
}

/* Elements of a PE in that turn: few, and more than slots take. */
static size_t size_of(uint64_t turn)
{
    return turn % 4 == 3 ? MOST / sizeof(double) : turn * 17 % 300;
}

static double brought(uint64_t turn, int pe, size_t i)
{
    return (double)(shmem_draw(turn, (uint64_t)pe, i) % 1000) / 7;
}

/* Of all PEs and of those with even numbers, of which some may be on other nodes: sums have the bits of one order. */
static void collect(tshmem_team_t team, uint64_t turn)
{
    const int members = tshmem_team_n_pes(team), mine = tshmem_team_my_pe(team);
    const size_t n = size_of(turn) / (turn % 2 ? 1 : (size_t)members);
    double *const here = malloc((MOST / sizeof(double) + 1) * sizeof *here), *const in = (double *)(void *)at->in[0];
    double *const out = (double *)(void *)at->large;
    for (size_t i = 0; i < n; i++)
        here[i] = brought(turn, mine, i);
    shmem_store(in, here, n * sizeof *here);
    if (turn % 2) {
        CHECK(tutti_shmem_reduce_block(team, out, in, n, TSHMEM_ID_DOUBLE, TSHMEM_OP_SUM) == 0, "a sum");
        for (size_t i = 0; i < n; i++) {
            here[i] = brought(turn, 0, i);
            for (int r = 1; r < members; r++)
                here[i] += brought(turn, r, i);
        }
        CHECK(shmem_holds(out, here, n * sizeof *here), "turn %llu: the sum of %zu", (unsigned long long)turn, n);
    } else {
        CHECK(tshmem_fcollectmem_warp(team, out, in, n * sizeof *in) == 0, "fcollect");
        for (int r = 0; r < members; r++) {
            for (size_t i = 0; i < n; i++)
                here[i] = brought(turn, r, i);
            CHECK(shmem_holds(out + (size_t)r * n, here, n * sizeof *here), "turn %llu: %zu of PE %d",
                  (unsigned long long)turn, n, r);
        }
    }
    const int root = (int)turn % members;
    CHECK(tshmem_broadcastmem_block(team, at->strided, in, n < 500 ? n * sizeof *in : 0, root) == 0, "broadcast");
    for (size_t i = 0; i < n; i++)
        here[i] = brought(turn, root, i);
    CHECK(n >= 500 || shmem_holds(at->strided, here, n * sizeof *here), "turn %llu: the root's",
          (unsigned long long)turn);
    free(here);
}

/* Collectives do by loads and stores what they can; the simulated GPU keeps its memory from them, if it is not told. */
static int loads_and_stores(void)
{
    const char *const heap = getenv("TUTTI_SHMEM_HEAP"), *const strict = getenv("TUTTI_HOST_STRICT");
    return !heap || strcmp(heap, "device") != 0 || (strict && strcmp(strict, "0") == 0);
}

static void collectives(void)
{
    tshmem_team_t even = TSHMEM_TEAM_INVALID;
    tshmem_team_split_strided(TSHMEM_TEAM_WORLD, 0, 2, (pes + 1) / 2, NULL, 0, &even);
    for (uint64_t turn = 0; turn < TURNS; turn++) {
        collect(TSHMEM_TEAM_WORLD, turn);
        if (even != TSHMEM_TEAM_INVALID)
            collect(even, turn);
        tutti_dev_signal(&at->counter, 1, TSHMEM_SIGNAL_ADD, next);
        CHECK((turn % 2 ? tshmem_barrier_warp(TSHMEM_TEAM_WORLD) : tshmem_sync_block(TSHMEM_TEAM_WORLD)) == 0,
              "barrier");
        CHECK(SEE(&at->counter) == turn + 1, "turn %llu: what was added before the barrier", (unsigned long long)turn);
        tshmem_barrier_block(TSHMEM_TEAM_WORLD);
    }
    if (even != TSHMEM_TEAM_INVALID)
        tshmem_team_destroy(even);
}

/* Contexts of the host, in kernels: each PE into its own zone and word of a member. */
static void with_context(tshmem_ctx_t ctx, tshmem_team_t team, uint64_t turn)
{
    const int members = tshmem_team_n_pes(team), to = (int)(shmem_draw(turn, (uint64_t)me, 6) % (uint64_t)members);
    const size_t n = shmem_draw(turn, (uint64_t)me, 7) % (turn % 2 ? 40 : ZONE / sizeof(long) - 1);
    long *const zone = (long *)(void *)(at->large + (size_t)me * ZONE), *const here = (long *)(void *)own;
    const uint64_t before = tshmem_ctx_uint64_g(ctx, &at->told[me], to);
    shmem_fill(here, n * sizeof *here, turn * 64 + (uint64_t)me);
    switch (turn % 5) {
    case 0:
        tshmem_ctx_putmem_nbi_block(ctx, zone, here, n * sizeof *here, to);
        break;
    case 1:
        tshmem_ctx_long_put_warp(ctx, zone, here, n, to);
        break;
    case 2:
        tshmem_put_signal_block(ctx, zone, here, n, &at->told[me], 1, TSHMEM_SIGNAL_ADD, to);
        break;
    case 3:
        tshmem_ctx_iput64_work_group(ctx, zone, here, 1, 1, n, to);
        break;
    default:
        tshmem_put_signal_nbi_warp(ctx, zone, here, n, &at->told[me], before + 1, TSHMEM_SIGNAL_SET, to);
    }
    tshmem_ctx_quiet_block(ctx);
    CHECK(tshmem_ctx_uint64_g(ctx, &at->told[me], to) == before + (turn % 5 == 2 || turn % 5 == 4), "its signal");
    long *const back = here + n;
    tshmem_getmem(back, zone, n * sizeof *here, teams_world(team, to));
    CHECK(memcmp(back, here, n * sizeof *here) == 0, "turn %llu: %zu elements to PE %d of a team of %d",
          (unsigned long long)turn, n, to, members);
    memset(back, 0, n * sizeof *here);
    if (turn % 2)
        tshmem_get_warp(ctx, back, zone, n, to);
    else
        tshmem_ctx_getmem_nbi_block(ctx, back, zone, n * sizeof *here, to);
    tshmem_ctx_fence_warp(ctx);
    CHECK(memcmp(back, here, n * sizeof *here) == 0, "turn %llu: fetched", (unsigned long long)turn);
}

static void contexts(void)
{
    tshmem_team_t teams[TEAMS];
    teams_make(teams);
    for (int i = 0; i < TEAMS; i++) {
        tshmem_ctx_t ctx;
        if (teams[i] == TSHMEM_TEAM_INVALID || !CHECK(tshmem_team_create_ctx(teams[i], 0, &ctx) == 0, "a context"))
            continue;
        for (uint64_t turn = 0; turn < TURNS; turn++)
            with_context(turn % 7 || i ? ctx : TSHMEM_CTX_DEFAULT, teams[i], turn);
        tshmem_ctx_destroy(ctx);
    }
    tshmem_barrier_all();
    teams_free(teams);
}

void shmem_test(void)
{
    me = tshmem_my_pe();
    pes = tshmem_n_pes();
    next = (me + 1) % pes;
    from = (me + pes - 1) % pes;
    own = malloc(MOST + 64);
    at = tshmem_calloc(1, sizeof *at);
    if (!CHECK(at != NULL, "memory"))
        return;
    const struct tshmem_ring_state *const ring = &tshmem_state_get()->ring;
    if (!CHECK(ring->slots > 0, "there is a ring"))
        return;
    const uint64_t before = ring->own->next;
    ordered();
    tshmem_barrier_all();
    atomics();
    shapes();
    contexts();
    tshmem_uint64_p(&at->counter, 0, me);
    tshmem_barrier_all();
    if (loads_and_stores())
        collectives();
    tshmem_quiet_block();
    CHECK(ring->own->next - before > ROUNDS * 3 + THREADS * ADDS * 2, "%llu requests",
          (unsigned long long)(ring->own->next - before));
    CHECK(ring->progress->completed == ring->own->next, "something is left in the ring");
    tshmem_barrier_all();
    CHECK(tshmem_error() == 0, "an error");
    tshmem_free(at);
    free(own);
}

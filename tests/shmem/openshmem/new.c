/* Names of OpenSHMEM 1.5 and 1.6 by the bits of an element, with contexts, and what else no other program here calls:
 * signals behind puts of 8 to 128 bits, strided blocks of bits, alltoallsmem, sessions, quiet of several PEs, what asks
 * for the beginning. Each result against what the PE before put. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if !defined(OSHMEM_SPEC_VERSION) || OSHMEM_SPEC_VERSION < 10500
#error "OSHMEM_SPEC_VERSION has to be a number for #if: programs of Open MPI ask for it"
#endif

enum { BYTES = 512, N = 5 };

static unsigned char source[BYTES], got[BYTES];
static uint64_t signals[2];
static int me, npes, next, before, wrong;

static void check(int holds, const char *what)
{
    if (!holds)
        fprintf(stderr, "FAILED on PE %d: %s\n", me, what);
    wrong |= !holds;
}

static unsigned char byte_of(int pe, int i)
{
    return (unsigned char)(pe * 37 + i * 11 + 5);
}

static void clear(void)
{
    shmem_barrier_all();
    memset(got, 0xee, BYTES);
    signals[0] = signals[1] = 0;
    shmem_barrier_all();
}

/* n elements of the PE before at the beginning, and no more. */
static int has(size_t bytes)
{
    for (size_t i = 0; i < BYTES; i++) {
        if (got[i] != (i < bytes ? byte_of(before, (int)i) : 0xee))
            return 0;
    }
    return 1;
}

#define PUTS(bits)                                                                                                     \
    do {                                                                                                               \
        clear();                                                                                                       \
        shmem_put##bits##_signal(got, source, N, &signals[0], 3, SHMEM_SIGNAL_SET, next);                              \
        shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, 3);                                                         \
        check(has(N *(bits) / 8), "shmem_put" #bits "_signal");                                                        \
        clear();                                                                                                       \
        shmem_put##bits##_signal_nbi(got, source, N, &signals[0], 4, SHMEM_SIGNAL_ADD, next);                          \
        shmem_quiet();                                                                                                 \
        shmem_signal_wait_until(&signals[0], SHMEM_CMP_EQ, 4);                                                         \
        check(has(N *(bits) / 8), "shmem_put" #bits "_signal_nbi");                                                    \
        clear();                                                                                                       \
        shmem_ctx_put##bits##_signal(ctx, got, source, N, &signals[1], 5, SHMEM_SIGNAL_SET, next);                     \
        shmem_ctx_quiet(ctx);                                                                                          \
        shmem_signal_wait_until(&signals[1], SHMEM_CMP_EQ, 5);                                                         \
        check(has(N *(bits) / 8), "shmem_ctx_put" #bits "_signal");                                                    \
        clear();                                                                                                       \
        shmem_ctx_put##bits##_signal_nbi(ctx, got, source, N, &signals[1], 6, SHMEM_SIGNAL_SET, next);                 \
        shmem_ctx_pe_quiet(ctx, &next, 1);                                                                             \
        shmem_signal_wait_until(&signals[1], SHMEM_CMP_EQ, 6);                                                         \
        check(has(N *(bits) / 8), "shmem_ctx_put" #bits "_signal_nbi");                                                \
        clear(); /* 2 blocks of 2 elements, 3 apart at the source, 2 at the target */                                  \
        shmem_ibput##bits(got, source, 2, 3, 2, 2, next);                                                              \
        shmem_pe_quiet(&next, 1);                                                                                      \
        shmem_barrier_all();                                                                                           \
        blocks((bits) / 8, before, "shmem_ibput" #bits);                                                               \
        clear();                                                                                                       \
        shmem_ctx_ibget##bits(ctx, got, source, 2, 3, 2, 2, next);                                                     \
        blocks((bits) / 8, next, "shmem_ctx_ibget" #bits);                                                             \
    } while (0)

static void blocks(int bytes, int pe, const char *what)
{
    int right = 1;
    for (int i = 0; i < 4 * bytes; i++)
        right &= got[i] == byte_of(pe, i < 2 * bytes ? i : i + bytes);
    check(right && got[4 * bytes] == 0xee, what);
}

/* Element k of what goes to PE j lies at j * n * sst + k * sst bytes. */
static void alltoalls(void)
{
    enum { DST = 2, SST = 3, EACH = 4 };
    clear();
    check(shmem_alltoallsmem(SHMEM_TEAM_WORLD, got, source, DST, SST, EACH) == 0, "shmem_alltoallsmem");
    for (int pe = 0; pe < npes; pe++) {
        for (int k = 0; k < EACH; k++)
            check(got[(pe * EACH + k) * DST] == byte_of(pe, (me * EACH + k) * SST), "a byte of shmem_alltoallsmem");
    }
}

static void sessions(shmem_ctx_t ctx)
{
    const shmem_ctx_session_config_t config = {100};
    clear();
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, &config, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_start(ctx, 0, NULL, 0);
    shmem_ctx_uint64_atomic_add(ctx, &signals[0], 7, next);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_stop(ctx);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, 0, NULL, 0);
    shmem_ctx_session_stop(SHMEM_CTX_INVALID);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    check(signals[0] == 7, "a session changes no result");
    shmem_barrier_all();
    shmem_signal_set(ctx, &signals[0], 20, next);
    shmem_signal_add(&signals[1], 2, next);
    shmem_ctx_quiet(ctx);
    shmem_barrier_all();
    check(signals[0] == 20 && signals[1] == 2, "shmem_signal_set with a context, shmem_signal_add without");
}

int main(void)
{
    int up = -1;
    shmem_query_initialized(&up);
    if (up != 0)
        return 1;
    shmem_init();
    shmem_query_initialized(&up);
    me = shmem_my_pe();
    npes = shmem_n_pes();
    next = (me + 1) % npes;
    before = (me + npes - 1) % npes;
    check(up == 1, "shmem_query_initialized between the beginning and the end");
    for (int i = 0; i < BYTES; i++)
        source[i] = byte_of(me, i);
    shmem_ctx_t ctx;
    check(shmem_ctx_create(0, &ctx) == 0, "shmem_ctx_create");
    PUTS(8);
    PUTS(16);
    PUTS(32);
    PUTS(64);
    PUTS(128);
    alltoalls();
    sessions(ctx);
    check(shmem_team_ptr(SHMEM_TEAM_WORLD, source, me) == source, "shmem_team_ptr of this PE");
    check(SHMEM_TEAM(TSHMEM_TEAM_NUMBER(SHMEM_TEAM_SHARED)) == SHMEM_TEAM_SHARED &&
              TSHMEM_TEAM_NUMBER(SHMEM_TEAM_INVALID) == -1,
          "a team and its number");
    /* A function has an address, which a table of them can hold. */
    void (*const order[])(void) = {shmem_fence, shmem_quiet, shmem_barrier_all};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++)
        order[i]();
    shmem_ctx_destroy(ctx);
    const int failed = wrong;
    shmem_finalize();
    shmem_query_initialized(&up);
    return failed || up != 0;
}

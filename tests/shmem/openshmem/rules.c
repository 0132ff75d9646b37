/* What OpenSHMEM says of constants, of nothing (0 elements, 0 bytes, NULL, no team, no context), and what calls report
 * by their result without ending the program. A failure ends it with status 1. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5 };

static const long table[N] = {11, 22, 33, 44, 55};
static const char *const names[] = {"one", "two", "three"}; /* relocated when the program starts */
const double reals[2] = {0.5, 0.25};
static long written[N], sums[N];
static double got[2];
static int me, npes, next;

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "FAILED on PE %d: %s\n", me, what);
    shmem_global_exit(1);
}

/* Constants are symmetric: other PEs', of the same program, hold the same. */
static void constants(void)
{
    long copy[N] = {0};
    double copied[2] = {0};
    const char *const *theirs = NULL;
    shmem_long_get(copy, table, N, next);
    check(memcmp(copy, table, sizeof copy) == 0, "shmem_get of a constant");
    shmem_double_get_nbi(copied, reals, 2, next);
    shmem_quiet();
    check(copied[1] == 0.25, "shmem_get_nbi of a constant");
    check(shmem_long_g(&table[3], next) == 44, "shmem_g of a constant");
    memset(copy, 0, sizeof copy);
    shmem_long_iget(copy, table, 1, 2, 3, next);
    check(copy[0] == 11 && copy[1] == 33 && copy[2] == 55, "shmem_iget of a constant");
    check(shmem_long_atomic_fetch(&table[1], next) == 22, "shmem_atomic_fetch of a constant");
    check(shmem_addr_accessible(table, next) && shmem_ptr(table, me) == (const void *)table, "a constant's address");
    const long *direct = shmem_ptr(table, next);
    check(!direct || direct[4] == 55, "shmem_ptr of a constant");
    check(shmem_sum_reduce(SHMEM_TEAM_WORLD, sums, table, N) == 0 && sums[2] == 33 * npes, "a constant as source");
    check(shmem_broadcast(SHMEM_TEAM_WORLD, written, table, N, npes - 1) == 0 && written[4] == 55, "to broadcast");
    shmem_double_put(got, reals, 2, next);
    shmem_barrier_all();
    check(got[0] == 0.5, "shmem_put of a constant");
    /* Of a table of addresses there are those of the PE that is named. */
    shmem_getmem(&theirs, &(const char *const *[]){names}, 0, next);
    shmem_getmem(&theirs, &names[2], sizeof theirs, me);
    check((const char *)theirs == names[2], "the own addresses");
}

/* Of nothing there is nothing to be found wrong. */
static void nothing(void)
{
    const shmem_team_t all = SHMEM_TEAM_WORLD;
    check(shmem_collectmem(all, NULL, NULL, 0) == 0, "collectmem of nothing");
    check(shmem_fcollectmem(all, NULL, NULL, 0) == 0, "fcollectmem of nothing");
    check(shmem_broadcastmem(all, NULL, NULL, 0, 0) == 0, "broadcastmem of nothing");
    check(shmem_alltoallmem(all, NULL, NULL, 0) == 0, "alltoallmem of nothing");
    check(shmem_int_alltoalls(all, NULL, NULL, 1, 1, 0) == 0, "alltoalls of nothing");
    check(shmem_int_sum_reduce(all, NULL, NULL, 0) == 0, "a reduction of nothing");
    check(shmem_long_collect(all, written, table, me == 0 ? 0 : 1) == 0 && (npes < 2 || written[0] == 11),
          "collect, one brings nothing");
    shmem_int_put(NULL, NULL, 0, next);
    shmem_int_get(NULL, NULL, 0, next);
    shmem_int_iput(NULL, NULL, 1, 1, 0, next);
    if (me == 0) { /* nobody else comes */
        shmem_free(NULL);
        check(!shmem_malloc(0) && !shmem_calloc(0, 8) && !shmem_calloc(8, 0) && !shmem_align(64, 0), "no bytes");
        check(!shmem_realloc(NULL, 0), "realloc of nothing");
    }
    shmem_barrier_all();
    char *object = shmem_realloc(NULL, 40);
    check(object && !shmem_realloc(object, 0), "realloc to and from nothing");
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_fence(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

/* What is not to be had, and what is asked for, is told by results. */
static void results(void)
{
    shmem_team_t team = SHMEM_TEAM_WORLD, other;
    shmem_team_config_t config = {0};
    shmem_ctx_t ctx, many[100];
    int made = 0;
    check(shmem_malloc((size_t)1 << 50) == NULL, "too much memory");
    char *freed = shmem_malloc(8);
    shmem_free(freed);
    check(!shmem_realloc(freed, 16), "an object that is freed");
    check(!shmem_align(24, 8) && !shmem_align(0, 8), "alignments that are none");
    check(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, npes + 1, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID,
          "a triplet that is none");
    check(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &team) != 0, "no parent");
    check(shmem_team_split_2d(SHMEM_TEAM_INVALID, 1, NULL, 0, &team, NULL, 0, &other) != 0, "no parent of two");
    check(shmem_team_get_config(SHMEM_TEAM_INVALID, SHMEM_TEAM_NUM_CONTEXTS, &config) != 0, "no team's configuration");
    check(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &ctx) != 0 && ctx == SHMEM_CTX_INVALID, "no team's context");
    check(shmem_ctx_get_team(SHMEM_CTX_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID, "no context's team");
    while (made < 100 && shmem_ctx_create(0, &many[made]) == 0)
        made++;
    check(made < 100 && many[made] == SHMEM_CTX_INVALID, "contexts without end");
    while (made > 0)
        shmem_ctx_destroy(many[--made]);
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    npes = shmem_n_pes();
    next = (me + 1) % npes;
    constants();
    nothing();
    results();
    shmem_finalize();
    if (me == 0)
        printf("passed\n");
    return 0;
}

/* A program written for OpenSHMEM, compiled as it is: a ring, a counter, a sum, a lock-free histogram; typed and
 * generic names. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static int fail(const char *what)
{
    fprintf(stderr, "FAILED on PE %d: %s\n", shmem_my_pe(), what);
    shmem_global_exit(1);
    return 1;
}

int main(void)
{
    int threads = -1, again = -1;
    if (shmem_init_thread(SHMEM_THREAD_FUNNELED, &threads) != 0 || threads < SHMEM_THREAD_FUNNELED)
        return 1;
    shmem_query_thread(&again);
    if (again != threads)
        return 1;
    const int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes;
    long *ring = shmem_malloc(2 * sizeof(long));
    uint64_t *signal = shmem_calloc(1, sizeof(uint64_t));
    ring[0] = -1;
    shmem_barrier_all();
    shmem_long_p(ring, 10L + me, next);
    shmem_barrier_all();
    if (ring[0] != 10 + (me + npes - 1) % npes)
        fail("shmem_long_p");
    long token = me;
    shmem_put_signal(&ring[1], &token, 1, signal, 1, SHMEM_SIGNAL_SET, next);
    shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 1);
    if (ring[1] != (me + npes - 1) % npes)
        fail("shmem_put_signal");

    int *counter = shmem_calloc(1, sizeof(int));
    shmem_barrier_all();
    shmem_int_atomic_add(counter, me + 1, 0);
    shmem_atomic_inc(counter, 0);
    if (me == 0)
        shmem_int_wait_until(counter, SHMEM_CMP_GE, npes * (npes + 1) / 2 + npes);
    double *x = shmem_malloc(2 * sizeof(double));
    x[0] = me + 0.5;
    shmem_double_sum_reduce(SHMEM_TEAM_WORLD, &x[1], &x[0], 1);
    if (x[1] != npes * npes / 2.0)
        fail("shmem_double_sum_reduce");
    shmem_max_reduce(SHMEM_TEAM_WORLD, &x[1], &x[0], 1);
    if (x[1] != npes - 0.5)
        fail("shmem_max_reduce");

    shmem_team_t even;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (npes + 1) / 2, NULL, 0, &even);
    if ((even != SHMEM_TEAM_INVALID) != (me % 2 == 0))
        fail("shmem_team_split_strided");
    if (even != SHMEM_TEAM_INVALID) {
        if (shmem_team_translate_pe(even, shmem_team_my_pe(even), SHMEM_TEAM_WORLD) != me)
            fail("shmem_team_translate_pe");
        shmem_team_sync(even);
        shmem_team_destroy(even);
    }
    static const long options[] = {0, SHMEM_CTX_PRIVATE};
    long *total = shmem_calloc(2, sizeof(long));
    for (int i = 0; i < 2; i++) {
        shmem_ctx_t ctx = SHMEM_CTX_INVALID;
        if (shmem_ctx_create(options[i], &ctx) != 0)
            fail("shmem_ctx_create");
        shmem_set_lock(&total[0]);
        long now = shmem_g(ctx, &total[1], 0) + 1;
        shmem_ctx_long_put_nbi(ctx, &total[1], &now, 1, 0);
        shmem_ctx_quiet(ctx);
        shmem_clear_lock(&total[0]);
        shmem_ctx_destroy(ctx);
    }
    shmem_barrier_all();
    if (shmem_g(SHMEM_CTX_DEFAULT, &total[1], 0) != 2 * npes)
        fail("shmem_set_lock");
    shmem_free(total);
    char name[SHMEM_MAX_NAME_LEN];
    int major, minor;
    shmem_info_get_name(name);
    shmem_info_get_version(&major, &minor);
    if (major != SHMEM_MAJOR_VERSION || minor != SHMEM_MINOR_VERSION || *(long *)shmem_ptr(ring, me) != ring[0])
        fail("what is known of the library");
    shmem_free(x);
    shmem_free(counter);
    shmem_free(signal);
    shmem_free(ring);
    if (me == 0)
        printf("%s %d.%d: passed on %d PEs\n", name, major, minor, npes);
    shmem_finalize();
    return 0;
}

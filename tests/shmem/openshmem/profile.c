/* A tool for profiling, linked with the program: it has functions of its own in the place of some calls, and reaches
 * the library's by pshmem_. The program calls them typed, without a type, by an old name and by an address. */
#include <pshmem.h>
#include <stdio.h>

static int inits, ends, moved, adds, sums, levels;

void shmem_init(void)
{
    inits++;
    pshmem_init();
}

void shmem_finalize(void)
{
    ends++;
    pshmem_finalize();
}

void shmem_long_put(long *dest, const long *source, size_t nelems, int pe)
{
    moved += (int)nelems;
    pshmem_long_put(dest, source, nelems, pe);
}

long shmem_ctx_long_atomic_fetch_add(shmem_ctx_t ctx, long *dest, long value, int pe)
{
    adds++;
    return pshmem_ctx_long_atomic_fetch_add(ctx, dest, value, pe);
}

int shmem_double_sum_reduce(shmem_team_t team, double *dest, const double *source, size_t n)
{
    sums++;
    return pshmem_double_sum_reduce(team, dest, source, n);
}

void shmem_pcontrol(int level, ...)
{
    levels += level;
}

static long x[8], counter;
static double sum[2];

int main(void)
{
    shmem_init();
    const int me = shmem_my_pe(), npes = shmem_n_pes(), next = (me + 1) % npes;
    const long values[3] = {me, me + 1, me + 2};
    void (*const put)(long *, const long *, size_t, int) = shmem_long_put;
    shmem_long_put(x, values, 1, next);
    shmem_put(&x[1], &values[1], 1, next);
    put(&x[2], &values[2], 1, next);
    shmem_pcontrol(2, "of any kind");
    shmem_atomic_fetch_add(SHMEM_CTX_DEFAULT, &counter, 2L, 0);
    sum[0] = 0.5;
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum[1], &sum[0], 1);
    shmem_barrier_all();
    const long before = (me + npes - 1) % npes;
    int wrong = x[0] != before || x[1] != before + 1 || x[2] != before + 2 || sum[1] != npes / 2.0;
    wrong |= pshmem_long_g(&counter, 0) != 2L * npes;
    wrong |= inits != 1 || moved != 3 || adds != 1 || sums != 1 || levels != 2;
    if (wrong)
        fprintf(stderr, "FAILED on PE %d: %d %d %d %d %d, %ld %ld %ld %g\n", me, inits, moved, adds, sums, levels, x[0],
                x[1], x[2], sum[1]);
    shmem_finalize();
    return wrong || ends != 1;
}

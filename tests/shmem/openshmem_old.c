/* A program for OpenSHMEM as they were written before version 1.5: static variables as symmetric objects, active sets,
 * atomics without "atomic", waits for another value; what a child sees after fork, and what stays after the end.
 * Sets, counts and values are drawn; each result against a loop. TUTTI_TEST_SEED, TUTTI_TEST_ROUNDS. */
#include <mpp/shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST = 8, N = 40 };

static long sync_a[_SHMEM_REDUCE_SYNC_SIZE], sync_b[SHMEM_COLLECT_SYNC_SIZE];
static int counter = 7, numbers[N * MOST], got[N * MOST];
static short shorts[N], short_result[N], short_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static double reals[N], real_result[N], real_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static long longs[N * MOST], words[MOST], lock;
static float _Complex complexes[N], complex_work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
static char page_wide[100000], last_word[3] = "ok";
static const int constant = 5;
static int me, npes, wrong;

static void check(int holds, const char *what, int round)
{
    if (holds)
        return;
    fprintf(stderr, "FAILED on PE %d, round %d: %s\n", me, round, what);
    wrong = 1;
}

static unsigned draw(unsigned seed, unsigned salt)
{
    unsigned x = seed * 2654435761u + salt * 40503u + 12345u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    x *= 3266489917u;
    return x ^ x >> 16;
}

/* What PE `pe` has at i in that round. */
static int value_of(int round, int pe, int i)
{
    return (int)(draw((unsigned)round, (unsigned)(pe * 1000 + i)) % 19) - 9;
}

static void fill(int round)
{
    for (int i = 0; i < N * MOST; i++) {
        numbers[i] = value_of(round, me, i);
        longs[i] = 3000000000L * numbers[i];
        got[i] = -77;
    }
    for (int i = 0; i < N; i++) {
        shorts[i] = (short)numbers[i];
        reals[i] = numbers[i] / 4.0;
        complexes[i] = (float)numbers[i] + (float)(numbers[i] + 1) * 1.0fi;
    }
}

static void sets(int round)
{
    const unsigned d = draw((unsigned)round, 77);
    int log = (int)(d % 3), start = (int)(d / 3 % (unsigned)npes), size = 1;
    while (start + (size << log) < npes && (d >> (8 + size)) % 4 != 0)
        size++;
    const int stride = 1 << log, n = (int)(d / 512 % N) + 1, root = (int)(d / 64 % (unsigned)size);
    fill(round);
    shmem_barrier_all();
    if (me < start || (me - start) % stride != 0 || (me - start) / stride >= size)
        return;
    const int mine = (me - start) / stride;
    shmem_broadcast32(got, numbers, (size_t)n, root, start, log, size, sync_a);
    for (int i = 0; i < n; i++)
        check(got[i] == (mine == root ? -77 : value_of(round, start + root * stride, i)), "broadcast32", round);
    shmem_fcollect32(got, numbers, (size_t)n, start, log, size, sync_a);
    for (int i = 0; i < n * size; i++)
        check(got[i] == value_of(round, start + i / n * stride, i % n), "fcollect32", round);
    shmem_collect32(got, numbers, (size_t)(n + mine) % N, start, log, size, sync_b);
    for (int m = 0, at = 0; m < size; m++) {
        for (int i = 0; i < (n + m) % N; i++, at++)
            check(got[at] == value_of(round, start + m * stride, i), "collect32", round);
    }
    shmem_alltoalls32(got, numbers, 2, 1, (size_t)(n / 2), start, log, size, sync_a);
    for (int m = 0; m < size; m++) {
        for (int i = 0; i < n / 2; i++)
            check(got[(m * (n / 2) + i) * 2] == value_of(round, start + m * stride, mine * (n / 2) + i), "alltoalls32",
                  round);
    }
    shmem_short_max_to_all(short_result, shorts, n, start, log, size, short_work, sync_b);
    shmem_double_sum_to_all(real_result, reals, n, start, log, size, real_work, sync_a);
    shmem_long_xor_to_all(longs, longs, n, start, log, size, words, sync_b);
    shmem_complexf_prod_to_all(complexes, complexes, n, start, log, size, complex_work, sync_a);
    for (int i = 0; i < n; i++) {
        int most = -100;
        double sum = 0;
        long bits = 0;
        float _Complex product = 0;
        for (int m = 0; m < size; m++) {
            const int v = value_of(round, start + m * stride, i);
            const float _Complex factor = (float)v + (float)(v + 1) * 1.0fi;
            most = v > most ? v : most;
            sum += v / 4.0;
            bits ^= 3000000000L * v;
            product = m == 0 ? factor : product * factor;
        }
        check(short_result[i] == most, "short_max_to_all", round);
        check(real_result[i] == sum, "double_sum_to_all", round);
        check(longs[i] == bits, "long_xor_to_all, in place", round);
        check(complexes[i] == product, "complexf_prod_to_all, in place", round);
    }
    if (round % 2)
        shmem_barrier(start, log, size, sync_a);
    else
        shmem_sync(start, log, size, sync_a);
    for (int i = 0; i < SHMEM_SYNC_SIZE; i++)
        check(sync_a[i] == SHMEM_SYNC_VALUE && sync_b[i] == SHMEM_SYNC_VALUE, "pSync as it was", round);
}

static void words_of_all(void)
{
    const int next = (me + 1) % npes, before = (me + npes - 1) % npes;
    shmem_int_add(&counter, me + 1, 0);
    shmem_int_inc(&counter, 0);
    shmem_barrier_all();
    check(shmem_int_fetch(&counter, 0) == 7 + npes + npes * (npes + 1) / 2, "int_add, inc", 0);
    shmem_long_p(&words[0], me + 100, next);
    shmem_long_wait(&words[0], 0);
    check(words[0] == before + 100, "long_wait", 0);
    check(shmem_long_swap(&words[1], me, me) == 0 && shmem_long_cswap(&words[1], me, 9, me) == me && words[1] == 9,
          "swap, cswap", 0);
    check(shmem_int_finc(&got[0], me) + 1 == shmem_int_fadd(&got[0], 5, me), "finc, fadd", 0);
    for (int i = 0; i < 5; i++) {
        shmem_set_lock(&lock);
        shmem_long_p(&words[2], shmem_long_g(&words[2], npes - 1) + 1, npes - 1);
        shmem_quiet();
        shmem_clear_lock(&lock);
    }
    shmem_barrier_all();
    check(shmem_long_g(&words[2], npes - 1) == 5 * npes, "a lock that is static", 0);
    shmem_putmem(page_wide + 50000, "across pages", 13, next);
    shmem_barrier_all();
    check(strcmp(page_wide + 50000, "across pages") == 0 && page_wide[49999] == 0, "putmem into another page", 0);
    check(shmem_addr_accessible(last_word, next) && !shmem_addr_accessible(&(int){0}, next), "what is symmetric", 0);
    check(shmem_ptr(&counter, me) == &counter && constant == 5, "shmem_ptr of one's own", 0);
    shmem_team_sync(SHMEM_TEAM_WORLD);
    shmem_sync(SHMEM_TEAM_WORLD);
}

/* A child has the variables' values, and what it stores stays its own. */
static void child(void)
{
    counter = 1000 + me;
    fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        const int same = counter == 1000 + me;
        counter = -1;
        _exit(same ? 0 : 3);
    }
    int status = -1;
    check(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && counter == 1000 + me, "a child", 0);
    shmem_barrier_all();
}

int main(void)
{
    const char *of_seed = getenv("TUTTI_TEST_SEED"), *of_rounds = getenv("TUTTI_TEST_ROUNDS");
    const int seed = of_seed ? atoi(of_seed) : 20261124, rounds = of_rounds ? atoi(of_rounds) : 40;
    start_pes(0);
    me = _my_pe();
    npes = _num_pes();
    if (npes > MOST || npes < 1)
        return 1;
    words_of_all();
    for (int round = 0; round < rounds; round++) {
        sets(seed % 100000 + round);
        shmem_barrier_all();
    }
    child();
    if (me == 0 && !wrong)
        printf("OpenSHMEM of old, seed %d, %d rounds on %d PEs: passed\n", seed, rounds, npes);
    shmem_finalize();
    /* The variables are the process's own now, as they were. */
    if (counter != 1000 + me || strcmp(last_word, "ok") != 0)
        wrong = 1;
    counter++;
    return wrong || counter != 1001 + me;
}

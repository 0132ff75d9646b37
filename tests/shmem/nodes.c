/* PEs of several nodes (TUTTI_NODE_RANKS): what the other tests do not ask of them.
 *
 *   nodes           everybody changes the same words, from near and far; signals behind data, with delays; floods of
 *                   operations that are not waited for; PEs that serve others while they test, or wait in the MPI;
 *                   what is refused; an address space of some ranks
 *   nodes away      PE 0 calls nothing until another one has worked on its heap: TUTTI_ASYNC_PROGRESS=1
 *   nodes begun     the same where tshmem_init() begins the MPI, without that setting
 *   nodes stall     the last PE does not come: the others report it, give up after TUTTI_TIMEOUT_SECONDS, and notify it
 *   nodes killed N  the last PE kills itself in round N. For watch.sh: survivors print that they got an error
 *
 * TUTTI_TEST_ROUNDS, TUTTI_TEST_SEED. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "core/status.h"
#include "shmem/kit.h"

static int me, pes;
static uint64_t state;

int shmem_rank_of(int pe)
{
    return pe;
}

/* Now and then away, so that what is not ordered comes in another order. */
static void be_late(void)
{
    if (random_next(&state) % 4 == 0)
        usleep((useconds_t)(random_next(&state) % 2000));
}

/* Tickets of one counter are given once each; sums are complete. Half of the PEs reach the words by messages, the
 * others by atomic instructions or kernels of their own. */
static void contention(long rounds)
{
    uint64_t *words = tshmem_calloc(4, sizeof *words);
    double *sum = tshmem_calloc(1, sizeof *sum);
    const size_t all = (size_t)pes * (size_t)rounds;
    uint32_t *taken = tshmem_calloc(all, sizeof *taken), *given = calloc(all, sizeof *given);
    for (long i = 0; i < rounds; i++) {
        const uint64_t ticket = tshmem_uint64_atomic_fetch_add(words, 1, 0);
        if (CHECK(ticket < all, "ticket %llu", (unsigned long long)ticket))
            tshmem_uint32_atomic_inc(taken + ticket, pes - 1);
        tshmem_uint64_atomic_xor(words + 1, UINT64_C(1) << (me + 8 * (int)(i % 7)), 0);
        tshmem_double_atomic_add(sum, 0.25, 0);
        for (int done = 0; i % 8 == 0 && !done;) { /* a lock */
            if (tshmem_uint64_atomic_compare_swap(words + 2, 0, (uint64_t)me + 1, 0) != 0)
                continue;
            const uint64_t before = tshmem_g(words + 3, 0);
            tshmem_p(words + 3, before + 1, 0);
            tshmem_quiet();
            done = tshmem_uint64_atomic_swap(words + 2, 0, 0) == (uint64_t)me + 1;
            CHECK(done, "the lock is this PE's");
        }
    }
    tshmem_barrier_all();
    tshmem_getmem(given, taken, all * sizeof *given, pes - 1);
    for (size_t i = 0; i < all; i++)
        CHECK(given[i] == 1, "ticket %zu was given %u times", i, given[i]);
    uint64_t bits = 0;
    for (long i = 0; i < rounds; i++) {
        for (int pe = 0; pe < pes; pe++)
            bits ^= UINT64_C(1) << (pe + 8 * (int)(i % 7));
    }
    CHECK(tshmem_g(words, 0) == all && tshmem_g(words + 1, 0) == bits && tshmem_g(sum, 0) == 0.25 * (double)all,
          "%llu tickets, bits %llx, sum %g", (unsigned long long)tshmem_g(words, 0),
          (unsigned long long)tshmem_g(words + 1, 0), tshmem_g(sum, 0));
    CHECK(tshmem_g(words + 3, 0) == (uint64_t)pes * (uint64_t)((rounds + 7) / 8), "under the lock: %llu",
          (unsigned long long)tshmem_g(words + 3, 0));
    tshmem_barrier_all();
    free(given);
    tshmem_free(taken);
    tshmem_free(sum);
    tshmem_free(words);
}

/* Words that a PE puts in a round; now and then more than may be under way at once. */
enum { WORDS = 200000, FEW = 20000 };
static size_t words_of(uint64_t round, int pe)
{
    return shmem_draw(check_seed(), round, (uint64_t)pe) % FEW + (round % 6 == 3 ? WORDS - FEW : 0) + 1;
}

/* A ring: each PE puts to the next one, and waits for what the one before has put, in all the ways there are. */
static void signals(long rounds)
{
    const int next = (me + 1) % pes, before = (me + pes - 1) % pes;
    uint64_t *data = tshmem_calloc(WORDS, sizeof *data), *signal = tshmem_calloc(2, sizeof *signal);
    uint64_t *mine = malloc(WORDS * sizeof *mine), *seen = malloc(WORDS * sizeof *seen);
    for (uint64_t round = 1; round <= (uint64_t)rounds; round++) {
        const size_t n = words_of(round, me), theirs = words_of(round, before);
        for (size_t i = 0; i < n; i++)
            mine[i] = round * 1000003 + i + (uint64_t)me;
        be_late();
        if (round % 3 == 0) {
            tshmem_uint64_put_signal_nbi(data, mine, n, signal, round, TSHMEM_SIGNAL_SET, next);
        } else if (round % 3 == 1) {
            tshmem_uint64_put_signal(data, mine, n, signal, 1, TSHMEM_SIGNAL_ADD, next);
        } else {
            tshmem_uint64_put_nbi(data, mine, n, next);
            tshmem_fence();
            tshmem_signal_add(signal, 1, next);
        }
        tshmem_fence();
        for (size_t i = 0; i < n; i++) /* past the fence they are the program's again */
            mine[i] = 0;
        be_late();
        if (round % 2) {
            while (!tshmem_uint64_test(signal, TSHMEM_CMP_GE, round))
                ;
        } else {
            tshmem_signal_wait_until(signal, TSHMEM_CMP_GE, round);
        }
        shmem_load(seen, data, theirs * sizeof *seen);
        size_t wrong = 0;
        for (size_t i = 0; i < theirs; i++)
            wrong += seen[i] != round * 1000003 + i + (uint64_t)before;
        CHECK(wrong == 0, "seed %llu round %llu: %zu of %zu words came after the signal",
              (unsigned long long)check_seed(), (unsigned long long)round, wrong, theirs);
        tshmem_p(signal + 1, round, before); /* it may put again */
        while (tshmem_signal_fetch(signal + 1) < round)
            ;
    }
    tshmem_barrier_all();
    free(mine);
    free(seen);
    tshmem_free(signal);
    tshmem_free(data);
}

/* More than ever is under way at once, in all directions; complete past quiet. */
static void floods(long rounds)
{
    enum { LARGE = 70000, SMALL = 200 };
    uint64_t *large = tshmem_calloc((size_t)pes * LARGE, sizeof *large);
    uint32_t *small = tshmem_calloc((size_t)pes * SMALL, sizeof *small);
    uint64_t *mine = malloc(LARGE * sizeof *mine), *back = calloc((size_t)pes * LARGE, sizeof *back);
    uint32_t values[SMALL], got[SMALL];
    for (long round = 0; round < rounds; round++) {
        for (size_t i = 0; i < LARGE; i++)
            mine[i] = (uint64_t)me << 32 ^ (uint64_t)round << 20 ^ i;
        for (int k = 1; k < pes; k++) {
            const int pe = (me + k) % pes;
            tshmem_uint64_put_nbi(large + (size_t)me * LARGE, mine, LARGE, pe);
            for (uint32_t i = 0; i < SMALL; i++) {
                values[i] = (uint32_t)round * SMALL + i;
                tshmem_uint32_put_nbi(small + (size_t)me * SMALL + i, &values[i], 1, pe);
            }
        }
        be_late();
        tshmem_quiet();
        for (int k = 1; k < pes; k++) {
            const int pe = (me + k) % pes;
            tshmem_uint64_get_nbi(back + (size_t)pe * LARGE, large + (size_t)me * LARGE, LARGE, pe);
            memset(got, 0xff, sizeof got);
            for (uint32_t i = 0; i < SMALL; i++)
                tshmem_uint32_get_nbi(&got[i], small + (size_t)me * SMALL + i, 1, pe);
            tshmem_pe_quiet(pe);
            CHECK(memcmp(got, values, sizeof got) == 0, "small ones of PE %d", pe);
            CHECK(memcmp(back + (size_t)pe * LARGE, mine, LARGE * sizeof *mine) == 0, "the large one of PE %d", pe);
        }
        if (round % 2)
            tshmem_barrier_all();
    }
    tshmem_barrier_all();
    free(mine);
    free(back);
    tshmem_free(small);
    tshmem_free(large);
}

/* Past a collective the results of all are there, for everybody. */
static void results(long rounds)
{
    enum { LONGS = 3000 };
    long *source = tshmem_calloc(LONGS, sizeof *source), *dest = tshmem_calloc((size_t)pes * LONGS, sizeof *dest);
    long *got = malloc((size_t)pes * LONGS * sizeof *got), *mine = malloc(LONGS * sizeof *mine);
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < LONGS; i++)
            mine[i] = round * 100 + me;
        shmem_store(source, mine, LONGS * sizeof *mine);
        be_late();
        CHECK(tshmem_long_fcollect(TSHMEM_TEAM_WORLD, dest, source, LONGS) == 0, "fcollect");
        tshmem_long_get(got, dest, (size_t)pes * LONGS, (me + 1 + (int)(round % pes)) % pes);
        long wrong = 0;
        for (long i = 0; i < pes * LONGS; i++)
            wrong += got[i] != round * 100 + i / LONGS;
        CHECK(wrong == 0, "round %ld: %ld results of another PE were not there", round, wrong);
    }
    tshmem_barrier_all();
    free(mine);
    free(got);
    tshmem_free(dest);
    tshmem_free(source);
}

/* Who waits in the MPI for a message serves others meanwhile. */
static void in_mpi(void)
{
    long *words = tshmem_calloc(2, sizeof *words);
    int token = 0;
    if (me == 0) {
        MPI_Recv(&token, 1, MPI_INT, pes - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(token == 1 && SEE(words) == 5, "%d, %ld", token, SEE(words));
    } else if (me == pes - 1) {
        tshmem_p(words, 4L, 0);
        token = (int)tshmem_long_atomic_fetch_inc(words, 0) - 3;
        CHECK(tshmem_g(words, 0) == 5, "what was put");
        MPI_Send(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    tshmem_barrier_all();
    tshmem_free(words);
}

static void refused(void)
{
    int *words = tshmem_calloc(4, sizeof *words), other = 0, far = -1;
    for (int pe = 0; pe < pes; pe++)
        far = shmem_is_near(pe) ? far : pe;
    if (!CHECK(far >= 0, "there are several nodes"))
        return;
    CHECK(tshmem_ptr(words, far) == NULL && tshmem_state_get()->peer[far] == NULL, "no loads and stores");
    tshmem_barrier_all();
    shmem_hush_begin();
    tshmem_putmem(&other, &other, sizeof other, far);
    CHECK(tshmem_error() == TUTTI_ERR_ARGUMENT, "not symmetric");
    tshmem_putmem(words, &other, (size_t)1 << 40, far);
    CHECK(tshmem_error() == TUTTI_ERR_ARGUMENT, "more than the heap");
    tshmem_int_iput(words, &other, -1, 1, 2, far);
    CHECK(tshmem_error() == TUTTI_ERR_ARGUMENT, "backwards");
    tshmem_p((int *)((char *)words + 1), 3, far); /* not aligned: by bytes */
    tshmem_uint64_atomic_inc((uint64_t *)(void *)((char *)words + 4), far);
    CHECK(tshmem_error() == TUTTI_ERR_ARGUMENT, "an atomic that is not aligned");
    tshmem_putmem_signal(words, &other, 4, (uint64_t *)(void *)words, 1, 9, far);
    CHECK(tshmem_error() == TUTTI_ERR_ARGUMENT, "no operation on signals");
    if (shmem_is_plain(words)) {
        tshmem_putmem_on_stream(words, &other, sizeof other, far, NULL);
        CHECK(tshmem_error() == TUTTI_ERR_UNAVAILABLE, "in a stream, with heaps in host memory");
    }
    tshmem_pe_quiet(pes);
    CHECK(tshmem_error() == TUTTI_ERR_ARGUMENT, "quiet of nobody");
    CHECK(tshmem_int_sum_reduce(TSHMEM_TEAM_WORLD, words, words, me == 0 ? 1 : 2) == TUTTI_ERR_MISMATCH, "mismatch");
    CHECK(tshmem_malloc(me == pes - 1 ? 8 : 16) == NULL && tshmem_error() < 0, "sizes that differ");
    CHECK(tshmem_broadcastmem(TSHMEM_TEAM_WORLD, words, words, 4, pes) < 0, "a root that is none");
    tshmem_error();
    shmem_hush_end();
    CHECK(tshmem_sync(TSHMEM_TEAM_WORLD) == 0, "it goes on");
    tshmem_free(words);
}

/* Plain loads alone, of what the other PE puts into shared memory at the end: nothing of Tutti's or the MPI's. */
static void away(void)
{
    uint64_t *words = tshmem_calloc(4, sizeof *words);
    if (me == 0) {
        const double until = MPI_Wtime() + 30;
        while (__atomic_load_n(words + 3, __ATOMIC_ACQUIRE) == 0 && MPI_Wtime() < until)
            usleep(1000);
        CHECK(words[3] == 1 && words[0] == 100 && words[1] == 7, "nobody has served: %llu, %llu",
              (unsigned long long)words[0], (unsigned long long)words[1]);
    } else if (me == 1) {
        for (int i = 0; i < 100; i++)
            CHECK(tshmem_uint64_atomic_fetch_inc(words, 0) == (uint64_t)i, "fetched");
        tshmem_p(words + 1, UINT64_C(7), 0);
        tshmem_signal_set(words + 3, 1, 0);
    }
    tshmem_barrier_all();
    tshmem_free(words);
    CHECK(tshmem_error() == 0 && tshmem_finalize() == 0, "finalize");
}

/* An address space of some ranks, in another order: nodes are not whole in it. */
static void some(void)
{
    MPI_Comm comm;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, rank == 1 && size > 2 ? MPI_UNDEFINED : 0, -rank, &comm);
    if (comm == MPI_COMM_NULL)
        return;
    if (CHECK(tshmem_init_comm(comm) == 0, "tshmem_init_comm")) {
        me = tshmem_my_pe();
        pes = tshmem_n_pes();
        contention(9);
        signals(5);
        CHECK(tshmem_error() == 0 && tshmem_finalize() == 0, "finalize");
    }
    MPI_Comm_free(&comm);
}

static void stall(void)
{
    if (me == pes - 1) {
        sleep(4);
        shmem_hush_begin();
        /* that they have come may be heard before that they have gone */
        const int first = tshmem_sync(TSHMEM_TEAM_WORLD), second = tshmem_sync(TSHMEM_TEAM_WORLD);
        CHECK((first == 0 || first == TUTTI_ERR_BROKEN) && second == TUTTI_ERR_BROKEN, "told: %d, %d", first, second);
        tshmem_error();
        shmem_hush_end();
        return;
    }
    const double start = MPI_Wtime();
    const int status = tshmem_sync(TSHMEM_TEAM_WORLD), later = tshmem_sync(TSHMEM_TEAM_WORLD);
    CHECK(status == TUTTI_ERR_TIMEOUT || status == TUTTI_ERR_BROKEN, "status %d", status);
    CHECK(later == TUTTI_ERR_BROKEN && MPI_Wtime() - start < 40, "a call after it: %d", later);
    tshmem_error();
}

/* For watch.sh, whose words these are. Nobody finalizes. */
static void killed(long calls)
{
    long *words = tshmem_calloc((size_t)pes, sizeof *words);
    for (long call = 0;; call++) {
        if (me == pes - 1 && call == calls) {
            fprintf(stderr, "killed at %ld\n", call);
            kill(getpid(), SIGKILL);
        }
        long *mine = words + me;
        tshmem_p(mine, call, (me + 1) % pes);
        tshmem_long_atomic_inc(mine, (me + 2) % pes);
        if (tshmem_barrier(TSHMEM_TEAM_WORLD) == 0 && tshmem_error() == 0)
            continue;
        fprintf(stderr, "survivor %d told in call %ld\n", me, call);
        fprintf(stderr, "survivor %d %s\n", me, tshmem_malloc(8) ? "goes on as if nothing were" : "refused");
        _exit(call >= calls ? 0 : 1);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 40);
    const int begun = strcmp(how, "begun") == 0;
    if (!begun)
        MPI_Init(NULL, NULL);
    if (!CHECK(tshmem_init() == 0 && (!begun || tshmem_init() == 0), "tshmem_init"))
        return 1;
    me = tshmem_my_pe();
    pes = tshmem_n_pes();
    check_rank(me);
    state = check_seed() + (uint64_t)me;
    if (strcmp(how, "stall") == 0) {
        stall();
    } else if (strcmp(how, "away") == 0 || begun) {
        away();
    } else if (strcmp(how, "killed") == 0) {
        killed(argc > 2 ? atol(argv[2]) : 0);
    } else {
        if (me == 0)
            printf("seed %llu\n", (unsigned long long)check_seed());
        contention(rounds);
        signals(rounds);
        floods(rounds / 10 + 1);
        results(rounds);
        in_mpi();
        refused();
        CHECK(tshmem_error() == 0 && tshmem_finalize() == 0, "finalize");
        some();
    }
    long mine[2] = {check_failed(), check_done()}, all[2];
    MPI_Allreduce(mine, all, 2, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("%ld checks, %ld failed\n", all[1], all[0]);
    if (begun)
        tshmem_finalize();
    else
        MPI_Finalize();
    return all[0] != 0 || all[1] == 0;
}

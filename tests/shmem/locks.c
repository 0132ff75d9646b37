/* Locks: PEs count with puts and gets under them, with delays; PEs get a lock in the order in which they came; what is
 * wrong is refused. */
#include <time.h>

#include "shmem/kit.h"

enum { LOCKS = 3, TIMES = 60 };

static long *locks; /* symmetric */
static struct counts {
    long sum, twice;
} * count;          /* symmetric; of lock i at PE i % pes */
static long *order; /* symmetric; at PE 0: place, then who came */

static void pause_for(uint64_t dice)
{
    const struct timespec time = {0, (long)(dice % 200000)};
    if (dice % 3 == 0)
        nanosleep(&time, NULL);
}

/* Adds one, by a get and a put; the second count is put later, so that who comes too early sees them differ. */
static void add(int lock, int home, uint64_t dice)
{
    struct counts now = {0, 0};
    tshmem_getmem(&now, &count[lock], sizeof now, home);
    CHECK(now.twice == 2 * now.sum, "lock %d: another PE is in between: %ld, %ld", lock, now.sum, now.twice);
    now.sum++;
    tshmem_long_p(&count[lock].sum, now.sum, home);
    pause_for(dice);
    now.twice = 2 * now.sum;
    tshmem_long_put_nbi(&count[lock].twice, &now.twice, 1, home); /* clear_lock completes it */
    tshmem_clear_lock(&locks[lock]);
}

static void contention(int me, int pes, uint64_t seed)
{
    long mine[LOCKS] = {0}, all = 0;
    for (uint64_t i = 0; i < TIMES; i++) {
        const uint64_t dice = shmem_draw(seed, i, (uint64_t)me);
        const int lock = (int)(dice / 64 % LOCKS);
        pause_for(dice / 1024);
        if (dice / 32 % 4 == 0) {
            while (tshmem_test_lock(&locks[lock]) != 0)
                pause_for(3 * (dice / 4096 % 50000));
        } else {
            tshmem_set_lock(&locks[lock]);
        }
        add(lock, lock % pes, dice / 65536);
        mine[lock]++;
    }
    for (int i = 0; i < LOCKS; i++) {
        tshmem_long_atomic_add(&order[i], mine[i], 0);
        tshmem_barrier_all();
        all = tshmem_long_g(&order[i], 0);
        CHECK(tshmem_long_g(&count[i].sum, i % pes) == all, "lock %d, seed %llu: %ld of %ld", i,
              (unsigned long long)seed, tshmem_long_g(&count[i].sum, i % pes), all);
        CHECK(SEE(&locks[i]) == 0, "lock %d is left as it was", i);
        tshmem_barrier_all();
        SET(&order[i], 0);
    }
    tshmem_barrier_all();
}

/* The PE that came last, as the lock says at its home: one of the PEs. */
static int last_in(const long *lock, int pes)
{
    uint32_t last = 0;
    for (int pe = 0; pe < pes; pe++)
        last |= tshmem_uint_atomic_fetch((const unsigned *)(const void *)lock, pe);
    return (int)last - 1;
}

/* While PE 0 has the lock the others come, one after the other in an order that is drawn; so they get it. */
static void in_order(int me, int pes, uint64_t seed)
{
    long *const lock = &locks[seed % LOCKS];
    const int step = pes > 1 ? (int)(seed % (uint64_t)(pes - 1)) : 0;
    for (int place = 0; place < pes; place++) {
        const int who = place == 0 ? 0 : 1 + (place - 1 + step) % (pes - 1);
        if (me == who && place > 0) {
            CHECK(tshmem_test_lock(lock) == 1, "PE 0 has it");
            for (int before = place == 1 ? 0 : 1 + (place - 2 + step) % (pes - 1); last_in(lock, pes) != before;)
                pause_for(30000);
            tshmem_set_lock(lock);
            const long at = tshmem_long_atomic_fetch_inc(&order[0], 0);
            CHECK(at == place - 1, "PE %d came at place %d and was served at %ld", me, place, at + 1);
            tshmem_clear_lock(lock);
        } else if (me == who) {
            tshmem_set_lock(lock);
            CHECK(tshmem_test_lock(lock) == 1, "it has it already");
        }
        if (place == 0)
            tshmem_barrier_all();
    }
    if (me == 0) {
        const int last = pes > 1 ? 1 + (pes - 2 + step) % (pes - 1) : 0;
        while (last_in(lock, pes) != last)
            pause_for(30000);
        CHECK(tshmem_long_g(&order[0], 0) == 0, "nobody was served meanwhile");
        tshmem_clear_lock(lock);
    }
    tshmem_barrier_all();
    CHECK(tshmem_long_g(&order[0], 0) == pes - 1 && SEE(lock) == 0, "all were served");
    tshmem_barrier_all();
    SET(&order[0], 0);
    tshmem_barrier_all();
}

static void errors(void)
{
    long nobodys = 0;
    shmem_hush_begin();
    CHECK(tshmem_error() == 0, "nothing wrong yet");
    tshmem_set_lock(&nobodys);
    CHECK(tshmem_error() < 0 && nobodys == 0, "not symmetric");
    tshmem_set_lock((long *)(void *)((char *)locks + 4));
    CHECK(tshmem_error() < 0, "not aligned");
    tshmem_clear_lock(locks);
    CHECK(tshmem_error() < 0, "not its own");
    if (tshmem_my_pe() == 0) {
        tshmem_set_lock(&locks[1]);
        CHECK(tshmem_error() == 0, "it is free");
        tshmem_set_lock(&locks[1]);
        CHECK(tshmem_error() < 0, "twice");
        tshmem_clear_lock(&locks[1]);
    }
    tshmem_pcontrol(2);
    CHECK(tshmem_error() == 0, "pcontrol");
    tshmem_pcontrol(-1);
    CHECK(tshmem_error() < 0, "no such level");
    shmem_hush_end();
    tshmem_barrier_all();
}

void shmem_test(void)
{
    const int me = tshmem_my_pe(), pes = tshmem_n_pes();
    const uint64_t seed = check_seed();
    locks = tshmem_calloc(LOCKS, sizeof *locks);
    count = tshmem_calloc(LOCKS, sizeof *count);
    order = tshmem_calloc(LOCKS, sizeof *order);
    if (!CHECK(locks && count && order, "memory"))
        return;
    contention(me, pes, seed);
    for (uint64_t i = 0; i < 6; i++)
        in_order(me, pes, seed + i);
    errors();
    tshmem_free(order);
    tshmem_free(count);
    tshmem_free(locks);
}

/* Locks: a queue of PEs, after Mellor-Crummey and Scott. Every PE has an entry for the lock, which is the long at the
 * symmetric address. The first word of the entry at one PE, the lock's home, holds the last PE of the queue. The second
 * word of a PE's entry holds its successor and the grant. So each PE waits for a word of its own, and PEs get the lock
 * in the order of their arrival. Every word is zero while its PE neither waits for the lock nor has it. */
#include "shmem/here.h"

/* The second word. */
enum { NEXT = 0xffff, QUEUED = 1 << 16, GRANTED = 1 << 17 };

struct lock {
    uint32_t last;  /* at home: 1 + the last PE of the queue, 0: the lock is free */
    uint32_t state; /* 1 + the successor; QUEUED: this PE waits for the lock or has it; GRANTED: it has the lock */
};
_Static_assert(sizeof(struct lock) == sizeof(long) && (int)TSHMEM_PES_MAX < NEXT, "both words in a long");

/* The same on all PEs. Locks that lie side by side have different homes. */
static int home_of(struct tutti_shmem *space, const struct lock *lock)
{
    return (int)((uintptr_t)((const char *)tutti_shmem_unstatic(space, lock) - space->state.heap) / sizeof(long) %
                 (unsigned)space->state.pes);
}

static uint32_t lock_change(struct tutti_shmem *space, int operation, uint32_t *at, uint32_t value, uint32_t compare,
                            int pe)
{
    return (uint32_t)tutti_shmem_change(space, operation, at, sizeof *at, value, compare, pe);
}

static uint32_t read_state(struct tutti_shmem *space, struct lock *lock)
{
    return lock_change(space, TSHMEM_AMO_FETCH, &lock->state, 0, 0, space->state.me);
}

/* The lock at that address; NULL, after an error message, if none exists. */
static struct lock *find_lock(struct tutti_shmem *space, long *lock, const char *call)
{
    if ((uintptr_t)lock % sizeof(long) != 0)
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "the lock at %p is not aligned to %zu bytes", (void *)lock,
                         sizeof(long));
    else if (tutti_shmem_at(space, lock, sizeof(long), space->state.me, call))
        return (struct lock *)lock;
    return NULL;
}

static int is_broken(struct tutti_shmem *space)
{
    return __atomic_load_n(space->state.abort, __ATOMIC_RELAXED) != 0;
}

void tshmem_set_lock(long *object)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_set_lock";
    const int me = space->state.me;
    struct lock *lock = find_lock(space, object, call);
    if (!lock)
        return;
    if (lock_change(space, TSHMEM_AMO_OR, &lock->state, QUEUED, 0, me) & QUEUED) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "PE %d has the lock at %p already, or waits for it", me,
                         (void *)object);
        return;
    }
    const uint32_t before = lock_change(space, TSHMEM_AMO_SWAP, &lock->last, (uint32_t)me + 1, 0, home_of(space, lock));
    if (before == 0 || is_broken(space))
        return;
    lock_change(space, TSHMEM_AMO_OR, &lock->state, (uint32_t)me + 1, 0, (int)before - 1);
    tutti_shmem_wait_word(space, &lock->state, TSHMEM_CMP_GE, GRANTED, call);
}

int tshmem_test_lock(long *object)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    const int me = space->state.me;
    struct lock *lock = find_lock(space, object, "tshmem_test_lock");
    if (!lock || lock_change(space, TSHMEM_AMO_OR, &lock->state, QUEUED, 0, me) & QUEUED)
        return 1;
    if (lock_change(space, TSHMEM_AMO_COMPARE_SWAP, &lock->last, (uint32_t)me + 1, 0, home_of(space, lock)) == 0)
        return is_broken(space);
    lock_change(space, TSHMEM_AMO_SET, &lock->state, 0, 0, me); /* not in the queue: no other PE stores there */
    return 1;
}

void tshmem_clear_lock(long *object)
{
    struct tutti_shmem *const space = tutti_shmem_here();
    static const char call[] = "tshmem_clear_lock";
    const int me = space->state.me;
    struct lock *lock = find_lock(space, object, call);
    if (!lock)
        return;
    uint32_t state = read_state(space, lock);
    if (!(state & QUEUED)) {
        tutti_shmem_fail(space, TUTTI_ERR_ARGUMENT, call, "PE %d does not have the lock at %p", me, (void *)object);
        return;
    }
    tshmem_quiet();
    if (!(state & NEXT) && lock_change(space, TSHMEM_AMO_COMPARE_SWAP, &lock->last, 0, (uint32_t)me + 1,
                                       home_of(space, lock)) == (uint32_t)me + 1) {
        lock_change(space, TSHMEM_AMO_SET, &lock->state, 0, 0, me);
        return;
    }
    /* Another PE is behind this one, and stores its number here at once. */
    if (!(state & NEXT) && tutti_shmem_wait_word(space, &lock->state, TSHMEM_CMP_NE, state, call) != TUTTI_OK)
        return;
    state = read_state(space, lock);
    if (is_broken(space) || !(state & NEXT))
        return;
    lock_change(space, TSHMEM_AMO_SET, &lock->state, 0, 0, me);
    lock_change(space, TSHMEM_AMO_OR, &lock->state, GRANTED, 0, (int)(state & NEXT) - 1);
}

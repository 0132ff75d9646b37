/* Locks: a queue of PEs, after Mellor-Crummey and Scott. The long at one PE, its home, has in its first half the last
 * PE of the queue; that at each PE has in its second half what that PE is told: who comes behind it, and that the lock
 * is its own now. So each waits for a word of its own, and PEs get the lock in the order in which they came. Every word
 * is zero while its PE has nothing to do with the lock. */
#include "shmem/space.h"

/* The second half. */
enum { NEXT = 0xffff, QUEUED = 1 << 16, GRANTED = 1 << 17 };

struct lock {
    uint32_t last;  /* at home: 1 + the PE that came last, 0: nobody has it */
    uint32_t state; /* 1 + the PE that comes next; QUEUED: this PE waits for it or has it; GRANTED: has been told */
};
_Static_assert(sizeof(struct lock) == sizeof(long) && (int)TSHMEM_PES_MAX < NEXT, "both halves in a long");

/* All PEs reckon alike. Locks that lie side by side have other homes. */
static int home_of(const struct lock *lock)
{
    return (int)((uintptr_t)((const char *)tutti_shmem_unstatic(lock) - tutti_shmem.state.heap) / sizeof(long) %
                 (unsigned)tutti_shmem.state.pes);
}

static uint32_t amo(int operation, uint32_t *at, uint32_t value, uint32_t compare, int pe)
{
    return (uint32_t)tutti_shmem_amo(operation, at, sizeof *at, value, compare, pe);
}

static uint32_t told(struct lock *lock)
{
    return amo(TSHMEM_AMO_FETCH, &lock->state, 0, 0, tutti_shmem.state.me);
}

/* The lock, after a look at the address; NULL where it is none. */
static struct lock *at(long *lock, const char *call)
{
    if ((uintptr_t)lock % sizeof(long) != 0)
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "the lock at %p is not aligned to %zu bytes", (void *)lock,
                         sizeof(long));
    else if (tutti_shmem_at(lock, sizeof(long), tutti_shmem.state.me, call))
        return (struct lock *)lock;
    return NULL;
}

static int is_broken(void)
{
    return __atomic_load_n(tutti_shmem.state.abort, __ATOMIC_RELAXED) != 0;
}

void tshmem_set_lock(long *object)
{
    static const char call[] = "tshmem_set_lock";
    const int me = tutti_shmem.state.me;
    struct lock *lock = at(object, call);
    if (!lock)
        return;
    if (amo(TSHMEM_AMO_OR, &lock->state, QUEUED, 0, me) & QUEUED) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "PE %d has the lock at %p already, or waits for it", me,
                         (void *)object);
        return;
    }
    const uint32_t before = amo(TSHMEM_AMO_SWAP, &lock->last, (uint32_t)me + 1, 0, home_of(lock));
    if (before == 0 || is_broken())
        return;
    amo(TSHMEM_AMO_OR, &lock->state, (uint32_t)me + 1, 0, (int)before - 1);
    tutti_shmem_wait_word(&lock->state, TSHMEM_CMP_GE, GRANTED, call);
}

int tshmem_test_lock(long *object)
{
    const int me = tutti_shmem.state.me;
    struct lock *lock = at(object, "tshmem_test_lock");
    if (!lock || amo(TSHMEM_AMO_OR, &lock->state, QUEUED, 0, me) & QUEUED)
        return 1;
    if (amo(TSHMEM_AMO_COMPARE_SWAP, &lock->last, (uint32_t)me + 1, 0, home_of(lock)) == 0)
        return is_broken();
    amo(TSHMEM_AMO_SET, &lock->state, 0, 0, me); /* not in the queue: nobody else stores there */
    return 1;
}

void tshmem_clear_lock(long *object)
{
    static const char call[] = "tshmem_clear_lock";
    const int me = tutti_shmem.state.me;
    struct lock *lock = at(object, call);
    if (!lock)
        return;
    uint32_t state = told(lock);
    if (!(state & QUEUED)) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "PE %d does not have the lock at %p", me, (void *)object);
        return;
    }
    tshmem_quiet();
    if (!(state & NEXT) &&
        amo(TSHMEM_AMO_COMPARE_SWAP, &lock->last, 0, (uint32_t)me + 1, home_of(lock)) == (uint32_t)me + 1) {
        amo(TSHMEM_AMO_SET, &lock->state, 0, 0, me);
        return;
    }
    /* Somebody is behind, and says so at once. */
    if (!(state & NEXT) && tutti_shmem_wait_word(&lock->state, TSHMEM_CMP_NE, state, call) != TUTTI_OK)
        return;
    state = told(lock);
    if (is_broken() || !(state & NEXT))
        return;
    amo(TSHMEM_AMO_SET, &lock->state, 0, 0, me);
    amo(TSHMEM_AMO_OR, &lock->state, GRANTED, 0, (int)(state & NEXT) - 1);
}

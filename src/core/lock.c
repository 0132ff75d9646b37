#include "core/lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NAP_NS = 20000 };

/* No thread wakes another one, so that giving the lock back costs no atomic operation: the sleep is short. */
TUTTI_UNGUARDED void tutti_lock_wait(struct tutti_lock *lock)
{
    while (!tutti_lock_try(lock))
        syscall(SYS_futex, &lock->held, FUTEX_WAIT_PRIVATE, 1, &(const struct timespec){0, NAP_NS}, NULL, 0);
}

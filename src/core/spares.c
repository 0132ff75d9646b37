#include "core/spares.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { NAP_NS = 20000 };

/* No thread wakes another one, so that giving the lock back costs no atomic operation: the sleep is short. */
void tutti_spares_wait(struct tutti_spares *spares)
{
    while (atomic_exchange_explicit(&spares->held, 1, memory_order_acquire) != 0)
        syscall(SYS_futex, &spares->held, FUTEX_WAIT_PRIVATE, 1, &(const struct timespec){0, NAP_NS}, NULL, 0);
}

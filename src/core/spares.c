#include "core/spares.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void tutti_spares_sleep(struct tutti_spares *spares)
{
    while (atomic_exchange_explicit(&spares->held, 2, memory_order_acquire) != 0)
        syscall(SYS_futex, &spares->held, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
}

void tutti_spares_wake(struct tutti_spares *spares)
{
    syscall(SYS_futex, &spares->held, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

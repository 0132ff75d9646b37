/* One object kept back for when there is no memory: for what the other ranks wait for, so that it has to be done all
 * the same. Where the reserve is gone too, taking fails as an allocation does. */
#ifndef TUTTI_CORE_RESERVE_H
#define TUTTI_CORE_RESERVE_H

#include <stdatomic.h>
#include <stddef.h>

struct tutti_reserve {
    _Atomic(void *) kept;
};

/* Local, safe from any thread. Zeroed memory of `bytes` bytes, the same number in each call; free() takes it. Fills the
 * reserve where it is empty. */
void *tutti_reserve_take(struct tutti_reserve *reserve, size_t bytes);
/* Local. Gives up what is kept. */
void tutti_reserve_close(struct tutti_reserve *reserve);

#endif

#include "coll/call/declined.h"

#include <stdatomic.h>

#include "coll/state.h"

enum {
    AFTER = 4,        /* calls in a row that peers have left to the MPI */
    AGAIN = 16,       /* of so many calls, one asks */
    SHORT = 128 << 10 /* bytes: what such a call may lose is some 50 us, once or 15 times */
};

static unsigned declined_count(const struct tutti_team *team, enum tutti_collective collective)
{
    return atomic_load_explicit(&tutti_coll_of(team)->declined[collective], memory_order_relaxed);
}

static void declined_set(struct tutti_team *team, enum tutti_collective collective, unsigned count)
{
    atomic_store_explicit(&tutti_coll_of(team)->declined[collective], (uint8_t)count, memory_order_relaxed);
}

static unsigned declined_bits(size_t bytes)
{
    return bytes > 1 ? 64 - (unsigned)__builtin_clzll(bytes - 1) : 1;
}

int tutti_declined_has_been(const struct tutti_team *team, enum tutti_collective collective, size_t bytes)
{
    return declined_bits(bytes) <=
           atomic_load_explicit(&tutti_coll_of(team)->declined_long[collective], memory_order_relaxed);
}

static void declined_longest(struct tutti_team *team, enum tutti_collective collective, unsigned bits)
{
    atomic_store_explicit(&tutti_coll_of(team)->declined_long[collective], (uint8_t)bits, memory_order_relaxed);
}

int tutti_declined_is_next(const struct tutti_team *team, enum tutti_collective collective, size_t bytes)
{
    const unsigned count = declined_count(team, collective);
    return count >= AFTER && count < AFTER + AGAIN - 1 && bytes <= SHORT;
}

int tutti_declined_begins(struct tutti_team *team, enum tutti_collective collective, size_t bytes)
{
    const unsigned count = declined_count(team, collective);
    if (count < AFTER || bytes > SHORT)
        return 0;
    const int leaves = count < AFTER + AGAIN - 1;
    declined_set(team, collective, leaves ? count + 1 : AFTER);
    return leaves;
}

void tutti_declined_note(struct tutti_team *team, enum tutti_collective collective, size_t bytes, int left, int host,
                         int before)
{
    const unsigned count = declined_count(team, collective);
    if (host > 0) {
        declined_set(team, collective, count < AFTER ? count + 1 : count);
        if (!tutti_declined_has_been(team, collective, bytes))
            declined_longest(team, collective, declined_bits(bytes));
    } else if (left == 0) {
        declined_set(team, collective, 0);
        declined_longest(team, collective, 0);
    } else if (before > 0 && count >= AFTER) {
        declined_set(team, collective, AFTER - 1);
    }
}

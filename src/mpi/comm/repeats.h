/* Nonblocking collectives that the ranks of a communicator have recently made without the MPI, by their buffers. If the
 * same call starts again, this rank can probably take part in it. Then the starting call does not ask the device what
 * its memory is, and the worker finds out. */
#ifndef TUTTI_MPI_REPEATS_H
#define TUTTI_MPI_REPEATS_H

#include <stdatomic.h>

#include "core/fnv.h"
#include "mpi/comm/comms.h"

/* The key of a call with one more buffer. Begins with a number of the kind of call. */
static inline uint64_t tutti_repeat_key(uint64_t key, const void *buffer, uint64_t count)
{
    const uint64_t with = tutti_mix(tutti_mix(key ^ (uint64_t)(uintptr_t)buffer) + count);
    return with ? with : 1;
}

/* 1: the call has been made. */
static inline int tutti_repeats(const struct tutti_comm *state, uint64_t key)
{
    return atomic_load_explicit(&state->made[key % TUTTI_REPEATS], memory_order_relaxed) == key;
}

/* The outcome of a call. */
static inline void tutti_repeat_note(struct tutti_comm *state, uint64_t key, int made)
{
    _Atomic uint64_t *const place = &state->made[key % TUTTI_REPEATS];
    if (made)
        atomic_store_explicit(place, key, memory_order_relaxed);
    else if (atomic_load_explicit(place, memory_order_relaxed) == key)
        atomic_store_explicit(place, 0, memory_order_relaxed);
}

#endif

/* How kernels find the heaps of their node's PEs among very many PEs (tutti/shmem_state.h), and in which order PEs
 * send messages to each other. Plain arithmetic. */
#ifndef TUTTI_SHMEM_LOCAL_STEPS_H
#define TUTTI_SHMEM_LOCAL_STEPS_H

#include "tutti/shmem_state.h"

/* PEs first, first + step ... have the numbers 0, 1 ... in state->peer. step: from 1 on. */
static inline void tutti_shmem_steps(int first, int step, struct tshmem_state *state)
{
    const unsigned shift = (unsigned)__builtin_ctz((unsigned)step), odd = (unsigned)step >> shift;
    uint32_t inverse = odd; /* of an odd number in 3 bits; each turn doubles them */
    for (int i = 0; i < 4; i++)
        inverse *= 2 - odd * inverse;
    state->near_first = (uint32_t)first;
    state->near_scale = inverse - 1;
    state->near_shift = shift;
}

/* An exchange of contributions among all members of a team, after Bruck and others, "Efficient algorithms for
 * all-to-all communications in multiport message-passing systems" (1997). In round r, with span =
 * TUTTI_SHMEM_RADIX^r, a member sends its contribution and those of the span - 1 members before it to the members
 * span, 2 * span ... behind it. So each member sends few messages, however many members there are. */
enum { TUTTI_SHMEM_RADIX = 8, TUTTI_SHMEM_ROUNDS = 4, TUTTI_SHMEM_HOPS = TUTTI_SHMEM_ROUNDS * (TUTTI_SHMEM_RADIX - 1) };
_Static_assert(1 << 3 * TUTTI_SHMEM_ROUNDS >= (int)TSHMEM_PES_MAX && TUTTI_SHMEM_RADIX == 1 << 3, "enough rounds");

struct tutti_shmem_hop {
    int number;   /* of the hop in a meeting */
    int to, from; /* members */
    int count;    /* of contributions: the sender's and those of the members before it */
};

/* Hop j, from 1 on, of the round; 0: there is no such hop. */
static inline int tutti_shmem_hop(int size, int me, int round, int j, struct tutti_shmem_hop *hop)
{
    const int span = 1 << 3 * round, distance = j * span;
    if (j >= TUTTI_SHMEM_RADIX || distance >= size)
        return 0;
    hop->number = round * (TUTTI_SHMEM_RADIX - 1) + j - 1;
    hop->to = (me + distance) % size;
    hop->from = (me - distance + size) % size;
    hop->count = size - distance < span ? size - distance : span;
    return 1;
}

#endif

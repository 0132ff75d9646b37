/* Ranks of several processes that share a GPU: their kernels may take turns there (device.h, gpu.turns), and then a
 * small fetch by a kernel waits for its turn far longer than it takes. Copies through pinned memory wait for none.
 * Which is faster depends on what the other processes do on the GPU, so kernels are timed: while they wait, messages
 * are fetched by copies if these take less time, and now and then by a kernel again. */
#ifndef TUTTI_P2P_TURNS_H
#define TUTTI_P2P_TURNS_H

#include "p2p/own.h"

/* Local. 1 if kernels of this rank and of rank `peer` take turns on the GPU. */
int tutti_turns_with(const struct tutti_p2p_worker *worker, int peer, int gpu);
/* 1 if copies are to do the jobs now. */
int tutti_turns_pass(int gpu, const struct tutti_pack_job *jobs, unsigned n);
/* Local. Does the jobs, which store into memory of the GPU, by copies through pinned memory. TUTTI_ERR_UNAVAILABLE:
 * a kernel is to do them, and nothing was done. */
int tutti_turns_copy(const struct tutti_p2p_worker *worker, int gpu, const struct tutti_pack_job *jobs, unsigned n);
/* A kernel that does the jobs is about to be launched, and has ended. are: 0: it is not timed. */
struct tutti_turn {
    uint64_t since, moves; /* ns; since 0: not timed */
    int row;
};
void tutti_turn_begin(struct tutti_turn *turn, int are, int gpu, const struct tutti_pack_job *jobs, unsigned n);
void tutti_turn_end(const struct tutti_turn *turn);

#endif

/* Lives of GPUs: each reset by the program (cudaDeviceReset) begins a new one. Streams, events, memory, mappings and
 * registrations of an earlier life no longer exist, and their addresses may belong to the program. So a room that keeps
 * something of a GPU stores its life with it, and neither uses nor frees it when that life is over. Calls are local and
 * safe from any thread. */
#ifndef TUTTI_CORE_LIVES_H
#define TUTTI_CORE_LIVES_H

#include <stdatomic.h>

enum { TUTTI_LIVES_GPUS = 64 };
extern _Atomic unsigned tutti_gpu_lives[TUTTI_LIVES_GPUS];
extern _Atomic unsigned tutti_gpu_resets; /* of all GPUs */

/* The life of a GPU, an ordinal of this process; with -1 the life of all GPUs together. A load. */
static inline unsigned tutti_gpu_life(int gpu)
{
    return atomic_load_explicit(gpu >= 0 && gpu < TUTTI_LIVES_GPUS ? &tutti_gpu_lives[gpu] : &tutti_gpu_resets,
                                memory_order_acquire);
}

/* By a device that notices a reset. */
void tutti_gpu_reset(int gpu);

/* Other ranks work on this GPU too (team/sharing.h). turns: 1: kernels of their processes take turns there, as without
 * MPS (device.h, gpu.turns). It stays so for the process. -1, of memory that belongs to no GPU in particular: every
 * GPU, as any may move it. */
void tutti_gpu_share(int gpu, int turns);
int tutti_gpu_is_shared(int gpu);
int tutti_gpu_takes_turns(int gpu);

#endif

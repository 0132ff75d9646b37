/* A ring for one PE's kernels, and a thread that serves it by the library's proxy, over the CUDA runtime. */
#ifndef TUTTI_BENCH_SERVE_H
#define TUTTI_BENCH_SERVE_H

#include "tutti/shmem_state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* memory: pinned, of bench_serve_bytes(slots) bytes, own: zeros in memory of the GPU. Tells state->ring; cutovers stay
 * zero. 0, or -1: no thread, or no streams. The state stays where it is until the end. */
size_t bench_serve_bytes(uint64_t slots);
int bench_serve(int gpu, struct tshmem_state *state, uint64_t slots, void *memory, struct tshmem_ring_own *own);
void bench_serve_end(void);

#ifdef __cplusplus
}
#endif

#endif

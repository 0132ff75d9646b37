/* A ring for one PE's kernels, and a thread that serves it by the library's proxy. */
#ifndef TUTTI_BENCH_SERVE_H
#define TUTTI_BENCH_SERVE_H

#include "tutti/shmem_state.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Executes the requests: near_gpu.c, over the CUDA runtime; host.c. */
struct tutti_proxy;
typedef void bench_near(struct tutti_proxy *proxy);
bench_near bench_near_gpu;

/* memory: pinned, of bench_serve_bytes(slots) bytes, own: zeros in memory of the GPU. Sets state->ring; cutovers stay
 * zero. 0, or -1: no thread, or no streams. The state stays where it is until the end. */
size_t bench_serve_bytes(uint64_t slots);
int bench_serve(bench_near *near, int gpu, struct tshmem_state *state, uint64_t slots, void *memory,
                struct tutti_ring_counters *own);
void bench_serve_end(void);

#ifdef __cplusplus
}
#endif

#endif

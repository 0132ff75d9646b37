/* NCCL as a peer, opened at run time where it is. */
#ifndef TUTTI_BENCH_NCCL_H
#define TUTTI_BENCH_NCCL_H

#include <stddef.h>

#include "bench/common/bench.h"
#include "bench/reductions/calls.h"

/* NCCL keeps what it has read from its environment for as long as it is loaded, so that a second setting takes a second
 * copy of the library in the same process. */
enum bench_nccl_copy { BENCH_NCCL_USUAL, BENCH_NCCL_32_CTAS, BENCH_NCCL_COPIES };

/* Collective over all ranks. 1 on all of them where NCCL can run the plan's collective: CUDA, a GPU for each rank.
 * Otherwise 0, with the reason in `why`. Turns multicast (NVLS) off unless the environment says otherwise. */
int bench_nccl_open(const struct bench_plan *plan, char *why, size_t size);
/* 1 where it knows type and operator. */
int bench_nccl_knows(int type, int op);
/* Collective. Two buffers of `bytes` in symmetric memory, registered with all copies; opens the second copy. A mask of
 * the copies (1 << copy) that can use them, alike on all ranks; 0 with the reason in `why`. */
unsigned bench_nccl_symmetric(const struct bench_plan *plan, size_t bytes, void **in, void **out, char *why,
                              size_t size);
/* Enqueues the call. Device pointers as the MPI call would get them; a reduce-scatter in place leaves its result where
 * NCCL has it (bench_nccl_result). */
void bench_nccl_enqueue(const struct bench_call *call, const void *in, void *out, void *stream,
                        enum bench_nccl_copy copy);
/* Where this rank's result lies after such a call. */
void *bench_nccl_result(const struct bench_call *call, void *out);
void bench_nccl_close(void);
/* "2.28.9" */
void bench_nccl_version(char *text, size_t size);

#endif

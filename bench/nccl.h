/* NCCL as a peer, opened at run time where it is. */
#ifndef TUTTI_BENCH_NCCL_H
#define TUTTI_BENCH_NCCL_H

#include <stddef.h>

#include "bench.h"

/* Collective over all ranks. 1 on all of them where NCCL can run the plan: CUDA, a GPU for each rank, type and operator
 * known to it. Otherwise 0, with the reason in `why`. */
int bench_nccl_open(const struct bench_plan *plan, char *why, size_t size);
/* Enqueues on the default stream and waits for it. Device pointers. */
void bench_nccl_allreduce(const void *in, void *out, size_t count);
void bench_nccl_close(void);
/* "2.28.9" */
void bench_nccl_version(char *text, size_t size);

#endif

/* Reductions of NCCL, a peer. */
#ifndef TUTTI_BENCH_NCCL_H
#define TUTTI_BENCH_NCCL_H

#include "bench/common/nccl.h"
#include "bench/reductions/calls.h"

/* Whether NCCL has the reduction, and type and operator. */
enum bench_nccl_can { BENCH_NCCL_CAN, BENCH_NCCL_NO_CALL, BENCH_NCCL_NO_PAIR };
enum bench_nccl_can bench_nccl_can(int collective, int type, int op);
/* Enqueues the call. Device pointers as the MPI call would get them; a reduce-scatter in place leaves its result where
 * NCCL has it (bench_nccl_result). */
void bench_nccl_enqueue(const struct bench_call *call, const void *in, void *out, void *stream,
                        enum bench_nccl_copy copy);
/* Where this rank's result lies after such a call. */
void *bench_nccl_result(const struct bench_call *call, void *out);

#endif

/* Calls in stream order, through MPI's extensions of tutti/mpix.h. */
#ifndef TUTTI_BENCH_ENQUEUE_H
#define TUTTI_BENCH_ENQUEUE_H

#include "bench/reductions/calls.h"

/* Local. Makes *out (an MPIX_Stream) of bench_gpu_stream(), which is open. An MPI error code. */
int bench_enqueue_stream(void *out);
/* Collective. Makes a communicator of the stream of gpu.h. 1, or 0 with the reason in `why`, alike on all ranks. */
int bench_enqueue_open(char *why, size_t size);
void bench_enqueue_close(void);
/* The communicator that was opened. */
MPI_Comm bench_enqueue_comm(void);
/* Puts the call into the stream. Device pointers. Fails where MPI reports an error. */
void bench_enqueue(const struct bench_call *call, const void *in, void *out);

#endif

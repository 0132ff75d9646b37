/* The stream of calls in stream order, its clock, and graphs: through libcuda, opened at run time, or on the host
 * device. A failure ends all ranks. */
#ifndef TUTTI_BENCH_GPU_H
#define TUTTI_BENCH_GPU_H

#include <stddef.h>

/* 1 if the GPU is one of CUDA's, with a driver that the bench calls itself. */
int bench_on_cuda(void);
/* 1 if the device is simulated: its memory is the host's. */
int bench_on_host(void);

/* Makes the stream on the chosen GPU. 1; or 0 with the reason in `why`, if the machine lacks something. */
int bench_gpu_open(char *why, size_t size);
void bench_gpu_close(void);
/* 1 if calls can be captured and replayed. */
int bench_gpu_has_graphs(void);
/* Of the type that the device names. */
void *bench_gpu_stream(void);
void bench_gpu_sync(void);

/* Microseconds of the work put into the stream between the two calls: by events in the stream on CUDA, by the host's
 * clock on the host device. stop waits for the stream. */
void bench_gpu_start(void);
double bench_gpu_stop(void);

struct bench_graph;
/* Work that is put into the stream between begin and end is captured. */
void bench_graph_begin(void);
struct bench_graph *bench_graph_end(void);
/* The same; NULL if it could not be captured. */
struct bench_graph *bench_graph_try_end(void);
void bench_graph_launch(struct bench_graph *graph);
void bench_graph_free(struct bench_graph *graph);

#endif

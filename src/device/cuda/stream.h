/* Streams of the CUDA device. Private to src/device/cuda/. */
#ifndef TUTTI_DEVICE_CUDA_STREAM_H
#define TUTTI_DEVICE_CUDA_STREAM_H

#include "device/cuda/gpu.h"

/* A stream of Tutti's in a context that no longer exists is dropped, and its next use creates it in the GPU's next
 * context. A stream of the program (wrapped) ends with its context. */
struct tutti_stream {
    int gpu;
    int wrapped;
    struct tutti_cuda_context *context;
    CUstream handle;
    _Atomic(struct tutti_prepared *) own; /* of tutti_cuda_start_own(); NULL: none, or in use */
};

/* Enters the stream's context; leave with tutti_cuda_leave(). */
int tutti_cuda_enter_stream(struct tutti_stream *stream, struct tutti_cuda_scope *scope);
/* Launches a kernel. waits: it waits by itself for what was launched before (griddepcontrol), so the GPU, where it can,
 * may bring it up while that still runs. */
CUresult tutti_cuda_start(const struct tutti_cuda_context *context, CUfunction function, int waits,
                          struct tutti_cuda_grid grid, CUstream stream, void **parameters);
/* prepared.c. The same into a stream of Tutti that takes part in no capture, in the context of the stream, which is
 * entered: cheaper. */
CUresult tutti_cuda_start_own(struct tutti_stream *stream, CUfunction function, struct tutti_cuda_grid grid,
                              void **parameters);

#endif

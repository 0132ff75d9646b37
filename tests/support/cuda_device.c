#include "support/cuda_device.h"

#include <cuda_runtime_api.h>
#include <stdio.h>

#include "core/status.h"

static int told(cudaError_t status)
{
    if (status != cudaSuccess)
        fprintf(stderr, "the proxy: %s\n", cudaGetErrorString(status));
    return status == cudaSuccess ? TUTTI_OK : TUTTI_ERR_DEVICE;
}

static int choose(int gpu)
{
    return told(cudaSetDevice(gpu));
}

static int stream_create(int gpu, struct tutti_stream **out)
{
    (void)gpu;
    return told(cudaStreamCreateWithFlags((cudaStream_t *)(void *)out, cudaStreamNonBlocking));
}

static int stream_destroy(struct tutti_stream *stream)
{
    return told(cudaStreamDestroy((cudaStream_t)(void *)stream));
}

static int event_create(int gpu, struct tutti_event **out)
{
    (void)gpu;
    return told(cudaEventCreateWithFlags((cudaEvent_t *)(void *)out, cudaEventDisableTiming));
}

static int event_destroy(struct tutti_event *event)
{
    return told(cudaEventDestroy((cudaEvent_t)(void *)event));
}

static int event_record(struct tutti_event *event, struct tutti_stream *stream)
{
    return told(cudaEventRecord((cudaEvent_t)(void *)event, (cudaStream_t)(void *)stream));
}

static int event_query(struct tutti_event *event)
{
    const cudaError_t status = cudaEventQuery((cudaEvent_t)(void *)event);
    return status == cudaErrorNotReady ? 0 : told(status) == TUTTI_OK ? 1 : TUTTI_ERR_DEVICE;
}

static int copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes)
{
    return told(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, (cudaStream_t)(void *)stream));
}

const struct tutti_device cuda_device = {.name = "the CUDA runtime",
                                         .gpu.choose = choose,
                                         .stream.create = stream_create,
                                         .stream.destroy = stream_destroy,
                                         .event.create = event_create,
                                         .event.destroy = event_destroy,
                                         .event.record = event_record,
                                         .event.query = event_query,
                                         .stream.copy = copy};

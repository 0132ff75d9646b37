/* What a bench needs of the pretended libcuda.so.1 of tests/gpu beyond the device itself: clocks in streams, and graphs
 * that take work and do nothing when they are launched. */
#include "../gpu/fake_state.h"

#include <stdlib.h>

EXPORT CUresult cuEventSynchronize(CUevent event)
{
    CONTEXT();
    return event ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    CONTEXT();
    *ms = 0.75f;
    return start && end && start != end ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    STREAM(stream);
    if (mode != CU_STREAM_CAPTURE_MODE_THREAD_LOCAL || fake_state.capturing)
        return CUDA_ERROR_ILLEGAL_STATE;
    fake_state.capturing = stream;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    STREAM(stream);
    if (fake_state.capturing != stream)
        return CUDA_ERROR_ILLEGAL_STATE;
    fake_state.capturing = NULL;
    *graph = malloc(1);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *ready, CUgraph graph, unsigned long long flags)
{
    CONTEXT();
    if (!graph || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *ready = malloc(1);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphLaunch(CUgraphExec ready, CUstream stream)
{
    STREAM(stream);
    return ready && !fake_state.capturing ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuGraphExecDestroy(CUgraphExec ready)
{
    free(ready);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    free(graph);
    return CUDA_SUCCESS;
}

/* What a bench needs of the pretended libcuda.so.1 of tests/gpu beyond the device itself: clocks in streams, and
 * capturing them in graphs, which take work and do nothing when they are launched. */
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
    *graph = calloc(1, sizeof **graph);
    fake_objects++;
    return *graph ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* GPUs where kernels of several processes take turns, as without MPS, and copies into them that wait for no turn. */
#include "core/lives.h"
#include "core/status.h"
#include "device/cuda/stream.h"

/* Drivers that do not know the attribute (before CUDA 12.4) fail: processes then count as without MPS. */
enum { MPS_ENABLED = 133 /* CU_DEVICE_ATTRIBUTE_MPS_ENABLED */ };

int tutti_cuda_turns(int gpu)
{
    enum { UNASKED, TURNS_NOT, TURNS };
    static _Atomic unsigned char known[TUTTI_LIVES_GPUS];
    if (gpu < 0 || gpu >= TUTTI_LIVES_GPUS)
        return 0;
    int answer = atomic_load_explicit(&known[gpu], memory_order_relaxed);
    CUdevice device;
    int mps = 0;
    if (answer == UNASKED && tutti_cuda_ready() && tutti_cuda.DeviceGet(&device, gpu) == CUDA_SUCCESS) {
        if (tutti_cuda.DeviceGetAttribute(&mps, (CUdevice_attribute)MPS_ENABLED, device) != CUDA_SUCCESS)
            mps = 0;
        answer = mps ? TURNS_NOT : TURNS;
        atomic_store_explicit(&known[gpu], (unsigned char)answer, memory_order_relaxed);
    }
    return answer == TURNS;
}

/* The driver puts copies of fewer bytes into a GPU behind the kernels of the process, where they wait for its turn, but
 * not those of two rows, though these follow each other (580.159, H200: 4 KiB 147 and 9.6 us). */
enum { IN_ROWS_BELOW = 32 << 10 };

int tutti_cuda_goes_in_rows(size_t bytes)
{
    return bytes > 1 && bytes < IN_ROWS_BELOW;
}

/* The halves of an odd number of bytes overlap. */
CUresult tutti_cuda_copy_rows(CUstream stream, CUdeviceptr to, const char *from, size_t bytes)
{
    const size_t width = bytes / 2;
    CUresult result = CUDA_SUCCESS;
    for (size_t odd = 0; odd <= bytes % 2 && result == CUDA_SUCCESS; odd++) {
        const CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                                    .srcHost = from + odd,
                                    .srcPitch = width,
                                    .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                    .dstDevice = to + odd,
                                    .dstPitch = width,
                                    .WidthInBytes = width,
                                    .Height = 2};
        result = tutti_cuda.Memcpy2DAsync(&copy, stream);
    }
    return result;
}

int tutti_cuda_copy_in(struct tutti_stream *stream, void *to, const void *from, size_t bytes)
{
    struct tutti_cuda_scope scope;
    if (!tutti_cuda_goes_in_rows(bytes))
        return tutti_cuda_copy(stream, to, from, bytes);
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    status =
        tutti_cuda_check(tutti_cuda_copy_rows(stream->handle, (CUdeviceptr)to, from, bytes), "copying", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

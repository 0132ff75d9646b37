/* cudaMemPrefetchAsync() as CUDA 12 had it, and as CUDA 13 has it: devid -1 is the host. */
#include <cuda_runtime.h>
static inline cudaError_t omb_prefetch(void *buf, size_t length, int devid, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
    struct cudaMemLocation place = {devid < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
                                    devid < 0 ? 0 : devid};
    return cudaMemPrefetchAsync(buf, length, place, 0, stream);
#else
    return cudaMemPrefetchAsync(buf, length, devid, stream);
#endif
}

/* Modules of kernels that are loaded by themselves, each at the first use of one of its kernels. */
#include "device/cuda/stream.h"

/* Under the context's lock. */
static CUresult image_load(CUmodule *module, const void *fatbin, const char *name, CUfunction *out)
{
    int registers; /* asking for an attribute loads the code, which the driver may put off otherwise */
    CUresult result = CUDA_SUCCESS;
    if (!*module) {
        CUmodule loaded;
        result = tutti_cuda.ModuleLoadData(&loaded, fatbin);
        if (result == CUDA_SUCCESS)
            *module = loaded;
    }
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.ModuleGetFunction(out, *module, name);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.FuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, *out);
    return result;
}

CUresult tutti_cuda_image_function(struct tutti_cuda_context *context, CUmodule *module, const void *(*fatbin)(void),
                                   const char *name, _Atomic(CUfunction) *kept, CUfunction *out)
{
    CUfunction function = atomic_load_explicit(kept, memory_order_acquire);
    if (!function) {
        pthread_mutex_lock(&context->lock);
        CUstreamCaptureMode mode = tutti_cuda_relax();
        CUresult result = image_load(module, fatbin(), name, &function);
        tutti_cuda_unrelax(mode);
        pthread_mutex_unlock(&context->lock);
        if (result != CUDA_SUCCESS)
            return result;
        atomic_store_explicit(kept, function, memory_order_release);
    }
    *out = function;
    return CUDA_SUCCESS;
}

/* The kernel in which ranks meet: its module, loaded by itself, and its launch. */
#include "kernels/meet.h"

#include "core/status.h"
#include "device/cuda/stream.h"

/* Under the context's lock. */
static CUresult meet_load(struct tutti_cuda_context *context, CUfunction *out)
{
    int registers; /* asking for an attribute loads the code, which the driver may put off otherwise */
    CUresult result = CUDA_SUCCESS;
    if (!context->meet_module) {
        CUmodule module;
        result = tutti_cuda.ModuleLoadData(&module, tutti_meet_fatbin());
        if (result == CUDA_SUCCESS)
            context->meet_module = module;
    }
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.ModuleGetFunction(out, context->meet_module, "tutti_meet_kernel");
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.FuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, *out);
    return result;
}

static int meet_function_of(struct tutti_cuda_context *context, CUfunction *out)
{
    CUfunction function = atomic_load_explicit(&context->meet, memory_order_acquire);
    if (!function) {
        pthread_mutex_lock(&context->lock);
        CUstreamCaptureMode mode = tutti_cuda_relax();
        CUresult result = meet_load(context, &function);
        tutti_cuda_unrelax(mode);
        pthread_mutex_unlock(&context->lock);
        int status = tutti_cuda_check(result, "loading the kernel of partitioned collectives", context);
        if (status != TUTTI_OK)
            return status;
        atomic_store_explicit(&context->meet, function, memory_order_release);
    }
    *out = function;
    return TUTTI_OK;
}

int tutti_cuda_prepare_meet(int gpu)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter(gpu >= 0 ? gpu : tutti_cuda_any(), 1, &scope);
    if (status != TUTTI_OK)
        return status;
    status = meet_function_of(scope.context, &function);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_launch_meet(struct tutti_stream *stream, const struct tutti_meet_args *args)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    status = meet_function_of(scope.context, &function);
    if (status == TUTTI_OK) {
        void *parameters[] = {(void *)(uintptr_t)args};
        CUresult result =
            tutti_cuda_start(scope.context, function, 0, args->blocks, TUTTI_MEET_THREADS, stream->handle, parameters);
        status = tutti_cuda_check(result, "launching the kernel of partitioned collectives", scope.context);
    }
    tutti_cuda_leave(&scope);
    return status;
}

/* The kernels of the global address space: their module, loaded by itself, and their launch. */
#include "kernels/shmem_kernel.h"

#include "core/status.h"
#include "device/cuda/stream.h"

_Static_assert((int)TUTTI_CUDA_SHMEMS == (int)TUTTI_SHMEM_KERNELS, "a function each");

static int shmem_function_of(struct tutti_cuda_context *context, int kernel, CUfunction *out)
{
    const char *const name = tutti_shmem_kernel_names[kernel];
    return tutti_cuda_check(tutti_cuda_image_function(context, &context->shmem_module, tutti_shmem_fatbin, name,
                                                      &context->shmem[kernel], out),
                            name, context);
}

/* Types of the global address space have the numbers of enum tutti_type. */
static int prepare_direct(struct tutti_cuda_context *context, int type)
{
    CUfunction function;
    int status = TUTTI_OK;
    for (int op = 0; op < TUTTI_OPS && status == TUTTI_OK; op++) {
        if (tutti_has_kernel(type, op))
            status = tutti_cuda_function(context, TUTTI_KERNEL_DIRECT, type, op, &function);
    }
    return status;
}

int tutti_cuda_prepare_shmem(int gpu, int type)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter(gpu >= 0 ? gpu : tutti_cuda_any(), 1, &scope);
    if (status != TUTTI_OK)
        return status;
    status = shmem_function_of(scope.context, 1 + type, &function);
    if (status == TUTTI_OK && type >= 0)
        status = prepare_direct(scope.context, type);
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_launch_shmem(struct tutti_stream *stream, const struct tutti_shmem_args *args, unsigned threads)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    status = shmem_function_of(scope.context, tutti_shmem_kernel_of(args), &function);
    if (status == TUTTI_OK) {
        void *parameters[] = {(void *)(uintptr_t)args};
        CUresult result = tutti_cuda_start(
            scope.context, function, 1, (struct tutti_cuda_grid){args->blocks, threads, 1}, stream->handle, parameters);
        status = tutti_cuda_check(result, "launching a kernel of the global address space", scope.context);
    }
    tutti_cuda_leave(&scope);
    return status;
}

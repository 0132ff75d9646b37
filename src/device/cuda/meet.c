/* The kernel in which ranks meet: its module, loaded by itself, and its launch. */
#include "kernels/meet.h"

#include "core/status.h"
#include "device/cuda/stream.h"

static int meet_function_of(struct tutti_cuda_context *context, CUfunction *out)
{
    return tutti_cuda_check(tutti_cuda_image_function(context, &context->meet_module, tutti_meet_fatbin,
                                                      "tutti_meet_kernel", &context->meet, out),
                            "loading the kernel of partitioned collectives", context);
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
            tutti_cuda_start(scope.context, function, 0, (struct tutti_cuda_grid){args->blocks, TUTTI_MEET_THREADS, 1},
                             stream->handle, parameters);
        status = tutti_cuda_check(result, "launching the kernel of partitioned collectives", scope.context);
    }
    tutti_cuda_leave(&scope);
    return status;
}

/* Launching kernels. */
#include "core/status.h"
#include "device/cuda/stream.h"
#include "kernels/args.h"
#include "kernels/fatbin.h"

int tutti_cuda_launch(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    status = tutti_cuda_function(scope.context, (int)launch->kernel, launch->type, launch->op, &function);
    if (status == TUTTI_OK) {
        void *parameters[] = {(void *)launch->args};
        CUresult result = tutti_cuda.LaunchKernel(function, launch->blocks, 1, 1, TUTTI_FATBIN_THREADS, 1, 1, 0,
                                                  stream->handle, parameters, NULL);
        status = tutti_cuda_check(result, "launching a kernel", scope.context);
    }
    tutti_cuda_leave(&scope);
    return status;
}

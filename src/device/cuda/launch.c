/* Launching kernels. */
#include "core/status.h"
#include "device/cuda/stream.h"
#include "kernels/args.h"
#include "kernels/fatbin.h"

CUresult tutti_cuda_start(const struct tutti_cuda_context *context, CUfunction function, int waits,
                          struct tutti_cuda_grid grid, CUstream stream, void **parameters)
{
    if (!waits || !atomic_load_explicit(&context->early, memory_order_relaxed))
        return tutti_cuda.LaunchKernel(function, grid.blocks, 1, 1, grid.threads, grid.rows, 1, 0, stream, parameters,
                                       NULL);
    CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    early.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config = {.gridDimX = grid.blocks,
                                   .gridDimY = 1,
                                   .gridDimZ = 1,
                                   .blockDimX = grid.threads,
                                   .blockDimY = grid.rows,
                                   .blockDimZ = 1,
                                   .hStream = stream,
                                   .attrs = &early,
                                   .numAttrs = 1};
    return tutti_cuda.LaunchKernelEx(&config, function, parameters, NULL);
}

/* Launches the kernel in the stream; own: see tutti_cuda_start_own(); keep not NULL: keeps the launch ready instead. */
static int launch_kernel(struct tutti_stream *stream, const struct tutti_launch *launch, int own,
                         struct tutti_prepared **keep)
{
    struct tutti_cuda_scope scope;
    CUfunction function;
    int status = tutti_cuda_enter_stream(stream, &scope);
    if (status != TUTTI_OK)
        return status;
    status = tutti_cuda_function(scope.context, (int)launch->kernel, launch->type, launch->op, &function);
    if (status == TUTTI_OK) {
        const unsigned rows = launch->rows > 1 ? launch->rows : 1;
        const struct tutti_cuda_grid grid = {.blocks = tutti_launched_blocks(launch->blocks, rows),
                                             .threads =
                                                 (launch->threads ? launch->threads : TUTTI_FATBIN_THREADS) / rows,
                                             .rows = rows};
        struct tutti_sense sense = tutti_kernel_served(launch->type, launch->op).sense;
        void *taken = launch->flow     ? (void *)launch->flow
                      : launch->amo    ? (void *)launch->amo
                      : launch->update ? (void *)launch->update
                                       : (void *)launch->args;
        void *parameters[] = {taken, &sense};
        status = keep ? tutti_cuda_keep_kernel(scope.context, function, grid, parameters, stream->handle, keep)
                      : tutti_cuda_check(own ? tutti_cuda_start_own(stream, function, grid, parameters)
                                             : tutti_cuda_start(scope.context, function, launch->early, grid,
                                                                stream->handle, parameters),
                                         "launching a kernel", scope.context);
    }
    tutti_cuda_leave(&scope);
    return status;
}

int tutti_cuda_launch(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    return launch_kernel(stream, launch, 0, NULL);
}

int tutti_cuda_launch_own(struct tutti_stream *stream, const struct tutti_launch *launch)
{
    return launch_kernel(stream, launch, 1, NULL);
}

int tutti_cuda_launch_prepare(struct tutti_stream *stream, const struct tutti_launch *launch,
                              struct tutti_prepared **out)
{
    return launch_kernel(stream, launch, 0, out);
}

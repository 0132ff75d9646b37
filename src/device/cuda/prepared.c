/* Launches prepared ready: a graph of one kernel, which the driver starts in a third of the time of cuLaunchKernel. */
#include <stdlib.h>

#include "core/status.h"
#include "device/cuda/stream.h"

struct tutti_prepared {
    struct tutti_cuda_context *context;
    CUgraphExec graph;
};

static CUresult prepared_instantiate(CUfunction function, struct tutti_cuda_grid grid, void **parameters,
                                     CUstream stream, CUgraphExec *out)
{
    CUgraph graph = NULL;
    CUgraphNode node;
    CUgraphExec made = NULL;
    const CUDA_KERNEL_NODE_PARAMS what = {.func = function,
                                          .gridDimX = grid.blocks,
                                          .gridDimY = 1,
                                          .gridDimZ = 1,
                                          .blockDimX = grid.threads,
                                          .blockDimY = grid.rows,
                                          .blockDimZ = 1,
                                          .kernelParams = parameters};
    CUresult result = tutti_cuda.GraphCreate(&graph, 0);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.GraphAddKernelNode(&node, graph, NULL, 0, &what);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.GraphInstantiateWithFlags(&made, graph, 0);
    if (result == CUDA_SUCCESS)
        result = tutti_cuda.GraphUpload(made, stream);
    if (result != CUDA_SUCCESS && made)
        tutti_cuda.GraphExecDestroy(made);
    if (graph)
        tutti_cuda.GraphDestroy(graph);
    if (result == CUDA_SUCCESS)
        *out = made;
    return result;
}

void tutti_cuda_first_graph(struct tutti_cuda_context *context)
{
    CUgraph graph = NULL;
    CUgraphExec made = NULL;
    if (atomic_exchange(&context->graphs, 1) || tutti_cuda.GraphCreate(&graph, 0) != CUDA_SUCCESS)
        return;
    if (tutti_cuda.GraphInstantiateWithFlags(&made, graph, 0) == CUDA_SUCCESS)
        tutti_cuda.GraphExecDestroy(made);
    tutti_cuda.GraphDestroy(graph);
}

int tutti_cuda_keep_kernel(struct tutti_cuda_context *context, CUfunction function, struct tutti_cuda_grid grid,
                           void **parameters, CUstream stream, struct tutti_prepared **out)
{
    struct tutti_prepared *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return TUTTI_ERR_MEMORY;
    prepared->context = context;
    const int status = tutti_cuda_check(prepared_instantiate(function, grid, parameters, stream, &prepared->graph),
                                        "preparing a launch that is repeated", context);
    if (status == TUTTI_OK)
        *out = prepared;
    else
        free(prepared);
    return status;
}

int tutti_cuda_launch_prepared(struct tutti_stream *stream, struct tutti_prepared *prepared)
{
    struct tutti_cuda_scope scope;
    if (stream->context != prepared->context || tutti_cuda_enter_context(prepared->context, &scope) != TUTTI_OK)
        return TUTTI_ERR_UNAVAILABLE;
    int status =
        tutti_cuda_check(tutti_cuda.GraphLaunch(prepared->graph, stream->handle), "launching a kernel", scope.context);
    tutti_cuda_leave(&scope);
    return status;
}

void tutti_cuda_launch_drop(struct tutti_prepared *prepared)
{
    struct tutti_cuda_scope scope;
    if (!prepared)
        return;
    if (tutti_cuda_enter_context(prepared->context, &scope) == TUTTI_OK) {
        tutti_cuda_check_free(tutti_cuda.GraphExecDestroy(prepared->graph), "dropping a prepared launch",
                              scope.context);
        tutti_cuda_leave(&scope);
    }
    free(prepared);
}

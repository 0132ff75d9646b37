/* The pretended driver's graphs of one kernel. */
#include "fake_state.h"

#include <stdlib.h>
#include <string.h>

static struct CUgraph_st *instantiated;

/* 1: the context that the graph was instantiated in is current. */
static int fake_graph_valid(const struct CUgraph_st *made)
{
    const CUcontext current = fake_stack[fake_depth - 1];
    const int valid = made->context == current && made->life == current->id;
    fake_state.stale += !valid;
    return valid;
}

EXPORT CUresult cuGraphCreate(CUgraph *out, unsigned flags)
{
    CONTEXT();
    (void)flags;
    *out = calloc(1, sizeof **out);
    fake_objects++;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
static void fake_set_node(struct CUgraph_st *graph, const CUDA_KERNEL_NODE_PARAMS *what)
{
    graph->node = *what;
    const int packs =
        strncmp((const char *)what->func, "tutti_pack", 10) == 0; /* the driver reads all of its parameter */
    memcpy(graph->arguments, what->kernelParams[0], packs ? sizeof graph->arguments : sizeof fake_state.arguments);
    if (fake_kernel_has_sense((const char *)what->func))
        memcpy(graph->sense, what->kernelParams[1], sizeof graph->sense);
}
EXPORT CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after, size_t n,
                                        const CUDA_KERNEL_NODE_PARAMS *what)
{
    CONTEXT();
    if (after || n)
        return CUDA_ERROR_INVALID_VALUE;
    *node = (CUgraphNode)(void *)graph;
    fake_set_node(graph, what);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CONTEXT();
    struct CUgraph_st *made = malloc(sizeof *made);
    if (!made || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *made = *graph;
    made->of = graph;
    made->context = fake_stack[fake_depth - 1];
    made->life = made->context->id;
    made->older = instantiated;
    instantiated = made;
    fake_objects++;
    *out = (CUgraphExec)(void *)made;
    return CUDA_SUCCESS;
}
/* Of the graph's own node, while the graph exists. */
EXPORT CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS *what)
{
    CONTEXT();
    struct CUgraph_st *made = (struct CUgraph_st *)(void *)exec;
    if (made->of != (struct CUgraph_st *)(void *)node || !fake_graph_valid(made))
        return CUDA_ERROR_INVALID_VALUE;
    fake_state.sets++;
    fake_set_node(made, what);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphUpload(CUgraphExec exec, CUstream stream)
{
    CONTEXT();
    (void)exec;
    return fake_stream_valid(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
    struct CUgraph_st *graph = (struct CUgraph_st *)(void *)exec;
    void *parameters[] = {graph->arguments, graph->sense};
    if (!graph->node.func) { /* captured: it does nothing */
        STREAM(stream);
        return fake_state.capturing ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
    }
    if (!fake_depth || !fake_stack[fake_depth - 1] || !fake_graph_valid(graph))
        return CUDA_ERROR_INVALID_HANDLE;
    fake_state.replays++;
    return cuLaunchKernel(graph->node.func, graph->node.gridDimX, 1, 1, graph->node.blockDimX, graph->node.blockDimY, 1,
                          0, stream, parameters, NULL);
}
EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec)
{
    CONTEXT();
    struct CUgraph_st *gone = (struct CUgraph_st *)(void *)exec, **at = &instantiated;
    while (*at && *at != gone)
        at = &(*at)->older;
    if (!*at || !fake_graph_valid(gone))
        return CUDA_ERROR_INVALID_VALUE;
    *at = gone->older;
    free(gone);
    fake_objects--;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    CONTEXT();
    free(graph);
    fake_objects--;
    return CUDA_SUCCESS;
}

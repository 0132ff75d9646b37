#include "cuda_graph.h"

#include <dlfcn.h>
#include <string.h>

#include "tutti/tutti.h"

struct kit_cuda cu;

static int find_driver(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    int all = driver != NULL;
#define FIND(field, name) all = all && (*(void **)(void *)&cu.field = dlsym(driver, name)) != NULL
    FIND(BeginCapture, "cuStreamBeginCapture_v2");
    FIND(EndCapture, "cuStreamEndCapture");
    FIND(Instantiate, "cuGraphInstantiateWithFlags");
    FIND(Upload, "cuGraphUpload");
    FIND(Launch, "cuGraphLaunch");
    FIND(ExecDestroy, "cuGraphExecDestroy");
    FIND(GraphDestroy, "cuGraphDestroy");
    FIND(GetNodes, "cuGraphGetNodes");
    FIND(StreamCreate, "cuStreamCreate");
    FIND(StreamDestroy, "cuStreamDestroy_v2");
    FIND(StreamSynchronize, "cuStreamSynchronize");
    FIND(EventCreate, "cuEventCreate");
    FIND(EventRecord, "cuEventRecord");
    FIND(StreamWaitEvent, "cuStreamWaitEvent");
    FIND(MemcpyAsync, "cuMemcpyAsync");
#undef FIND
    return all;
}

int kit_cuda_open(void)
{
    static int known = -1;
    if (known < 0) {
        known = strcmp(tutti_device_name(), "cuda") == 0;
        if (known && !CHECK(find_driver(), "the driver lacks a function"))
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return known;
}

CUgraphExec kit_cuda_captured(CUstream stream, size_t *nodes)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CU(cu.EndCapture(stream, &graph));
    if (nodes)
        CU(cu.GetNodes(graph, NULL, nodes));
    CU(cu.Instantiate(&exec, graph, 0));
    CU(cu.GraphDestroy(graph));
    return exec;
}

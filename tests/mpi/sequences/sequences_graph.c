/* CUDA's part of sequences: graphs, and kernels that keep a stream busy. Nothing of CUDA is linked or included: the
 * driver is opened. */
#include <dlfcn.h>
#include <string.h>

#include "gpu_filler.h"
#include "sequences.h"
#include "tutti/tutti.h"

/* As cuda.h has them. */
typedef int CUresult;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef void *CUstream;
static struct {
    CUresult (*BeginCapture)(CUstream, int mode);
    CUresult (*EndCapture)(CUstream, CUgraph *);
    CUresult (*Instantiate)(CUgraphExec *, CUgraph, unsigned long long flags);
    CUresult (*Upload)(CUgraphExec, CUstream);
    CUresult (*Launch)(CUgraphExec, CUstream);
    CUresult (*ExecDestroy)(CUgraphExec);
    CUresult (*GraphDestroy)(CUgraph);
} cu;

#define CU(call)                                                                                                       \
    do {                                                                                                               \
        CUresult result_ = (call);                                                                                     \
        if (!CHECK(result_ == 0, "%s: CUDA error %d", #call, result_))                                                 \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
    } while (0)

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
#undef FIND
    return all;
}

int seq_graphs(void)
{
    static int known = -1;
    if (known < 0) {
        known = strcmp(tutti_device_name(), "cuda") == 0;
        if (known && !CHECK(find_driver(), "the driver lacks a function"))
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (known && !CHECK(gpu_filler_open(), "the kernel of the program"))
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (known)
            seq_spin(NULL, 1, 0); /* the first launch loads it, which may wait for other kernels */
    }
    return known;
}

void seq_capture_begin(void *stream, int mode)
{
    CU(cu.BeginCapture(stream, mode));
}

void *seq_capture_end(void *stream)
{
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CU(cu.EndCapture(stream, &graph));
    CU(cu.Instantiate(&exec, graph, 0));
    CU(cu.GraphDestroy(graph));
    CU(cu.Upload(exec, stream)); /* here: the first launch would wait for it */
    return exec;
}

void seq_graph_launch(void *graph, void *stream)
{
    CU(cu.Launch(graph, stream));
}

void seq_graph_free(void *graph)
{
    CU(cu.ExecDestroy(graph));
}

void seq_spin(void *stream, unsigned blocks, uint64_t cycles)
{
    CU(gpu_filler_put_blocks(stream, blocks, cycles));
}

/* CUDA graphs, streams and events for tests. Nothing of CUDA is linked or included: the driver is opened. */
#ifndef TUTTI_TESTS_CUDA_GRAPH_H
#define TUTTI_TESTS_CUDA_GRAPH_H

#include "kit.h"

/* As cuda.h has them. */
typedef int CUresult;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef void *CUstream, *CUevent;
extern struct kit_cuda {
    CUresult (*BeginCapture)(CUstream, int mode);
    CUresult (*EndCapture)(CUstream, CUgraph *);
    CUresult (*Instantiate)(CUgraphExec *, CUgraph, unsigned long long flags);
    CUresult (*Upload)(CUgraphExec, CUstream);
    CUresult (*Launch)(CUgraphExec, CUstream);
    CUresult (*ExecDestroy)(CUgraphExec);
    CUresult (*GraphDestroy)(CUgraph);
    CUresult (*GetNodes)(CUgraph, void **nodes, size_t *n);
    CUresult (*StreamCreate)(CUstream *, unsigned flags);
    CUresult (*StreamDestroy)(CUstream);
    CUresult (*StreamSynchronize)(CUstream);
    CUresult (*EventCreate)(CUevent *, unsigned flags);
    CUresult (*EventRecord)(CUevent, CUstream);
    CUresult (*StreamWaitEvent)(CUstream, CUevent, unsigned flags);
    CUresult (*MemcpyAsync)(unsigned long long to, unsigned long long from, size_t bytes, CUstream);
} cu;
enum { CAPTURE_GLOBAL, CAPTURE_THREAD, CAPTURE_RELAXED };

#define CU(call)                                                                                                       \
    do {                                                                                                               \
        CUresult result_ = (call);                                                                                     \
        if (!CHECK(result_ == 0, "%s: CUDA error %d", #call, result_))                                                 \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                                              \
    } while (0)

/* 1 if the library's device is CUDA: `cu` may be called then. */
int kit_cuda_open(void);
/* What the stream holds since cu.BeginCapture(), ready to be launched; *nodes (may be NULL): how many the graph has. */
CUgraphExec kit_cuda_captured(CUstream stream, size_t *nodes);

#endif

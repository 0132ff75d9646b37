/* CUDA's part of sequences: graphs, and kernels that keep a stream busy. */
#include "cuda_graph.h"
#include "gpu_filler.h"
#include "sequences.h"
#include "tutti/tutti.h"

int seq_graphs(void)
{
    static int known = -1;
    if (known < 0) {
        known = kit_cuda_open();
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
    const CUgraphExec exec = kit_cuda_captured(stream, NULL);
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

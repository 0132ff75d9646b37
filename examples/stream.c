/* Reductions in stream order: 20 steps of an averaging, each used by the next one, without a wait in between.
 *
 *   mpicc stream.c -I$PREFIX/include -o stream -L$PREFIX/lib -ltutti-core    streams of Tutti's, on any device
 *   mpicc -DUSE_CUDA stream.c -I$PREFIX/include -o stream -lcudart           the program's own, and a graph
 *   tutti run -n 4 ./stream */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "tutti/mpix.h"

enum { COUNT = 1 << 16, STEPS = 20 };

static void need(int fine, const char *what)
{
    if (!fine) {
        fprintf(stderr, "%s failed\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

#ifdef USE_CUDA
#include <cuda_runtime_api.h>

#define STREAM_TYPE "cudaStream_t"

static void *stream_new(void)
{
    cudaStream_t stream = NULL;

    need(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "cudaStreamCreate");
    return stream;
}

static void stream_copy(void *stream, void *to, const void *from, size_t bytes)
{
    need(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream) == cudaSuccess, "cudaMemcpyAsync");
}

static void stream_wait(void *stream)
{
    need(cudaStreamSynchronize(stream) == cudaSuccess, "cudaStreamSynchronize");
}

static void *vector_new(void)
{
    void *memory = NULL;

    need(cudaMalloc(&memory, COUNT * sizeof(double)) == cudaSuccess, "cudaMalloc");
    return memory;
}
#else
#include "tutti/tutti.h"

#define STREAM_TYPE "tutti_stream"

static void *stream_new(void)
{
    void *stream = NULL;

    need(tutti_stream_create(&stream) == 0, "tutti_stream_create");
    return stream;
}

static void stream_copy(void *stream, void *to, const void *from, size_t bytes)
{
    need(tutti_stream_copy(stream, to, from, bytes) == 0, "tutti_stream_copy");
}

static void stream_wait(void *stream)
{
    need(tutti_stream_sync(stream) == 0, "tutti_stream_sync");
}

static void *vector_new(void)
{
    void *memory = NULL;

    need(tutti_alloc(COUNT * sizeof(double), &memory) == 0, "tutti_alloc");
    return memory;
}
#endif

/* A communicator whose calls go into the stream. */
static MPI_Comm communicator(void *stream)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Info info = MPI_INFO_NULL;
    MPIX_Stream mpix = MPIX_STREAM_NULL;

    MPI_Info_create(&info);
    MPI_Info_set(info, "type", STREAM_TYPE);
    MPIX_Info_set_hex(info, "value", &stream, sizeof stream);
    need(MPIX_Stream_create(info, &mpix) == MPI_SUCCESS, "MPIX_Stream_create (is libtutti.so in front?)");
    MPI_Info_free(&info);
    need(MPIX_Stream_comm_create(MPI_COMM_WORLD, mpix, &comm) == MPI_SUCCESS, "MPIX_Stream_comm_create");
    MPIX_Stream_free(&mpix);
    return comm;
}

/* The sum of all ranks, then the largest: what the first call makes the second one uses. */
static void steps(MPI_Comm comm, void *stream, double *a, double *b)
{
    for (int i = 0; i < STEPS; i++) {
        MPIX_Allreduce_enqueue(a, b, COUNT, MPI_DOUBLE, MPI_SUM, comm);
        stream_copy(stream, a, b, COUNT * sizeof *a);
        MPIX_Allreduce_enqueue(MPI_IN_PLACE, a, COUNT, MPI_DOUBLE, MPI_MAX, comm);
    }
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0, any = 0;
    double factor = 1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    void *stream = stream_new();
    double *host = malloc(COUNT * sizeof *host), *a = vector_new(), *b = vector_new();
    MPI_Comm comm = communicator(stream);

    need(host != NULL, "malloc");
    for (int i = 0; i < COUNT; i++)
        host[i] = (rank + 1) * (double)(i % 100);
    stream_copy(stream, a, host, COUNT * sizeof *host);
#ifdef USE_CUDA
    /* The same as a graph: captured once, it could be launched any number of times. All ranks launch it alike. */
    cudaGraph_t graph;
    cudaGraphExec_t exec;

    need(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess, "cudaStreamBeginCapture");
    steps(comm, stream, a, b);
    need(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "cudaStreamEndCapture");
    need(cudaGraphInstantiateWithFlags(&exec, graph, 0) == cudaSuccess, "cudaGraphInstantiate");
    need(cudaGraphLaunch(exec, stream) == cudaSuccess, "cudaGraphLaunch");
#else
    steps(comm, stream, a, b);
#endif
    stream_copy(stream, host, a, COUNT * sizeof *host);
    stream_wait(stream); /* the only one */

    for (int i = 1; i < STEPS; i++)
        factor *= size;
    for (int i = 0; i < COUNT; i++)
        wrong += host[i] != size * (size + 1) / 2.0 * factor * (i % 100);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d reductions of %d doubles in stream order over %d ranks: %s\n", 2 * STEPS, COUNT, size,
               any ? "wrong" : "right");

    MPI_Comm_free(&comm);
    free(host);
    MPI_Finalize();
    return any != 0;
}

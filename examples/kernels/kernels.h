/* What these examples share: one source for kernels of CUDA and for the host device, where a kernel is a function of C
 * that one thread calls. A program of one's own needs none of it but <tutti/device.h>. */
#ifndef EXAMPLE_KERNELS_H
#define EXAMPLE_KERNELS_H

#define OMPI_SKIP_MPICXX  1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tutti/device.h>

#include "grid.h"

enum { BLOCKS = 8, THREADS = 128 };

static void stop(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

/* Collective over all processes. Each takes a GPU of its machine, in turn, and the heap is made there. */
static void begin(void)
{
    MPI_Init(NULL, NULL);
#ifdef __CUDACC__
    MPI_Comm node;
    int rank, gpus = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &rank);
    MPI_Comm_free(&node);
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0)
        stop("cudaGetDeviceCount", "no GPU");
    if (cudaSetDevice(rank % gpus) != cudaSuccess || cudaFree(NULL) != cudaSuccess)
        stop("cudaSetDevice", "the GPU cannot be used");
#endif
    if (tshmem_init() != 0)
        stop("tshmem_init", "no global address space");
}

/* Symmetric memory, zero. Collective. */
static __attribute__((unused)) void *symmetric(size_t bytes)
{
    void *const memory = tshmem_calloc(1, bytes);
    if (!memory)
        stop("tshmem_calloc", "no memory");
    return memory;
}

/* Runs a kernel, which takes one struct, on BLOCKS x THREADS threads, all at once, and waits for its end. Before it
 * begins, what all PEs have put is there: a kernel may be sent to before it has begun. */
#ifdef __CUDACC__
#define RUN(kernel, argument)                                                                                          \
    do {                                                                                                               \
        void *run_arguments[] = {&(argument)};                                                                         \
        tshmem_barrier_all();                                                                                          \
        cudaError_t run_status =                                                                                       \
            cudaLaunchCooperativeKernel((const void *)(kernel), dim3(BLOCKS), dim3(THREADS), run_arguments, 0, 0);     \
        if (run_status == cudaSuccess)                                                                                 \
            run_status = cudaDeviceSynchronize();                                                                      \
        if (run_status != cudaSuccess)                                                                                 \
            stop(#kernel, cudaGetErrorString(run_status));                                                             \
    } while (0)
#else
#define RUN(kernel, argument)                                                                                          \
    do {                                                                                                               \
        tshmem_barrier_all();                                                                                          \
        kernel(argument);                                                                                              \
    } while (0)
#endif

/* Collective. PE 0 says whether all PEs have found nothing wrong; the exit status. */
static int end(const char *what, long wrong)
{
    long all = 0;
    tshmem_barrier_all(); /* an error where a kernel of any PE has given up */
    if (tshmem_error() != 0)
        wrong++;
    MPI_Allreduce(&wrong, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (tshmem_my_pe() == 0)
        printf("%s on %d PEs: %s\n", what, tshmem_n_pes(), all ? "wrong" : "right");
    if (tshmem_finalize() != 0)
        all++;
    MPI_Finalize();
    return all != 0;
}

#endif

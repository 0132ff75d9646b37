/* An MPI program that knows nothing of Tutti: it sums a vector over all ranks, in GPU memory, and checks the result.
 *
 *   mpicc allreduce.c -o allreduce                        memory from MPI_Alloc_mem
 *   mpicc -DUSE_CUDA allreduce.c -o allreduce -lcudart    memory from cudaMalloc
 *   tutti run -n 4 ./allreduce
 *
 * Under Tutti's host device (TUTTI_DEVICE=host) MPI_Alloc_mem gives memory of a simulated GPU. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef USE_CUDA
#include <cuda_runtime_api.h>

static double *vector_new(int count)
{
    double *vector = NULL;

    if (cudaMalloc((void **)&vector, sizeof(double) * count) != cudaSuccess)
        MPI_Abort(MPI_COMM_WORLD, 1);
    return vector;
}

static void vector_set(double *vector, const double *from, int count)
{
    cudaMemcpy(vector, from, sizeof(double) * count, cudaMemcpyHostToDevice);
}

static void vector_get(double *to, const double *vector, int count)
{
    cudaMemcpy(to, vector, sizeof(double) * count, cudaMemcpyDeviceToHost);
}

static void vector_free(double *vector)
{
    cudaFree(vector);
}
#else
#include <string.h>

static double *vector_new(int count)
{
    double *vector = NULL;

    MPI_Alloc_mem((MPI_Aint)sizeof(double) * count, MPI_INFO_NULL, &vector);
    return vector;
}

static void vector_set(double *vector, const double *from, int count)
{
    memcpy(vector, from, sizeof(double) * count);
}

static void vector_get(double *to, const double *vector, int count)
{
    memcpy(to, vector, sizeof(double) * count);
}

static void vector_free(double *vector)
{
    MPI_Free_mem(vector);
}
#endif

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 1 << 20;
    int rank, size, wrong = 0, any = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (count < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: %s [number of elements]\n", argv[0]);
        MPI_Finalize();
        return 2;
    }

    double *host = malloc(sizeof(double) * count);
    double *in = vector_new(count), *out = vector_new(count);

    if (!host || !in || !out)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 0; i < count; i++)
        host[i] = (rank + 1) * (i % 1000 + 1);
    vector_set(in, host, count);

    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, out, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);

    vector_get(host, out, count);
    for (int i = 0; i < count; i++)
        wrong += host[i] != size * (size + 1) / 2.0 * (i % 1000 + 1);
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum of %d doubles over %d ranks: %s\n", count, size, any ? "wrong" : "right");

    vector_free(in);
    vector_free(out);
    free(host);
    MPI_Finalize();
    return any != 0;
}

/* Few bytes of device memory that the MPI carries: packing kernels copy them where each rank has a GPU of its own, and
 * the driver where ranks share one, whose kernels take turns. Needs TUTTI_STATS=1, and rules that leave the calls to
 * the MPI.
 * usage: few own|shared */
#include <stdio.h>
#include <string.h>

#include "gpu.h"
#include "kit.h"

/* FEW: bytes for each rank: all of them are as few as the simulated device copies by kernels. */
enum { FEW = 3, CALLS = 200, BEFORE = 100 };

static long launched(void)
{
    return (long)kit_counted("packing kernels", "launched");
}

/* The kernels are loaded after some calls that miss them. */
static void exchange(int gpu, int calls, int nonblocking)
{
    char *const from = gpu_alloc(gpu, FEW * (size_t)kit_size), *const to = gpu_alloc(gpu, FEW * (size_t)kit_size);
    char out[64], in[64];
    long wrong = 0;
    for (int i = 0; i < calls; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        for (int b = 0; b < FEW * kit_size; b++)
            out[b] = (char)(i + 5 * kit_rank + b);
        gpu_copy(gpu, from, out, (size_t)FEW * (size_t)kit_size);
        if (nonblocking)
            MPI_Ialltoall(from, FEW, MPI_BYTE, to, FEW, MPI_BYTE, MPI_COMM_WORLD, &request);
        else
            MPI_Alltoall(from, FEW, MPI_BYTE, to, FEW, MPI_BYTE, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        gpu_copy(gpu, in, to, (size_t)FEW * (size_t)kit_size);
        for (int b = 0; b < FEW * kit_size; b++)
            wrong += in[b] != (char)(i + 5 * (b / FEW) + FEW * kit_rank + b % FEW);
    }
    CHECK(wrong == 0, "%ld of %d bytes are wrong", wrong, calls * FEW * kit_size);
    gpu_free(gpu, from);
    gpu_free(gpu, to);
}

int main(int argc, char **argv)
{
    kit_leaves_gpus = 1;
    kit_start(&argc, &argv, MPI_THREAD_SINGLE);
    const int shared = argc > 1 && strcmp(argv[1], "shared") == 0;
    if (kit_plain || kit_size != 2 || (!shared && gpu_count() < 2))
        kit_skip("few", "needs two ranks, the library in front, and a GPU for each");
    const int gpu = shared ? 0 : kit_rank;
    gpu_set(gpu);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        exchange(gpu, BEFORE, nonblocking);
        const long before = launched();
        exchange(gpu, CALLS, nonblocking);
        const long n = launched() - before;
        CHECK(shared ? n == 0 : n >= CALLS, "%d calls launch %ld kernels", CALLS, n);
    }
    return kit_end("few");
}

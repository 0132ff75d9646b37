/* Kernels of the program in turns with messages: how long each takes by what stays on the GPU. */
#include <cuda_runtime.h>
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <vector>
#define OK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e_)); MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)
template <int N> __device__ float work(float x, int rounds)
{
    float r[N];
#pragma unroll
    for (int i = 0; i < N; i++) r[i] = x + (float)i;
    for (int k = 0; k < rounds; k++)
#pragma unroll
        for (int i = 0; i < N; i++) r[i] = r[i] * 1.0001f + r[(i + 7) % N];
    float s = 0;
#pragma unroll
    for (int i = 0; i < N; i++) s += r[i];
    return s;
}
__global__ void __launch_bounds__(256) few(float *out, int rounds) { float s = work<16>((float)threadIdx.x, rounds); if (s == 1.5f) out[0] = s; }
__global__ void __launch_bounds__(256, 1) regs(float *out, int rounds) { float s = work<224>((float)threadIdx.x, rounds); if (s == 1.5f) out[0] = s; }
__global__ void __launch_bounds__(1024, 1) smem(float *out, int rounds) { extern __shared__ float t[]; t[threadIdx.x] = 1; float s = work<16>(t[threadIdx.x], rounds); if (s == 1.5f) out[0] = s; }
static double med(std::vector<double> v) { std::sort(v.begin(), v.end()); return v[v.size() / 2]; }
static double p99(std::vector<double> v) { std::sort(v.begin(), v.end()); return v[v.size() * 99 / 100]; }
int main(int c, char **v)
{
    MPI_Init(&c, &v);
    int rank, n; MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &n);
    int gpus; OK(cudaGetDeviceCount(&gpus)); OK(cudaSetDevice(rank % gpus));
    cudaStream_t s; OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    float *out; char *a, *b; OK(cudaMalloc(&out, 4)); OK(cudaMalloc(&a, 1 << 20)); OK(cudaMalloc(&b, 1 << 20));
    OK(cudaMemset(a, rank + 1, 1 << 20));
    cudaDeviceProp p; OK(cudaGetDeviceProperties(&p, 0)); int sm = p.multiProcessorCount;
    OK(cudaFuncSetAttribute(smem, cudaFuncAttributeMaxDynamicSharedMemorySize, 216 * 1024));
    cudaFuncAttributes at; OK(cudaFuncGetAttributes(&at, regs));
    int each = 1; OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, regs, 256, 0));
    if (rank == 0) printf("# regs kernel: %d registers, %d blocks a multiprocessor, linger %s\n", at.numRegs, each, getenv("TUTTI_LINGER_US") ? getenv("TUTTI_LINGER_US") : "default");
    const char *kinds[] = {"none", "few", "regs", "regs-coop", "smem"};
    size_t sizes[] = {8, 65536, 1 << 20};
    for (int again = 0; again < 2; again++)
    for (size_t size : sizes) for (int k = 0; k < 5; k++) {
        const int rounds = k == 2 || k == 3 ? 40 : 500, iters = 400;
        std::vector<double> tk, tm;
        int wrong = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < iters; i++) {
            double t0 = MPI_Wtime();
            int r = rounds; void *args[] = {&out, &r};
            if (k == 1) few<<<2 * sm, 256, 0, s>>>(out, r);
            else if (k == 2) regs<<<sm * each, 256, 0, s>>>(out, r);
            else if (k == 3) OK(cudaLaunchCooperativeKernel((void *)regs, dim3(sm * each), dim3(256), args, 0, s));
            else if (k == 4) smem<<<sm, 1024, 216 * 1024, s>>>(out, r);
            if (k) OK(cudaStreamSynchronize(s));
            double t1 = MPI_Wtime();
            MPI_Sendrecv(a, (int)size, MPI_CHAR, 1 - rank, 0, b, (int)size, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            double t2 = MPI_Wtime();
            if (i >= 100) tk.push_back(1e6 * (t1 - t0)), tm.push_back(1e6 * (t2 - t1));
        }
        unsigned char end[2]; OK(cudaMemcpy(end, b + size - 1, 1, cudaMemcpyDeviceToHost)); wrong = end[0] != 2 - rank;
        if (rank == 0 && again) printf("%8zu %-10s kernel %7.1f (99%% %7.1f)  message %7.1f (99%% %7.1f) %s\n", size, kinds[k], med(tk), p99(tk), med(tm), p99(tm), wrong ? "WRONG" : "");
    }
    MPI_Finalize();
    return 0;
}

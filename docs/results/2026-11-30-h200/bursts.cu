// What hypre does: rounds of a kernel that packs, MPI_Irecv and MPI_Isend to all neighbours, MPI_Waitall, a kernel that unpacks; the buffers of a round are
// those of one of many levels. Modes: tutti (device pointers), hand (one copy out for all, pinned, one copy in), parts (without MPI: what each part takes).
#include <cuda.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
static int cmp(const void *a, const void *b) { double x = *(const double *)a, y = *(const double *)b; return x < y ? -1 : x > y; }
static int rank, size, bad;
__global__ void work(double *p, size_t n, int rounds) { size_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) { double v = p[i]; for (int k = 0; k < rounds; k++) v = v * 1.0000001 + 1e-9; p[i] = v; } }
__global__ void fill(uint32_t *p, size_t n, uint32_t v) { size_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = v + i; }
__global__ void check(const uint32_t *p, size_t n, uint32_t v, int *bad) { size_t i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n && p[i] != v + i) atomicAdd(bad, 1); }
struct level { int n; size_t bytes[64]; int peer[64]; char *out, *in, *hout, *hin; size_t at[64], all; };
static void parts() {
    CUstream own; cuStreamCreate(&own, CU_STREAM_NON_BLOCKING);
    char *d; cudaMalloc(&d, 1 << 20);
    double *w; cudaMalloc(&w, 1 << 20);
    double t = now();
    uint32_t *a = 0; 
    for (size_t n : {(size_t)4096, (size_t)4096, (size_t)65536, (size_t)1 << 20}) { void *p; t = now(); cuMemHostAlloc(&p, n, CU_MEMHOSTALLOC_PORTABLE); if (!rank) printf("parts: pinned alloc %zu: %.1f us\n", n, now() - t); a = (uint32_t *)p; }
    for (size_t n : {(size_t)4096, (size_t)262144, (size_t)1 << 20}) {
        void *p = mmap(0, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0); t = now(); cuMemHostRegister(p, n, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
        if (!rank) printf("parts: register shared %zu: %.1f us\n", n, now() - t); }
    CUstream two; t = now(); cuStreamCreateWithPriority(&two, CU_STREAM_NON_BLOCKING, -5); if (!rank) printf("parts: stream: %.1f us\n", now() - t);
    volatile uint32_t *flag = (volatile uint32_t *)((char *)a + (1 << 19)); CUdeviceptr seen; cuMemHostGetDevicePointer(&seen, (void *)flag, 0); *flag = 0;
    uint32_t v = 0, *words; cudaMalloc(&words, 65536 * 4); { uint32_t *hw = (uint32_t *)malloc(65536 * 4); for (int i = 0; i < 65536; i++) hw[i] = i; cudaMemcpy(words, hw, 65536 * 4, cudaMemcpyHostToDevice); }
    for (int cold = 0; cold < 2; cold++) for (size_t n : {(size_t)64, (size_t)2048, (size_t)8192, (size_t)16384}) for (int many : {1, 4}) {
        enum { N = 60 }; double c[N], f[N], s[N], h[N], l[N], y[N], f2[N], s2[N], s3[N]; CUpointer_attribute at = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
        for (int k = 0; k < N; k++) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (cold) { work<<<64, 128>>>(w, 8192, 20000); cudaStreamSynchronize(0); }
            double b = now(); unsigned kind; for (int i = 0; i < many; i++) cuPointerGetAttribute(&kind, at, (CUdeviceptr)d + i); double e = now(); y[k] = (e - b) / many; b = e;
            for (int i = 0; i < many; i++) cuMemcpyAsync((CUdeviceptr)((char *)a + 16384 * i), (CUdeviceptr)d + 16384 * i, n, own);
            e = now(); c[k] = (e - b) / many; b = e; 
            cuStreamWriteValue32(own, seen, ++v, 0); e = now(); f[k] = e - b; b = e;
            while (*flag != v) ; e = now(); s[k] = e - b;
            MPI_Barrier(MPI_COMM_WORLD);
            if (cold) { work<<<64, 128>>>(w, 8192, 20000); cudaStreamSynchronize(0); }
            b = now(); for (int i = 0; i < many; i++) cuMemcpyAsync((CUdeviceptr)((char *)a + 16384 * i), (CUdeviceptr)d + 16384 * i, n, own);
            e = now(); b = e; v = (v % 60000) + 1; cuMemcpyAsync(seen, (CUdeviceptr)words + 4 * v, 4, own); e = now(); f2[k] = e - b; b = e;
            while (*flag != v) ; e = now(); s2[k] = e - b;
            MPI_Barrier(MPI_COMM_WORLD);
            if (cold) { work<<<64, 128>>>(w, 8192, 20000); cudaStreamSynchronize(0); }
            b = now(); for (int i = 0; i < many; i++) cuMemcpyAsync((CUdeviceptr)((char *)a + 16384 * i), (CUdeviceptr)d + 16384 * i, n, own);
            b = now(); cuStreamSynchronize(own); s3[k] = now() - b;
            MPI_Barrier(MPI_COMM_WORLD);
            if (cold) { work<<<64, 128>>>(w, 8192, 20000); cudaStreamSynchronize(0); }
            b = now(); for (int i = 0; i < many; i++) cuMemcpyAsync((CUdeviceptr)d + 16384 * i, (CUdeviceptr)((char *)a + 16384 * i), n, own); e = now(); h[k] = (e - b) / many; b = e;
            cuStreamSynchronize(own); l[k] = now() - b;
        }
        auto med = [&](double *x) { qsort(x, N, sizeof *x, cmp); return x[N / 2]; };
        if (!rank) printf("parts%s: %d x %zu: ask %.1f, copy out call %.1f, write call %.1f, until seen %.1f; word by a copy: call %.1f, until seen %.1f; until the driver returns %.1f | copy in call %.1f, wait %.1f\n", cold ? " after a kernel" : "", many, n, med(y), med(c), med(f), med(s), med(f2), med(s2), med(s3), med(h), med(l));
    }
}
int main(int argc, char **argv) {
    MPI_Init(&argc, &argv); MPI_Comm_rank(MPI_COMM_WORLD, &rank); MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *mode = argv[1]; int levels = atoi(argv[2]), each = atoi(argv[3]), rounds = atoi(argv[4]), host_us = argc > 5 ? atoi(argv[5]) : 0;
    int gpus; cudaGetDeviceCount(&gpus); cudaSetDevice(rank % gpus); cudaFree(0);
    if (!strcmp(mode, "parts")) { parts(); MPI_Finalize(); return 0; }
    int hand = !strcmp(mode, "hand"), *dbad; cudaMalloc(&dbad, 4); cudaMemset(dbad, 0, 4);
    double *w; cudaMalloc(&w, 1 << 20);
    level *L = (level *)calloc(levels, sizeof(level));
    unsigned seed = 12345; /* the same on all ranks */
    char *ho = 0, *hi = 0; if (hand) { cudaHostAlloc((void **)&ho, 1 << 20, 0); cudaHostAlloc((void **)&hi, 1 << 20, 0); }
    for (int l = 0; l < levels; l++) {
        static const size_t sizes[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
        for (int p = 1; p < size; p++) for (int e = 0; e < each; e++) { /* with rank ^ p: both send as much */
            seed = seed * 1103515245 + 12345; size_t b = sizes[(seed >> 16) % 8]; int peer = rank ^ p; if (peer >= size) continue;
            L[l].peer[L[l].n] = peer; L[l].bytes[L[l].n] = b; L[l].at[L[l].n] = L[l].all; L[l].all += b; L[l].n++; }
        cudaMalloc(&L[l].out, L[l].all + (l % 7) * 4096); cudaMalloc(&L[l].in, L[l].all + (l % 5) * 4096);
        L[l].hout = ho; L[l].hin = hi;
    }
    double *us = (double *)malloc(rounds * sizeof *us), is = 0, ir = 0, wa = 0, first = 0; long sends = 0;
    MPI_Request q[128];
    MPI_Barrier(MPI_COMM_WORLD); double begun = now();
    for (int r = 0; r < rounds; r++) {
        seed = seed * 1103515245 + 12345; level *v = &L[(seed >> 16) % levels]; uint32_t stamp = r * 1000003u;
        fill<<<(v->all / 4 + 127) / 128, 128>>>((uint32_t *)v->out, v->all / 4, stamp); cudaStreamSynchronize(0);
        double t0 = now(); const char *o = v->out; char *in = v->in;
        if (hand) { cudaMemcpyAsync(v->hout, v->out, v->all, cudaMemcpyDeviceToHost, 0); cudaStreamSynchronize(0); o = v->hout; in = v->hin; }
        double t1 = now(); int n = 0;
        for (int i = 0; i < v->n; i++) MPI_Irecv(in + v->at[i], v->bytes[i], MPI_BYTE, v->peer[i], 7, MPI_COMM_WORLD, &q[n++]);
        double t2 = now();
        for (int i = 0; i < v->n; i++) MPI_Isend(o + v->at[i], v->bytes[i], MPI_BYTE, v->peer[i], 7, MPI_COMM_WORLD, &q[n++]);
        double t3 = now();
        if (host_us) while (now() < t3 + host_us) ;
        double t4 = now();
        MPI_Waitall(n, q, MPI_STATUSES_IGNORE);
        double t5 = now();
        if (hand) { cudaMemcpyAsync(v->in, v->hin, v->all, cudaMemcpyHostToDevice, 0); cudaStreamSynchronize(0); }
        double t6 = now();
        us[r] = t6 - t0; ir += t2 - t1; is += t3 - t2; wa += t5 - t4; sends += v->n; if (r == 99) first = now() - begun;
        check<<<(v->all / 4 + 127) / 128, 128>>>((uint32_t *)v->in, v->all / 4, stamp, dbad);
        work<<<64, 128>>>(w, 8192, 3000); cudaStreamSynchronize(0);
    }
    double all = now() - begun; cudaMemcpy(&bad, dbad, 4, cudaMemcpyDeviceToHost);
    double sum = 0; for (int r = 0; r < rounds; r++) sum += us[r];
    double early = 0; for (int r = 0; r < 100 && r < rounds; r++) early += us[r];
    qsort(us, rounds, sizeof *us, cmp);
    if (!rank || bad) printf("loop %s, %d levels, %d x %d: %d rounds in %.1f ms (first 100: %.1f); exchange mean %.1f us (first 100: %.1f), median %.1f, 90 %% %.1f | Irecv %.2f, Isend %.2f, Waitall %.1f us a call; %.1f sends a round; wrong %d\n", mode, levels, size - 1, each, rounds, all / 1e3, first / 1e3,
        sum / rounds, early / (rounds < 100 ? rounds : 100), us[rounds / 2], us[rounds * 9 / 10], ir / sends, is / sends, wa / rounds, (double)sends / rounds, bad);
    MPI_Finalize(); return 0;
}

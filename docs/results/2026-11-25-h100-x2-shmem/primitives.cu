/* Two GPUs, one process: what the primitives of a meeting take. nvcc -O3 -arch=sm_90 primitives.cu */
#include <cstdio>
#include <cstdint>
#include <cuda_runtime.h>
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { printf("%s: %s\n", #x, cudaGetErrorString(e)); return 1; } } while (0)
typedef unsigned long long u64;
__device__ __forceinline__ u64 now() { u64 t; asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)); return t; }
__device__ __forceinline__ void st(u64 *p, u64 v) { asm volatile("st.relaxed.sys.global.b64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
__device__ __forceinline__ void stv(u64 *p, u64 v) { asm volatile("st.volatile.global.b64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
__device__ __forceinline__ void strel(u64 *p, u64 v) { asm volatile("st.release.sys.global.b64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
__device__ __forceinline__ u64 ld(u64 *p) { u64 v; asm volatile("ld.relaxed.sys.global.b64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); return v; }
__device__ __forceinline__ u64 ldg(u64 *p) { u64 v; asm volatile("ld.relaxed.gpu.global.b64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); return v; }
__device__ __forceinline__ u64 ldacq(u64 *p) { u64 v; asm volatile("ld.acquire.sys.global.b64 %0, [%1];" : "=l"(v) : "l"(p) : "memory"); return v; }
#define FREL() asm volatile("fence.release.sys;" ::: "memory")
#define FACQ() asm volatile("fence.acquire.sys;" ::: "memory")
#define FAR() asm volatile("fence.acq_rel.sys;" ::: "memory")
#define FARG() asm volatile("fence.acq_rel.gpu;" ::: "memory")
__device__ __forceinline__ u64 xs(u64 *p, u64 v) { return atomicExch_system(p, v); }
__device__ __forceinline__ u64 xg(u64 *p, u64 v) { return atomicExch(p, v); }
enum { N = 2000 };
// mine: own words; other: peer's words. w[0] flag, w[16] busy, w[32] seq, w[48] data
__global__ void bar(int v, u64 *mine, u64 *other, u64 *out)
{
    u64 t0 = 0, bad = 0;
    const int me = threadIdx.x == 0;
    for (u64 i = 1; i <= N + 200; i++) {
        if (i == 200) t0 = now();
        u64 spin = 0;
#define POLL(f, p) while (f(p) < i && ++spin < 10000000) ; bad += spin >= 10000000
        if (me) switch (v) {
        case 0: st(other, i); POLL(ld, mine); break;
        case 1: FREL(); st(other, i); POLL(ld, mine); FACQ(); break;
        case 2: FREL(); st(other, i); POLL(ld, mine); break;
        case 3: st(other, i); POLL(ld, mine); FACQ(); break;
        case 4: __threadfence_system(); stv(other, i); POLL(ld, mine); break;
        case 5: strel(other, i); POLL(ldacq, mine); break;
        case 6: FREL(); st(mine, i); POLL(ld, other); break;
        case 7: { u64 b = xs(mine + 16, 1); FREL(); st(other, i); POLL(ld, mine); FACQ(); st(mine + 32, i); st(mine + 16, 0); bad += b; break; }
        case 8: { u64 b = xg(mine + 16, 1); FREL(); st(other, i); POLL(ld, mine); FACQ(); st(mine + 32, i); st(mine + 16, 0); bad += b; break; }
        case 9: { FREL(); st(other, i); POLL(ld, mine); FACQ(); st(mine + 32, i); st(mine + 16, 0); break; }
        case 10: { u64 b = xs(mine + 16, 1); st(other, i); POLL(ld, mine); bad += b; break; }
        case 11: { u64 b = xg(mine + 16, 1); st(other, i); POLL(ld, mine); bad += b; break; }
        case 12: { FREL(); atomicAdd_system(other, 1ull); POLL(ld, mine); break; }
        case 13: { atomicAdd_system(other, 1ull); POLL(ld, mine); break; }
        case 14: st(mine, i); POLL(ld, other); break;
        case 15: { u64 s = ld(mine + 32); FREL(); st(other, s + 1); POLL(ld, mine); FACQ(); st(mine + 32, s + 1); break; }
        case 16: { xs(mine + 16, 1); u64 s = ld(mine + 32); FREL(); st(other, s + 1); POLL(ld, mine); FACQ(); st(mine + 32, s + 1); st(mine + 16, 0); break; }
        case 17: { st(other + 48, i); FREL(); st(other, i); POLL(ld, mine); break; } // pingpong-like
        case 18: { FARG(); st(other, i); POLL(ld, mine); break; }
        case 19: { u64 s = ld(mine + 32); FREL(); st(other, s + 1); POLL(ld, mine); st(mine + 32, s + 1); FACQ(); break; }
        }
        if (blockDim.x > 1) __syncthreads();
    }
    if (me) { out[0] = now() - t0; out[1] = bad; }
}
__global__ void one(int v, u64 *mine, u64 *other, u64 *host, u64 *out)
{
    u64 t0 = 0, s = 0;
    for (u64 i = 1; i <= N + 200; i++) {
        if (i == 200) t0 = now();
        switch (v) {
        case 0: FREL(); break;
        case 1: FACQ(); break;
        case 2: FAR(); break;
        case 3: st(mine, i); FREL(); break;
        case 4: st(other, i); FREL(); break;
        case 5: s += xs(mine + (s & 1), i); break;
        case 6: s += xg(mine + (s & 1), i); break;
        case 7: s += ld(mine + (s & 1)); break;
        case 8: s += ldg(mine + (s & 1)); break;
        case 9: s += ld(other + (s & 1)); break;
        case 10: s += ld(host + (s & 1)); break;
        case 11: xs(mine, i); FREL(); break;
        case 12: xg(mine, i); FREL(); break;
        case 13: FARG(); break;
        case 14: st(mine, i); FARG(); break;
        case 15: st(other, i); FARG(); break;
        case 16: s += atomicAdd_system(other + (s & 0), 1ull); break;
        case 17: st(host, i); FREL(); break;
        case 18: st(other, i); FAR(); break;
        case 19: atomicAdd_system(other, 1ull); FREL(); break;
        case 20: { u64 a = ld(mine), b = ld(mine + 64), c = ld(mine + 128); s += a + b + c; FREL(); break; }
        case 21: st(other, i); break;
        }
    }
    out[0] = now() - t0; out[1] = s;
}
int main()
{
    u64 *m[2], *out[2], *host; cudaStream_t q[2];
    CK(cudaHostAlloc(&host, 4096, cudaHostAllocMapped | cudaHostAllocPortable));
    for (int g = 0; g < 2; g++) {
        CK(cudaSetDevice(g));
        cudaDeviceEnablePeerAccess(1 - g, 0);
        CK(cudaMalloc(&m[g], 4096)); CK(cudaMallocHost(&out[g], 64)); CK(cudaStreamCreateWithFlags(&q[g], cudaStreamNonBlocking));
    }
    static const char *const what1[] = {"fence.release", "fence.acquire", "fence.acq_rel", "st own, release", "st peer, release", "exch.sys own", "exch.gpu own", "ld.sys own", "ld.gpu own", "ld.sys peer", "ld.sys host", "exch.sys own unused, release", "exch.gpu own unused, release", "fence.gpu", "st own, fence.gpu", "st peer, fence.gpu", "add peer fetched", "st host, release", "st peer, acq_rel", "red peer, release", "3 ld own, release", "st peer"};
    for (int v = 0; v < 22; v++) {
        CK(cudaSetDevice(0));
        one<<<1, 1, 0, q[0]>>>(v, m[0], m[1], host, out[0]);
        CK(cudaDeviceSynchronize());
        printf("one %2d %-32s %7.1f ns\n", v, what1[v], (double)out[0][0] / N);
    }
    static const char *const what2[] = {"flag, poll", "release, flag, poll, acquire", "release, flag, poll", "flag, poll, acquire", "threadfence, volatile, poll", "st.release, ld.acquire", "pull: release, own, poll peer", "exch.sys, 1, seq, busy", "exch.gpu, 1, seq, busy", "1, seq, busy", "exch.sys, flag, poll", "exch.gpu, flag, poll", "release, red, poll", "red, poll", "pull without release", "ld seq, 1, st seq", "exch.sys unused, ld seq, 1, seq, busy", "st data, release, flag, poll", "fence.gpu, flag, poll", "ld seq, 1, st seq before acquire"};
    for (int threads = 1; threads <= 1024; threads += 1023) for (int v = 0; v < 20; v++) {
        for (int g = 0; g < 2; g++) { CK(cudaSetDevice(g)); CK(cudaMemset(m[g], 0, 4096)); CK(cudaDeviceSynchronize()); }
        for (int g = 0; g < 2; g++) { CK(cudaSetDevice(g)); bar<<<1, threads, 0, q[g]>>>(v, m[g], m[1 - g], out[g]); }
        for (int g = 0; g < 2; g++) { CK(cudaSetDevice(g)); CK(cudaDeviceSynchronize()); }
        printf("bar %4d %2d %-38s %7.1f ns bad %llu %llu\n", threads, v, what2[v], (double)out[0][0] / N, out[0][1], out[1][1]);
    }
    return 0;
}

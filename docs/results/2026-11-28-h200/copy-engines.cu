// Copy engines and kernels for large reductions of two GPUs: which shape is the fastest.  One process, peer access.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cstdint>
#include <vector>
#include <functional>
#include <time.h>
#define CK(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { printf("FAILED %s:%d %s: %s\n", __FILE__, __LINE__, #x, cudaGetErrorString(e_)); fflush(stdout); exit(1); } } while (0)
static double now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static double g_begin, g_budget;
static int late() { return now() - g_begin > g_budget; }
static const size_t MI = 1 << 20;
static const size_t MOST = 512 * MI;

// ---- kernels
__device__ __forceinline__ float4 add(float4 a, float4 b) { a.x += b.x; a.y += b.y; a.z += b.z; a.w += b.w; return a; }
// to = a + b, U vectors of 16 bytes in flight a thread
template <int U> __global__ void __launch_bounds__(512) combine(float4 *to, const float4 *a, const float4 *b, size_t n, float4 *also)
{
    size_t stride = (size_t)gridDim.x * blockDim.x, i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + (U - 1) * stride < n; i += U * stride) {
        float4 x[U], y[U];
#pragma unroll
        for (int u = 0; u < U; u++) { x[u] = __ldcs(a + i + u * stride); y[u] = __ldcs(b + i + u * stride); }
#pragma unroll
        for (int u = 0; u < U; u++) { float4 s = add(x[u], y[u]); to[i + u * stride] = s; if (also) also[i + u * stride] = s; }
    }
    for (; i < n; i += stride) { float4 s = add(a[i], b[i]); to[i] = s; if (also) also[i] = s; }
}
__global__ void empty(uint32_t *flag) { if (flag && threadIdx.x == 0) asm volatile("st.release.sys.u32 [%0], 1;" ::"l"(flag)); }
__global__ void fillk(float *p, size_t n, float base) { for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) p[i] = base + (float)(i % 1021); }
__global__ void checkk(const float *p, size_t n, float base, unsigned long long *bad) { for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (size_t)gridDim.x * blockDim.x) if (p[i] != base + 2.f * (float)(i % 1021)) atomicAdd(bad, 1ull); }
// raw stores to a peer: tiles of `tile` vectors, block b takes tiles b, b + grid, ...  or a part of its own (part=1)
template <int U> __global__ void __launch_bounds__(512) rawstore(float4 *to, const float4 *from, size_t n, int part)
{
    size_t per = (n + gridDim.x - 1) / gridDim.x;
    size_t lo = part ? blockIdx.x * per : 0, hi = part ? (lo + per < n ? lo + per : n) : n;
    size_t stride = part ? blockDim.x : (size_t)gridDim.x * blockDim.x;
    size_t i = lo + (part ? threadIdx.x : (size_t)blockIdx.x * blockDim.x + threadIdx.x);
    for (; i + (U - 1) * stride < hi; i += U * stride) {
        float4 x[U];
#pragma unroll
        for (int u = 0; u < U; u++) x[u] = __ldcs(from + i + u * stride);
#pragma unroll
        for (int u = 0; u < U; u++) to[i + u * stride] = x[u];
    }
    for (; i < hi; i += stride) to[i] = from[i];
}
__device__ __forceinline__ uint32_t smem(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void bulk_in(void *s, const void *g, uint32_t bytes, uint64_t *bar)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(smem(bar)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(smem(s)), "l"(g), "r"(bytes), "r"(smem(bar)) : "memory");
}
__device__ __forceinline__ void bulk_wait(uint64_t *bar, uint32_t parity)
{
    asm volatile("{ .reg .pred p; L%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1; @!p bra L%=; }" ::"r"(smem(bar)), "r"(parity) : "memory");
}
__device__ __forceinline__ void bulk_out(void *g, const void *s, uint32_t bytes)
{
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(g), "r"(smem(s)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
// The sender of a pipe: stages of `stage` bytes through shared memory; slots of `slot` bytes in the peer's window, a flag each.
// window == NULL: to `direct`, no flags.  One thread a block issues.
enum { STAGES = 8 };
struct pipe { char *window; uint32_t *full; uint32_t *free; size_t slot; int slots; uint32_t base; };
template <int LAG> __device__ void send_bulk(const char *from, char *direct, size_t bytes, int stage, pipe p, char *sh, uint64_t *bars, int part)
{
    // units (one slot each) of this block: u = b, b + grid, ...
    size_t units = (bytes + p.slot - 1) / p.slot;
    size_t per_block = (units + gridDim.x - 1) / gridDim.x;
    int b = blockIdx.x, grid = gridDim.x;
    auto unit = [&](size_t k) { return part ? (size_t)b * per_block + k : (size_t)b + k * grid; };
    auto mine = [&]() -> size_t { if (part) { size_t lo = (size_t)b * per_block; return lo >= units ? 0 : (units - lo < per_block ? units - lo : per_block); } return b < (int)units ? (units - b + grid - 1) / grid : 0; };
    size_t nunits = mine();
    int per = (int)(p.slot / stage);
    size_t total = nunits * per, issued = 0;
    auto place = [&](size_t k) { return unit(k / per) * p.slot + (k % per) * (size_t)stage; };
    auto length = [&](size_t k) -> uint32_t { size_t at = place(k); return at >= bytes ? 0u : (uint32_t)(bytes - at < (size_t)stage ? bytes - at : stage); };
    size_t posted = 0; // units whose flag is set
    for (; issued < total && issued < STAGES - LAG; issued++) if (uint32_t n = length(issued)) bulk_in(sh + (issued % STAGES) * stage, from + place(issued), n, &bars[issued % STAGES]);
    for (size_t k = 0; k < total; k++) {
        uint32_t n = length(k);
        if (p.window && k % per == 0) { // the slot must be free
            size_t u = k / per;
            if (u >= (size_t)p.slots) {
                uint32_t want = p.base + (uint32_t)(u - p.slots) + 1, v;
                do { asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(p.free + b * 32)); } while ((int)(v - want) < 0);
            }
        }
        if (n) {
            bulk_wait(&bars[k % STAGES], (k / STAGES) & 1);
            size_t u = k / per;
            char *to = p.window ? p.window + ((size_t)b * p.slots + u % p.slots) * p.slot + (k % per) * (size_t)stage : direct + place(k);
            bulk_out(to, sh + (k % STAGES) * stage, n);
        } else asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        // groups up to k - LAG are complete: their shared memory is free and, for the flag, their writes done
        asm volatile("cp.async.bulk.wait_group %0;" ::"n"(LAG) : "memory");
        if (p.window && k >= LAG) {
            size_t done = (k - LAG + 1) / per;
            if (done > posted) { posted = done; asm volatile("fence.proxy.async;" ::: "memory"); asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(p.full + b * 32), "r"(p.base + (uint32_t)posted) : "memory"); }
        }
        if (issued < total) { if (uint32_t m = length(issued)) bulk_in(sh + (issued % STAGES) * stage, from + place(issued), m, &bars[issued % STAGES]); issued++; }
    }
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
    if (p.window && posted < nunits) { asm volatile("fence.proxy.async;" ::: "memory"); asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(p.full + b * 32), "r"(p.base + (uint32_t)nunits) : "memory"); }
}
template <int LAG> __global__ void __launch_bounds__(64) bulk_send(const char *from, char *direct, size_t bytes, int stage, pipe p, int part)
{
    extern __shared__ __align__(128) char sh[];
    __shared__ __align__(8) uint64_t bars[STAGES];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(smem(&bars[i])));
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async;" ::: "memory");
        send_bulk<LAG>(from, direct, bytes, stage, p, sh, bars, part);
    }
}
// The same by stores of 16 bytes.
template <int U> __global__ void __launch_bounds__(512) store_send(const char *from, size_t bytes, pipe p, int part)
{
    size_t units = (bytes + p.slot - 1) / p.slot, per_block = (units + gridDim.x - 1) / gridDim.x;
    int b = blockIdx.x, grid = gridDim.x;
    for (size_t k = 0;; k++) {
        size_t u = part ? b * per_block + k : b + k * grid;
        if (u >= units || (part && k >= per_block)) break;
        if (k >= (size_t)p.slots) {
            if (threadIdx.x == 0) { uint32_t want = p.base + (uint32_t)(k - p.slots) + 1, v; do { asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(p.free + b * 32)); } while ((int)(v - want) < 0); }
            __syncthreads();
        }
        size_t at = u * p.slot, n = (bytes - at < p.slot ? bytes - at : p.slot) / 16;
        const float4 *f = (const float4 *)(from + at);
        float4 *t = (float4 *)(p.window + ((size_t)b * p.slots + k % p.slots) * p.slot);
        size_t i = threadIdx.x;
        for (; i + (U - 1) * blockDim.x < n; i += U * blockDim.x) {
            float4 x[U];
#pragma unroll
            for (int v = 0; v < U; v++) x[v] = __ldcs(f + i + v * blockDim.x);
#pragma unroll
            for (int v = 0; v < U; v++) t[i + v * blockDim.x] = x[v];
        }
        for (; i < n; i += blockDim.x) t[i] = f[i];
        __syncthreads();
        if (threadIdx.x == 0) { asm volatile("fence.acq_rel.sys;" ::: "memory"); asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(p.full + b * 32), "r"(p.base + (uint32_t)k + 1) : "memory"); }
    }
}
template <int U> __global__ void __launch_bounds__(512) root_combine(char *to, const char *own, size_t bytes, pipe p, int part)
{
    size_t units = (bytes + p.slot - 1) / p.slot, per_block = (units + gridDim.x - 1) / gridDim.x;
    int b = blockIdx.x, grid = gridDim.x;
    for (size_t k = 0;; k++) {
        size_t u = part ? b * per_block + k : b + k * grid;
        if (u >= units || (part && k >= per_block)) break;
        if (threadIdx.x == 0) { uint32_t want = p.base + (uint32_t)k + 1, v; do { asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(p.full + b * 32)); } while ((int)(v - want) < 0); }
        __syncthreads();
        size_t at = u * p.slot, n = (bytes - at < p.slot ? bytes - at : p.slot) / 16;
        const float4 *f = (const float4 *)(p.window + ((size_t)b * p.slots + k % p.slots) * p.slot), *o = (const float4 *)(own + at);
        float4 *t = (float4 *)(to + at);
        size_t i = threadIdx.x;
        for (; i + (U - 1) * blockDim.x < n; i += U * blockDim.x) {
            float4 x[U], y[U];
#pragma unroll
            for (int v = 0; v < U; v++) { x[v] = __ldcg(f + i + v * blockDim.x); y[v] = __ldcs(o + i + v * blockDim.x); }
#pragma unroll
            for (int v = 0; v < U; v++) t[i + v * blockDim.x] = add(x[v], y[v]);
        }
        for (; i < n; i += blockDim.x) t[i] = add(__ldcg(f + i), o[i]);
        __syncthreads();
        if (threadIdx.x == 0) asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(p.free + b * 32), "r"(p.base + (uint32_t)k + 1) : "memory");
    }
}

// ---- push through a window with flags, as ranks of two processes would do it
// side kernel of the sender: sets *full (at the receiver) to `mark` when mark > 0, then waits until *acked >= wait
__global__ void side(uint32_t *full, uint32_t mark, const uint32_t *acked, uint32_t wait)
{
    if (threadIdx.x) return;
    if (mark) asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(full), "r"(mark) : "memory");
    if (wait) { uint32_t v; do { asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(acked) : "memory"); } while ((int)(v - wait) < 0); }
}
// receiver, chunks first .. first + count: each block its part of each chunk; the last block of a chunk acknowledges
// full[s]: chunks that have come by stream s of the sender (chunk c by stream c % ns)
template <int U> __global__ void __launch_bounds__(512) take(char *to, const char *own, const char *window, size_t bytes, size_t chunk, int slots, int ns, const uint32_t *full, uint32_t *counts, uint32_t *ack, uint32_t first, uint32_t count)
{
    for (uint32_t c = first; c < first + count; c++) {
        if (threadIdx.x == 0) { uint32_t want = c / ns + 1, v; const uint32_t *f = full + (c % ns) * 32; do { asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(f) : "memory"); } while ((int)(v - want) < 0); }
        __syncthreads();
        size_t at = c * chunk, n = (bytes - at < chunk ? bytes - at : chunk) / 16;
        const float4 *w = (const float4 *)(window + (c % slots) * chunk), *o = (const float4 *)(own + at);
        float4 *t = (float4 *)(to + at);
        size_t stride = (size_t)gridDim.x * blockDim.x, i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
        for (; i + (U - 1) * stride < n; i += U * stride) {
            float4 x[U], y[U];
#pragma unroll
            for (int u = 0; u < U; u++) { x[u] = __ldcg(w + i + u * stride); y[u] = __ldcs(o + i + u * stride); }
#pragma unroll
            for (int u = 0; u < U; u++) __stcs(t + i + u * stride, add(y[u], x[u]));
        }
        for (; i < n; i += stride) t[i] = add(o[i], __ldcg(w + i));
        __syncthreads();
        if (threadIdx.x == 0) {
            __threadfence();
            if (atomicAdd(&counts[c], 1) + 1 == gridDim.x) { counts[c] = 0; __threadfence_system(); asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(ack), "r"(c + 1) : "memory"); }
        }
    }
}

// ---- set-up
static char *in_[2], *out_[2], *scr_[2];
static uint32_t *fl[2]; // of flags: full at 0, free at 8192 words
static unsigned long long *bad;
static cudaStream_t ms[2], cs[2][8], ks[2][2]; // main, copies, kernels
static std::vector<cudaEvent_t> pool[2];
static size_t used[2];
static void on(int g) { CK(cudaSetDevice(g)); }
static cudaEvent_t ev(int g) { if (used[g] == pool[g].size()) { on(g); cudaEvent_t e; CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); pool[g].push_back(e); } return pool[g][used[g]++]; }
static void after(cudaStream_t later, int g, cudaStream_t first) { cudaEvent_t e = ev(g); CK(cudaEventRecord(e, first)); CK(cudaStreamWaitEvent(later, e, 0)); }

typedef std::function<void()> Body;
// us of one call: graph replayed back to back, or eager back to back
static double timed(const Body &body, int graph, size_t weight, int *failed = nullptr)
{
    int reps = (int)(8e9 / (weight + 20e6)); // about 20 ms
    if (reps > 60) reps = 60;
    if (reps < 8) reps = 8;
    cudaEvent_t a, b;
    on(0);
    CK(cudaEventCreate(&a)); CK(cudaEventCreate(&b));
    cudaGraphExec_t exec = nullptr;
    if (graph) {
        cudaGraph_t g;
        used[0] = used[1] = 0;
        CK(cudaStreamBeginCapture(ms[0], cudaStreamCaptureModeRelaxed));
        body();
        on(0);
        CK(cudaStreamEndCapture(ms[0], &g));
        CK(cudaGraphInstantiate(&exec, g, 0));
        CK(cudaGraphDestroy(g));
    }
    auto once = [&]() { if (graph) CK(cudaGraphLaunch(exec, ms[0])); else { used[0] = used[1] = 0; body(); on(0); } };
    for (int i = 0; i < 3; i++) once();
    CK(cudaStreamSynchronize(ms[0]));
    double best = 1e9;
    for (int turn = 0; turn < 2; turn++) {
        CK(cudaEventRecord(a, ms[0]));
        for (int i = 0; i < reps; i++) once();
        CK(cudaEventRecord(b, ms[0]));
        CK(cudaStreamSynchronize(ms[0]));
        float t; CK(cudaEventElapsedTime(&t, a, b));
        if (1e3 * t / reps < best) best = 1e3 * t / reps;
    }
    if (exec) CK(cudaGraphExecDestroy(exec));
    CK(cudaEventDestroy(a)); CK(cudaEventDestroy(b));
    return best;
}

// copies alone: pull (streams of GPU 0 read GPU 1) or push; both: the other direction beside it
static void copies(size_t bytes, size_t chunk, int ns, int push, int both)
{
    for (int dir = 0; dir < 1 + both; dir++) {
        int to = dir, from = 1 - dir, by = push ? from : to;
        for (int k = 0; k < ns; k++) after(cs[by][k], 0, ms[0]);
        int i = 0;
        for (size_t at = 0; at < bytes; at += chunk, i++) {
            size_t n = bytes - at < chunk ? bytes - at : chunk;
            on(by);
            CK(cudaMemcpyAsync(out_[to] + at, in_[from] + at, n, cudaMemcpyDeviceToDevice, cs[by][i % ns]));
        }
        on(by);
        for (int k = 0; k < ns; k++) after(ms[0], by, cs[by][k]);
    }
}
enum shape { DIRECT, RING, OWNED };
// reduce of GPU `to`: result = its own + the peer's; where: DIRECT into the result, combined there; RING: slots of scratch
static void reduce_to(int to, cudaStream_t main, size_t begin, size_t bytes, size_t chunk, int ns, int nk, int blocks, int slots, int push, int also, size_t shift)
{
    int from = 1 - to, by = push ? from : to;
    std::vector<cudaEvent_t> combined;
    for (int k = 0; k < ns; k++) after(cs[by][k], to, main);
    for (int k = 1; k < nk; k++) after(ks[to][k], to, main);
    int i = 0;
    for (size_t at = 0; at < bytes; at += chunk, i++) {
        size_t n = bytes - at < chunk ? bytes - at : chunk;
        char *land = slots ? scr_[to] + (size_t)(i % slots) * chunk : out_[to] + begin + at;
        cudaStream_t c = cs[by][i % ns], k = nk > 1 && i % nk ? ks[to][i % nk] : main;
        if (slots && i >= slots) CK(cudaStreamWaitEvent(c, combined[i - slots], 0));
        on(by);
        CK(cudaMemcpyAsync(land, in_[from] + begin + at, n, cudaMemcpyDeviceToDevice, c));
        after(k, by, c);
        on(to);
        float4 *peer = also ? (float4 *)(out_[from] + begin + at) : nullptr;
        combine<4><<<blocks, 512, 0, k>>>((float4 *)(out_[to] + begin + at + shift), (const float4 *)(in_[to] + begin + at), (const float4 *)land, n / 16, peer);
        CK(cudaGetLastError());
        if (slots) { cudaEvent_t e = ev(to); CK(cudaEventRecord(e, k)); combined.push_back(e); }
    }
    for (int k = 1; k < nk; k++) after(main, to, ks[to][k]);
    for (int k = 0; k < ns; k++) after(main, by, cs[by][k]);
}
static void ends(cudaStream_t s, int g) { on(g); empty<<<1, 32, 0, s>>>(fl[g] + 20000); CK(cudaGetLastError()); }
static Body reduce_body(size_t bytes, size_t chunk, int ns, int nk, int blocks, int slots, int push, int meets)
{
    return [=]() { if (meets) ends(ms[0], 0); reduce_to(0, ms[0], 0, bytes, chunk, ns, nk, blocks, slots, push, 0, 0); if (meets) ends(ms[0], 0); };
}
static void verify(const char *what, size_t bytes)
{
    on(0);
    CK(cudaMemsetAsync(bad, 0, 8, ms[0]));
    checkk<<<264, 512, 0, ms[0]>>>((float *)out_[0], bytes / 4, 3.f, bad);
    unsigned long long n;
    CK(cudaMemcpyAsync(&n, bad, 8, cudaMemcpyDeviceToHost, ms[0]));
    CK(cudaStreamSynchronize(ms[0]));
    if (n) printf("WRONG %s %zu: %llu elements\n", what, bytes, n);
}
static void clear() { on(0); CK(cudaMemset(out_[0], 0xff, MOST)); on(1); CK(cudaMemset(out_[1], 0xff, MOST)); CK(cudaDeviceSynchronize()); on(0); CK(cudaDeviceSynchronize()); }

// pipes of kernels: sender on GPU 1, root on GPU 0, one capture of both
static double pipes(size_t bytes, int blocks, size_t slot, int slots, int bulk, int stage, int lag, int part, int rblocks_same)
{
    (void)rblocks_same;
    on(0); CK(cudaMemset(fl[0], 0, 65536)); CK(cudaDeviceSynchronize()); on(1); CK(cudaMemset(fl[1], 0, 65536)); CK(cudaDeviceSynchronize());
    int reps = (int)(8e9 / (bytes + 20e6)); if (reps > 60) reps = 60; if (reps < 8) reps = 8;
    auto once = [&]() {
        used[0] = used[1] = 0;
        // flags restart from 0 at each call: reset by memsets in the order of the streams
        after(ms[1], 0, ms[0]);
        on(0); CK(cudaMemsetAsync(fl[0], 0, 65536, ms[0])); on(1); CK(cudaMemsetAsync(fl[1], 0, 65536, ms[1]));
        after(ms[0], 1, ms[1]); after(ms[1], 0, ms[0]);
        pipe s = {scr_[0], fl[0], fl[1], slot, slots, 0}, r = {scr_[0], fl[0], fl[1], slot, slots, 0};
        on(1);
        if (bulk) { int sh = STAGES * stage; if (lag == 2) bulk_send<2><<<blocks, 64, sh, ms[1]>>>(in_[1], nullptr, bytes, stage, s, part); else bulk_send<5><<<blocks, 64, sh, ms[1]>>>(in_[1], nullptr, bytes, stage, s, part); }
        else store_send<8><<<blocks, 512, 0, ms[1]>>>(in_[1], bytes, s, part);
        CK(cudaGetLastError());
        on(0);
        root_combine<4><<<blocks, 512, 0, ms[0]>>>(out_[0], in_[0], bytes, r, part);
        CK(cudaGetLastError());
        after(ms[0], 1, ms[1]);
    };
    return timed(once, 1, bytes);
}

// reduce to `to` of `bytes` from `begin` on; each: chunks of a launch of the receiver, 0: all in one
static void through(int to, size_t begin, size_t bytes, size_t chunk, int ns, int slots, int blocks, uint32_t each)
{
    int from = 1 - to;
    uint32_t n = (uint32_t)((bytes + chunk - 1) / chunk);
    // after the meeting of both, which the caller makes
    for (int k = 0; k < ns; k++) after(cs[from][k], from, ms[from]);
    on(from);
    for (uint32_t c = 0; c < n; c++) {
        cudaStream_t s = cs[from][c % ns];
        size_t at = (size_t)c * chunk, len = bytes - at < chunk ? bytes - at : chunk;
        uint32_t wait = c >= (uint32_t)slots ? c - slots + 1 : 0, mark = c / ns; // of the chunk before in this stream
        if (c >= (uint32_t)ns || wait) { side<<<1, 32, 0, s>>>(fl[to] + (c % ns) * 32, mark, fl[from] + 4096, wait); CK(cudaGetLastError()); }
        CK(cudaMemcpyAsync(scr_[to] + (size_t)(c % slots) * chunk, in_[from] + begin + at, len, cudaMemcpyDeviceToDevice, s));
    }
    for (int k = 0; k < ns && k < (int)n; k++) { side<<<1, 32, 0, cs[from][k]>>>(fl[to] + k * 32, (n - 1 - k) / ns + 1, nullptr, 0); CK(cudaGetLastError()); }
    on(to);
    if (!each) each = n;
    for (uint32_t c = 0; c < n; c += each) {
        take<4><<<blocks, 512, 0, ms[to]>>>(out_[to] + begin, in_[to] + begin, scr_[to], bytes, chunk, slots, ns, fl[to], fl[to] + 8192, fl[from] + 4096, c, n - c < each ? n - c : each);
        CK(cudaGetLastError());
    }
    for (int k = 0; k < ns; k++) { on(from); after(ms[from], from, cs[from][k]); }
}
// both: a reduce-scatter of `bytes` a rank
static Body through_body(size_t bytes, size_t chunk, int ns, int slots, int blocks, uint32_t each, int both)
{
    return [=]() {
        after(ms[1], 0, ms[0]);
        for (int g = 0; g < 2; g++) { on(g); CK(cudaMemsetAsync(fl[g], 0, 32768, ms[g])); }
        after(ms[0], 1, ms[1]); after(ms[1], 0, ms[0]); // they meet
        if (both) { through(0, 0, bytes / 2, chunk, ns, slots, blocks, each); through(1, bytes / 2, bytes - bytes / 2, chunk, ns, slots, blocks, each); }
        else through(0, 0, bytes, chunk, ns, slots, blocks, each);
        after(ms[0], 1, ms[1]); on(0);
    };
}

int main(int argc, char **argv)
{
    g_begin = now(); g_budget = argc > 1 ? atof(argv[1]) : 60;
    int n = 0;
    if (cudaGetDeviceCount(&n) != cudaSuccess || n < 2) { printf("two GPUs are needed, %d found\n", n); return 0; }
    for (int g = 0; g < 2; g++) {
        on(g);
        cudaDeviceProp p; CK(cudaGetDeviceProperties(&p, g));
        printf("GPU %d: %s, %d multiprocessors, %d copy engines\n", g, p.name, p.multiProcessorCount, p.asyncEngineCount);
        CK(cudaDeviceEnablePeerAccess(1 - g, 0));
        CK(cudaMalloc(&in_[g], MOST)); CK(cudaMalloc(&out_[g], MOST)); CK(cudaMalloc(&scr_[g], 256 * MI)); CK(cudaMalloc(&fl[g], 131072));
        CK(cudaMemset(fl[g], 0, 131072)); CK(cudaMemset(scr_[g], 0, 256 * MI));
        int lo, hi; CK(cudaDeviceGetStreamPriorityRange(&lo, &hi));
        CK(cudaStreamCreateWithPriority(&ms[g], cudaStreamNonBlocking, hi));
        for (int k = 0; k < 8; k++) CK(cudaStreamCreateWithFlags(&cs[g][k], cudaStreamNonBlocking));
        for (int k = 0; k < 2; k++) CK(cudaStreamCreateWithPriority(&ks[g][k], cudaStreamNonBlocking, hi));
        fillk<<<264, 512>>>((float *)in_[g], MOST / 4, g ? 1.f : 2.f);
        CK(cudaFuncSetAttribute(bulk_send<2>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
        CK(cudaFuncSetAttribute(bulk_send<5>, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
        CK(cudaDeviceSynchronize());
    }
    on(0); CK(cudaMalloc(&bad, 8));
    printf("set up after %.1f s\n", now() - g_begin);
    const size_t sizes[] = {32 * MI, 128 * MI, 512 * MI};
#define GB(bytes, us) ((double)(bytes) / (us) * 1e-3)
    // 1. copies alone
    printf("\n# copies alone in a graph, us (GB/s): pull | push | both pull | both push; bytes chunk streams\n");
    for (size_t s : {32 * MI, 64 * MI, 512 * MI})
        for (size_t c : {2 * MI, 8 * MI, 0 * MI})
            for (int ns : {1, 2, 3, 4}) {
                if (late()) break;
                size_t chunk = c ? c : s / ns;
                double r[4];
                for (int m = 0; m < 4; m++) r[m] = timed([=]() { copies(s, chunk, ns, m & 1, m >> 1); }, 1, s);
                printf("%4zu MiB, chunks of %6.1f MiB, %d streams: %8.1f (%5.1f) | %8.1f (%5.1f) | %8.1f (%5.1f) | %8.1f (%5.1f)\n", s / MI, (double)chunk / MI, ns, r[0], GB(s, r[0]), r[1], GB(s, r[1]), r[2], GB(s, r[2]), r[3], GB(s, r[3]));
            }
    fflush(stdout);
    // 2. reduce: chunk and streams
    printf("\n# reduce of two, in a graph, with an empty kernel at both ends, 32 blocks, direct into the result: us pull 1, 2, 3, 4 streams | push 2, 3 streams | eager pull 2\n");
    size_t best_chunk[3]; int best_ns[3], best_push[3]; double best_us[3];
    for (int z = 0; z < 3; z++) {
        best_us[z] = 1e9;
        for (size_t chunk : {MI, 2 * MI, 4 * MI, 8 * MI, 16 * MI}) {
            if (late()) break;
            printf("%4zu MiB, chunks of %2zu MiB:", sizes[z] / MI, chunk / MI);
            for (int m = 0; m < 6; m++) {
                int ns = m < 4 ? m + 1 : m - 2, push = m >= 4;
                double t = timed(reduce_body(sizes[z], chunk, ns, 1, 32, 0, push, 1), 1, sizes[z]);
                printf(" %8.1f%s", t, m == 3 ? " |" : "");
                if (t < best_us[z]) { best_us[z] = t; best_chunk[z] = chunk; best_ns[z] = ns; best_push[z] = push; }
            }
            printf(" | %8.1f\n", timed(reduce_body(sizes[z], chunk, 2, 1, 32, 0, 0, 1), 0, sizes[z]));
        }
        fflush(stdout);
    }
    for (int z = 0; z < 3; z++) if (best_us[z] < 1e8) printf("best %4zu MiB: %.1f us (%.1f GB/s): chunks of %zu MiB, %d streams, %s\n", sizes[z] / MI, best_us[z], GB(sizes[z], best_us[z]), best_chunk[z] / MI, best_ns[z], best_push[z] ? "push" : "pull");
    // 3. blocks, kernel streams, slots
    printf("\n# the best pull with 8, 16, 32, 64, 132 blocks | two kernel streams | slots of scratch 2, 4, 8 (32 blocks) | one slot a chunk in scratch of 256 MiB\n");
    for (int z = 0; z < 3; z++)
        for (size_t chunk : {2 * MI, 4 * MI}) {
            if (late()) break;
            printf("%4zu MiB, chunks of %zu MiB, 2 streams:", sizes[z] / MI, chunk / MI);
            for (int b : {8, 16, 32, 64, 132}) printf(" %8.1f", timed(reduce_body(sizes[z], chunk, 2, 1, b, 0, 0, 1), 1, sizes[z]));
            printf(" | %8.1f |", timed(reduce_body(sizes[z], chunk, 2, 2, 32, 0, 0, 1), 1, sizes[z]));
            for (int sl : {2, 4, 8}) printf(" %8.1f", timed(reduce_body(sizes[z], chunk, 2, 1, 32, sl, 0, 1), 1, sizes[z]));
            if (sizes[z] <= 256 * MI) printf(" | %8.1f", timed(reduce_body(sizes[z], chunk, 2, 1, 32, (int)(sizes[z] / chunk), 0, 1), 1, sizes[z]));
            printf("\n");
        }
    fflush(stdout);
    for (size_t s : {MI, 32 * MI, 512 * MI})
        for (int m = 0; m < 4; m++) { clear(); timed(reduce_body(s, MI / (s == MI ? 2 : 1), 2, 1 + (m & 1), 32, m == 2 ? 4 : 0, m == 3, 1), 1, s); verify("reduce", s); }
    // all sizes, the best few
    printf("\n# reduce, all sizes, chunks of 1, 2, 4 MiB with pull 2 streams 32 blocks | half of the bytes as one chunk each | eager 1, 2, 4 MiB\n");
    for (size_t s : {4 * MI, 8 * MI, 16 * MI, 32 * MI, 64 * MI, 128 * MI, 256 * MI, 512 * MI}) {
        if (late()) break;
        printf("%4zu MiB:", s / MI);
        for (size_t chunk : {MI, 2 * MI, 4 * MI}) printf(" %8.1f", timed(reduce_body(s, chunk, 2, 1, 32, 0, 0, 1), 1, s));
        printf(" | %8.1f |", timed(reduce_body(s, s / 2, 2, 1, 64, 0, 0, 1), 1, s));
        for (size_t chunk : {MI, 2 * MI, 4 * MI}) printf(" %8.1f", timed(reduce_body(s, chunk, 2, 1, 32, 0, 0, 1), 0, s));
        printf("\n");
    }
    fflush(stdout);

    printf("\n# reduce by pushes through a window with flags (about 8 us of set-up here): one receiving kernel; columns: 2 streams chunks of 1, 2, 4, 8 MiB (window 32 MiB) | 3 streams 1, 2, 4 | 1 stream 2, 4 | a kernel a chunk, 2 streams, 1, 2, 4, 8 | window 16, 8 MiB, chunks of 2 MiB, 2 streams | 16, 64, 128 blocks, 2 MiB\n");
    for (size_t s : {32 * MI, 128 * MI, 512 * MI}) {
        if (late()) break;
        printf("%4zu MiB:", s / MI);
        for (size_t c : {MI, 2 * MI, 4 * MI, 8 * MI}) printf(" %8.1f", timed(through_body(s, c, 2, (int)(32 * MI / c), 32, 0, 0), 1, s));
        printf(" |");
        for (size_t c : {MI, 2 * MI, 4 * MI}) printf(" %8.1f", timed(through_body(s, c, 3, (int)(32 * MI / c), 32, 0, 0), 1, s));
        printf(" |");
        for (size_t c : {2 * MI, 4 * MI}) printf(" %8.1f", timed(through_body(s, c, 1, (int)(32 * MI / c), 32, 0, 0), 1, s));
        printf(" |");
        for (size_t c : {MI, 2 * MI, 4 * MI, 8 * MI}) printf(" %8.1f", timed(through_body(s, c, 2, (int)(32 * MI / c), 32, 1, 0), 1, s));
        printf(" |");
        for (size_t w : {16 * MI, 8 * MI}) printf(" %8.1f", timed(through_body(s, 2 * MI, 2, (int)(w / (2 * MI)), 32, 0, 0), 1, s));
        printf(" |");
        for (int b : {16, 64, 128}) printf(" %8.1f", timed(through_body(s, 2 * MI, 2, 16, b, 0, 0), 1, s));
        printf("\n");
        fflush(stdout);
    }
    printf("# the same eager, 2 streams, chunks of 2, 4, 8 MiB: one kernel | a kernel a chunk;   reduce-scatter in a graph, one kernel, 2 streams, 1, 2, 4 MiB | 3 streams 1, 2 | a kernel a chunk 1, 2, 4 MiB\n");
    for (size_t s : {16 * MI, 32 * MI, 128 * MI, 512 * MI}) {
        if (late()) break;
        printf("%4zu MiB:", s / MI);
        for (uint32_t e : {0u, 1u}) { for (size_t c : {2 * MI, 4 * MI, 8 * MI}) printf(" %8.1f", timed(through_body(s, c, 2, (int)(32 * MI / c), 32, e, 0), 0, s)); printf(" |"); }
        printf("   ");
        for (size_t c : {MI, 2 * MI, 4 * MI}) printf(" %8.1f", timed(through_body(s, c, 2, (int)(32 * MI / c), 32, 0, 1), 1, s));
        printf(" |");
        for (size_t c : {MI, 2 * MI}) printf(" %8.1f", timed(through_body(s, c, 3, (int)(32 * MI / c), 32, 0, 1), 1, s));
        printf(" |");
        for (size_t c : {MI, 2 * MI, 4 * MI}) printf(" %8.1f", timed(through_body(s, c, 2, (int)(32 * MI / c), 32, 1, 1), 1, s));
        printf("\n");
        fflush(stdout);
    }
    for (uint32_t e : {0u, 1u}) { clear(); timed(through_body(100 * MI + 4096, 2 * MI, 2, 16, 32, e, 0), 1, 100 * MI); verify("reduce through a window", 100 * MI + 4096); }
    fflush(stdout);
    // 4. reduce-scatter: both ways at once, each half the bytes; allreduce: the result stored into the peer's result too, or copied
    printf("\n# reduce-scatter of all ranks' bytes, both ways at once, pull: chunks of 1, 2, 4 MiB with 2 streams | 1, 2, 4 with 1 stream | 3 streams of 2 MiB | push 2 MiB\n");
    auto scatter = [&](size_t s, size_t chunk, int ns, int push, int also) -> Body {
        return [=]() { ends(ms[0], 0); after(ms[1], 0, ms[0]); reduce_to(0, ms[0], 0, s / 2, chunk, ns, 1, 32, 0, push, also, 0); reduce_to(1, ms[1], s / 2, s / 2, chunk, ns, 1, 32, 0, push, also, 0); after(ms[0], 1, ms[1]); ends(ms[0], 0); };
    };
    for (size_t s : {16 * MI, 32 * MI, 64 * MI, 128 * MI, 512 * MI}) {
        if (late()) break;
        printf("%4zu MiB:", s / MI);
        for (int ns : {2, 1}) { for (size_t c : {MI, 2 * MI, 4 * MI}) printf(" %8.1f", timed(scatter(s, c, ns, 0, 0), 1, s)); printf(" |"); }
        printf(" %8.1f | %8.1f\n", timed(scatter(s, 2 * MI, 3, 0, 0), 1, s), timed(scatter(s, 2 * MI, 2, 1, 0), 1, s));
    }
    printf("\n# allreduce: pull, combine, kernel stores into both results, 2 streams: chunks of 1, 2, 4 MiB | pull, combine, copy engines push the result: 1, 2, 4 MiB, 1 + 1 streams | 2 + 2 streams\n");
    auto all = [&](size_t s, size_t chunk, int ns) -> Body {
        return [=]() {
            ends(ms[0], 0); after(ms[1], 0, ms[0]);
            for (int g = 0; g < 2; g++) for (int k = 0; k < 2 * ns; k++) after(cs[g][k], g, ms[g]);
            int i = 0;
            for (size_t at = 0; at < s / 2; at += chunk, i++)
                for (int g = 0; g < 2; g++) {
                    size_t n = s / 2 - at < chunk ? s / 2 - at : chunk, o = g * (s / 2) + at;
                    on(g);
                    CK(cudaMemcpyAsync(out_[g] + o, in_[1 - g] + o, n, cudaMemcpyDeviceToDevice, cs[g][i % ns]));
                    after(ms[g], g, cs[g][i % ns]);
                    combine<4><<<32, 512, 0, ms[g]>>>((float4 *)(out_[g] + o), (float4 *)(in_[g] + o), (float4 *)(out_[g] + o), n / 16, nullptr);
                    after(cs[g][ns + i % ns], g, ms[g]);
                    CK(cudaMemcpyAsync(out_[1 - g] + o, out_[g] + o, n, cudaMemcpyDeviceToDevice, cs[g][ns + i % ns]));
                }
            for (int g = 0; g < 2; g++) { on(g); for (int k = 0; k < 2 * ns; k++) after(ms[g], g, cs[g][k]); }
            after(ms[0], 1, ms[1]); ends(ms[0], 0);
        };
    };
    for (size_t s : {32 * MI, 128 * MI, 512 * MI}) {
        if (late()) break;
        printf("%4zu MiB:", s / MI);
        for (size_t c : {MI, 2 * MI, 4 * MI}) printf(" %8.1f", timed(scatter(s, c, 2, 0, 1), 1, 2 * s));
        for (int ns : {1, 2}) { printf(" |"); for (size_t c : {MI, 2 * MI, 4 * MI}) printf(" %8.1f", timed(all(s, c, ns), 1, 2 * s)); }
        printf("\n");
    }
    clear(); timed(all(32 * MI, 2 * MI, 2), 1, 32 * MI); verify("allreduce copied", 32 * MI);
    clear(); timed(scatter(32 * MI, 2 * MI, 2, 0, 1), 1, 32 * MI); verify("allreduce stored", 32 * MI);
    fflush(stdout);
    // 5. kernels: raw stores, raw bulk, pipes
    printf("\n# 512 MiB stored into the peer by a kernel, GB/s, blocks 16, 24, 32, 48, 64, 132, 264: strided by 8 | parts by 8 | strided by 4 | bulk copies of 16 KiB (units of 256 KiB strided) | (parts) | bulk of 8 KiB strided\n");
    for (int b : {16, 24, 32, 48, 64, 132, 264}) {
        if (late()) break;
        size_t s = MOST;
        double r[6];
        pipe none = {nullptr, nullptr, nullptr, 256 * 1024, 1, 0};
        for (int m = 0; m < 6; m++)
            r[m] = timed([=]() {
                after(ms[1], 0, ms[0]); on(1);
                if (m == 0) rawstore<8><<<b, 512, 0, ms[1]>>>((float4 *)out_[0], (float4 *)in_[1], s / 16, 0);
                if (m == 1) rawstore<8><<<b, 512, 0, ms[1]>>>((float4 *)out_[0], (float4 *)in_[1], s / 16, 1);
                if (m == 2) rawstore<4><<<b, 512, 0, ms[1]>>>((float4 *)out_[0], (float4 *)in_[1], s / 16, 0);
                if (m == 3) bulk_send<5><<<b, 64, STAGES * 16384, ms[1]>>>(in_[1], out_[0], s, 16384, none, 0);
                if (m == 4) bulk_send<5><<<b, 64, STAGES * 16384, ms[1]>>>(in_[1], out_[0], s, 16384, none, 1);
                if (m == 5) bulk_send<5><<<b, 64, STAGES * 8192, ms[1]>>>(in_[1], out_[0], s, 8192, none, 0);
                CK(cudaGetLastError());
                after(ms[0], 1, ms[1]); on(0);
            }, 1, s);
        printf("%3d blocks: %6.1f | %6.1f | %6.1f | %6.1f | %6.1f | %6.1f\n", b, GB(s, r[0]), GB(s, r[1]), GB(s, r[2]), GB(s, r[3]), GB(s, r[4]), GB(s, r[5]));
    }
    printf("\n# engines and kernel together, 512 MiB: the kernel's part 0, 5, 10, 15, 20, 30 %% by 16 blocks of stores beside 2 streams of pulls, us\n");
    for (int r = 0; r < 1 && !late(); r++) {
        for (int pc : {0, 5, 10, 15, 20, 30}) {
            size_t s = MOST, part = s / 100 * pc / MI * MI;
            printf(" %8.1f", timed([=]() {
                if (part) { after(ms[1], 0, ms[0]); on(1); rawstore<8><<<16, 512, 0, ms[1]>>>((float4 *)(out_[0] + s - part), (float4 *)(in_[1] + s - part), part / 16, 0); }
                copies(s - part, 8 * MI, 2, 0, 0);
                if (part) after(ms[0], 1, ms[1]);
                on(0);
            }, 1, s));
        }
        printf("\n");
    }
    printf("\n# reduce by kernels through a window (memsets of flags and a meeting before, about 8 us), us: stores | bulk copies lag 2 | lag 5; blocks, slot, slots, unit order\n");
    for (size_t s : {512 * MI, 32 * MI})
        for (int b : {16, 32, 64, 128})
            for (size_t slot : {64 * 1024, 256 * 1024})
                for (int part : {0, 1}) {
                    if (late()) break;
                    printf("%4zu MiB %3d blocks %3zu KiB x 4 %s: %8.1f", s / MI, b, slot / 1024, part ? "parts  " : "strided", pipes(s, b, slot, 4, 0, 0, 0, part, 1));
                    for (int lag : {2, 5}) printf(" | %8.1f", pipes(s, b, slot, 4, 1, 16384, lag, part, 1));
                    printf("\n");
                }
    clear(); if (!late()) { pipes(32 * MI, 32, 65536, 4, 1, 16384, 5, 0, 1); verify("bulk pipe", 32 * MI); clear(); pipes(32 * MI, 32, 65536, 4, 0, 0, 0, 1, 1); verify("store pipe", 32 * MI); }
    printf("%s after %.1f s\n", late() ? "cut" : "complete", now() - g_begin);
    return 0;
}

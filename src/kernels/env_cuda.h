/* The kernels' environment in CUDA C++: a block is up to TUTTI_FATBIN_THREADS threads, whole warps; peers' windows are
 * mapped memory. */
#ifndef TUTTI_KERNELS_ENV_CUDA_H
#define TUTTI_KERNELS_ENV_CUDA_H

#include <stdint.h>

#include "core/types.h"
#include "kernels/args.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/fatbin.h"

#define TUTTI_FN   static __device__ __forceinline__
#define TUTTI_OPFN static __device__ __forceinline__
#define TUTTI_BODY(name)                                                                                               \
    template <class PAIR>                                                                                              \
    static __device__ __forceinline__ void body_##name(const struct tutti_kernel_args *args, const unsigned block,     \
                                                       const PAIR pair)
#define TUTTI_SIZE                         ((unsigned)sizeof(typename PAIR::elem))
#define TUTTI_SHARED                       __shared__
#define TUTTI_EACH(i, n)                   _Pragma("unroll 1") for (unsigned i = threadIdx.x; i < (n); i += blockDim.x)
#define TUTTI_SYNC()                       __syncthreads()
#define TUTTI_REDUCE(ends, ranks, outs, n) tutti_reduce(pair, ends, ranks, outs, n)
#define TUTTI_ROUNDED(x)                   (x) /* compiled with -fmad=false */

TUTTI_FN float tutti_bits_f32(uint32_t bits)
{
    return __uint_as_float(bits);
}

TUTTI_FN double tutti_bits_f64(uint64_t bits)
{
    return __longlong_as_double((long long)bits);
}

TUTTI_FN uint32_t tutti_f32_bits(float f)
{
    return __float_as_uint(f);
}

TUTTI_FN uint64_t tutti_f64_bits(double f)
{
    return (uint64_t)__double_as_longlong(f);
}

#include "kernels/common.inc"
#include "kernels/ops.inc"

#include "kernels/families.inc"

enum {
    TUTTI_SPINS_CHECK = 256,     /* between two looks at the clock and the abort word, which is in host memory */
    TUTTI_LONG_WAIT_NS = 1000000 /* after this long a wait says where it stands */
};

TUTTI_FN uint32_t tutti_load_acquire(const uint32_t *from)
{
    uint32_t value;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    return value;
}

TUTTI_FN void tutti_store_release(uint32_t *to, uint32_t value)
{
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

TUTTI_FN uint64_t tutti_clock_ns(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Tells every peer that this block has reached `phase`; what all its threads stored before is visible to whoever sees
 * it. */
TUTTI_FN void tutti_signal(const struct tutti_kernel_args *args, unsigned phase, unsigned block)
{
    __syncthreads();
    if (threadIdx.x + 1 < args->gpus) {
        struct tutti_channel_flags *const channel =
            (struct tutti_channel_flags *)args->window[tutti_peer(args, threadIdx.x)];
        tutti_store_release(&channel->flag[phase][args->gpu][block], args->epoch);
    }
}

/* Waits until every peer's block of this number has reached `phase`. Returns 1 to all threads, or 0 when the launch
 * must be left. */
TUTTI_FN int tutti_wait(const struct tutti_kernel_args *args, unsigned phase, unsigned block)
{
    int failed = 0;
    if (threadIdx.x + 1 < args->gpus) {
        const struct tutti_channel_flags *const own = (const struct tutti_channel_flags *)args->window[args->gpu];
        const unsigned peer = tutti_peer(args, threadIdx.x);
        const uint32_t *const flag = &own->flag[phase][peer][block];
        uint64_t start = 0;
        int told = 0;
        for (unsigned spins = 1; !failed && !tutti_reached(tutti_load_acquire(flag), args->epoch); spins++) {
            if (spins % TUTTI_SPINS_CHECK == 0) {
                const uint64_t now = tutti_clock_ns();
                start = start ? start : now;
                if (now - start > TUTTI_LONG_WAIT_NS && !told && args->where) {
                    *args->where = phase << 16 | peer;
                    told = 1;
                }
                failed = *args->abort != 0 || (args->timeout_ns && now - start > args->timeout_ns);
            }
        }
    }
    return !__syncthreads_or(failed);
}

/* Counts this block as finished; the launch's last block reports it done, unless a block left early. */
TUTTI_FN void tutti_end(const struct tutti_kernel_args *args, int ok)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        struct tutti_channel_flags *const own = (struct tutti_channel_flags *)args->window[args->gpu];
        volatile uint32_t *const left = &own->left;
        if (!ok)
            *left = args->epoch;
        __threadfence_system();
        const uint32_t finished = atomicAdd(&own->finished, 1u) + 1;
        if (finished == args->finished) {
            __threadfence_system();
            if (*left != args->epoch)
                tutti_store_release((uint32_t *)args->done, args->epoch);
        }
    }
}

/* ---- copies ---- */
template <class WORD, int UNROLL>
static __device__ __forceinline__ void tutti_spread_words(unsigned char *const to[], unsigned n,
                                                          const unsigned char *from, uint64_t words)
{
#pragma unroll 1
    for (uint64_t base = threadIdx.x; base < words; base += (uint64_t)blockDim.x * UNROLL) {
        WORD held[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            if (base + (unsigned)u * blockDim.x < words)
                held[u] = ((const WORD *)from)[base + (unsigned)u * blockDim.x];
        }
#pragma unroll 1
        for (unsigned i = 0; i < n; i++) {
            WORD *const out = (WORD *)to[i];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                if (base + (unsigned)u * blockDim.x < words)
                    out[base + (unsigned)u * blockDim.x] = held[u];
            }
        }
    }
}

/* Copies `bytes` to each of n places, in the widest words that all addresses allow. */
static __device__ __noinline__ void tutti_spread(unsigned char *const to[], unsigned n, const unsigned char *from,
                                                 uint64_t bytes)
{
    uint64_t bits = (uint64_t)from, done = 0;
#pragma unroll 1
    for (unsigned i = 0; i < n; i++)
        bits |= (uint64_t)to[i];
    if (bits % 16 == 0) {
        tutti_spread_words<uint4, 8>(to, n, from, bytes / 16);
        done = bytes / 16 * 16;
    } else if (bits % 4 == 0) {
        tutti_spread_words<uint32_t, 8>(to, n, from, bytes / 4);
        done = bytes / 4 * 4;
    } else {
        tutti_spread_words<uint8_t, 8>(to, n, from, bytes);
        done = bytes;
    }
#pragma unroll 1
    for (uint64_t i = done + threadIdx.x; i < bytes; i += blockDim.x) {
#pragma unroll 1
        for (unsigned k = 0; k < n; k++)
            to[k][i] = from[i];
    }
}

/* ---- reductions ---- */
/* CHUNK: what a thread moves at once, COUNT elements long, loaded and stored in words of type WORD. */
template <class PAIR, class WORD, int COUNT> struct tutti_chunk {
    enum { WORDS = sizeof(typename PAIR::elem) * COUNT / sizeof(WORD) };
    union {
        WORD word[WORDS];
        typename PAIR::elem elem[COUNT];
    };

    __device__ __forceinline__ void load(const unsigned char *from, uint64_t i)
    {
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            word[w] = ((const WORD *)from)[i * WORDS + w];
    }

    __device__ __forceinline__ void store(unsigned char *to, uint64_t i) const
    {
#pragma unroll
        for (int w = 0; w < WORDS; w++)
            ((WORD *)to)[i * WORDS + w] = word[w];
    }
};

/* Reduces `chunks` chunks from chunk `first` on; each thread has up to BATCH * UNROLL loads under way. All of a chunk
 * is read before any of it is stored, so that outputs may be inputs. */
template <class PAIR, class WORD, int COUNT, int BATCH, int UNROLL>
static __device__ __forceinline__ void tutti_reduce_chunks(const PAIR pair, const struct tutti_ends *ends,
                                                           unsigned ranks, unsigned outs, uint64_t first,
                                                           uint64_t chunks)
{
    typedef tutti_chunk<PAIR, WORD, COUNT> chunk;
#pragma unroll 1
    for (uint64_t base = first + threadIdx.x; base < chunks; base += (uint64_t)blockDim.x * UNROLL) {
        typename PAIR::acc acc[UNROLL][COUNT];
#pragma unroll 1
        for (unsigned r = 0; r < ranks; r += BATCH) {
            chunk held[BATCH][UNROLL];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                if (r + k < ranks) {
                    const unsigned char *const from = ends->from[r + k];
#pragma unroll
                    for (int u = 0; u < UNROLL; u++) {
                        if (base + (unsigned)u * blockDim.x < chunks)
                            held[k][u].load(from, base + (unsigned)u * blockDim.x);
                    }
                }
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                if (r + k < ranks) {
                    const int start = r + k == 0;
#pragma unroll
                    for (int u = 0; u < UNROLL; u++) {
#pragma unroll
                        for (int e = 0; e < COUNT; e++) {
                            const typename PAIR::acc x = pair.widen(held[k][u].elem[e]);
                            acc[u][e] = start ? x : pair.combine(acc[u][e], x);
                        }
                    }
                }
            }
        }
        chunk result[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
#pragma unroll
            for (int e = 0; e < COUNT; e++)
                result[u].elem[e] = pair.narrow(acc[u][e]);
        }
#pragma unroll 1
        for (unsigned o = 0; o < outs; o++) {
            unsigned char *const to = ends->to[o];
#pragma unroll
            for (int u = 0; u < UNROLL; u++) {
                if (base + (unsigned)u * blockDim.x < chunks)
                    result[u].store(to, base + (unsigned)u * blockDim.x);
            }
        }
    }
}

/* Not inlined: a pair's three kernels share it. */
template <class PAIR>
static __device__ __noinline__ void tutti_reduce(const PAIR pair, const struct tutti_ends *ends, unsigned ranks,
                                                 unsigned outs, uint64_t n)
{
    typedef typename PAIR::elem elem;
    typedef typename PAIR::unit unit; /* a word as wide as the element's alignment */
    typedef typename PAIR::wide wide;
    enum { COUNT = 16 / sizeof(elem) };
    if (ranks == 1) {
        tutti_spread(ends->to, outs, ends->from[0], n * sizeof(elem));
        return;
    }
    uint64_t bits = 0;
#pragma unroll 1
    for (unsigned r = 0; r < ranks; r++)
        bits |= (uint64_t)ends->from[r];
#pragma unroll 1
    for (unsigned o = 0; o < outs; o++)
        bits |= (uint64_t)ends->to[o];
    uint64_t done = 0;
    if (bits % 16 == 0) {
        tutti_reduce_chunks<wide, uint4, 16 / sizeof(typename wide::elem), 4, 2>(pair.widely(), ends, ranks, outs, 0,
                                                                                 n / COUNT);
        done = n / COUNT * COUNT;
    }
    if (done < n) {
        if (bits % sizeof(unit) == 0)
            tutti_reduce_chunks<PAIR, unit, 1, 4, 2>(pair, ends, ranks, outs, done, n);
        else
            tutti_reduce_chunks<PAIR, uint8_t, 1, 2, 1>(pair, ends, ranks, outs, done, n);
    }
}

#endif

/* TUTTI_PREFIX in CUDA C++: to[r] = from[0] op ... op from[r] (before: up to from[r - 1], and nothing for rank 0), n
 * elements. to[r] may be from[r], or NULL where nobody wants it. */
#ifndef TUTTI_KERNELS_PREFIX_CUDA_H
#define TUTTI_KERNELS_PREFIX_CUDA_H

#include "kernels/env_cuda.h"

#define TUTTI_PREFIX(ends, ranks, before, n) tutti_prefix(pair, ends, ranks, before, n)

/* Chunks from `first` on; up to BATCH loads of a thread are under way. A contribution is read before the result of its
 * rank is stored. The result of a single contribution is its very bits. */
template <class PAIR, class WORD, int COUNT, int BATCH>
static __device__ __forceinline__ void tutti_prefix_chunks(const PAIR pair, const struct tutti_ends *ends,
                                                           unsigned ranks, int before, uint64_t first, uint64_t chunks)
{
    typedef tutti_chunk<PAIR, WORD, COUNT> chunk;
#pragma unroll 1
    for (uint64_t at = first + threadIdx.x; at < chunks; at += TUTTI_FATBIN_THREADS) {
        typename PAIR::acc acc[COUNT];
        chunk start;
#pragma unroll 1
        for (unsigned r = 0; r < ranks; r += BATCH) {
            chunk held[BATCH];
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                if (r + k < ranks)
                    held[k].load(ends->from[r + k], at);
            }
#pragma unroll
            for (int k = 0; k < BATCH; k++) {
                if (r + k >= ranks)
                    continue;
                unsigned char *const to = ends->to[r + k];
                const unsigned depth = r + k + !before;
                chunk result;
                if (r + k == 0)
                    start = held[0];
#pragma unroll
                for (int e = 0; e < COUNT; e++) {
                    const typename PAIR::acc x = pair.widen(held[k].elem[e]);
                    const typename PAIR::acc sum = r + k == 0 ? x : pair.combine(acc[e], x);
                    result.elem[e] = depth <= 1 ? start.elem[e] : pair.narrow(before ? acc[e] : sum);
                    acc[e] = sum;
                }
                if (to && depth > 0)
                    result.store(to, at);
            }
        }
    }
}

template <class PAIR>
static __device__ __noinline__ void tutti_prefix(const PAIR pair, const struct tutti_ends *ends, unsigned ranks,
                                                 int before, uint64_t n)
{
    typedef typename PAIR::elem elem;
    typedef typename PAIR::unit unit;
    typedef typename PAIR::wide wide;
    enum { COUNT = 16 / sizeof(elem) };
    uint64_t bits = 0, done = 0;
#pragma unroll 1
    for (unsigned r = 0; r < ranks; r++)
        bits |= (uint64_t)ends->from[r] | (uint64_t)ends->to[r];
    if (bits % 16 == 0) {
        tutti_prefix_chunks<wide, uint4, 16 / sizeof(typename wide::elem), 4>(pair.widely(), ends, ranks, before, 0,
                                                                              n / COUNT);
        done = n / COUNT * COUNT;
    }
    if (done < n) {
        if (bits % sizeof(unit) == 0)
            tutti_prefix_chunks<PAIR, unit, 1, 4>(pair, ends, ranks, before, done, n);
        else
            tutti_prefix_chunks<PAIR, uint8_t, 1, 2>(pair, ends, ranks, before, done, n);
    }
}

#endif

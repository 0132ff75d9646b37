/* The environment of the kernel of atomics in CUDA: one thread, and atomics that all GPUs and the host see as such. See
 * amo.inc. */
#ifndef TUTTI_KERNELS_AMO_CUDA_H
#define TUTTI_KERNELS_AMO_CUDA_H

#include "kernels/env_cuda.h"

#define TUTTI_AMO_BODY(name)                                                                                           \
    template <class PAIR>                                                                                              \
    static __device__ __forceinline__ void body_##name(const struct tutti_amo_args *args, const unsigned block,        \
                                                       const PAIR pair)
#define TUTTI_AMO_ALONE(block) ((block) == 0 && threadIdx.x == 0)
#define TUTTI_AMO(args)        tutti_amo(args, pair)
#define TUTTI_AMO_DONE(args)   tutti_amo_done(args)

/* WORD: the unsigned integer of the element's size that the hardware's atomics take. */
template <class WORD, class PAIR>
static __device__ __forceinline__ uint64_t tutti_amo_word(const struct tutti_amo_args *args, const PAIR pair)
{
    typedef typename PAIR::elem elem;
    union bits {
        WORD word;
        elem e;
    };
    WORD *const at = (WORD *)args->at;
    const WORD value = (WORD)args->value;
    if (args->what == TUTTI_AMO_FETCH)
        return *(volatile WORD *)at;
    if (args->what == TUTTI_AMO_SET || args->what == TUTTI_AMO_SWAP)
        return atomicExch_system(at, value);
    if (args->what == TUTTI_AMO_COMPARE_SWAP)
        return atomicCAS_system(at, (WORD)args->expected, value);
    WORD was = *(volatile WORD *)at, seen;
    do {
        union bits a, b, made;
        seen = was;
        a.word = was;
        b.word = value;
        made.e = pair.narrow(pair.combine(pair.widen(a.e), pair.widen(b.e)));
        was = atomicCAS_system(at, seen, made.word);
    } while (was != seen);
    return was;
}

template <class PAIR>
static __device__ __forceinline__ uint64_t tutti_amo(const struct tutti_amo_args *args, const PAIR pair)
{
    uint64_t was = 0;
    __threadfence_system();
    if constexpr (sizeof(typename PAIR::elem) == 4)
        was = tutti_amo_word<unsigned>(args, pair);
    else if constexpr (sizeof(typename PAIR::elem) == 8)
        was = tutti_amo_word<unsigned long long>(args, pair);
    return was;
}

TUTTI_FN void tutti_amo_done(const struct tutti_amo_args *args)
{
    __threadfence_system();
    if (args->done)
        tutti_store_release((uint32_t *)args->done, args->launch_number);
}

#endif

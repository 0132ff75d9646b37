/* The kernels for CUDA. Compiled once for each class of types (TUTTI_PAIRS_CLASS), see fatbin.h. */
#include "kernels/env_cuda.h"
#include "kernels/prefix_cuda.h"

#include "kernels/direct.inc"
#include "kernels/oneshot.inc"
#include "kernels/twoshot.inc"

#include "kernels/packets_cuda.h"

#include "kernels/chain.inc"
#include "kernels/chain_ll128.inc"
#define TUTTI_GATHER         ll
#define TUTTI_GATHER_PACKETS TUTTI_LL
#include "kernels/gather.inc"
#undef TUTTI_GATHER
#undef TUTTI_GATHER_PACKETS
#define TUTTI_GATHER         ll128
#define TUTTI_GATHER_PACKETS TUTTI_LL128
#include "kernels/gather.inc"
#include "kernels/linger_cuda.h"

#include "kernels/linger.inc"
#include "kernels/pipeline.inc"
#include "kernels/twoshot_ll128.inc"

/* The word as wide as a type's alignment. */
template <int BYTES> struct unit_of;
template <> struct unit_of<1> {
    typedef uint8_t type;
};
template <> struct unit_of<2> {
    typedef uint16_t type;
};
template <> struct unit_of<4> {
    typedef uint32_t type;
};
template <> struct unit_of<8> {
    typedef uint64_t type;
};

template <int TYPE, class ACC, class ELEM> static __device__ __forceinline__ ACC widen_one(ELEM e)
{
    if constexpr (TYPE == TUTTI_TYPE_F16) {
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(e));
        return f;
    } else if constexpr (TYPE == TUTTI_TYPE_BF16) {
        return __uint_as_float((uint32_t)e << 16);
    } else {
        return e;
    }
}

/* `a` is settled: its only NaN is the canonical one. */
template <int TYPE, class ELEM, class ACC> static __device__ __forceinline__ ELEM narrow_one(ACC a)
{
    if constexpr (TYPE == TUTTI_TYPE_F16) {
        uint16_t half;
        asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(a));
        return a != a ? (uint16_t)0x7e00 : half;
    } else if constexpr (TYPE == TUTTI_TYPE_BF16) {
        const uint32_t bits = __float_as_uint(a);
        return (uint16_t)(a != a ? 0x7fc0u : (bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
    } else {
        return a;
    }
}

#define TUTTI_KERNEL_OF(KERNEL, ARGS, TYPE, OP)                                                                        \
    extern "C" __global__ void __launch_bounds__(TUTTI_FATBIN_THREADS)                                                 \
        tutti_##KERNEL##_##TYPE##_##OP(const __grid_constant__ struct tutti_##ARGS##_args args)                        \
    {                                                                                                                  \
        body_##KERNEL<pair_##TYPE##_##OP>(&args, blockIdx.x);                                                          \
    }

#define TUTTI_PAIR(TYPE, OP)                                                                                           \
    struct pair_##TYPE##_##OP {                                                                                        \
        typedef tutti_e_##TYPE elem;                                                                                   \
        typedef tutti_a_##TYPE acc;                                                                                    \
        typedef unit_of<alignof(elem)>::type unit;                                                                     \
        static __device__ __forceinline__ acc widen(elem e)                                                            \
        {                                                                                                              \
            return widen_one<TUTTI_TYPE_##TYPE, acc>(e);                                                               \
        }                                                                                                              \
        static __device__ __forceinline__ elem narrow(acc a)                                                           \
        {                                                                                                              \
            return narrow_one<TUTTI_TYPE_##TYPE, elem>(tutti_settle_##TYPE(a));                                        \
        }                                                                                                              \
        static __device__ __forceinline__ acc combine(acc a, acc b)                                                    \
        {                                                                                                              \
            return tutti_##TYPE##_##OP(a, b);                                                                          \
        }                                                                                                              \
    };                                                                                                                 \
    TUTTI_KERNELS_OF(TYPE, OP)
#define TUTTI_KERNELS_OF(TYPE, OP)                                                                                     \
    TUTTI_KERNEL_OF(oneshot, kernel, TYPE, OP)                                                                         \
    TUTTI_KERNEL_OF(twoshot, kernel, TYPE, OP)                                                                         \
    TUTTI_KERNEL_OF(direct, kernel, TYPE, OP)                                                                          \
    TUTTI_KERNEL_OF(ll, flow, TYPE, OP)                                                                                \
    TUTTI_KERNEL_OF(ll128, flow, TYPE, OP)                                                                             \
    TUTTI_KERNEL_OF(twoshot_ll128, flow, TYPE, OP)                                                                     \
    TUTTI_KERNEL_OF(pipeline, flow, TYPE, OP)                                                                          \
    TUTTI_KERNEL_OF(chain, flow, TYPE, OP)                                                                             \
    TUTTI_KERNEL_OF(chain_ll128, flow, TYPE, OP)                                                                       \
    TUTTI_KERNEL_OF(linger, flow, TYPE, OP)
#include "kernels/pairs.inc"

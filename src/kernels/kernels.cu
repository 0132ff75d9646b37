/* The kernels for CUDA. Compiled once for each image (TUTTI_IMAGE) of images.inc, see fatbin.h. */
#include "kernels/env_cuda.h"
#include "kernels/amo_cuda.h"
#include "kernels/prefix_cuda.h"

#include "kernels/amo.inc"
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

/* What the kernels' bodies are made for: a type and a family of operators. WIDE: the same for 16 bytes at a time, where
 * elements need not be told apart. */
#define TUTTI_PAIR_OF(NAME, TYPE, FAMILY, WIDE)                                                                        \
    struct NAME {                                                                                                      \
        typedef tutti_e_##TYPE elem;                                                                                   \
        typedef tutti_a_##TYPE acc;                                                                                    \
        typedef unit_of<alignof(elem)>::type unit;                                                                     \
        typedef struct WIDE wide;                                                                                      \
        struct TUTTI_SENSE_##FAMILY sense;                                                                             \
        __device__ __forceinline__ wide widely() const                                                                 \
        {                                                                                                              \
            return wide{sense};                                                                                        \
        }                                                                                                              \
        __device__ __forceinline__ acc widen(elem e) const                                                             \
        {                                                                                                              \
            return tutti_enter_##TYPE##_##FAMILY(widen_one<TUTTI_TYPE_##TYPE, acc>(e), sense);                         \
        }                                                                                                              \
        __device__ __forceinline__ acc combine(acc a, acc b) const                                                     \
        {                                                                                                              \
            return tutti_fold_##TYPE##_##FAMILY(a, b, sense);                                                          \
        }                                                                                                              \
        __device__ __forceinline__ elem narrow(acc a) const                                                            \
        {                                                                                                              \
            return narrow_one<TUTTI_TYPE_##TYPE, elem>(tutti_leave_##TYPE##_##FAMILY(a, sense));                       \
        }                                                                                                              \
    };
TUTTI_PAIR_OF(words_of_bits, U32, BITS, words_of_bits)

#define TUTTI_WIDE_SUM(TYPE)   pair_##TYPE##_SUM
#define TUTTI_WIDE_PROD(TYPE)  pair_##TYPE##_PROD
#define TUTTI_WIDE_ORDER(TYPE) pair_##TYPE##_ORDER
#define TUTTI_WIDE_LOGIC(TYPE) pair_##TYPE##_LOGIC
#define TUTTI_WIDE_BITS(TYPE)  words_of_bits
#define TUTTI_WIDE_LOC(TYPE)   pair_##TYPE##_LOC

/* Kernels of families that are told nothing have no such parameter. */
#define TUTTI_TOLD_tutti_sense     , const __grid_constant__ struct tutti_sense sense
#define TUTTI_TOLD_tutti_no_sense
#define TUTTI_HEARD_tutti_sense    sense
#define TUTTI_HEARD_tutti_no_sense {}
#define TUTTI_KERNEL_OF(KERNEL, ARGS, TYPE, FAMILY)                                                                    \
    TUTTI_KERNEL_TOLD(KERNEL, ARGS, TYPE, FAMILY, TUTTI_SENSE_##FAMILY)
#define TUTTI_KERNEL_TOLD(KERNEL, ARGS, TYPE, FAMILY, SENSE) TUTTI_KERNEL_TOLD_(KERNEL, ARGS, TYPE, FAMILY, SENSE)
#define TUTTI_KERNEL_TOLD_(KERNEL, ARGS, TYPE, FAMILY, SENSE)                                                          \
    extern "C" __global__ void __launch_bounds__(TUTTI_FATBIN_THREADS)                                                 \
        tutti_##KERNEL##_##TYPE##_##FAMILY(                                                                            \
            const __grid_constant__ struct tutti_##ARGS##_args args TUTTI_TOLD_##SENSE)                                \
    {                                                                                                                  \
        body_##KERNEL(&args, blockIdx.x, pair_##TYPE##_##FAMILY{TUTTI_HEARD_##SENSE});                                 \
    }

#define TUTTI_FAMILY(TYPE, FAMILY)                                                                                     \
    TUTTI_PAIR_OF(pair_##TYPE##_##FAMILY, TYPE, FAMILY, TUTTI_WIDE_##FAMILY(TYPE))                                     \
    TUTTI_KERNELS_OF(TYPE, FAMILY)
#define TUTTI_KERNELS_OF(TYPE, FAMILY)                                                                                 \
    TUTTI_KERNEL_OF(oneshot, kernel, TYPE, FAMILY)                                                                     \
    TUTTI_KERNEL_OF(twoshot, kernel, TYPE, FAMILY)                                                                     \
    TUTTI_KERNEL_OF(direct, kernel, TYPE, FAMILY)                                                                      \
    TUTTI_KERNEL_OF(ll, flow, TYPE, FAMILY)                                                                            \
    TUTTI_KERNEL_OF(ll128, flow, TYPE, FAMILY)                                                                         \
    TUTTI_KERNEL_OF(twoshot_ll128, flow, TYPE, FAMILY)                                                                 \
    TUTTI_KERNEL_OF(pipeline, flow, TYPE, FAMILY)                                                                      \
    TUTTI_KERNEL_OF(chain, flow, TYPE, FAMILY)                                                                         \
    TUTTI_KERNEL_OF(chain_ll128, flow, TYPE, FAMILY)                                                                   \
    TUTTI_KERNEL_OF(linger, flow, TYPE, FAMILY)                                                                        \
    TUTTI_KERNEL_OF(amo, amo, TYPE, FAMILY)
#define TUTTI_IMAGED(image, TYPE, CLASS) TUTTI_FAMILIES_##CLASS(TYPE)
#include "kernels/images.inc"

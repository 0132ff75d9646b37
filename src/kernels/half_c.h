/* Half precision to float and back over arrays: exact, the same bits with every instruction set; by the processor's own
 * conversions where it has them. Ordinary pointers of any alignment for the half side. */
#ifndef TUTTI_KERNELS_HALF_C_H
#define TUTTI_KERNELS_HALF_C_H

#include <stddef.h>
#include <stdint.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

#include "tutti/device/env.h"
#include "tutti/device/operators.h"

typedef uint16_t tutti_half_any __attribute__((aligned(1)));

static void widen_BF16(float *to, const void *from, size_t n)
{
    const tutti_half_any *in = from;
    for (size_t i = 0; i < n; i++)
        to[i] = tutti_dev_from_bfloat16(in[i]);
}

static void narrow_BF16(void *to, const float *from, size_t n)
{
    tutti_half_any *out = to;
    for (size_t i = 0; i < n; i++)
        out[i] = tutti_dev_narrow_bfloat16(from[i]);
}

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
static void widen_F16(float *to, const void *from, size_t n)
{
    const unsigned char *in = from;
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 some = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)0xffff;
        _mm512_mask_storeu_ps(to + i, some, _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(some, in + 2 * i)));
    }
}

static void narrow_F16(void *to, const float *from, size_t n)
{
    unsigned char *out = to;
    for (size_t i = 0; i < n; i += 16) {
        const __mmask16 some = n - i < 16 ? (__mmask16)((1u << (n - i)) - 1) : (__mmask16)0xffff;
        const __m512 wide = _mm512_maskz_loadu_ps(some, from + i);
        _mm256_mask_storeu_epi16(out + 2 * i, some,
                                 _mm512_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
}
#elif defined(__F16C__)
static void widen_F16(float *to, const void *from, size_t n)
{
    const tutti_half_any *in = from;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const __m128i_u *)(const void *)(in + i))));
    for (; i < n; i++)
        to[i] = _cvtsh_ss(in[i]);
}

static void narrow_F16(void *to, const float *from, size_t n)
{
    tutti_half_any *out = to;
    size_t i = 0;
    for (; i + 8 <= n; i += 8)
        _mm_storeu_si128((__m128i_u *)(void *)(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
    for (; i < n; i++)
        out[i] = _cvtss_sh(from[i], 0);
}
#else
static void widen_F16(float *to, const void *from, size_t n)
{
    const tutti_half_any *in = from;
    for (size_t i = 0; i < n; i++)
        to[i] = tutti_dev_from_half(in[i]);
}

static void narrow_F16(void *to, const float *from, size_t n)
{
    tutti_half_any *out = to;
    for (size_t i = 0; i < n; i++)
        out[i] = tutti_dev_to_half(from[i]);
}
#endif

#endif

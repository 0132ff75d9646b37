/* Half precision to float and back over arrays: exact, the same bits with every instruction set. Ordinary pointers of
 * any alignment for the half side. */
#ifndef TUTTI_KERNELS_HALF_C_H
#define TUTTI_KERNELS_HALF_C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#if defined(__F16C__)
#include <immintrin.h>
#endif

typedef uint16_t tutti_half_any __attribute__((aligned(1)));

static inline float tutti_bits_f32(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline double tutti_bits_f64(uint64_t bits)
{
    double f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t tutti_f32_bits(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline uint64_t tutti_f64_bits(double f)
{
    uint64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static void widen_BF16(float *to, const void *from, size_t n)
{
    const tutti_half_any *in = from;
    for (size_t i = 0; i < n; i++)
        to[i] = tutti_bits_f32((uint32_t)in[i] << 16);
}

/* To nearest even. Adding just under half of the last place (exactly half where that place is odd) carries where
 * needed. */
static void narrow_BF16(void *to, const float *from, size_t n)
{
    tutti_half_any *out = to;
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = tutti_f32_bits(from[i]);
        const uint32_t rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
        out[i] = (uint16_t)(from[i] != from[i] ? 0x7fc0u : rounded);
    }
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
/* The exponent is rebased by a product with a power of two, which is exact and makes subnormal halves normal floats. */
static void widen_F16(float *to, const void *from, size_t n)
{
    const tutti_half_any *in = from;
    for (size_t i = 0; i < n; i++) {
        const uint32_t half = in[i], magnitude = half & 0x7fffu, sign = (half & 0x8000u) << 16;
        const uint32_t finite = tutti_f32_bits(tutti_bits_f32(magnitude << 13) * 0x1p112f);
        const uint32_t special = 0x7f800000u | magnitude << 13 | (magnitude > 0x7c00u ? 0x400000u : 0);
        to[i] = tutti_bits_f32(sign | (magnitude < 0x7c00u ? finite : special));
    }
}

/* Subnormal results: adding 0.5 moves the last place of a half to the last place of the float, so that the addition
 * rounds. Normal ones: as for bfloat16. What is 65520 or more is infinite. */
static void narrow_F16(void *to, const float *from, size_t n)
{
    tutti_half_any *out = to;
    for (size_t i = 0; i < n; i++) {
        const uint32_t bits = tutti_f32_bits(from[i]), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
        const uint32_t small = tutti_f32_bits(tutti_bits_f32(magnitude) + 0.5f) - 0x3f000000u;
        const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1)) >> 13;
        uint32_t half = magnitude < 0x38800000u ? small : normal;
        half = magnitude >= 0x477ff000u ? 0x7c00u : half;
        half = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x1ffu) : half;
        out[i] = (uint16_t)(sign | half);
    }
}
#endif

#endif

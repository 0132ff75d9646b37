/* What the calls in kernels are written upon, on the host device: the same in C and C++, for which a group of threads
 * is the calling thread. Included by env.h. */
#ifndef TUTTI_DEVICE_ENV_C_H
#define TUTTI_DEVICE_ENV_C_H

#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TUTTI_DEV       static inline __attribute__((unused))
#define TUTTI_DEV_APART static __attribute__((unused, noinline))
#define TUTTI_DEV_COLD  TUTTI_DEV
#define TUTTI_DEV_FEW   0
#define TUTTI_DEV_UNROLL
#define TUTTI_DEV_UNROLL_1
#define TUTTI_DEV_UNROLL_4
#ifdef __cplusplus
#define TUTTI_DEV_ZERO                                                                                                 \
    {                                                                                                                  \
    }
#else
#define TUTTI_DEV_ZERO                                                                                                 \
    {                                                                                                                  \
        0                                                                                                              \
    }
#endif

/* Words that stand for objects of any type. */
typedef uint8_t __attribute__((may_alias)) tutti_dev_u8;
typedef uint16_t __attribute__((may_alias)) tutti_dev_u16;
typedef uint32_t __attribute__((may_alias)) tutti_dev_u32;
typedef uint64_t __attribute__((may_alias)) tutti_dev_u64;
typedef struct __attribute__((may_alias, aligned(16))) {
    uint64_t x, y;
} tutti_dev_u128;

enum { TUTTI_DEV_SPINS = 64 };

#define TUTTI_DEV_ACCESS(bits)                                                                                         \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_load_relaxed##bits(const void *from)                                         \
    {                                                                                                                  \
        return __atomic_load_n((const tutti_dev_u##bits *)from, __ATOMIC_ACQUIRE);                                     \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_load_look##bits(const void *from)                                            \
    {                                                                                                                  \
        return __atomic_load_n((const tutti_dev_u##bits *)from, __ATOMIC_ACQUIRE);                                     \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_load_acquire##bits(const void *from)                                         \
    {                                                                                                                  \
        return __atomic_load_n((const tutti_dev_u##bits *)from, __ATOMIC_ACQUIRE);                                     \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_store_relaxed##bits(void *to, tutti_dev_u##bits value)                                    \
    {                                                                                                                  \
        __atomic_store_n((tutti_dev_u##bits *)to, value, __ATOMIC_RELEASE);                                            \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_store_release##bits(void *to, tutti_dev_u##bits value)                                    \
    {                                                                                                                  \
        __atomic_store_n((tutti_dev_u##bits *)to, value, TUTTI_DEV_RELEASE);                                           \
    }
/* The sanitizer knows no fences, so that here relaxed stores and loads order too, which costs nothing on x86. A test of
 * the tests leaves the release of a signal out by defining this. */
#ifndef TUTTI_DEV_RELEASE
#define TUTTI_DEV_RELEASE __ATOMIC_RELEASE
#endif
TUTTI_DEV_ACCESS(8)
TUTTI_DEV_ACCESS(16)
TUTTI_DEV_ACCESS(32)
TUTTI_DEV_ACCESS(64)
#undef TUTTI_DEV_ACCESS

/* 1 if the host, and copy engines, find this memory at the same address. */
TUTTI_DEV int tutti_dev_host_finds(const void *address)
{
    (void)address;
    return 1;
}

TUTTI_DEV void tutti_dev_keep(const void *object)
{
    (void)object;
}

/* A number that differs from thread to thread, mostly. */
TUTTI_DEV uint32_t tutti_dev_spread(void)
{
    const int here = 0;
    return (uint32_t)((uintptr_t)&here >> 12);
}

TUTTI_DEV void tutti_dev_fence(void)
{
#ifdef __SANITIZE_THREAD__
    int none = 0;
    (void)__atomic_exchange_n(&none, 1, __ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

TUTTI_DEV void tutti_dev_fence_gpu(void)
{
    tutti_dev_fence();
}

TUTTI_DEV void tutti_dev_fence_release(void)
{
#ifndef __SANITIZE_THREAD__ /* there every store orders */
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
#endif
}

TUTTI_DEV void tutti_dev_fence_acquire(void)
{
    tutti_dev_fence();
}

/* Every look has acquired. */
TUTTI_DEV void tutti_dev_seen(void)
{
}

TUTTI_DEV char *tutti_dev_global(char *address)
{
    return address;
}

TUTTI_DEV uint32_t tutti_dev_rotate(uint32_t value, uint32_t by)
{
    return value >> by | value << (-by & 31);
}

TUTTI_DEV unsigned tutti_dev_shift(unsigned n)
{
    return n > 1 ? 32u - (unsigned)__builtin_clz(n - 1) : 0;
}

/* Two stores or loads here; tests put delays between them by defining this. */
#ifndef TUTTI_DEV_DELAY
#define TUTTI_DEV_DELAY()
#endif
TUTTI_DEV void tutti_dev_store_pair(void *to, tutti_dev_u64 a, tutti_dev_u64 b)
{
    tutti_dev_store_relaxed64(to, a);
    TUTTI_DEV_DELAY();
    tutti_dev_store_relaxed64((char *)to + 8, b);
    TUTTI_DEV_DELAY();
}

TUTTI_DEV void tutti_dev_load_pair(const void *from, tutti_dev_u64 *a, tutti_dev_u64 *b)
{
    *a = tutti_dev_load_relaxed64(from);
    TUTTI_DEV_DELAY();
    *b = tutti_dev_load_relaxed64((const char *)from + 8);
}

TUTTI_DEV void tutti_dev_load_pair_acquire(const void *from, tutti_dev_u64 *a, tutti_dev_u64 *b)
{
    *a = tutti_dev_load_acquire64(from);
    *b = tutti_dev_load_acquire64((const char *)from + 8);
}

/* No such instruction also returns the value before; gcc 12 with sanitizers drops the operand of its own
 * loop. */
#define TUTTI_DEV_REPLACE(bits, at, made)                                                                              \
    tutti_dev_u##bits was = tutti_dev_load_relaxed##bits(at), seen;                                                    \
    while ((seen = tutti_dev_compare_swap##bits(at, was, made)) != was)                                                \
        was = seen;                                                                                                    \
    return was
#define TUTTI_DEV_ATOMICS(bits)                                                                                        \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_swap##bits(void *at, tutti_dev_u##bits value)                                \
    {                                                                                                                  \
        return __atomic_exchange_n((tutti_dev_u##bits *)at, value, __ATOMIC_ACQ_REL);                                  \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_compare_swap##bits(void *at, tutti_dev_u##bits compare,                      \
                                                             tutti_dev_u##bits value)                                  \
    {                                                                                                                  \
        __atomic_compare_exchange_n((tutti_dev_u##bits *)at, &compare, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);  \
        return compare;                                                                                                \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_add##bits(void *at, tutti_dev_u##bits value)                                 \
    {                                                                                                                  \
        return __atomic_fetch_add((tutti_dev_u##bits *)at, value, __ATOMIC_ACQ_REL);                                   \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_and##bits(void *at, tutti_dev_u##bits value)                                 \
    {                                                                                                                  \
        TUTTI_DEV_REPLACE(bits, at, was &value);                                                                       \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_or##bits(void *at, tutti_dev_u##bits value)                                  \
    {                                                                                                                  \
        TUTTI_DEV_REPLACE(bits, at, was | value);                                                                      \
    }                                                                                                                  \
    TUTTI_DEV tutti_dev_u##bits tutti_dev_xor##bits(void *at, tutti_dev_u##bits value)                                 \
    {                                                                                                                  \
        TUTTI_DEV_REPLACE(bits, at, was ^ value);                                                                      \
    }
TUTTI_DEV_ATOMICS(32)
TUTTI_DEV_ATOMICS(64)
#undef TUTTI_DEV_ATOMICS
#undef TUTTI_DEV_REPLACE

TUTTI_DEV void tutti_dev_add_release64(void *at, tutti_dev_u64 value)
{
    __atomic_fetch_add((tutti_dev_u64 *)at, value, TUTTI_DEV_RELEASE);
}

TUTTI_DEV uint64_t tutti_dev_clock_ns(void)
{
    struct timespec now;
    if (!timespec_get(&now, TIME_UTC))
        return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

TUTTI_DEV void tutti_dev_pause(void)
{
    sched_yield();
}

TUTTI_DEV void tutti_dev_die(void)
{
    abort();
}

/* ---- numbers ---- */

TUTTI_DEV float tutti_dev_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TUTTI_DEV uint32_t tutti_dev_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

TUTTI_DEV double tutti_dev_bits_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

TUTTI_DEV uint64_t tutti_dev_double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

TUTTI_DEV uint32_t tutti_dev_add_float(void *at, uint32_t bits)
{
    uint32_t before = tutti_dev_load_relaxed32(at), seen;
    while ((seen = tutti_dev_compare_swap32(
                at, before, tutti_dev_float_bits(tutti_dev_bits_float(before) + tutti_dev_bits_float(bits)))) != before)
        before = seen;
    return before;
}

TUTTI_DEV uint64_t tutti_dev_add_double(void *at, uint64_t bits)
{
    uint64_t before = tutti_dev_load_relaxed64(at), seen = before, after;
    do {
        before = seen;
        after = tutti_dev_double_bits(tutti_dev_bits_double(before) + tutti_dev_bits_double(bits));
        seen = tutti_dev_compare_swap64(at, before, after);
    } while (seen != before);
    return before;
}

/* Half precision by its bits: sign, 5 of exponent, 10 of mantissa. The exponent is rebased by a product with a power of
 * two, which is exact and makes subnormal halves normal floats. No branches: compilers make vectors of loops over it.
 */
TUTTI_DEV float tutti_dev_from_half(uint16_t bits)
{
    const uint32_t magnitude = bits & 0x7fffu, sign = (uint32_t)(bits & 0x8000u) << 16;
    const float power = tutti_dev_bits_float(0x77800000u); /* 2^112 */
    const uint32_t finite = tutti_dev_float_bits(tutti_dev_bits_float(magnitude << 13) * power);
    const uint32_t special = 0x7f800000u | magnitude << 13 | (magnitude > 0x7c00u ? 0x400000u : 0u);
    return tutti_dev_bits_float(sign | (magnitude < 0x7c00u ? finite : special));
}

/* To nearest, even where two are as near. Subnormal results: adding 0.5 moves the last place of a half to the last
 * place of the float, so that the addition rounds. Others: adding just under half of the last place (exactly half where
 * that place is odd) carries where needed. What is 65520 or more is infinite. */
TUTTI_DEV uint16_t tutti_dev_to_half(float value)
{
    const uint32_t bits = tutti_dev_float_bits(value), magnitude = bits & 0x7fffffffu, sign = bits >> 16 & 0x8000u;
    const uint32_t subnormal = tutti_dev_float_bits(tutti_dev_bits_float(magnitude) + 0.5f) - 0x3f000000u;
    const uint32_t normal = (magnitude - 0x38000000u + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
    uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
    half = magnitude >= 0x477ff000u ? 0x7c00u : half;
    half = magnitude > 0x7f800000u ? 0x7e00u | (magnitude >> 13 & 0x1ffu) : half;
    return (uint16_t)(sign | half);
}

/* A product that must not become part of a fused operation. gcc 12 fuses the two halves of a complex product even with
 * -ffp-contract=off, where it finds them side by side. TUTTI_DEV_UNFUSED: a compiler that has no barrier for it fuses
 * nothing. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_assoc_barrier)
#define TUTTI_DEV_ROUNDED(type, x) return __builtin_assoc_barrier(x)
#endif
#endif
#ifndef TUTTI_DEV_ROUNDED
#ifdef TUTTI_DEV_UNFUSED
#define TUTTI_DEV_ROUNDED(type, x) return (x)
#else
#define TUTTI_DEV_ROUNDED(type, x)                                                                                     \
    volatile type rounded = (x);                                                                                       \
    return rounded
#endif
#endif
TUTTI_DEV float tutti_dev_mul_float(float a, float b)
{
    TUTTI_DEV_ROUNDED(float, a *b);
}

TUTTI_DEV double tutti_dev_mul_double(double a, double b)
{
    TUTTI_DEV_ROUNDED(double, a *b);
}
#undef TUTTI_DEV_ROUNDED

/* ---- groups ---- */

TUTTI_DEV unsigned tutti_dev_block(void)
{
    return 0;
}

TUTTI_DEV unsigned tutti_dev_blocks(void)
{
    return 1;
}

TUTTI_DEV unsigned tutti_dev_thread(void)
{
    return 0;
}

TUTTI_DEV uint64_t tutti_dev_block_packed(void)
{
    return 0;
}

TUTTI_DEV uint32_t tutti_dev_thread_packed(void)
{
    return 0;
}

TUTTI_DEV size_t tutti_dev_rank(int group)
{
    (void)group;
    return 0;
}

TUTTI_DEV size_t tutti_dev_size(int group)
{
    (void)group;
    return 1;
}

TUTTI_DEV void tutti_dev_near_join(int group)
{
    (void)group;
}

TUTTI_DEV int tutti_dev_near_sync(int group, int failed)
{
    (void)group;
    return failed;
}

TUTTI_DEV uint64_t tutti_dev_near_share(int group, uint64_t value)
{
    (void)group;
    return value;
}

TUTTI_DEV uint32_t tutti_dev_grid_add(uint32_t *at, uint32_t value)
{
    return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
}

#endif

/* The packing kernel's environment in C: a block is one thread. */
#ifndef TUTTI_KERNELS_PACK_C_H
#define TUTTI_KERNELS_PACK_C_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/pack_args.h"

#define TUTTI_PACK_FN          static inline
#define TUTTI_PACK_THREAD      0u
#define TUTTI_PACK_STEP        1u
#define TUTTI_PACK_LANES       1u
#define TUTTI_PACK_LANE        0u
#define TUTTI_PACK_WARP        0u
#define TUTTI_PACK_WARPS       1u
#define TUTTI_PACK_SYNC()      ((void)0)
#define TUTTI_PACK_SYNC_WARP() ((void)0)
#define TUTTI_PACK_UNROLLED
#define TUTTI_PACK_ROLLED
#define TUTTI_PACK_HIGH(a, b)      ((uint32_t)((uint64_t)(a) * (b) >> 32))
#define TUTTI_PACK_WORD(bytes)     TUTTI_PACK_NAME(tutti_pack_word, bytes)
#define TUTTI_PACK_NAME(x, bytes)  TUTTI_PACK_NAME_(x, bytes)
#define TUTTI_PACK_NAME_(x, bytes) x##_##bytes

typedef uint8_t tutti_pack_word_1;
typedef uint16_t tutti_pack_word_2;
typedef uint32_t tutti_pack_word_4;
typedef uint64_t tutti_pack_word_8;
typedef struct {
    _Alignas(16) unsigned char byte[16];
} tutti_pack_word_16;

TUTTI_PACK_FN unsigned char *tutti_pack_at(int64_t address)
{
    return (unsigned char *)(uintptr_t)address;
}

TUTTI_PACK_FN int64_t tutti_pack_further(int64_t at, uint32_t steps, int32_t stride)
{
    return at + (int64_t)(int32_t)steps * stride;
}

#define TUTTI_PACK_PAIR tutti_pack_word_16

/* No byte is loaded that is not wanted. */
TUTTI_PACK_FN int tutti_pack_fits(const unsigned char *from, const unsigned char *low, const unsigned char *high)
{
    (void)from;
    (void)low;
    (void)high;
    return 1;
}

/* Bytes [x0, x1) of the 16 at `from`, which may be anywhere; the others are not looked at. What tutti_pack_fetch() has
 * loaded, tutti_pack_shifted() brings to its place. */
TUTTI_PACK_FN tutti_pack_word_16 tutti_pack_fetch(const unsigned char *from, unsigned x0, unsigned x1)
{
    tutti_pack_word_16 held = {{0}};
    if (x0 < x1)
        memcpy(held.byte + x0, from + x0, x1 - x0);
    return held;
}

TUTTI_PACK_FN tutti_pack_word_16 tutti_pack_shifted(tutti_pack_word_16 held, const unsigned char *from)
{
    (void)from;
    return held;
}

TUTTI_PACK_FN tutti_pack_word_16 tutti_pack_any(const unsigned char *from, unsigned x0, unsigned x1,
                                                const unsigned char *low, const unsigned char *high)
{
    (void)low;
    (void)high;
    return tutti_pack_fetch(from, x0, x1);
}

/* Bytes before `cut` of the first, the others of the second. */
TUTTI_PACK_FN tutti_pack_word_16 tutti_pack_joined(tutti_pack_word_16 before, tutti_pack_word_16 behind, unsigned cut)
{
    memcpy(behind.byte, before.byte, cut);
    return behind;
}

TUTTI_PACK_FN void tutti_pack_put(unsigned char *to, tutti_pack_word_16 held, unsigned x0, unsigned x1)
{
    memcpy(to + x0, held.byte + x0, x1 - x0);
}

/* n bytes at `from` become bytes x and on of *held, word by word. */
TUTTI_PACK_FN void tutti_pack_collect(tutti_pack_word_16 *held, const unsigned char *from, unsigned x, unsigned n,
                                      unsigned word)
{
    (void)word;
    memcpy(held->byte + x, from, n);
}

TUTTI_PACK_FN void tutti_pack_spill(unsigned char *to, const tutti_pack_word_16 *held, unsigned x, unsigned n,
                                    unsigned word)
{
    (void)word;
    memcpy(to, held->byte + x, n);
}

/* Blocks run one after the other. */
TUTTI_PACK_FN void tutti_pack_end(const struct tutti_pack_args *args, uint32_t block)
{
    if (args->head.launch_number && block + 1 == args->head.blocks)
        __atomic_store_n(args->head.done, args->head.launch_number, __ATOMIC_RELEASE);
}

#include "kernels/pack.inc"

#endif

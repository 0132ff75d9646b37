/* The kernels in C, compiled once for each instruction set: TUTTI_ISA (base, avx2, avx512) names the table. */
#include "kernels/amo_c.h"
#include "kernels/elements.h"
#include "kernels/env_c.h"
#include "kernels/flow_c.h"
#include "kernels/half_c.h"
#include "kernels/linger_c.h"
#include "kernels/prefix_c.h"
#include "kernels/update_c.h"

#include "kernels/ops.inc"

/* Accumulators at any address. */
#define TUTTI_PAIRS_TYPE(TYPE) typedef tutti_a_##TYPE any_##TYPE __attribute__((aligned(1)));
#define TUTTI_PAIR(TYPE, OP)
#include "kernels/pairs.inc"

#define TUTTI_PAIR(TYPE, OP)                                                                                           \
    static void fold_##TYPE##_##OP(void *to, const void *const from[], unsigned k, size_t n)                           \
    {                                                                                                                  \
        any_##TYPE *out = to;                                                                                          \
        const any_##TYPE *x0 = from[0], *x1 = from[1];                                                                 \
        if (k == 2) {                                                                                                  \
            TUTTI_INDEPENDENT                                                                                          \
            for (size_t i = 0; i < n; i++)                                                                             \
                out[i] = tutti_settle_##TYPE(tutti_##TYPE##_##OP(x0[i], x1[i]));                                       \
            return;                                                                                                    \
        }                                                                                                              \
        const any_##TYPE *x2 = from[2];                                                                                \
        if (k == 3) {                                                                                                  \
            TUTTI_INDEPENDENT                                                                                          \
            for (size_t i = 0; i < n; i++)                                                                             \
                out[i] = tutti_settle_##TYPE(tutti_##TYPE##_##OP(tutti_##TYPE##_##OP(x0[i], x1[i]), x2[i]));           \
            return;                                                                                                    \
        }                                                                                                              \
        const any_##TYPE *x3 = from[3];                                                                                \
        TUTTI_INDEPENDENT                                                                                              \
        for (size_t i = 0; i < n; i++)                                                                                 \
            out[i] = tutti_settle_##TYPE(                                                                              \
                tutti_##TYPE##_##OP(tutti_##TYPE##_##OP(tutti_##TYPE##_##OP(x0[i], x1[i]), x2[i]), x3[i]));            \
    }
#include "kernels/pairs.inc"

enum { FOLD = 4, TILE_BYTES = 4096 };

static void copy(void *const to[], unsigned outs, const unsigned char *from, uint64_t offset, size_t bytes)
{
    for (unsigned i = 0; i < outs; i++) {
        unsigned char *const out = (unsigned char *)to[i] + offset;
        if (out != from)
            memcpy(out, from, bytes);
    }
}

/* Tile by tile, FOLD contributions at a time; the first of the later groups is what was combined so far. A tile is read
 * from all contributions before any of it is stored, so that outputs may be inputs. */
static void reduce(const struct tutti_c_pair *pair, const void *const from[], unsigned ranks, void *const to[],
                   unsigned outs, uint64_t n)
{
    unsigned char tile[TILE_BYTES] __attribute__((aligned(64)));
    float wide[FOLD][TILE_BYTES / sizeof(float)] __attribute__((aligned(64)));
    const size_t size = pair->size, step = TILE_BYTES / (pair->widen ? sizeof(float) : size);
    for (uint64_t at = 0; outs > 0 && at < n; at += step) {
        const size_t some = n - at < step ? n - at : step;
        const uint64_t offset = at * size;
        if (ranks == 1) {
            copy(to, outs, (const unsigned char *)from[0] + offset, offset, some * size);
            continue;
        }
        unsigned char *const first = (unsigned char *)to[0] + offset;
        for (unsigned r = 0; r < ranks;) {
            const void *group[FOLD];
            unsigned k = 0;
            if (r > 0)
                group[k++] = tile;
            for (; k < FOLD && r < ranks; k++, r++) {
                group[k] = (const unsigned char *)from[r] + offset;
                if (pair->widen) {
                    pair->widen(wide[k], group[k], some);
                    group[k] = wide[k];
                }
            }
            pair->fold(r == ranks && !pair->widen ? first : tile, group, k, some);
        }
        if (pair->widen)
            pair->narrow(first, (const float *)(const void *)tile, some);
        copy(to + 1, outs - 1, first, offset, some * size);
    }
}

/* A block's tiles of n elements, of which each block takes every blocks-th. */
static void reduce_shared(const struct tutti_c_pair *pair, const struct tutti_ends *ends, unsigned ranks, unsigned outs,
                          uint64_t n, unsigned block, unsigned blocks)
{
    const uint64_t tile =
        TILE_BYTES / 2 / pair->size; /* several for each block in tests with contributions of some KiB */
    for (uint64_t at = block * tile; at < n; at += blocks * tile) {
        const void *from[TUTTI_MAX_RANKS];
        void *to[TUTTI_MAX_GPUS];
        for (unsigned r = 0; r < ranks; r++)
            from[r] = ends->from[r] + at * pair->size;
        for (unsigned o = 0; o < outs; o++)
            to[o] = ends->to[o] + at * pair->size;
        reduce(pair, from, ranks, to, outs, n - at < tile ? n - at : tile);
    }
}

static void reduce_two(const struct tutti_c_pair *pair, const unsigned char *near, const unsigned char *far,
                       unsigned char *to, unsigned char *other, int turned, uint64_t n, unsigned block, unsigned blocks)
{
    struct tutti_ends ends;
    ends.from[turned] = near;
    ends.from[!turned] = far;
    ends.to[0] = to;
    ends.to[1] = other;
    reduce_shared(pair, &ends, 2, other ? 2 : 1, n, block, blocks);
}

#define TUTTI_KERNEL(id, name, args_, part)                                                                            \
    static void body_##name(const struct tutti_##args_##_args *args, unsigned block, const struct tutti_c_pair *pair);
#include "kernels/kernels.def"
#undef TUTTI_KERNEL

#include "kernels/amo.inc"
#include "kernels/direct.inc"
#include "kernels/oneshot.inc"
#include "kernels/twoshot.inc"
#include "kernels/update.inc"

#include "kernels/chain.inc"
#include "kernels/chain_ll128.inc"
#include "kernels/exchanges.inc"
#include "kernels/linger.inc"
#include "kernels/move_runs.inc"

#include "kernels/moves.inc"
#include "kernels/pipeline.inc"

#include "kernels/mapped.inc"

#define TUTTI_KERNEL(id, name, args_, part)                                                                            \
    static void enter_##name(const void *args, unsigned block, const struct tutti_c_pair *pair)                        \
    {                                                                                                                  \
        body_##name(args, block, pair);                                                                                \
    }
#include "kernels/kernels.def"
#undef TUTTI_KERNEL

static void (*const bodies[])(const void *, unsigned, const struct tutti_c_pair *) = {
#define TUTTI_KERNEL(id, name, args, part) enter_##name,
#include "kernels/kernels.def"
#undef TUTTI_KERNEL
};

#define NAME_OF(isa) tutti_kernels_c_##isa
#define NAME(isa)    NAME_OF(isa)
#define TEXT_OF(isa) #isa
#define TEXT(isa)    TEXT_OF(isa)
/* Half precision has its own way in and out; it is what the element is, not what the accumulator is. */
#define WIDEN(TYPE)                                                                                                    \
    (TUTTI_TYPE_##TYPE == TUTTI_TYPE_F16 ? widen_F16 : TUTTI_TYPE_##TYPE == TUTTI_TYPE_BF16 ? widen_BF16 : NULL)
#define NARROW(TYPE)                                                                                                   \
    (TUTTI_TYPE_##TYPE == TUTTI_TYPE_F16 ? narrow_F16 : TUTTI_TYPE_##TYPE == TUTTI_TYPE_BF16 ? narrow_BF16 : NULL)

extern const struct tutti_c_variant NAME(TUTTI_ISA);
const struct tutti_c_variant NAME(TUTTI_ISA) = {
    .name = TEXT(TUTTI_ISA),
    .pair =
        {
#define TUTTI_PAIR(TYPE, OP)                                                                                           \
    [TUTTI_TYPE_##TYPE][TUTTI_OP_##OP] = {fold_##TYPE##_##OP, WIDEN(TYPE), NARROW(TYPE), sizeof(tutti_e_##TYPE)},
#include "kernels/pairs.inc"
        },
    .reduce = reduce,
    .kernel = bodies,
};

/* The environment of the kernel of atomics in C. See amo.inc. */
#ifndef TUTTI_KERNELS_AMO_C_H
#define TUTTI_KERNELS_AMO_C_H

#include "kernels/env_c.h"

#define TUTTI_AMO_BODY(name)                                                                                           \
    static void body_##name(const struct tutti_amo_args *args, unsigned block, const struct tutti_c_pair *pair)
#define TUTTI_AMO_ALONE(block) ((block) == 0)
#define TUTTI_AMO(args)        amo(args, pair)
#define TUTTI_AMO_DONE(args)   amo_done(args)

#define TUTTI_AMO_WORD(bits)                                                                                           \
    TUTTI_FN uint##bits##_t amo_##bits(const struct tutti_amo_args *args, const struct tutti_c_pair *pair)             \
    {                                                                                                                  \
        uint##bits##_t *const at = args->at;                                                                           \
        uint##bits##_t was = (uint##bits##_t)args->expected, made = (uint##bits##_t)args->value;                       \
        const uint##bits##_t value = made;                                                                             \
        switch (args->what) {                                                                                          \
        case TUTTI_AMO_FETCH:                                                                                          \
            return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                              \
        case TUTTI_AMO_SET:                                                                                            \
            __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                             \
            return value;                                                                                              \
        case TUTTI_AMO_SWAP:                                                                                           \
            return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                   \
        case TUTTI_AMO_COMPARE_SWAP:                                                                                   \
            __atomic_compare_exchange_n(at, &was, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                       \
            return was;                                                                                                \
        default:                                                                                                       \
            was = __atomic_load_n(at, __ATOMIC_RELAXED);                                                               \
            do {                                                                                                       \
                const void *const from[] = {&was, &value};                                                             \
                pair->fold(&made, from, 2, 1);                                                                         \
            } while (!__atomic_compare_exchange_n(at, &was, made, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));             \
            return was;                                                                                                \
        }                                                                                                              \
    }
TUTTI_AMO_WORD(32)
TUTTI_AMO_WORD(64)

TUTTI_FN uint64_t amo(const struct tutti_amo_args *args, const struct tutti_c_pair *pair)
{
    tutti_pace();
    return pair->size == sizeof(uint32_t) ? amo_32(args, pair) : amo_64(args, pair);
}

TUTTI_FN void amo_done(const struct tutti_amo_args *args)
{
    if (args->done)
        __atomic_store_n(args->done, args->launch_number, __ATOMIC_RELEASE);
}

#endif

/* Atomics on words of 4 and 8 bytes that the host loads and stores. */
#include <string.h>

#include "shmem/host.h"

/* Replaces the word by the result of `made` on its value, `was`, until no other thread has changed it meanwhile.
 * There is no such instruction that also returns the old value; and gcc 12 with sanitizers drops the operand of its
 * own loop for __atomic_fetch_and(). */
#define REPLACE(at, was, made)                                                                                         \
    do {                                                                                                               \
        (was) = __atomic_load_n(at, __ATOMIC_RELAXED);                                                                 \
        while (!__atomic_compare_exchange_n(at, &(was), made, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))                  \
            ;                                                                                                          \
    } while (0)

#define AMO(WORD, FLOAT)                                                                                               \
    static WORD sum_##WORD(WORD a, WORD b)                                                                             \
    {                                                                                                                  \
        FLOAT x, y;                                                                                                    \
        memcpy(&x, &a, sizeof x);                                                                                      \
        memcpy(&y, &b, sizeof y);                                                                                      \
        x += y;                                                                                                        \
        memcpy(&a, &x, sizeof a);                                                                                      \
        return a;                                                                                                      \
    }                                                                                                                  \
    static WORD amo_##WORD(int operation, WORD *at, WORD value, WORD was)                                              \
    {                                                                                                                  \
        switch (operation) {                                                                                           \
        case TSHMEM_AMO_FETCH:                                                                                         \
            return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                              \
        case TSHMEM_AMO_SET:                                                                                           \
            __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                             \
            return value;                                                                                              \
        case TSHMEM_AMO_SWAP:                                                                                          \
            return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                   \
        case TSHMEM_AMO_COMPARE_SWAP: /* the expected value is in `was` */                                             \
            __atomic_compare_exchange_n(at, &was, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                       \
            return was;                                                                                                \
        case TSHMEM_AMO_ADD:                                                                                           \
            return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                                    \
        case TSHMEM_AMO_AND:                                                                                           \
            REPLACE(at, was, was &value);                                                                              \
            return was;                                                                                                \
        case TSHMEM_AMO_OR:                                                                                            \
            REPLACE(at, was, was | value);                                                                             \
            return was;                                                                                                \
        case TSHMEM_AMO_XOR:                                                                                           \
            REPLACE(at, was, was ^ value);                                                                             \
            return was;                                                                                                \
        default: /* TSHMEM_AMO_ADD_FLOAT */                                                                            \
            REPLACE(at, was, sum_##WORD(was, value));                                                                  \
            return was;                                                                                                \
        }                                                                                                              \
    }
AMO(uint32_t, float)
AMO(uint64_t, double)

uint64_t tutti_shmem_amo_host(struct tutti_shmem *space, int operation, void *at, size_t bytes, uint64_t value,
                              uint64_t compare)
{
    (void)space;
    operation &= ~TSHMEM_AMO_NO_FETCH;
    if (bytes == sizeof(uint32_t))
        return amo_uint32_t(operation, at, (uint32_t)value, (uint32_t)compare);
    return amo_uint64_t(operation, at, value, compare);
}

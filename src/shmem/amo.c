/* Atomics on words of 4 and 8 bytes of any PE's heap. */
#include <string.h>

#include "shmem/space.h"

#define AMO(WORD, FLOAT)                                                                                               \
    static WORD amo_##WORD(int operation, WORD *at, WORD value, WORD compare)                                          \
    {                                                                                                                  \
        switch (operation) {                                                                                           \
        case TSHMEM_AMO_FETCH:                                                                                         \
            return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                              \
        case TSHMEM_AMO_SET:                                                                                           \
            __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                             \
            return value;                                                                                              \
        case TSHMEM_AMO_SWAP:                                                                                          \
            return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                                   \
        case TSHMEM_AMO_COMPARE_SWAP:                                                                                  \
            __atomic_compare_exchange_n(at, &compare, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                   \
            return compare;                                                                                            \
        case TSHMEM_AMO_ADD:                                                                                           \
            return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                                    \
        case TSHMEM_AMO_AND:                                                                                           \
            return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);                                                    \
        case TSHMEM_AMO_OR:                                                                                            \
            return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);                                                     \
        case TSHMEM_AMO_XOR:                                                                                           \
            return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST);                                                    \
        default: /* TSHMEM_AMO_ADD_FLOAT: there is no such instruction, so until nobody came in between */             \
            compare = __atomic_load_n(at, __ATOMIC_RELAXED);                                                           \
            for (;;) {                                                                                                 \
                FLOAT sum, add;                                                                                        \
                memcpy(&sum, &compare, sizeof sum);                                                                    \
                memcpy(&add, &value, sizeof add);                                                                      \
                sum += add;                                                                                            \
                WORD bits;                                                                                             \
                memcpy(&bits, &sum, sizeof bits);                                                                      \
                if (__atomic_compare_exchange_n(at, &compare, bits, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))            \
                    return compare;                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
AMO(uint32_t, float)
AMO(uint64_t, double)

uint64_t tutti_shmem_amo(int operation, void *dest, size_t bytes, uint64_t value, uint64_t compare, int pe)
{
    static const char call[] = "an atomic";
    if ((uintptr_t)dest % bytes != 0) {
        tutti_shmem_fail(TUTTI_ERR_ARGUMENT, call, "%p is not aligned to %zu bytes", dest, bytes);
        return 0;
    }
    void *at = tutti_shmem_at(dest, bytes, pe, call);
    if (!at)
        return 0;
    if (bytes == sizeof(uint32_t))
        return amo_uint32_t(operation, at, (uint32_t)value, (uint32_t)compare);
    return amo_uint64_t(operation, at, value, compare);
}

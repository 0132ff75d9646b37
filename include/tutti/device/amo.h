/* Atomics on the memory of any PE, of 4 or 8 bytes: one instruction there where all PEs reach it, otherwise a request
 * to the host (ring.h). */
#ifndef TUTTI_DEVICE_AMO_H
#define TUTTI_DEVICE_AMO_H

#define TUTTI_DEV_AMO(bits, add_floating)                                                                              \
    TUTTI_DEV uint64_t tutti_dev_amo##bits(int operation, char *at, uint64_t given, uint64_t expected)                 \
    {                                                                                                                  \
        const tutti_dev_u##bits value = (tutti_dev_u##bits)given, compare = (tutti_dev_u##bits)expected;               \
        switch (operation) {                                                                                           \
        case TSHMEM_AMO_FETCH:                                                                                         \
            return tutti_dev_load_relaxed##bits(at);                                                                   \
        case TSHMEM_AMO_SET:                                                                                           \
            tutti_dev_store_relaxed##bits(at, value);                                                                  \
            return 0;                                                                                                  \
        case TSHMEM_AMO_SWAP:                                                                                          \
            return tutti_dev_swap##bits(at, value);                                                                    \
        case TSHMEM_AMO_COMPARE_SWAP:                                                                                  \
            return tutti_dev_compare_swap##bits(at, compare, value);                                                   \
        case TSHMEM_AMO_ADD:                                                                                           \
            return tutti_dev_add##bits(at, value);                                                                     \
        case TSHMEM_AMO_AND:                                                                                           \
            return tutti_dev_and##bits(at, value);                                                                     \
        case TSHMEM_AMO_OR:                                                                                            \
            return tutti_dev_or##bits(at, value);                                                                      \
        case TSHMEM_AMO_XOR:                                                                                           \
            return tutti_dev_xor##bits(at, value);                                                                     \
        default: /* TSHMEM_AMO_ADD_FLOAT */                                                                            \
            return add_floating(at, value);                                                                            \
        }                                                                                                              \
    }
TUTTI_DEV_AMO(32, tutti_dev_add_float)
TUTTI_DEV_AMO(64, tutti_dev_add_double)
#undef TUTTI_DEV_AMO

/* On memory of this PE that is in no heap: global memory, which atomics are for. */
TUTTI_DEV_APART uint64_t tutti_dev_own_amo(int what, void *dest, size_t bytes, uint64_t value, uint64_t compare)
{
    if (!tutti_dev_host_finds(dest)) {
        tutti_dev_refuse(TSHMEM_KERNEL_AMO, TSHMEM_WHY_NOT_GLOBAL, tutti_dev_state()->me, -1, (uint64_t)(uintptr_t)dest,
                         bytes);
        return 0;
    }
    return bytes == 4 ? tutti_dev_amo32(what, (char *)dest, value, compare)
                      : tutti_dev_amo64(what, (char *)dest, value, compare);
}

/* operation: enum tshmem_amo. The value before, but with TSHMEM_AMO_NO_FETCH. */
TUTTI_DEV uint64_t tutti_dev_amo(int operation, void *dest, size_t bytes, uint64_t value, uint64_t compare, int pe)
{
    const int what = operation & ~TSHMEM_AMO_NO_FETCH;
    char *const at = tutti_dev_near(dest, pe, 1);
    if (!at && tutti_dev_is_own(dest, pe))
        return tutti_dev_own_amo(what, dest, bytes, value, compare);
    if (!at)
        return tutti_dev_ring_amo(what, dest, bytes, value, compare, pe, what == operation && what != TSHMEM_AMO_SET);
    return bytes == 4 ? tutti_dev_amo32(what, at, value, compare) : tutti_dev_amo64(what, at, value, compare);
}

#endif

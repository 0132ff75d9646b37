/* Waits for own words of the heap, and tests of them. A group's leader reads the words, and passes the result to the
 * others. */
#ifndef TUTTI_DEVICE_WAIT_H
#define TUTTI_DEVICE_WAIT_H

/* Word i, and value i as one of the same type: both made 64 bits wide, by their signs. */
TUTTI_DEV uint64_t tutti_dev_widen(int type, uint64_t bits)
{
    switch (type) {
    case TSHMEM_INT8:
        return (uint64_t)(int64_t)(int8_t)bits;
    case TSHMEM_INT16:
        return (uint64_t)(int64_t)(int16_t)bits;
    case TSHMEM_INT32:
        return (uint64_t)(int64_t)(int32_t)bits;
    default:
        return bits;
    }
}

TUTTI_DEV size_t tutti_dev_int_size(int type)
{
    return (size_t)1 << type / 2;
}

TUTTI_DEV uint64_t tutti_dev_word(int type, const void *words, size_t i)
{
    const char *const at = (const char *)words + i * tutti_dev_int_size(type);
    switch (tutti_dev_int_size(type)) {
    case 1:
        return tutti_dev_widen(type, tutti_dev_load_look8(at));
    case 2:
        return tutti_dev_widen(type, tutti_dev_load_look16(at));
    case 4:
        return tutti_dev_widen(type, tutti_dev_load_look32(at));
    default:
        return tutti_dev_load_look64(at);
    }
}

/* Values are the caller's own: plain loads. */
TUTTI_DEV uint64_t tutti_dev_value(int type, const void *values, size_t i)
{
    switch (tutti_dev_int_size(type)) {
    case 1:
        return tutti_dev_widen(type, ((const tutti_dev_u8 *)values)[i]);
    case 2:
        return tutti_dev_widen(type, ((const tutti_dev_u16 *)values)[i]);
    case 4:
        return tutti_dev_widen(type, ((const tutti_dev_u32 *)values)[i]);
    default:
        return ((const tutti_dev_u64 *)values)[i];
    }
}

TUTTI_DEV int tutti_dev_compares(int is_signed, int comparison, uint64_t a, uint64_t b)
{
    const uint64_t top = is_signed ? 0x8000000000000000u : 0; /* turned, signed ones compare as unsigned ones */
    const uint64_t left = a ^ top, right = b ^ top;
    switch (comparison) {
#define TUTTI_DEV_COMPARISON(id, operator_)                                                                            \
    case TSHMEM_CMP_##id:                                                                                              \
        return left operator_ right;
        TSHMEM_COMPARISONS(TUTTI_DEV_COMPARISON)
#undef TUTTI_DEV_COMPARISON
    default:
        return 0;
    }
}

/* One look at all words, by one thread. ALL: 1 or 0; ANY: an index, SIZE_MAX: none; SOME: how many, and their indices.
 * *looked: how many there were to look at. */
TUTTI_DEV size_t tutti_dev_look(int which, int type, const void *words, size_t n, size_t *indices, const int *status,
                                int comparison, const void *values, size_t *looked)
{
    size_t found = 0, some = 0;
    for (size_t i = 0; i < n; i++) {
        if (status && status[i] != 0)
            continue;
        some++;
        const uint64_t value = tutti_dev_value(type, values, which & TSHMEM_WAIT_VECTOR ? i : 0);
        if (tutti_dev_compares(type % 2 == 0, comparison, tutti_dev_word(type, words, i), value)) {
            if ((which & 3) == TSHMEM_WAIT_ANY) {
                *looked = some;
                return i;
            }
            if (indices && (which & 3) == TSHMEM_WAIT_SOME)
                indices[found] = i;
            found++;
        } else if ((which & 3) == TSHMEM_WAIT_ALL) {
            *looked = some;
            return 0;
        }
    }
    *looked = some;
    return (which & 3) == TSHMEM_WAIT_ALL ? 1 : (which & 3) == TSHMEM_WAIT_ANY ? (size_t)-1 : found;
}

/* As tutti_shmem_wait() of tutti/shmem.h. With nothing to look at a wait returns at once. */
TUTTI_DEV size_t tutti_dev_wait(int group, int which, int type, const void *words, size_t n, size_t *indices,
                                const int *status, int comparison, const void *values)
{
    size_t result = 0, looked = 0;
    tutti_dev_join(group);
    if (tutti_dev_rank(group) == 0) {
        const size_t nothing = (which & 3) == TSHMEM_WAIT_ANY ? (size_t)-1 : 0;
        struct tutti_dev_patience patience = {0, 0};
        do {
            result = tutti_dev_look(which, type, words, n, indices, status, comparison, values, &looked);
        } while (!(which & TSHMEM_WAIT_TEST) && result == nothing && looked > 0 &&
                 !tutti_dev_leave(&patience, TSHMEM_KERNEL_WAIT, words));
        tutti_dev_seen();
    }
    return (size_t)tutti_dev_share_likely(group, result, 1);
}

TUTTI_DEV uint64_t tutti_dev_signal_wait(int group, const uint64_t *signal, int comparison, uint64_t value)
{
    uint64_t seen = 0;
    if (tutti_dev_rank(group) == 0) {
        struct tutti_dev_patience patience = {0, 0};
        do {
            seen = tutti_dev_load_look64(signal);
        } while (!tutti_dev_compares(0, comparison, seen, value) &&
                 !tutti_dev_leave(&patience, TSHMEM_KERNEL_SIGNAL_WAIT, signal));
        tutti_dev_seen();
    }
    return tutti_dev_share_likely(group, seen, value);
}

#endif

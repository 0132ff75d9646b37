/* Intel SHMEM's calls without a type in their names, and its collectives without a team, which are over all PEs: C++.
 * Included by ishmem.h alone. The type is that of the first pointer; one that Tutti does not have does not compile. */
#ifndef TUTTI_ISHMEM_GENERIC_H
#define TUTTI_ISHMEM_GENERIC_H

/* ---- put, get, atomics ---- */

#define TUTTI_ISHMEM_MOVE(call)                                                                                        \
    template <class T> TSHMEM_INLINE void ishmem_##call(T *dest, const T *source, size_t nelems, int pe)               \
    {                                                                                                                  \
        tshmem_##call(dest, source, nelems, pe);                                                                       \
    }
TUTTI_ISHMEM_MOVE(put)
TUTTI_ISHMEM_MOVE(get)
TUTTI_ISHMEM_MOVE(put_nbi)
TUTTI_ISHMEM_MOVE(get_nbi)
#undef TUTTI_ISHMEM_MOVE

#define TUTTI_ISHMEM_STRIDED(call)                                                                                     \
    template <class T>                                                                                                 \
    TSHMEM_INLINE void ishmem_##call(T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe)    \
    {                                                                                                                  \
        tshmem_##call(dest, source, dst, sst, nelems, pe);                                                             \
    }
TUTTI_ISHMEM_STRIDED(iput)
TUTTI_ISHMEM_STRIDED(iget)
#undef TUTTI_ISHMEM_STRIDED

#define TUTTI_ISHMEM_SIGNAL(call)                                                                                      \
    template <class T>                                                                                                 \
    TSHMEM_INLINE void ishmem_##call(T *dest, const T *source, size_t nelems, uint64_t *signal, uint64_t value,        \
                                     int operation, int pe)                                                            \
    {                                                                                                                  \
        tshmem_##call(dest, source, nelems, signal, value, operation, pe);                                             \
    }
TUTTI_ISHMEM_SIGNAL(put_signal)
TUTTI_ISHMEM_SIGNAL(put_signal_nbi)
#undef TUTTI_ISHMEM_SIGNAL

template <class T> TSHMEM_INLINE void ishmem_p(T *dest, T value, int pe)
{
    tshmem_p(dest, value, pe);
}
template <class T> TSHMEM_INLINE T ishmem_g(const T *source, int pe)
{
    return tshmem_g(source, pe);
}

template <class T> TSHMEM_INLINE T ishmem_atomic_fetch(T *source, int pe)
{
    return tshmem_atomic_fetch((const T *)source, pe);
}
template <class T> TSHMEM_INLINE T ishmem_atomic_fetch_inc(T *dest, int pe)
{
    return tshmem_atomic_fetch_inc(dest, pe);
}
template <class T> TSHMEM_INLINE void ishmem_atomic_inc(T *dest, int pe)
{
    tshmem_atomic_inc(dest, pe);
}
template <class T> TSHMEM_INLINE T ishmem_atomic_compare_swap(T *dest, T expected, T value, int pe)
{
    return tshmem_atomic_compare_swap(dest, expected, value, pe);
}
template <class T> TSHMEM_INLINE void ishmem_atomic_compare_swap_nbi(T *fetch, T *dest, T expected, T value, int pe)
{
    tshmem_atomic_compare_swap_nbi(fetch, dest, expected, value, pe);
}

#define TUTTI_ISHMEM_ATOMIC(call)                                                                                      \
    template <class T> TSHMEM_INLINE void ishmem_atomic_##call(T *dest, T value, int pe)                               \
    {                                                                                                                  \
        tshmem_atomic_##call(dest, value, pe);                                                                         \
    }
TUTTI_ISHMEM_ATOMIC(set)
TUTTI_ISHMEM_ATOMIC(add)
TUTTI_ISHMEM_ATOMIC(and)
TUTTI_ISHMEM_ATOMIC(or)
TUTTI_ISHMEM_ATOMIC(xor)
#undef TUTTI_ISHMEM_ATOMIC

#define TUTTI_ISHMEM_FETCHING(call)                                                                                    \
    template <class T> TSHMEM_INLINE T ishmem_atomic_##call(T *dest, T value, int pe)                                  \
    {                                                                                                                  \
        return tshmem_atomic_##call(dest, value, pe);                                                                  \
    }                                                                                                                  \
    template <class T> TSHMEM_INLINE void ishmem_atomic_##call##_nbi(T *fetch, T *dest, T value, int pe)               \
    {                                                                                                                  \
        tshmem_atomic_##call##_nbi(fetch, dest, value, pe);                                                            \
    }
TUTTI_ISHMEM_FETCHING(swap)
TUTTI_ISHMEM_FETCHING(fetch_add)
TUTTI_ISHMEM_FETCHING(fetch_and)
TUTTI_ISHMEM_FETCHING(fetch_or)
TUTTI_ISHMEM_FETCHING(fetch_xor)
#undef TUTTI_ISHMEM_FETCHING

#define TUTTI_ISHMEM_FETCHING_NBI(call)                                                                                \
    template <class T> TSHMEM_INLINE void ishmem_atomic_##call##_nbi(T *fetch, T *dest, int pe)                        \
    {                                                                                                                  \
        tshmem_atomic_##call##_nbi(fetch, dest, pe);                                                                   \
    }
TUTTI_ISHMEM_FETCHING_NBI(fetch)
TUTTI_ISHMEM_FETCHING_NBI(fetch_inc)
#undef TUTTI_ISHMEM_FETCHING_NBI

/* ---- waits and tests ---- */

template <class T> TSHMEM_INLINE void ishmem_wait_until(T *word, int comparison, T value)
{
    tshmem_wait_until(word, comparison, value);
}
template <class T> TSHMEM_INLINE int ishmem_test(T *word, int comparison, T value)
{
    return tshmem_test(word, comparison, value);
}

#define TUTTI_ISHMEM_WAITS(call, result)                                                                               \
    template <class T>                                                                                                 \
    TSHMEM_INLINE result ishmem_##call##_all(T *words, size_t n, const int *status, int comparison, T value)           \
    {                                                                                                                  \
        return tshmem_##call##_all(words, n, status, comparison, value);                                               \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    TSHMEM_INLINE size_t ishmem_##call##_any(T *words, size_t n, const int *status, int comparison, T value)           \
    {                                                                                                                  \
        return tshmem_##call##_any(words, n, status, comparison, value);                                               \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    TSHMEM_INLINE size_t ishmem_##call##_some(T *words, size_t n, size_t *indices, const int *status, int comparison,  \
                                              T value)                                                                 \
    {                                                                                                                  \
        return tshmem_##call##_some(words, n, indices, status, comparison, value);                                     \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    TSHMEM_INLINE result ishmem_##call##_all_vector(T *words, size_t n, const int *status, int comparison,             \
                                                    const T *values)                                                   \
    {                                                                                                                  \
        return tshmem_##call##_all_vector(words, n, status, comparison, const_cast<T *>(values));                      \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    TSHMEM_INLINE size_t ishmem_##call##_any_vector(T *words, size_t n, const int *status, int comparison,             \
                                                    const T *values)                                                   \
    {                                                                                                                  \
        return tshmem_##call##_any_vector(words, n, status, comparison, const_cast<T *>(values));                      \
    }                                                                                                                  \
    template <class T>                                                                                                 \
    TSHMEM_INLINE size_t ishmem_##call##_some_vector(T *words, size_t n, size_t *indices, const int *status,           \
                                                     int comparison, const T *values)                                  \
    {                                                                                                                  \
        return tshmem_##call##_some_vector(words, n, indices, status, comparison, const_cast<T *>(values));            \
    }
TUTTI_ISHMEM_WAITS(wait_until, void)
TUTTI_ISHMEM_WAITS(test, int)
#undef TUTTI_ISHMEM_WAITS

/* ---- collectives ---- */

#define TUTTI_ISHMEM_TEAM(call)                                                                                        \
    template <class T> TSHMEM_INLINE int ishmem_##call(ishmem_team_t team, T *dest, const T *source, size_t nelems)    \
    {                                                                                                                  \
        return tshmem_##call(team, dest, source, nelems);                                                              \
    }                                                                                                                  \
    template <class T> TSHMEM_INLINE int ishmem_##call(T *dest, const T *source, size_t nelems)                        \
    {                                                                                                                  \
        return tshmem_##call(ISHMEM_TEAM_WORLD, dest, source, nelems);                                                 \
    }
TUTTI_ISHMEM_TEAM(collect)
TUTTI_ISHMEM_TEAM(fcollect)
TUTTI_ISHMEM_TEAM(alltoall)
TUTTI_ISHMEM_TEAM(and_reduce)
TUTTI_ISHMEM_TEAM(or_reduce)
TUTTI_ISHMEM_TEAM(xor_reduce)
TUTTI_ISHMEM_TEAM(max_reduce)
TUTTI_ISHMEM_TEAM(min_reduce)
TUTTI_ISHMEM_TEAM(sum_reduce)
TUTTI_ISHMEM_TEAM(prod_reduce)
TUTTI_ISHMEM_TEAM(sum_inscan)
TUTTI_ISHMEM_TEAM(sum_exscan)
#undef TUTTI_ISHMEM_TEAM

template <class T>
TSHMEM_INLINE int ishmem_broadcast(ishmem_team_t team, T *dest, const T *source, size_t nelems, int root)
{
    return tshmem_broadcast(team, dest, source, nelems, root);
}
template <class T> TSHMEM_INLINE int ishmem_broadcast(T *dest, const T *source, size_t nelems, int root)
{
    return tshmem_broadcast(ISHMEM_TEAM_WORLD, dest, source, nelems, root);
}

/* Typed and without a team. */
#define TUTTI_ISHMEM_ALL(name, type, kind, call)                                                                       \
    TSHMEM_INLINE int ishmem_##name##_##call(type *dest, const type *source, size_t nelems)                            \
    {                                                                                                                  \
        return ishmem_##name##_##call(ISHMEM_TEAM_WORLD, dest, source, nelems);                                        \
    }
TSHMEM_RMA(TUTTI_ISHMEM_ALL, collect)
TSHMEM_RMA(TUTTI_ISHMEM_ALL, fcollect)
TSHMEM_RMA(TUTTI_ISHMEM_ALL, alltoall)
TSHMEM_RMA(TUTTI_ISHMEM_ALL, max_reduce)
TSHMEM_RMA(TUTTI_ISHMEM_ALL, min_reduce)
TSHMEM_BITS(TUTTI_ISHMEM_ALL, and_reduce)
TUTTI_ISHMEM_ALL(schar, signed char, INTEGER, and_reduce)
TSHMEM_BITS(TUTTI_ISHMEM_ALL, or_reduce)
TUTTI_ISHMEM_ALL(schar, signed char, INTEGER, or_reduce)
TSHMEM_BITS(TUTTI_ISHMEM_ALL, xor_reduce)
TUTTI_ISHMEM_ALL(schar, signed char, INTEGER, xor_reduce)
TSHMEM_ARITH(TUTTI_ISHMEM_ALL, sum_reduce)
TSHMEM_ARITH(TUTTI_ISHMEM_ALL, prod_reduce)
TSHMEM_ARITH(TUTTI_ISHMEM_ALL, sum_inscan)
TSHMEM_ARITH(TUTTI_ISHMEM_ALL, sum_exscan)
#undef TUTTI_ISHMEM_ALL
#define TUTTI_ISHMEM_ALL(name, type, kind, what)                                                                       \
    TSHMEM_INLINE int ishmem_##name##_broadcast(type *dest, const type *source, size_t nelems, int root)               \
    {                                                                                                                  \
        return ishmem_##name##_broadcast(ISHMEM_TEAM_WORLD, dest, source, nelems, root);                               \
    }
TSHMEM_RMA(TUTTI_ISHMEM_ALL, )
#undef TUTTI_ISHMEM_ALL

/* Bytes. */
#define TUTTI_ISHMEM_MEM(call)                                                                                         \
    TSHMEM_INLINE int ishmem_##call(ishmem_team_t team, void *dest, const void *source, size_t bytes)                  \
    {                                                                                                                  \
        return tshmem_##call(team, dest, source, bytes);                                                               \
    }                                                                                                                  \
    TSHMEM_INLINE int ishmem_##call(void *dest, const void *source, size_t bytes)                                      \
    {                                                                                                                  \
        return tshmem_##call(ISHMEM_TEAM_WORLD, dest, source, bytes);                                                  \
    }
TUTTI_ISHMEM_MEM(collectmem)
TUTTI_ISHMEM_MEM(fcollectmem)
TUTTI_ISHMEM_MEM(alltoallmem)
#undef TUTTI_ISHMEM_MEM

TSHMEM_INLINE int ishmem_broadcastmem(ishmem_team_t team, void *dest, const void *source, size_t bytes, int root)
{
    return tshmem_broadcastmem(team, dest, source, bytes, root);
}
TSHMEM_INLINE int ishmem_broadcastmem(void *dest, const void *source, size_t bytes, int root)
{
    return tshmem_broadcastmem(ISHMEM_TEAM_WORLD, dest, source, bytes, root);
}

#endif

/* The calls of <shmem.h> without a type in their names, for C++ (11 and later): the type is that of the first pointer.
 * Included by tutti/shmem_functions.h alone. What is not Tutti's is named by types alone or begins with tshmem_, so
 * that no macro of a program is in the way. */
#ifndef TUTTI_SHMEM_OVERLOADS_H
#define TUTTI_SHMEM_OVERLOADS_H

/* shmem_sync() over an active set. */
static inline void shmem_sync(int tshmem_start, int tshmem_stride, int tshmem_size, long *tshmem_sync_words)
{
    tutti_openshmem_sync(tshmem_start, tshmem_stride, tshmem_size, tshmem_sync_words);
}
static inline void shmem_signal_set(shmem_ctx_t tshmem_ctx, uint64_t *tshmem_signal, uint64_t tshmem_value,
                                    int tshmem_pe)
{
    shmem_ctx_signal_set(tshmem_ctx, tshmem_signal, tshmem_value, tshmem_pe);
}
static inline void shmem_signal_add(shmem_ctx_t tshmem_ctx, uint64_t *tshmem_signal, uint64_t tshmem_value,
                                    int tshmem_pe)
{
    shmem_ctx_signal_add(tshmem_ctx, tshmem_signal, tshmem_value, tshmem_pe);
}

#if __cplusplus >= 201103L
#include "tutti/shmem_complex.h"
#define TSHMEM_OVERLOADS(name, type, kind, call) TSHMEM_OVERLOADS_NAMED(_##name, type, call)
#define TSHMEM_OVERLOADS_NAMED(name, type, call)                                                                       \
    template <class... TshmemRest>                                                                                     \
    static inline auto shmem##call(type *tshmem_first, TshmemRest... tshmem_rest)                                      \
        ->decltype(shmem##name##call(tshmem_first, tshmem_rest...))                                                    \
    {                                                                                                                  \
        return shmem##name##call(tshmem_first, tshmem_rest...);                                                        \
    }
/* The same, and with a context. */
#define TSHMEM_OVERLOADS_CTX(name, type, kind, call)                                                                   \
    TSHMEM_OVERLOADS_NAMED(_##name, type, call) TSHMEM_OVERLOADS_WITH_CTX(_##name, type *, call)
#define TSHMEM_OVERLOADS_WITH_CTX(name, pointer, call)                                                                 \
    template <class... TshmemRest>                                                                                     \
    static inline auto shmem##call(tshmem_ctx_t tshmem_ctx, pointer tshmem_first, TshmemRest... tshmem_rest)           \
        ->decltype(shmem_ctx##name##call(tshmem_ctx, tshmem_first, tshmem_rest...))                                    \
    {                                                                                                                  \
        return shmem_ctx##name##call(tshmem_ctx, tshmem_first, tshmem_rest...);                                        \
    }
#define TSHMEM_OVERLOADS_CONST(name, type, kind, call)                                                                 \
    static inline type shmem##call(const type *tshmem_source, int tshmem_pe)                                           \
    {                                                                                                                  \
        return shmem_##name##call(tshmem_source, tshmem_pe);                                                           \
    }                                                                                                                  \
    TSHMEM_OVERLOADS_WITH_CTX(_##name, const type *, call)
#define TSHMEM_OVERLOADS_TEAM(name, type, kind, call)                                                                  \
    template <class... TshmemRest>                                                                                     \
    static inline int shmem##call(shmem_team_t tshmem_team, type *tshmem_dest, const type *tshmem_source,              \
                                  TshmemRest... tshmem_rest)                                                           \
    {                                                                                                                  \
        return shmem_##name##call(tshmem_team, tshmem_dest, tshmem_source, tshmem_rest...);                            \
    }
/* Waits and tests of several words: whole signatures, so that NULL is a pointer. */
#define TSHMEM_OVERLOADS_WAIT(name, type, call, given)                                                                 \
    static inline auto shmem##call(type *tshmem_words, size_t tshmem_n, const int *tshmem_status, int tshmem_how,      \
                                   given tshmem_values)                                                                \
        ->decltype(shmem##name##call(tshmem_words, tshmem_n, tshmem_status, tshmem_how, tshmem_values))                \
    {                                                                                                                  \
        return shmem##name##call(tshmem_words, tshmem_n, tshmem_status, tshmem_how, tshmem_values);                    \
    }
#define TSHMEM_OVERLOADS_WAIT_SOME(name, type, call, given)                                                            \
    static inline size_t shmem##call(type *tshmem_words, size_t tshmem_n, size_t *tshmem_indices,                      \
                                     const int *tshmem_status, int tshmem_how, given tshmem_values)                    \
    {                                                                                                                  \
        return shmem##name##call(tshmem_words, tshmem_n, tshmem_indices, tshmem_status, tshmem_how, tshmem_values);    \
    }
#define TSHMEM_OVERLOADS_WORDS(name, type, kind, call)        TSHMEM_OVERLOADS_WAIT(_##name, type, call, type)
#define TSHMEM_OVERLOADS_WORDS_VECTOR(name, type, kind, call) TSHMEM_OVERLOADS_WAIT(_##name, type, call, const type *)
#define TSHMEM_OVERLOADS_SOME(name, type, kind, call)         TSHMEM_OVERLOADS_WAIT_SOME(_##name, type, call, type)
#define TSHMEM_OVERLOADS_SOME_VECTOR(name, type, kind, call)                                                           \
    TSHMEM_OVERLOADS_WAIT_SOME(_##name, type, call, const type *)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _put)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _get)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _put_nbi)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _get_nbi)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _p)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CONST, _g)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _iput)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _iget)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _ibput)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _ibget)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _put_signal)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_CTX, _put_signal_nbi)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOADS_CONST, _atomic_fetch)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOADS_CTX, _atomic_fetch_nbi)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOADS_CTX, _atomic_set)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOADS_CTX, _atomic_swap)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOADS_CTX, _atomic_swap_nbi)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOADS_CTX, _atomic_fetch_add)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOADS_CTX, _atomic_fetch_add_nbi)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOADS_CTX, _atomic_add)
TSHMEM_AMO_BASE(TSHMEM_OVERLOADS_CTX, _atomic_compare_swap)
TSHMEM_AMO_BASE(TSHMEM_OVERLOADS_CTX, _atomic_compare_swap_nbi)
TSHMEM_AMO_BASE(TSHMEM_OVERLOADS_CTX, _atomic_fetch_inc)
TSHMEM_AMO_BASE(TSHMEM_OVERLOADS_CTX, _atomic_fetch_inc_nbi)
TSHMEM_AMO_BASE(TSHMEM_OVERLOADS_CTX, _atomic_inc)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_fetch_and)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_fetch_and_nbi)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_and)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_fetch_or)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_fetch_or_nbi)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_or)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_fetch_xor)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_fetch_xor_nbi)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOADS_CTX, _atomic_xor)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS, _wait_until)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_WORDS, _wait_until_all)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_WORDS, _wait_until_any)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_SOME, _wait_until_some)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_WORDS_VECTOR, _wait_until_all_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_WORDS_VECTOR, _wait_until_any_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_SOME_VECTOR, _wait_until_some_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS, _test)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_WORDS, _test_all)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_WORDS, _test_any)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_SOME, _test_some)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_WORDS_VECTOR, _test_all_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_WORDS_VECTOR, _test_any_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOADS_SOME_VECTOR, _test_some_vector)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _broadcast)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _collect)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _fcollect)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _alltoall)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _alltoalls)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _max_reduce)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _min_reduce)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _max_reducescatter)
TSHMEM_RMA_BASE(TSHMEM_OVERLOADS_TEAM, _min_reducescatter)
TSHMEM_BITS_BASE(TSHMEM_OVERLOADS_TEAM, _and_reduce)
TSHMEM_BITS_BASE(TSHMEM_OVERLOADS_TEAM, _or_reduce)
TSHMEM_BITS_BASE(TSHMEM_OVERLOADS_TEAM, _xor_reduce)
TSHMEM_BITS_BASE(TSHMEM_OVERLOADS_TEAM, _and_reducescatter)
TSHMEM_BITS_BASE(TSHMEM_OVERLOADS_TEAM, _or_reducescatter)
TSHMEM_BITS_BASE(TSHMEM_OVERLOADS_TEAM, _xor_reducescatter)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOADS_TEAM, _sum_reduce)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOADS_TEAM, _prod_reduce)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOADS_TEAM, _sum_reducescatter)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOADS_TEAM, _prod_reducescatter)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOADS_TEAM, _sum_inscan)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOADS_TEAM, _sum_exscan)
#pragma push_macro("real")
#pragma push_macro("imag")
#undef real
#undef imag
TSHMEM_CLASS_CALLS(shmem, shmem_team_t, static inline)
#pragma pop_macro("imag")
#pragma pop_macro("real")
/* Atomics of before version 1.4. */
#define TSHMEM_OVERLOADS_OLD(call, now)                                                                                \
    template <class... TshmemArguments>                                                                                \
    static inline auto shmem##call(TshmemArguments... tshmem_arguments)->decltype(shmem##now(tshmem_arguments...))     \
    {                                                                                                                  \
        return shmem##now(tshmem_arguments...);                                                                        \
    }
TSHMEM_OVERLOADS_OLD(_fetch, _atomic_fetch)
TSHMEM_OVERLOADS_OLD(_set, _atomic_set)
TSHMEM_OVERLOADS_OLD(_swap, _atomic_swap)
TSHMEM_OVERLOADS_OLD(_cswap, _atomic_compare_swap)
TSHMEM_OVERLOADS_OLD(_fadd, _atomic_fetch_add)
TSHMEM_OVERLOADS_OLD(_finc, _atomic_fetch_inc)
TSHMEM_OVERLOADS_OLD(_add, _atomic_add)
TSHMEM_OVERLOADS_OLD(_inc, _atomic_inc)
#endif

#endif

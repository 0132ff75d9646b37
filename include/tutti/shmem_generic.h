/* The calls of tutti/shmem.h without a type in their names: the type is that of the first pointer. C11 chooses by
 * _Generic, C++ (11 and later) by overloading. Included by that file alone. */
#ifndef TUTTI_SHMEM_GENERIC_H
#define TUTTI_SHMEM_GENERIC_H

#ifdef __cplusplus
#if __cplusplus >= 201103L
#include "tutti/shmem_complex.h"
/* Number of the type that a pointer points to, in enum tshmem_type. */
#define TSHMEM_TYPE_OF(name, type, kind, what)                                                                         \
    TSHMEM_INLINE int tshmem_type_of(const type *)                                                                     \
    {                                                                                                                  \
        return TSHMEM_ID_##kind(type);                                                                                 \
    }
TSHMEM_GENERIC_ARITH(TSHMEM_TYPE_OF, )
#undef TSHMEM_TYPE_OF
#define TSHMEM_OVERLOAD(name, type, kind, call)                                                                        \
    template <class... Rest>                                                                                           \
    TSHMEM_INLINE auto tshmem_##call(type *first, Rest... rest)->decltype(tshmem_##name##_##call(first, rest...))      \
    {                                                                                                                  \
        return tshmem_##name##_##call(first, rest...);                                                                 \
    }
/* The same, and with a context. */
#define TSHMEM_OVERLOAD_CTX(name, type, kind, call)                                                                    \
    TSHMEM_OVERLOAD(name, type, kind, call)                                                                            \
    TSHMEM_WITH_CTX(name, type, call, type *)
#define TSHMEM_WITH_CTX(name, type, call, pointer)                                                                     \
    template <class... Rest>                                                                                           \
    TSHMEM_INLINE auto tshmem_##call(tshmem_ctx_t ctx, pointer first, Rest... rest)                                    \
        ->decltype(tshmem_ctx_##name##_##call(ctx, first, rest...))                                                    \
    {                                                                                                                  \
        return tshmem_ctx_##name##_##call(ctx, first, rest...);                                                        \
    }
#define TSHMEM_OVERLOAD_CONST(name, type, kind, call)                                                                  \
    TSHMEM_INLINE type tshmem_##call(const type *source, int pe)                                                       \
    {                                                                                                                  \
        return tshmem_##name##_##call(source, pe);                                                                     \
    }                                                                                                                  \
    TSHMEM_WITH_CTX(name, type, call, const type *)
#define TSHMEM_OVERLOAD_TEAM(name, type, kind, call)                                                                   \
    template <class... Rest>                                                                                           \
    TSHMEM_INLINE int tshmem_##call(tshmem_team_t team, type *dest, const type *source, Rest... rest)                  \
    {                                                                                                                  \
        return tshmem_##name##_##call(team, dest, source, rest...);                                                    \
    }
/* Waits and tests of several words: whole signatures, so that NULL is a pointer. */
#define TSHMEM_OVERLOAD_WAIT(name, type, call, given)                                                                  \
    TSHMEM_INLINE auto tshmem_##call(type *words, size_t n, const int *status, int comparison, given)                  \
        ->decltype(tshmem_##name##_##call(words, n, status, comparison, values))                                       \
    {                                                                                                                  \
        return tshmem_##name##_##call(words, n, status, comparison, values);                                           \
    }
#define TSHMEM_OVERLOAD_WAIT_SOME(name, type, call, given)                                                             \
    TSHMEM_INLINE size_t tshmem_##call(type *words, size_t n, size_t *indices, const int *status, int comparison,      \
                                       given)                                                                          \
    {                                                                                                                  \
        return tshmem_##name##_##call(words, n, indices, status, comparison, values);                                  \
    }
#define TSHMEM_OVERLOAD_WORDS(name, type, kind, call)        TSHMEM_OVERLOAD_WAIT(name, type, call, type values)
#define TSHMEM_OVERLOAD_WORDS_VECTOR(name, type, kind, call) TSHMEM_OVERLOAD_WAIT(name, type, call, const type *values)
#define TSHMEM_OVERLOAD_SOME(name, type, kind, call)         TSHMEM_OVERLOAD_WAIT_SOME(name, type, call, type values)
#define TSHMEM_OVERLOAD_SOME_VECTOR(name, type, kind, call)                                                            \
    TSHMEM_OVERLOAD_WAIT_SOME(name, type, call, const type *values)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, put)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, get)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, put_nbi)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, get_nbi)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, p)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CONST, g)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, iput)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, iget)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, ibput)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, ibget)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, put_signal)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, put_signal_nbi)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOAD_CONST, atomic_fetch)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOAD_CTX, atomic_fetch_nbi)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOAD_CTX, atomic_set)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOAD_CTX, atomic_swap)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOAD_CTX, atomic_swap_nbi)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOAD_CTX, atomic_fetch_add)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOAD_CTX, atomic_fetch_add_nbi)
TSHMEM_GENERIC_AMO(TSHMEM_OVERLOAD_CTX, atomic_add)
TSHMEM_AMO_BASE(TSHMEM_OVERLOAD_CTX, atomic_compare_swap)
TSHMEM_AMO_BASE(TSHMEM_OVERLOAD_CTX, atomic_compare_swap_nbi)
TSHMEM_AMO_BASE(TSHMEM_OVERLOAD_CTX, atomic_fetch_inc)
TSHMEM_AMO_BASE(TSHMEM_OVERLOAD_CTX, atomic_fetch_inc_nbi)
TSHMEM_AMO_BASE(TSHMEM_OVERLOAD_CTX, atomic_inc)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_fetch_and)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_fetch_and_nbi)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_and)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_fetch_or)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_fetch_or_nbi)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_or)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_fetch_xor)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_fetch_xor_nbi)
TSHMEM_BITWISE_BASE(TSHMEM_OVERLOAD_CTX, atomic_xor)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD, wait_until)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS, wait_until_all)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS, wait_until_any)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_SOME, wait_until_some)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS_VECTOR, wait_until_all_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS_VECTOR, wait_until_any_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_SOME_VECTOR, wait_until_some_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD, test)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS, test_all)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS, test_any)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_SOME, test_some)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS_VECTOR, test_all_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS_VECTOR, test_any_vector)
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_SOME_VECTOR, test_some_vector)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, broadcast)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, collect)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, fcollect)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, alltoall)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, alltoalls)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, max_reduce)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, min_reduce)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, max_reducescatter)
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, min_reducescatter)
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, and_reduce)
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, or_reduce)
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, xor_reduce)
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, and_reducescatter)
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, or_reducescatter)
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, xor_reducescatter)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, sum_reduce)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, prod_reduce)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, sum_reducescatter)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, prod_reducescatter)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, sum_inscan)
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, sum_exscan)
#ifndef __CUDACC__ /* there complex numbers are float2 and double2, whose memory is aligned otherwise */
TSHMEM_CLASS_CALLS(tshmem, tshmem_team_t, TSHMEM_INLINE)
#endif
#endif
#else
#define TSHMEM_TYPE_OF(name, type, kind, what) type * : TSHMEM_ID_##kind(type), const type * : TSHMEM_ID_##kind(type),
#define tshmem_type_of(pointer)                _Generic((pointer), TSHMEM_GENERIC_ARITH(TSHMEM_TYPE_OF, ) void * : -1)
#define TSHMEM_CASE(name, type, kind, call)    type * : tshmem_##name##_##call, const type * : tshmem_##name##_##call,
/* The function of `call` for what `pointer` points to; of another type: none, which the compiler says. */
#define TSHMEM_CHOOSE(pointer, LIST, call)     _Generic((pointer), LIST(TSHMEM_CASE, call) default : tshmem_no_such_type)
/* The same, or with a context before what points. The second argument is looked at: where it is a compound literal, it
 * needs parentheses. */
#define TSHMEM_CHOOSE_CTX(LIST, call, first, ...)                                                                      \
    _Generic((first), tshmem_ctx_t                                                                                     \
             : _Generic((TSHMEM_SECOND(__VA_ARGS__, 0)), LIST(TSHMEM_CASE_CTX, call) default                           \
                        : tshmem_no_such_type),                                                                        \
               LIST(TSHMEM_CASE, call) default                                                                         \
             : tshmem_no_such_type)(first, __VA_ARGS__)
#define TSHMEM_SECOND(second, ...) second
#define TSHMEM_CASE_CTX(name, type, kind, call)                                                                        \
    type * : tshmem_ctx_##name##_##call, const type * : tshmem_ctx_##name##_##call,
struct tshmem_no_such_type;
extern const struct tshmem_no_such_type *const tshmem_no_such_type;
#define tshmem_put(...)                     TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put, __VA_ARGS__)
#define tshmem_get(...)                     TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, get, __VA_ARGS__)
#define tshmem_put_nbi(...)                 TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_nbi, __VA_ARGS__)
#define tshmem_get_nbi(...)                 TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, get_nbi, __VA_ARGS__)
#define tshmem_p(...)                       TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, p, __VA_ARGS__)
#define tshmem_g(...)                       TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, g, __VA_ARGS__)
#define tshmem_iput(...)                    TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, iput, __VA_ARGS__)
#define tshmem_iget(...)                    TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, iget, __VA_ARGS__)
#define tshmem_ibput(...)                   TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, ibput, __VA_ARGS__)
#define tshmem_ibget(...)                   TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, ibget, __VA_ARGS__)
#define tshmem_put_signal(...)              TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_signal, __VA_ARGS__)
#define tshmem_put_signal_nbi(...)          TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_signal_nbi, __VA_ARGS__)
#define tshmem_atomic_fetch(...)            TSHMEM_CHOOSE_CTX(TSHMEM_GENERIC_AMO, atomic_fetch, __VA_ARGS__)
#define tshmem_atomic_fetch_nbi(...)        TSHMEM_CHOOSE_CTX(TSHMEM_GENERIC_AMO, atomic_fetch_nbi, __VA_ARGS__)
#define tshmem_atomic_set(...)              TSHMEM_CHOOSE_CTX(TSHMEM_GENERIC_AMO, atomic_set, __VA_ARGS__)
#define tshmem_atomic_swap(...)             TSHMEM_CHOOSE_CTX(TSHMEM_GENERIC_AMO, atomic_swap, __VA_ARGS__)
#define tshmem_atomic_swap_nbi(...)         TSHMEM_CHOOSE_CTX(TSHMEM_GENERIC_AMO, atomic_swap_nbi, __VA_ARGS__)
#define tshmem_atomic_fetch_add(...)        TSHMEM_CHOOSE_CTX(TSHMEM_GENERIC_AMO, atomic_fetch_add, __VA_ARGS__)
#define tshmem_atomic_fetch_add_nbi(...)    TSHMEM_CHOOSE_CTX(TSHMEM_GENERIC_AMO, atomic_fetch_add_nbi, __VA_ARGS__)
#define tshmem_atomic_add(...)              TSHMEM_CHOOSE_CTX(TSHMEM_GENERIC_AMO, atomic_add, __VA_ARGS__)
#define tshmem_atomic_compare_swap(...)     TSHMEM_CHOOSE_CTX(TSHMEM_AMO_BASE, atomic_compare_swap, __VA_ARGS__)
#define tshmem_atomic_compare_swap_nbi(...) TSHMEM_CHOOSE_CTX(TSHMEM_AMO_BASE, atomic_compare_swap_nbi, __VA_ARGS__)
#define tshmem_atomic_fetch_inc(...)        TSHMEM_CHOOSE_CTX(TSHMEM_AMO_BASE, atomic_fetch_inc, __VA_ARGS__)
#define tshmem_atomic_fetch_inc_nbi(...)    TSHMEM_CHOOSE_CTX(TSHMEM_AMO_BASE, atomic_fetch_inc_nbi, __VA_ARGS__)
#define tshmem_atomic_inc(...)              TSHMEM_CHOOSE_CTX(TSHMEM_AMO_BASE, atomic_inc, __VA_ARGS__)
#define tshmem_atomic_fetch_and(...)        TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_fetch_and, __VA_ARGS__)
#define tshmem_atomic_fetch_and_nbi(...)    TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_fetch_and_nbi, __VA_ARGS__)
#define tshmem_atomic_and(...)              TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_and, __VA_ARGS__)
#define tshmem_atomic_fetch_or(...)         TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_fetch_or, __VA_ARGS__)
#define tshmem_atomic_fetch_or_nbi(...)     TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_fetch_or_nbi, __VA_ARGS__)
#define tshmem_atomic_or(...)               TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_or, __VA_ARGS__)
#define tshmem_atomic_fetch_xor(...)        TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_fetch_xor, __VA_ARGS__)
#define tshmem_atomic_fetch_xor_nbi(...)    TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_fetch_xor_nbi, __VA_ARGS__)
#define tshmem_atomic_xor(...)              TSHMEM_CHOOSE_CTX(TSHMEM_BITWISE_BASE, atomic_xor, __VA_ARGS__)
#define tshmem_wait_until(first, ...)       TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until)(first, __VA_ARGS__)
#define tshmem_wait_until_all(first, ...)   TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_all)(first, __VA_ARGS__)
#define tshmem_wait_until_any(first, ...)   TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_any)(first, __VA_ARGS__)
#define tshmem_wait_until_some(first, ...)  TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_some)(first, __VA_ARGS__)
#define tshmem_wait_until_all_vector(first, ...)                                                                       \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_all_vector)(first, __VA_ARGS__)
#define tshmem_wait_until_any_vector(first, ...)                                                                       \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_any_vector)(first, __VA_ARGS__)
#define tshmem_wait_until_some_vector(first, ...)                                                                      \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_some_vector)(first, __VA_ARGS__)
#define tshmem_test(first, ...)             TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test)(first, __VA_ARGS__)
#define tshmem_test_all(first, ...)         TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_all)(first, __VA_ARGS__)
#define tshmem_test_any(first, ...)         TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_any)(first, __VA_ARGS__)
#define tshmem_test_some(first, ...)        TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_some)(first, __VA_ARGS__)
#define tshmem_test_all_vector(first, ...)  TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_all_vector)(first, __VA_ARGS__)
#define tshmem_test_any_vector(first, ...)  TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_any_vector)(first, __VA_ARGS__)
#define tshmem_test_some_vector(first, ...) TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_some_vector)(first, __VA_ARGS__)
#define tshmem_broadcast(team, dest, ...)   TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, broadcast)(team, dest, __VA_ARGS__)
#define tshmem_collect(team, dest, ...)     TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, collect)(team, dest, __VA_ARGS__)
#define tshmem_fcollect(team, dest, ...)    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, fcollect)(team, dest, __VA_ARGS__)
#define tshmem_alltoall(team, dest, ...)    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, alltoall)(team, dest, __VA_ARGS__)
#define tshmem_alltoalls(team, dest, ...)   TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, alltoalls)(team, dest, __VA_ARGS__)
#define tshmem_max_reduce(team, dest, ...)  TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, max_reduce)(team, dest, __VA_ARGS__)
#define tshmem_min_reduce(team, dest, ...)  TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, min_reduce)(team, dest, __VA_ARGS__)
#define tshmem_max_reducescatter(team, dest, ...)                                                                      \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, max_reducescatter)(team, dest, __VA_ARGS__)
#define tshmem_min_reducescatter(team, dest, ...)                                                                      \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, min_reducescatter)(team, dest, __VA_ARGS__)
#define tshmem_and_reduce(team, dest, ...) TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, and_reduce)(team, dest, __VA_ARGS__)
#define tshmem_or_reduce(team, dest, ...)  TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, or_reduce)(team, dest, __VA_ARGS__)
#define tshmem_xor_reduce(team, dest, ...) TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, xor_reduce)(team, dest, __VA_ARGS__)
#define tshmem_and_reducescatter(team, dest, ...)                                                                      \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, and_reducescatter)(team, dest, __VA_ARGS__)
#define tshmem_or_reducescatter(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, or_reducescatter)(team, dest, __VA_ARGS__)
#define tshmem_xor_reducescatter(team, dest, ...)                                                                      \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, xor_reducescatter)(team, dest, __VA_ARGS__)
#define tshmem_sum_reduce(team, dest, ...)                                                                             \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_reduce)(team, dest, __VA_ARGS__)
#define tshmem_prod_reduce(team, dest, ...)                                                                            \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, prod_reduce)(team, dest, __VA_ARGS__)
#define tshmem_sum_reducescatter(team, dest, ...)                                                                      \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_reducescatter)(team, dest, __VA_ARGS__)
#define tshmem_prod_reducescatter(team, dest, ...)                                                                     \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, prod_reducescatter)(team, dest, __VA_ARGS__)
#define tshmem_sum_inscan(team, dest, ...)                                                                             \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_inscan)(team, dest, __VA_ARGS__)
#define tshmem_sum_exscan(team, dest, ...)                                                                             \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_exscan)(team, dest, __VA_ARGS__)
#endif

#endif

/* The calls of <shmem.h> without a type in their names, for C: the type is that of the first pointer, chosen by C11's
 * _Generic. Included by tutti/shmem_functions.h alone. Names that go through macros begin with _, so that no macro of a
 * program is in the way. */
#ifndef TUTTI_SHMEM_CHOICES_H
#define TUTTI_SHMEM_CHOICES_H

/* The function of `call` for what `pointer` points to; of another type: none, which the compiler says. */
#define TSHMEM_OF(pointer, LIST, call)                                                                                 \
    (__extension__ _Generic((pointer), LIST(TSHMEM_OF_TYPE, call) default : tshmem_no_such_type))
/* Waits and tests: programs declare what they wait for as volatile. */
#define TSHMEM_OF_WAIT(pointer, LIST, call)                                                                            \
    (__extension__ _Generic((pointer), LIST(TSHMEM_OF_VOLATILE, call) default : tshmem_no_such_type))
/* The same, or with a context before what points. The second argument is looked at: where it is a compound literal, it
 * needs parentheses. */
#define TSHMEM_OF_CTX(LIST, call, first, ...)                                                                          \
    (__extension__ _Generic((first), tshmem_ctx_t                                                                      \
                            : _Generic((TSHMEM_OF_SECOND(__VA_ARGS__, 0)), LIST(TSHMEM_OF_TYPE_CTX, call) default      \
                                       : tshmem_no_such_type),                                                         \
                              LIST(TSHMEM_OF_TYPE, call) default                                                       \
                            : tshmem_no_such_type))(first, __VA_ARGS__)
#define TSHMEM_OF_SECOND(second, ...)              second
#define TSHMEM_OF_TYPE(name, type, kind, call)     type * : shmem_##name##call, const type * : shmem_##name##call,
#define TSHMEM_OF_VOLATILE(name, type, kind, call) type * : shmem_##name##call, volatile type * : shmem_##name##call,
#define TSHMEM_OF_TYPE_CTX(name, type, kind, call)                                                                     \
    type * : shmem_ctx_##name##call, const type * : shmem_ctx_##name##call,
struct tshmem_no_such_type;
extern const struct tshmem_no_such_type *const tshmem_no_such_type;

/* shmem_sync(team), or over an active set: shmem_sync(PE_start, logPE_stride, PE_size, pSync). */
#define TSHMEM_OF_FIFTH(a, b, c, d, fifth, ...) fifth
#define shmem_sync(...)                                                                                                \
    TSHMEM_OF_FIFTH(__VA_ARGS__, tutti_openshmem_sync, shmem_sync, shmem_sync, shmem_sync, )(__VA_ARGS__)
/* With a context before the other arguments, or without. */
#define shmem_signal_set(first, ...)                                                                                   \
    (__extension__ _Generic((first), tshmem_ctx_t                                                                      \
                            : shmem_ctx_signal_set, default                                                            \
                            : shmem_signal_set))(first, __VA_ARGS__)
#define shmem_signal_add(first, ...)                                                                                   \
    (__extension__ _Generic((first), tshmem_ctx_t                                                                      \
                            : shmem_ctx_signal_add, default                                                            \
                            : shmem_signal_add))(first, __VA_ARGS__)

#define shmem_put(...)                     TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _put, __VA_ARGS__)
#define shmem_get(...)                     TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _get, __VA_ARGS__)
#define shmem_put_nbi(...)                 TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _put_nbi, __VA_ARGS__)
#define shmem_get_nbi(...)                 TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _get_nbi, __VA_ARGS__)
#define shmem_p(...)                       TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _p, __VA_ARGS__)
#define shmem_g(...)                       TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _g, __VA_ARGS__)
#define shmem_iput(...)                    TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _iput, __VA_ARGS__)
#define shmem_iget(...)                    TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _iget, __VA_ARGS__)
#define shmem_ibput(...)                   TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _ibput, __VA_ARGS__)
#define shmem_ibget(...)                   TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _ibget, __VA_ARGS__)
#define shmem_put_signal(...)              TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _put_signal, __VA_ARGS__)
#define shmem_put_signal_nbi(...)          TSHMEM_OF_CTX(TSHMEM_RMA_BASE, _put_signal_nbi, __VA_ARGS__)
#define shmem_atomic_fetch(...)            TSHMEM_OF_CTX(TSHMEM_GENERIC_AMO, _atomic_fetch, __VA_ARGS__)
#define shmem_atomic_fetch_nbi(...)        TSHMEM_OF_CTX(TSHMEM_GENERIC_AMO, _atomic_fetch_nbi, __VA_ARGS__)
#define shmem_atomic_set(...)              TSHMEM_OF_CTX(TSHMEM_GENERIC_AMO, _atomic_set, __VA_ARGS__)
#define shmem_atomic_swap(...)             TSHMEM_OF_CTX(TSHMEM_GENERIC_AMO, _atomic_swap, __VA_ARGS__)
#define shmem_atomic_swap_nbi(...)         TSHMEM_OF_CTX(TSHMEM_GENERIC_AMO, _atomic_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_add(...)        TSHMEM_OF_CTX(TSHMEM_GENERIC_AMO, _atomic_fetch_add, __VA_ARGS__)
#define shmem_atomic_fetch_add_nbi(...)    TSHMEM_OF_CTX(TSHMEM_GENERIC_AMO, _atomic_fetch_add_nbi, __VA_ARGS__)
#define shmem_atomic_add(...)              TSHMEM_OF_CTX(TSHMEM_GENERIC_AMO, _atomic_add, __VA_ARGS__)
#define shmem_atomic_compare_swap(...)     TSHMEM_OF_CTX(TSHMEM_AMO_BASE, _atomic_compare_swap, __VA_ARGS__)
#define shmem_atomic_compare_swap_nbi(...) TSHMEM_OF_CTX(TSHMEM_AMO_BASE, _atomic_compare_swap_nbi, __VA_ARGS__)
#define shmem_atomic_fetch_inc(...)        TSHMEM_OF_CTX(TSHMEM_AMO_BASE, _atomic_fetch_inc, __VA_ARGS__)
#define shmem_atomic_fetch_inc_nbi(...)    TSHMEM_OF_CTX(TSHMEM_AMO_BASE, _atomic_fetch_inc_nbi, __VA_ARGS__)
#define shmem_atomic_inc(...)              TSHMEM_OF_CTX(TSHMEM_AMO_BASE, _atomic_inc, __VA_ARGS__)
#define shmem_atomic_fetch_and(...)        TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_fetch_and, __VA_ARGS__)
#define shmem_atomic_fetch_and_nbi(...)    TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_fetch_and_nbi, __VA_ARGS__)
#define shmem_atomic_and(...)              TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_and, __VA_ARGS__)
#define shmem_atomic_fetch_or(...)         TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_fetch_or, __VA_ARGS__)
#define shmem_atomic_fetch_or_nbi(...)     TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_fetch_or_nbi, __VA_ARGS__)
#define shmem_atomic_or(...)               TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_or, __VA_ARGS__)
#define shmem_atomic_fetch_xor(...)        TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_fetch_xor, __VA_ARGS__)
#define shmem_atomic_fetch_xor_nbi(...)    TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_fetch_xor_nbi, __VA_ARGS__)
#define shmem_atomic_xor(...)              TSHMEM_OF_CTX(TSHMEM_BITWISE_BASE, _atomic_xor, __VA_ARGS__)
#define shmem_wait_until(first, ...)       TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _wait_until)(first, __VA_ARGS__)
#define shmem_wait_until_all(first, ...)   TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _wait_until_all)(first, __VA_ARGS__)
#define shmem_wait_until_any(first, ...)   TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _wait_until_any)(first, __VA_ARGS__)
#define shmem_wait_until_some(first, ...)  TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _wait_until_some)(first, __VA_ARGS__)
#define shmem_wait_until_all_vector(first, ...)                                                                        \
    TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _wait_until_all_vector)(first, __VA_ARGS__)
#define shmem_wait_until_any_vector(first, ...)                                                                        \
    TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _wait_until_any_vector)(first, __VA_ARGS__)
#define shmem_wait_until_some_vector(first, ...)                                                                       \
    TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _wait_until_some_vector)(first, __VA_ARGS__)
#define shmem_test(first, ...)            TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _test)(first, __VA_ARGS__)
#define shmem_test_all(first, ...)        TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _test_all)(first, __VA_ARGS__)
#define shmem_test_any(first, ...)        TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _test_any)(first, __VA_ARGS__)
#define shmem_test_some(first, ...)       TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _test_some)(first, __VA_ARGS__)
#define shmem_test_all_vector(first, ...) TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _test_all_vector)(first, __VA_ARGS__)
#define shmem_test_any_vector(first, ...) TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _test_any_vector)(first, __VA_ARGS__)
#define shmem_test_some_vector(first, ...)                                                                             \
    TSHMEM_OF_WAIT(first, TSHMEM_WAIT_BASE, _test_some_vector)(first, __VA_ARGS__)
#define shmem_broadcast(team, dest, ...)  TSHMEM_OF(dest, TSHMEM_RMA_BASE, _broadcast)(team, dest, __VA_ARGS__)
#define shmem_collect(team, dest, ...)    TSHMEM_OF(dest, TSHMEM_RMA_BASE, _collect)(team, dest, __VA_ARGS__)
#define shmem_fcollect(team, dest, ...)   TSHMEM_OF(dest, TSHMEM_RMA_BASE, _fcollect)(team, dest, __VA_ARGS__)
#define shmem_alltoall(team, dest, ...)   TSHMEM_OF(dest, TSHMEM_RMA_BASE, _alltoall)(team, dest, __VA_ARGS__)
#define shmem_alltoalls(team, dest, ...)  TSHMEM_OF(dest, TSHMEM_RMA_BASE, _alltoalls)(team, dest, __VA_ARGS__)
#define shmem_max_reduce(team, dest, ...) TSHMEM_OF(dest, TSHMEM_RMA_BASE, _max_reduce)(team, dest, __VA_ARGS__)
#define shmem_min_reduce(team, dest, ...) TSHMEM_OF(dest, TSHMEM_RMA_BASE, _min_reduce)(team, dest, __VA_ARGS__)
#define shmem_max_reducescatter(team, dest, ...)                                                                       \
    TSHMEM_OF(dest, TSHMEM_RMA_BASE, _max_reducescatter)(team, dest, __VA_ARGS__)
#define shmem_min_reducescatter(team, dest, ...)                                                                       \
    TSHMEM_OF(dest, TSHMEM_RMA_BASE, _min_reducescatter)(team, dest, __VA_ARGS__)
#define shmem_and_reduce(team, dest, ...) TSHMEM_OF(dest, TSHMEM_BITS_BASE, _and_reduce)(team, dest, __VA_ARGS__)
#define shmem_or_reduce(team, dest, ...)  TSHMEM_OF(dest, TSHMEM_BITS_BASE, _or_reduce)(team, dest, __VA_ARGS__)
#define shmem_xor_reduce(team, dest, ...) TSHMEM_OF(dest, TSHMEM_BITS_BASE, _xor_reduce)(team, dest, __VA_ARGS__)
#define shmem_and_reducescatter(team, dest, ...)                                                                       \
    TSHMEM_OF(dest, TSHMEM_BITS_BASE, _and_reducescatter)(team, dest, __VA_ARGS__)
#define shmem_or_reducescatter(team, dest, ...)                                                                        \
    TSHMEM_OF(dest, TSHMEM_BITS_BASE, _or_reducescatter)(team, dest, __VA_ARGS__)
#define shmem_xor_reducescatter(team, dest, ...)                                                                       \
    TSHMEM_OF(dest, TSHMEM_BITS_BASE, _xor_reducescatter)(team, dest, __VA_ARGS__)
#define shmem_sum_reduce(team, dest, ...)  TSHMEM_OF(dest, TSHMEM_GENERIC_ARITH, _sum_reduce)(team, dest, __VA_ARGS__)
#define shmem_prod_reduce(team, dest, ...) TSHMEM_OF(dest, TSHMEM_GENERIC_ARITH, _prod_reduce)(team, dest, __VA_ARGS__)
#define shmem_sum_reducescatter(team, dest, ...)                                                                       \
    TSHMEM_OF(dest, TSHMEM_GENERIC_ARITH, _sum_reducescatter)(team, dest, __VA_ARGS__)
#define shmem_prod_reducescatter(team, dest, ...)                                                                      \
    TSHMEM_OF(dest, TSHMEM_GENERIC_ARITH, _prod_reducescatter)(team, dest, __VA_ARGS__)
#define shmem_sum_inscan(team, dest, ...) TSHMEM_OF(dest, TSHMEM_GENERIC_ARITH, _sum_inscan)(team, dest, __VA_ARGS__)
#define shmem_sum_exscan(team, dest, ...) TSHMEM_OF(dest, TSHMEM_GENERIC_ARITH, _sum_exscan)(team, dest, __VA_ARGS__)

/* Atomics of before version 1.4. */
#define shmem_fetch(...) shmem_atomic_fetch(__VA_ARGS__)
#define shmem_set(...)   shmem_atomic_set(__VA_ARGS__)
#define shmem_swap(...)  shmem_atomic_swap(__VA_ARGS__)
#define shmem_cswap(...) shmem_atomic_compare_swap(__VA_ARGS__)
#define shmem_fadd(...)  shmem_atomic_fetch_add(__VA_ARGS__)
#define shmem_finc(...)  shmem_atomic_fetch_inc(__VA_ARGS__)
#define shmem_add(...)   shmem_atomic_add(__VA_ARGS__)
#define shmem_inc(...)   shmem_atomic_inc(__VA_ARGS__)

#endif

/* The calls of groups without a type in their names: as shmem_generic.h, for one ending. Included by tutti/device.h, in
 * C++ once an ending, which TSHMEM_ENDED(call) puts behind; C's macros cannot be made by macros, and are written out
 * for all. */
#ifdef __cplusplus
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(put))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(get))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(put_nbi))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(get_nbi))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(iput))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(iget))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(ibput))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(ibget))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(put_signal))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_CTX, TSHMEM_ENDED(put_signal_nbi))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD, TSHMEM_ENDED(wait_until))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS, TSHMEM_ENDED(wait_until_all))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS, TSHMEM_ENDED(wait_until_any))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_SOME, TSHMEM_ENDED(wait_until_some))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS_VECTOR, TSHMEM_ENDED(wait_until_all_vector))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS_VECTOR, TSHMEM_ENDED(wait_until_any_vector))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_SOME_VECTOR, TSHMEM_ENDED(wait_until_some_vector))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD, TSHMEM_ENDED(test))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS, TSHMEM_ENDED(test_all))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS, TSHMEM_ENDED(test_any))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_SOME, TSHMEM_ENDED(test_some))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS_VECTOR, TSHMEM_ENDED(test_all_vector))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_WORDS_VECTOR, TSHMEM_ENDED(test_any_vector))
TSHMEM_WAIT_BASE(TSHMEM_OVERLOAD_SOME_VECTOR, TSHMEM_ENDED(test_some_vector))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(broadcast))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(collect))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(fcollect))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(alltoall))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(alltoalls))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(max_reduce))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(min_reduce))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(max_reducescatter))
TSHMEM_RMA_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(min_reducescatter))
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(and_reduce))
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(or_reduce))
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(xor_reduce))
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(and_reducescatter))
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(or_reducescatter))
TSHMEM_BITS_BASE(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(xor_reducescatter))
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(sum_reduce))
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(prod_reduce))
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(sum_reducescatter))
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(prod_reducescatter))
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(sum_inscan))
TSHMEM_GENERIC_ARITH(TSHMEM_OVERLOAD_TEAM, TSHMEM_ENDED(sum_exscan))
#elif !defined(tshmem_put_warp)
#define tshmem_put_warp(...)               TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_warp, __VA_ARGS__)
#define tshmem_get_warp(...)               TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, get_warp, __VA_ARGS__)
#define tshmem_put_nbi_warp(...)           TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_nbi_warp, __VA_ARGS__)
#define tshmem_get_nbi_warp(...)           TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, get_nbi_warp, __VA_ARGS__)
#define tshmem_iput_warp(...)              TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, iput_warp, __VA_ARGS__)
#define tshmem_iget_warp(...)              TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, iget_warp, __VA_ARGS__)
#define tshmem_ibput_warp(...)             TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, ibput_warp, __VA_ARGS__)
#define tshmem_ibget_warp(...)             TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, ibget_warp, __VA_ARGS__)
#define tshmem_put_signal_warp(...)        TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_signal_warp, __VA_ARGS__)
#define tshmem_put_signal_nbi_warp(...)    TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_signal_nbi_warp, __VA_ARGS__)
#define tshmem_wait_until_warp(first, ...) TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_warp)(first, __VA_ARGS__)
#define tshmem_wait_until_all_warp(first, ...)                                                                         \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_all_warp)(first, __VA_ARGS__)
#define tshmem_wait_until_any_warp(first, ...)                                                                         \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_any_warp)(first, __VA_ARGS__)
#define tshmem_wait_until_some_warp(first, ...)                                                                        \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_some_warp)(first, __VA_ARGS__)
#define tshmem_wait_until_all_vector_warp(first, ...)                                                                  \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_all_vector_warp)(first, __VA_ARGS__)
#define tshmem_wait_until_any_vector_warp(first, ...)                                                                  \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_any_vector_warp)(first, __VA_ARGS__)
#define tshmem_wait_until_some_vector_warp(first, ...)                                                                 \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_some_vector_warp)(first, __VA_ARGS__)
#define tshmem_test_warp(first, ...)      TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_warp)(first, __VA_ARGS__)
#define tshmem_test_all_warp(first, ...)  TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_all_warp)(first, __VA_ARGS__)
#define tshmem_test_any_warp(first, ...)  TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_any_warp)(first, __VA_ARGS__)
#define tshmem_test_some_warp(first, ...) TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_some_warp)(first, __VA_ARGS__)
#define tshmem_test_all_vector_warp(first, ...)                                                                        \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_all_vector_warp)(first, __VA_ARGS__)
#define tshmem_test_any_vector_warp(first, ...)                                                                        \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_any_vector_warp)(first, __VA_ARGS__)
#define tshmem_test_some_vector_warp(first, ...)                                                                       \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_some_vector_warp)(first, __VA_ARGS__)
#define tshmem_broadcast_warp(team, dest, ...)                                                                         \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, broadcast_warp)(team, dest, __VA_ARGS__)
#define tshmem_collect_warp(team, dest, ...) TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, collect_warp)(team, dest, __VA_ARGS__)
#define tshmem_fcollect_warp(team, dest, ...)                                                                          \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, fcollect_warp)(team, dest, __VA_ARGS__)
#define tshmem_alltoall_warp(team, dest, ...)                                                                          \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, alltoall_warp)(team, dest, __VA_ARGS__)
#define tshmem_alltoalls_warp(team, dest, ...)                                                                         \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, alltoalls_warp)(team, dest, __VA_ARGS__)
#define tshmem_max_reduce_warp(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, max_reduce_warp)(team, dest, __VA_ARGS__)
#define tshmem_min_reduce_warp(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, min_reduce_warp)(team, dest, __VA_ARGS__)
#define tshmem_max_reducescatter_warp(team, dest, ...)                                                                 \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, max_reducescatter_warp)(team, dest, __VA_ARGS__)
#define tshmem_min_reducescatter_warp(team, dest, ...)                                                                 \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, min_reducescatter_warp)(team, dest, __VA_ARGS__)
#define tshmem_and_reduce_warp(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, and_reduce_warp)(team, dest, __VA_ARGS__)
#define tshmem_or_reduce_warp(team, dest, ...)                                                                         \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, or_reduce_warp)(team, dest, __VA_ARGS__)
#define tshmem_xor_reduce_warp(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, xor_reduce_warp)(team, dest, __VA_ARGS__)
#define tshmem_and_reducescatter_warp(team, dest, ...)                                                                 \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, and_reducescatter_warp)(team, dest, __VA_ARGS__)
#define tshmem_or_reducescatter_warp(team, dest, ...)                                                                  \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, or_reducescatter_warp)(team, dest, __VA_ARGS__)
#define tshmem_xor_reducescatter_warp(team, dest, ...)                                                                 \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, xor_reducescatter_warp)(team, dest, __VA_ARGS__)
#define tshmem_sum_reduce_warp(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_reduce_warp)(team, dest, __VA_ARGS__)
#define tshmem_prod_reduce_warp(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, prod_reduce_warp)(team, dest, __VA_ARGS__)
#define tshmem_sum_reducescatter_warp(team, dest, ...)                                                                 \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_reducescatter_warp)(team, dest, __VA_ARGS__)
#define tshmem_prod_reducescatter_warp(team, dest, ...)                                                                \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, prod_reducescatter_warp)(team, dest, __VA_ARGS__)
#define tshmem_sum_inscan_warp(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_inscan_warp)(team, dest, __VA_ARGS__)
#define tshmem_sum_exscan_warp(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_exscan_warp)(team, dest, __VA_ARGS__)
#define tshmem_put_block(...)               TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_block, __VA_ARGS__)
#define tshmem_get_block(...)               TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, get_block, __VA_ARGS__)
#define tshmem_put_nbi_block(...)           TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_nbi_block, __VA_ARGS__)
#define tshmem_get_nbi_block(...)           TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, get_nbi_block, __VA_ARGS__)
#define tshmem_iput_block(...)              TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, iput_block, __VA_ARGS__)
#define tshmem_iget_block(...)              TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, iget_block, __VA_ARGS__)
#define tshmem_ibput_block(...)             TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, ibput_block, __VA_ARGS__)
#define tshmem_ibget_block(...)             TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, ibget_block, __VA_ARGS__)
#define tshmem_put_signal_block(...)        TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_signal_block, __VA_ARGS__)
#define tshmem_put_signal_nbi_block(...)    TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_signal_nbi_block, __VA_ARGS__)
#define tshmem_wait_until_block(first, ...) TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_block)(first, __VA_ARGS__)
#define tshmem_wait_until_all_block(first, ...)                                                                        \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_all_block)(first, __VA_ARGS__)
#define tshmem_wait_until_any_block(first, ...)                                                                        \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_any_block)(first, __VA_ARGS__)
#define tshmem_wait_until_some_block(first, ...)                                                                       \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_some_block)(first, __VA_ARGS__)
#define tshmem_wait_until_all_vector_block(first, ...)                                                                 \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_all_vector_block)(first, __VA_ARGS__)
#define tshmem_wait_until_any_vector_block(first, ...)                                                                 \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_any_vector_block)(first, __VA_ARGS__)
#define tshmem_wait_until_some_vector_block(first, ...)                                                                \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_some_vector_block)(first, __VA_ARGS__)
#define tshmem_test_block(first, ...)      TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_block)(first, __VA_ARGS__)
#define tshmem_test_all_block(first, ...)  TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_all_block)(first, __VA_ARGS__)
#define tshmem_test_any_block(first, ...)  TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_any_block)(first, __VA_ARGS__)
#define tshmem_test_some_block(first, ...) TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_some_block)(first, __VA_ARGS__)
#define tshmem_test_all_vector_block(first, ...)                                                                       \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_all_vector_block)(first, __VA_ARGS__)
#define tshmem_test_any_vector_block(first, ...)                                                                       \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_any_vector_block)(first, __VA_ARGS__)
#define tshmem_test_some_vector_block(first, ...)                                                                      \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_some_vector_block)(first, __VA_ARGS__)
#define tshmem_broadcast_block(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, broadcast_block)(team, dest, __VA_ARGS__)
#define tshmem_collect_block(team, dest, ...)                                                                          \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, collect_block)(team, dest, __VA_ARGS__)
#define tshmem_fcollect_block(team, dest, ...)                                                                         \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, fcollect_block)(team, dest, __VA_ARGS__)
#define tshmem_alltoall_block(team, dest, ...)                                                                         \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, alltoall_block)(team, dest, __VA_ARGS__)
#define tshmem_alltoalls_block(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, alltoalls_block)(team, dest, __VA_ARGS__)
#define tshmem_max_reduce_block(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, max_reduce_block)(team, dest, __VA_ARGS__)
#define tshmem_min_reduce_block(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, min_reduce_block)(team, dest, __VA_ARGS__)
#define tshmem_max_reducescatter_block(team, dest, ...)                                                                \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, max_reducescatter_block)(team, dest, __VA_ARGS__)
#define tshmem_min_reducescatter_block(team, dest, ...)                                                                \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, min_reducescatter_block)(team, dest, __VA_ARGS__)
#define tshmem_and_reduce_block(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, and_reduce_block)(team, dest, __VA_ARGS__)
#define tshmem_or_reduce_block(team, dest, ...)                                                                        \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, or_reduce_block)(team, dest, __VA_ARGS__)
#define tshmem_xor_reduce_block(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, xor_reduce_block)(team, dest, __VA_ARGS__)
#define tshmem_and_reducescatter_block(team, dest, ...)                                                                \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, and_reducescatter_block)(team, dest, __VA_ARGS__)
#define tshmem_or_reducescatter_block(team, dest, ...)                                                                 \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, or_reducescatter_block)(team, dest, __VA_ARGS__)
#define tshmem_xor_reducescatter_block(team, dest, ...)                                                                \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, xor_reducescatter_block)(team, dest, __VA_ARGS__)
#define tshmem_sum_reduce_block(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_reduce_block)(team, dest, __VA_ARGS__)
#define tshmem_prod_reduce_block(team, dest, ...)                                                                      \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, prod_reduce_block)(team, dest, __VA_ARGS__)
#define tshmem_sum_reducescatter_block(team, dest, ...)                                                                \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_reducescatter_block)(team, dest, __VA_ARGS__)
#define tshmem_prod_reducescatter_block(team, dest, ...)                                                               \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, prod_reducescatter_block)(team, dest, __VA_ARGS__)
#define tshmem_sum_inscan_block(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_inscan_block)(team, dest, __VA_ARGS__)
#define tshmem_sum_exscan_block(team, dest, ...)                                                                       \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_exscan_block)(team, dest, __VA_ARGS__)
#define tshmem_put_work_group(...)            TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_work_group, __VA_ARGS__)
#define tshmem_get_work_group(...)            TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, get_work_group, __VA_ARGS__)
#define tshmem_put_nbi_work_group(...)        TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_nbi_work_group, __VA_ARGS__)
#define tshmem_get_nbi_work_group(...)        TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, get_nbi_work_group, __VA_ARGS__)
#define tshmem_iput_work_group(...)           TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, iput_work_group, __VA_ARGS__)
#define tshmem_iget_work_group(...)           TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, iget_work_group, __VA_ARGS__)
#define tshmem_ibput_work_group(...)          TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, ibput_work_group, __VA_ARGS__)
#define tshmem_ibget_work_group(...)          TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, ibget_work_group, __VA_ARGS__)
#define tshmem_put_signal_work_group(...)     TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_signal_work_group, __VA_ARGS__)
#define tshmem_put_signal_nbi_work_group(...) TSHMEM_CHOOSE_CTX(TSHMEM_RMA_BASE, put_signal_nbi_work_group, __VA_ARGS__)
#define tshmem_wait_until_work_group(first, ...)                                                                       \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_work_group)(first, __VA_ARGS__)
#define tshmem_wait_until_all_work_group(first, ...)                                                                   \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_all_work_group)(first, __VA_ARGS__)
#define tshmem_wait_until_any_work_group(first, ...)                                                                   \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_any_work_group)(first, __VA_ARGS__)
#define tshmem_wait_until_some_work_group(first, ...)                                                                  \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_some_work_group)(first, __VA_ARGS__)
#define tshmem_wait_until_all_vector_work_group(first, ...)                                                            \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_all_vector_work_group)(first, __VA_ARGS__)
#define tshmem_wait_until_any_vector_work_group(first, ...)                                                            \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_any_vector_work_group)(first, __VA_ARGS__)
#define tshmem_wait_until_some_vector_work_group(first, ...)                                                           \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, wait_until_some_vector_work_group)(first, __VA_ARGS__)
#define tshmem_test_work_group(first, ...) TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_work_group)(first, __VA_ARGS__)
#define tshmem_test_all_work_group(first, ...)                                                                         \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_all_work_group)(first, __VA_ARGS__)
#define tshmem_test_any_work_group(first, ...)                                                                         \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_any_work_group)(first, __VA_ARGS__)
#define tshmem_test_some_work_group(first, ...)                                                                        \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_some_work_group)(first, __VA_ARGS__)
#define tshmem_test_all_vector_work_group(first, ...)                                                                  \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_all_vector_work_group)(first, __VA_ARGS__)
#define tshmem_test_any_vector_work_group(first, ...)                                                                  \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_any_vector_work_group)(first, __VA_ARGS__)
#define tshmem_test_some_vector_work_group(first, ...)                                                                 \
    TSHMEM_CHOOSE(first, TSHMEM_WAIT_BASE, test_some_vector_work_group)(first, __VA_ARGS__)
#define tshmem_broadcast_work_group(team, dest, ...)                                                                   \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, broadcast_work_group)(team, dest, __VA_ARGS__)
#define tshmem_collect_work_group(team, dest, ...)                                                                     \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, collect_work_group)(team, dest, __VA_ARGS__)
#define tshmem_fcollect_work_group(team, dest, ...)                                                                    \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, fcollect_work_group)(team, dest, __VA_ARGS__)
#define tshmem_alltoall_work_group(team, dest, ...)                                                                    \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, alltoall_work_group)(team, dest, __VA_ARGS__)
#define tshmem_alltoalls_work_group(team, dest, ...)                                                                   \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, alltoalls_work_group)(team, dest, __VA_ARGS__)
#define tshmem_max_reduce_work_group(team, dest, ...)                                                                  \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, max_reduce_work_group)(team, dest, __VA_ARGS__)
#define tshmem_min_reduce_work_group(team, dest, ...)                                                                  \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, min_reduce_work_group)(team, dest, __VA_ARGS__)
#define tshmem_max_reducescatter_work_group(team, dest, ...)                                                           \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, max_reducescatter_work_group)(team, dest, __VA_ARGS__)
#define tshmem_min_reducescatter_work_group(team, dest, ...)                                                           \
    TSHMEM_CHOOSE(dest, TSHMEM_RMA_BASE, min_reducescatter_work_group)(team, dest, __VA_ARGS__)
#define tshmem_and_reduce_work_group(team, dest, ...)                                                                  \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, and_reduce_work_group)(team, dest, __VA_ARGS__)
#define tshmem_or_reduce_work_group(team, dest, ...)                                                                   \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, or_reduce_work_group)(team, dest, __VA_ARGS__)
#define tshmem_xor_reduce_work_group(team, dest, ...)                                                                  \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, xor_reduce_work_group)(team, dest, __VA_ARGS__)
#define tshmem_and_reducescatter_work_group(team, dest, ...)                                                           \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, and_reducescatter_work_group)(team, dest, __VA_ARGS__)
#define tshmem_or_reducescatter_work_group(team, dest, ...)                                                            \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, or_reducescatter_work_group)(team, dest, __VA_ARGS__)
#define tshmem_xor_reducescatter_work_group(team, dest, ...)                                                           \
    TSHMEM_CHOOSE(dest, TSHMEM_BITS_BASE, xor_reducescatter_work_group)(team, dest, __VA_ARGS__)
#define tshmem_sum_reduce_work_group(team, dest, ...)                                                                  \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_reduce_work_group)(team, dest, __VA_ARGS__)
#define tshmem_prod_reduce_work_group(team, dest, ...)                                                                 \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, prod_reduce_work_group)(team, dest, __VA_ARGS__)
#define tshmem_sum_reducescatter_work_group(team, dest, ...)                                                           \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_reducescatter_work_group)(team, dest, __VA_ARGS__)
#define tshmem_prod_reducescatter_work_group(team, dest, ...)                                                          \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, prod_reducescatter_work_group)(team, dest, __VA_ARGS__)
#define tshmem_sum_inscan_work_group(team, dest, ...)                                                                  \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_inscan_work_group)(team, dest, __VA_ARGS__)
#define tshmem_sum_exscan_work_group(team, dest, ...)                                                                  \
    TSHMEM_CHOOSE(dest, TSHMEM_GENERIC_ARITH, sum_exscan_work_group)(team, dest, __VA_ARGS__)
#endif

/* OpenSHMEM's own names beside the calls of tutti/shmem.h. For a host's compiler they are functions of
 * libtutti-openshmem (pkg-config tutti-openshmem), as in <shmem.h>; for nvcc, and for files of C with TSHMEM_KERNELS,
 * they are other names of the calls of tutti/shmem.h, so that kernels have them, and libtutti-openshmem has what
 * OpenSHMEM 1.5 deprecates. */
#ifndef TUTTI_SHMEM_NAMES_H
#define TUTTI_SHMEM_NAMES_H

#include "tutti/shmem.h"

#if !defined(__CUDACC__) && !defined(TSHMEM_KERNELS)
#include "tutti/shmem_functions.h"
#else /* names for calls that kernels have, too */
#include "tutti/shmem_constants.h"

#ifndef __CUDACC_RTC__ /* functions of libtutti-openshmem, of the host alone, for what has no macro below */
#ifdef __cplusplus
extern "C" {
#endif
#define TSHMEM_ROW(result, name, ...)       result shmem##name(__VA_ARGS__);
#define TSHMEM_ROW_NONE(result, name)       result shmem##name(void);
#define TSHMEM_ROW_WHOLE(result, name, ...) result name(__VA_ARGS__);
#define TSHMEM_ROW_WHOLE_NONE(result, name) result name(void);
#include "tutti/shmem_old.def"
#undef TSHMEM_ROW
#undef TSHMEM_ROW_NONE
#undef TSHMEM_ROW_WHOLE
#undef TSHMEM_ROW_WHOLE_NONE
void tutti_openshmem_sync(int, int, int, long *);
#ifdef __cplusplus
}
#endif
#endif

/* See tutti_shmem_openshmem(), and tutti_shmem_named() for heaps that kernels reach. */
#ifndef __CUDACC_RTC__
static inline __attribute__((unused)) void tutti_openshmem_begin(void)
{
#ifdef __CUDACC__
    tutti_shmem_named();
#else
    tutti_shmem_openshmem();
#endif
}
static inline __attribute__((unused)) void tutti_openshmem_init(void)
{
    tutti_openshmem_begin();
    tutti_shmem_init_or_end();
}
static inline __attribute__((unused)) int tutti_openshmem_init_thread(int requested, int *provided)
{
    tutti_openshmem_begin();
    return tshmem_init_thread(requested, provided);
}
static inline __attribute__((unused)) void tutti_openshmem_start_pes(int npes)
{
    (void)npes;
    tutti_openshmem_begin();
    tutti_shmem_start_pes();
}
#define shmem_init        tutti_openshmem_init
#define shmem_init_thread tutti_openshmem_init_thread
#define start_pes         tutti_openshmem_start_pes
#endif
#define shmem_finalize              tshmem_finalize
#define shmem_global_exit           tshmem_global_exit
#define shmem_my_pe                 tshmem_my_pe
#define shmem_n_pes                 tshmem_n_pes
#define shmem_info_get_version      tshmem_info_get_version
#define shmem_info_get_name         tshmem_info_get_name
#define shmem_pe_accessible         tshmem_pe_accessible
#define shmem_addr_accessible       tshmem_addr_accessible
#define shmem_ptr                   tshmem_ptr
#define shmem_malloc                tshmem_malloc
#define shmem_calloc                tshmem_calloc
#define shmem_align                 tshmem_align
#define shmem_realloc               tshmem_realloc
#define shmem_malloc_with_hints     tshmem_malloc_with_hints
#define shmem_free                  tshmem_free
#define shmem_fence                 tshmem_fence
#define shmem_quiet                 tshmem_quiet
#define shmem_putmem                tshmem_putmem
#define shmem_getmem                tshmem_getmem
#define shmem_putmem_nbi            tshmem_putmem_nbi
#define shmem_getmem_nbi            tshmem_getmem_nbi
#define shmem_putmem_signal         tshmem_putmem_signal
#define shmem_putmem_signal_nbi     tshmem_putmem_signal_nbi
#define shmem_signal_set            tshmem_signal_set
#define shmem_signal_add            tshmem_signal_add
#define shmem_signal_fetch          tshmem_signal_fetch
#define shmem_signal_wait_until     tshmem_signal_wait_until
#define shmem_team_my_pe            tshmem_team_my_pe
#define shmem_team_n_pes            tshmem_team_n_pes
#define shmem_team_get_config       tshmem_team_get_config
#define shmem_team_translate_pe     tshmem_team_translate_pe
#define shmem_team_ptr              tshmem_team_ptr
#define shmem_team_split_strided    tshmem_team_split_strided
#define shmem_team_split_2d         tshmem_team_split_2d
#define shmem_team_destroy          tshmem_team_destroy
#define shmem_team_sync             tshmem_team_sync
#define shmem_barrier_all           tshmem_barrier_all
#define shmem_sync_all              tshmem_sync_all
#define shmem_broadcastmem          tshmem_broadcastmem
#define shmem_collectmem            tshmem_collectmem
#define shmem_fcollectmem           tshmem_fcollectmem
#define shmem_alltoallmem           tshmem_alltoallmem
#define shmem_query_thread          tshmem_query_thread
#define shmem_query_initialized     tshmem_query_initialized
#define shmem_pcontrol              tshmem_pcontrol
#define shmem_set_lock              tshmem_set_lock
#define shmem_test_lock             tshmem_test_lock
#define shmem_clear_lock            tshmem_clear_lock
#define shmem_ctx_create            tshmem_ctx_create
#define shmem_ctx_destroy           tshmem_ctx_destroy
#define shmem_ctx_get_team          tshmem_ctx_get_team
#define shmem_team_create_ctx       tshmem_team_create_ctx
#define shmem_ctx_fence             tshmem_ctx_fence
#define shmem_ctx_quiet             tshmem_ctx_quiet
#define shmem_ctx_session_start     tshmem_ctx_session_start
#define shmem_ctx_session_stop      tshmem_ctx_session_stop
#define shmem_ctx_signal_set        tshmem_ctx_signal_set
#define shmem_ctx_signal_add        tshmem_ctx_signal_add
#define shmem_ctx_putmem            tshmem_ctx_putmem
#define shmem_ctx_getmem            tshmem_ctx_getmem
#define shmem_ctx_putmem_nbi        tshmem_ctx_putmem_nbi
#define shmem_ctx_getmem_nbi        tshmem_ctx_getmem_nbi
#define shmem_ctx_putmem_signal     tshmem_ctx_putmem_signal
#define shmem_ctx_putmem_signal_nbi tshmem_ctx_putmem_signal_nbi

#ifndef __CUDACC_RTC__
#include "tutti/words_push.h"
#endif
#define TSHMEM_NAME(type, call) shmem_##type##_##call
#define TSHMEM_PLAIN(call)      shmem_##call
#define TSHMEM_DO(call)         call
#include "tutti/shmem_typed.h"
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_DO

#ifndef __CUDACC_RTC__
#pragma push_macro("TSHMEM_INLINE")
#undef TSHMEM_INLINE
#define TSHMEM_INLINE static inline __attribute__((unused))
#define TSHMEM_CTX_FORMS
#define TSHMEM_FIRST            tshmem_ctx_t ctx,
#define TSHMEM_GIVEN            ctx,
#define TSHMEM_NAME(type, call) shmem_ctx_##type##_##call
#define TSHMEM_PLAIN(call)      shmem_ctx_##call
#define TSHMEM_DO(call)         TSHMEM_CTX_##call
#include "tutti/shmem_typed.h"
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_DO
#undef TSHMEM_CTX_FORMS
#pragma pop_macro("TSHMEM_INLINE")
#include "tutti/words_pop.h"
#endif

#define shmem_put                     tshmem_put
#define shmem_get                     tshmem_get
#define shmem_put_nbi                 tshmem_put_nbi
#define shmem_get_nbi                 tshmem_get_nbi
#define shmem_p                       tshmem_p
#define shmem_g                       tshmem_g
#define shmem_iput                    tshmem_iput
#define shmem_iget                    tshmem_iget
#define shmem_ibput                   tshmem_ibput
#define shmem_ibget                   tshmem_ibget
#define shmem_put_signal              tshmem_put_signal
#define shmem_put_signal_nbi          tshmem_put_signal_nbi
#define shmem_atomic_fetch            tshmem_atomic_fetch
#define shmem_atomic_fetch_nbi        tshmem_atomic_fetch_nbi
#define shmem_atomic_set              tshmem_atomic_set
#define shmem_atomic_swap             tshmem_atomic_swap
#define shmem_atomic_swap_nbi         tshmem_atomic_swap_nbi
#define shmem_atomic_fetch_add        tshmem_atomic_fetch_add
#define shmem_atomic_fetch_add_nbi    tshmem_atomic_fetch_add_nbi
#define shmem_atomic_add              tshmem_atomic_add
#define shmem_atomic_compare_swap     tshmem_atomic_compare_swap
#define shmem_atomic_compare_swap_nbi tshmem_atomic_compare_swap_nbi
#define shmem_atomic_fetch_inc        tshmem_atomic_fetch_inc
#define shmem_atomic_fetch_inc_nbi    tshmem_atomic_fetch_inc_nbi
#define shmem_atomic_inc              tshmem_atomic_inc
#define shmem_atomic_fetch_and        tshmem_atomic_fetch_and
#define shmem_atomic_fetch_and_nbi    tshmem_atomic_fetch_and_nbi
#define shmem_atomic_and              tshmem_atomic_and
#define shmem_atomic_fetch_or         tshmem_atomic_fetch_or
#define shmem_atomic_fetch_or_nbi     tshmem_atomic_fetch_or_nbi
#define shmem_atomic_or               tshmem_atomic_or
#define shmem_atomic_fetch_xor        tshmem_atomic_fetch_xor
#define shmem_atomic_fetch_xor_nbi    tshmem_atomic_fetch_xor_nbi
#define shmem_atomic_xor              tshmem_atomic_xor
#define shmem_wait_until              tshmem_wait_until
#define shmem_wait_until_all          tshmem_wait_until_all
#define shmem_wait_until_any          tshmem_wait_until_any
#define shmem_wait_until_some         tshmem_wait_until_some
#define shmem_wait_until_all_vector   tshmem_wait_until_all_vector
#define shmem_wait_until_any_vector   tshmem_wait_until_any_vector
#define shmem_wait_until_some_vector  tshmem_wait_until_some_vector
#define shmem_test                    tshmem_test
#define shmem_test_all                tshmem_test_all
#define shmem_test_any                tshmem_test_any
#define shmem_test_some               tshmem_test_some
#define shmem_test_all_vector         tshmem_test_all_vector
#define shmem_test_any_vector         tshmem_test_any_vector
#define shmem_test_some_vector        tshmem_test_some_vector
#define shmem_broadcast               tshmem_broadcast
#define shmem_collect                 tshmem_collect
#define shmem_fcollect                tshmem_fcollect
#define shmem_alltoall                tshmem_alltoall
#define shmem_alltoalls               tshmem_alltoalls
#define shmem_max_reduce              tshmem_max_reduce
#define shmem_min_reduce              tshmem_min_reduce
#define shmem_max_reducescatter       tshmem_max_reducescatter
#define shmem_min_reducescatter       tshmem_min_reducescatter
#define shmem_and_reduce              tshmem_and_reduce
#define shmem_or_reduce               tshmem_or_reduce
#define shmem_xor_reduce              tshmem_xor_reduce
#define shmem_and_reducescatter       tshmem_and_reducescatter
#define shmem_or_reducescatter        tshmem_or_reducescatter
#define shmem_xor_reducescatter       tshmem_xor_reducescatter
#define shmem_sum_reduce              tshmem_sum_reduce
#define shmem_prod_reduce             tshmem_prod_reduce
#define shmem_sum_reducescatter       tshmem_sum_reducescatter
#define shmem_prod_reducescatter      tshmem_prod_reducescatter
#define shmem_sum_inscan              tshmem_sum_inscan
#define shmem_sum_exscan              tshmem_sum_exscan

/* shmem_sync(team), or over an active set: shmem_sync(PE_start, logPE_stride, PE_size, pSync). */
#ifdef __CUDACC_RTC__
#define shmem_sync tshmem_sync
#else
#define TSHMEM_SYNC_OF(a, b, c, d, call, ...) call
#define shmem_sync(...)                                                                                                \
    TSHMEM_SYNC_OF(__VA_ARGS__, tutti_openshmem_sync, tshmem_sync, tshmem_sync, tshmem_sync, )(__VA_ARGS__)
#endif
#define shmem_fetch tshmem_atomic_fetch
#define shmem_set   tshmem_atomic_set
#define shmem_swap  tshmem_atomic_swap
#define shmem_cswap tshmem_atomic_compare_swap
#define shmem_fadd  tshmem_atomic_fetch_add
#define shmem_finc  tshmem_atomic_fetch_inc
#define shmem_add   tshmem_atomic_add
#define shmem_inc   tshmem_atomic_inc
#endif

#endif

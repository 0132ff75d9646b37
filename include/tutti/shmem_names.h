/* OpenSHMEM's own names for the calls of tutti/shmem.h, so that programs written for it compile as they are: include
 * this file as <shmem.h>, or by -include. Names of OpenSHMEM that are not here do not exist yet: see docs/shmem.md. */
#ifndef TUTTI_SHMEM_NAMES_H
#define TUTTI_SHMEM_NAMES_H

#include "tutti/shmem.h"

/* A host's compiler: see tutti_shmem_openshmem(). */
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
#define shmem_pe_quiet              tshmem_pe_quiet
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
#define shmem_team_t                tshmem_team_t
#define shmem_team_config_t         tshmem_team_config_t
#define shmem_team_my_pe            tshmem_team_my_pe
#define shmem_team_n_pes            tshmem_team_n_pes
#define shmem_team_get_config       tshmem_team_get_config
#define shmem_team_translate_pe     tshmem_team_translate_pe
#define shmem_team_ptr              tshmem_team_ptr
#define shmem_team_split_strided    tshmem_team_split_strided
#define shmem_team_split_2d         tshmem_team_split_2d
#define shmem_team_destroy          tshmem_team_destroy
#define shmem_team_sync             tshmem_team_sync
#define shmem_sync                  tshmem_sync
#define shmem_barrier_all           tshmem_barrier_all
#define shmem_sync_all              tshmem_sync_all
#define shmem_broadcastmem          tshmem_broadcastmem
#define shmem_collectmem            tshmem_collectmem
#define shmem_fcollectmem           tshmem_fcollectmem
#define shmem_alltoallmem           tshmem_alltoallmem
#define shmem_query_thread          tshmem_query_thread
#define shmem_pcontrol              tshmem_pcontrol
#define shmem_set_lock              tshmem_set_lock
#define shmem_test_lock             tshmem_test_lock
#define shmem_clear_lock            tshmem_clear_lock
#define shmem_ctx_t                 tshmem_ctx_t
#define shmem_ctx_create            tshmem_ctx_create
#define shmem_ctx_destroy           tshmem_ctx_destroy
#define shmem_ctx_get_team          tshmem_ctx_get_team
#define shmem_team_create_ctx       tshmem_team_create_ctx
#define shmem_ctx_fence             tshmem_ctx_fence
#define shmem_ctx_quiet             tshmem_ctx_quiet
#define shmem_ctx_putmem            tshmem_ctx_putmem
#define shmem_ctx_getmem            tshmem_ctx_getmem
#define shmem_ctx_putmem_nbi        tshmem_ctx_putmem_nbi
#define shmem_ctx_getmem_nbi        tshmem_ctx_getmem_nbi
#define shmem_ctx_putmem_signal     tshmem_ctx_putmem_signal
#define shmem_ctx_putmem_signal_nbi tshmem_ctx_putmem_signal_nbi
#define SHMEM_CTX_DEFAULT           TSHMEM_CTX_DEFAULT
#define SHMEM_CTX_INVALID           TSHMEM_CTX_INVALID
#define SHMEM_CTX_SERIALIZED        TSHMEM_CTX_SERIALIZED
#define SHMEM_CTX_PRIVATE           TSHMEM_CTX_PRIVATE
#define SHMEM_CTX_NOSTORE           TSHMEM_CTX_NOSTORE
#define SHMEM_THREAD_SINGLE         TSHMEM_THREAD_SINGLE
#define SHMEM_THREAD_FUNNELED       TSHMEM_THREAD_FUNNELED
#define SHMEM_THREAD_SERIALIZED     TSHMEM_THREAD_SERIALIZED
#define SHMEM_THREAD_MULTIPLE       TSHMEM_THREAD_MULTIPLE
#define SHMEM_SIGNAL_SET            TSHMEM_SIGNAL_SET
#define SHMEM_MALLOC_ATOMICS_REMOTE TSHMEM_MALLOC_ATOMICS_REMOTE
#define SHMEM_MALLOC_SIGNAL_REMOTE  TSHMEM_MALLOC_SIGNAL_REMOTE
#define SHMEM_SIGNAL_ADD            TSHMEM_SIGNAL_ADD
#define SHMEM_TEAM_INVALID          TSHMEM_TEAM_INVALID
#define SHMEM_TEAM_WORLD            TSHMEM_TEAM_WORLD
#define SHMEM_TEAM_SHARED           TSHMEM_TEAM_SHARED
#define SHMEM_TEAM_NUM_CONTEXTS     TSHMEM_TEAM_NUM_CONTEXTS
#define SHMEM_MAJOR_VERSION         TSHMEM_MAJOR_VERSION
#define SHMEM_MINOR_VERSION         TSHMEM_MINOR_VERSION
#define SHMEM_MAX_NAME_LEN          TSHMEM_MAX_NAME_LEN
#define SHMEM_VENDOR_STRING         TSHMEM_VENDOR_STRING
#define SHMEM_CMP_EQ                TSHMEM_CMP_EQ
#define SHMEM_CMP_NE                TSHMEM_CMP_NE
#define SHMEM_CMP_GT                TSHMEM_CMP_GT
#define SHMEM_CMP_GE                TSHMEM_CMP_GE
#define SHMEM_CMP_LT                TSHMEM_CMP_LT
#define SHMEM_CMP_LE                TSHMEM_CMP_LE

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

#ifndef __CUDACC_RTC__
#include "tutti/shmem_deprecated.h"
#endif

#endif

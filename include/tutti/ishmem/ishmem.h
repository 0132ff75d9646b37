/* <ishmem.h> for programs written for Intel SHMEM: its names for the calls of tutti/shmem.h, on the host. This folder
 * is put before the compiler by pkg-config's tutti-ishmem and CMake's tutti::tutti-ishmem. C has the typed names.
 * C++ also has the names without a type and collectives without a team. tutti/shmem.h documents the calls;
 * docs/shmem.md lists what is missing, SYCL's kernels and queues above all. */
#ifndef TUTTI_ISHMEM_H
#define TUTTI_ISHMEM_H

#ifndef __CUDACC_RTC__
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#endif
#if defined(__CUDACC__) || defined(TSHMEM_KERNELS)
#include "tutti/device.h"
#else
#include "tutti/shmem.h"
#endif
#include "tutti/shmem_begin.h"

#define TUTTI_ISHMEM static inline __attribute__((unused))

/* Version of Intel SHMEM whose names these are. */
#define ISHMEM_MAJOR_VERSION 1
#define ISHMEM_MINOR_VERSION 5
#define ISHMEM_PATCH_VERSION 1
#define ISHMEM_MAX_NAME_LEN  256
#define ISHMEM_VENDOR_STRING TSHMEM_VENDOR_STRING

#define ISHMEM_THREAD_SINGLE     TSHMEM_THREAD_SINGLE
#define ISHMEM_THREAD_FUNNELED   TSHMEM_THREAD_FUNNELED
#define ISHMEM_THREAD_SERIALIZED TSHMEM_THREAD_SERIALIZED
#define ISHMEM_THREAD_MULTIPLE   TSHMEM_THREAD_MULTIPLE
#define ISHMEM_CMP_EQ            TSHMEM_CMP_EQ
#define ISHMEM_CMP_NE            TSHMEM_CMP_NE
#define ISHMEM_CMP_GT            TSHMEM_CMP_GT
#define ISHMEM_CMP_GE            TSHMEM_CMP_GE
#define ISHMEM_CMP_LT            TSHMEM_CMP_LT
#define ISHMEM_CMP_LE            TSHMEM_CMP_LE
#define ISHMEM_SIGNAL_SET        TSHMEM_SIGNAL_SET
#define ISHMEM_SIGNAL_ADD        TSHMEM_SIGNAL_ADD
#define ISHMEM_TEAM_NUM_CONTEXTS TSHMEM_TEAM_NUM_CONTEXTS
#define ISHMEM_TEAM_INVALID      TSHMEM_TEAM_INVALID
#define ISHMEM_TEAM_WORLD        TSHMEM_TEAM_WORLD
#define ISHMEM_TEAM_SHARED       TSHMEM_TEAM_SHARED

typedef tshmem_team_t ishmem_team_t;
typedef tshmem_team_config_t ishmem_team_config_t;

#define ishmem_query_thread       tshmem_query_thread
#define ishmem_my_pe              tshmem_my_pe
#define ishmem_n_pes              tshmem_n_pes
#define ishmem_ptr                tshmem_ptr
#define ishmem_malloc             tshmem_malloc
#define ishmem_calloc             tshmem_calloc
#define ishmem_align              tshmem_align
#define ishmem_free               tshmem_free
#define ishmem_fence              tshmem_fence
#define ishmem_quiet              tshmem_quiet
#define ishmem_putmem             tshmem_putmem
#define ishmem_getmem             tshmem_getmem
#define ishmem_putmem_nbi         tshmem_putmem_nbi
#define ishmem_getmem_nbi         tshmem_getmem_nbi
#define ishmem_putmem_signal      tshmem_putmem_signal
#define ishmem_putmem_signal_nbi  tshmem_putmem_signal_nbi
#define ishmem_signal_fetch       tshmem_signal_fetch
#define ishmem_signal_wait_until  tshmem_signal_wait_until
#define ishmem_team_my_pe         tshmem_team_my_pe
#define ishmem_team_n_pes         tshmem_team_n_pes
#define ishmem_team_get_config    tshmem_team_get_config
#define ishmem_team_translate_pe  tshmem_team_translate_pe
#define ishmem_team_split_strided tshmem_team_split_strided
#define ishmem_team_split_2d      tshmem_team_split_2d
#define ishmem_team_destroy       tshmem_team_destroy
#define ishmem_team_sync          tshmem_team_sync
#define ishmem_sync_all           tshmem_sync_all
#define ishmem_barrier_all        tshmem_barrier_all

#ifndef __CUDACC_RTC__ /* macros of the program that are words in these files */
#include "tutti/words_push.h"
#endif

/* ishmem_TYPE_put and its like. */
#define TSHMEM_NAME(type, call) ishmem_##type##_##call
#define TSHMEM_PLAIN(call)      ishmem_##call
#define TSHMEM_DO(call)         call
#include "tutti/shmem_typed.h"
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_DO

/* Reductions by bits of signed char, which OpenSHMEM has not. */
#define TUTTI_ISHMEM_BITS(op)                                                                                          \
    TSHMEM_INLINE int ishmem_schar_##op##_reduce(ishmem_team_t team, signed char *dest, const signed char *source,     \
                                                 size_t nelems)                                                        \
    {                                                                                                                  \
        return ishmem_int8_##op##_reduce(team, dest, source, nelems);                                                  \
    }
TUTTI_ISHMEM_BITS(and)
TUTTI_ISHMEM_BITS(or)
TUTTI_ISHMEM_BITS(xor)
#undef TUTTI_ISHMEM_BITS

/* ---- begin and end, on the host ---- */

/* Begins the MPI where the program has not. ISHMEM_SYMMETRIC_SIZE: what heaps begin with; they grow. */
TUTTI_ISHMEM int ishmem_init_thread(int requested, int *provided)
{
    const int status = tutti_shmem_heap_from("ISHMEM_SYMMETRIC_SIZE");
    return status == 0 ? tshmem_init_thread(requested, provided) : status;
}

TUTTI_ISHMEM void ishmem_init(void)
{
    int provided;
    tutti_shmem_must(ishmem_init_thread(ISHMEM_THREAD_SINGLE, &provided), "ishmem_init");
}

TUTTI_ISHMEM void ishmem_finalize(void)
{
    tshmem_finalize();
}

TUTTI_ISHMEM void ishmem_info_get_version(int *major, int *minor)
{
    *major = ISHMEM_MAJOR_VERSION;
    *minor = ISHMEM_MINOR_VERSION;
}

/* name: ISHMEM_MAX_NAME_LEN bytes. */
TUTTI_ISHMEM void ishmem_info_get_name(char *name)
{
    tshmem_info_get_name(name);
}

#ifdef __cplusplus
#include "tutti/ishmem/generic.h"
#else
#define ishmem_broadcastmem tshmem_broadcastmem
#define ishmem_collectmem   tshmem_collectmem
#define ishmem_fcollectmem  tshmem_fcollectmem
#define ishmem_alltoallmem  tshmem_alltoallmem
#endif

#ifndef __CUDACC_RTC__
#include "tutti/words_pop.h"
#endif

#endif

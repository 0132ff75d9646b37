/* NVSHMEM's names for calls of the host and of a thread in kernels. Included by nvshmem.h alone. */
#ifndef TUTTI_NVSHMEM_NAMES_H
#define TUTTI_NVSHMEM_NAMES_H

#define nvshmem_team_t            tshmem_team_t
#define nvshmemx_team_t           tshmem_team_t
#define nvshmem_my_pe             tshmem_my_pe
#define nvshmem_n_pes             tshmem_n_pes
#define nvshmem_ptr               tshmem_ptr
#define nvshmem_malloc            tshmem_malloc
#define nvshmem_calloc            tshmem_calloc
#define nvshmem_align             tshmem_align
#define nvshmem_free              tshmem_free
#define nvshmem_fence             tshmem_fence
#define nvshmem_quiet             tshmem_quiet
#define nvshmem_putmem            tshmem_putmem
#define nvshmem_getmem            tshmem_getmem
#define nvshmem_putmem_nbi        tshmem_putmem_nbi
#define nvshmem_getmem_nbi        tshmem_getmem_nbi
#define nvshmem_putmem_signal     tshmem_putmem_signal
#define nvshmem_putmem_signal_nbi tshmem_putmem_signal_nbi
#define nvshmem_signal_fetch      tshmem_signal_fetch
#define nvshmem_signal_wait_until tshmem_signal_wait_until
#define nvshmem_team_my_pe        tshmem_team_my_pe
#define nvshmem_team_n_pes        tshmem_team_n_pes
#define nvshmem_team_translate_pe tshmem_team_translate_pe
#define nvshmem_team_destroy      tshmem_team_destroy
#define nvshmem_team_sync         tshmem_team_sync
#define nvshmem_sync              tshmem_sync
#define nvshmem_sync_all          tshmem_sync_all
#define nvshmem_barrier           tshmem_barrier
#define nvshmem_barrier_all       tshmem_barrier_all
#define nvshmem_broadcastmem      tshmem_broadcastmem
#define nvshmem_fcollectmem       tshmem_fcollectmem
#define nvshmem_alltoallmem       tshmem_alltoallmem
#define nvshmem_query_thread      tshmem_query_thread
#define nvshmem_global_exit       tshmem_global_exit

/* nvshmem_TYPE_put and its like; those that NVSHMEM has not (collect, scans, blocks of elements) are there as well. */
#define TSHMEM_NAME(type, call) nvshmem_##type##_##call
#define TSHMEM_PLAIN(call)      nvshmem_##call
#define TSHMEM_DO(call)         call
#include "tutti/shmem_typed.h"
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN
#undef TSHMEM_DO

TSHMEM_INLINE void nvshmem_info_get_version(int *major, int *minor)
{
    *major = NVSHMEM_MAJOR_VERSION;
    *minor = NVSHMEM_MINOR_VERSION;
}

/* name: NVSHMEM_MAX_NAME_LEN bytes. */
TSHMEM_INLINE void nvshmem_info_get_name(char *name)
{
    const char *const text = NVSHMEM_VENDOR_STRING;
    int i = 0;
    for (; text[i]; i++)
        name[i] = text[i];
    name[i] = 0;
}

/* Local. NVSHMEM_STATUS_IS_INITIALIZED or NVSHMEM_STATUS_NOT_INITIALIZED. */
TSHMEM_INLINE int nvshmemx_init_status(void)
{
    return tshmem_n_pes() > 0 ? NVSHMEM_STATUS_IS_INITIALIZED : NVSHMEM_STATUS_NOT_INITIALIZED;
}

/* Version of NVSHMEM whose names these are. */
TSHMEM_INLINE void nvshmemx_vendor_get_version_info(int *major, int *minor, int *patch)
{
    *major = NVSHMEM_VENDOR_MAJOR_VERSION;
    *minor = NVSHMEM_VENDOR_MINOR_VERSION;
    *patch = NVSHMEM_VENDOR_PATCH_VERSION;
}

/* There is no address that stands for all members of a team at once: NULL, as NVSHMEM gives where the GPUs have no
 * multicast. */
TSHMEM_INLINE void *nvshmemx_mc_ptr(nvshmem_team_t team, const void *address)
{
    (void)team;
    (void)address;
    return (void *)0;
}

/* Sets or adds to a signal, without data. operation: NVSHMEM_SIGNAL_SET or NVSHMEM_SIGNAL_ADD. */
TSHMEM_INLINE void nvshmemx_signal_op(uint64_t *signal, uint64_t value, int operation, int pe)
{
    if (operation == NVSHMEM_SIGNAL_ADD)
        tshmem_signal_add(signal, value, pe);
    else
        tshmem_signal_set(signal, value, pe);
}

#endif

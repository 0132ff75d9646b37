/* NVSHMEM's calls of warps and blocks in kernels: those of tutti/device.h. All threads of the group make the call with
 * the same arguments. Included by nvshmem.h alone. */
#ifndef TUTTI_NVSHMEM_GROUPS_H
#define TUTTI_NVSHMEM_GROUPS_H

#undef TSHMEM_INLINE
#define TSHMEM_INLINE TUTTI_DEV
#define TSHMEM_GROUP_FORMS

#define nvshmemx_putmem_warp            tshmem_putmem_warp
#define nvshmemx_getmem_warp            tshmem_getmem_warp
#define nvshmemx_putmem_nbi_warp        tshmem_putmem_nbi_warp
#define nvshmemx_getmem_nbi_warp        tshmem_getmem_nbi_warp
#define nvshmemx_putmem_signal_warp     tshmem_putmem_signal_warp
#define nvshmemx_putmem_signal_nbi_warp tshmem_putmem_signal_nbi_warp
#define nvshmemx_fence_warp             tshmem_fence_warp
#define nvshmemx_quiet_warp             tshmem_quiet_warp
#define nvshmemx_signal_wait_until_warp tshmem_signal_wait_until_warp
#define nvshmemx_team_sync_warp         tshmem_team_sync_warp
#define nvshmemx_sync_warp              tshmem_sync_warp
#define nvshmemx_sync_all_warp          tshmem_sync_all_warp
#define nvshmemx_barrier_warp           tshmem_barrier_warp
#define nvshmemx_barrier_all_warp       tshmem_barrier_all_warp
#define nvshmemx_broadcastmem_warp      tshmem_broadcastmem_warp
#define nvshmemx_fcollectmem_warp       tshmem_fcollectmem_warp
#define nvshmemx_alltoallmem_warp       tshmem_alltoallmem_warp

#define TSHMEM_DO(call)         call##_warp
#define TSHMEM_NAME(type, call) nvshmemx_##type##_##call##_warp
#define TSHMEM_PLAIN(call)      nvshmemx_##call##_warp
#include "tutti/shmem_typed.h"
#undef TSHMEM_DO
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN

#define nvshmemx_putmem_block            tshmem_putmem_block
#define nvshmemx_getmem_block            tshmem_getmem_block
#define nvshmemx_putmem_nbi_block        tshmem_putmem_nbi_block
#define nvshmemx_getmem_nbi_block        tshmem_getmem_nbi_block
#define nvshmemx_putmem_signal_block     tshmem_putmem_signal_block
#define nvshmemx_putmem_signal_nbi_block tshmem_putmem_signal_nbi_block
#define nvshmemx_fence_block             tshmem_fence_block
#define nvshmemx_quiet_block             tshmem_quiet_block
#define nvshmemx_signal_wait_until_block tshmem_signal_wait_until_block
#define nvshmemx_team_sync_block         tshmem_team_sync_block
#define nvshmemx_sync_block              tshmem_sync_block
#define nvshmemx_sync_all_block          tshmem_sync_all_block
#define nvshmemx_barrier_block           tshmem_barrier_block
#define nvshmemx_barrier_all_block       tshmem_barrier_all_block
#define nvshmemx_broadcastmem_block      tshmem_broadcastmem_block
#define nvshmemx_fcollectmem_block       tshmem_fcollectmem_block
#define nvshmemx_alltoallmem_block       tshmem_alltoallmem_block

#define TSHMEM_DO(call)         call##_block
#define TSHMEM_NAME(type, call) nvshmemx_##type##_##call##_block
#define TSHMEM_PLAIN(call)      nvshmemx_##call##_block
#include "tutti/shmem_typed.h"
#undef TSHMEM_DO
#undef TSHMEM_NAME
#undef TSHMEM_PLAIN

/* The four warps number `group` of the block meet, at one of the barriers 8 to 15 of the block: 1 to all their threads
 * if one of them passed `failed`. */
#ifdef __CUDACC__
TUTTI_DEV int tutti_nvshmem_warpgroup_meet(unsigned group, int failed)
{
    int any;
    asm volatile(
        "{ .reg .pred p, q; setp.ne.s32 p, %1, 0; barrier.cta.red.or.pred q, %2, 128, p; selp.s32 %0, 1, 0, q; }"
        : "=r"(any)
        : "r"(failed), "r"(8 + group % 8)
        : "memory");
    return any;
}
#else
TUTTI_DEV int tutti_nvshmem_warpgroup_meet(unsigned group, int failed)
{
    (void)group;
    return failed;
}
#endif

/* By all threads of four warps that follow each other; the first warp makes the call for all. */
TUTTI_DEV int nvshmemx_barrier_warpgroup(nvshmem_team_t team)
{
    const unsigned warp = (unsigned)(tutti_dev_rank(TUTTI_BY_BLOCK) / 32);
    tutti_nvshmem_warpgroup_meet(warp / 4, 0);
    const int status = warp % 4 == 0 ? tshmem_barrier_warp(team) : 0;
    return tutti_nvshmem_warpgroup_meet(warp / 4, status != 0) ? NVSHMEMX_ERROR_INTERNAL : NVSHMEMX_SUCCESS;
}

#undef TSHMEM_GROUP_FORMS
#undef TSHMEM_INLINE
#define TSHMEM_INLINE TSHMEM_HERE

#endif

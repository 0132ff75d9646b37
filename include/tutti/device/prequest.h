/* Partitioned requests in kernels (tutti/prequest.h). Header only; CUDA C++, NVRTC, and C and C++ for the host device,
 * where the calling thread is the group.
 *
 * MPIX_Pready(), MPIX_Pready_range() and MPIX_Pready_list() are made by one thread; MPIX_Pready_thread() is another
 * name of the first. MPIX_Pready_warp() and MPIX_Pready_block() are made by all threads of a warp of 32 or of a block,
 * with the same arguments. The partition holds what the calling group has stored before the call. Other groups that
 * have stored to it have ordered their stores before the call (__syncthreads(), a barrier of the grid). The host has
 * started the request before the kernel. Each partition is marked once in a round, by kernels or by MPI_Pready(), not
 * by both.
 *
 * Partitions that lie in one transport partition travel together, when the last of them is marked: all of them by
 * kernels, or all by MPI_Pready(). The info key "tutti_transport_partitions" of MPI_Psend_init() sets the number of
 * transport partitions; without it they have 64 KiB or more.
 *
 * MPIX_Parrived() sets *flag to 1 if a partition of a receive has arrived; then the thread's later loads see its data.
 * What the kernel has read of the buffer before may lie in a cache of its multiprocessor: other threads synchronise
 * with the one that has called. It never waits.
 *
 * A wrong partition, and a request of the other side, change nothing and set the request's error, which its completion
 * reports as MPI_ERR_ARG. */
#ifndef TUTTI_DEVICE_PREQUEST_H
#define TUTTI_DEVICE_PREQUEST_H

#include "tutti/prequest.h"

#ifdef __CUDACC_RTC__
#ifndef NULL
#define NULL 0
#endif
#endif
#include "tutti/device/env.h"

/* One partition, by the leader of the group; the other threads have met it. */
TUTTI_DEV void tutti_prequest_ready(const MPIX_Prequest *request, int partition)
{
    if (!request->send || partition < 0 || partition >= request->partitions) {
        tutti_dev_store_release32(request->wrong, 1);
        return;
    }
    const int number = partition / request->each, left = request->partitions - number * request->each;
    const uint32_t of = (uint32_t)(left < request->each ? left : request->each);
    if (of > 1) {
        tutti_dev_fence_gpu();
        if (tutti_dev_grid_add(&request->count[number], 1) + 1 < of)
            return;
        tutti_dev_store_relaxed32(&request->count[number], 0); /* for the next round */
        tutti_dev_fence(); /* what the sum has shown of other groups, the flag shows to the host */
    }
    tutti_dev_store_release32(&request->flag[number], 1);
}

TUTTI_DEV int tutti_prequest_ready_by(int group, const MPIX_Prequest *request, int partition)
{
    tutti_dev_near_join(group);
    if (tutti_dev_rank(group) == 0)
        tutti_prequest_ready(request, partition);
    return 0;
}

TUTTI_DEV int MPIX_Pready(int partition, MPIX_Prequest request)
{
    return tutti_prequest_ready_by(TUTTI_BY_THREAD, &request, partition);
}

TUTTI_DEV int MPIX_Pready_thread(int partition, MPIX_Prequest request)
{
    return tutti_prequest_ready_by(TUTTI_BY_THREAD, &request, partition);
}

TUTTI_DEV int MPIX_Pready_warp(int partition, MPIX_Prequest request)
{
    return tutti_prequest_ready_by(TUTTI_BY_WARP, &request, partition);
}

TUTTI_DEV int MPIX_Pready_block(int partition, MPIX_Prequest request)
{
    return tutti_prequest_ready_by(TUTTI_BY_BLOCK, &request, partition);
}

/* Partitions low to high, both included. */
TUTTI_DEV int MPIX_Pready_range(int low, int high, MPIX_Prequest request)
{
    for (int partition = low; partition <= high; partition++)
        tutti_prequest_ready(&request, partition);
    return 0;
}

TUTTI_DEV int MPIX_Pready_list(int length, const int partitions[], MPIX_Prequest request)
{
    for (int i = 0; i < length; i++)
        tutti_prequest_ready(&request, partitions[i]);
    return 0;
}

TUTTI_DEV int MPIX_Parrived(MPIX_Prequest request, int partition, int *flag)
{
    *flag = 0;
    if (request.send || partition < 0 || partition >= request.partitions)
        tutti_dev_store_release32(request.wrong, 1);
    else
        *flag = tutti_dev_load_acquire32(&request.flag[partition]) != 0;
    return 0;
}

#endif

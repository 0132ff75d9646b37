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
 * If the round was prepared by MPIX_Pbuf_prepare(), and the receiver's buffer is mapped, the group stores the partition
 * there itself: a block one of any size, a warp one of up to 32 KiB, a thread one of up to 1 KiB. Otherwise, or if it
 * is larger, the progress engine of the host sends it.
 *
 * Partitions that lie in one transport partition are signalled together, when the last of them is marked: all of them
 * by kernels, or all by MPI_Pready(). The info key "tutti_transport_partitions" of MPI_Psend_init() sets the number of
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

#include "tutti/device/copy.h"

#include "tutti/device/meet.h"

/* Most bytes of a partition that one thread, or a warp, stores in the receiver's memory in less time than the engine
 * needs for them. */
enum { TUTTI_PREQUEST_THREAD_MOST = 1 << 10, TUTTI_PREQUEST_WARP_MOST = 32 << 10 };

TUTTI_DEV int tutti_prequest_may_store(int group, const MPIX_Prequest *request)
{
    return request->from != NULL && (group == TUTTI_BY_BLOCK ||
                                     request->bytes <= (uint64_t)(group == TUTTI_BY_WARP ? TUTTI_PREQUEST_WARP_MOST
                                                                                         : TUTTI_PREQUEST_THREAD_MOST));
}

/* Mark number `number` of those that begin at `marks` (struct tutti_prequest_round). */
TUTTI_DEV uint32_t *tutti_prequest_mark(tutti_dev_u64 marks, uint64_t number)
{
    uint32_t *const first = (uint32_t *)(uintptr_t)(marks & ~(tutti_dev_u64)1);
    return first + number * (marks & 1 ? (unsigned)TUTTI_PREQUEST_LINE : 1u);
}

/* Where kernels store this round, by the leader of a group. marks: written if the result is not 0. A transport
 * partition of several partitions is read from host memory by one group, which leaves the result to the others. */
TUTTI_DEV tutti_dev_u64 tutti_prequest_to(const MPIX_Prequest *request, int number, tutti_dev_u64 *marks)
{
    const struct tutti_prequest_round *const round = &request->round[number % request->copies];
    tutti_dev_u64 to = TUTTI_PREQUEST_UNREAD;
    if (request->each == 1) {
        tutti_dev_load_pair(&round->to, &to, marks);
        return to;
    }
    struct tutti_prequest_count *const count = &request->count[number];
    to = tutti_dev_compare_swap64(&count->to, TUTTI_PREQUEST_UNREAD, TUTTI_PREQUEST_READING);
    if (to == TUTTI_PREQUEST_UNREAD) {
        tutti_dev_load_pair(&round->to, &to, marks);
        tutti_dev_store_relaxed64(&count->marks, *marks);
        tutti_dev_store_relaxed64(&count->to, to != 0 ? to : (tutti_dev_u64)TUTTI_PREQUEST_NOWHERE);
        return to;
    }
    while (to == TUTTI_PREQUEST_READING) {
        tutti_dev_pause();
        to = tutti_dev_load_relaxed64(&count->to);
    }
    *marks = tutti_dev_load_relaxed64(&count->marks); /* not used at once, so the group stores meanwhile */
    return to == TUTTI_PREQUEST_NOWHERE ? 0 : to;
}

/* One more partition of a transport partition of `of` is ready, by the leader. 0: it is not the last one. *marks: 0 on
 * return: the engine sends the transport partition. */
TUTTI_DEV int tutti_prequest_count(struct tutti_prequest_count *count, uint32_t of, int stored, tutti_dev_u64 *marks)
{
    const tutti_dev_u64 one_to_send = (tutti_dev_u64)1 << 32;
    tutti_dev_fence_gpu();
    const tutti_dev_u64 before = tutti_dev_add64(&count->ready, stored ? 1 : one_to_send + 1);
    if ((uint32_t)before + 1 < of)
        return 0;
    if (!stored || before >= one_to_send) {
        *marks = 0;
    } else if (*marks == 0) {
        tutti_dev_fence_gpu(); /* the sum has shown the group that wrote it */
        *marks = tutti_dev_load_relaxed64(&count->marks);
    }
    tutti_dev_store_relaxed64(&count->marks, 0); /* for the next round */
    tutti_dev_store_relaxed64(&count->ready, 0);
    tutti_dev_store_relaxed64(&count->to, TUTTI_PREQUEST_UNREAD);
    return 1;
}

/* One partition, by the leader of the group. stored: it is in the receiver's buffer; marks: as tutti_prequest_to() has
 * written them. */
TUTTI_DEV void tutti_prequest_ready(const MPIX_Prequest *request, int partition, int stored, tutti_dev_u64 marks)
{
    const int number = partition / request->each, left = request->partitions - number * request->each;
    const uint32_t of = (uint32_t)(left < request->each ? left : request->each);
    if (request->each > 1 && !tutti_prequest_count(&request->count[number], of, stored, &marks))
        return;
    tutti_dev_fence(); /* one for all: of what this group, and those that the sum has shown, have stored */
    if (marks)
        tutti_dev_store_relaxed32(tutti_prequest_mark(marks, (uint64_t)number), 1);
    tutti_dev_store_relaxed32(&request->flag[number], marks ? TUTTI_PREQUEST_STORED : TUTTI_PREQUEST_READY);
}

/* A partition of this rank's contribution to a collective. If all ranks can meet in kernels in this round, and the
 * group is large enough for the partition, the group marks it there; otherwise the engine does. */
TUTTI_DEV void tutti_prequest_meet_by(int group, const MPIX_Prequest *request, int partition, int may_combine)
{
    const int leads = tutti_dev_rank(group) == 0;
    uint64_t at = 0;
    if (leads && may_combine)
        at = tutti_dev_load_relaxed64(request->here);
    at = tutti_dev_near_share(group, at);
    const struct tutti_meet *const meet = (const struct tutti_meet *)(uintptr_t)at;
    const int meets = meet && request->bytes <= meet->most;
    if (meets)
        tutti_dev_meet_partition(group, meet, partition);
    if (leads && meets) /* the last one's marks of the result order what has been stored */
        tutti_dev_store_relaxed32(&request->flag[partition], TUTTI_PREQUEST_STORED);
    else if (leads)
        tutti_dev_store_release32(&request->flag[partition], TUTTI_PREQUEST_READY);
}

/* may_store: 1 if the group may store the partition in the receiver's memory. */
TUTTI_DEV int tutti_prequest_ready_by(int group, const MPIX_Prequest *request, int partition, int may_store)
{
    const int leads = tutti_dev_rank(group) == 0;
    tutti_dev_u64 to = 0, marks = 0;
    if (!request->send || partition < 0 || partition >= request->partitions) {
        if (leads)
            tutti_dev_store_release32(request->wrong, 1);
        return 0;
    }
    if (request->collective) {
        tutti_prequest_meet_by(group, request, partition, may_store);
        return 0;
    }
    if (may_store && leads)
        to = tutti_prequest_to(request, partition / request->each, &marks);
    if (may_store)
        to = tutti_dev_near_share(group, to); /* past this, each thread sees what the others have stored before */
    if (to != 0) {
        const uint64_t at = (uint64_t)partition * request->bytes;
        tutti_dev_copy(group, (char *)(uintptr_t)to + at, request->from + at, request->bytes);
    }
    tutti_dev_near_join(group);
    if (leads)
        tutti_prequest_ready(request, partition, to != 0, to != 0 ? marks : 0);
    return 0;
}

TUTTI_DEV int MPIX_Pready(int partition, MPIX_Prequest request)
{
    return tutti_prequest_ready_by(TUTTI_BY_THREAD, &request, partition,
                                   tutti_prequest_may_store(TUTTI_BY_THREAD, &request));
}

TUTTI_DEV int MPIX_Pready_thread(int partition, MPIX_Prequest request)
{
    return tutti_prequest_ready_by(TUTTI_BY_THREAD, &request, partition,
                                   tutti_prequest_may_store(TUTTI_BY_THREAD, &request));
}

TUTTI_DEV int MPIX_Pready_warp(int partition, MPIX_Prequest request)
{
    return tutti_prequest_ready_by(TUTTI_BY_WARP, &request, partition,
                                   tutti_prequest_may_store(TUTTI_BY_WARP, &request));
}

TUTTI_DEV int MPIX_Pready_block(int partition, MPIX_Prequest request)
{
    return tutti_prequest_ready_by(TUTTI_BY_BLOCK, &request, partition,
                                   tutti_prequest_may_store(TUTTI_BY_BLOCK, &request));
}

/* Partitions low to high, both included. One thread stores few bytes alone. */
TUTTI_DEV int MPIX_Pready_range(int low, int high, MPIX_Prequest request)
{
    const int64_t n = (int64_t)high - low + 1;
    const int may_store = tutti_prequest_may_store(TUTTI_BY_THREAD, &request) &&
                          request.bytes * (uint64_t)n <= (uint64_t)TUTTI_PREQUEST_THREAD_MOST;
    for (int partition = low; partition <= high; partition++)
        tutti_prequest_ready_by(TUTTI_BY_THREAD, &request, partition, may_store);
    return 0;
}

TUTTI_DEV int MPIX_Pready_list(int length, const int partitions[], MPIX_Prequest request)
{
    const int may_store = tutti_prequest_may_store(TUTTI_BY_THREAD, &request) &&
                          request.bytes * (uint64_t)length <= (uint64_t)TUTTI_PREQUEST_THREAD_MOST;
    for (int i = 0; i < length; i++)
        tutti_prequest_ready_by(TUTTI_BY_THREAD, &request, partitions[i], may_store);
    return 0;
}

/* 1 if the host has seen the partition arrive, or kernels of the sender have stored all of it: their marks of the
 * transport partitions that it has bytes of are set. Each load of host memory takes a microsecond, so two are under way
 * at a time. */
TUTTI_DEV int tutti_prequest_has_arrived(const MPIX_Prequest *request, int partition)
{
    const uint64_t first = (uint64_t)partition * request->bytes, end = first + request->bytes;
    tutti_dev_u64 bytes, marks;
    const uint32_t flag = tutti_dev_load_look32(&request->flag[partition * request->apart]);
    tutti_dev_load_pair(&request->round[partition % request->copies].bytes, &bytes, &marks);
    int all = marks != 0 && bytes > 0;
    for (uint64_t i = all ? first / bytes : 1; flag == 0 && all && i <= (end - 1) / bytes; i++)
        all = tutti_dev_load_look32(tutti_prequest_mark(marks, i)) != 0;
    all |= flag != 0;
    if (all)
        tutti_dev_seen();
    return all;
}

/* 1 if a partition of a collective's result is complete: the host has seen it, or kernels have met. */
TUTTI_DEV int tutti_prequest_has_result(const MPIX_Prequest *request, int partition)
{
    if (tutti_dev_load_acquire32(&request->flag[request->partitions + partition]) != 0)
        return 1;
    const uint32_t *const marks = (const uint32_t *)(uintptr_t)tutti_dev_load_relaxed64(&request->round->marks);
    if (!marks ||
        tutti_dev_load_look32(&marks[partition]) != (uint32_t)tutti_dev_load_relaxed64(&request->round->bytes))
        return 0;
    tutti_dev_seen();
    return 1;
}

TUTTI_DEV int MPIX_Parrived(MPIX_Prequest request, int partition, int *flag)
{
    *flag = 0;
    if (request.collective && partition >= 0 && partition < request.results)
        *flag = tutti_prequest_has_result(&request, partition);
    else if (request.collective || request.send || partition < 0 || partition >= request.partitions)
        tutti_dev_store_release32(request.wrong, 1);
    else
        *flag = tutti_prequest_has_arrived(&request, partition);
    return 0;
}

#endif

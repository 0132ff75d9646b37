/* Collectives that move data in teams with far members (far.h). Small data go into the receivers' slots (packets.h),
 * where they lie as they are, in one step; larger ones into the results, past a step that says that these may be stored
 * over. */
#ifndef TUTTI_DEVICE_FAR_MOVE_H
#define TUTTI_DEVICE_FAR_MOVE_H

/* The own slots of the next step. */
TUTTI_DEV char *tutti_dev_far_slots(const struct tutti_dev_meeting *meeting)
{
    return tutti_dev_own_area(meeting)->packets[(meeting->sequence + 1) % 2];
}

TUTTI_DEV int tutti_dev_far_is_small(const struct tutti_dev_meeting *meeting, size_t bytes)
{
    return bytes <= TUTTI_DEV_SMALL && bytes <= tutti_dev_slot(meeting);
}

TUTTI_DEV size_t tutti_dev_far_size(tshmem_team_t team)
{
    const int members = tutti_dev_team_n_pes(team);
    return members > 0 ? (size_t)members : 0;
}

TUTTI_DEV_APART int tutti_dev_far_broadcast(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes,
                                            int root)
{
    struct tutti_dev_meeting meeting;
    const int status = tutti_dev_far_begin(&meeting, TSHMEM_KERNEL_BROADCAST, group, team, dest, bytes, source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    const int is_root = meeting.team.me == root;
    struct tutti_dev_far_put put = {(char *)dest, (const char *)source, 0, is_root ? bytes : 0, TUTTI_DEV_NO_END, 0, 0};
    if (!tutti_dev_far_is_small(&meeting, bytes)) {
        tutti_dev_far_meet(&meeting);
        tutti_dev_far_step(&meeting, &put);
        return tutti_dev_far_end(&meeting);
    }
    char *const slot = tutti_dev_far_slots(&meeting) + tutti_dev_slot(&meeting) * (unsigned)root;
    put.to = slot;
    tutti_dev_far_step(&meeting, &put);
    if (!is_root || dest != source)
        tutti_dev_far_copy(group, dest, is_root ? source : slot, bytes);
    return tutti_dev_far_end(&meeting);
}

/* Of an exchange: to member i what lies at source + i * step; what is received from it goes to dest + i * bytes. What
 * is blocks of elements, with gaps: `n` of them of `bytes` bytes to each. */
struct tutti_dev_far_exchange {
    struct tutti_dev_meeting meeting;
    struct tutti_dev_far_put put;
    char *dest, *slots; /* slots: NULL: it is in the results */
    const char *source;
    ptrdiff_t dst, sst;
    size_t n, bytes;
};

TUTTI_DEV_APART void tutti_dev_far_take(const struct tutti_dev_far_exchange *all, int from)
{
    tutti_dev_copy(all->meeting.group, all->dest + (size_t)from * all->bytes,
                   all->slots + (size_t)from * tutti_dev_slot(&all->meeting), all->bytes);
}

TUTTI_DEV_APART int tutti_dev_far_all(struct tutti_dev_far_exchange *all, size_t step)
{
    all->put.to = all->dest + (size_t)all->meeting.team.me * all->bytes;
    all->put.from = all->source;
    all->put.step = step;
    all->put.bytes = all->bytes;
    all->put.left = TUTTI_DEV_NO_END;
    all->put.to_step = 0;
    all->put.only = 0;
    all->slots = NULL;
    if (tutti_dev_far_is_small(&all->meeting, all->bytes)) {
        all->slots = tutti_dev_far_slots(&all->meeting);
        all->put.to = all->slots + (size_t)all->meeting.team.me * tutti_dev_slot(&all->meeting);
    } else {
        tutti_dev_far_meet(&all->meeting);
    }
    tutti_dev_far_step(&all->meeting, &all->put);
    TUTTI_DEV_UNROLL_1
    for (int i = 0; all->slots && i < all->meeting.team.size; i++)
        tutti_dev_far_take(all, i);
    return tutti_dev_far_end(&all->meeting);
}

TUTTI_DEV_APART int tutti_dev_far_fcollect(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    struct tutti_dev_far_exchange all;
    const int status = tutti_dev_far_begin(&all.meeting, TSHMEM_KERNEL_FCOLLECT, group, team, dest,
                                           bytes * tutti_dev_far_size(team), source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    all.dest = (char *)dest;
    all.source = (const char *)source;
    all.bytes = bytes;
    return tutti_dev_far_all(&all, 0);
}

/* All say how much they bring, then all know where it goes. */
TUTTI_DEV_APART int tutti_dev_far_collect(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    struct tutti_dev_meeting meeting;
    const int status = tutti_dev_far_begin(&meeting, TSHMEM_KERNEL_COLLECT, group, team, dest, 0, source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    const int members = meeting.team.size, me = meeting.team.me;
    const size_t slot = tutti_dev_slot(&meeting);
    char *const slots = tutti_dev_far_slots(&meeting), *const own = slots + (size_t)me * slot;
    const struct tutti_dev_far_put length = {own, own, 0, sizeof(uint64_t), TUTTI_DEV_NO_END, 0, 0};
    struct tutti_dev_far_put put = {(char *)dest, (const char *)source, 0, bytes, TUTTI_DEV_NO_END, 0, 0};
    size_t all = 0;
    if (tutti_dev_rank(group) == 0)
        tutti_dev_store_relaxed64(own, bytes);
    tutti_dev_near_sync(group, 0);
    tutti_dev_far_step(&meeting, &length);
    TUTTI_DEV_UNROLL_1
    for (int i = 0; i < members && !meeting.failed; i++) {
        put.to = i == me ? (char *)dest + all : put.to;
        all += (size_t)tutti_dev_load_relaxed64(slots + (size_t)i * slot);
    }
    if (meeting.failed || !tutti_dev_symmetric(dest, all)) {
        if (!meeting.failed)
            tutti_dev_refuse(TSHMEM_KERNEL_COLLECT, TSHMEM_WHY_NOT_SYMMETRIC, -1, team, (uint64_t)(uintptr_t)dest, all);
        meeting.failed = 1; /* on all PEs alike */
        return tutti_dev_free(&meeting);
    }
    tutti_dev_far_step(&meeting, &put);
    return tutti_dev_far_end(&meeting);
}

/* The elements of a near member, by all threads: one after the other. */
TUTTI_DEV_APART void tutti_dev_far_scatter_near(const struct tutti_dev_far_exchange *all, char *to, const char *from)
{
    const size_t size = tutti_dev_size(all->meeting.group), bytes = all->bytes;
    TUTTI_DEV_UNROLL_1
    for (size_t i = tutti_dev_rank(all->meeting.group); i < all->n; i += size)
        tutti_dev_far_copy(TUTTI_BY_THREAD, to + i * (size_t)all->dst * bytes, from + i * (size_t)all->sst * bytes,
                           bytes);
}

/* Those of a far member, by one thread; they are there on return. */
TUTTI_DEV_APART void tutti_dev_far_scatter_far(const struct tutti_dev_far_exchange *all, const char *to,
                                               const char *from, int pe)
{
    struct tutti_dev_request r = TUTTI_DEV_ZERO;
    if (!tutti_dev_ring_offset(all->meeting.operation, to, all->n * all->bytes, pe, &r.dest))
        return;
    r.operation = TSHMEM_RING_PUT_BLOCKS;
    r.pe = pe;
    r.source = (uint64_t)(uintptr_t)from;
    r.bytes = all->n;
    r.value = (uint64_t)all->dst;
    r.compare = (uint64_t)all->sst;
    r.extra = 1;
    r.size = (unsigned)all->bytes;
    tutti_dev_fence();
    tutti_dev_ring_call(&r);
}

TUTTI_DEV_APART void tutti_dev_far_scatter(const struct tutti_dev_far_exchange *all, int member)
{
    const int group = all->meeting.group;
    const size_t block = all->n * all->bytes;
    char *const to = all->dest + (size_t)all->meeting.team.me * (size_t)all->dst * block;
    const char *const from = all->source + (size_t)member * (size_t)all->sst * block;
    if (tutti_dev_is_near(&all->meeting, member))
        tutti_dev_far_scatter_near(all, tutti_dev_of(&all->meeting, to, member), from);
    else if ((size_t)member % tutti_dev_size(group) == tutti_dev_rank(group))
        tutti_dev_far_scatter_far(all, to, from, tutti_dev_pe(&all->meeting.team, member));
}

TUTTI_DEV_APART int tutti_dev_far_strided(struct tutti_dev_far_exchange *all)
{
    tutti_dev_far_meet(&all->meeting);
    TUTTI_DEV_UNROLL_1
    for (int i = 0; all->n > 0 && i < all->meeting.team.size; i++)
        tutti_dev_far_scatter(all, i);
    tutti_dev_far_meet(&all->meeting);
    return tutti_dev_far_end(&all->meeting);
}

TUTTI_DEV_APART int tutti_dev_far_alltoalls(int group, tshmem_team_t team, void *dest, const void *source,
                                            ptrdiff_t dst, ptrdiff_t sst, size_t n, size_t bytes)
{
    struct tutti_dev_far_exchange all;
    const size_t last = n > 0 ? n * tutti_dev_far_size(team) - 1 : 0, one = n > 0 ? bytes : 0;
    const int even = dst == 1 && sst == 1;
    all.dest = (char *)dest;
    all.source = (const char *)source;
    all.dst = dst;
    all.sst = sst;
    all.n = n;
    all.bytes = even ? n * bytes : bytes;
    const int status = tutti_dev_far_begin(&all.meeting, TSHMEM_KERNEL_ALLTOALL, group, team, dest,
                                           last * (size_t)dst * bytes + one, source, last * (size_t)sst * bytes + one);
    if (status != TUTTI_DEV_OK)
        return status;
    return even ? tutti_dev_far_all(&all, all.bytes) : tutti_dev_far_strided(&all);
}

#endif

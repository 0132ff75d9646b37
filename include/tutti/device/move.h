/* Collectives that move data: each PE stores its blocks into the others' results, between two meetings. PEs begin with
 * themselves and go round, so that not all store to one at once. */
#ifndef TUTTI_DEVICE_MOVE_H
#define TUTTI_DEVICE_MOVE_H

TUTTI_DEV int tutti_dev_broadcast(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes, int root)
{
    struct tutti_dev_meeting meeting;
    const int members = tutti_dev_team_n_pes(team);
    if (members > 0 && (root < 0 || root >= members)) {
        tutti_dev_fail();
        return TUTTI_DEV_ERR_ARGUMENT;
    }
    const int status = tutti_dev_begin(&meeting, group, team, dest, bytes, source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    tutti_dev_meet(&meeting);
    for (int i = 0; i < members && meeting.team.me == root; i++) {
        char *const to = tutti_dev_of(&meeting, dest, (root + i) % members);
        if (to != (const char *)source)
            tutti_dev_copy(group, to, source, bytes);
    }
    tutti_dev_meet(&meeting);
    return tutti_dev_end(&meeting);
}

/* Each PE brings as much as it likes; it tells all others how much, with the first meeting. */
TUTTI_DEV int tutti_dev_collect(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    struct tutti_dev_meeting meeting;
    const int status = tutti_dev_begin(&meeting, group, team, dest, 0, source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    const int members = meeting.team.size, me = meeting.team.me;
    struct tshmem_area *const own = tutti_dev_area(tutti_dev_state()->me, meeting.team.number);
    for (int i = (int)tutti_dev_rank(group); i < members; i += (int)tutti_dev_size(group)) {
        struct tshmem_area *const other = tutti_dev_area(tutti_dev_pe(&meeting.team, i), meeting.team.number);
        tutti_dev_store_relaxed64(&other->length[me], bytes);
    }
    tutti_dev_meet(&meeting);
    size_t at = 0, all = 0;
    for (int i = 0; i < members; i++) {
        at = i == me ? all : at;
        all += (size_t)tutti_dev_load_relaxed64(&own->length[i]);
    }
    if (!tutti_dev_symmetric(dest, all)) {
        meeting.failed = 1; /* on all PEs alike */
        return tutti_dev_end(&meeting);
    }
    for (int i = 0; i < members; i++)
        tutti_dev_copy(group, tutti_dev_of(&meeting, dest, (me + i) % members) + at, source, bytes);
    tutti_dev_meet(&meeting);
    return tutti_dev_end(&meeting);
}

TUTTI_DEV int tutti_dev_fcollect(int group, tshmem_team_t team, void *dest, const void *source, size_t bytes)
{
    struct tutti_dev_meeting meeting;
    const int team_size = tutti_dev_team_n_pes(team);
    const int status =
        tutti_dev_begin(&meeting, group, team, dest, bytes * (size_t)(team_size > 0 ? team_size : 0), source, bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    const int members = meeting.team.size, me = meeting.team.me;
    tutti_dev_meet(&meeting);
    for (int i = 0; i < members; i++)
        tutti_dev_copy(group, tutti_dev_of(&meeting, dest, (me + i) % members) + (size_t)me * bytes, source, bytes);
    tutti_dev_meet(&meeting);
    return tutti_dev_end(&meeting);
}

/* Block j of n elements goes to PE j. dst, sst: elements from one to the next, in dest and source. */
TUTTI_DEV int tutti_dev_alltoalls(int group, tshmem_team_t team, void *dest, const void *source, ptrdiff_t dst,
                                  ptrdiff_t sst, size_t n, size_t bytes)
{
    struct tutti_dev_meeting meeting;
    const int team_size = tutti_dev_team_n_pes(team);
    const size_t all = n * (size_t)(team_size > 0 ? team_size : 0);
    if (dst < 1 || sst < 1) {
        tutti_dev_fail();
        return TUTTI_DEV_ERR_ARGUMENT;
    }
    const size_t dest_bytes = all ? ((all - 1) * (size_t)dst + 1) * bytes : 0;
    const size_t source_bytes = all ? ((all - 1) * (size_t)sst + 1) * bytes : 0;
    const int status = tutti_dev_begin(&meeting, group, team, dest, dest_bytes, source, source_bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    const int members = meeting.team.size, me = meeting.team.me;
    const size_t to_step = n * (size_t)dst * bytes, from_step = n * (size_t)sst * bytes;
    tutti_dev_meet(&meeting);
    for (int i = 0; i < members; i++) {
        const int to = (me + i) % members;
        char *const there = tutti_dev_of(&meeting, dest, to) + (size_t)me * to_step;
        const char *const here = (const char *)source + (size_t)to * from_step;
        if (dst == 1 && sst == 1)
            tutti_dev_copy(group, there, here, n * bytes);
        else
            tutti_dev_copy_blocks(group, there, here, dst, sst, 1, n, bytes);
    }
    tutti_dev_meet(&meeting);
    return tutti_dev_end(&meeting);
}

#endif

/* Barriers in kernels: one meeting of all members (team.h). */
#ifndef TUTTI_DEVICE_BARRIER_H
#define TUTTI_DEVICE_BARRIER_H

TUTTI_DEV_APART int tutti_dev_far_barrier(int group, tshmem_team_t team);

/* tutti_dev_arrive() of the leaders of two members, without loops over members. */
TUTTI_DEV void tutti_dev_arrive_pair(struct tutti_dev_meeting *meeting)
{
    const struct tutti_dev_team team = meeting->team;
    const int other = 1 - team.me;
    struct tshmem_area *const there = tutti_dev_area(tutti_dev_pe(&team, other), team.number);
    const uint64_t *const word = &tutti_dev_own_area(meeting)->arrived[TSHMEM_BY_DEVICE][other];
    struct tutti_dev_patience patience = {0, 0};
    tutti_dev_fence_release();
    const uint64_t sequence = meeting->sequence + 1;
    tutti_dev_store_relaxed64(&there->arrived[TSHMEM_BY_DEVICE][team.me], sequence);
    TUTTI_DEV_UNROLL_1
    while ((int64_t)(tutti_dev_load_look64(word) - sequence) < 0 && !meeting->failed)
        meeting->failed = tutti_dev_gives_up(meeting, &patience, other);
    tutti_dev_seen();
    meeting->sequence = sequence;
}

/* A barrier of two members is a meeting of their leaders: the other threads of the group read no word of it, so one
 * wait for the leader ends it. */
TUTTI_DEV int tutti_dev_barrier_pair(struct tutti_dev_meeting *meeting)
{
    struct tshmem_area *const own = tutti_dev_own_area(meeting);
    const int leads = tutti_dev_rank(meeting->group) == 0;
    int renews = 0;
    if (leads) /* as its busy word, before it waits for the others */
        tutti_dev_ask(meeting);
    tutti_dev_join(meeting->group);
    if (leads) {
        tutti_dev_arrive_pair(meeting);
        meeting->failed |= meeting->cause != 0;
        renews = (uint32_t)meeting->sequence >= 0u - TUTTI_DEV_RENEW;
        if (!renews) {
            tutti_dev_store_relaxed64(&own->sequence[TSHMEM_BY_DEVICE], meeting->sequence);
            tutti_dev_store_relaxed32(&own->busy[TSHMEM_BY_DEVICE], 0);
        }
    }
    if (!tutti_dev_near_sync(meeting->group, meeting->failed | renews))
        return TUTTI_DEV_OK;
    if (tutti_dev_near_sync(meeting->group, renews)) {
        if (!leads) {
            tutti_dev_ask(meeting);
            meeting->sequence++;
        }
        return tutti_dev_renew(meeting->operation, meeting->group, meeting->id, meeting->sequence, meeting->cause,
                               meeting->failed);
    }
    tutti_dev_collective_fails(meeting->operation, meeting->cause, meeting->id);
    return TUTTI_DEV_ERR_BROKEN;
}

/* The barrier of a grid: its blocks wait for each other past the meeting. */
TUTTI_DEV int tutti_dev_barrier(int group, tshmem_team_t team)
{
    struct tutti_dev_meeting meeting;
    if (tutti_dev_is_far(team))
        return tutti_dev_far_barrier(group, team);
    const int status = tutti_dev_take(&meeting, TSHMEM_KERNEL_BARRIER, group, team);
    if (status != TUTTI_DEV_OK)
        return status;
    if (group != TUTTI_BY_GRID && meeting.team.size == 2)
        return tutti_dev_barrier_pair(&meeting);
    tutti_dev_join(group);
    tutti_dev_ask(&meeting);
    if (group == TUTTI_BY_GRID)
        tutti_dev_meet_first(&meeting);
    else
        tutti_dev_arrive(&meeting);
    return tutti_dev_end(&meeting);
}

#endif

/* Reductions and scans. Small ones: all exchange their vectors, and each combines them (fold.h). Larger ones: a PE
 * combines a slice of all members' sources, in order of PE, and stores it into the results of all of them, between two
 * meetings. Nobody else reads or stores that slice, so that dest and source may be one. Teams with far members:
 * far_reduce.h. */
#ifndef TUTTI_DEVICE_REDUCE_H
#define TUTTI_DEVICE_REDUCE_H

/* All shapes; op of scans is SUM. */
TUTTI_DEV int tutti_dev_reduce(int group, tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                               int op, int shape)
{
    struct tutti_dev_meeting meeting;
    const size_t bytes = tutti_dev_type_size(type);
    if (!tutti_dev_has(type, op)) {
        tutti_dev_fail();
        return TUTTI_DEV_ERR_ARGUMENT;
    }
    const int status = tutti_dev_begin(&meeting, group, team, dest, n * bytes, source, n * bytes);
    if (status != TUTTI_DEV_OK)
        return status;
    const int me = meeting.team.me, members = meeting.team.size;
    if (meeting.team.far)
        return tutti_dev_far_reduce(&meeting, (char *)dest, (const char *)source, n, type, op, shape);
    if (tutti_dev_is_small(&meeting, n * bytes))
        return tutti_dev_reduce_small(&meeting, dest, source, 0, (unsigned)(n * bytes), type, op,
                                      shape == TUTTI_DEV_ALL       ? members
                                      : shape == TUTTI_DEV_THROUGH ? me + 1
                                                                   : me);
    const struct tutti_dev_places in = {1, (char *)(uintptr_t)source, 0};
    const struct tutti_dev_places out = {1, (char *)dest, 0};
    struct tutti_dev_job job = {meeting.team, in, out, members, members, me, shape, 0, 0};
    tutti_dev_slice(n, bytes, members, me, &job.begin, &job.count);
    tutti_dev_meet_first(&meeting);
    tutti_dev_run(group, &job, type, op);
    return tutti_dev_meet_last(&meeting);
}

/* Each PE combines its block of all sources into its own result. In place it overwrites the first PE's block of its
 * source: so all others wait for that PE. */
TUTTI_DEV int tutti_dev_reducescatter(int group, tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                                      int op)
{
    struct tutti_dev_meeting meeting;
    const size_t bytes = tutti_dev_type_size(type);
    const int members = tutti_dev_team_n_pes(team);
    if (!tutti_dev_has(type, op)) {
        tutti_dev_fail();
        return TUTTI_DEV_ERR_ARGUMENT;
    }
    const int status = tutti_dev_begin(&meeting, group, team, dest, n * bytes, source,
                                       n * bytes * (size_t)(members > 0 ? members : 0));
    if (status != TUTTI_DEV_OK)
        return status;
    if (meeting.team.far)
        return tutti_dev_far_reducescatter(&meeting, (char *)dest, (const char *)source, n, type, op);
    const int me = meeting.team.me;
    if (tutti_dev_is_small(&meeting, n * bytes))
        return tutti_dev_reduce_small(&meeting, dest, source, (unsigned)(n * bytes), (unsigned)(n * bytes), type, op,
                                      members);
    const struct tutti_dev_places in = {1, (char *)(uintptr_t)source + (size_t)me * n * bytes, 0};
    const struct tutti_dev_places out = {0, (char *)dest, 0};
    const struct tutti_dev_job job = {meeting.team, in, out, members, 1, 0, TUTTI_DEV_ALL, 0, n};
    tutti_dev_meet_first(&meeting);
    if (dest == source) {
        if (me == 0)
            tutti_dev_run(group, &job, type, op);
        tutti_dev_meet(&meeting);
        if (me != 0)
            tutti_dev_run(group, &job, type, op);
    } else {
        tutti_dev_run(group, &job, type, op);
    }
    return tutti_dev_meet_last(&meeting);
}

#endif

/* Reductions and scans of teams with far members (far.h), in rounds of as much as has room in the members' slots:
 *
 *     a block each   all send every member its block, or all of theirs, and each combines what it has got for itself
 *     slices         all send every member a slice of theirs; it combines the slice, and sends to all what is theirs
 *
 * In order of PE, by the same functions: the same bits as near by. */
#ifndef TUTTI_DEVICE_FAR_REDUCE_H
#define TUTTI_DEVICE_FAR_REDUCE_H

struct tutti_dev_far_task {
    struct tutti_dev_meeting meeting;
    struct tutti_dev_job job; /* of a round, what this PE combines: elements from 0 on */
    char *dest, *slots;       /* slots: of the round */
    const char *source;
    size_t bytes; /* of an element */
    size_t n,
        each; /* elements of what a PE brings, and of the part of it that a member combines: of the last ones less */
    size_t step, at; /* from one member's part to the next's in `source`; how far all rounds have come. Elements */
    int slices, shape, used; /* shape: of slices. used: of blocks; the first so many members are combined, 0: zero */
};

/* What all send for the next round has come, and may be combined. 0: there is no more. */
TUTTI_DEV_APART int tutti_dev_far_gather(struct tutti_dev_far_task *task)
{
    struct tutti_dev_meeting *const meeting = &task->meeting;
    const int members = meeting->team.size, me = meeting->team.me;
    const size_t slot = tutti_dev_slot(meeting), bytes = task->bytes, room = slot / bytes;
    if (task->at >= task->each || meeting->failed)
        return 0;
    const size_t most = task->each - task->at < room ? task->each - task->at : room;
    const size_t mine = (task->slices ? (size_t)me * task->each : 0) + task->at,
                 left = mine < task->n ? task->n - mine : 0;
    task->slots = tutti_dev_far_slots(meeting);
    const struct tutti_dev_parcel parcel = {task->slots + (size_t)me * slot, task->source + task->at * bytes,
                                            task->step * bytes, most * bytes,
                                            task->slices ? (task->n - task->at) * bytes : TUTTI_DEV_NO_END};
    tutti_dev_far_step(meeting, &parcel);
    if (!task->slices && task->dest == task->source)
        tutti_dev_far_settle(meeting);
    const int prefixes = task->slices && task->shape != TUTTI_DEV_ALL;
    const struct tutti_dev_places in = {0, task->slots, slot}, result = {0, task->dest + mine * bytes, 0};
    const struct tutti_dev_job job = {meeting->team,
                                      in,
                                      prefixes ? in : result,
                                      task->slices ? members : task->used,
                                      prefixes ? members : 1,
                                      0,
                                      prefixes ? task->shape : TUTTI_DEV_ALL,
                                      0,
                                      left < most ? left : most};
    task->job = job;
    return !meeting->failed;
}

/* Slices go to all; this round is over. */
TUTTI_DEV_APART void tutti_dev_far_spread(struct tutti_dev_far_task *task)
{
    struct tutti_dev_meeting *const meeting = &task->meeting;
    const size_t slot = tutti_dev_slot(meeting), bytes = task->bytes;
    if (task->slices) {
        char *const to = task->dest + ((size_t)meeting->team.me * task->each + task->at) * bytes;
        const int all = task->shape == TUTTI_DEV_ALL;
        const struct tutti_dev_parcel parcel = {to, all ? to : task->slots, all ? 0 : slot, task->job.count * bytes,
                                                TUTTI_DEV_NO_END};
        tutti_dev_sync(meeting->group, 0); /* all threads have combined */
        tutti_dev_far_step(meeting, &parcel);
    }
    task->at += slot / bytes;
}

/* job->ins 0: zero. */
#define TUTTI_DEV_FAR_REDUCE(ID, number)                                                                               \
    TUTTI_DEV_APART int tutti_dev_far_reduce_##ID(struct tutti_dev_far_task task, int op)                              \
    {                                                                                                                  \
        const size_t rank = tutti_dev_rank(task.meeting.group), size = tutti_dev_size(task.meeting.group);             \
        const tutti_dev_e_##ID zero = TUTTI_DEV_ZERO;                                                                  \
        while (tutti_dev_far_gather(&task)) {                                                                          \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (size_t i = rank; i < task.job.count; i += size) {                                                     \
                if (task.job.ins == 0)                                                                                 \
                    ((tutti_dev_e_##ID *)(void *)task.job.out.address)[i] = zero;                                      \
                else if (task.job.shape == TUTTI_DEV_ALL)                                                              \
                    tutti_dev_all_##ID(&task.job, op, i);                                                              \
                else                                                                                                   \
                    tutti_dev_prefix_##ID(&task.job, op, i);                                                           \
            }                                                                                                          \
            tutti_dev_far_spread(&task);                                                                               \
        }                                                                                                              \
        return tutti_dev_far_end(&task.meeting);                                                                       \
    }
TUTTI_DEV_TYPES(TUTTI_DEV_FAR_REDUCE)
#undef TUTTI_DEV_FAR_REDUCE

/* type: a constant, so that one of these remains. */
TUTTI_DEV int tutti_dev_far_run(const struct tutti_dev_far_task *task, int type, int op)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        return tutti_dev_far_reduce_##ID(*task, op);
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        return TUTTI_DEV_ERR_ARGUMENT;
    }
}

/* As tutti_dev_reduce(), begun. */
TUTTI_DEV int tutti_dev_far_reduce(const struct tutti_dev_meeting *meeting, char *dest, const char *source, size_t n,
                                   int type, int op, int shape)
{
    struct tutti_dev_far_task task = TUTTI_DEV_ZERO;
    const int members = meeting->team.size, me = meeting->team.me;
    const size_t bytes = tutti_dev_type_size(type);
    task.meeting = *meeting;
    task.dest = dest;
    task.source = source;
    task.bytes = bytes;
    task.n = task.each = n;
    task.shape = shape;
    task.slices = members > 2 && !tutti_dev_far_is_small(meeting, n * bytes);
    if (task.slices)
        task.step = task.each = (n + (size_t)members - 1) / (size_t)members;
    task.used = shape == TUTTI_DEV_ALL ? members : shape == TUTTI_DEV_THROUGH ? me + 1 : me;
    return tutti_dev_far_run(&task, type, op);
}

/* As tutti_dev_reducescatter(), begun. */
TUTTI_DEV int tutti_dev_far_reducescatter(const struct tutti_dev_meeting *meeting, char *dest, const char *source,
                                          size_t n, int type, int op)
{
    struct tutti_dev_far_task task = TUTTI_DEV_ZERO;
    task.meeting = *meeting;
    task.dest = dest;
    task.source = source;
    task.bytes = tutti_dev_type_size(type);
    task.n = task.each = task.step = n;
    task.used = meeting->team.size;
    return tutti_dev_far_run(&task, type, op);
}

#endif

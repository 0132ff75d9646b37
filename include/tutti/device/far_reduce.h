/* Reductions and scans of teams with far members (far.h), in rounds of as much as has room in the members' slots:
 *
 *     blocks    all send every member its block, or all of theirs, and each combines what it has got for itself
 *     slices    all send every member a slice of theirs; it combines the slice, and sends to all what is theirs
 *
 * In order of PE, by the same operators: the same bits as near by, on all members. */
#ifndef TUTTI_DEVICE_FAR_REDUCE_H
#define TUTTI_DEVICE_FAR_REDUCE_H

struct tutti_dev_far_task {
    struct tutti_dev_meeting meeting;
    char *dest, *slots; /* slots: of the round */
    const char *source;
    size_t bytes;   /* of an element */
    size_t n, each; /* elements of what a PE brings, and of the part of it that a member combines: the last ones less */
    size_t step, at;   /* from one member's part to the next's in `source`; the end of all finished rounds. Elements */
    int slices, shape; /* shape: of slices */
    int used;          /* of blocks: the first so many members are combined, 0: zero */
    size_t count;      /* of the round, what this PE combines */
    char *result;      /* of the round; of prefixes NULL: the slots take them */
    struct tutti_dev_far_put put; /* of the step */
};

TUTTI_DEV int tutti_dev_reduce_kind(int shape)
{
    return shape == TUTTI_DEV_ALL      ? TSHMEM_KERNEL_REDUCE
           : shape == TUTTI_DEV_BLOCKS ? TSHMEM_KERNEL_REDUCESCATTER
                                       : TSHMEM_KERNEL_SCAN;
}

TUTTI_DEV_APART int tutti_dev_far_plan(struct tutti_dev_far_task *task, int group, tshmem_team_t team, void *dest,
                                       const void *source, size_t n, size_t bytes, int shape)
{
    struct tutti_dev_meeting *const meeting = &task->meeting;
    const size_t blocks = shape == TUTTI_DEV_BLOCKS ? tutti_dev_far_size(team) : 1;
    const int status = tutti_dev_far_begin(meeting, tutti_dev_reduce_kind(shape), group, team, dest, n * bytes, source,
                                           n * bytes * blocks);
    if (status != TUTTI_DEV_OK)
        return status;
    const int members = meeting->team.size, me = meeting->team.me;
    task->dest = (char *)dest;
    task->source = (const char *)source;
    task->bytes = bytes;
    task->n = task->each = n;
    task->step = shape == TUTTI_DEV_BLOCKS ? n : 0;
    task->at = 0;
    task->put.to_step = 0;
    task->put.only = 0;
    task->shape = shape;
    task->slices = shape != TUTTI_DEV_BLOCKS && members > 2 && !tutti_dev_far_is_small(meeting, n * bytes);
    if (task->slices)
        task->step = task->each = (n + (size_t)members - 1) / (size_t)members;
    task->used = shape == TUTTI_DEV_THROUGH ? me + 1 : shape == TUTTI_DEV_BEFORE ? me : members;
    return TUTTI_DEV_OK;
}

/* Waits until the data of all members for the next round have arrived. 0: no more rounds. */
TUTTI_DEV_APART int tutti_dev_far_gather(struct tutti_dev_far_task *task)
{
    struct tutti_dev_meeting *const meeting = &task->meeting;
    const size_t slot = tutti_dev_slot(meeting), bytes = task->bytes, room = slot / bytes;
    if (task->at >= task->each || meeting->failed)
        return 0;
    const size_t most = task->each - task->at < room ? task->each - task->at : room;
    const size_t mine = task->at + (task->slices ? (size_t)meeting->team.me * task->each : 0);
    const size_t left = mine < task->n ? task->n - mine : 0;
    task->slots = tutti_dev_far_slots(meeting);
    task->count = left < most ? left : most;
    task->result = task->slices && task->shape != TUTTI_DEV_ALL ? NULL : task->dest + mine * bytes;
    task->put.to = task->slots + (size_t)meeting->team.me * slot;
    task->put.from = task->source + task->at * bytes;
    task->put.step = task->step * bytes;
    task->put.bytes = most * bytes;
    task->put.left = task->slices ? (task->n - task->at) * bytes : TUTTI_DEV_NO_END;
    tutti_dev_far_step(meeting, &task->put);
    if (!task->slices && task->dest == task->source)
        tutti_dev_far_settle(meeting); /* the result lies where it is sent from */
    return !meeting->failed;
}

/* Slices go to all, prefixes each to its member; this round is over. */
TUTTI_DEV_APART void tutti_dev_far_spread(struct tutti_dev_far_task *task)
{
    struct tutti_dev_meeting *const meeting = &task->meeting;
    const size_t slot = tutti_dev_slot(meeting), bytes = task->bytes;
    char *const to = task->dest + ((size_t)meeting->team.me * task->each + task->at) * bytes;
    task->at += slot / bytes;
    if (!task->slices)
        return;
    task->put.to = to;
    task->put.from = task->result ? to : task->slots;
    task->put.step = task->result ? 0 : slot;
    task->put.bytes = task->count * bytes;
    task->put.left = TUTTI_DEV_NO_END;
    tutti_dev_near_sync(meeting->group, 0); /* all threads have combined */
    tutti_dev_far_step(meeting, &task->put);
}

/* One contribution alone is handed on as it is. */
#define TUTTI_DEV_FAR_REDUCE(ID, number)                                                                               \
    TUTTI_DEV void tutti_dev_far_combine_##ID(const struct tutti_dev_far_task *task, int op, size_t i, size_t slot)    \
    {                                                                                                                  \
        char *from = task->slots + i * sizeof(tutti_dev_e_##ID);                                                       \
        const int prefixes = !task->result, before = task->shape == TUTTI_DEV_BEFORE;                                  \
        const int ins = task->slices ? task->meeting.team.size : task->used;                                           \
        const tutti_dev_e_##ID zero = TUTTI_DEV_ZERO;                                                                  \
        tutti_dev_e_##ID so_far = *(tutti_dev_e_##ID *)(void *)from;                                                   \
        tutti_dev_a_##ID sum = tutti_dev_load_##ID(so_far);                                                            \
        if (prefixes && before)                                                                                        \
            *(tutti_dev_e_##ID *)(void *)from = zero;                                                                  \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (int r = 1; r < ins; r++) {                                                                                \
            from += slot;                                                                                              \
            sum = tutti_dev_combine_##ID(op, sum, tutti_dev_load_##ID(*(tutti_dev_e_##ID *)(void *)from));             \
            const tutti_dev_e_##ID through = tutti_dev_store_##ID(sum, 1);                                             \
            if (prefixes)                                                                                              \
                *(tutti_dev_e_##ID *)(void *)from = before ? so_far : through;                                         \
            so_far = through;                                                                                          \
        }                                                                                                              \
        if (!prefixes)                                                                                                 \
            ((tutti_dev_e_##ID *)(void *)task->result)[i] = ins == 0 ? zero : so_far;                                  \
    }                                                                                                                  \
    TUTTI_DEV_APART void tutti_dev_far_fold_##ID(const struct tutti_dev_far_task *task, int op)                        \
    {                                                                                                                  \
        const size_t size = tutti_dev_size(task->meeting.group), slot = tutti_dev_slot(&task->meeting);                \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (size_t i = tutti_dev_rank(task->meeting.group); i < task->count; i += size)                               \
            tutti_dev_far_combine_##ID(task, op, i, slot);                                                             \
    }                                                                                                                  \
    TUTTI_DEV_APART int tutti_dev_far_reduce_##ID(int group, tshmem_team_t team, void *dest, const void *source,       \
                                                  size_t n, int op, int shape)                                         \
    {                                                                                                                  \
        struct tutti_dev_far_task task;                                                                                \
        const int status = tutti_dev_far_plan(&task, group, team, dest, source, n, sizeof(tutti_dev_e_##ID), shape);   \
        if (status != TUTTI_DEV_OK)                                                                                    \
            return status;                                                                                             \
        while (tutti_dev_far_gather(&task)) {                                                                          \
            tutti_dev_far_fold_##ID(&task, op);                                                                        \
            tutti_dev_far_spread(&task);                                                                               \
        }                                                                                                              \
        return tutti_dev_far_end(&task.meeting);                                                                       \
    }
TUTTI_DEV_TYPES(TUTTI_DEV_FAR_REDUCE)
#undef TUTTI_DEV_FAR_REDUCE

/* type: a constant, so that one of these remains. */
TUTTI_DEV int tutti_dev_far_reduce(int group, tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                                   int op, int shape)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        return tutti_dev_far_reduce_##ID(group, team, dest, source, n, op, shape);
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        return TUTTI_DEV_ERR_ARGUMENT;
    }
}

#endif

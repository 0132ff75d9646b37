/* Reductions of a grid in teams with far members (far.h), by the same strategies and with the same bits as near by.
 * Each PE puts its vector into its own slot of the work, which is memory that the host finds; from there data go on
 * with the words of steps, or are fetched by READ.
 *
 * Two steps that follow each other have two places, so that the wire may do one step's after the next one's: those of
 * slots, and those of results, which lie at the other end of a half; a tree has a slot for each of its levels. */
#ifndef TUTTI_DEVICE_FAR_GRID_H
#define TUTTI_DEVICE_FAR_GRID_H

struct tutti_dev_far_grid {
    struct tutti_dev_meeting meeting;
    int strategy, spread, root;    /* spread: the group that copies this thread's part; root -1: all PEs */
    size_t n, bytes;               /* elements of the vector, bytes of one */
    size_t part_at, part;          /* of this group's part: bytes before it, its own */
    size_t pitch, slice_at, slice; /* slice: of this PE, by ALLTOALL; elements */
    char *half, *result;           /* own; symmetric */
    int reach;                     /* of a tree: PEs that a PE stands for; of others 0, then 1: all is gathered */
    char *in, *out;                /* to be combined: `ins` vectors, `in_step` bytes from one to the next */
    size_t in_step, count;         /* elements of it; 0: nothing on this PE */
    int ins;
};

TUTTI_DEV char *tutti_dev_far_grid_slot(const struct tutti_dev_far_grid *grid, int member)
{
    return grid->half + (size_t)member * grid->pitch;
}

/* AUTO: past the first, a step costs about what SMALL bytes do. ALLTOALL has one more, and sends less with more than
 * two members: two vectors' worth, not one to each. */
TUTTI_DEV int tutti_dev_far_grid_strategy(int strategy, int members, int root, size_t bytes)
{
    if (strategy != TUTTI_GRID_AUTO)
        return strategy;
    if (members > 2 && bytes > TUTTI_DEV_GRID_SMALL / (size_t)(members - 2))
        return TUTTI_GRID_ALLTOALL;
    return root < 0 ? TUTTI_GRID_ALLGATHER : TUTTI_GRID_GATHER;
}

/* Begins, and puts the own vector into the own slot. What the other half and the results hold may still be read. */
TUTTI_DEV_APART int tutti_dev_far_grid_begin(struct tutti_dev_far_grid *grid, tshmem_team_t team, int where,
                                             const void *source, size_t nelems, size_t bytes, void *work,
                                             size_t work_bytes)
{
    struct tutti_dev_meeting *const meeting = &grid->meeting;
    const int status = tutti_dev_far_begin(meeting, TSHMEM_KERNEL_GRID, TUTTI_BY_GRID, team, work, work_bytes, work, 0);
    if (status != TUTTI_DEV_OK)
        return status;
    const size_t number = tutti_dev_grid_part(where);
    grid->strategy = tutti_dev_far_grid_strategy(grid->strategy, meeting->team.size, grid->root,
                                                 nelems * tutti_dev_grid_parts(where) * bytes);
    grid->spread = tutti_dev_grid_spread(where);
    grid->n = nelems * tutti_dev_grid_parts(where);
    grid->bytes = bytes;
    grid->part_at = nelems * number * bytes;
    grid->part = nelems * bytes;
    grid->pitch = tutti_dev_grid_pitch(grid->n * bytes);
    grid->half = tutti_dev_grid_half(work, work_bytes, meeting->sequence);
    grid->result = tutti_dev_grid_end_of_half(grid->half, work_bytes) - grid->pitch;
    grid->reach = grid->strategy == TUTTI_GRID_TREE;
    tutti_dev_slice(grid->n, bytes, meeting->team.size, meeting->team.me, &grid->slice_at, &grid->slice);
    tutti_dev_far_copy(grid->spread, tutti_dev_far_grid_slot(grid, meeting->team.me) + grid->part_at, source,
                       grid->part);
    return TUTTI_DEV_OK;
}

/* READ: the others' vectors into the own slots; from near members by all threads, from far ones by one each. */
TUTTI_DEV_APART void tutti_dev_far_grid_fetch(const struct tutti_dev_far_grid *grid, int from)
{
    const struct tutti_dev_meeting *const meeting = &grid->meeting;
    char *const slot = tutti_dev_far_grid_slot(grid, from);
    if (tutti_dev_is_near(meeting, from))
        tutti_dev_copy(TUTTI_BY_GRID, slot, tutti_dev_of(meeting, slot, from), grid->n * grid->bytes);
    else if ((size_t)from % tutti_dev_size(TUTTI_BY_GRID) == tutti_dev_rank(TUTTI_BY_GRID))
        tutti_dev_ring_get(slot, slot, grid->n * grid->bytes, tutti_dev_pe(&meeting->team, from), 1);
}

TUTTI_DEV_APART void tutti_dev_far_grid_read(struct tutti_dev_far_grid *grid)
{
    const int members = grid->meeting.team.size, me = grid->meeting.team.me;
    tutti_dev_far_meet(&grid->meeting);
    if (grid->root >= 0 && grid->root != me) {
        grid->count = 0;
        return;
    }
    TUTTI_DEV_UNROLL_1
    for (int i = 1; i < members; i++)
        tutti_dev_far_grid_fetch(grid, (me + i) % members);
    tutti_dev_far_sync(TUTTI_BY_GRID, 0);
}

/* A level of the tree: as in grid.h. 0: this was the last one. */
TUTTI_DEV_APART int tutti_dev_far_grid_climb(struct tutti_dev_far_grid *grid)
{
    struct tutti_dev_meeting *const meeting = &grid->meeting;
    const int me = meeting->team.me, d = grid->reach;
    char *const own = tutti_dev_far_grid_slot(grid, me);
    const int gives = me % (2 * d) == d, takes = me % (2 * d) == 0 && me + d < meeting->team.size;
    const struct tutti_dev_far_put put = {own, own,       0, gives ? grid->n * grid->bytes : 0, TUTTI_DEV_NO_END,
                                          0,   me - d + 1};
    if (d >= meeting->team.size)
        return 0;
    tutti_dev_far_step(meeting, &put);
    grid->in = grid->out = own;
    grid->in_step = (size_t)d * grid->pitch;
    grid->ins = 2;
    grid->count = takes ? grid->n : 0;
    grid->reach = 2 * d;
    return 1;
}

/* Waits for the data of the next round. 0: all is combined. */
TUTTI_DEV_APART int tutti_dev_far_grid_gather(struct tutti_dev_far_grid *grid)
{
    struct tutti_dev_meeting *const meeting = &grid->meeting;
    const int me = meeting->team.me, root = grid->root < 0 ? 0 : grid->root;
    char *const own = tutti_dev_far_grid_slot(grid, me);
    struct tutti_dev_far_put put = {own, own, 0, grid->n * grid->bytes, TUTTI_DEV_NO_END, 0, 0};
    tutti_dev_far_sync(TUTTI_BY_GRID, 0); /* what all threads have stored and combined */
    if (grid->strategy == TUTTI_GRID_TREE)
        return tutti_dev_far_grid_climb(grid);
    if (grid->reach != 0)
        return 0;
    grid->reach = 1;
    grid->in = grid->half;
    grid->out = grid->result;
    grid->in_step = grid->pitch;
    grid->ins = meeting->team.size;
    grid->count = grid->n;
    if (grid->strategy == TUTTI_GRID_READ) {
        tutti_dev_far_grid_read(grid);
        return 1;
    }
    if (grid->strategy == TUTTI_GRID_GATHER) {
        put.only = root + 1;
        grid->count = me == root ? grid->n : 0;
    } else if (grid->strategy == TUTTI_GRID_ALLTOALL) { /* to each its slice, which is all of a slot that it combines */
        size_t none;
        tutti_dev_slice(grid->n, grid->bytes, meeting->team.size, 0, &none, &put.bytes);
        put.bytes *= grid->bytes;
        put.step = put.to_step = put.bytes;
        put.left = grid->n * grid->bytes;
        grid->in += grid->slice_at * grid->bytes;
        grid->out += grid->slice_at * grid->bytes;
        grid->count = grid->slice;
    } else {
        grid->count = grid->root < 0 || grid->root == me ? grid->n : 0;
    }
    tutti_dev_far_step(meeting, &put);
    return 1;
}

/* Down the tree, from the result's place: members that are already in the next call may store into the slots while the
 * result is still being read. */
TUTTI_DEV_APART void tutti_dev_far_grid_descend(struct tutti_dev_far_grid *grid)
{
    struct tutti_dev_meeting *const meeting = &grid->meeting;
    const int members = meeting->team.size, me = meeting->team.me;
    const size_t all = grid->n * grid->bytes;
    struct tutti_dev_far_put put = {grid->result,  grid->result, 0, me == 0 ? all : 0, TUTTI_DEV_NO_END, 0,
                                    grid->root + 1};
    if (me == 0)
        tutti_dev_far_copy(TUTTI_BY_GRID, grid->result, tutti_dev_far_grid_slot(grid, 0), all);
    tutti_dev_far_sync(TUTTI_BY_GRID, 0);
    if (grid->root >= 0)
        tutti_dev_far_step(meeting, &put);
    TUTTI_DEV_UNROLL_1
    for (int d = grid->reach / 2; grid->root < 0 && d > 0; d /= 2) {
        put.bytes = me % (2 * d) == 0 && me + d < members ? all : 0;
        put.only = me + d + 1;
        tutti_dev_far_step(meeting, &put);
    }
}

/* All threads have combined their parts: sends the result to the members that still need it. */
TUTTI_DEV_APART void tutti_dev_far_grid_spread(struct tutti_dev_far_grid *grid)
{
    struct tutti_dev_meeting *const meeting = &grid->meeting;
    const int me = meeting->team.me;
    struct tutti_dev_far_put put = {grid->result, grid->result, 0, 0, TUTTI_DEV_NO_END, 0, grid->root + 1};
    if (grid->strategy == TUTTI_GRID_TREE) {
        tutti_dev_far_grid_descend(grid);
    } else if (grid->strategy == TUTTI_GRID_ALLTOALL) {
        put.to += grid->slice_at * grid->bytes;
        put.from = put.to;
        put.bytes = grid->slice * grid->bytes;
        tutti_dev_far_step(meeting, &put);
    } else if (grid->strategy == TUTTI_GRID_GATHER && grid->root < 0) {
        put.bytes = me == 0 ? grid->n * grid->bytes : 0;
        tutti_dev_far_step(meeting, &put);
    }
}

/* The result to where it is wanted; past this, what this PE has sent has been read. */
TUTTI_DEV_APART int tutti_dev_far_grid_end(struct tutti_dev_far_grid *grid, void *dest)
{
    tutti_dev_far_grid_spread(grid);
    if (grid->root < 0 || grid->root == grid->meeting.team.me)
        tutti_dev_far_copy(grid->spread, dest, grid->result + grid->part_at, grid->part);
    return tutti_dev_far_end(&grid->meeting);
}

/* In order of what lies in `in`. One contribution alone is handed on as it is. */
#define TUTTI_DEV_FAR_GRID(ID, number)                                                                                 \
    TUTTI_DEV_APART void tutti_dev_far_grid_fold_##ID(const struct tutti_dev_far_grid *grid, int op)                   \
    {                                                                                                                  \
        const size_t size = tutti_dev_size(TUTTI_BY_GRID);                                                             \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (size_t i = tutti_dev_rank(TUTTI_BY_GRID); i < grid->count; i += size) {                                   \
            const char *from = grid->in + i * sizeof(tutti_dev_e_##ID);                                                \
            tutti_dev_e_##ID result = *(const tutti_dev_e_##ID *)(const void *)from;                                   \
            tutti_dev_a_##ID sum = tutti_dev_load_##ID(result);                                                        \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (int r = 1; r < grid->ins; r++) {                                                                      \
                from += grid->in_step;                                                                                 \
                sum = tutti_dev_combine_##ID(op, sum,                                                                  \
                                             tutti_dev_load_##ID(*(const tutti_dev_e_##ID *)(const void *)from));      \
            }                                                                                                          \
            if (grid->ins > 1)                                                                                         \
                result = tutti_dev_store_##ID(sum, 1);                                                                 \
            ((tutti_dev_e_##ID *)(void *)grid->out)[i] = result;                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    TUTTI_DEV_APART int tutti_dev_far_grid_##ID(tshmem_team_t team, int where, void *dest, const void *source,         \
                                                size_t nelems, int op, int root, int strategy, void *work,             \
                                                size_t work_bytes)                                                     \
    {                                                                                                                  \
        struct tutti_dev_far_grid grid;                                                                                \
        grid.strategy = strategy;                                                                                      \
        grid.root = root;                                                                                              \
        const int status =                                                                                             \
            tutti_dev_far_grid_begin(&grid, team, where, source, nelems, sizeof(tutti_dev_e_##ID), work, work_bytes);  \
        if (status != TUTTI_DEV_OK)                                                                                    \
            return status;                                                                                             \
        while (tutti_dev_far_grid_gather(&grid))                                                                       \
            tutti_dev_far_grid_fold_##ID(&grid, op);                                                                   \
        return tutti_dev_far_grid_end(&grid, dest);                                                                    \
    }
TUTTI_DEV_TYPES(TUTTI_DEV_FAR_GRID)
#undef TUTTI_DEV_FAR_GRID

/* type: a constant, so that one of these remains. */
TUTTI_DEV int tutti_dev_far_grid_reduce(tshmem_team_t team, int where, void *dest, const void *source, size_t nelems,
                                        int type, int op, int root, int strategy, const struct tutti_grid_work *work)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        return tutti_dev_far_grid_##ID(team, where, dest, source, nelems, op, root, strategy, work->memory,            \
                                       work->bytes);
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        return TUTTI_DEV_ERR_ARGUMENT;
    }
}

#endif

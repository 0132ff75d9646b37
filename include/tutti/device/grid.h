/* Reductions and barriers that all threads of all blocks of a grid make together, in the manner of Oden and others,
 * "Energy-efficient collective reduce and allreduce operations on distributed GPUs" (GGAS), over loads and stores of
 * peers' memory; in teams with members of other nodes by the ring (far_grid.h), with the same bits. The grid is
 * launched cooperatively, or is small enough that all of its blocks run at once. */
#ifndef TUTTI_DEVICE_GRID_H
#define TUTTI_DEVICE_GRID_H

/* Where operands lie, and which vector they make:
 * GLOBAL     `nelems` elements in memory of this GPU, the same address on all threads; the vector is these
 * SHARED     `nelems` elements in each block's shared memory; the vector is the blocks' one behind the other
 * REGISTERS  `nelems` elements of each thread; the vector is the threads' one behind the other
 * All PEs bring vectors of one length. */
enum { TUTTI_GRID_GLOBAL, TUTTI_GRID_SHARED, TUTTI_GRID_REGISTERS };

/* How:
 * READ       each PE that needs the result reads all contributions where they are, of far members by gets
 * GATHER     all are stored to one PE, which combines them, and stores the result to all
 * ALLGATHER  all are stored to all PEs, each combines them
 * ALLTOALL   each PE gets a slice of all, combines it, and stores it to the PEs that need the result
 * TREE       PEs combine by twos, fours ...: fewest bytes into one PE. Elements are not combined in order of PE one by
 *            one: floating-point sums differ in their last bits from those of the others, alike on all PEs and always
 * AUTO       by bytes, and in teams with far members by their number: a tree never */
enum {
    TUTTI_GRID_AUTO,
    TUTTI_GRID_READ,
    TUTTI_GRID_GATHER,
    TUTTI_GRID_ALLGATHER,
    TUTTI_GRID_ALLTOALL,
    TUTTI_GRID_TREE,
    TUTTI_GRID_STRATEGIES
};

/* Symmetric memory that a reduction works in, aligned to 16 bytes. Successive calls use the same memory with the same
 * size; their vectors may differ. Nothing else may store there between two calls. */
struct tutti_grid_work {
    void *memory;
    size_t bytes;
};

enum { TUTTI_DEV_GRID_SMALL = 32 * 1024 }; /* bytes of a vector up to which AUTO has every PE combine all of it */

TUTTI_DEV_BOTH size_t tutti_dev_grid_pitch(size_t vector_bytes)
{
    return (vector_bytes + 15) / 16 * 16;
}

/* Local; host code may call it too. Bytes of work that a vector of `vector_bytes` bytes takes in a team of `members`
 * PEs: calls take turns between two halves, each of a place for every member at its beginning and one for the result at
 * its end. So what slow PEs still read is not stored over, also where the next vector has another length. */
TUTTI_DEV_BOTH size_t tutti_grid_work_bytes(int members, size_t vector_bytes)
{
    return 2 * ((size_t)members + 1) * tutti_dev_grid_pitch(vector_bytes);
}

/* The half of a call that begins past that step, and where it ends. */
TUTTI_DEV char *tutti_dev_grid_half(void *work, size_t work_bytes, uint64_t sequence)
{
    return (char *)work + (sequence % 2) * (work_bytes / 32 * 16);
}

TUTTI_DEV char *tutti_dev_grid_end_of_half(char *half, size_t work_bytes)
{
    return half + work_bytes / 32 * 16;
}

/* Of how many operands the vector is made, the number of this thread's, and the group that copies it. */
TUTTI_DEV size_t tutti_dev_grid_parts(int where)
{
    return where == TUTTI_GRID_GLOBAL   ? 1
           : where == TUTTI_GRID_SHARED ? tutti_dev_blocks()
                                        : tutti_dev_size(TUTTI_BY_GRID);
}

TUTTI_DEV size_t tutti_dev_grid_part(int where)
{
    return where == TUTTI_GRID_GLOBAL   ? 0
           : where == TUTTI_GRID_SHARED ? tutti_dev_block()
                                        : tutti_dev_rank(TUTTI_BY_GRID);
}

TUTTI_DEV int tutti_dev_grid_spread(int where)
{
    return where == TUTTI_GRID_GLOBAL ? TUTTI_BY_GRID : where == TUTTI_GRID_SHARED ? TUTTI_BY_BLOCK : TUTTI_BY_THREAD;
}

/* What a call of the grid works on. */
struct tutti_dev_grid {
    struct tutti_dev_meeting meeting;
    int spread, root;    /* spread: the group that copies this thread's part of the vector; root -1: all PEs */
    size_t n, bytes;     /* elements of the vector, bytes of one */
    size_t first, count; /* this group's part of it */
    char *half, *result; /* own; symmetric */
    size_t pitch;
};

TUTTI_DEV char *tutti_dev_grid_slot(const struct tutti_dev_grid *grid, int member)
{
    return grid->half + (size_t)member * grid->pitch;
}

TUTTI_DEV int tutti_dev_grid_wanted(const struct tutti_dev_grid *grid)
{
    return grid->root < 0 || grid->root == grid->meeting.team.me;
}

/* Elements [begin, begin + count) of the own vector, as far as they are this group's part, into the own slot at
 * `member`. */
TUTTI_DEV void tutti_dev_grid_post(const struct tutti_dev_grid *grid, const void *source, int member, size_t begin,
                                   size_t count)
{
    const size_t from = begin > grid->first ? begin : grid->first;
    const size_t end = begin + count < grid->first + grid->count ? begin + count : grid->first + grid->count;
    char *const slot = tutti_dev_of(&grid->meeting, tutti_dev_grid_slot(grid, grid->meeting.team.me), member);
    if (from < end)
        tutti_dev_copy(grid->spread, slot + from * grid->bytes,
                       (const char *)source + (from - grid->first) * grid->bytes, (end - from) * grid->bytes);
}

/* Combines elements [begin, begin + count) of all slots, of this PE or (where read) each at its own PE, and stores them
 * to the result of this PE, of all, or of `to`. */
enum { TUTTI_DEV_TO_ALL = -1 };
TUTTI_DEV void tutti_dev_grid_combine(const struct tutti_dev_grid *grid, int type, int op, int read, int to,
                                      size_t begin, size_t count)
{
    const int members = grid->meeting.team.size, to_all = to == TUTTI_DEV_TO_ALL;
    const struct tutti_dev_places in = {read, grid->half, grid->pitch};
    char *const result = grid->result;
    const struct tutti_dev_places out = {to_all, to_all ? result : tutti_dev_of(&grid->meeting, result, to), 0};
    const struct tutti_dev_job job = {
        grid->meeting.team, in,    out,  members, to_all ? members : 1, to_all ? grid->meeting.team.me : 0,
        TUTTI_DEV_ALL,      begin, count};
    tutti_dev_run(TUTTI_BY_GRID, &job, type, op, 0);
}

TUTTI_DEV void tutti_dev_grid_by_read(struct tutti_dev_grid *grid, int type, int op, const void *source)
{
    const int me = grid->meeting.team.me;
    tutti_dev_grid_post(grid, source, me, 0, grid->n);
    tutti_dev_meet(&grid->meeting);
    if (tutti_dev_grid_wanted(grid))
        tutti_dev_grid_combine(grid, type, op, 1, me, 0, grid->n);
    tutti_dev_sync(TUTTI_BY_GRID, 0);
}

TUTTI_DEV void tutti_dev_grid_by_gather(struct tutti_dev_grid *grid, int type, int op, const void *source)
{
    const int me = grid->meeting.team.me, root = grid->root < 0 ? 0 : grid->root;
    tutti_dev_grid_post(grid, source, root, 0, grid->n);
    tutti_dev_meet(&grid->meeting);
    if (me == root)
        tutti_dev_grid_combine(grid, type, op, 0, grid->root < 0 ? TUTTI_DEV_TO_ALL : me, 0, grid->n);
    if (grid->root < 0)
        tutti_dev_meet(&grid->meeting);
    else
        tutti_dev_sync(TUTTI_BY_GRID, 0);
}

TUTTI_DEV void tutti_dev_grid_by_allgather(struct tutti_dev_grid *grid, int type, int op, const void *source)
{
    const int members = grid->meeting.team.size, me = grid->meeting.team.me;
    for (int i = 0; i < members; i++)
        tutti_dev_grid_post(grid, source, (me + i) % members, 0, grid->n);
    tutti_dev_meet(&grid->meeting);
    if (tutti_dev_grid_wanted(grid))
        tutti_dev_grid_combine(grid, type, op, 0, me, 0, grid->n);
    tutti_dev_sync(TUTTI_BY_GRID, 0);
}

TUTTI_DEV void tutti_dev_grid_by_alltoall(struct tutti_dev_grid *grid, int type, int op, const void *source)
{
    const int members = grid->meeting.team.size, me = grid->meeting.team.me;
    size_t begin, count;
    for (int i = 0; i < members; i++) {
        tutti_dev_slice(grid->n, grid->bytes, members, (me + i) % members, &begin, &count);
        tutti_dev_grid_post(grid, source, (me + i) % members, begin, count);
    }
    tutti_dev_meet(&grid->meeting);
    tutti_dev_slice(grid->n, grid->bytes, members, me, &begin, &count);
    tutti_dev_grid_combine(grid, type, op, 0, grid->root < 0 ? TUTTI_DEV_TO_ALL : grid->root, begin, count);
    tutti_dev_meet(&grid->meeting);
}

/* A binomial tree: in turn d = 1, 2, 4 ... PE v, of which 2d is a divisor, takes over what v + d holds, that of the PEs
 * v + d to v + 2d - 1. The result goes down the same tree. */
TUTTI_DEV void tutti_dev_grid_by_tree(struct tutti_dev_grid *grid, int type, int op, const void *source)
{
    const struct tutti_dev_meeting *const meeting = &grid->meeting;
    const int members = meeting->team.size, me = meeting->team.me;
    const size_t all = grid->n * grid->bytes;
    char *const own = tutti_dev_grid_slot(grid, me), *const result = grid->result;
    int d = 1;
    tutti_dev_grid_post(grid, source, me, 0, grid->n);
    tutti_dev_sync(TUTTI_BY_GRID, 0);
    for (; d < members; d *= 2) {
        if (me % (2 * d) == d)
            tutti_dev_copy(TUTTI_BY_GRID, tutti_dev_of(meeting, own, me - d), own, all);
        tutti_dev_meet(&grid->meeting);
        if (me % (2 * d) == 0 && me + d < members) {
            const struct tutti_dev_places in = {0, own, (size_t)d * grid->pitch}, out = {0, own, 0};
            const struct tutti_dev_job job = {meeting->team, in, out, 2, 1, 0, TUTTI_DEV_ALL, 0, grid->n};
            tutti_dev_run(TUTTI_BY_GRID, &job, type, op, 0);
        }
        tutti_dev_sync(TUTTI_BY_GRID, 0);
    }
    if (me == 0)
        tutti_dev_copy(TUTTI_BY_GRID, tutti_dev_of(meeting, result, grid->root > 0 ? grid->root : 0), own, all);
    if (grid->root >= 0) {
        tutti_dev_meet(&grid->meeting);
        return;
    }
    for (d /= 2; d > 0; d /= 2) {
        tutti_dev_sync(TUTTI_BY_GRID, 0);
        if (me % (2 * d) == 0 && me + d < members)
            tutti_dev_copy(TUTTI_BY_GRID, tutti_dev_of(meeting, result, me + d), result, all);
        tutti_dev_meet(&grid->meeting);
    }
    tutti_dev_sync(TUTTI_BY_GRID, 0);
}

TUTTI_DEV int tutti_dev_grid_strategy(const struct tutti_dev_grid *grid, int strategy)
{
    if (strategy != TUTTI_GRID_AUTO)
        return strategy;
    if (grid->n * grid->bytes > TUTTI_DEV_GRID_SMALL)
        return TUTTI_GRID_ALLTOALL;
    return grid->root < 0 ? TUTTI_GRID_ALLGATHER : TUTTI_GRID_GATHER;
}

TUTTI_DEV int tutti_dev_grid_refuse(int reason, int pe, tshmem_team_t team, uint64_t address, uint64_t bytes)
{
    tutti_dev_refuse(TSHMEM_KERNEL_GRID, reason, pe, team, address, bytes);
    return TUTTI_DEV_ERR_ARGUMENT;
}

TUTTI_DEV int tutti_dev_far_grid_reduce(tshmem_team_t team, int where, void *dest, const void *source, size_t nelems,
                                        int type, int op, int root, int strategy, const struct tutti_grid_work *work);

TUTTI_DEV int tutti_dev_grid_reduce(tshmem_team_t team, int where, void *dest, const void *source, size_t nelems,
                                    int type, int op, int root, int strategy, const struct tutti_grid_work *work)
{
    struct tutti_dev_grid grid;
    const int members = tutti_dev_team_n_pes(team);
    const size_t n = nelems * tutti_dev_grid_parts(where), bytes = tutti_dev_type_size(type);
    if (!tutti_dev_has(type, op))
        return tutti_dev_grid_refuse(TSHMEM_WHY_NO_OPERATION, -1, team, (uint64_t)type, (uint64_t)op);
    if (members > 0 && root >= members)
        return tutti_dev_grid_refuse(TSHMEM_WHY_NO_ROOT, root, team, 0, 0);
    if (strategy < 0 || strategy >= TUTTI_GRID_STRATEGIES || work->bytes < tutti_grid_work_bytes(members, n * bytes) ||
        (uintptr_t)work->memory % 16 != 0)
        return tutti_dev_grid_refuse(TSHMEM_WHY_NO_WORK, -1, team, (uint64_t)(uintptr_t)work->memory, work->bytes);
    if (tutti_dev_is_far(team))
        return tutti_dev_far_grid_reduce(team, where, dest, source, nelems, type, op, root, strategy, work);
    grid.spread = tutti_dev_grid_spread(where);
    grid.root = root;
    grid.n = n;
    grid.bytes = bytes;
    grid.first = nelems * tutti_dev_grid_part(where);
    grid.count = nelems;
    grid.pitch = tutti_dev_grid_pitch(n * bytes);
    const int status = tutti_dev_begin(&grid.meeting, TSHMEM_KERNEL_GRID, TUTTI_BY_GRID, team, work->memory,
                                       work->bytes, work->memory, 0);
    if (status != TUTTI_DEV_OK)
        return status;
    grid.half = tutti_dev_grid_half(work->memory, work->bytes, grid.meeting.sequence);
    grid.result = tutti_dev_grid_end_of_half(grid.half, work->bytes) - grid.pitch;
    switch (tutti_dev_grid_strategy(&grid, strategy)) {
    case TUTTI_GRID_READ:
        tutti_dev_grid_by_read(&grid, type, op, source);
        break;
    case TUTTI_GRID_GATHER:
        tutti_dev_grid_by_gather(&grid, type, op, source);
        break;
    case TUTTI_GRID_ALLGATHER:
        tutti_dev_grid_by_allgather(&grid, type, op, source);
        break;
    case TUTTI_GRID_ALLTOALL:
        tutti_dev_grid_by_alltoall(&grid, type, op, source);
        break;
    default:
        tutti_dev_grid_by_tree(&grid, type, op, source);
        break;
    }
    if (tutti_dev_grid_wanted(&grid))
        tutti_dev_copy(grid.spread, dest, grid.result + grid.first * grid.bytes, nelems * grid.bytes);
    return tutti_dev_end(&grid.meeting); /* waits for all threads */
}

/* Collective over the team, by all threads of the grid. 0 or a negative status. On return the own result is complete,
 * and `source` may be used again, which dest may be. type: tshmem_type_of() of a pointer to an element; op: enum
 * tshmem_op. */
TUTTI_DEV int tutti_grid_allreduce(tshmem_team_t team, int where, void *dest, const void *source, size_t nelems,
                                   int type, int op, int strategy, const struct tutti_grid_work *work)
{
    return tutti_dev_grid_reduce(team, where, dest, source, nelems, type, op, -1, strategy, work);
}

/* The same; only `root`, a PE of the team, gets the result. */
TUTTI_DEV int tutti_grid_reduce(tshmem_team_t team, int where, void *dest, const void *source, size_t nelems, int type,
                                int op, int root, int strategy, const struct tutti_grid_work *work)
{
    if (root < 0)
        return tutti_dev_grid_refuse(TSHMEM_WHY_NO_ROOT, root, team, 0, 0);
    return tutti_dev_grid_reduce(team, where, dest, source, nelems, type, op, root, strategy, work);
}

/* Waits for all threads of all grids of the team; what they stored before, and asked for by the ring, is seen after. */
TUTTI_DEV int tutti_grid_barrier(tshmem_team_t team)
{
    tutti_dev_drain(TUTTI_BY_GRID);
    return tutti_dev_barrier(TUTTI_BY_GRID, team);
}

#endif

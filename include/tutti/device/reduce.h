/* Reductions and scans. Small ones: all exchange their vectors, and each combines them (fold.h). Larger ones: a PE
 * combines a slice of all members' sources, in order of PE, and stores it into the results of all of them, between two
 * meetings. No other PE reads or stores that slice, so dest and source may be the same. Teams with far members:
 * far_reduce.h. */
#ifndef TUTTI_DEVICE_REDUCE_H
#define TUTTI_DEVICE_REDUCE_H

/* One vector a member r: at `address` + r * `step`; `at_members`: that is symmetric, and lies at that member. */
struct tutti_dev_places {
    int at_members;
    char *address;
    size_t step;
};

/* Everything by value: what a pointer leads to in a kernel's own memory stays there, and so would type and operator, of
 * which all would be compiled. */
struct tutti_dev_job {
    struct tutti_dev_team team;
    struct tutti_dev_places in, out;
    int ins, outs, first_out; /* first_out: stores go round from there on */
    int shape;
    size_t begin, count; /* elements */
};

/* Which place is stored as number o. */
TUTTI_DEV int tutti_dev_out(const struct tutti_dev_job *job, int o)
{
    const int out = job->first_out + o;
    return out < job->outs ? out : out - job->outs;
}

TUTTI_DEV char *tutti_dev_place(const struct tutti_dev_job *job, const struct tutti_dev_places *places, int i)
{
    const struct tshmem_state *const state = tutti_dev_state();
    char *const here = places->address + (size_t)i * places->step;
    return places->at_members ? tutti_dev_heap(tutti_dev_pe(&job->team, i)) + ((uintptr_t)here - (uintptr_t)state->heap)
                              : here;
}

/* One element, and 16 bytes of them at once. One contribution alone is handed on as it is. */
#define TUTTI_DEV_REDUCE(ID, number)                                                                                   \
    TUTTI_DEV void tutti_dev_all_##ID(const struct tutti_dev_job *job, int op, size_t i)                               \
    {                                                                                                                  \
        tutti_dev_e_##ID result = ((const tutti_dev_e_##ID *)(const void *)tutti_dev_place(job, &job->in, 0))[i];      \
        if (job->ins > 1) {                                                                                            \
            tutti_dev_a_##ID sum = tutti_dev_load_##ID(result);                                                        \
            TUTTI_DEV_UNROLL_4                                                                                         \
            for (int r = 1; r < job->ins; r++)                                                                         \
                sum = tutti_dev_combine_##ID(                                                                          \
                    op, sum,                                                                                           \
                    tutti_dev_load_##ID(                                                                               \
                        ((const tutti_dev_e_##ID *)(const void *)tutti_dev_place(job, &job->in, r))[i]));              \
            result = tutti_dev_store_##ID(sum, 1);                                                                     \
        }                                                                                                              \
        for (int o = 0; o < job->outs; o++)                                                                            \
            ((tutti_dev_e_##ID *)(void *)tutti_dev_place(job, &job->out, tutti_dev_out(job, o)))[i] = result;          \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_prefix_##ID(const struct tutti_dev_job *job, int op, size_t i)                            \
    {                                                                                                                  \
        tutti_dev_e_##ID before = ((const tutti_dev_e_##ID *)(const void *)tutti_dev_place(job, &job->in, 0))[i];      \
        tutti_dev_a_##ID sum = tutti_dev_load_##ID(before);                                                            \
        tutti_dev_e_##ID *const first = (tutti_dev_e_##ID *)(void *)tutti_dev_place(job, &job->out, 0) + i;            \
        const tutti_dev_e_##ID zero = TUTTI_DEV_ZERO;                                                                  \
        *first = job->shape == TUTTI_DEV_BEFORE ? zero : before;                                                       \
        for (int r = 1; r < job->ins; r++) {                                                                           \
            tutti_dev_e_##ID *const to = (tutti_dev_e_##ID *)(void *)tutti_dev_place(job, &job->out, r) + i;           \
            sum = tutti_dev_combine_##ID(                                                                              \
                op, sum,                                                                                               \
                tutti_dev_load_##ID(((const tutti_dev_e_##ID *)(const void *)tutti_dev_place(job, &job->in, r))[i]));  \
            const tutti_dev_e_##ID through = tutti_dev_store_##ID(sum, 1);                                             \
            *to = job->shape == TUTTI_DEV_BEFORE ? before : through;                                                   \
            before = through;                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    typedef struct {                                                                                                   \
        tutti_dev_e_##ID e[16 / sizeof(tutti_dev_e_##ID)];                                                             \
    } TUTTI_DEV_ALIAS __attribute__((aligned(16))) tutti_dev_packet_##ID;                                              \
    TUTTI_DEV void tutti_dev_packed_##ID(const struct tutti_dev_job *job, int op, size_t i)                            \
    {                                                                                                                  \
        tutti_dev_packet_##ID result =                                                                                 \
            ((const tutti_dev_packet_##ID *)(const void *)tutti_dev_place(job, &job->in, 0))[i];                       \
        if (job->ins > 1) {                                                                                            \
            tutti_dev_a_##ID sum[16 / sizeof(tutti_dev_e_##ID)];                                                       \
            TUTTI_DEV_UNROLL                                                                                           \
            for (size_t e = 0; e < 16 / sizeof(tutti_dev_e_##ID); e++)                                                 \
                sum[e] = tutti_dev_load_##ID(result.e[e]);                                                             \
            TUTTI_DEV_UNROLL_4                                                                                         \
            for (int r = 1; r < job->ins; r++) {                                                                       \
                const tutti_dev_packet_##ID next =                                                                     \
                    ((const tutti_dev_packet_##ID *)(const void *)tutti_dev_place(job, &job->in, r))[i];               \
                TUTTI_DEV_UNROLL                                                                                       \
                for (size_t e = 0; e < 16 / sizeof(tutti_dev_e_##ID); e++)                                             \
                    sum[e] = tutti_dev_combine_##ID(op, sum[e], tutti_dev_load_##ID(next.e[e]));                       \
            }                                                                                                          \
            TUTTI_DEV_UNROLL                                                                                           \
            for (size_t e = 0; e < 16 / sizeof(tutti_dev_e_##ID); e++)                                                 \
                result.e[e] = tutti_dev_store_##ID(sum[e], 1);                                                         \
        }                                                                                                              \
        for (int o = 0; o < job->outs; o++)                                                                            \
            ((tutti_dev_packet_##ID *)(void *)tutti_dev_place(job, &job->out, tutti_dev_out(job, o)))[i] = result;     \
    }                                                                                                                  \
    /* The same of TUTTI_DEV_SOME_... packets, from number i on, `size` apart: the loads of all are under way at once. \
     */                                                                                                                \
    enum {                                                                                                             \
        TUTTI_DEV_SOME_##ID = 4 * sizeof(tutti_dev_e_##ID) >= sizeof(tutti_dev_a_##ID)                                 \
                                  ? 4 * sizeof(tutti_dev_e_##ID) / sizeof(tutti_dev_a_##ID)                            \
                                  : 1                                                                                  \
    };                                                                                                                 \
    TUTTI_DEV void tutti_dev_packed_some_##ID(const struct tutti_dev_job *job, int op, size_t i, size_t size)          \
    {                                                                                                                  \
        enum { SOME = TUTTI_DEV_SOME_##ID, EACH = 16 / sizeof(tutti_dev_e_##ID) };                                     \
        const tutti_dev_packet_##ID *from =                                                                            \
            (const tutti_dev_packet_##ID *)(const void *)tutti_dev_place(job, &job->in, 0) + i;                        \
        tutti_dev_packet_##ID result[SOME];                                                                            \
        TUTTI_DEV_UNROLL                                                                                               \
        for (size_t b = 0; b < SOME; b++)                                                                              \
            result[b] = from[b * size];                                                                                \
        if (job->ins > 1) {                                                                                            \
            tutti_dev_a_##ID sum[SOME][EACH];                                                                          \
            TUTTI_DEV_UNROLL                                                                                           \
            for (size_t b = 0; b < SOME; b++) {                                                                        \
                TUTTI_DEV_UNROLL                                                                                       \
                for (size_t e = 0; e < EACH; e++)                                                                      \
                    sum[b][e] = tutti_dev_load_##ID(result[b].e[e]);                                                   \
            }                                                                                                          \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (int r = 1; r < job->ins; r++) {                                                                       \
                tutti_dev_packet_##ID next[SOME];                                                                      \
                from = (const tutti_dev_packet_##ID *)(const void *)tutti_dev_place(job, &job->in, r) + i;             \
                TUTTI_DEV_UNROLL                                                                                       \
                for (size_t b = 0; b < SOME; b++)                                                                      \
                    next[b] = from[b * size];                                                                          \
                TUTTI_DEV_UNROLL                                                                                       \
                for (size_t b = 0; b < SOME; b++) {                                                                    \
                    TUTTI_DEV_UNROLL                                                                                   \
                    for (size_t e = 0; e < EACH; e++)                                                                  \
                        sum[b][e] = tutti_dev_combine_##ID(op, sum[b][e], tutti_dev_load_##ID(next[b].e[e]));          \
                }                                                                                                      \
            }                                                                                                          \
            TUTTI_DEV_UNROLL                                                                                           \
            for (size_t b = 0; b < SOME; b++) {                                                                        \
                TUTTI_DEV_UNROLL                                                                                       \
                for (size_t e = 0; e < EACH; e++)                                                                      \
                    result[b].e[e] = tutti_dev_store_##ID(sum[b][e], 1);                                               \
            }                                                                                                          \
        }                                                                                                              \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (int o = 0; o < job->outs; o++) {                                                                          \
            tutti_dev_packet_##ID *const to =                                                                          \
                (tutti_dev_packet_##ID *)(void *)tutti_dev_place(job, &job->out, tutti_dev_out(job, o)) + i;           \
            TUTTI_DEV_UNROLL                                                                                           \
            for (size_t b = 0; b < SOME; b++)                                                                          \
                to[b * size] = result[b];                                                                              \
        }                                                                                                              \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_run_##ID(int group, const struct tutti_dev_job *job, int op, int some)                    \
    {                                                                                                                  \
        const size_t each = 16 / sizeof(tutti_dev_e_##ID), rank = tutti_dev_rank(group), size = tutti_dev_size(group); \
        const uintptr_t mixed = (uintptr_t)job->in.address | (uintptr_t)job->out.address | job->in.step |              \
                                job->out.step | job->begin * sizeof(tutti_dev_e_##ID);                                 \
        const int wide = mixed % 16 == 0 && job->shape == TUTTI_DEV_ALL;                                               \
        const size_t packets = wide ? job->count / each : 0, first = job->begin / each, ahead = TUTTI_DEV_SOME_##ID;   \
        size_t i = rank;                                                                                               \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (; some && ahead > 1 && !TUTTI_DEV_FEW && i + (ahead - 1) * size < packets; i += ahead * size)             \
            tutti_dev_packed_some_##ID(job, op, first + i, size);                                                      \
        for (; i < packets; i += size)                                                                                 \
            tutti_dev_packed_##ID(job, op, first + i);                                                                 \
        for (i = packets * each + rank; i < job->count; i += size) {                                                   \
            if (job->shape == TUTTI_DEV_ALL)                                                                           \
                tutti_dev_all_##ID(job, op, job->begin + i);                                                           \
            else                                                                                                       \
                tutti_dev_prefix_##ID(job, op, job->begin + i);                                                        \
        }                                                                                                              \
    }
TUTTI_DEV_TYPES(TUTTI_DEV_REDUCE)
#undef TUTTI_DEV_REDUCE

/* some: several packets of a thread are under way, in more registers. type, some: constants, so that one of these
 * remains. */
TUTTI_DEV void tutti_dev_run(int group, const struct tutti_dev_job *job, int type, int op, int some)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        tutti_dev_run_##ID(group, job, op, some);                                                                      \
        break;
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        break;
    }
}

/* Bytes of an element; 0: kernels have no such type. */
TUTTI_DEV size_t tutti_dev_type_size(int type)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        return sizeof(tutti_dev_e_##ID);
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        return 0;
    }
}

/* 1 if that operation is done on that type. */
TUTTI_DEV int tutti_dev_has(int type, int op)
{
    const int complex_type = type == TSHMEM_ID_COMPLEXF || type == TSHMEM_ID_COMPLEXD;
    if (tutti_dev_type_size(type) == 0 || op < TSHMEM_OP_AND || op > TSHMEM_OP_PROD)
        return 0;
    return op >= TSHMEM_OP_SUM || (op >= TSHMEM_OP_MAX ? !complex_type : type <= TSHMEM_UINT64);
}

/* Elements [*begin, *begin + *count) of n that member `me` combines: slices of whole lines of 128 bytes. */
TUTTI_DEV void tutti_dev_slice(size_t n, size_t bytes, int members, int me, size_t *begin, size_t *count)
{
    const size_t line = bytes < 128 ? 128 / bytes : 1;
    size_t each = n / (size_t)members + (n % (size_t)members != 0);
    each = (each + line - 1) / line * line;
    *begin = each * (size_t)me < n ? each * (size_t)me : n;
    *count = n - *begin < each ? n - *begin : each;
}

/* How many members' contributions a PE's result is of. */
TUTTI_DEV int tutti_dev_used(const struct tutti_dev_team *team, int shape)
{
    return shape == TUTTI_DEV_THROUGH ? team->me + 1 : shape == TUTTI_DEV_BEFORE ? team->me : team->size;
}

/* Each PE combines its block of all sources into its own result. In place it overwrites the first PE's block of its
 * source: so all others wait for that PE. */
TUTTI_DEV int tutti_dev_blocks_long(struct tutti_dev_meeting *meeting, void *dest, const void *source, size_t n,
                                    int type, int op)
{
    const int me = meeting->team.me, group = meeting->group;
    const size_t bytes = tutti_dev_type_size(type);
    const struct tutti_dev_places in = {1, (char *)(uintptr_t)source + (size_t)me * n * bytes, 0};
    const struct tutti_dev_places out = {0, (char *)dest, 0};
    const struct tutti_dev_job job = {meeting->team, in, out, meeting->team.size, 1, 0, TUTTI_DEV_ALL, 0, n};
    const int in_place = dest == source;
    tutti_dev_meet_first(meeting);
    if (!in_place || me == 0)
        tutti_dev_run(group, &job, type, op, 1);
    if (in_place)
        tutti_dev_meet(meeting);
    if (in_place && me != 0)
        tutti_dev_run(group, &job, type, op, 1);
    return tutti_dev_meet_last(meeting);
}

TUTTI_DEV int tutti_dev_reduce_long(struct tutti_dev_meeting *meeting, void *dest, const void *source, size_t n,
                                    int type, int op, int shape)
{
    const int me = meeting->team.me, members = meeting->team.size;
    const struct tutti_dev_places in = {1, (char *)(uintptr_t)source, 0};
    const struct tutti_dev_places out = {1, (char *)dest, 0};
    struct tutti_dev_job job = {meeting->team, in, out, members, members, me, shape, 0, 0};
    tutti_dev_slice(n, tutti_dev_type_size(type), members, me, &job.begin, &job.count);
    tutti_dev_meet_first(meeting);
    tutti_dev_run(meeting->group, &job, type, op, 1);
    return tutti_dev_meet_last(meeting);
}

/* What an exchange combines. */
TUTTI_DEV struct tutti_dev_fold tutti_dev_fold_of(const struct tutti_dev_meeting *meeting, void *dest,
                                                  const void *source, size_t bytes, int shape)
{
    struct tutti_dev_fold fold;
    fold.source = (const char *)source;
    fold.dest = (char *)dest;
    fold.step = shape == TUTTI_DEV_BLOCKS ? (unsigned)bytes : 0;
    fold.bytes = (unsigned)bytes;
    fold.used = tutti_dev_used(&meeting->team, shape);
    return fold;
}

/* tutti_dev_begin_short() of all shapes. */
TUTTI_DEV int tutti_dev_reduce_begin(struct tutti_dev_meeting *meeting, int group, tshmem_team_t team, void *dest,
                                     const void *source, size_t bytes, int shape)
{
    const int members = shape == TUTTI_DEV_BLOCKS ? tutti_dev_team_n_pes(team) : 1;
    return tutti_dev_begin_short(meeting, tutti_dev_reduce_kind(shape), group, team, dest, bytes, source,
                                 bytes * (size_t)(members > 0 ? members : 0));
}

/* See tutti_dev_broadcast_rest(). */
TUTTI_DEV int tutti_dev_reduce_rest(int group, int type, tshmem_team_t team, void *dest, const void *source, size_t n,
                                    int op, int shape, int entered, uint32_t cause)
{
    struct tutti_dev_meeting meeting;
    const size_t bytes = n * tutti_dev_type_size(type);
    if (tutti_dev_is_far(team))
        return tutti_dev_far_reduce(group, team, dest, source, n, type, op, shape);
    if (entered) {
        meeting = tutti_dev_resume(tutti_dev_reduce_kind(shape), group, team, 0, cause);
    } else {
        const int status = tutti_dev_reduce_begin(&meeting, group, team, dest, source, bytes, shape);
        if (status != TUTTI_DEV_OK)
            return status;
    }
    tutti_dev_ask(&meeting);
    if (tutti_dev_is_small(&meeting, bytes)) {
        struct tutti_dev_fold fold = tutti_dev_fold_of(&meeting, dest, source, bytes, shape);
        if (bytes > 0)
            tutti_dev_fold(&fold, &meeting, type, op, 0);
        else
            tutti_dev_await_all(&meeting);
        return tutti_dev_end(&meeting);
    }
    return shape == TUTTI_DEV_BLOCKS ? tutti_dev_blocks_long(&meeting, dest, source, n, type, op)
                                     : tutti_dev_reduce_long(&meeting, dest, source, n, type, op, shape);
}
#define TUTTI_DEV_REST(ID, number)                                                                                     \
    TUTTI_DEV int tutti_dev_rest_##ID(int group, tshmem_team_t team, void *dest, const void *source, size_t n, int op, \
                                      int shape, int entered, uint32_t cause)                                          \
    {                                                                                                                  \
        return tutti_dev_reduce_rest(group, number, team, dest, source, n, op, shape, entered, cause);                 \
    }                                                                                                                  \
    TUTTI_DEV_APART_GROUPS(tutti_dev_rest_##ID,                                                                        \
                           (tshmem_team_t team, void *dest, const void *source, size_t n, int op, int shape,           \
                            int entered, uint32_t cause),                                                              \
                           team, dest, source, n, op, shape, entered, cause)
TUTTI_DEV_TYPES(TUTTI_DEV_REST)
#undef TUTTI_DEV_REST

/* type: a constant, so that one of these remains. */
TUTTI_DEV int tutti_dev_reduce_rest_of(int group, int type, tshmem_team_t team, void *dest, const void *source,
                                       size_t n, int op, int shape, int entered, uint32_t cause)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        return TUTTI_DEV_OF_GROUP(tutti_dev_rest_##ID, group, team, dest, source, n, op, shape, entered, cause);
        TUTTI_DEV_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        return TUTTI_DEV_ERR_ARGUMENT;
    }
}

/* All shapes; op of scans is SUM. */
TUTTI_DEV int tutti_dev_reduce(int group, tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                               int op, int shape)
{
    struct tutti_dev_meeting meeting;
    const size_t bytes = n * tutti_dev_type_size(type);
    if (!tutti_dev_has(type, op)) {
        tutti_dev_refuse(tutti_dev_reduce_kind(shape), TSHMEM_WHY_NO_OPERATION, -1, team, (uint64_t)type, (uint64_t)op);
        return TUTTI_DEV_ERR_ARGUMENT;
    }
    if (tutti_dev_is_far(team) || bytes == 0 || !tutti_dev_is_quick(group, tutti_dev_team_n_pes(team), bytes))
        return tutti_dev_reduce_rest_of(group, type, team, dest, source, n, op, shape, 0, 0);
    const int status = tutti_dev_reduce_begin(&meeting, group, team, dest, source, bytes, shape);
    if (status != TUTTI_DEV_OK)
        return status;
    struct tutti_dev_fold fold = tutti_dev_fold_of(&meeting, dest, source, bytes, shape);
    return tutti_dev_fold(&fold, &meeting, type, op, 1)
               ? tutti_dev_free(&meeting)
               : tutti_dev_reduce_rest_of(group, type, team, dest, source, n, op, shape, 1, meeting.cause);
}

/* Block i of all sources, combined, to PE i. */
TUTTI_DEV int tutti_dev_reducescatter(int group, tshmem_team_t team, void *dest, const void *source, size_t n, int type,
                                      int op)
{
    return tutti_dev_reduce(group, team, dest, source, n, type, op, TUTTI_DEV_BLOCKS);
}

#endif

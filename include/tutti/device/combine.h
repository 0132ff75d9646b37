/* Combines vectors element by element, in order of PE, and says which types and operations there are. */
#ifndef TUTTI_DEVICE_COMBINE_H
#define TUTTI_DEVICE_COMBINE_H

/* One vector a member r: at `address` + r * `step`; `at_members`: that is symmetric, and lies at that member. */
struct tutti_dev_places {
    int at_members;
    char *address;
    size_t step;
};

/* ALL: the result goes to all outs. THROUGH: what is combined up to contribution r goes to out r; BEFORE: up to that
 * before it, and zero to the first. */
enum { TUTTI_DEV_ALL, TUTTI_DEV_THROUGH, TUTTI_DEV_BEFORE };

/* Everything by value: what a pointer leads to in a kernel's own memory stays there, and so would type and operator, of
 * which all would be compiled. */
struct tutti_dev_job {
    struct tutti_dev_team team;
    struct tutti_dev_places in, out;
    int ins, outs, first_out; /* first_out: stores go round from there on */
    int shape;
    size_t begin, count; /* elements */
};

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
            ((tutti_dev_e_##ID *)(void *)tutti_dev_place(job, &job->out, (job->first_out + o) % job->outs))[i] =       \
                result;                                                                                                \
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
            ((tutti_dev_packet_##ID *)(void *)tutti_dev_place(job, &job->out, (job->first_out + o) % job->outs))[i] =  \
                result;                                                                                                \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_run_##ID(int group, const struct tutti_dev_job *job, int op)                              \
    {                                                                                                                  \
        const size_t each = 16 / sizeof(tutti_dev_e_##ID), rank = tutti_dev_rank(group), size = tutti_dev_size(group); \
        const uintptr_t mixed = (uintptr_t)job->in.address | (uintptr_t)job->out.address | job->in.step |              \
                                job->out.step | job->begin * sizeof(tutti_dev_e_##ID);                                 \
        const int wide = mixed % 16 == 0 && job->shape == TUTTI_DEV_ALL;                                               \
        const size_t packets = wide ? job->count / each : 0, first = job->begin / each;                                \
        for (size_t i = rank; i < packets; i += size)                                                                  \
            tutti_dev_packed_##ID(job, op, first + i);                                                                 \
        for (size_t i = packets * each + rank; i < job->count; i += size) {                                            \
            if (job->shape == TUTTI_DEV_ALL)                                                                           \
                tutti_dev_all_##ID(job, op, job->begin + i);                                                           \
            else                                                                                                       \
                tutti_dev_prefix_##ID(job, op, job->begin + i);                                                        \
        }                                                                                                              \
    }
TUTTI_DEV_TYPES(TUTTI_DEV_REDUCE)
#undef TUTTI_DEV_REDUCE

/* type, op: constants, so that one of these remains. */
TUTTI_DEV void tutti_dev_run(int group, const struct tutti_dev_job *job, int type, int op)
{
    switch (type) {
#define TUTTI_DEV_CASE(ID, number)                                                                                     \
    case number:                                                                                                       \
        tutti_dev_run_##ID(group, job, op);                                                                            \
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

/* 1 where that operation is done on that type. */
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

#endif

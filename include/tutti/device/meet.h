/* Ranks of a node meet in kernels: each marks a partition of its contribution, and the last one combines the partition
 * and stores the result for all ranks (struct tutti_meet). The elements are combined in rank order, as the library's
 * kernels do. No group waits: so a kernel needs neither kernels of other ranks nor the host. */
#ifndef TUTTI_DEVICE_MEET_H
#define TUTTI_DEVICE_MEET_H

#include "tutti/device/env.h"
#include "tutti/prequest.h"
#include "tutti/shmem_ids.h"

#include "tutti/device/operators.h"

#include "tutti/device/ops.h"

/* Types that kernels of programs combine: few, since each takes room in every kernel that marks partitions. */
#define TUTTI_DEV_MEET_TYPES(ROW)                                                                                      \
    ROW(INT32, TSHMEM_INT32, u128)                                                                                     \
    ROW(UINT32, TSHMEM_UINT32, u128)                                                                                   \
    ROW(INT64, TSHMEM_INT64, u128)                                                                                     \
    ROW(UINT64, TSHMEM_UINT64, u128)                                                                                   \
    ROW(HALF, TSHMEM_ID_HALF, u64)                                                                                     \
    ROW(BFLOAT16, TSHMEM_ID_BFLOAT16, u64)                                                                             \
    ROW(FLOAT, TSHMEM_ID_FLOAT, u128)                                                                                  \
    ROW(DOUBLE, TSHMEM_ID_DOUBLE, u128)

/* Words of two ranks each that a thread has under way. One in kernels of programs: with 64 registers or fewer a block
 * may have 1024 threads. */
#ifndef TUTTI_DEV_MEET_WORDS
#define TUTTI_DEV_MEET_WORDS 1
#endif

/* Bytes [at, at + bytes) of all contributions, by thread `rank` of `size`. */
#define TUTTI_DEV_MEET(ID, number, W)                                                                                  \
    typedef union {                                                                                                    \
        tutti_dev_##W word;                                                                                            \
        tutti_dev_e_##ID e[sizeof(tutti_dev_##W) / sizeof(tutti_dev_e_##ID)];                                          \
    } tutti_dev_meet_##ID;                                                                                             \
    TUTTI_DEV void tutti_dev_meet_elements_##ID(const struct tutti_meet *meet, uint64_t at, uint64_t bytes,            \
                                                size_t rank, size_t size)                                              \
    {                                                                                                                  \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (uint64_t i = rank; i < bytes / sizeof(tutti_dev_e_##ID); i += size) {                                     \
            const uint64_t from = at + i * sizeof(tutti_dev_e_##ID);                                                   \
            tutti_dev_a_##ID sum = tutti_dev_load_##ID(*(const tutti_dev_e_##ID *)(uintptr_t)(meet->in[0] + from));    \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (int r = 1; r < meet->ranks; r++)                                                                      \
                sum = tutti_dev_combine_##ID(                                                                          \
                    meet->op, sum, tutti_dev_load_##ID(*(const tutti_dev_e_##ID *)(uintptr_t)(meet->in[r] + from)));   \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (int r = 0; r < meet->ranks; r++) {                                                                    \
                if (meet->out[r])                                                                                      \
                    *(tutti_dev_e_##ID *)(uintptr_t)(meet->out[r] + from) = tutti_dev_store_##ID(sum, 1);              \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    TUTTI_DEV void tutti_dev_meet_combine_##ID(const struct tutti_meet *meet, uint64_t at, uint64_t bytes,             \
                                               size_t rank, size_t size)                                               \
    {                                                                                                                  \
        enum { BYTES = sizeof(tutti_dev_##W), EACH = BYTES / sizeof(tutti_dev_e_##ID) };                               \
        const uint64_t words = meet->aligned && at % BYTES == 0 ? bytes / BYTES : 0;                                   \
        TUTTI_DEV_UNROLL_1                                                                                             \
        for (uint64_t first = rank; first < words; first += TUTTI_DEV_MEET_WORDS * size) {                             \
            tutti_dev_a_##ID sum[TUTTI_DEV_MEET_WORDS][EACH];                                                          \
            tutti_dev_meet_##ID given[TUTTI_DEV_MEET_WORDS];                                                           \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (int r = 0; r < meet->ranks; r += 2) { /* two ranks' words are under way */                            \
                const int second = r + 1 < meet->ranks;                                                                \
                const tutti_dev_##W *const in = (const tutti_dev_##W *)(uintptr_t)(meet->in[r] + at) + first;          \
                const tutti_dev_##W *const in2 =                                                                       \
                    (const tutti_dev_##W *)(uintptr_t)(meet->in[r + second] + at) + first;                             \
                tutti_dev_meet_##ID next[TUTTI_DEV_MEET_WORDS];                                                        \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < TUTTI_DEV_MEET_WORDS; w++) {                                                  \
                    given[w].word = in[first + w * size < words ? w * size : 0];                                       \
                    next[w].word = in2[first + w * size < words ? w * size : 0];                                       \
                }                                                                                                      \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < TUTTI_DEV_MEET_WORDS; w++) {                                                  \
                    TUTTI_DEV_UNROLL                                                                                   \
                    for (unsigned i = 0; i < EACH; i++) {                                                              \
                        const tutti_dev_a_##ID one = tutti_dev_load_##ID(given[w].e[i]);                               \
                        sum[w][i] = r == 0 ? one : tutti_dev_combine_##ID(meet->op, sum[w][i], one);                   \
                        if (second)                                                                                    \
                            sum[w][i] =                                                                                \
                                tutti_dev_combine_##ID(meet->op, sum[w][i], tutti_dev_load_##ID(next[w].e[i]));        \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            TUTTI_DEV_UNROLL                                                                                           \
            for (unsigned w = 0; w < TUTTI_DEV_MEET_WORDS; w++) {                                                      \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned i = 0; i < EACH; i++)                                                                    \
                    given[w].e[i] = tutti_dev_store_##ID(sum[w][i], 1);                                                \
            }                                                                                                          \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (int r = 0; r < meet->ranks; r++) {                                                                    \
                tutti_dev_##W *const out = (tutti_dev_##W *)(uintptr_t)(meet->out[r] + at) + first;                    \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < TUTTI_DEV_MEET_WORDS; w++) {                                                  \
                    if (meet->out[r] && first + w * size < words)                                                      \
                        out[w * size] = given[w].word;                                                                 \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        tutti_dev_meet_elements_##ID(meet, at + words * BYTES, bytes - words * BYTES, rank, size);                     \
    }
TUTTI_DEV_MEET_TYPES(TUTTI_DEV_MEET)
#undef TUTTI_DEV_MEET

TUTTI_DEV void tutti_dev_meet_combine(const struct tutti_meet *meet, uint64_t at, uint64_t bytes, size_t rank,
                                      size_t size)
{
    switch (meet->type) {
#define TUTTI_DEV_CASE(ID, number, W)                                                                                  \
    case number:                                                                                                       \
        tutti_dev_meet_combine_##ID(meet, at, bytes, rank, size);                                                      \
        break;
        TUTTI_DEV_MEET_TYPES(TUTTI_DEV_CASE)
#undef TUTTI_DEV_CASE
    default:
        break;
    }
}

/* What the leader adds to a counter of `of` marks a round: the number of the round, if its mark is the last one;
 * otherwise 0. Then all threads that meet the leader see what the others have stored before theirs. */
TUTTI_DEV uint64_t tutti_dev_meet_add(uint64_t *counter, int of)
{
    tutti_dev_fence();
    const uint64_t sum = tutti_dev_add64(counter, 1) + 1;
    if (sum % (uint64_t)of != 0)
        return 0;
    tutti_dev_fence();
    return sum / (uint64_t)of;
}

/* This rank has made slice `slice` of the partition: its group has stored it before, or has met the threads that have.
 */
TUTTI_DEV void tutti_dev_meet_slice(int group, const struct tutti_meet *meet, int partition, int slice)
{
    const int leads = tutti_dev_rank(group) == 0, owner = partition % meet->ranks;
    uint64_t *const count =
        (uint64_t *)(uintptr_t)meet->count[owner] + (uint64_t)(partition / meet->ranks) * (uint64_t)(meet->slices + 1);
    uint64_t round = 0;
    tutti_dev_near_join(group);
    if (leads)
        round = tutti_dev_meet_add(&count[slice], meet->ranks);
    round = tutti_dev_near_share(group, round);
    if (round == 0)
        return;
    const uint64_t begin = (uint64_t)slice * meet->slice, left = meet->bytes > begin ? meet->bytes - begin : 0;
    tutti_dev_meet_combine(meet, (uint64_t)partition * meet->bytes + begin, left < meet->slice ? left : meet->slice,
                           tutti_dev_rank(group), tutti_dev_size(group));
    tutti_dev_near_join(group);
    if (leads && meet->slices > 1)
        round = tutti_dev_meet_add(&count[meet->slices], meet->slices);
    else if (leads)
        tutti_dev_fence();
    for (int r = 0; leads && round != 0 && r < meet->ranks; r++)
        tutti_dev_store_relaxed32((uint32_t *)(uintptr_t)meet->done[r] + partition, (uint32_t)round);
}

#endif

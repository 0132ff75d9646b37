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

/* Words of a rank that a thread has under way. Two in kernels of programs: with 64 registers or fewer a block may have
 * 1024 threads. */
#ifndef TUTTI_DEV_MEET_WORDS
#define TUTTI_DEV_MEET_WORDS 2
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
    /* A thread's words of a rank, from word `first` on, `size` apart; past the last one it loads the first again. */  \
    TUTTI_DEV void tutti_dev_meet_words_##ID(uint64_t from, uint64_t first, size_t size, uint64_t words,               \
                                             tutti_dev_meet_##ID *out)                                                 \
    {                                                                                                                  \
        const tutti_dev_##W *const in = (const tutti_dev_##W *)(uintptr_t)from + first;                                \
        TUTTI_DEV_UNROLL                                                                                               \
        for (unsigned w = 0; w < TUTTI_DEV_MEET_WORDS; w++)                                                            \
            out[w].word = in[first + w * size < words ? w * size : 0];                                                 \
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
            tutti_dev_meet_words_##ID(meet->in[0] + at, first, size, words, given);                                    \
            TUTTI_DEV_UNROLL                                                                                           \
            for (unsigned w = 0; w < TUTTI_DEV_MEET_WORDS; w++) {                                                      \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned i = 0; i < EACH; i++)                                                                    \
                    sum[w][i] = tutti_dev_load_##ID(given[w].e[i]);                                                    \
            }                                                                                                          \
            TUTTI_DEV_UNROLL_1                                                                                         \
            for (int r = 1; r < meet->ranks; r++) { /* the loads of the first two ranks are under way together */      \
                tutti_dev_meet_words_##ID(meet->in[r] + at, first, size, words, given);                                \
                TUTTI_DEV_UNROLL                                                                                       \
                for (unsigned w = 0; w < TUTTI_DEV_MEET_WORDS; w++) {                                                  \
                    TUTTI_DEV_UNROLL                                                                                   \
                    for (unsigned i = 0; i < EACH; i++)                                                                \
                        sum[w][i] = tutti_dev_combine_##ID(meet->op, sum[w][i], tutti_dev_load_##ID(given[w].e[i]));   \
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

/* What `more` marks, which the leader adds to a counter of `of` marks a round, complete: the number of the round, if
 * the last one is among them; otherwise 0. The caller has made a release, and makes an acquire if the result is not 0.
 */
TUTTI_DEV uint64_t tutti_dev_meet_sum(uint64_t *counter, int more, int of)
{
    const uint64_t sum = tutti_dev_add64(counter, (uint64_t)more) + (uint64_t)more;
    return sum % (uint64_t)of == 0 ? sum / (uint64_t)of : 0;
}

/* Counters of the partition: one for each slice, and one of slices that are complete. */
TUTTI_DEV uint64_t *tutti_dev_meet_counters(const struct tutti_meet *meet, int partition)
{
    return (uint64_t *)(uintptr_t)meet->count[partition % meet->ranks] +
           (uint64_t)(partition / meet->ranks) * (uint64_t)(meet->slices + 1);
}

/* Slices first to first + n - 1 of the partition, of all ranks, by the group. */
TUTTI_DEV void tutti_dev_meet_slices(int group, const struct tutti_meet *meet, int partition, int first, int n)
{
    const uint64_t begin = (uint64_t)first * meet->slice, end = begin + (uint64_t)n * meet->slice;
    if (begin < meet->bytes)
        tutti_dev_meet_combine(meet, (uint64_t)partition * meet->bytes + begin,
                               (end < meet->bytes ? end : meet->bytes) - begin, tutti_dev_rank(group),
                               tutti_dev_size(group));
}

/* `slices` of the partition have been combined by the group, in round `round`; those of the last one set the marks. */
TUTTI_DEV void tutti_dev_meet_complete(int group, const struct tutti_meet *meet, int partition, int slices,
                                       uint64_t round)
{
    tutti_dev_near_join(group);
    if (tutti_dev_rank(group) != 0)
        return;
    uint64_t *const count = tutti_dev_meet_counters(meet, partition) + meet->slices;
    if (slices == meet->slices && slices > 1) /* the next round counts on from here */
        tutti_dev_add64(count, (uint64_t)slices);
    tutti_dev_fence_release();
    if (slices < meet->slices) { /* others have combined the rest */
        round = tutti_dev_meet_sum(count, slices, meet->slices);
        if (round == 0)
            return;
        tutti_dev_fence();
    }
    for (int r = 0; r < meet->ranks; r++)
        tutti_dev_store_relaxed32((uint32_t *)(uintptr_t)meet->done[r] + partition, (uint32_t)round);
}

/* This rank has made slice `slice` of the partition: its group has stored it before, or has met the threads that have.
 */
TUTTI_DEV void tutti_dev_meet_slice(int group, const struct tutti_meet *meet, int partition, int slice)
{
    uint64_t round = 0;
    tutti_dev_near_join(group);
    if (tutti_dev_rank(group) == 0) {
        tutti_dev_fence_release();
        round = tutti_dev_meet_sum(tutti_dev_meet_counters(meet, partition) + slice, 1, meet->ranks);
        if (round != 0)
            tutti_dev_fence_acquire();
    }
    round = tutti_dev_near_share(group, round);
    if (round == 0)
        return;
    tutti_dev_meet_slices(group, meet, partition, slice, 1);
    tutti_dev_meet_complete(group, meet, partition, 1, round);
}

/* As tutti_dev_meet_slice(), of up to 64 slices from `first` on: one fence is for all of them, and their counters are
 * on the way together. */
TUTTI_DEV void tutti_dev_meet_some(int group, const struct tutti_meet *meet, int partition, int first)
{
    const int n = meet->slices - first < 64 ? meet->slices - first : 64;
    uint64_t round = 0, last = 0; /* bit i: slice first + i is complete */
    int slices = 0;
    tutti_dev_near_join(group);
    if (tutti_dev_rank(group) == 0) {
        uint64_t *const count = tutti_dev_meet_counters(meet, partition) + first;
        tutti_dev_fence_release();
        TUTTI_DEV_UNROLL_4
        for (int i = 0; i < n; i++) {
            const uint64_t now = tutti_dev_meet_sum(&count[i], 1, meet->ranks);
            last |= (uint64_t)(now != 0) << i;
            round = now != 0 ? now : round;
        }
        if (last != 0)
            tutti_dev_fence_acquire();
    }
    last = tutti_dev_near_share(group, last);
    for (int i = 0, end; i < n; i = end) { /* neighbours together: more threads have work */
        end = i + 1;
        if (!(last >> i & 1))
            continue;
        while (end < n && last >> end & 1)
            end++;
        slices += end - i;
        tutti_dev_meet_slices(group, meet, partition, first + i, end - i);
    }
    if (slices > 0)
        tutti_dev_meet_complete(group, meet, partition, slices, round);
}

/* This rank has made the partition. */
TUTTI_DEV void tutti_dev_meet_partition(int group, const struct tutti_meet *meet, int partition)
{
    TUTTI_DEV_UNROLL_1
    for (int first = 0; first < meet->slices; first += 64)
        tutti_dev_meet_some(group, meet, partition, first);
}

#endif

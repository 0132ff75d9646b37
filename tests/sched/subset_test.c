/* Subsets of a transport: messages and collectives of several that overlap, at the same time as those of the transport
 * itself. Each rank is a member of two, with ranks in another order, and contexts that differ from rank to rank. */
#include "sched/subset.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/status.h"
#include "progress/engine.h"
#include "support/check.h"
#include "support/messages.h"
#include "support/random.h"
#include "support/threads.h"

enum { MOST = 6, CONTEXTS = 9 };

/* The ranks with the same (seeded) group number, from the last to the first. */
static struct tutti_transport *draw_subset(struct tutti_transport *t, const int tags[], uint64_t seed, int groups)
{
    struct tutti_transport *out = NULL;
    int ranks[MOST], of[MOST], n = 0, rank = 0;
    const uint64_t mine = random_mix(seed + (uint64_t)t->rank) % (uint64_t)groups;
    for (int r = t->size - 1; r >= 0; r--) {
        if (random_mix(seed + (uint64_t)r) % (uint64_t)groups != mine)
            continue;
        rank = r == t->rank ? n : rank;
        of[n] = tags[r];
        ranks[n++] = r;
    }
    CHECK(tutti_subset_new(t, rank, n, ranks, "a subset", &out) == TUTTI_OK, "no subset");
    for (int i = 0; i < n; i++)
        tutti_subset_context(out, i, of[i]);
    CHECK(out->rank == rank && out->size == n, "rank %d of %d", out->rank, out->size);
    return out;
}

static void blocking(struct tutti_transport *t, uint64_t seed)
{
    int64_t word[2] = {t->rank + 1, -t->rank}, all[2 * MOST], back[MOST], each[MOST];
    CHECK(t->ops->allgather(t, word, all, sizeof word) == TUTTI_OK, "allgather");
    for (int r = 0; r < t->size; r++) {
        CHECK(all[2 * r] == r + 1 && all[2 * r + 1] == -r, "allgather: %d of rank %d", (int)all[2 * r], r);
        each[r] = (int64_t)(seed % 1000) + 100 * t->rank + r;
    }
    CHECK(t->ops->alltoall(t, each, back, sizeof each[0]) == TUTTI_OK, "alltoall");
    for (int r = 0; r < t->size; r++)
        CHECK(back[r] == (int64_t)(seed % 1000) + 100 * r + t->rank, "alltoall: %d of rank %d", (int)back[r], r);
    CHECK(t->ops->allreduce(t, word, 2, TUTTI_COMBINE_MAX) == TUTTI_OK, "allreduce");
    CHECK(word[0] == t->size && word[1] == 0, "a wrong maximum");
    CHECK(t->ops->barrier(t) == TUTTI_OK, "barrier");
}

static int rank_main(struct tutti_transport *t, void *arg)
{
    const int rounds = *(const int *)arg;
    struct tutti_contexts *contexts = tutti_contexts_new(t, CONTEXTS);
    for (int round = 0; round < rounds && check_failed() == 0; round++) {
        const uint64_t seed = random_mix(check_seed() + (uint64_t)round);
        int skipped = (int)(random_mix(seed ^ (uint64_t)t->rank) % (CONTEXTS - 2)), spare[CONTEXTS], mine[2];
        for (int i = 0; i < skipped; i++)
            spare[i] = tutti_context_take(contexts);
        int tags[2][MOST];
        struct tutti_transport *subset[2];
        for (int s = 0; s < 2; s++) {
            mine[s] = tutti_context_take(contexts);
            CHECK(mine[s] >= 0 && t->ops->allgather(t, &mine[s], tags[s], sizeof mine[s]) == TUTTI_OK, "contexts");
            subset[s] = draw_subset(t, tags[s], seed + (uint64_t)s, 1 + round % 3);
        }
        for (int s = 0; s < 2; s++) {
            blocking(subset[s], seed);
            collectives_run(subset[s], seed + (uint64_t)s, 4);
        }
        for (int s = 0; s < 2; s++) {
            tutti_subset_free(subset[s]);
            tutti_context_give(contexts, mine[s]);
        }
        for (int i = 0; i < skipped; i++)
            tutti_context_give(contexts, spare[i]);
    }
    int taken = 0;
    while (taken <= CONTEXTS && tutti_context_take(contexts) >= 0)
        taken++;
    CHECK(taken == CONTEXTS, "%d contexts", taken);
    tutti_contexts_free(contexts);
    return 0;
}

/* A subset of all ranks in order is as good as the transport, but that tags are named. */
static int whole_main(struct tutti_transport *t, void *arg)
{
    struct tutti_contexts *contexts = tutti_contexts_new(t, CONTEXTS);
    struct tutti_transport *subset = NULL;
    int ranks[MOST], tags[MOST], mine = tutti_context_take(contexts);
    char word = 0;
    struct tutti_transfer transfer;
    (void)arg;
    for (int r = 0; r < t->size; r++)
        ranks[r] = r;
    CHECK(t->ops->allgather(t, &mine, tags, sizeof mine) == TUTTI_OK, "contexts");
    CHECK(tutti_subset_new(t, t->rank, t->size, ranks, "all", &subset) == TUTTI_OK, "no subset");
    for (int r = 0; r < t->size; r++)
        tutti_subset_context(subset, r, tags[r]);
    CHECK(subset->ops->receive(subset, &word, 1, TUTTI_ANY_RANK, TUTTI_ANY_TAG, &transfer) == TUTTI_ERR_ARGUMENT,
          "a receive of any tag");
    messages_run_tagged(subset, check_seed(), 20);
    collectives_run(subset, check_seed(), 20);
    tutti_subset_free(subset);
    tutti_contexts_free(contexts);
    return 0;
}

int main(void)
{
    int rounds = (int)check_many("TUTTI_TEST_ROUNDS", 30);
    for (int ranks = 1; ranks <= MOST; ranks++)
        tutti_threads_run(ranks, rank_main, &rounds);
    for (int ranks = 2; ranks <= 4; ranks++)
        tutti_threads_run(ranks, whole_main, NULL);
    printf("subsets: %ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() > 0 || tutti_progress_busy();
}

/* Slices of a partition meet (tutti/device/meet.h), with ranks that one thread plays: in each round every rank marks
 * the slices of some partitions one by one, and all slices of others at once, in a random order, so that the last marks
 * of a partition's slices belong to any of the ranks. A partition is complete exactly when its last slice has been
 * marked, and holds the sums. TUTTI_TEST_SEED. */
#include <stdio.h>
#include <string.h>

#include "support/check.h"
#include "support/random.h"
#include "tutti/device/meet.h"

enum { PROGRAMS = 300, ROUNDS = 12, RANKS = 4, PARTITIONS = 3, SLICES = 130, SLICE = 16, WORDS = SLICES * SLICE / 4 };

static uint64_t state;
static int in[RANKS][PARTITIONS * WORDS], out[RANKS][PARTITIONS * WORDS];
static uint64_t count[RANKS][PARTITIONS * (SLICES + 1)];
static uint32_t done[RANKS][PARTITIONS];

static int draw(int n)
{
    return (int)(random_next(&state) % (uint64_t)n);
}

static void meet_make(struct tutti_meet *meet)
{
    static const int most[] = {1, 3, 64, SLICES};
    memset(meet, 0, sizeof *meet);
    meet->ranks = 2 + draw(RANKS - 1);
    meet->type = TSHMEM_INT32;
    meet->op = TSHMEM_OP_SUM;
    meet->slices = 1 + draw(most[draw(4)]);
    meet->slice = SLICE;
    meet->bytes = (uint64_t)meet->slices * SLICE - 4u * (unsigned)draw(4);
    meet->aligned = 1;
    for (int r = 0; r < meet->ranks; r++) {
        meet->in[r] = (uint64_t)(uintptr_t)in[r];
        meet->out[r] = (uint64_t)(uintptr_t)out[r];
        meet->count[r] = (uint64_t)(uintptr_t)count[r];
        meet->done[r] = (uint64_t)(uintptr_t)done[r];
    }
    memset(count, 0, sizeof count);
    memset(done, 0, sizeof done);
}

static int is_summed(const struct tutti_meet *meet, int partition)
{
    const int words = (int)(meet->bytes / 4);
    for (int i = partition * words; i < (partition + 1) * words; i++) {
        int sum = 0;
        for (int r = 0; r < meet->ranks; r++)
            sum += in[r][i];
        for (int r = 0; r < meet->ranks; r++) {
            if (out[r][i] != sum)
                return 0;
        }
    }
    return 1;
}

/* One mark after the other: each takes the next slice of a rank's partition, or all that are left of it. */
static void round_run(const struct tutti_meet *meet, uint32_t round)
{
    int next[RANKS][PARTITIONS] = {{0}}, left = meet->ranks * PARTITIONS, all[RANKS][PARTITIONS];
    for (int r = 0; r < meet->ranks; r++) {
        for (int i = 0; i < PARTITIONS * WORDS; i++)
            in[r][i] = (int)(random_next(&state) & 0xffff);
        for (int p = 0; p < PARTITIONS; p++)
            all[r][p] = draw(2);
    }
    memset(out, 0xa5, sizeof out);
    while (left > 0) {
        const int r = draw(meet->ranks), p = draw(PARTITIONS);
        int missing = 0;
        if (next[r][p] == meet->slices)
            continue;
        if (all[r][p])
            tutti_dev_meet_partition(TUTTI_BY_THREAD, meet, p);
        else
            tutti_dev_meet_slice(TUTTI_BY_THREAD, meet, p, next[r][p]);
        next[r][p] = all[r][p] ? meet->slices : next[r][p] + 1;
        left -= next[r][p] == meet->slices;
        for (int other = 0; other < meet->ranks; other++) {
            missing += next[other][p] < meet->slices;
            CHECK((done[other][p] == round) == (done[0][p] == round), "marks of partition %d differ", p);
        }
        CHECK((done[0][p] == round) == (missing == 0),
              "round %u, %d ranks, %d slices: partition %d has mark %u, and %d ranks are missing", round, meet->ranks,
              meet->slices, p, done[0][p], missing);
        if (missing == 0)
            CHECK(is_summed(meet, p), "round %u, %d ranks, %d slices: partition %d has wrong sums", round, meet->ranks,
                  meet->slices, p);
    }
}

int main(void)
{
    state = check_seed();
    printf("seed %llu\n", (unsigned long long)state);
    for (int program = 0; program < PROGRAMS; program++) {
        struct tutti_meet meet;
        meet_make(&meet);
        for (uint32_t round = 1; round <= ROUNDS; round++)
            round_run(&meet, round);
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

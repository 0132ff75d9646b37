/* Kept entries beside a list of all of them: as many keys as there are places are found again with any hashes;
 * of more keys some are. Each entry that is put comes back once, by its own key or as the one that was displaced. */
#include <stdio.h>
#include <string.h>

#include "core/kept.h"
#include "support/check.h"
#include "support/random.h"

enum { MOST = 3 * TUTTI_KEPT, ROUNDS = 40, TRIALS = 2000 };
static struct entry {
    uint64_t key;
    int there; /* 1: it is kept */
} entries[MOST];

static void give_back(struct entry *entry)
{
    if (!entry)
        return;
    CHECK(entry->there, "an entry comes back that is not kept");
    entry->there = 0;
}

/* A program that makes `n` calls in turns: each is taken, and kept again when it has ended. Returns the calls that are
 * not found in the second half of the rounds. */
static int turns(struct tutti_kept *kept, int n)
{
    int missed = 0;
    for (int i = 0; i < ROUNDS * n; i++) {
        struct entry *const entry = &entries[i % n], *const got = tutti_kept_take(kept, entry->key);
        CHECK(!got || got == entry, "an entry of another key");
        give_back(got);
        missed += !got && i >= ROUNDS / 2 * n;
        CHECK(!entry->there, "an entry that is kept is not found");
        entry->there = 1;
        give_back(tutti_kept_put(kept, entry->key, entry));
    }
    return missed;
}

/* Calls that are alike and under way at the same time. */
static void twins(void)
{
    struct tutti_kept kept = {.key = {0}};
    struct entry one, other;
    CHECK(!tutti_kept_put(&kept, 7, &one) && !tutti_kept_put(&kept, 7, &other), "twins displace each other");
    const void *const first = tutti_kept_take(&kept, 7), *const second = tutti_kept_take(&kept, 7);
    CHECK(first && second && first != second && !tutti_kept_take(&kept, 7), "twins are not found");
}

int main(void)
{
    const uint64_t seed = check_seed();
    uint64_t state = seed;
    printf("seed %llu\n", (unsigned long long)seed);
    twins();
    for (int trial = 0; trial < TRIALS && !check_failed(); trial++) {
        struct tutti_kept kept = {.key = {0}};
        const int n = 1 + (int)(random_next(&state) % MOST), alike = trial % 3 == 0;
        int left = 0;
        memset(entries, 0, sizeof entries);
        for (int i = 0; i < n; i++) /* alike: of one hash */
            do
                entries[i].key = random_next(&state);
            while (alike && tutti_kept_first(entries[i].key) != 5);
        const int missed = turns(&kept, n);
        CHECK(n > TUTTI_KEPT || missed == 0, "%d calls in turns: %d are not found", n, missed);
        CHECK(alike || missed < ROUNDS / 2 * n, "%d calls in turns: none is found", n);
        for (int i = 0; i < n; i++) {
            give_back(tutti_kept_take(&kept, entries[i].key));
            left += entries[i].there;
        }
        CHECK(left == 0, "%d entries are lost", left);
    }
    return check_failed() ? 1 : 0;
}

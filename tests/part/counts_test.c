/* Counts of device requests: counts that are taken are 0, and belong to one owner. Random owners take and give, some
 * leave other words behind. TUTTI_TEST_SEED, TUTTI_TEST_ROUNDS. */
#include "part/counts.h"

#include <stdio.h>
#include <string.h>

#include "core/status.h"
#include "device/device.h"
#include "support/check.h"
#include "support/random.h"

enum { OWNERS = 48, FEW = 40, SLAB = 2048, MOST = 5000 };

static struct owner {
    struct tutti_part_counts *counts;
    struct tutti_prequest_count *memory;
    int n;
} owners[OWNERS];

static int owner_is_clear(const struct owner *o)
{
    static const struct tutti_prequest_count zeros;
    int clear = 1;
    for (int i = 0; i < o->n; i++)
        clear &= memcmp(&o->memory[i], &zeros, sizeof zeros) == 0;
    return clear;
}

static void owner_take(struct owner *o, uint64_t *state)
{
    const uint64_t kind = random_next(state) % 16;
    o->n = kind == 0 ? MOST : kind == 1 ? SLAB : 1 + (int)(random_next(state) % FEW);
    o->counts = tutti_part_counts_take(0, o->n);
    if (!CHECK(o->counts != NULL, "no counts"))
        return;
    o->memory = tutti_part_counts_memory(o->counts);
    CHECK(owner_is_clear(o), "%d counts that are taken are not 0", o->n);
    for (const struct owner *other = owners; other < owners + OWNERS; other++)
        CHECK(other == o || !other->counts || other->memory + other->n <= o->memory ||
                  o->memory + o->n <= other->memory,
              "two owners have the same counts");
    memset(o->memory, 0x5a, (size_t)o->n * sizeof *o->memory);
}

static void owner_give(struct owner *o, uint64_t *state)
{
    const uint64_t how = random_next(state) % 4;
    if (how == 0) {
        CHECK(tutti_part_counts_clear(o->counts) == TUTTI_OK && owner_is_clear(o), "counts that were cleared");
    } else if (how > 1) {
        memset(o->memory, 0, (size_t)o->n * sizeof *o->memory);
    }
    tutti_part_counts_give(o->counts, how != 1);
    o->counts = NULL;
}

int main(void)
{
    uint64_t state = check_seed();
    const long rounds = check_setting("TUTTI_TEST_ROUNDS", 3000);
    printf("seed %llu\n", (unsigned long long)check_seed());
    if (!CHECK(tutti_device() != NULL, "no device"))
        return 1;
    for (long i = 0; i < rounds && !check_failed(); i++) {
        struct owner *o = &owners[random_next(&state) % OWNERS];
        if (o->counts)
            owner_give(o, &state);
        else
            owner_take(o, &state);
        if (random_next(&state) % 500 == 0)
            tutti_part_counts_close();
    }
    for (struct owner *o = owners; o < owners + OWNERS; o++) {
        if (o->counts)
            owner_give(o, &state);
    }
    tutti_part_counts_give(NULL, 1);
    tutti_part_counts_close();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

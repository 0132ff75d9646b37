/* How partitions of reductions go by the rules of `partitioned_meet`: of more than eight partitions, each counts as its
 * share of eight. The oracle divides in another order, over random sizes. Seed: TUTTI_TEST_SEED. */
#include <stdint.h>
#include <stdio.h>

#include "part/coll/own.h"
#include "rules/rules.h"
#include "support/check.h"
#include "support/random.h"

enum { LIMIT = 48 << 10, DRAWN = 20000 };

/* The rule is kernel for up to LIMIT bytes. */
static enum tutti_pcoll_meets expected(uint64_t bytes, uint64_t partitions)
{
    const uint64_t shares = partitions > 8 ? partitions : 8;
    return bytes * 8 <= (uint64_t)LIMIT * shares ? TUTTI_PCOLL_MEET_KERNEL : TUTTI_PCOLL_MEET_ENGINE;
}

int main(void)
{
    char wrong[256] = "";
    uint64_t state = check_seed();
    printf("meets: seed %llu\n", (unsigned long long)state);
    CHECK(tutti_rules_set("partitioned_meet: 0-48k@kernel *@engine", wrong, sizeof wrong) == TUTTI_OK, "rules: %s",
          wrong);
    CHECK(tutti_pcoll_meets(LIMIT + 1, 1) == TUTTI_PCOLL_MEET_ENGINE, "one partition above the limit");
    CHECK(tutti_pcoll_meets(LIMIT, 8) == TUTTI_PCOLL_MEET_KERNEL, "eight partitions of the limit");
    CHECK(tutti_pcoll_meets(128 << 10, 128) == TUTTI_PCOLL_MEET_KERNEL, "128 partitions of 128 KiB");
    CHECK(tutti_pcoll_meets(4 << 20, 4) == TUTTI_PCOLL_MEET_ENGINE, "four partitions of 4 MiB");
    CHECK(tutti_pcoll_meets((uint64_t)1 << 40, INT32_MAX) == TUTTI_PCOLL_MEET_KERNEL, "2^31 - 1 partitions of 1 TiB");
    for (int i = 0; i < DRAWN; i++) {
        const uint64_t partitions = 1 + random_next(&state) % (i % 2 ? 16 : 4096);
        const uint64_t bytes = 1 + random_next(&state) % ((uint64_t)LIMIT * (1 + partitions / 4));
        const enum tutti_pcoll_meets way = tutti_pcoll_meets(bytes, (int)partitions);
        CHECK(way == expected(bytes, partitions), "%llu partitions of %llu bytes: way %d",
              (unsigned long long)partitions, (unsigned long long)bytes, (int)way);
    }
    printf("meets: %ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

/* Launches of packets in which each thread has one unit at most (tutti_runs_few()): random lengths and launches against
 * parts that are counted one by one, as kernels cut runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/move/runs.h"
#include "support/check.h"

static uint64_t dice;

static uint64_t draw(uint64_t most)
{
    dice = dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (dice >> 33) % (most + 1);
}

/* Grains of the longest part of a run of n bytes: blocks take whole grains in turn. */
static uint64_t grains_of(const struct tutti_runs *runs, uint64_t n)
{
    uint64_t part[256] = {0}, parts = 0, most = 0;
    for (uint64_t at = 0; at < n && parts < runs->blocks; at += runs->worth)
        parts++;
    for (uint64_t at = 0, block = 0; at < n; at += runs->grain, block = (block + 1) % parts)
        part[block]++;
    for (int b = 0; b < 256; b++)
        most = part[b] > most ? part[b] : most;
    return most;
}

static uint64_t length(const struct tutti_runs *runs)
{
    switch (draw(4)) {
    case 0:
        return 0;
    case 1:
        return draw(100);
    case 2: /* around parts */
        return (1 + draw(2 * runs->blocks)) * runs->worth / (1 + draw(3)) + draw(2) - 1;
    case 3:
        return draw(3) * runs->worth + draw(1);
    default:
        return draw(400000);
    }
}

int main(void)
{
    const uint64_t seed = check_seed();
    int few = 0;
    dice = seed;
    printf("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 20000; i++) {
        struct tutti_move_flow flow;
        const int n = 1 + (int)draw(TUTTI_MAX_GPUS - 1), own = (int)draw((uint64_t)n - 1);
        const unsigned grain = draw(1) ? 512 : 480;
        const struct tutti_runs runs = {.grain = draw(20) ? grain : 0,
                                        .worth = grain * (1 + draw(3)),
                                        .blocks = 1 + (unsigned)draw(131),
                                        .threads = 32 * (1 + (unsigned)draw(15))};
        const uint64_t each = length(&runs);
        const int alike = draw(1) != 0;
        int one = runs.grain > 0 && n > 1;
        memset(&flow, 0, sizeof flow);
        for (int r = 0; r < n; r++) {
            flow.send[r].bytes = runs.grain == 0 ? 8 : alike ? each : length(&runs);
            flow.receive[r].bytes = runs.grain == 0 ? 8 : alike ? each : length(&runs);
            if (r == own || !one)
                continue;
            /* Warps take turns over the peers, and a warp packs a grain at once. */
            one &= grains_of(&runs, flow.send[r].bytes) * (unsigned)(n - 1) <= runs.threads / 32;
            one &= grains_of(&runs, flow.receive[r].bytes) * (unsigned)(n - 1) <= runs.threads / 32;
            one &= runs.threads / 32 >= (unsigned)(n - 1);
        }
        CHECK(tutti_runs_few(&runs, &flow, n, own) == one, "launch %d: %d participants, %u threads, %u blocks", i, n,
              runs.threads, runs.blocks);
        few += one;
    }
    CHECK(few > 1000 && few < 19000, "%d of 20000 have one unit a thread", few);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

/* Places of the scratch of messages, against a list that is searched from the beginning: no two overlap, a place is
 * found where a gap is long enough, and of messages that end in the order in which they began a search takes a few
 * steps however many are open. TUTTI_TEST_ROUNDS, TUTTI_TEST_SEED. */
#include <stdio.h>

#include "support/check.h"
#include "support/random.h"
#include "team/endpoint/endpoint_own.h"

enum { BYTES = 1 << 20, GPUS = 2, STEPS_MOST = 3 };

static struct tutti_endpoint endpoint;

static int overlaps(int gpu, uint64_t at, uint64_t bytes, int but)
{
    for (int i = 0; i < TUTTI_RNDVS; i++) {
        const struct tutti_endpoint_piece *piece = &endpoint.piece[i];
        if (i != but && piece->bytes && piece->gpu == gpu && at < piece->at + piece->bytes && piece->at < at + bytes)
            return 1;
    }
    return 0;
}

/* 1 if a gap is long enough: one begins at 0, or where a place ends. */
static int fits(int gpu, uint64_t bytes)
{
    int found = bytes <= BYTES && !overlaps(gpu, 0, bytes, -1);
    for (int i = 0; i < TUTTI_RNDVS && !found; i++) {
        const struct tutti_endpoint_piece *piece = &endpoint.piece[i];
        const uint64_t end = piece->at + piece->bytes;
        found = piece->bytes && piece->gpu == gpu && end + bytes <= BYTES && !overlaps(gpu, end, bytes, -1);
    }
    return found;
}

static void at_random(long rounds, uint64_t *state)
{
    long found = 0, missed = 0;
    for (long round = 0; round < rounds; round++) {
        const int i = (int)(random_next(state) % TUTTI_RNDVS);
        const uint64_t most = round % 3000 < 1500 ? 8000 : 60000, bytes = 1 + random_next(state) % most;
        struct tutti_endpoint_piece *piece = &endpoint.piece[i];
        if (piece->bytes) {
            tutti_endpoint_place_give(&endpoint, i);
            CHECK(piece->bytes == 0, "a place that was given back has bytes");
            continue;
        }
        piece->gpu = (int)(random_next(state) % GPUS);
        const int there = fits(piece->gpu, bytes), taken = tutti_endpoint_place_take(&endpoint, i, bytes);
        CHECK(taken == there, "round %ld: a place of %llu bytes %s", round, (unsigned long long)bytes,
              there ? "is not found" : "is found where there is none");
        if (taken)
            CHECK(piece->bytes == bytes && piece->at + bytes <= BYTES && !overlaps(piece->gpu, piece->at, bytes, i),
                  "round %ld: a place overlaps another one", round);
        found += taken;
        missed += !taken;
    }
    CHECK(found > 0 && missed > 0, "%ld places found, %ld not", found, missed);
    for (int i = 0; i < TUTTI_RNDVS; i++)
        tutti_endpoint_place_give(&endpoint, i);
    CHECK(endpoint.gpu[0].first == 0 && endpoint.gpu[1].first == 0, "places are left");
}

/* As many open as there may be; each new one takes the number of the oldest. */
static void in_order(int messages, uint64_t *state)
{
    for (int i = 0; i < TUTTI_RNDVS; i++)
        endpoint.piece[i].gpu = 0;
    endpoint.gpu[0].steps = 0;
    for (int m = 0; m < messages; m++) {
        const int i = m % TUTTI_RNDVS;
        tutti_endpoint_place_give(&endpoint, i);
        CHECK(tutti_endpoint_place_take(&endpoint, i, 1 + random_next(state) % (BYTES / TUTTI_RNDVS / 2)), "no place");
    }
    CHECK(endpoint.gpu[0].steps <= (uint64_t)STEPS_MOST * (uint64_t)messages, "%llu steps for %d messages",
          (unsigned long long)endpoint.gpu[0].steps, messages);
}

int main(void)
{
    uint64_t state = check_seed();
    endpoint.bytes = BYTES;
    at_random(check_many("TUTTI_TEST_ROUNDS", 30000), &state);
    in_order(10000, &state);
    printf("places of scratch: %ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

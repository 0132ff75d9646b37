/* Random types against their type maps: fuzz CASES [SECONDS]. Both limits hold; 0: none. TUTTI_TEST_SEED says where the
 * cases begin; every case has a seed of its own, which a failure shows. */
#include "core/clock.h"
#include "dtype/check_type.h"
#include "support/check.h"
#include "support/random.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    uint64_t cases = argc > 1 ? strtoull(argv[1], NULL, 0) : 1000;
    uint64_t seconds = argc > 2 ? strtoull(argv[2], NULL, 0) : 0;
    uint64_t seed = check_seed(), begin = tutti_now_ns(), done = 0, bad = 0;
    printf("seed %ju\n", (uintmax_t)seed);
    while ((cases == 0 || done < cases) && bad < 5) {
        if (seconds > 0 && done % 64 == 0 && tutti_now_ns() - begin > seconds * 1000000000u)
            break;
        static struct any_room room;
        uint64_t state = random_mix(seed + done), counts[] = {0, 1, 1, 2, 3, 17};
        unsigned depth = (unsigned)(random_next(&state) % 5);
        any_type what = any_random(&room, &state, depth, random_next(&state) % 16 ? 200 : 4000);
        if (!check_type(what, counts[random_next(&state) % 6], &state)) {
            fprintf(stderr, "the case of TUTTI_TEST_SEED=%ju\n", (uintmax_t)(seed + done));
            bad++;
        }
        any_free(&room);
        done++;
    }
    double took = (double)(tutti_now_ns() - begin) * 1e-9;
    printf("%ju cases, %ju differ, %.0f a second\n", (uintmax_t)done, (uintmax_t)bad, (double)done / took);
    return bad > 0;
}

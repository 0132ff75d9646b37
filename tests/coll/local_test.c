/* Local reductions: every pair of type and operator against a plain computation, in and out at any address, in memory
 * of the device and of the host, from several threads at once. No team, no transport. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "coll/coll.h"
#include "core/status.h"
#include "device/device.h"
#include "support/check.h"
#include "support/oracle.h"
#include "support/random.h"
#include "tutti/tutti.h"

enum { THREADS = 3, GUARD = 64, MOST = 120000, ROOM = MOST + 4 * GUARD, LEFT = 0x5e };

static uint64_t seed;
static int rounds;

struct rooms {
    char *in, *out; /* device */
    unsigned char *host_in, *host_out, *kept_in, *expected, *left;
};

static void one(struct rooms *b, uint64_t *dice, int type, int op)
{
    static const size_t counts[] = {1, 2, 3, 7, 16, 31, 100, 1000, 4097, MOST / 16};
    static const size_t shifts[] = {0, 0, 1, 2, 4, 8, 24};
    const struct oracle_case what = {
        .type = type, .op = op, .mode = random_next(dice) % 2 ? ORACLE_HARD : ORACLE_PLAIN, .seed = random_next(dice)};
    size_t size = tutti_type_size(type), count = counts[random_next(dice) % 10];
    size_t in_at = GUARD + shifts[random_next(dice) % 7], out_at = GUARD + shifts[random_next(dice) % 7];
    int host_in = random_next(dice) % 4 == 0, host_out = random_next(dice) % 4 == 0;
    memset(b->kept_in, LEFT, ROOM);
    memset(b->expected, LEFT, ROOM);
    oracle_fill(b->kept_in + in_at, &what, 0, 0, count);
    oracle_fill(b->expected + out_at, &what, 1, 0, count);
    memcpy(b->host_in, b->kept_in, ROOM);
    memcpy(b->host_out, b->expected, ROOM);
    CHECK(tutti_copy(b->in, b->kept_in, ROOM) == 0 && tutti_copy(b->out, b->expected, ROOM) == 0, "copy in");
    memcpy(b->left, b->kept_in + in_at, count * size);
    const void *operands[] = {b->left, b->expected + out_at};
    oracle_reduce(b->expected + out_at, &what, 2, operands, count);

    int status =
        tutti_reduce_local(random_next(dice) % 2 ? -1 : 0, host_in ? (char *)b->host_in + in_at : b->in + in_at,
                           host_out ? (char *)b->host_out + out_at : b->out + out_at, count, type, op);
    CHECK(status == TUTTI_OK, "%s of %s: %s", tutti_op_name(op), tutti_type_name(type), tutti_status_text(status));
    if (!host_out)
        CHECK(tutti_copy(b->host_out, b->out, ROOM) == 0, "copy out");
    if (!host_in)
        CHECK(tutti_copy(b->host_in, b->in, ROOM) == 0, "copy out");
    CHECK(memcmp(b->host_out, b->expected, ROOM) == 0, "seed %llu: %s of %zu %s at %zu and %zu: wrong",
          (unsigned long long)seed, tutti_op_name(op), count, tutti_type_name(type), in_at, out_at);
    CHECK(memcmp(b->host_in, b->kept_in, ROOM) == 0, "%s of %s: the operand changed", tutti_op_name(op),
          tutti_type_name(type));
}

static void *thread_main(void *at)
{
    uint64_t dice = random_mix(seed + *(const uint64_t *)at);
    struct rooms b = {NULL, NULL, malloc(ROOM), malloc(ROOM), malloc(ROOM), malloc(ROOM), malloc(ROOM)};
    CHECK(tutti_alloc(ROOM, (void **)&b.in) == 0 && tutti_alloc(ROOM, (void **)&b.out) == 0, "alloc");
    for (int round = 0; round < rounds; round++) {
        for (int type = 0; type < TUTTI_TYPES; type++) {
            for (int op = 0; op < TUTTI_OPS; op++) {
                if (tutti_has_kernel(type, op))
                    one(&b, &dice, type, op);
            }
        }
    }
    tutti_free(b.in);
    tutti_free(b.out);
    free(b.host_in);
    free(b.host_out);
    free(b.kept_in);
    free(b.expected);
    free(b.left);
    return NULL;
}

/* What all these tests compare with: elements from any place on are the same when they are made alone, and few are
 * equal to those of any distance, also where the values come again. */
static void expected_differ(void)
{
    enum { N = 3 * ORACLE_PERIOD, SOME = 50 };
    static double all[N], some[SOME];
    const struct oracle_case what = {.type = TUTTI_TYPE_F64, .seed = seed};
    const size_t distances[] = {1, ORACLE_PERIOD - 1, ORACLE_PERIOD, 4096, 2 * ORACLE_PERIOD};
    oracle_fill(all, &what, 1, 0, N);
    for (size_t first = 0; first + SOME <= N; first += 997) {
        oracle_fill(some, &what, 1, first, SOME);
        CHECK(memcmp(some, all + first, sizeof some) == 0, "elements from %zu on", first);
    }
    for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
        size_t equal = 0;
        for (size_t i = 0; i + distances[d] < N; i++)
            equal += all[i] == all[i + distances[d]];
        CHECK(equal < (N - distances[d]) / 10, "%zu elements are equal to those %zu further", equal, distances[d]);
    }
}

int main(void)
{
    pthread_t threads[THREADS];
    uint64_t numbers[THREADS];
    seed = check_seed();
    rounds = (int)check_many("TUTTI_TEST_ROUNDS", 3);
    printf("seed %llu\n", (unsigned long long)seed);
    fflush(stdout);
    char nothing[16];
    expected_differ();
    CHECK(tutti_reduce_local(-1, nothing, nothing, 0, TUTTI_TYPE_U8, TUTTI_OP_SUM) == TUTTI_OK, "nothing to do");
    for (int t = 0; t < THREADS; t++) {
        numbers[t] = (uint64_t)(unsigned)t;
        if (pthread_create(&threads[t], NULL, thread_main, &numbers[t]) != 0)
            return 2;
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    CHECK(tutti_reduce_local(4096, nothing, nothing, 1, TUTTI_TYPE_U8, TUTTI_OP_SUM) == TUTTI_ERR_UNAVAILABLE,
          "no GPU");
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

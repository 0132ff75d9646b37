/* Copies through pinned memory (tutti_pack_through) on the host device: many jobs of any length at once, and no others
 * than between runs of bytes. through_test [seed [ROUNDS]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/status.h"
#include "dtype/pack.h"
#include "support/check.h"
#include "support/random.h"

enum { ROOM = 24 << 20, MOST = 16 << 20, PIECES = 1600 << 10, GUARD = 32, JOBS = 64 };

static uint64_t state;
static char *memory[2], *want, *seen; /* from, to: device memory */

static struct tutti_pack_job job_of(enum tutti_direction direction, size_t from, size_t to, size_t bytes)
{
    const struct tutti_plan *byte = tutti_plan_of_byte();
    return (struct tutti_pack_job){.direction = direction,
                                   .plan = byte,
                                   .count = bytes,
                                   .memory = direction == TUTTI_UNPACK ? memory[1] + to : memory[0] + from,
                                   .packed = direction == TUTTI_UNPACK ? memory[0] + from : memory[1] + to,
                                   .to_plan = byte,
                                   .to_count = bytes,
                                   .to = memory[1] + to,
                                   .bytes = bytes};
}

static size_t any_length(void)
{
    const uint64_t kind = random_next(&state) % 8;
    return random_next(&state) % (kind < 4 ? 40 : kind < 7 ? 9000 : PIECES);
}

static void one(unsigned n)
{
    struct tutti_pack_job jobs[JOBS];
    size_t at = 0, all = 0;
    for (size_t i = 0; i < ROOM; i += 8)
        *(uint64_t *)(void *)(want + i) = random_next(&state);
    CHECK(tutti_device()->memory.copy_now(memory[0], want, ROOM) == TUTTI_OK, "a copy fails");
    memset(seen, 0x3c, ROOM);
    CHECK(tutti_device()->memory.copy_now(memory[1], seen, ROOM) == TUTTI_OK, "a copy fails");
    memcpy(seen, want, ROOM);
    memset(want, 0x3c, ROOM);
    for (unsigned i = 0; i < n; i++) {
        static const enum tutti_direction directions[] = {TUTTI_PACK, TUTTI_UNPACK, TUTTI_RELAYOUT};
        size_t bytes = any_length();
        bytes = all + bytes > MOST / 2 ? 1 : bytes;
        const size_t from = random_next(&state) % (ROOM - bytes), to = at + random_next(&state) % GUARD;
        jobs[i] = job_of(directions[random_next(&state) % 3], from, to, bytes);
        memcpy(want + to, seen + from, bytes);
        at = to + bytes;
        all += bytes;
    }
    CHECK(tutti_pack_through(0, jobs, n, 1) == TUTTI_OK, "%u copies fail", n);
    CHECK(tutti_device()->memory.copy_now(seen, memory[1], ROOM) == TUTTI_OK, "a copy fails");
    CHECK(memcmp(seen, want, ROOM) == 0, "%u copies of %zu bytes in all are wrong", n, all);
}

int main(int argc, char **argv)
{
    const long rounds = argc > 2 ? atol(argv[2]) : 20;
    state = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    want = malloc(ROOM);
    seen = malloc(ROOM);
    for (int i = 0; i < 2; i++)
        CHECK(tutti_device()->memory.alloc(0, ROOM, (void **)&memory[i]) == TUTTI_OK, "no memory");
    for (long i = 0; i < rounds; i++)
        one(i % 2 ? 1 : 2 + (unsigned)(random_next(&state) % (JOBS - 1)));
    struct tutti_pack_job job = job_of(TUTTI_PACK, 0, 0, MOST + 1);
    CHECK(tutti_pack_through(0, &job, 1, 1) == TUTTI_ERR_UNAVAILABLE, "more than 16 MiB at once");
    const struct tutti_description byte = {.form = TUTTI_FORM_BYTES, .bytes = 1}, *child = &byte;
    const struct tutti_description gaps = {.form = TUTTI_FORM_RESIZED, .children = 1, .child = &child, .extent = 2};
    const struct tutti_plan *spaced;
    CHECK(tutti_plan_build(&gaps, &spaced) == TUTTI_OK, "no plan");
    job = job_of(TUTTI_PACK, 0, 0, 100);
    job.plan = spaced;
    CHECK(tutti_pack_through(0, &job, 1, 1) == TUTTI_ERR_UNAVAILABLE, "bytes with gaps are no run");
    tutti_plan_drop(spaced);
    for (int i = 0; i < 2; i++)
        tutti_device()->memory.free(memory[i]);
    free(want);
    free(seen);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

/* Packing of random types, as plans make them, in memory of all kinds: by kernels, by the host's way and straight from
 * one layout into another, against a naive walk. Then by several threads at once.
 *
 * dtype-pack [seed [cases]] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/status.h"
#include "describe_any.h"
#include "kernels/pack_kit.h"

enum { ENTRIES = 600, SPAN_MOST = 4 << 20, THREADS = 4 };

static uint64_t dice(uint64_t *state, uint64_t n)
{
    return random_next(state) % n;
}

static const struct tutti_plan *random_plan(uint64_t *state)
{
    struct any_room room = {0};
    const struct tutti_plan *plan = NULL;
    any_type what = any_random(&room, state, 4, ENTRIES);
    if (!CHECK(tutti_plan_build(what, &plan) == TUTTI_OK, "a plan could not be built"))
        plan = NULL;
    any_free(&room);
    return plan;
}

/* Elements so that what they span stays small; 0 if one is too large. */
static uint64_t count_of(uint64_t *state, const struct tutti_plan *plan)
{
    const int64_t span = plan->true_end - plan->true_lower, extent = plan->extent < 0 ? -plan->extent : plan->extent;
    if (span > SPAN_MOST || plan->size == 0)
        return 0;
    const uint64_t most = extent > 0 ? (uint64_t)((SPAN_MOST - span) / extent) + 1 : 3;
    return 1 + dice(state, most < 40 ? most : 40);
}

/* At unpack elements may overlap: that is not allowed and not looked at. */
static int overlaps(const struct tutti_plan *plan, uint64_t count)
{
    const int64_t extent = plan->extent < 0 ? -plan->extent : plan->extent;
    return plan->overlaps || (count > 1 && extent < plan->true_end - plan->true_lower);
}

static enum kit_memory any_memory(uint64_t *state)
{
    return (enum kit_memory)dice(state, tutti_device()->reaches_host ? 3 : 2);
}

static void one(uint64_t *state)
{
    const struct tutti_plan *plan = random_plan(state);
    const uint64_t count = plan ? count_of(state, plan) : 0;
    if (count > 0) {
        struct kit_layout layout;
        kit_of_plan(&layout, plan);
        for (int k = 0; k < 4; k++) {
            const uint64_t total = plan->size * count;
            struct kit_case test = {.layout = &layout,
                                    .count = count,
                                    .bytes = total,
                                    .direction = k % 2 ? TUTTI_UNPACK : TUTTI_PACK,
                                    .memory = any_memory(state),
                                    .packed = any_memory(state),
                                    .now = (int)dice(state, 2)};
            if (k % 2 && overlaps(plan, count))
                continue;
            if (dice(state, 2)) {
                test.memory_off = (unsigned)dice(state, 16);
                test.packed_off = (unsigned)dice(state, 16);
            }
            if (k > 1) {
                test.first = dice(state, total);
                test.bytes = 1 + dice(state, total - test.first);
            }
            kit_check(&test, "random type");
        }
        kit_free(&layout);
    }
    if (plan)
        tutti_plan_drop(plan);
}

static void pair(uint64_t *state)
{
    const struct tutti_plan *from = random_plan(state), *to = random_plan(state);
    if (from && to && count_of(state, from) && count_of(state, to)) {
        const uint64_t count = to->size, to_count = from->size, total = count * from->size;
        struct kit_layout layout, to_layout;
        kit_of_plan(&layout, from);
        kit_of_plan(&to_layout, to);
        const struct kit_case test = {.layout = &layout,
                                      .to_layout = &to_layout,
                                      .count = count,
                                      .to_count = to_count,
                                      .first = total / 3,
                                      .bytes = total - total / 3,
                                      .direction = TUTTI_RELAYOUT,
                                      .memory = any_memory(state),
                                      .packed = any_memory(state),
                                      .now = (int)dice(state, 2)};
        const int64_t spans = (llabs(from->extent) * (int64_t)count) | (llabs(to->extent) * (int64_t)to_count);
        if (spans < SPAN_MOST && !overlaps(to, to_count))
            kit_check(&test, "from one random type into another");
        kit_free(&layout);
        kit_free(&to_layout);
    }
    if (from)
        tutti_plan_drop(from);
    if (to)
        tutti_plan_drop(to);
}

static const struct tutti_plan *shared_plan;

static void *thread_main(void *with)
{
    uint64_t state = (uint64_t)(uintptr_t)with;
    struct kit_layout layout;
    kit_of_plan(&layout, shared_plan);
    for (int i = 0; i < 60; i++) {
        const uint64_t count = 1 + dice(&state, 3);
        const struct kit_case test = {.layout = &layout,
                                      .count = count,
                                      .bytes = shared_plan->size * count,
                                      .direction = i % 2 ? TUTTI_UNPACK : TUTTI_PACK,
                                      .now = 1};
        kit_check(&test, "several threads");
    }
    kit_free(&layout);
    return NULL;
}

static void together(uint64_t *state)
{
    enum { BLOCKS = 3000 };
    struct any_room room = {0};
    int64_t offsets[BLOCKS];
    uint64_t lengths[BLOCKS];
    pthread_t thread[THREADS];
    int64_t at = 0;
    for (int i = 0; i < BLOCKS; i++) {
        lengths[i] = 1 + dice(state, 9);
        offsets[i] = at;
        at += (int64_t)(lengths[i] + dice(state, 5)) * 4;
    }
    any_type what = any_indexed(&room, BLOCKS, lengths, 0, offsets, any_bytes(&room, 4));
    if (CHECK(tutti_plan_build(what, &shared_plan) == TUTTI_OK, "a plan could not be built")) {
        for (uintptr_t i = 0; i < THREADS; i++)
            CHECK(pthread_create(&thread[i], NULL, thread_main, (void *)(i * 1000 + 1)) == 0, "a thread");
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        tutti_plan_drop(shared_plan);
    }
    any_free(&room);
}

int main(int argc, char **argv)
{
    int status = kit_open();
    if (status != 0)
        return status;
    const uint64_t seed = argc > 1 && atoll(argv[1]) ? (uint64_t)atoll(argv[1]) : check_seed();
    const long cases = argc > 2 ? atol(argv[2]) : 2000;
    for (long i = 0; i < cases && check_failed() == 0; i++) {
        uint64_t state = random_mix(seed + (uint64_t)i);
        one(&state);
        if (i % 4 == 0)
            pair(&state);
        if (check_failed())
            fprintf(stderr, "dtype-pack %llu 1 shows it\n", (unsigned long long)(seed + (uint64_t)i));
    }
    uint64_t state = seed;
    together(&state);
    kit_close();
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() > 0 || check_done() == 0;
}

/* Plans from several threads: the same layouts are built, held and dropped by all of them at once. */
#include "dtype/check_type.h"

#include "core/status.h"
#include "support/check.h"
#include "support/random.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { THREADS = 4, LAYOUTS = 40, ROUNDS = 400 };

static _Atomic uint64_t freed, freed_size;
static _Atomic(const struct tutti_plan *) kept[LAYOUTS];

static void forget(const struct tutti_plan *plan)
{
    atomic_fetch_add(&freed, 1);
    atomic_fetch_add(&freed_size, plan->size);
}

/* Layout `which`, in one of three ways: a vector, blocks at places, irregular rows. */
static any_type layout(struct any_room *room, unsigned which, unsigned way)
{
    any_type byte = any_bytes(room, 4);
    int64_t offsets[40];
    for (unsigned i = 0; i < 40; i++)
        offsets[i] = (int64_t)i * (8 + which) + (which % 3 == 2 ? (int64_t)(i * i) : 0);
    if (way == 0 && which % 3 != 2)
        return any_vector(room, 40, 1, 8 + which, byte);
    return any_indexed(room, 40, NULL, way == 1 ? 1 : 4, offsets, way == 1 ? byte : any_bytes(room, 1));
}

static void *work(void *arg)
{
    uint64_t state = 1000u * (unsigned)(uintptr_t)arg;
    for (int i = 0; i < ROUNDS; i++) {
        struct any_room room = {0};
        const struct tutti_plan *plan = NULL;
        unsigned which = (unsigned)(random_next(&state) % LAYOUTS), way = (unsigned)(random_next(&state) % 3);
        if (CHECK(tutti_plan_build(layout(&room, which, way), &plan) == TUTTI_OK, "a layout of thread %p", arg)) {
            const struct tutti_plan *first = atomic_load(&kept[which]);
            CHECK(first == plan, "layout %u by way %u is another plan", which, way);
            const struct tutti_plan *again = tutti_plan_hold(plan);
            CHECK(again->size == 160, "%ju bytes", (uintmax_t)again->size);
            tutti_plan_drop(plan);
            tutti_plan_drop(again);
        }
        /* One that nobody holds meanwhile comes and goes. */
        if (CHECK(tutti_plan_build(any_vector(&room, 3 + i % 7, 1, 100, any_bytes(&room, 8)), &plan) == TUTTI_OK,
                  "a vector"))
            tutti_plan_drop(plan);
        any_free(&room);
    }
    return NULL;
}

int main(void)
{
    struct any_room room = {0};
    pthread_t thread[THREADS];
    tutti_plan_at_free(forget);
    for (unsigned i = 0; i < LAYOUTS; i++) {
        const struct tutti_plan *plan = NULL;
        CHECK(tutti_plan_build(layout(&room, i, 0), &plan) == TUTTI_OK, "layout %u", i);
        atomic_store(&kept[i], plan);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        if (pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i + 1)) != 0)
            return 2;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    atomic_store(&freed, 0);
    atomic_store(&freed_size, 0);
    for (unsigned i = 0; i < LAYOUTS; i++)
        tutti_plan_drop(atomic_load(&kept[i]));
    CHECK(atomic_load(&freed) == LAYOUTS && atomic_load(&freed_size) == 160 * LAYOUTS,
          "%ju plans freed at the end, not %u", (uintmax_t)atomic_load(&freed), LAYOUTS);
    any_free(&room);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() > 0;
}

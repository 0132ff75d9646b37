/* The pool of bounce buffers under TUTTI_BOUNCE_MB=8: what is kept for which user, the limit, memory that cannot be
 * allocated. */
#include "bounce/kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "core/counters.h"
#include "core/status.h"
#include "device/device.h"
#include "support/check.h"
#include "support/random.h"

static struct tutti_bounce *take(const struct tutti_bounce_kind *kind, int gpu, size_t bytes)
{
    struct tutti_bounce *bounce = tutti_bounce_take(kind, gpu, bytes);
    if (bounce)
        assert_true(bounce->room >= bytes && bounce->room == kinds_head(bounce->memory)->bytes);
    return bounce;
}

/* Takes one, gives it back, and says where it was. */
static void *pass(const struct tutti_bounce_kind *kind, int gpu, size_t bytes)
{
    struct tutti_bounce *bounce = take(kind, gpu, bytes);
    assert_non_null(bounce);
    void *memory = bounce->memory;
    assert_int_equal(kinds_head(memory)->gpu, gpu);
    tutti_bounce_give(bounce);
    return memory;
}

/* ---- what is kept for whom ---- */

static void same_again(void **state)
{
    static const size_t sizes[] = {0, 1, 4096, 4097, 100000, MB - 1, MB + 1, 3 * MB + 12345};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    (void)state;
    for (int i = 0; i < SIZES; i++) {
        struct tutti_bounce *bounce = take(&kinds_strict, 0, sizes[i]);
        assert_non_null(bounce);
        memset(bounce->memory, 7, bounce->room);
        assert_true(bounce->room <= 4096 || bounce->room < 2 * sizes[i]);
        assert_true(sizes[i] < MB || bounce->room - sizes[i] <= sizes[i] / 8);
        void *memory = bounce->memory;
        tutti_bounce_give(bounce);
        assert_ptr_equal(pass(&kinds_strict, 0, sizes[i]), memory);
        tutti_bounce_close(1);
    }
}

/* tutti_bounce_take_kept() allocates nothing, and takes what serves. */
static void kept_alone(void **state)
{
    (void)state;
    assert_null(tutti_bounce_take_kept(&kinds_strict, 0, 60000));
    void *memory = pass(&kinds_strict, 0, 60000);
    assert_null(tutti_bounce_take_kept(&kinds_strict, 1, 60000));
    assert_null(tutti_bounce_take_kept(&kinds_loose, 0, 60000));
    assert_null(tutti_bounce_take_kept(&kinds_strict, 0, 200000));
    struct tutti_bounce *bounce = tutti_bounce_take_kept(&kinds_strict, 0, 50000);
    assert_non_null(bounce);
    assert_ptr_equal(bounce->memory, memory);
    assert_null(tutti_bounce_take_kept(&kinds_strict, 0, 60000));
    tutti_bounce_give(bounce);
    assert_ptr_equal(pass(&kinds_strict, 0, 60000), memory);
}

static void kept_apart(void **state)
{
    (void)state;
    void *of[2] = {pass(&kinds_strict, 0, 60000), pass(&kinds_strict, 1, 60000)}, *other = pass(&kinds_loose, 0, 60000);
    assert_true(of[0] != of[1] && of[0] != other && of[1] != other);
    for (int i = 0; i < 3; i++) {
        assert_ptr_equal(pass(&kinds_strict, 1, 60000), of[1]);
        assert_ptr_equal(pass(&kinds_loose, 0, 60000), other);
        assert_ptr_equal(pass(&kinds_strict, 0, 60000), of[0]);
    }
    struct tutti_bounce *two[2] = {take(&kinds_strict, 0, 60000), take(&kinds_strict, 0, 60000)};
    assert_ptr_equal(two[0]->memory, of[0]);
    assert_ptr_not_equal(two[1]->memory, of[0]);
    tutti_bounce_give(two[0]);
    tutti_bounce_give(two[1]);
}

/* So many that they share the pool's buckets. */
static void many_apart(void **state)
{
    enum { MANY = 300 };
    static struct tutti_bounce_kind kinds[MANY];
    struct tutti_bounce *bounce[2 * MANY];
    void *of[2 * MANY];
    (void)state;
    for (int i = 0; i < MANY; i++) {
        kinds[i] = kinds_strict;
        assert_non_null(bounce[i] = take(&kinds_strict, i, 4096));
        assert_non_null(bounce[MANY + i] = take(&kinds[i], 0, 4096));
    }
    for (int i = 0; i < 2 * MANY; i++) {
        of[i] = bounce[i]->memory;
        tutti_bounce_give(bounce[i]);
    }
    for (int i = 0; i < MANY; i++) {
        assert_ptr_equal(pass(&kinds_strict, i, 4096), of[i]);
        assert_ptr_equal(pass(&kinds[i], 0, 4096), of[MANY + i]);
    }
}

/* A larger one serves, if it is not much larger. */
static void near_sizes(void **state)
{
    (void)state;
    void *large = pass(&kinds_strict, 0, 2 * MB);
    assert_ptr_equal(pass(&kinds_strict, 0, MB), large);
    assert_ptr_equal(pass(&kinds_strict, 0, MB + 100000), large);
    assert_ptr_not_equal(pass(&kinds_strict, 0, 400000), large);
    assert_ptr_not_equal(pass(&kinds_strict, 0, 2 * MB + 1), large);
    void *small = pass(&kinds_strict, 0, 8192);
    assert_ptr_equal(pass(&kinds_strict, 0, 4096), small);
}

static void is_cleaned(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct tutti_bounce *bounce = take(&kinds_cleaned, -1, 5000);
        assert_int_equal(kinds_head(bounce->memory)->clean, 1);
        kinds_head(bounce->memory)->clean = 0;
        tutti_bounce_give(bounce);
    }
    assert_int_equal(kinds_counts().kept, 8192);
}

/* Whatever sizes a program uses, from the second time on nothing is allocated. */
static void steady(void **state)
{
    enum { N = 40 };
    struct tutti_bounce *bounce[N];
    uint64_t made = 0;
    (void)state;
    for (int round = 0; round < 5; round++) {
        uint64_t at = check_seed();
        for (int i = 0; i < N; i++)
            assert_non_null(bounce[i] =
                                take(i % 2 ? &kinds_strict : &kinds_loose, i % 3, 1 + random_next(&at) % 100000));
        for (int i = 0; i < N; i++)
            tutti_bounce_give(bounce[i]);
        if (round > 0)
            assert_int_equal(kinds_counts().made, made);
        made = kinds_counts().made;
        assert_int_equal(kinds_counts().held, kinds_counts().kept);
    }
}

/* ---- the limit ---- */

static void stays_below(void **state)
{
    struct tutti_bounce *bounce[4];
    (void)state;
    atomic_store(&kinds_over, 0);
    for (int i = 0; i < 4; i++)
        assert_non_null(bounce[i] = take(&kinds_strict, 0, 2 * MB));
    assert_null(take(&kinds_strict, 0, 1));
    assert_null(take(&kinds_strict, 1, 1));
    assert_null(take(&kinds_strict, 0, SIZE_MAX));
    assert_int_equal(kinds_counts().held, LIMIT);
    assert_int_equal(atomic_load(&kinds_over), 0);
    struct tutti_bounce *needed = take(&kinds_loose, -1, 3 * MB); /* which has no other way */
    assert_non_null(needed);
    assert_int_equal(kinds_counts().held, LIMIT + 3 * MB);
    assert_true(kinds_counts().most >= LIMIT + 3 * MB);
    tutti_bounce_give(needed);
    assert_int_equal(kinds_counts().held, LIMIT);
    for (int i = 0; i < 4; i++)
        tutti_bounce_give(bounce[i]);
    assert_int_equal(kinds_counts().kept, LIMIT);
}

/* Where there is no room left, what was used longest ago goes, of whatever kind. */
static void oldest_goes(void **state)
{
    (void)state;
    void *first = pass(&kinds_strict, 0, 3 * MB), *second = pass(&kinds_loose, 0, 3 * MB);
    assert_ptr_equal(pass(&kinds_strict, 0, 3 * MB), first); /* now the second one is the older */
    atomic_store(&kinds_last_freed, NULL);
    pass(&kinds_strict, 1, 4 * MB);
    assert_ptr_equal(atomic_load(&kinds_last_freed), second);
    assert_int_equal(kinds_counts().kept, 7 * MB);
    pass(&kinds_strict, 1, 8 * MB); /* all of it */
    assert_int_equal(kinds_counts().kept, 8 * MB);
}

/* What is refused drives nothing out. */
static void others_stay(void **state)
{
    (void)state;
    struct tutti_bounce *bounce = take(&kinds_strict, 0, 6 * MB);
    void *small = pass(&kinds_loose, 0, 2 * MB);
    assert_null(take(&kinds_strict, 1, 3 * MB));
    assert_int_equal(kinds_counts().kept, 2 * MB);
    assert_ptr_equal(pass(&kinds_loose, 0, 2 * MB), small);
    tutti_bounce_give(bounce);
}

/* More than the limit by itself: taken where it must be, never kept, and nothing else goes because of it. */
static void too_large(void **state)
{
    (void)state;
    void *small = pass(&kinds_loose, 0, 2 * MB);
    assert_null(take(&kinds_strict, 0, LIMIT + 1));
    struct tutti_bounce *bounce = take(&kinds_loose, 0, LIMIT + 1);
    assert_non_null(bounce);
    assert_int_equal(bounce->room, LIMIT + 4096);
    tutti_bounce_give(bounce);
    assert_int_equal(kinds_counts().held, 2 * MB);
    assert_ptr_equal(pass(&kinds_loose, 0, 2 * MB), small);
}

static void not_too_many(void **state)
{
    enum { MANY = 1100, MOST = 1024 };
    static struct tutti_bounce *bounce[MANY];
    (void)state;
    for (int i = 0; i < MANY; i++)
        assert_non_null(bounce[i] = take(&kinds_strict, 0, 4096));
    for (int i = 0; i < MANY; i++)
        tutti_bounce_give(bounce[i]);
    assert_int_equal(kinds_counts().kept, MOST * 4096);
    assert_int_equal(kinds_counts().held, MOST * 4096);
}

/* Many small pieces take few allocations, which are freed when their last piece has ended. */
static void shared(void **state)
{
    enum { MANY = 1500, FEW = 40 };
    static struct tutti_bounce *bounce[MANY];
    (void)state;
    const long before = atomic_load(&kinds_allocated), freed = atomic_load(&kinds_freed);
    for (int i = 0; i < MANY; i++) {
        assert_non_null(bounce[i] = tutti_bounce_take(&kinds_shared, 0, 4096));
        memset(bounce[i]->memory, i, bounce[i]->room);
    }
    const long made = atomic_load(&kinds_allocated) - before;
    assert_in_range(made, 9, 100);
    assert_in_range(kinds_counts().held, MANY * 4096, MANY * 4096 + MB);
    for (int i = 0; i < MANY; i++) {
        const unsigned char *byte = bounce[i]->memory;
        assert_true(byte[0] == (unsigned char)i && byte[4095] == (unsigned char)i);
        tutti_bounce_give(bounce[i]);
    }
    tutti_bounce_close(1);
    assert_int_equal(kinds_counts().held, 0);
    assert_int_equal(atomic_load(&kinds_freed) - freed, made);
    for (int i = 0; i < FEW; i++) { /* one piece where there is no memory for several */
        atomic_store(&kinds_fail, i > FEW / 2);
        assert_non_null(bounce[i] = tutti_bounce_take(&kinds_shared, 0, 4096));
        atomic_store(&kinds_fail, 0);
    }
    for (int i = 0; i < FEW; i++)
        tutti_bounce_give(bounce[i]);
    tutti_bounce_close(1);
}

/* ---- memory that cannot be had ---- */

static void fails(void **state)
{
    (void)state;
    atomic_store(&kinds_fail, 2);
    assert_null(take(&kinds_loose, 0, 100000));
    assert_int_equal(atomic_load(&kinds_fail), 1); /* nothing was kept, so there was no reason to try again */
    atomic_store(&kinds_fail, 0);
    assert_int_equal(kinds_counts().held, 0);
    pass(&kinds_loose, 0, 50000);
    pass(&kinds_strict, 1, 50000);
    atomic_store(&kinds_fail, 1); /* what was kept is given up for it */
    const long before = atomic_load(&kinds_freed);
    struct tutti_bounce *bounce = take(&kinds_loose, 0, 100000);
    assert_non_null(bounce);
    assert_int_equal(atomic_load(&kinds_freed), before + 2);
    assert_int_equal(kinds_counts().held, bounce->room);
    pass(&kinds_strict, 1, 50000);
    atomic_store(&kinds_fail, 2);
    assert_null(take(&kinds_strict, 0, 100000));
    assert_int_equal(atomic_load(&kinds_fail), 0);
    assert_int_equal(kinds_counts().held, bounce->room);
    tutti_bounce_give(bounce);
}

static void device_gone(void **state)
{
    (void)state;
    void *memory = pass(&kinds_strict, 0, 5000);
    const long before = atomic_load(&kinds_freed);
    tutti_bounce_close(0);
    assert_int_equal(kinds_counts().held, 0);
    assert_int_equal(atomic_load(&kinds_freed), before);
    kinds_free(memory);
}

/* ---- the kinds of a device ---- */

static long counted(const char *how)
{
    struct tutti_counter rows[64];
    char text[112];
    const int n = tutti_counters_read(rows, 64);
    snprintf(text, sizeof text, "bounce buffers|allocated|%s", how);
    for (int i = 0; i < n && i < 64; i++) {
        if (strcmp(rows[i].text, text) == 0)
            return (long)rows[i].count;
    }
    return 0;
}

static void of_a_device(void **state)
{
    const struct tutti_device *device = tutti_device();
    struct tutti_memory memory;
    char why[256];
    (void)state;
    assert_int_equal(device->open(why, sizeof why), TUTTI_OK);
    for (int round = 0; round < 2; round++) {
        struct tutti_bounce *on[2], *pinned = tutti_bounce_take(&tutti_bounce_pinned, -1, 70000);
        for (int g = 0; g < 2; g++) {
            assert_non_null(on[g] = tutti_bounce_take(&tutti_bounce_device, g, 70000));
            device->memory.classify(on[g]->memory, &memory);
            assert_int_equal(memory.kind, TUTTI_MEMORY_DEVICE);
            assert_true(memory.bytes >= on[g]->room);
        }
        assert_non_null(pinned);
        memset(pinned->memory, 1, pinned->room); /* the host reaches it */
        assert_int_equal(device->memory.copy_now(on[0]->memory, pinned->memory, pinned->room), TUTTI_OK);
        for (int g = 0; g < 2; g++)
            tutti_bounce_give(on[g]);
        tutti_bounce_give(pinned);
        assert_int_equal(counted("device"), 2);
        assert_int_equal(counted("pinned"), 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, kinds_ends_empty)
        TEST(same_again), TEST(kept_alone),  TEST(kept_apart),  TEST(many_apart),  TEST(near_sizes), TEST(is_cleaned),
        TEST(steady),     TEST(stays_below), TEST(oldest_goes), TEST(others_stay), TEST(too_large),  TEST(not_too_many),
        TEST(fails),      TEST(shared),      TEST(device_gone), TEST(of_a_device),
    };
    printf("seed %llu\n", (unsigned long long)check_seed());
    tutti_counters_start();
    return cmocka_run_group_tests(tests, NULL, NULL);
}

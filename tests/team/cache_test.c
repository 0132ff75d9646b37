/* The cache of mapped buffers against a device that keeps count. */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/status.h"
#include "team/cache.h"
#include "team/exports.h"

static int mapped, exported, refuse;

static int slow; /* 1: mapping number SLOW waits */
static sem_t begun, go_on;
enum { SLOW = 77 };

static int import_memory(int gpu, const struct tutti_export *what, int fd, void **base)
{
    (void)gpu;
    (void)fd;
    if (slow && what->id == SLOW) {
        sem_post(&begun);
        sem_wait(&go_on);
    }
    if (refuse)
        return TUTTI_ERR_DEVICE;
    mapped++;
    *base = malloc(sizeof what->id); /* holds the id, so that a wrong mapping shows */
    memcpy(*base, &what->id, sizeof what->id);
    return TUTTI_OK;
}

static int release_memory(int gpu, const struct tutti_export *what, void *base)
{
    (void)gpu;
    assert_memory_equal(base, &what->id, sizeof what->id);
    mapped--;
    free(base);
    return TUTTI_OK;
}

static int export_memory(const void *device, struct tutti_export *out, int *fd)
{
    exported++;
    *fd = -1;
    if (!device)
        return TUTTI_ERR_NOT_EXPORTABLE;
    *out = (struct tutti_export){.base = (uint64_t)(uintptr_t)device, .bytes = 64, .id = (uint64_t)exported};
    return TUTTI_OK;
}

static const struct tutti_device device = {
    .name = "counting", .share.import = import_memory, .share.release = release_memory, .share.export = export_memory};

static struct tutti_export name(uint64_t id)
{
    return (struct tutti_export){.id = id, .base = id << 20, .bytes = 4096, .token = {(unsigned char)id}};
}

static struct tutti_mapping *map(struct tutti_cache *cache, int peer, uint64_t id)
{
    struct tutti_export what = name(id);
    struct tutti_mapping *m = tutti_cache_find(cache, peer, 0, &what);
    if (!m && tutti_cache_add(cache, &device, peer, 0, &what, -1, 0, &m) != TUTTI_OK)
        return NULL;
    assert_memory_equal(m->base, &id, sizeof id);
    return m;
}

static int is_mapped(struct tutti_cache *cache, int peer, uint64_t id)
{
    struct tutti_export what = name(id);
    struct tutti_mapping *m = tutti_cache_find(cache, peer, 0, &what);
    if (m)
        tutti_cache_release(cache, &device, m);
    return m != NULL;
}

static void finish(struct tutti_cache *cache)
{
    tutti_cache_empty(cache, &device);
    tutti_cache_free(cache);
    assert_int_equal(mapped, 0);
}

static void oldest_goes_first(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(4);
    for (uint64_t id = 1; id <= 4; id++)
        tutti_cache_release(cache, &device, map(cache, 0, id));
    tutti_cache_release(cache, &device, map(cache, 0, 1)); /* used again: 2 is the oldest now */
    tutti_cache_release(cache, &device, map(cache, 0, 5));
    assert_int_equal(mapped, 4);
    assert_true(is_mapped(cache, 0, 1));
    assert_false(is_mapped(cache, 0, 2));
    for (uint64_t id = 10; id < 1000; id++)
        tutti_cache_release(cache, &device, map(cache, (int)(id % 3), id));
    assert_int_equal(mapped, 4);
    assert_int_equal(tutti_cache_count(cache), 4);
    finish(cache);
}

static void in_use_stays(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(4);
    struct tutti_mapping *held[4];
    for (uint64_t i = 0; i < 4; i++)
        held[i] = map(cache, 0, i + 1);
    assert_null(map(cache, 0, 9));
    assert_int_equal(mapped, 4);
    tutti_cache_release(cache, &device, held[2]);
    struct tutti_mapping *fifth = map(cache, 0, 9);
    assert_non_null(fifth);
    assert_false(is_mapped(cache, 0, 3));
    tutti_cache_release(cache, &device, fifth);
    struct tutti_mapping *twice = map(cache, 0, 1);
    assert_ptr_equal(twice, held[0]);
    tutti_cache_release(cache, &device, twice);
    assert_true(is_mapped(cache, 0, 1)); /* one reference is left */
    finish(cache);
}

static void channels_apart(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(4);
    struct tutti_mapping *channel[6];
    for (uint64_t i = 0; i < 6; i++) {
        struct tutti_export what = name(100 + i);
        assert_int_equal(tutti_cache_add(cache, &device, 0, 0, &what, -1, 1, &channel[i]), TUTTI_OK);
    }
    for (uint64_t id = 1; id <= 4; id++)
        tutti_cache_release(cache, &device, map(cache, 0, id));
    assert_int_equal(mapped, 10);
    assert_int_equal(tutti_cache_count(cache), 4);
    for (int i = 0; i < 6; i++)
        tutti_cache_release(cache, &device, channel[i]);
    assert_int_equal(mapped, 4);
    assert_int_equal(tutti_cache_count(cache), 4);
    finish(cache);
}

static void addresses_that_came_back(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(64);
    tutti_cache_release(cache, &device, map(cache, 0, 7));
    tutti_cache_release(cache, &device, map(cache, 1, 7)); /* the same id of another peer is another allocation */
    assert_int_equal(mapped, 2);
    struct tutti_export what = name(7);
    struct tutti_mapping *m;
    what.id = 8; /* a new allocation where 7 was */
    assert_int_equal(tutti_cache_add(cache, &device, 0, 0, &what, -1, 0, &m), TUTTI_OK);
    assert_memory_equal(m->base, &what.id, sizeof what.id);
    assert_false(is_mapped(cache, 0, 7));
    assert_true(is_mapped(cache, 1, 7));
    what.token[5] ^= 1; /* the same id under another token is not the same memory */
    assert_null(tutti_cache_find(cache, 0, 0, &what));
    finish(cache);
}

static void failures(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(4);
    refuse = 1;
    assert_null(map(cache, 0, 1));
    refuse = 0;
    assert_int_equal(tutti_cache_count(cache), 0);
    tutti_cache_release(cache, &device, map(cache, 0, 1));
    finish(cache);
}

static void exports(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(4);
    struct tutti_export first, second;
    char memory[64];
    exported = 0;
    assert_int_equal(tutti_exports_name(tutti_cache_exports(cache), &device, memory, 5, &first), TUTTI_OK);
    assert_int_equal(tutti_exports_name(tutti_cache_exports(cache), &device, memory, 5, &second), TUTTI_OK);
    assert_int_equal(exported, 1);
    assert_int_equal(first.id, second.id);
    assert_int_equal(tutti_exports_name(tutti_cache_exports(cache), &device, memory, 6, &second), TUTTI_OK);
    assert_int_not_equal(first.id, second.id);
    assert_int_equal(tutti_exports_name(tutti_cache_exports(cache), &device, NULL, 7, &second),
                     TUTTI_ERR_NOT_EXPORTABLE);
    assert_int_equal(tutti_exports_name(tutti_cache_exports(cache), &device, NULL, 7, &second),
                     TUTTI_ERR_NOT_EXPORTABLE);
    assert_int_equal(exported, 3);
    for (uint64_t id = 1000; id < 3000; id++)
        assert_int_equal(tutti_exports_name(tutti_cache_exports(cache), &device, memory, id, &second), TUTTI_OK);
    finish(cache);
}

static void *map_slowly(void *cache)
{
    struct tutti_export what = name(SLOW);
    struct tutti_mapping *m = NULL;
    return tutti_cache_add(cache, &device, 0, 0, &what, -1, 0, &m) == TUTTI_OK ? m : NULL;
}

/* One thread maps, another one wants the same; the rest of the cache can be used. */
static void while_it_is_mapped(void **state)
{
    (void)state;
    for (int how = 0; how < 3; how++) { /* its owner frees it: never, while it is mapped; it cannot be mapped */
        struct tutti_cache *cache = tutti_cache_new(64);
        pthread_t maker, other;
        void *made, *found;
        sem_init(&begun, 0, 0);
        sem_init(&go_on, 0, 0);
        slow = 1;
        pthread_create(&maker, NULL, map_slowly, cache);
        sem_wait(&begun);
        assert_false(is_mapped(cache, 0, SLOW));
        tutti_cache_release(cache, &device, map(cache, 1, 3));
        assert_true(is_mapped(cache, 1, 3));
        assert_int_equal(tutti_cache_count(cache), 2);
        if (how == 1)
            tutti_cache_forget(cache, &device, 0, SLOW);
        else
            pthread_create(&other, NULL, map_slowly, cache);
        refuse = how == 2;
        sem_post(&go_on);
        sem_post(&go_on); /* of the other's, where the first one fails */
        pthread_join(maker, &made);
        found = NULL;
        if (how != 1)
            pthread_join(other, &found);
        refuse = slow = 0;
        if (how == 2) {
            assert_true(!made && !found);
            assert_int_equal(tutti_cache_count(cache), 1);
        } else {
            assert_non_null(made);
            assert_int_equal(mapped, 2);
            tutti_cache_release(cache, &device, made);
            if (how == 0) {
                assert_ptr_equal(made, found);
                tutti_cache_release(cache, &device, found);
            }
        }
        assert_int_equal(is_mapped(cache, 0, SLOW), how == 0);
        if (how == 1) /* named before it was freed */
            assert_null(map(cache, 0, SLOW));
        finish(cache);
        sem_destroy(&begun);
        sem_destroy(&go_on);
    }
}

static void what_its_owner_freed(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(64);
    struct tutti_mapping *held = map(cache, 0, 1), *again;
    for (uint64_t id = 2; id <= 5; id++)
        tutti_cache_release(cache, &device, map(cache, 0, id));
    tutti_cache_release(cache, &device, map(cache, 1, 2));
    tutti_cache_forget(cache, &device, 0, 2);
    assert_int_equal(mapped, 5);
    assert_false(is_mapped(cache, 0, 2));
    assert_true(is_mapped(cache, 1, 2));
    tutti_cache_forget(cache, &device, 0, 1); /* in use: goes when it is not */
    assert_int_equal(mapped, 5);
    tutti_cache_release(cache, &device, held);
    assert_int_equal(mapped, 4);
    held = map(cache, 0, 3);
    tutti_cache_forget(cache, &device, 0, 0); /* all may be gone; this one is not, since it is asked for again */
    assert_int_equal(mapped, 2);
    again = map(cache, 0, 3);
    assert_ptr_equal(again, held);
    tutti_cache_release(cache, &device, held);
    tutti_cache_release(cache, &device, again);
    assert_true(is_mapped(cache, 0, 3));
    finish(cache);
}

/* A device as strict as CUDA's driver: memory cannot be mapped while freed memory at its address is. */
static int over; /* mappings of the address, which one at a time may have */
static int slow_release;

static int import_strict(int gpu, const struct tutti_export *what, int fd, void **base)
{
    const int taken = __atomic_load_n(&over, __ATOMIC_SEQ_CST) > 0;
    if (taken && slow_release) /* the other thread may end its release now */
        sem_post(&go_on);
    if (taken)
        return TUTTI_ERR_UNAVAILABLE;
    __atomic_fetch_add(&over, 1, __ATOMIC_SEQ_CST);
    return import_memory(gpu, what, fd, base);
}

static int release_strict(int gpu, const struct tutti_export *what, void *base)
{
    if (slow_release) {
        sem_post(&begun);
        sem_wait(&go_on);
    }
    const int status = release_memory(gpu, what, base);
    __atomic_fetch_sub(&over, 1, __ATOMIC_SEQ_CST);
    return status;
}

static const struct tutti_device strict = {
    .name = "strict", .share.import = import_strict, .share.release = release_strict, .share.export = export_memory};

static struct tutti_mapping *map_strict(struct tutti_cache *cache, uint64_t id)
{
    struct tutti_export what = name(id);
    struct tutti_mapping *m = NULL;
    what.base = 1 << 20;
    return tutti_cache_add(cache, &strict, 0, 0, &what, -1, 0, &m) == TUTTI_OK ? m : NULL;
}

static void *release_first(void *cache)
{
    tutti_cache_forget(cache, &strict, 0, 2);
    return NULL;
}

static void over_freed_memory(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(64);
    struct tutti_mapping *first = map_strict(cache, 1);
    assert_non_null(first);
    assert_null(map_strict(cache, 2)); /* the first is in use */
    tutti_cache_release(cache, &strict, first);
    assert_int_equal(over, 0); /* not kept: it was in the way */
    struct tutti_mapping *second = map_strict(cache, 2);
    assert_non_null(second);
    tutti_cache_release(cache, &strict, second);
    assert_int_equal(over, 1);

    pthread_t releaser; /* it unmaps while this thread maps */
    sem_init(&begun, 0, 0);
    sem_init(&go_on, 0, 0);
    slow_release = 1;
    pthread_create(&releaser, NULL, release_first, cache);
    sem_wait(&begun);
    struct tutti_mapping *third = map_strict(cache, 3);
    pthread_join(releaser, NULL);
    slow_release = 0;
    assert_non_null(third);
    tutti_cache_release(cache, &strict, third);
    tutti_cache_empty(cache, &strict);
    assert_int_equal(over + mapped, 0);
    tutti_cache_free(cache);
    sem_destroy(&begun);
    sem_destroy(&go_on);
}

static int dead; /* ids up to this one are gone */
static void classify(const void *pointer, struct tutti_memory *out)
{
    const uint64_t id = (uintptr_t)pointer >> 20;
    *out = (struct tutti_memory){.kind = id > (uint64_t)dead ? TUTTI_MEMORY_DEVICE : TUTTI_MEMORY_HOST, .id = id};
}
static int export_by_address(const void *at, struct tutti_export *out, int *fd)
{
    *fd = -1;
    *out = name((uintptr_t)at >> 20);
    return TUTTI_OK;
}

static void names_of_what_is_gone(void **state)
{
    (void)state;
    static const struct tutti_device by_address = {.share.export = export_by_address, .memory.classify = classify};
    struct tutti_cache *cache = tutti_cache_new(4);
    struct tutti_export out;
    uint64_t ids[64], all = 0;
    for (uint64_t id = 1; id <= 60; id++)
        assert_int_equal(
            tutti_exports_name(tutti_cache_exports(cache), &by_address, (const void *)(uintptr_t)(id << 20), id, &out),
            TUTTI_OK);
    dead = 0;
    assert_int_equal(tutti_exports_gone(tutti_cache_exports(cache), &by_address, 0, ids, 64), 0);
    dead = 50;
    assert_int_equal(tutti_exports_gone(tutti_cache_exports(cache), &by_address, 0, ids, 20),
                     20); /* as many as were asked for */
    assert_int_equal(tutti_exports_gone(tutti_cache_exports(cache), &by_address, 0, ids + 20, 44), 30);
    for (int i = 0; i < 50; i++)
        all |= UINT64_C(1) << ids[i];
    assert_true(all == (UINT64_C(1) << 51) - 2);
    assert_int_equal(tutti_exports_gone(tutti_cache_exports(cache), &by_address, 0, ids, 64), 0);
    dead = 60;
    int n = 0;
    for (int i = 0; i < 1000; i++) /* a few at a time */
        n += (int)tutti_exports_gone(tutti_cache_exports(cache), &by_address, 4, ids, 64);
    assert_int_equal(n, 10);
    tutti_cache_free(cache);
}

/* However many names there are: peers may have mapped each of them. */
static void no_name_is_lost(void **state)
{
    (void)state;
    enum { NAMES = 3000, MOST = 64 };
    static const struct tutti_device by_address = {.share.export = export_by_address, .memory.classify = classify};
    static int told[NAMES + 1];
    struct tutti_cache *cache = tutti_cache_new(4);
    struct tutti_export out;
    uint64_t ids[MOST];
    dead = 0;
    for (uint64_t id = 1; id <= NAMES; id++)
        assert_int_equal(
            tutti_exports_name(tutti_cache_exports(cache), &by_address, (const void *)(uintptr_t)(id << 20), id, &out),
            TUTTI_OK);
    assert_int_equal(tutti_exports_named(tutti_cache_exports(cache)), NAMES);
    assert_int_equal(tutti_exports_gone(tutti_cache_exports(cache), &by_address, 0, ids, MOST), 0);
    dead = NAMES - 1;
    int all = 0;
    for (unsigned n = MOST; n == MOST; all += (int)n) {
        n = tutti_exports_gone(tutti_cache_exports(cache), &by_address, 0, ids, MOST);
        for (unsigned i = 0; i < n; i++)
            told[ids[i]]++;
    }
    assert_int_equal(all, NAMES - 1);
    for (int id = 1; id < NAMES; id++)
        assert_int_equal(told[id], 1);
    assert_int_equal(tutti_exports_name(tutti_cache_exports(cache), &by_address, (const void *)((uintptr_t)NAMES << 20),
                                        NAMES, &out),
                     TUTTI_OK);
    assert_int_equal(tutti_exports_named(tutti_cache_exports(cache)), NAMES); /* it had its name already */
    tutti_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(oldest_goes_first), cmocka_unit_test(in_use_stays),
        cmocka_unit_test(channels_apart),    cmocka_unit_test(addresses_that_came_back),
        cmocka_unit_test(failures),          cmocka_unit_test(while_it_is_mapped),
        cmocka_unit_test(exports),           cmocka_unit_test(what_its_owner_freed),
        cmocka_unit_test(over_freed_memory), cmocka_unit_test(names_of_what_is_gone),
        cmocka_unit_test(no_name_is_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

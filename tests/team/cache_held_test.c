/* The cache of mapped buffers while someone holds it: unmapping may wait for kernels, and comes later. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "core/status.h"
#include "progress/gate.h"
#include "team/cache.h"
#include "team/deferred_free.h"
#include "team/node.h"

static int mapped, refuses; /* refuses: so many imports fail */
static char memory;

static int import_memory(int gpu, const struct tutti_export *what, int fd, void **base)
{
    (void)gpu;
    (void)what;
    (void)fd;
    if (refuses > 0) {
        refuses--;
        return TUTTI_ERR_UNAVAILABLE;
    }
    mapped++;
    *base = &memory;
    return TUTTI_OK;
}

static int release_memory(int gpu, const struct tutti_export *what, void *base)
{
    (void)gpu;
    (void)what;
    assert_ptr_equal(base, &memory);
    mapped--;
    return TUTTI_OK;
}

static int is_active(void)
{
    return 1;
}

static const struct tutti_device device = {
    .name = "counting", .active = is_active, .share.import = import_memory, .share.release = release_memory};

enum { PLACE = 1 << 30 }; /* bytes between allocations that are apart */

/* A status, or what tutti_cache_add_now() returns. */
static int map_at(struct tutti_cache *cache, int peer, uint64_t id, uint64_t place, uint64_t bytes,
                  struct tutti_mapping **out)
{
    const struct tutti_export what = {
        .id = id, .base = place * PLACE, .bytes = bytes, .token = {(unsigned char)id, (unsigned char)(id >> 8)}};
    return tutti_cache_add_now(cache, &device, peer, 0, &what, -1, out);
}

static int map(struct tutti_cache *cache, int peer, uint64_t id, uint64_t place, struct tutti_mapping **out)
{
    return map_at(cache, peer, id, place, 4096, out);
}

/* As when the owner has freed it. */
static void let_go(struct tutti_cache *cache, struct tutti_mapping *m)
{
    tutti_cache_doom(cache, &m, 1, 0);
    tutti_cache_release(cache, &device, m);
}

static void finish(struct tutti_cache *cache)
{
    tutti_cache_empty(cache, &device);
    tutti_cache_free(cache);
    assert_int_equal(mapped, 0);
}

static void unmapped_later(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(8);
    struct tutti_mapping *first, *other, *m;
    tutti_cache_hold(cache, 1);
    tutti_cache_hold(cache, 1);
    assert_int_equal(map(cache, 0, 1, 1, &first), TUTTI_OK);
    assert_int_equal(tutti_cache_puts_off(cache), 0);
    let_go(cache, first);
    assert_int_equal(mapped, 1);
    assert_int_equal(tutti_cache_puts_off(cache), 1);
    assert_null(tutti_cache_find(cache, 0, 0, &(struct tutti_export){.id = 1, .base = PLACE, .bytes = 4096}));
    tutti_cache_hold(cache, -1);
    assert_int_equal(map(cache, 0, 2, 2, &other), TUTTI_OK);
    tutti_cache_release(cache, &device, other);
    assert_int_equal(mapped, 2);
    tutti_cache_hold(cache, -1);
    assert_int_equal(map(cache, 0, 3, 3, &m), TUTTI_OK); /* nothing to be unmapped of its own */
    let_go(cache, m);
    assert_int_equal(mapped, 1); /* the one of `other`, kept for later use */
    finish(cache);
}

static void new_memory_where_freed_memory_is_mapped(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(8);
    struct tutti_mapping *m, *theirs;
    tutti_cache_hold(cache, 1);
    assert_int_equal(map(cache, 0, 1, 1, &m), TUTTI_OK);
    let_go(cache, m);
    assert_int_equal(map(cache, 0, 2, 1, &m), TUTTI_CACHE_STALE);
    const struct tutti_export again = {.id = 2, .base = PLACE, .bytes = 4096, .token = {2}};
    assert_int_equal(tutti_cache_add_held(cache, &device, 0, 0, &again, -1, 0, &m), TUTTI_ERR_UNAVAILABLE);
    assert_int_equal(map(cache, 1, 2, 1, &theirs), TUTTI_OK); /* another peer's is apart */
    assert_int_equal(mapped, 2);
    tutti_cache_unmap_held(cache, &device);
    assert_int_equal(mapped, 1);
    assert_int_equal(map(cache, 0, 2, 1, &m), TUTTI_OK);
    tutti_cache_release(cache, &device, m);
    assert_int_equal(map(cache, 0, 3, 1, &m), TUTTI_CACHE_STALE); /* the mapping of 2 is not in use, but there */
    assert_int_equal(mapped, 2);
    tutti_cache_unmap_held(cache, &device);
    assert_int_equal(map(cache, 0, 3, 1, &m), TUTTI_OK);
    let_go(cache, m);
    const struct tutti_export needed = {.id = 5, .base = PLACE, .bytes = 4096, .token = {5}};
    assert_int_equal(tutti_cache_add(cache, &device, 0, 0, &needed, -1, 1, &m), TUTTI_OK); /* it is unmapped for this */
    assert_int_equal(mapped, 2);
    tutti_cache_release(cache, &device, m);
    tutti_cache_release(cache, &device, theirs);
    tutti_cache_hold(cache, -1);
    assert_int_equal(map(cache, 0, 4, 1, &m), TUTTI_OK);
    assert_int_equal(mapped, 2);
    tutti_cache_release(cache, &device, m);
    finish(cache);
}

/* A mapping that made room for others is to be unmapped; its memory is there, and is mapped again. */
static void memory_that_made_room(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(1);
    struct tutti_mapping *m;
    tutti_cache_hold(cache, 1);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(map(cache, 0, 1, 1, &m), TUTTI_OK);
        tutti_cache_release(cache, &device, m);
        assert_int_equal(map(cache, 0, 2, 2, &m), TUTTI_OK);
        tutti_cache_release(cache, &device, m);
        assert_int_equal(mapped, 2 * (round + 1));
    }
    tutti_cache_hold(cache, -1);
    finish(cache);
}

/* As where several teams have mapped memory, and one has not seen yet that it was freed. */
static void freed_memory_in_use(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(8);
    struct tutti_mapping *first, *second, *m;
    assert_int_equal(map(cache, 0, 1, 1, &first), TUTTI_OK);
    assert_int_equal(map(cache, 0, 1, 1, &second), TUTTI_OK);
    assert_ptr_equal(first, second);
    let_go(cache, first);
    assert_int_equal(map(cache, 0, 2, 1, &m), TUTTI_CACHE_STALE);
    assert_int_equal(mapped, 1);
    let_go(cache, second);
    assert_int_equal(mapped, 0);
    assert_int_equal(map(cache, 0, 2, 1, &m), TUTTI_OK);
    tutti_cache_release(cache, &device, m);
    finish(cache);
}

/* What is kept of freed memory is bounded, whatever the program frees while its streams are busy. */
static void memory_kept_is_bounded(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(64);
    struct tutti_mapping *m;
    int status = TUTTI_OK, n = 0;
    tutti_cache_hold(cache, 1);
    for (; n < 16 && (status = map_at(cache, 0, 100 + (uint64_t)n, 1 + (uint64_t)n, PLACE / 4, &m)) == TUTTI_OK; n++)
        let_go(cache, m);
    assert_int_equal(status, TUTTI_CACHE_STALE);
    assert_int_equal(n, 5);
    assert_int_equal(mapped, 5);
    tutti_cache_unmap_held(cache, &device);
    assert_int_equal(mapped, 0);
    assert_int_equal(map_at(cache, 0, 200, 40, PLACE, &m), TUTTI_OK);
    tutti_cache_release(cache, &device, m);
    finish(cache);
}

/* Few entries: the least recently used ones make room, but stay mapped while the cache is held. */
static void room_is_made(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(2);
    struct tutti_mapping *m;
    tutti_cache_hold(cache, 1);
    for (uint64_t id = 1; id <= 5; id++) {
        assert_int_equal(map(cache, 0, id, id, &m), TUTTI_OK);
        tutti_cache_release(cache, &device, m);
    }
    assert_int_equal(tutti_cache_count(cache), 2);
    assert_int_equal(mapped, 5);
    tutti_cache_unmap_held(cache, &device);
    assert_int_equal(mapped, 2);
    finish(cache);
}

/* A failure of the driver is one at once: what is unmapped later is not waited for. */
static void import_fails(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(8);
    struct tutti_mapping *m;
    tutti_cache_hold(cache, 1);
    assert_int_equal(map(cache, 0, 1, 1, &m), TUTTI_OK);
    let_go(cache, m);
    refuses = 1;
    assert_int_equal(map(cache, 0, 2, 2, &m), TUTTI_ERR_UNAVAILABLE);
    assert_int_equal(map(cache, 0, 2, 2, &m), TUTTI_OK);
    tutti_cache_release(cache, &device, m);
    finish(cache);
}

/* While a stream waits for the host nothing is unmapped, though no call holds the cache. */
static void steps_of_the_host(void **state)
{
    (void)state;
    struct tutti_cache *cache = tutti_cache_new(8);
    struct tutti_mapping *m;
    assert_int_equal(map(cache, 0, 1, 1, &m), TUTTI_OK);
    tutti_gate_step(1);
    let_go(cache, m);
    assert_int_equal(mapped, 1);
    tutti_cache_unmap_held(cache, &device);
    assert_int_equal(mapped, 1);
    tutti_gate_step(-1);
    tutti_cache_unmap_held(cache, &device);
    assert_int_equal(mapped, 0);
    finish(cache);
}

/* Communicators with a stream hold the cache; the last one that ends unmaps what was put off. */
static void streams_of_a_node(void **state)
{
    (void)state;
    static struct tutti_node node;
    struct tutti_mapping *m;
    node.device = &device;
    node.cache = tutti_cache_new(8);
    for (int round = 0; round < 2; round++) {
        tutti_deferred_free_hold(&node);
        tutti_deferred_free_hold(&node);
        assert_int_equal(map(node.cache, 0, 1, 1, &m), TUTTI_OK);
        let_go(node.cache, m);
        tutti_deferred_free_release(&node);
        assert_int_equal(mapped, 1);
        tutti_deferred_free_release(&node);
        assert_int_equal(mapped, 0);
        assert_int_equal(map(node.cache, 0, 1, 1, &m), TUTTI_OK);
        let_go(node.cache, m);
        assert_int_equal(mapped, 0);
    }
    finish(node.cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unmapped_later),         cmocka_unit_test(new_memory_where_freed_memory_is_mapped),
        cmocka_unit_test(memory_that_made_room),  cmocka_unit_test(freed_memory_in_use),
        cmocka_unit_test(memory_kept_is_bounded), cmocka_unit_test(room_is_made),
        cmocka_unit_test(import_fails),           cmocka_unit_test(steps_of_the_host),
        cmocka_unit_test(streams_of_a_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

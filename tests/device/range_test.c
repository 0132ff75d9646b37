/* Ranges: pieces of memory one behind the other, new ones and those of a peer, are one memory for copies and an
 * allocation each in queries. range_test DEVICE; a device without ranges is skipped. */
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECES = 5 };

static size_t grain;
static char *own, *peer; /* two ranges of PIECES * 2 grains */

static char *open_range(size_t bytes)
{
    void *base = NULL;
    assert_int_equal(device->range.open(0, bytes, &base), TUTTI_OK);
    assert_non_null(base);
    assert_true((uintptr_t)base % 4096 == 0);
    return base;
}

static struct tutti_memory classify(const void *pointer)
{
    struct tutti_memory memory;
    device->memory.classify(pointer, &memory);
    return memory;
}

/* The piece of `own` at `at` is the next one of `peer`. */
static void import_at(size_t at, size_t bytes)
{
    struct tutti_export what;
    int fd = -1;
    assert_int_equal(device->share.export(own + at + bytes / 2, &what, &fd), TUTTI_OK);
    assert_true(what.base == (uint64_t)(uintptr_t)(own + at) && what.bytes == bytes && what.needs_fd && fd >= 0);
    assert_true(what.id == classify(own + at).id);
    assert_int_equal(device->range.import(0, &what, -1, peer + at), TUTTI_ERR_ARGUMENT);
    assert_int_not_equal(device->range.import(0, &what, fd, peer + at + grain), TUTTI_OK); /* not the next one */
    assert_int_equal(device->range.import(0, &what, fd, peer + at), TUTTI_OK);
    close(fd);
}

static void test_pieces(void **state)
{
    (void)state;
    uint64_t ids[2 * PIECES];
    size_t mapped = 0, begins[PIECES];
    for (int i = 0; i < PIECES; i++) {
        const size_t bytes = grain * (size_t)(1 + i % 2);
        begins[i] = mapped;
        assert_int_equal(device->range.add(0, own + mapped, bytes), TUTTI_OK);
        import_at(mapped, bytes);
        mapped += bytes;
        /* Over all seams up to now, seen by the peer. */
        kit_put(own, mapped, (uint64_t)i + 1);
        assert_true(kit_holds(peer, mapped, (uint64_t)i + 1));
        kit_put(peer + 100, mapped - 200, (uint64_t)i + 77);
        assert_true(kit_holds(own + 100, mapped - 200, (uint64_t)i + 77));
        for (int k = 0; k < 2; k++) {
            char *at = (k ? peer : own) + begins[i];
            const struct tutti_memory first = classify(at), last = classify(at + bytes - 1);
            assert_true(first.kind == TUTTI_MEMORY_DEVICE && first.base == at && first.bytes == bytes);
            assert_true(last.id == first.id && last.base == first.base && last.bytes == bytes);
            ids[2 * i + k] = first.id;
            for (int j = 0; j < 2 * i + k; j++)
                assert_true(ids[j] != first.id);
        }
    }
    /* The last one again: another piece. */
    const size_t last = begins[PIECES - 1];
    assert_int_equal(device->range.cut(0, own + begins[PIECES - 2]), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->range.cut(0, own + last), TUTTI_OK);
    assert_int_equal(device->range.cut(0, own + last), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->range.cut(0, peer + last), TUTTI_OK);
    assert_int_equal(device->range.add(0, own + last, grain), TUTTI_OK);
    import_at(last, grain);
    assert_true(classify(own + last).id != ids[2 * PIECES - 2]);
    kit_put(own, last + grain, 5);
    assert_true(kit_holds(peer, last + grain, 5));
}

static void test_refused(void **state)
{
    (void)state;
    char *range = open_range(2 * grain);
    char *alone = kit_alloc(grain);
    assert_int_not_equal(device->range.add(0, range + grain, grain), TUTTI_OK); /* not at its end */
    assert_int_not_equal(device->range.add(0, range, 3 * grain), TUTTI_OK);     /* more than it has */
    assert_int_not_equal(device->range.add(0, range, grain / 2 + 1), TUTTI_OK); /* no multiple */
    assert_int_not_equal(device->range.add(0, alone, grain), TUTTI_OK);         /* no range */
    assert_int_not_equal(device->range.cut(0, range), TUTTI_OK);                /* no piece */
    assert_int_not_equal(device->range.close(0, range + grain), TUTTI_OK);      /* not where it begins */
    assert_int_equal(device->range.add(0, range, 2 * grain), TUTTI_OK);
    assert_int_not_equal(device->range.add(0, range + 2 * grain, grain), TUTTI_OK); /* full */
    assert_int_equal(device->range.close(0, range), TUTTI_OK);
    assert_int_not_equal(device->range.close(0, range), TUTTI_OK);
    kit_free(alone);
}

/* Descriptors come back, however often. */
static void test_again(void **state)
{
    (void)state;
    int before = -1;
    for (int i = 0; i < 20; i++) {
        char *range = open_range(4 * grain);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(device->range.add(0, range + k * grain, grain), TUTTI_OK);
        kit_put(range, 4 * grain, (uint64_t)i);
        assert_true(kit_holds(range, 4 * grain, (uint64_t)i));
        assert_int_equal(device->range.close(0, range), TUTTI_OK);
        assert_true(before < 0 || kit_descriptors() == before);
        before = kit_descriptors();
    }
}

int main(int argc, char **argv)
{
    const int skip = kit_open(argc > 1 ? argv[1] : "host");
    if (skip)
        return skip;
    grain = device->range.grain ? device->range.grain(0) : 0;
    if (grain == 0) {
        printf("this device has no ranges\n");
        return KIT_SKIP;
    }
    own = open_range(PIECES * 2 * grain);
    peer = open_range(PIECES * 2 * grain);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pieces), cmocka_unit_test(test_refused),
                                       cmocka_unit_test(test_again)};
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return device->range.close(0, peer) != TUTTI_OK || device->range.close(0, own) != TUTTI_OK || failed;
}

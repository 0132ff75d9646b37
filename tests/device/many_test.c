/* More small allocations than a process may have mappings or descriptors for, outside strict mode: each has its own
 * memory, which other processes reach by its export, and they take few of both. */
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/kit/capture.h"

enum { MANY = 20000, STEPS = 4000, LONGEST = 12000, FEW = 9000 };

static struct {
    void *at;
    size_t bytes;
    uint64_t seed, id;
} made[MANY];
static unsigned draw = 7;

static unsigned drawn(void)
{
    draw = draw * 1664525 + 1013904223;
    return draw >> 8;
}

static int mappings(void)
{
    FILE *file = fopen("/proc/self/maps", "re");
    int lines = 0;
    assert_non_null(file);
    for (int c; (c = getc(file)) != EOF;)
        lines += c == '\n';
    fclose(file);
    return lines;
}

static void make(int i)
{
    struct tutti_memory memory;
    static const char none[LONGEST];
    made[i].bytes = drawn() % 8 ? drawn() % 200 + 1 : drawn() % LONGEST + 1;
    assert_int_equal(device->memory.alloc(-1, made[i].bytes, &made[i].at), TUTTI_OK);
    made[i].seed = drawn();
    device->memory.classify(made[i].at, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_DEVICE);
    assert_ptr_equal(memory.base, made[i].at);
    assert_int_equal(memory.bytes, made[i].bytes);
    assert_true(memory.id != made[i].id);
    made[i].id = memory.id;
    assert_memory_equal(made[i].at, none, made[i].bytes); /* what was there before is gone */
    kit_put(made[i].at, made[i].bytes, made[i].seed);
}

/* What is read and written by the export of an allocation is that allocation. */
static void reach(int i)
{
    struct tutti_export name;
    void *base = NULL;
    int fd = -1;
    assert_int_equal(device->share.export(made[i].at, &name, &fd), TUTTI_OK);
    assert_int_equal(device->share.import(0, &name, fd, &base), TUTTI_OK);
    close(fd);
    assert_true(kit_holds(base, made[i].bytes, made[i].seed));
    made[i].seed = drawn();
    kit_put(base, made[i].bytes, made[i].seed);
    assert_int_equal(device->share.release(0, &name, base), TUTTI_OK);
    assert_true(kit_holds(made[i].at, made[i].bytes, made[i].seed));
}

static void test_many(void **state)
{
    (void)state;
    const int before = mappings(), descriptors = kit_descriptors();
    for (int i = 0; i < MANY; i++)
        make(i);
    for (int step = 0; step < STEPS; step++) {
        const int i = (int)(drawn() % MANY);
        if (drawn() % 8 == 0) {
            reach(i);
            continue;
        }
        assert_true(kit_holds(made[i].at, made[i].bytes, made[i].seed));
        kit_free(made[i].at);
        make(i);
    }
    if (mappings() - before > FEW || kit_descriptors() - descriptors > FEW)
        fail_msg("%d mappings and %d descriptors more", mappings() - before, kit_descriptors() - descriptors);
    for (int i = 0; i < MANY; i++) {
        assert_true(kit_holds(made[i].at, made[i].bytes, made[i].seed));
        kit_free(made[i].at);
    }
    assert_true(mappings() - before < 1000);
}

/* An address behind a small allocation is no memory of it, though the process may read there. */
static void test_ends(void **state)
{
    (void)state;
    struct tutti_memory memory;
    for (int i = 0; i < MANY / 10; i++)
        make(i);
    for (int i = 0; i < MANY / 10; i++) {
        device->memory.classify((char *)made[i].at + made[i].bytes, &memory);
        assert_true(memory.kind != TUTTI_MEMORY_DEVICE || memory.base == (char *)made[i].at + made[i].bytes);
        capture_start();
        const int status = device->memory.free((char *)made[i].at + 1);
        capture_end();
        assert_int_equal(status, TUTTI_ERR_ARGUMENT);
    }
    for (int i = 0; i < MANY / 10; i++)
        kit_free(made[i].at);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_many), cmocka_unit_test(test_ends)};
    const int skip = kit_open(argc > 1 ? argv[1] : "host");
    return skip ? skip : cmocka_run_group_tests(tests, NULL, NULL);
}

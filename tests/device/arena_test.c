/* TUTTI_HOST_ARENA_GB: how much device memory there is room for. Outside strict mode, and with pages that are given
 * when they are touched, so that no memory of that size is needed. */
#include "kit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/settings.h"
#include "mpi/kit/capture.h"

static const size_t gigabyte = (size_t)1 << 30, quarter = (size_t)1 << 28;

/* Stands before libc's. */
int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    (void)fd, (void)mode, (void)at, (void)bytes;
    return 0;
}

/* 1 if there is room; otherwise the error says that memory is short, and names the setting. */
static int fits(size_t bytes, void **made)
{
    capture_start();
    const int status = device->memory.alloc(-1, bytes, made);
    const char *said = capture_end();
    if (status == TUTTI_OK)
        return 1;
    assert_int_equal(status, TUTTI_ERR_MEMORY);
    if (!strstr(said, "TUTTI_HOST_ARENA_GB"))
        fail_msg("%zu bytes: the setting is not named: %s", bytes, said);
    return 0;
}

/* As many quarters of a gigabyte as the setting says, but for the pages between them. */
static void test_room(void **state)
{
    (void)state;
    enum { MOST = 64 };
    const int all = 4 * (int)tutti_settings()->host_arena_gb;
    void *made[MOST], *more = NULL;
    int n = 0;
    assert_true(all < MOST);
    while (n < MOST && fits(quarter, &made[n]))
        n++;
    assert_int_equal(n, all - 1);
    kit_put((char *)made[n - 1] + quarter - 100, 100, 7); /* the last bytes are there */
    assert_true(kit_holds((char *)made[n - 1] + quarter - 100, 100, 7));
    kit_free(made[--n]);
    assert_true(fits(quarter, &made[n])); /* what was given back */
    assert_false(fits(quarter, &more));
    assert_null(more);
    for (int i = 0; i <= n; i++)
        kit_free(made[i]);
}

static void test_one(void **state)
{
    (void)state;
    const size_t all = (size_t)tutti_settings()->host_arena_gb * gigabyte;
    void *made = NULL;
    assert_false(fits(all, &made));
    assert_false(fits(4 * all, &made));
    assert_null(made);
    assert_true(fits(all - quarter, &made));
    kit_free(made);
}

/* A process that has as many mappings as the system allows: addresses are left, so the setting is not what helps. */
static void test_mappings(void **state)
{
    (void)state;
    enum { MOST = 1 << 20, MANY = 1000 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *all = mmap(NULL, MOST * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    void *made[MANY];
    int n = 0, status = TUTTI_OK;
    size_t split = 0;
    assert_true(all != MAP_FAILED);
    while (split < MOST && mprotect(all + split * page, page, PROT_READ) == 0)
        split += 2; /* every other page: each is a mapping of its own */
    if (split >= MOST) {
        munmap(all, MOST * page);
        skip(); /* this system has no such limit */
    }
    munmap(all, 64 * page); /* for the test itself and some allocations */
    capture_start();
    while (n < MANY && (status = device->memory.alloc(-1, 100000, &made[n])) == TUTTI_OK)
        n++;
    const char *said = capture_end();
    munmap(all + 64 * page, (MOST - 64) * page);
    assert_int_equal(status, TUTTI_ERR_MEMORY);
    if (!strstr(said, "vm.max_map_count") || strstr(said, "TUTTI_HOST_ARENA_GB"))
        fail_msg("after %d allocations the limit is not named: %s", n, said);
    while (n > 0)
        kit_free(made[--n]);
}

/* The allocations in order of their addresses. Allocations of this length are not kept after they are freed. */
static struct piece {
    char *base;
    size_t span;
} pieces[256];

/* The place in `pieces` of a new allocation and its address: the first gap that is long enough. NULL: there is none. */
static char *first_gap(char *begin, int n, size_t span, int *place)
{
    enum { ALIGNMENT = 1 << 16 };
    char *at = begin, *const end = begin + ((size_t)tutti_settings()->host_arena_gb << 30);
    for (*place = 0; *place <= n; ++*place) {
        char *const next = *place < n ? pieces[*place].base : end;
        if (at <= next && (size_t)(next - at) >= span)
            return at;
        if (*place < n)
            at = begin + ((size_t)(next - begin) + pieces[*place].span + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    return NULL;
}

static void test_gaps(void **state)
{
    (void)state;
    enum { STEPS = 4000, MOST = 256, LONG = 4 << 20, PAGE = 4096 };
    void *made = NULL;
    int n = 0, place;
    unsigned draw = 1;
    assert_true(fits(LONG + 1, &made));
    char *const begin = made;
    kit_free(made);
    for (int step = 0; step < STEPS; step++) {
        draw = draw * 1664525 + 1013904223;
        const unsigned drawn = draw >> 8;
        if (n > 0 && (drawn % 16 < (step / 400 % 2 ? 9 : 6) || n == MOST)) {
            place = (int)(drawn / 16 % (unsigned)n);
            kit_free(pieces[place].base);
            memmove(&pieces[place], &pieces[place + 1], (size_t)(--n - place) * sizeof pieces[0]);
            continue;
        }
        const size_t pages = LONG / PAGE + 1 + drawn / 16 % (2 * LONG / PAGE), span = (pages + 1) * PAGE;
        char *const expected = first_gap(begin, n, span, &place);
        if (!expected || !fits(pages * PAGE, &made)) {
            assert_null(expected);
            assert_false(fits(pages * PAGE, &made));
            continue;
        }
        assert_ptr_equal(made, expected);
        memmove(&pieces[place + 1], &pieces[place], (size_t)(n++ - place) * sizeof pieces[0]);
        pieces[place] = (struct piece){made, span};
    }
    while (n > 0)
        kit_free(pieces[--n].base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_room), cmocka_unit_test(test_one),
                                       cmocka_unit_test(test_gaps), cmocka_unit_test(test_mappings)};
    if (kit_open("host") != 0)
        return KIT_SKIP;
    if (!getenv("TUTTI_HOST_ARENA_GB") || atoi(getenv("TUTTI_HOST_ARENA_GB")) != tutti_settings()->host_arena_gb) {
        fprintf(stderr, "TUTTI_HOST_ARENA_GB is not what the library takes it for\n");
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

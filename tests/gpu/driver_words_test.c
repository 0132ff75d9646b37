/* The CUDA device against a pretended driver that is late: copies and the words behind them are done when their stream
 * is waited for, or when further words follow. A copy that returns is complete, whichever way its end was seen, also
 * behind calls that have failed. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/status.h"
#include "device/device.h"
#include "fake_libcuda.h"

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;

enum { MOST = 1 << 20, MADE_BY = 40, WORDS = 64, NOT_READY = 600, FAILED = 719 };
static const size_t sizes[] = {1, 9, 1001, 1026, 4097}; /* others of few bytes are seen by their data */
enum { SIZES = sizeof sizes / sizeof *sizes };

static char *memory, *host, *back;
static int round_now;

static int open_memory(void **state)
{
    (void)state;
    void *made[3];
    fake->current(0);
    assert_int_equal(device->memory.alloc(0, MOST, &made[0]), TUTTI_OK);
    assert_int_equal(device->memory.alloc_pinned(MOST, &made[1]), TUTTI_OK);
    assert_int_equal(device->memory.alloc_pinned(MOST, &made[2]), TUTTI_OK);
    memory = made[0];
    host = made[1];
    back = made[2];
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    fake->late_words = 0;
    fake->fail_all = NULL;
    fake->capturing = NULL;
    assert_int_equal(device->memory.free_pinned(back), TUTTI_OK);
    assert_int_equal(device->memory.free_pinned(host), TUTTI_OK);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->current(-1);
    return 0;
}

static void fill(char *at, size_t bytes)
{
    round_now++;
    for (size_t i = 0; i < bytes; i++)
        at[i] = (char)((size_t)round_now * 41 + i + i / 253);
}

/* Out of the GPU: what is there on return. */
static void copy_out(size_t bytes)
{
    fill(memory, bytes);
    memset(back, 0x55, bytes);
    assert_int_equal(device->memory.copy_pinned(0, 0, back, memory, bytes), TUTTI_OK);
    assert_memory_equal(back, memory, bytes);
}

static void copy_in(size_t bytes)
{
    fill(host, bytes);
    memset(memory, 0x55, bytes);
    assert_int_equal(device->memory.copy_pinned(0, 1, memory, host, bytes), TUTTI_OK);
    assert_memory_equal(memory, host, bytes);
}

/* As many copies as it takes to have words, and a stream for copies into the GPU. */
static void make_words(void)
{
    unsigned long words = fake->words;
    for (int i = 0; i < MADE_BY; i++) {
        copy_out(9);
        copy_in(2048);
    }
    assert_true(fake->words > words);
}

/* Both directions, inside a capture too. More copies than there are words: each word is used again. */
static void test_late(void **state)
{
    (void)state;
    make_words();
    for (unsigned long late = 0; late < 3; late++) {
        const unsigned long words = fake->words;
        fake->late_words = late;
        for (int i = 0; i < WORDS * 2; i++) {
            fake->capturing = i % 5 == 4 ? fake->make_stream(0, 0) : NULL;
            copy_out(i == 3 ? MOST : sizes[i % SIZES]);
            copy_in(i == 5 ? MOST : sizes[(i + 1) % SIZES]);
            assert_int_equal(fake->invalidated, 0);
        }
        fake->capturing = NULL;
        assert_true(fake->words - words > WORDS * 2);
    }
    fake->late_words = 0;
}

/* Where words are written at once nothing else is waited for. */
static void test_seen(void **state)
{
    (void)state;
    make_words();
    const unsigned long waits = fake->waits, words = fake->words;
    for (int i = 0; i < WORDS * 2; i++)
        copy_out(sizes[i % SIZES]);
    assert_int_equal(fake->words - words, WORDS * 2);
    assert_int_equal(fake->waits, waits);
}

/* The driver refuses to write words, for longer than there are any: it waits for the copies, and words are used again
 * once it writes them. */
static void test_refused(void **state)
{
    (void)state;
    make_words();
    fake->late_words = 1;
    fake->fail_all = "cuStreamWriteValue32_v2";
    fake->fail_with = NOT_READY;
    const unsigned long words = fake->words;
    for (int i = 0; i < WORDS + 6; i++)
        copy_out(sizes[i % SIZES]);
    assert_int_equal(fake->words, words);
    fake->fail_all = NULL;
    fake->late_words = 0;
    copy_out(9);
    assert_int_equal(fake->words, words + 1);
}

/* A wait has failed, and the stream writes that copy's word beside the next copy: it is not taken for that one's. Once
 * all words have been lost so, the driver waits. */
static void test_lost(void **state)
{
    (void)state;
    make_words();
    fake->late_words = 1;
    fake->fail_with = FAILED;
    for (int i = 0; i < WORDS + 6; i++) {
        const unsigned long words = fake->words;
        fill(memory, 9);
        fake->fail_all = "cuStreamSynchronize";
        assert_int_equal(device->memory.copy_pinned(0, 0, back, memory, 9), TUTTI_ERR_DEVICE);
        fake->fail_all = NULL;
        copy_out(9);
        assert_true(fake->words - words <= 2);
        assert_true(i < WORDS - 1 || fake->words - words <= 1);
        const unsigned long waits = fake->waits;
        fake->late_words = 0; /* each of the others is seen where the stream writes it */
        copy_out(9);
        assert_int_equal(fake->waits - waits, i >= WORDS - 1);
        fake->late_words = 1;
    }
    const unsigned long words = fake->words, waits = fake->waits;
    copy_out(9);
    assert_int_equal(fake->words, words);
    assert_int_equal(fake->waits, waits + 1);
}

/* A copy that is begun, and ended later. */
static void test_begun(void **state)
{
    (void)state;
    make_words();
    for (unsigned long late = 0; late < 2; late++) {
        struct tutti_copying copying;
        fake->late_words = late;
        fill(memory, 3000);
        memset(back, 0x55, 3000);
        assert_int_equal(device->memory.copy_begin(0, back, memory, 3000, &copying), TUTTI_OK);
        assert_int_equal(memcmp(back, memory, 3000) != 0, late);
        assert_int_equal(device->memory.copy_end(&copying), TUTTI_OK);
        assert_memory_equal(back, memory, 3000);
    }
}

/* A reset GPU has words of its own, all of them. */
static void test_again(void **state)
{
    (void)state;
    fake->reset(0);
    open_memory(NULL);
    make_words();
    fake->late_words = 1;
    for (int i = 0; i < WORDS * 2; i++)
        copy_out(sizes[i % SIZES]);
    close_memory(NULL);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_late, open_memory, close_memory),
                                       cmocka_unit_test_setup_teardown(test_seen, open_memory, close_memory),
                                       cmocka_unit_test_setup_teardown(test_refused, open_memory, close_memory),
                                       cmocka_unit_test_setup_teardown(test_begun, open_memory, close_memory),
                                       cmocka_unit_test_setup_teardown(test_lost, open_memory, close_memory),
                                       cmocka_unit_test(test_again)};
    if (argc != 2 || !(fake = fake_open(dlopen(argv[1], RTLD_NOW))))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

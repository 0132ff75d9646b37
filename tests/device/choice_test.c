/* Which device a process uses, by TUTTI_DEVICE: choice_test EXPECTED. "auto" expects what this machine and this build
 * make of it. Also the list of devices, and the messages about a missing operation or device. */
#include "kit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/types.h"
#include "tutti/tutti.h"

static const char *expected;

/* Catches standard error from here on. */
static int saved = -1, caught = -1;
static void catch_errors(void)
{
    fflush(stderr);
    saved = dup(STDERR_FILENO);
    caught = memfd_create("errors", MFD_CLOEXEC);
    assert_true(saved >= 0 && caught >= 0);
    assert_int_equal(dup2(caught, STDERR_FILENO), STDERR_FILENO);
}

static void release_errors(char *text, size_t size)
{
    fflush(stderr);
    ssize_t n = pread(caught, text, size - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(caught);
}

static int lines(const char *text)
{
    int n = 0;
    while ((text = strchr(text, '\n')) != NULL) {
        n++;
        text++;
    }
    return n;
}

static int is_built(const char *name)
{
    const struct tutti_device *at;
    int built;
    for (int i = 0; (at = tutti_device_at(i, &built)) != NULL; i++) {
        if (strcmp(at->name, name) == 0)
            return built;
    }
    return -1;
}

static void test_list(void **state)
{
    (void)state;
    static const char *const names[] = {
#define TUTTI_DEVICE(name, ...) #name,
#include "tutti/devices.def"
#undef TUTTI_DEVICE
    };
    const int count = (int)(sizeof names / sizeof names[0]);
    int built;
    for (int i = 0; i < count; i++) {
        const struct tutti_device *at = tutti_device_at(i, &built);
        assert_non_null(at);
        assert_string_equal(at->name, names[i]);
        assert_true(built == (at->open != NULL));
    }
    assert_null(tutti_device_at(count, &built));
    assert_null(tutti_device_at(-1, &built));
    assert_int_equal(is_built("host"), 1);
    assert_int_equal(tutti_device_present("host"), 1);
    assert_int_equal(tutti_device_present("abacus"), 0);
}

/* The host device fills in every entry of the contract but those whose absence means something. */
static void test_complete(void **state)
{
    (void)state;
    static const size_t optional[] = {offsetof(struct tutti_device, lingers),
                                      offsetof(struct tutti_device, stream.order),
                                      offsetof(struct tutti_device, launch.prepare),
                                      offsetof(struct tutti_device, launch.own),
                                      offsetof(struct tutti_device, launch.own_pack),
                                      offsetof(struct tutti_device, launch.waiting_begin),
                                      offsetof(struct tutti_device, launch.waiting_end),
                                      offsetof(struct tutti_device, launch.apart_begin),
                                      offsetof(struct tutti_device, launch.apart_end),
                                      offsetof(struct tutti_device, launch.prepare_shmem),
                                      offsetof(struct tutti_device, launch.prepare_lane),
                                      offsetof(struct tutti_device, launch.prepare_meet),
                                      offsetof(struct tutti_device, launch.lacks),
                                      offsetof(struct tutti_device, gpu.lines),
                                      offsetof(struct tutti_device, gpu.ready),
                                      offsetof(struct tutti_device, stream.copy_in),
                                      offsetof(struct tutti_device, event.record_default),
                                      offsetof(struct tutti_device, memory.copy_pinned),
                                      offsetof(struct tutti_device, memory.copy_ordinary),
                                      offsetof(struct tutti_device, memory.complete_all),
                                      offsetof(struct tutti_device, memory.copy_begin),
                                      offsetof(struct tutti_device, memory.copy_end),
                                      offsetof(struct tutti_device, gpu.look)};
    const void *const *entry = (const void *const *)(const void *)&tutti_device_host;
    for (size_t i = 0; i < sizeof tutti_device_host / sizeof *entry; i++) {
        int may_lack = 0;
        for (size_t o = 0; o < sizeof optional / sizeof *optional; o++)
            may_lack |= optional[o] == i * sizeof *entry;
        assert_true(may_lack || entry[i]);
    }
}

static void test_missing(void **state)
{
    (void)state;
    const struct tutti_device poor = {.name = "abacus"};
    char text[512];
    catch_errors();
    int status = tutti_device_missing(&poor, "import_memory");
    release_errors(text, sizeof text);
    assert_int_equal(status, TUTTI_ERR_UNAVAILABLE);
    assert_non_null(strstr(text, "abacus"));
    assert_non_null(strstr(text, "import_memory"));
    assert_int_equal(lines(text), 1);
}

static void test_choice(void **state)
{
    (void)state;
    const char *wanted = expected;
    char text[1024], in[8] = "abcdefg", out[8] = "";
    void *made = NULL;
    if (strcmp(expected, "auto") == 0)
        wanted = is_built("cuda") == 1 && tutti_device_present("cuda") ? "cuda" : "host";
    if (strcmp(expected, "cuda") == 0 && !is_built("cuda"))
        wanted = "none";
    catch_errors();
    const struct tutti_device *first = tutti_device(), *second = tutti_device();
    release_errors(text, sizeof text);
    assert_ptr_equal(first, second);
    assert_string_equal(tutti_device_name(), wanted);
    if (strcmp(expected, "cuda") == 0 && !is_built("cuda")) { /* said, once, with the setting's name */
        assert_non_null(strstr(text, "TUTTI_DEVICE=cuda"));
        assert_int_equal(lines(text), 1);
    } else {
        assert_int_equal(lines(text), 0);
    }
    if (strcmp(wanted, "none") == 0) {
        assert_null(first);
        assert_int_equal(tutti_alloc(8, &made), TUTTI_ERR_UNAVAILABLE);
        assert_int_equal(tutti_gpu_set(0), TUTTI_ERR_UNAVAILABLE);
        assert_int_equal(tutti_gpu_count(), TUTTI_ERR_UNAVAILABLE);
        assert_int_equal(tutti_free(in), TUTTI_ERR_UNAVAILABLE);
    } else {
        assert_string_equal(first->name, wanted);
    }
    assert_null(made);
    assert_int_equal(tutti_is_device(in), 0);
    assert_int_equal(tutti_copy(out, in, sizeof in), TUTTI_OK);
    assert_memory_equal(in, out, sizeof in);
}

static int asked;
static int counting_active(void)
{
    asked++;
    return 1;
}

/* While the word of a device is 0 it is not asked. */
static void test_sign(void **state)
{
    (void)state;
    uintptr_t word = 0;
    struct tutti_device_sign sign = {&word};
    struct tutti_device counting = {.active = counting_active, .sign = &sign};
    assert_int_equal(tutti_device_active(NULL), 0);
    assert_int_equal(tutti_device_active(&counting), 0);
    assert_int_equal(asked, 0);
    word = 1;
    assert_int_equal(tutti_device_active(&counting), 1);
    assert_int_equal(asked, 1);
    counting.sign = NULL;
    assert_int_equal(tutti_device_active(&counting), 1);
    assert_int_equal(asked, 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sign),     cmocka_unit_test(test_choice),  cmocka_unit_test(test_list),
        cmocka_unit_test(test_complete), cmocka_unit_test(test_missing),
    };
    expected = argc > 1 ? argv[1] : "auto";
    setenv("TUTTI_DEVICE", expected, 1);
    unsetenv("TUTTI_LOG");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The CUDA device against a pretended driver and a pretended management library: between which GPUs 128-byte stores are
 * believed to arrive whole. */
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
static int *joined, *major;
static unsigned char uuid[5][16]; /* two GPUs that are seen, two that are hidden, one that nobody knows */

static void test_seen(void **state)
{
    (void)state;
    assert_int_equal(device->reach(0, uuid[0]), 2);
    assert_int_equal(device->reach(0, uuid[1]), 2);
    *joined = 0; /* native atomics go over other links too */
    assert_int_equal(device->reach(0, uuid[0]), 2);
    assert_int_equal(device->reach(0, uuid[1]), 1);
    *joined = 1;
    major[1] = 10;
    assert_int_equal(device->reach(0, uuid[1]), 1);
    assert_int_equal(device->reach(1, uuid[0]), 1);
    major[1] = 9;
    fake->no_atomics = 1;
    assert_int_equal(device->reach(0, uuid[1]), 1);
    fake->no_atomics = 0;
    assert_int_equal(device->reach(0, uuid[1]), 2);
}

static void test_hidden(void **state)
{
    (void)state;
    assert_int_equal(device->reach(0, uuid[2]), 2);
    major[3] = 8;
    assert_int_equal(device->reach(0, uuid[3]), 1);
    *joined = 0;
    assert_int_equal(device->reach(0, uuid[2]), 1);
    *joined = 1;
    assert_int_equal(device->reach(0, uuid[4]), 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_seen), cmocka_unit_test(test_hidden)};
    char why[256] = "";
    void *driver = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL, *nvml = argc == 3 ? dlopen(argv[2], RTLD_NOW) : NULL;
    if (!driver || !nvml)
        return 2;
    struct fake_control *(*get)(void);
    *(void **)&get = dlsym(driver, "fake_control");
    fake = get();
    joined = dlsym(nvml, "fake_nvml_joined");
    major = dlsym(nvml, "fake_nvml_major");
    for (int i = 0; i < 5; i++)
        memset(uuid[i], 0x40 + i, sizeof uuid[i]);
    if (device->open(why, sizeof why) != TUTTI_OK)
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

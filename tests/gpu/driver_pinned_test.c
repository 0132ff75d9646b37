/* The CUDA device against a pretended driver: pinned memory. The first small allocations of a process are pages of the
 * library's own, which the driver registers; not while a stream waits for the host, as registering would wait for it.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core/status.h"
#include "device/device.h"
#include "fake_libcuda.h"
#include "progress/gate.h"

enum { FIRST = 8, SMALL = 64 << 10, REFUSED = 801 };
static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;

/* Pinned memory that can be written as a whole while the driver refuses calls of this name; NULL: there is none. */
static void *pinned_without(const char *name, size_t bytes)
{
    struct tutti_memory memory;
    void *made = NULL;
    fake->fail_all = name;
    fake->fail_with = REFUSED;
    const int status = device->memory.alloc_pinned(bytes, &made);
    fake->fail_all = NULL;
    if (status != TUTTI_OK)
        return NULL;
    memset(made, 1, bytes);
    device->memory.classify(made, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_PINNED);
    return made;
}

static void end(void *made)
{
    assert_non_null(made);
    assert_int_equal(device->memory.free_pinned(made), TUTTI_OK);
}

static void test_pages(void **state)
{
    (void)state;
    void *made[FIRST];
    fake->current(0);
    end(pinned_without(NULL, SMALL)); /* the context */
    const int before = fake->live();
    tutti_gate_step(1);
    assert_null(pinned_without("cuMemHostAlloc", 1));
    void *const meanwhile = pinned_without("cuMemHostRegister_v2", 1);
    tutti_gate_step(-1);
    end(meanwhile);
    assert_null(pinned_without("cuMemHostAlloc", SMALL + 1));
    end(pinned_without("cuMemHostRegister_v2", SMALL + 1));
    end(pinned_without("cuMemHostRegister_v2", SMALL)); /* where it is refused, the driver allocates */
    for (int i = 1; i < FIRST; i++)
        assert_non_null(made[i] = pinned_without("cuMemHostAlloc", i % 2 ? SMALL : (size_t)i));
    assert_null(pinned_without("cuMemHostAlloc", 1));
    end(pinned_without("cuMemHostRegister_v2", 1));
    assert_int_equal(fake->live(), before + FIRST - 1);
    for (int i = 1; i < FIRST; i++) {
        end(made[i]);
        assert_int_equal(msync(made[i], 1, MS_ASYNC), -1); /* the pages have gone too */
    }
    assert_int_equal(fake->live(), before);
    fake->current(-1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_pages)};
    if (argc != 2 || !(fake = fake_open(dlopen(argv[1], RTLD_NOW))))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

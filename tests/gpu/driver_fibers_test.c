/* The CUDA device against a pretended driver: fibers in turns of a thread of the program. A fiber that waits leaves the
 * thread's context and capture mode as they were, since it may continue on another thread. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/status.h"
#include "device/device.h"
#include "fake_libcuda.h"
#include "progress/fiber.h"
#include "progress/gate.h"

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;
/* Of the driver; 0: no failure. */
static int (*exchange_mode)(int *mode);
static int (*get_current)(void **context);

enum { BYTES = 64, MODE_GLOBAL = 0 };
static char from[BYTES];
static char *to;
static int status;

static void thread_is_untouched(void)
{
    int mode = MODE_GLOBAL;
    void *context = NULL;
    assert_int_equal(exchange_mode(&mode), 0);
    assert_int_equal(mode, MODE_GLOBAL);
    assert_int_equal(get_current(&context), 0);
    assert_null(context);
}

static void copies(void *unused)
{
    (void)unused;
    status = device->memory.copy_ordinary(0, 1, to, from, sizeof from);
}

static void frees(void *unused)
{
    (void)unused;
    status = device->memory.free(to);
}

/* The call waits at the gate in a turn of this thread, and continues on the engine's. */
static void waits_at_gate(void (*run)(void *))
{
    status = 1;
    tutti_gate_waiting_begin(); /* a kernel waits */
    assert_int_equal(tutti_fiber_start(run, NULL), TUTTI_OK);
    for (int turn = 0; turn < 1000; turn++) {
        (void)tutti_fibers_turn();
        thread_is_untouched();
        usleep(turn % 100 == 0 ? 1000 : 0);
    }
    assert_int_equal(status, 1);
    tutti_gate_waiting_end();
    for (int ms = 0; ms < 20000 && tutti_fibers_any(); ms++) {
        (void)tutti_fibers_turn();
        thread_is_untouched();
        usleep(1000);
    }
    assert_int_equal(status, TUTTI_OK);
    thread_is_untouched();
}

/* A copy while a stream that waits for the legacy one is captured: in a stream of the library, which is made. */
static void test_copies(void **state)
{
    (void)state;
    fake->current(-1);
    to = fake->make(0, FAKE_MALLOC, BYTES);
    memset(from, 7, sizeof from);
    fake->capturing = fake->make_stream(0, 0);
    waits_at_gate(copies);
    assert_int_equal(fake->invalidated, 0);
    fake->capturing = NULL;
    assert_memory_equal(to, from, sizeof from);
}

static void test_release(void **state)
{
    void *memory = NULL;
    (void)state;
    fake->current(-1);
    assert_int_equal(device->memory.alloc(0, BYTES, &memory), TUTTI_OK);
    to = memory;
    waits_at_gate(frees);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_copies), cmocka_unit_test(test_release)};
    void *const library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (!library || !(fake = fake_open(library)))
        return 2;
    *(void **)&exchange_mode = dlsym(library, "cuThreadExchangeStreamCaptureMode");
    *(void **)&get_current = dlsym(library, "cuCtxGetCurrent");
    return cmocka_run_group_tests(tests, NULL, NULL);
}

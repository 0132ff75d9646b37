/* The CUDA device against a pretended driver: what is decided on the host, without a GPU. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/lives.h"
#include "core/status.h"
#include "core/types.h"
#include "device/device.h"
#include "fake_libcuda.h"
#include "kernels/args.h"

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;
static const char *fake_path, *old_path;

enum { OUT_OF_MEMORY = 2, CONTEXT_IS_DESTROYED = 709, UNKNOWN_ERROR = 999 };

static void load_fake(void)
{
    void *library = dlopen(fake_path, RTLD_NOW);
    if (!library)
        fail_msg("%s", dlerror());
    fake = fake_of(library);
}

/* Runs first: nothing is there, other libraries come and go, then the driver comes. */
static void test_active(void **state)
{
    (void)state;
    struct tutti_memory memory;
    int local = 0, gpu = 0;
    assert_int_equal(device->active(), 0);
    assert_int_equal(device->active(), 0);
    assert_int_equal(device->gpu.count(), 0);
    assert_int_equal(device->gpu.current(&gpu), TUTTI_ERR_UNAVAILABLE);
    device->memory.classify(&local, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_HOST);
    for (int i = 0; i < 3; i++) {
        void *other = dlopen(i == 1 ? "libresolv.so.2" : "libanl.so.1", RTLD_NOW);
        assert_int_equal(device->active(), 0);
        if (other)
            dlclose(other);
        assert_int_equal(device->active(), 0);
    }
    load_fake();
    assert_int_equal(device->active(), 1);
    assert_int_equal(device->active(), 1);
    assert_int_equal(device->gpu.count(), 0); /* the program has not initialised it */
    device->memory.classify(&local, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_HOST);
}

static void test_open(void **state)
{
    (void)state;
    char why[256] = "", text[256];
    unsigned char uuid[16], other[16] = {1};
    fake->fail_at = fake->calls + 1;
    fake->fail_with = 100;
    assert_int_equal(device->open(why, sizeof why), TUTTI_ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "FAKE_ERROR_100"));
    assert_int_equal(device->open(why, sizeof why), TUTTI_ERR_UNAVAILABLE); /* the first result */
    device->close();
    assert_int_equal(device->open(why, sizeof why), TUTTI_OK);
    assert_int_equal(device->gpu.count(), 2);
    assert_int_equal(device->gpu.blocks(0), 132);
    assert_int_equal(device->gpu.describe(1, text, sizeof text), TUTTI_OK);
    assert_non_null(strstr(text, "Pretended GPU 1"));
    assert_int_equal(device->gpu.uuid(1, uuid), TUTTI_OK);
    assert_int_equal(device->gpu.uuid(2, uuid), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->gpu.reach(0, uuid), 2);
    assert_int_equal(device->gpu.reach(1, uuid), 2);
    assert_int_equal(device->gpu.reach(0, other), 2);    /* hidden: the import decides */
    assert_int_equal(device->gpu.lines(uuid, other), 0); /* nothing is known of the link */
    int gpu = 5;
    assert_int_equal(device->gpu.current(&gpu), TUTTI_OK);
    assert_int_equal(gpu, -1);
}

static void test_classify(void **state)
{
    (void)state;
    struct tutti_memory memory;
    char *plain = fake->make(1, FAKE_MALLOC, 5000), *managed = fake->make(0, FAKE_MANAGED, 10);
    char *pinned = fake->make(0, FAKE_PINNED, 10);
    uint64_t id;
    device->memory.classify(plain + 100, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_DEVICE);
    assert_int_equal(memory.gpu, 1);
    assert_ptr_equal(memory.base, plain);
    assert_int_equal(memory.bytes, 8192);
    id = memory.id;
    const unsigned long calls = fake->calls, queries = fake->queries;
    device->memory.classify(plain, &memory);
    assert_true(memory.id == id && id != 0);
    assert_int_equal(fake->queries - queries, 1); /* one question about memory, one about each GPU's context */
    assert_true(fake->calls - calls <= 3);
    device->memory.classify(managed, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_MANAGED);
    device->memory.classify(pinned, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_PINNED);
    assert_int_equal(memory.gpu, -1);
    unsigned long before = fake->calls;
    static char ordinary[16];
    device->memory.classify(ordinary, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_HOST);
    assert_int_equal(fake->calls - before, 1); /* one call of the driver for host memory */
    before = fake->calls;
    device->memory.classify(&memory, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_HOST);
    assert_int_equal(fake->calls, before); /* none for the stack */
    device->memory.classify(NULL, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_HOST);
    assert_int_equal(fake->calls, before);
    fake->fail_at = fake->calls + 1;
    fake->fail_with = 4; /* the driver is shutting down */
    device->memory.classify(plain, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_HOST);
}

/* The thread's context is what it was before, whatever was done; the first GPU's context is entered and left. */
static void test_contexts(void **state)
{
    (void)state;
    void *memory;
    int gpu;
    fake->current(1);
    assert_int_equal(device->memory.alloc(0, 100, &memory), TUTTI_OK);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    assert_int_equal(device->gpu.current(&gpu), TUTTI_OK);
    assert_int_equal(gpu, 1);
    assert_int_equal(device->memory.alloc(-1, 100, &memory), TUTTI_OK);
    struct tutti_memory what;
    device->memory.classify(memory, &what);
    assert_int_equal(what.gpu, 1);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    assert_int_equal(device->gpu.choose(0), TUTTI_OK);
    assert_int_equal(device->gpu.current(&gpu), TUTTI_OK);
    assert_int_equal(gpu, 0);
    fake->current(-1);
}

/* Whoever made the primary context gives it up while Tutti works in it, as Intel MPI does in MPI_Finalize. */
static void test_given_up(void **state)
{
    (void)state;
    char why[128], buffer[8] = "xyz";
    struct tutti_stream *stream;
    void *memory;
    device->close();
    assert_int_equal(device->open(why, sizeof why), TUTTI_OK);
    fake->current(1);
    assert_int_equal(device->stream.create(1, &stream), TUTTI_OK);
    assert_int_equal(device->memory.alloc(1, 64, &memory), TUTTI_OK);
    fake->current(-1);
    assert_true(fake->release(1) > 0);
    assert_int_equal(device->stream.copy(stream, memory, buffer, sizeof buffer), TUTTI_OK);
    assert_memory_equal(memory, buffer, sizeof buffer);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

/* Exports `memory` and imports it as another process would see it. */
static void through(char *memory, int gpu, int needs_fd)
{
    struct tutti_export what;
    int fd = -2;
    void *base = NULL;
    int before = fake->live();
    memory[7] = 42;
    assert_int_equal(device->share.export(memory + 7, &what, &fd), TUTTI_OK);
    assert_int_equal(what.needs_fd, needs_fd);
    assert_int_equal(fd >= 0, needs_fd);
    assert_true(what.base == (uint64_t)(uintptr_t)memory);
    what.kind ^= 0x10u; /* the number of another process */
    assert_int_equal(device->share.import(gpu, &what, fd, &base), TUTTI_OK);
    assert_ptr_not_equal(base, memory);
    assert_int_equal(((char *)base)[7], 42);
    ((char *)base)[8] = 43;
    assert_int_equal(memory[8], 43);
    assert_int_equal(device->share.release(gpu, &what, base), TUTTI_OK);
    assert_int_equal(fake->live(), before);
    what.kind ^= 0x10u; /* this process's own */
    assert_int_equal(device->share.import(gpu, &what, fd, &base), TUTTI_OK);
    assert_int_equal(((char *)base)[8], 43);
    assert_int_equal(device->share.release(gpu, &what, base), TUTTI_OK);
    assert_int_equal(fake->live(), before);
    if (fd >= 0)
        close(fd);
    what.kind |= 15;
    assert_int_equal(device->share.import(gpu, &what, 0, &base), TUTTI_ERR_ARGUMENT);
}

static void test_share(void **state)
{
    (void)state;
    struct tutti_export what;
    int fd = -2;
    for (int gpu = 0; gpu < 2; gpu++) {
        through(fake->make(0, FAKE_MALLOC, 5000), gpu, 0);
        through(fake->make(0, FAKE_VMM, 5000), gpu, 1);
        through(fake->make(0, FAKE_POOL, 5000), gpu, 1);
    }
    const enum fake_kind refused[] = {FAKE_VMM_PRIVATE, FAKE_POOL_PRIVATE, FAKE_MANAGED, FAKE_PINNED};
    for (int i = 0; i < 4; i++)
        assert_int_equal(device->share.export(fake->make(0, refused[i], 10), &what, &fd), TUTTI_ERR_NOT_EXPORTABLE);
    assert_int_equal(device->share.export(&fd, &what, &fd), TUTTI_ERR_NOT_EXPORTABLE);
    assert_int_equal(fd, -2); /* set on success alone */
}

static void test_own_address_again(void **state)
{
    (void)state;
    struct tutti_export what;
    int fd;
    void *base = NULL;
    char *memory = fake->make(0, FAKE_MALLOC, 100);
    assert_int_equal(device->share.export(memory, &what, &fd), TUTTI_OK);
    what.id += 1000; /* freed, and another allocation has its address */
    assert_int_equal(device->share.import(0, &what, -1, &base), TUTTI_OK);
    assert_ptr_not_equal(base, memory); /* left to the driver */
}

/* Every operation once; returns the first failure. What succeeded is undone. */
static int scenario(void)
{
    struct tutti_stream *stream = NULL;
    struct tutti_event *event = NULL;
    struct tutti_export what;
    struct tutti_kernel_args args = {.count = 77, .epoch = 3};
    struct tutti_launch launch = {
        .kernel = TUTTI_KERNEL_ONESHOT, .type = TUTTI_TYPE_I32, .op = TUTTI_OP_SUM, .blocks = 5, .args = &args};
    void *memory = NULL, *base = NULL, *pinned = NULL, *seen = NULL, *host = NULL;
    char buffer[64] = "abc";
    int fd = -1, shared = 0, mapped = 0, worst = TUTTI_OK;
#define TRY(expression)                                                                                                \
    do {                                                                                                               \
        int got = (expression);                                                                                        \
        worst = got < worst ? got : worst;                                                                             \
        assert_true(got <= 1 && got > -100);                                                                           \
    } while (0)
    TRY(device->memory.alloc(0, 4096, &memory));
    TRY(device->memory.alloc_pinned(64, &pinned));
    TRY(device->stream.create(0, &stream));
    TRY(device->event.create(0, &event));
    host = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    mapped = device->memory.map_host(0, host, 4096, &seen);
    TRY(mapped);
    if (memory && stream && event) {
        TRY(device->stream.fill(stream, memory, 1, 4096));
        TRY(device->stream.copy(stream, memory, buffer, sizeof buffer));
        TRY(device->launch.kernel(stream, &launch));
        TRY(device->event.record(event, stream));
        TRY(device->event.wait(stream, event));
        TRY(device->event.query(event));
        TRY(device->stream.query(stream));
        TRY(device->stream.sync(stream));
        TRY(device->memory.copy_now(buffer, memory, sizeof buffer));
        shared = device->share.export(memory, &what, &fd);
        TRY(shared);
        what.kind ^= 0x10u;
        if (shared == TUTTI_OK) {
            TRY(device->share.import(0, &what, fd, &base));
            if (base)
                TRY(device->share.release(0, &what, base));
        }
    }
    if (mapped == TUTTI_OK)
        TRY(device->memory.unmap_host(0, host));
    TRY(device->event.destroy(event));
    TRY(device->stream.destroy(stream));
    TRY(device->memory.free_pinned(pinned));
    TRY(device->memory.free(memory));
    munmap(host, 4096);
    return worst;
}

static void test_launch(void **state)
{
    (void)state;
    struct tutti_kernel_args args;
    fake->fail_at = 0;
    assert_int_equal(scenario(), TUTTI_OK);
    assert_string_equal(fake->launched, "tutti_oneshot_U32_SUM"); /* signs do not matter in a sum */
    assert_int_equal(fake->blocks, 5);
    assert_int_equal(fake->threads, 512);
    memcpy(&args, fake->arguments, sizeof fake->arguments);
    assert_int_equal(args.count, 77);
    assert_int_equal(args.epoch, 3);
}

static int destroys(const char *name)
{
    return strstr(name, "Free") || strstr(name, "Destroy") || strstr(name, "Close") || strstr(name, "Unregister") ||
           strstr(name, "Unload") || strstr(name, "Release");
}

/* The k-th call of the driver fails, for every k: a clean status, the thread's context as before, nothing left behind.
 */
static void test_faults(void **state)
{
    (void)state;
    static const int errors[] = {OUT_OF_MEMORY, UNKNOWN_ERROR, CONTEXT_IS_DESTROYED};
    char why[128];
    for (int e = 0; e < 3; e++) {
        unsigned long k = 1;
        for (int fired = 1; fired; k++) {
            device->close();
            assert_int_equal(device->open(why, sizeof why), TUTTI_OK);
            fake->current(0);
            int before = fake->live(), gpu = -1;
            fake->failed = NULL;
            fake->fail_with = errors[e];
            fake->fail_at = fake->calls + k;
            int status = scenario();
            fired = fake->failed != NULL;
            fake->fail_at = 0;
            assert_int_equal(device->gpu.current(&gpu), TUTTI_OK);
            if (errors[e] == CONTEXT_IS_DESTROYED) /* what it held is left to it, knowingly */
                continue;
            device->close(); /* the module */
            if (fired &&
                (destroys(fake->failed) || strcmp(fake->failed, "cuPointerGetAttributes") == 0 ||
                 strncmp(fake->failed, "cuCtx", 5) == 0 || strncmp(fake->failed, "cuDevicePrimaryCtx", 18) == 0))
                continue; /* what could not be freed is still there */
            if (fake->live() != before)
                fail_msg("call %lu (%s) failing with %d leaves %d objects", k, fake->failed, errors[e],
                         fake->live() - before);
            if (fired && strncmp(fake->failed, "cuDeviceGet", 11) != 0) /* what is not known is done without */
                assert_true(status < 0);
        }
        assert_true(k > 40); /* every call of the scenario had its turn */
    }
}

static void test_reset(void **state)
{
    (void)state;
    char why[128], buffer[8] = "xyz";
    struct tutti_stream *stream, *left;
    struct tutti_event *event;
    void *memory;
    device->close();
    assert_int_equal(device->open(why, sizeof why), TUTTI_OK);
    fake->current(0);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_int_equal(device->stream.create(0, &left), TUTTI_OK);
    assert_int_equal(device->event.create(0, &event), TUTTI_OK);
    assert_int_equal(device->memory.alloc(0, 64, &memory), TUTTI_OK);
    const unsigned life = tutti_gpu_life(0);
    device->gpu.look();
    assert_int_equal(tutti_gpu_life(0), life);
    fake->reset(0);
    device->gpu.look();
    assert_int_equal(tutti_gpu_life(0), life + 1);
    assert_int_equal(device->stream.copy(stream, memory, buffer, sizeof buffer), TUTTI_ERR_DEVICE);
    assert_int_equal(device->stream.sync(stream), TUTTI_ERR_DEVICE);
    assert_int_equal(device->event.query(event), TUTTI_ERR_DEVICE);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    assert_int_equal(device->stream.destroy(left), TUTTI_OK);
    /* The program goes on: the same handle of the context, another life. */
    memory = fake->make(0, FAKE_MALLOC, 64);
    fake->current(0);
    assert_int_equal(device->stream.copy(stream, memory, buffer, sizeof buffer), TUTTI_OK);
    assert_memory_equal(memory, buffer, sizeof buffer);
    assert_int_equal(device->event.record(event, stream), TUTTI_OK);
    assert_int_equal(device->event.query(event), 1);
    assert_int_equal(scenario(), TUTTI_OK);
    assert_int_equal(device->event.destroy(event), TUTTI_OK);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

static void test_fork(void **state)
{
    (void)state;
    void *mine = NULL;
    assert_int_equal(device->memory.alloc(0, 10, &mine), TUTTI_OK);
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        struct tutti_memory memory;
        char why[256];
        void *pointer;
        unsigned long before = fake->calls;
        device->memory.classify(&memory, &memory);
        int good = device->active() == 0 && memory.kind == TUTTI_MEMORY_HOST && device->gpu.count() == 0 &&
                   device->open(why, sizeof why) == TUTTI_ERR_UNAVAILABLE &&
                   device->memory.alloc(0, 10, &pointer) == TUTTI_ERR_UNAVAILABLE &&
                   device->memory.free(mine) == TUTTI_ERR_UNAVAILABLE;
        device->close();
        _exit(good && fake->calls == before ? 0 : 1);
    }
    int result = -1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_int_equal(device->active(), 1);
    assert_int_equal(device->memory.free(mine), TUTTI_OK);
}

/* A driver without an entry point: said once, and the program's memory counts as host memory. */
static void test_old(void **state)
{
    (void)state;
    char why[256] = "";
    int local = 0;
    struct tutti_memory memory;
    fake_path = old_path;
    assert_int_equal(device->active(), 0);
    load_fake();
    assert_int_equal(device->active(), 0);
    assert_int_equal(device->open(why, sizeof why), TUTTI_ERR_UNAVAILABLE);
    assert_non_null(strstr(why, "cuCtxGetId"));
    assert_int_equal(device->gpu.count(), 0);
    device->memory.classify(&local, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_HOST);
    assert_int_equal(fake->calls, 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest old[] = {cmocka_unit_test(test_old)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_active),   cmocka_unit_test(test_open),     cmocka_unit_test(test_classify),
        cmocka_unit_test(test_contexts), cmocka_unit_test(test_share),    cmocka_unit_test(test_own_address_again),
        cmocka_unit_test(test_launch),   cmocka_unit_test(test_faults),   cmocka_unit_test(test_reset),
        cmocka_unit_test(test_fork),     cmocka_unit_test(test_given_up),
    };
    if (argc != 3)
        return 2;
    fake_path = argv[2];
    old_path = argv[2];
    return strcmp(argv[1], "old") == 0 ? cmocka_run_group_tests(old, NULL, NULL)
                                       : cmocka_run_group_tests(tests, NULL, NULL);
}

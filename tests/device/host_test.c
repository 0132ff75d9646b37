/* What the host device alone promises: faults, poison, refusals, children after fork. host_test */
#include "kit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/settings.h"
#include "core/types.h"
#include "tutti/tutti.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Stands before libc's: fails as told, so that a machine without memory can be had at will. */
static int interruptions, no_space;
int fallocate(int fd, int mode, off_t at, off_t bytes)
{
    if (no_space || interruptions > 0) {
        errno = no_space ? ENOSPC : EINTR;
        interruptions -= !no_space;
        return -1;
    }
    return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

static int load(void *with)
{
    return *(volatile char *)with & 0;
}

static int store(void *with)
{
    *(volatile char *)with = 1;
    return 0;
}

static int segv(int (*body)(void *), void *with)
{
    return kit_child(body, with) == -SIGSEGV;
}

static void test_faults(void **state)
{
    (void)state;
    enum { BYTES = 10000 };
    char *made = kit_alloc(BYTES), *other = kit_alloc(BYTES);
    if (kit_strict()) {
        assert_true(segv(load, made));
        assert_true(segv(load, made + BYTES - 1));
        assert_true(segv(store, made));
        assert_true(segv(store, other + 4097));
    } else {
        kit_put(made, BYTES, 4);
        char wanted[BYTES];
        kit_pattern(wanted, BYTES, 4);
        assert_memory_equal(made, wanted, BYTES);
        made[7] = 42; /* and what the program stores is seen by copies */
        assert_int_equal(device->memory.copy_now(wanted, made, BYTES), TUTTI_OK);
        assert_int_equal(wanted[7], 42);
    }
    kit_free(made);
    assert_true(segv(load, made));
    assert_true(segv(store, made + BYTES - 1));
    kit_free(other);
}

/* Behind the last page of an allocation lies nothing, and nothing where one was; gaps are reused from the first on. */
static void test_edges(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 4096, 65536, 65537, 1 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        const size_t whole = (sizes[i] + 4095) / 4096 * 4096;
        char *made = kit_alloc(sizes[i]), *next = kit_alloc(sizes[i]);
        assert_true(next >= made + whole + 4096 || made >= next + whole + 4096);
        assert_true(segv(load, made + whole));
        kit_free(made);
        assert_true(segv(load, made));
        assert_true(segv(load, made + whole - 1));
        char *again = kit_alloc(sizes[i]);
        assert_ptr_equal(again, made);
        kit_free(again);
        kit_free(next);
    }
}

static void test_poison(void **state)
{
    (void)state;
    enum { BYTES = 9001 };
    unsigned char got[BYTES];
    for (int i = 0; i < 3; i++) { /* also where memory was before */
        char *made = kit_alloc(BYTES);
        assert_int_equal(device->memory.copy_now(got, made, BYTES), TUTTI_OK);
        for (int j = 0; j < BYTES; j++)
            assert_int_equal(got[j], kit_strict() ? 0xa5 : 0);
        kit_put(made, BYTES, 1);
        kit_free(made);
    }
}

static void test_bad_pointers(void **state)
{
    (void)state;
    enum { BYTES = 5000 };
    char *made = kit_alloc(BYTES), *gone = kit_alloc(BYTES), local[BYTES] = {0};
    struct tutti_stream *stream;
    struct kit_words *seen, *words = kit_words(&seen);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    char *channel = kit_alloc(sizeof(struct tutti_channel_flags) + 4096);
    kit_free(gone);
    kit_put(made, BYTES, 8);
    assert_int_equal(device->memory.free(gone), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->memory.free(made + 1), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->memory.free(local), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->memory.copy_now(local, gone, 1), TUTTI_ERR_DEVICE);
    assert_int_equal(device->memory.copy_now(gone, local, 1), TUTTI_ERR_DEVICE);
    assert_int_equal(device->memory.copy_now(made + 1, local, BYTES), TUTTI_ERR_DEVICE);
    assert_int_equal(device->memory.copy_now(local, made + BYTES - 1, 2), TUTTI_ERR_DEVICE);
    assert_int_equal(device->memory.copy_now(local, made, SIZE_MAX), TUTTI_ERR_DEVICE);
    assert_int_equal(device->stream.copy(stream, gone, made, 8), TUTTI_ERR_DEVICE);
    assert_int_equal(device->stream.fill(stream, made + 8, 0, BYTES), TUTTI_ERR_DEVICE);

    const struct tutti_kernel_args good = {.count = 100,
                                           .slice = 100,
                                           .ranks = 1,
                                           .outs = 1,
                                           .gpus = 1,
                                           .epoch = 1,
                                           .blocks = 1,
                                           .finished = 1,
                                           .abort = &seen->abort,
                                           .done = &seen->done,
                                           .in = {made},
                                           .out = {made + 400},
                                           .window = {channel}};
    struct tutti_kernel_args args = good;
    struct tutti_launch launch = {
        .kernel = TUTTI_KERNEL_DIRECT, .type = TUTTI_TYPE_I32, .op = TUTTI_OP_SUM, .blocks = 1, .args = &args};
    args.in[0] = gone;
    assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_ERR_DEVICE);
    args = good;
    args.out[0] = made + BYTES - 399;
    assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_ERR_DEVICE);
    args = good;
    args.window[0] = made; /* too small for a channel */
    assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_ERR_DEVICE);
    args = good;
    args.slots = sizeof(struct tutti_channel_flags);
    args.slot_bytes = 4097;
    launch.kernel = TUTTI_KERNEL_ONESHOT;
    assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_ERR_DEVICE);
    args.slot_bytes = 4096;
    args.result = args.slots + 4096 - 399;
    launch.kernel = TUTTI_KERNEL_TWOSHOT;
    assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_ERR_DEVICE);
    args = good;
    launch.kernel = TUTTI_KERNEL_DIRECT;
    args.ranks = TUTTI_MAX_RANKS + 1;
    assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_ERR_ARGUMENT);
    args = good;
    launch.blocks = 0;
    assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_ERR_ARGUMENT);

    /* Nothing was touched, and the stream goes on. */
    assert_int_equal(device->stream.sync(stream), TUTTI_OK);
    assert_true(kit_holds(made, BYTES, 8));
    assert_int_equal(device->stream.fill(stream, channel, 0, sizeof(struct tutti_channel_flags)), TUTTI_OK);
    launch.blocks = 1;
    assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_OK);
    assert_int_equal(device->stream.sync(stream), TUTTI_OK);
    assert_int_equal(words->done, 1);
    assert_true(kit_holds(made, 400, 8));
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    kit_free(made);
    kit_free(channel);
    kit_words_free(words);
}

/* In strict mode work is not done when the call returns: a missing wait is seen. Otherwise idle streams do it at once.
 */
static void test_missing_wait(void **state)
{
    (void)state;
    enum { TIMES = 1000 };
    struct tutti_stream *stream;
    struct tutti_event *event;
    char *made = kit_alloc(100);
    int early = 0;
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_int_equal(device->event.create(0, &event), TUTTI_OK);
    for (int i = 0; i < TIMES; i++) {
        assert_int_equal(device->stream.fill(stream, made, i, 100), TUTTI_OK);
        assert_int_equal(device->event.record(event, stream), TUTTI_OK);
        early += device->event.query(event) == 0;
        assert_int_equal(device->stream.sync(stream), TUTTI_OK);
        assert_int_equal(device->event.query(event), 1);
    }
    if (kit_strict())
        assert_true(early > TIMES / 20);
    else
        assert_int_equal(early, 0);
    assert_int_equal(device->event.destroy(event), TUTTI_OK);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    kit_free(made);
}

static void test_gpus(void **state)
{
    (void)state;
    struct tutti_stream *stream = NULL;
    struct tutti_event *event = NULL;
    void *made = NULL;
    const int gpus = device->gpu.count();
    assert_int_equal(gpus, tutti_settings()->host_gpus > 0 ? tutti_settings()->host_gpus : 64);
    assert_int_equal(device->memory.alloc(gpus, 10, &made), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->memory.alloc(-2, 10, &made), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->stream.create(gpus, &stream), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->event.create(gpus, &event), TUTTI_ERR_ARGUMENT);
    assert_null(made);
    assert_null(stream);
    assert_null(event);
}

static void test_no_memory(void **state)
{
    (void)state;
    enum { BYTES = 5 << 20 }; /* not kept when it is freed */
    int mark, before = kit_descriptors();
    void *made = &mark;
    no_space = 1;
    assert_int_equal(device->memory.alloc(-1, BYTES, &made), TUTTI_ERR_MEMORY);
    no_space = 0;
    assert_ptr_equal(made, &mark);
    assert_true(kit_descriptors() <= before); /* what was kept has been let go of */
    before = kit_descriptors();
    interruptions = 3; /* signals of the program */
    made = kit_alloc(BYTES);
    assert_int_equal(interruptions, 0);
    kit_put(made, BYTES, 3);
    assert_true(kit_holds(made, BYTES, 3));
    kit_free(made);
    assert_int_equal(kit_descriptors(), before);
}

static void test_no_descriptors(void **state)
{
    (void)state;
    enum { MOST = 300 };
    struct rlimit limit, low;
    void *made[MOST];
    int n = 0, status = TUTTI_OK;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    low = limit;
    low.rlim_cur = (rlim_t)kit_descriptors() + 10;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
    while (n < MOST && (status = device->memory.alloc(-1, 100, &made[n])) == TUTTI_OK)
        n++;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_true(n >= 5 && n < MOST);
    assert_int_equal(status, TUTTI_ERR_SYSTEM);
    while (n > 0)
        kit_free(made[--n]);
}

/* The descriptor of a peer is looked at before it is believed. */
static void test_refused_imports(void **state)
{
    (void)state;
    struct tutti_export name = {.id = 1, .base = 4096, .bytes = 8192, .needs_fd = 1};
    void *base = NULL;
    int ends[2], before = kit_descriptors(), unsealed = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_true(unsealed >= 0);
    assert_int_equal(ftruncate(unsealed, 8192), 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(device->share.import(0, &name, -1, &base), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->share.import(0, &name, ends[0], &base), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->share.import(0, &name, unsealed, &base), TUTTI_ERR_ARGUMENT);
    assert_int_equal(fcntl(unsealed, F_ADD_SEALS, F_SEAL_SHRINK), 0);
    name.bytes = 8193;
    assert_int_equal(device->share.import(0, &name, unsealed, &base), TUTTI_ERR_ARGUMENT);
    name.bytes = 0;
    assert_int_equal(device->share.import(0, &name, unsealed, &base), TUTTI_ERR_ARGUMENT);
    assert_null(base);
    name.bytes = 8192; /* nothing else was wrong with it */
    assert_int_equal(device->share.import(0, &name, unsealed, &base), TUTTI_OK);
    assert_int_equal(device->share.release(0, &name, (char *)base + 4096), TUTTI_ERR_ARGUMENT);
    assert_int_equal(device->share.release(0, &name, base), TUTTI_OK);
    assert_int_equal(device->share.release(0, &name, base), TUTTI_ERR_ARGUMENT);
    close(unsealed);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(kit_descriptors(), before);

    /* What is exported cannot be made smaller under its users. */
    struct tutti_export own;
    void *made = kit_alloc(8192);
    int fd = -1;
    assert_int_equal(device->share.export(made, &own, &fd), TUTTI_OK);
    assert_int_equal(ftruncate(fd, 0), -1);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    close(fd);
    kit_free(made);
}

struct parent {
    void *memory;
    struct tutti_stream *stream;
    struct tutti_event *event;
};

/* Returns the number of the first expectation that fails. */
static int child_of_fork(void *with)
{
    struct parent *parent = with;
    struct tutti_memory memory;
    struct tutti_stream *stream;
    void *made;
    char why[256] = "", local[8];
    if (device->active() != 0)
        return 1;
    device->memory.classify(parent->memory, &memory);
    if (memory.kind != TUTTI_MEMORY_HOST)
        return 2;
    if (device->open(why, sizeof why) != TUTTI_ERR_UNAVAILABLE || !strstr(why, "fork"))
        return 3;
    if (device->memory.alloc(-1, 10, &made) != TUTTI_ERR_UNAVAILABLE || device->memory.free(parent->memory) == TUTTI_OK)
        return 4;
    if (device->stream.create(0, &stream) != TUTTI_ERR_UNAVAILABLE)
        return 5;
    if (device->stream.sync(parent->stream) != TUTTI_ERR_UNAVAILABLE ||
        device->stream.query(parent->stream) != TUTTI_ERR_UNAVAILABLE)
        return 6;
    if (device->stream.fill(parent->stream, parent->memory, 0, 8) == TUTTI_OK ||
        device->event.record(parent->event, parent->stream) == TUTTI_OK ||
        device->event.wait(parent->stream, parent->event) == TUTTI_OK ||
        device->event.query(parent->event) != TUTTI_ERR_UNAVAILABLE)
        return 7;
    if (device->memory.copy_now(local, parent->memory, 8) != TUTTI_ERR_DEVICE)
        return 8;
    if (tutti_alloc(10, &made) != TUTTI_ERR_UNAVAILABLE || tutti_is_device(parent->memory))
        return 9;
    if (device->event.destroy(parent->event) != TUTTI_OK || device->stream.destroy(parent->stream) != TUTTI_OK)
        return 10;
    return 0;
}

static void test_fork(void **state)
{
    (void)state;
    enum { BYTES = 1 << 20 };
    struct parent parent = {.memory = kit_alloc(BYTES)};
    assert_int_equal(device->stream.create(0, &parent.stream), TUTTI_OK);
    assert_int_equal(device->event.create(0, &parent.event), TUTTI_OK);
    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 20; j++) /* the thread is at work while the child is made */
            assert_int_equal(device->stream.fill(parent.stream, parent.memory, i + j, BYTES), TUTTI_OK);
        assert_int_equal(device->event.record(parent.event, parent.stream), TUTTI_OK);
        assert_int_equal(kit_child(child_of_fork, &parent), 0);
    }
    assert_int_equal(device->stream.sync(parent.stream), TUTTI_OK);
    kit_put(parent.memory, BYTES, 12);
    assert_true(kit_holds(parent.memory, BYTES, 12));
    assert_int_equal(device->event.destroy(parent.event), TUTTI_OK);
    assert_int_equal(device->stream.destroy(parent.stream), TUTTI_OK);
    kit_free(parent.memory);
}

/* Runs before the device is used: little address space makes the ranges smaller. */
static int narrow(void *with)
{
    const struct rlimit limit = {(rlim_t)6 << 30, (rlim_t)6 << 30};
    char why[256] = "", in[1000];
    void *made;
    (void)with;
    kit_pattern(in, sizeof in, 1);
    if (setrlimit(RLIMIT_AS, &limit) != 0 || kit_open("host") != 0 || device->open(why, sizeof why) != TUTTI_OK)
        return 1;
    if (device->memory.alloc(-1, (size_t)5 << 30, &made) != TUTTI_ERR_MEMORY)
        return 2;
    if (device->memory.alloc(-1, sizeof in, &made) != TUTTI_OK ||
        device->memory.copy_now(made, in, sizeof in) != TUTTI_OK)
        return 3;
    return kit_holds(made, sizeof in, 1) ? 0 : 4;
}

static void test_narrow(void **state)
{
    (void)state;
    if (SANITIZED) /* its shadow needs more */
        skip();
    assert_int_equal(kit_child(narrow, NULL), 0);
}

/* Before anything was allocated. */
static void test_inactive(void **state)
{
    (void)state;
    struct tutti_memory memory;
    int local;
    assert_int_equal(kit_open("host"), 0);
    assert_int_equal(tutti_device_active(device), 0);
    device->memory.classify(&local, &memory);
    assert_int_equal(memory.kind, TUTTI_MEMORY_HOST);
    assert_int_equal(tutti_is_device(&local), 0);
    void *made = kit_alloc(10);
    assert_int_equal(tutti_device_active(device), 1);
    kit_free(made);
    assert_int_equal(tutti_device_active(device), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow),    cmocka_unit_test(test_inactive),       cmocka_unit_test(test_faults),
        cmocka_unit_test(test_poison),    cmocka_unit_test(test_bad_pointers),   cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_no_memory), cmocka_unit_test(test_no_descriptors), cmocka_unit_test(test_refused_imports),
        cmocka_unit_test(test_fork),      cmocka_unit_test(test_missing_wait),   cmocka_unit_test(test_edges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The CUDA device against a pretended driver: streams of the program, what Tutti may do while one is captured,
 * and host memory that is mapped on two GPUs. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "core/status.h"
#include "core/types.h"
#include "device/device.h"
#include "dtype/pack/parts.h"
#include "fake_libcuda.h"
#include "kernels/args.h"

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;
static void *library;

enum { CAPTURE_UNSUPPORTED = 900 };

/* A stream of the program on that GPU. */
static void *program_stream(int gpu, struct tutti_stream **owner)
{
    void *handle = NULL;
    int on;
    assert_int_equal(device->stream.create(gpu, owner), TUTTI_OK);
    assert_int_equal(device->stream.identity(*owner, &on, &handle), TUTTI_OK);
    assert_int_equal(on, gpu);
    assert_non_null(handle);
    return handle;
}

static int launch(struct tutti_stream *stream, int early)
{
    struct tutti_kernel_args args = {.count = 7};
    struct tutti_launch what = {.kernel = TUTTI_KERNEL_DIRECT,
                                .type = TUTTI_TYPE_F32,
                                .op = TUTTI_OP_SUM,
                                .blocks = 3,
                                .early = early,
                                .args = &args};
    return device->launch.kernel(stream, &what);
}

static void test_wrap(void **state)
{
    (void)state;
    struct tutti_stream *owner[2], *stream = NULL;
    void *handle[2], *same;
    int gpu = -1, before;
    fake->current(0);
    for (int g = 0; g < 2; g++)
        handle[g] = program_stream(g, &owner[g]);
    before = fake->live();
    for (int g = 0; g < 2; g++) {
        stream = NULL;
        assert_int_equal(device->stream.wrap(1 - g, handle[g], &stream), TUTTI_ERR_ARGUMENT);
        assert_null(stream);
        assert_int_equal(device->stream.wrap(g ? -1 : 0, handle[g], &stream), TUTTI_OK);
        assert_int_equal(device->stream.identity(stream, &gpu, &same), TUTTI_OK);
        assert_int_equal(gpu, g);
        assert_ptr_equal(same, handle[g]);
        assert_int_equal(launch(stream, g), TUTTI_OK); /* also where another GPU is the thread's */
        assert_ptr_equal(fake->stream, handle[g]);
        assert_int_equal(device->gpu.current(&gpu), TUTTI_OK);
        assert_int_equal(gpu, 0);
        assert_int_equal(device->stream.sync(stream), TUTTI_OK);
        assert_int_equal(device->stream.query(stream), 1);
        assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
        assert_int_equal(device->stream.sync(owner[g]), TUTTI_OK);
    }
    assert_int_equal(fake->live(), before + 2); /* a module for each context */
    for (int g = 0; g < 2; g++)
        assert_int_equal(device->stream.destroy(owner[g]), TUTTI_OK);
}

/* What the kernels of a family are told of the operator. */
static void test_sense(void **state)
{
    (void)state;
    static const struct {
        int type, op;
        const char *kernel;
        unsigned long long flip, mix;
    } rows[] = {
        {TUTTI_TYPE_I8, TUTTI_OP_MIN, "tutti_direct_U8_ORDER", 0x80, 0},
        {TUTTI_TYPE_U16, TUTTI_OP_MAX, "tutti_direct_U16_ORDER", 0xffff, 0},
        {TUTTI_TYPE_F16, TUTTI_OP_MAX, "tutti_direct_F16_ORDER", 0x80000000, 0},
        {TUTTI_TYPE_F64, TUTTI_OP_MIN, "tutti_direct_F64_ORDER", 0, 0},
        {TUTTI_TYPE_I64, TUTTI_OP_BXOR, "tutti_direct_U64_BITS", 0, ~0ull},
        {TUTTI_TYPE_U32, TUTTI_OP_BOR, "tutti_direct_U32_BITS", UINT64_MAX, 0},
        {TUTTI_TYPE_I32, TUTTI_OP_LOR, "tutti_direct_U32_LOGIC", 1, 0},
        {TUTTI_TYPE_F64_I32, TUTTI_OP_MAXLOC, "tutti_direct_F64_I32_LOC", 1ull << 63, 0},
    };
    struct tutti_stream *stream;
    struct tutti_kernel_args args = {.count = 1};
    fake->current(0);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct tutti_launch launch = {
            .kernel = TUTTI_KERNEL_DIRECT, .type = rows[i].type, .op = rows[i].op, .blocks = 1, .args = &args};
        assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_OK);
        assert_string_equal(fake->launched, rows[i].kernel);
        assert_int_equal(fake->sense[0], rows[i].flip);
        assert_int_equal(fake->sense[1], rows[i].mix);
    }
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

/* NULL and the two special handles: those of the thread's GPU, or of the one that is named. */
static void test_default(void **state)
{
    (void)state;
    for (uintptr_t handle = 0; handle < 3; handle++) {
        for (int named = -1; named < 2; named++) {
            struct tutti_stream *stream = NULL;
            void *same;
            int gpu = -1, current = -1;
            fake->current(1);
            assert_int_equal(device->stream.wrap(named, (void *)handle, &stream), TUTTI_OK);
            assert_int_equal(device->stream.identity(stream, &gpu, &same), TUTTI_OK);
            assert_int_equal(gpu, named < 0 ? 1 : named);
            assert_ptr_equal(same, (void *)handle);
            assert_int_equal(launch(stream, 0), TUTTI_OK);
            assert_ptr_equal(fake->stream, (void *)handle);
            assert_int_equal(device->stream.capturing(stream), 0);
            assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
            assert_int_equal(device->gpu.current(&current), TUTTI_OK);
            assert_int_equal(current, 1);
        }
    }
}

static void test_capturing(void **state)
{
    (void)state;
    struct tutti_stream *owner, *stream = NULL, *legacy = NULL;
    void *handle;
    fake->current(0);
    handle = program_stream(0, &owner);
    assert_int_equal(device->stream.wrap(0, handle, &stream), TUTTI_OK);
    assert_int_equal(device->stream.wrap(0, NULL, &legacy), TUTTI_OK);
    assert_int_equal(device->stream.capturing(stream), 0);
    fake->capturing = handle;
    assert_int_equal(device->stream.capturing(stream), 1);
    assert_int_equal(device->stream.capturing(legacy), 0);
    assert_true(device->stream.sync(stream) < 0); /* no capture may be waited for */
    fake->invalidated = 1;
    assert_int_equal(device->stream.capturing(stream), TUTTI_ERR_DEVICE);
    fake->invalidated = 0;
    fake->capturing = NULL;
    assert_int_equal(device->stream.destroy(legacy), TUTTI_OK);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    assert_int_equal(device->stream.destroy(owner), TUTTI_OK);
}

static void test_order(void **state)
{
    (void)state;
    static const struct {
        unsigned flags;
        int order;
    } made[] = {{0, TUTTI_STREAM_BLOCKING}, {1, TUTTI_STREAM_FREE}};
    struct tutti_stream *stream = NULL;
    fake->current(0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(device->stream.wrap(0, fake->make_stream(0, made[i].flags), &stream), TUTTI_OK);
        assert_int_equal(device->stream.order(stream), made[i].order);
        assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    }
    for (uintptr_t handle = 0; handle < 3; handle++) {
        assert_int_equal(device->stream.wrap(0, (void *)handle, &stream), TUTTI_OK);
        assert_int_equal(device->stream.order(stream), handle < 2 ? TUTTI_STREAM_DEFAULT : TUTTI_STREAM_BLOCKING);
        assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    }
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_int_equal(device->stream.order(stream), TUTTI_STREAM_FREE);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

/* Launched early only where the GPU, the driver and the build of the kernels can. */
static void test_early(void **state)
{
    (void)state;
    static const struct {
        int major, driver, made_for, early;
    } rows[] = {{9, 13000, 90, 1},  {8, 13000, 90, 0}, {9, 12020, 90, 0},
                {10, 12030, 90, 1}, {9, 13000, 80, 0}, {12, 13000, 90, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct tutti_stream *stream = NULL;
        fake->reset(0);
        fake->current(0);
        fake->major = rows[i].major;
        fake->driver = rows[i].driver;
        fake->made_for = rows[i].made_for;
        assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
        for (int again = 0; again < 2; again++) {
            unsigned long before = fake->calls;
            assert_int_equal(launch(stream, 1), TUTTI_OK);
            assert_int_equal(fake->early, rows[i].early);
            assert_true(again == 0 || fake->calls - before <= 5); /* nothing is asked twice */
            assert_int_equal(launch(stream, 0), TUTTI_OK);
            assert_int_equal(fake->early, 0);
        }
        assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    }
}

/* Copies while the program captures: plain ones, in order with its default stream, unless a stream that waits for that
 * one is captured. The capture stays valid. */
static void test_copies(void **state)
{
    (void)state;
    char *memory = fake->make(0, FAKE_MALLOC, 64), text[16] = "beside", back[16] = "";
    fake->current(0);
    for (unsigned flags = 0; flags < 2; flags++) {
        for (int turn = 0; turn < 2; turn++) {
            unsigned long plain = fake->plain_copies;
            fake->capturing = fake->make_stream(0, flags);
            text[0]++;
            assert_int_equal(device->memory.copy_now(memory, text, sizeof text), TUTTI_OK);
            assert_int_equal(device->memory.copy_now(back, memory, sizeof back), TUTTI_OK);
            assert_memory_equal(back, text, sizeof text);
            assert_int_equal(fake->plain_copies - plain, flags ? 2 : 0);
            assert_int_equal(fake->invalidated, 0);
            fake->capturing = NULL;
            assert_int_equal(device->memory.copy_now(back, memory, sizeof back), TUTTI_OK);
            assert_int_equal(fake->plain_copies - plain, flags ? 3 : 1);
        }
    }
}

/* A copy of Tutti's behind the program's default stream: an event of that stream, unless a stream that waits for it is
 * captured. The capture stays valid. */
static void test_behind_default(void **state)
{
    (void)state;
    struct tutti_event *event = NULL;
    struct tutti_stream *stream = NULL;
    fake->current(0);
    assert_int_equal(device->event.create(0, &event), TUTTI_OK);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    for (unsigned flags = 0; flags < 2; flags++) {
        fake->capturing = fake->make_stream(0, flags);
        assert_int_equal(device->event.record_default(event), flags ? TUTTI_OK : TUTTI_ERR_UNAVAILABLE);
        assert_int_equal(fake->invalidated, 0);
        fake->capturing = NULL;
        assert_int_equal(device->event.record_default(event), TUTTI_OK);
        assert_int_equal((uintptr_t)fake->recorded, 1); /* CU_STREAM_LEGACY */
        assert_int_equal(device->event.wait(stream, event), TUTTI_OK);
    }
    assert_int_equal(device->event.destroy(event), TUTTI_OK);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

/* Everything that a blocking call on another communicator does goes on beside a capture in global mode, which forbids
 * it to all threads; and the program's own mode is as it was afterwards. */
static void test_beside(void **state)
{
    (void)state;
    struct tutti_stream *owner, *captured = NULL, *own = NULL, *mine = NULL;
    struct tutti_event *event = NULL;
    void *memory = NULL, *pinned = NULL, *seen = NULL;
    char buffer[64] = "beside";
    int (*alloc)(unsigned long long *, size_t);
    unsigned long long made;
    *(void **)&alloc = dlsym(library, "cuMemAlloc_v2");
    fake->current(0);
    void *handle = program_stream(0, &owner);
    char *host = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(device->stream.wrap(0, handle, &captured), TUTTI_OK);
    assert_int_equal(device->stream.create(0, &own), TUTTI_OK);
    assert_int_equal(device->event.create(0, &event), TUTTI_OK);
    fake->capturing = handle;
    assert_int_equal(alloc(&made, 16), CAPTURE_UNSUPPORTED);
    assert_int_equal(device->memory.alloc(0, 4096, &memory), TUTTI_OK);
    assert_int_equal(device->memory.alloc_pinned(4096, &pinned), TUTTI_OK);
    assert_int_equal(device->memory.map_host(0, host, 4096, &seen), TUTTI_OK);
    for (int op = 0; op < TUTTI_OPS; op++) {
        if (tutti_has_kernel(TUTTI_TYPE_U16, op))
            assert_int_equal(device->launch.prepare(0, UINT32_MAX, TUTTI_TYPE_U16, op), TUTTI_OK);
    }
    assert_int_equal(device->stream.create(0, &mine), TUTTI_OK);
    assert_int_equal(launch(own, 0), TUTTI_OK);
    assert_int_equal(device->event.record(event, own), TUTTI_OK);
    assert_int_equal(device->event.query(event), 1);
    assert_int_equal(device->stream.query(own), 1);
    assert_int_equal(device->stream.sync(own), TUTTI_OK);
    /* Into the stream that is captured: launches and copies alone. */
    assert_int_equal(launch(captured, 1), TUTTI_OK);
    assert_int_equal(device->stream.copy(captured, memory, buffer, sizeof buffer), TUTTI_OK);
    assert_int_equal(alloc(&made, 16), CAPTURE_UNSUPPORTED);
    assert_int_equal(device->stream.destroy(mine), TUTTI_OK);
    assert_int_equal(device->memory.unmap_host(0, host), TUTTI_OK);
    assert_int_equal(device->memory.free_pinned(pinned), TUTTI_OK);
    assert_int_equal(device->memory.free(memory), TUTTI_OK);
    fake->capturing = NULL;
    assert_int_equal(device->event.destroy(event), TUTTI_OK);
    assert_int_equal(device->stream.destroy(own), TUTTI_OK);
    assert_int_equal(device->stream.destroy(captured), TUTTI_OK);
    assert_int_equal(device->stream.destroy(owner), TUTTI_OK);
    munmap(host, 4096);
}

/* A stream goes with its context: an error, and never another stream in its place. */
static void test_reset(void **state)
{
    (void)state;
    struct tutti_stream *owner, *stream = NULL;
    char buffer[8] = "xyz";
    fake->current(0);
    void *handle = program_stream(0, &owner), *memory;
    assert_int_equal(device->stream.wrap(0, handle, &stream), TUTTI_OK);
    fake->reset(0);
    memory = fake->make(0, FAKE_MALLOC, 64);
    fake->current(0);
    assert_int_equal(device->stream.copy(stream, memory, buffer, sizeof buffer), TUTTI_ERR_DEVICE);
    assert_int_equal(launch(stream, 0), TUTTI_ERR_DEVICE);
    assert_int_equal(device->stream.capturing(stream), TUTTI_ERR_DEVICE);
    assert_int_equal(device->stream.sync(stream), TUTTI_ERR_DEVICE);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    assert_int_equal(device->stream.destroy(owner), TUTTI_OK);
}

/* Kernels of three sizes of parameter, which the driver reads whole. */
static void test_parts(void **state)
{
    (void)state;
    static const struct {
        unsigned parts;
        size_t bytes;
        const char *kernel;
    } cases[] = {{1, TUTTI_PACK_FEW_BYTES, "tutti_pack_few"},
                 {20, TUTTI_PACK_SOME_BYTES, "tutti_pack_some"},
                 {160, TUTTI_PACK_MANY_BYTES, "tutti_pack_many"}};
    struct tutti_stream *stream = NULL;
    size_t room = 0;
    fake->current(0);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    for (int thread = 0; thread < 2; thread++) { /* one behind the other, if both load them at once */
        assert_int_equal(device->launch.prepare_pack(0, 0, &room), TUTTI_OK);
        assert_int_equal(room, TUTTI_PACK_FEW_BYTES);
    }
    assert_int_equal(device->launch.prepare_pack(0, 1, &room), TUTTI_OK);
    assert_int_equal(room, TUTTI_PACK_MANY_BYTES);
    for (int c = 0; c < 3; c++) {
        const struct tutti_pack_part part = {.way = TUTTI_PACK_WORDS, .word = 1, .units = 1, .tile = 1};
        struct tutti_parts *parts = tutti_parts_begin(device, stream, room);
        assert_non_null(parts);
        for (unsigned i = 0; i < cases[c].parts; i++)
            assert_int_equal(tutti_parts_add(parts, &part, NULL, 0, NULL, 0), TUTTI_OK);
        assert_int_equal(tutti_parts_end(parts, TUTTI_OK, NULL), TUTTI_OK);
        assert_string_equal(fake->launched, cases[c].kernel);
        assert_int_equal(fake->read, cases[c].bytes);
        assert_int_equal(fake->blocks, cases[c].parts);
    }
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

static void test_map_host_twice(void **state)
{
    (void)state;
    void *first, *second;
    int before = fake->live();
    char *host = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_int_equal(device->memory.map_host(0, host, 4096, &first), TUTTI_OK);
    assert_int_equal(device->memory.map_host(1, host, 4096, &second), TUTTI_OK);
    assert_int_equal(device->memory.unmap_host(0, host), TUTTI_OK);
    assert_int_equal(fake->live(), before + 1);
    assert_int_equal(device->memory.unmap_host(1, host), TUTTI_OK);
    assert_int_equal(fake->live(), before);
    assert_int_equal(device->memory.unmap_host(1, host), TUTTI_ERR_ARGUMENT);
    munmap(host, 4096);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts),          cmocka_unit_test(test_wrap),      cmocka_unit_test(test_sense),
        cmocka_unit_test(test_default),        cmocka_unit_test(test_capturing), cmocka_unit_test(test_beside),
        cmocka_unit_test(test_reset),          cmocka_unit_test(test_order),     cmocka_unit_test(test_copies),
        cmocka_unit_test(test_behind_default), cmocka_unit_test(test_early),     cmocka_unit_test(test_map_host_twice),
    };
    if (argc != 2 || !(library = dlopen(argv[1], RTLD_NOW)) || !(fake = fake_open(library)))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

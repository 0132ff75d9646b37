/* The CUDA device against a pretended driver: what was made for launches that are kept ready is used again. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/status.h"
#include "core/types.h"
#include "device/device.h"
#include "fake_libcuda.h"
#include "kernels/args.h"

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;

static const struct tutti_launch kept_what = {
    .kernel = TUTTI_KERNEL_LL, .type = TUTTI_TYPE_I32, .op = TUTTI_OP_SUM, .blocks = 2, .threads = 64};

/* Keeps a launch of `count` elements, and launches it: its kernel and its arguments. */
static struct tutti_prepared *keep_and_launch(struct tutti_stream *stream, enum tutti_kernel kernel, uint64_t count)
{
    struct tutti_flow_args flow = {.count = count, .blocks = 2};
    struct tutti_launch what = kept_what;
    struct tutti_prepared *kept = NULL;
    what.kernel = kernel;
    what.flow = &flow;
    assert_int_equal(device->launch.keep(stream, &what, &kept), TUTTI_OK);
    memset(fake->arguments, 0, sizeof fake->arguments);
    assert_int_equal(device->launch.kept(stream, kept), TUTTI_OK);
    assert_memory_equal(fake->arguments + offsetof(struct tutti_flow_args, count), &count, sizeof count);
    assert_string_equal(fake->launched, kernel == TUTTI_KERNEL_LL ? "tutti_ll_U32_SUM" : "tutti_chain_U32_SUM");
    return kept;
}

/* What the driver has made for a launch is used again for others, of any kernel, but in no other stream: a launch there
 * would wait for the one before it. More than were made with the kernels are made one by one. */
static void test_kept_again(void **state)
{
    (void)state;
    enum { MANY = 100, MOST = 64 };
    struct tutti_stream *stream, *other;
    struct tutti_prepared *kept[MANY];
    fake->reset(0);
    fake->current(0);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_int_equal(device->launch.prepare(0, UINT32_C(1) << TUTTI_KERNEL_LL | UINT32_C(1) << TUTTI_KERNEL_CHAIN,
                                            kept_what.type, kept_what.op),
                     TUTTI_OK);
    assert_int_equal(device->stream.create(0, &other), TUTTI_OK);
    for (int i = 0; i < MANY; i++)
        kept[i] = keep_and_launch(stream, i % 2 ? TUTTI_KERNEL_LL : TUTTI_KERNEL_CHAIN, (uint64_t)i + 1);
    const int live = fake->live();
    for (int i = 0; i < MANY; i++)
        device->launch.drop(kept[i]);
    assert_int_equal(live - fake->live(), 2 * (MANY - MOST)); /* each is two objects of the driver */
    const unsigned long sets = fake->sets;
    const int left = fake->live();
    for (int i = 0; i < MOST; i++)
        kept[i] = keep_and_launch(stream, i % 3 ? TUTTI_KERNEL_LL : TUTTI_KERNEL_CHAIN, (uint64_t)i + 7);
    assert_int_equal(fake->sets, sets + MOST);
    assert_int_equal(fake->live(), left);
    for (int i = 0; i < MOST; i++)
        device->launch.drop(kept[i]);
    kept[0] = keep_and_launch(other, TUTTI_KERNEL_LL, 5);
    assert_int_equal(fake->sets, sets + MOST);
    assert_int_equal(fake->live(), left + 2);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK); /* with those of the stream */
    assert_int_equal(fake->live(), left + 2 - 2 * MOST - 1);
    device->launch.drop(kept[0]);
    device->launch.drop(keep_and_launch(other, TUTTI_KERNEL_CHAIN, 6));
    assert_int_equal(fake->sets, sets + MOST + 1);
    assert_int_equal(device->stream.destroy(other), TUTTI_OK);
    fake->current(-1);
}

/* What was made for launches and never launched is freed with its context. */
static void test_closed(void **state)
{
    (void)state;
    char why[256] = "";
    struct tutti_stream *stream;
    device->close();
    fake->reset(0);
    assert_int_equal(device->open(why, sizeof why), TUTTI_OK);
    fake->current(0);
    const int before = fake->live();
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_int_equal(device->launch.prepare(0, UINT32_C(1) << TUTTI_KERNEL_LL, kept_what.type, kept_what.op), TUTTI_OK);
    device->launch.drop(keep_and_launch(stream, TUTTI_KERNEL_LL, 3));
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    assert_true(fake->live() > before);
    device->close();
    assert_int_equal(fake->live(), before);
    assert_int_equal(device->open(why, sizeof why), TUTTI_OK);
    fake->current(-1);
}

/* Launches `count` elements as one that does not repeat: its kernel and its arguments. */
static void launch_own(struct tutti_stream *stream, enum tutti_kernel kernel, uint64_t count)
{
    struct tutti_flow_args flow = {.count = count, .blocks = 2};
    struct tutti_launch what = kept_what;
    what.kernel = kernel;
    what.flow = &flow;
    what.early = count % 2;
    what.blocks = 2 + (unsigned)count % 3;
    memset(fake->arguments, 0, sizeof fake->arguments);
    fake->launched[0] = 0;
    assert_int_equal(device->launch.own(stream, &what), TUTTI_OK);
    assert_memory_equal(fake->arguments + offsetof(struct tutti_flow_args, count), &count, sizeof count);
    assert_string_equal(fake->launched, kernel == TUTTI_KERNEL_LL ? "tutti_ll_U32_SUM" : "tutti_chain_U32_SUM");
    assert_int_equal(fake->blocks, what.blocks);
}

/* The driver declines to change the launch: a fresh one is made. */
static void refused(struct tutti_stream *stream)
{
    enum { BEFORE = 2 }; /* calls of the driver in a launch before this one: is the context there, and is it current? */
    struct tutti_flow_args flow = {.count = 9, .blocks = 2};
    struct tutti_launch what = kept_what;
    const unsigned long replays = fake->replays;
    what.flow = &flow;
    fake->failed = "";
    fake->fail_with = 801; /* CUDA_ERROR_NOT_SUPPORTED */
    fake->fail_at = fake->calls + BEFORE + 1;
    assert_int_equal(device->launch.own(stream, &what), TUTTI_OK);
    fake->fail_at = 0;
    assert_non_null(strstr(fake->failed, "SetParams"));
    assert_int_equal(fake->replays, replays);
    assert_memory_equal(fake->arguments + offsetof(struct tutti_flow_args, count), &flow.count, sizeof flow.count);
}

/* Launches that do not repeat get their kernel and their parameters in one launch that the stream has for itself. Half
 * of those that were made with the kernels stay for launches that are kept. */
static void test_own(void **state)
{
    (void)state;
    enum { LAUNCHES = 40, READY = 10, LEFT = READY / 2, STREAMS = READY };
    struct tutti_stream *streams[STREAMS];
    fake->reset(0);
    fake->current(0);
    assert_int_equal(device->launch.prepare(0, UINT32_C(1) << TUTTI_KERNEL_LL | UINT32_C(1) << TUTTI_KERNEL_CHAIN,
                                            kept_what.type, kept_what.op),
                     TUTTI_OK);
    for (int s = 0; s < STREAMS; s++)
        assert_int_equal(device->stream.create(0, &streams[s]), TUTTI_OK);
    const int live = fake->live();
    unsigned long sets = fake->sets, replays = fake->replays;
    for (int i = 0; i < LAUNCHES; i++)
        launch_own(streams[0], i % 3 ? TUTTI_KERNEL_LL : TUTTI_KERNEL_CHAIN, (uint64_t)i + 1);
    assert_int_equal(fake->sets, sets + LAUNCHES);
    assert_int_equal(fake->replays, replays + LAUNCHES);
    for (int s = 1; s < STREAMS; s++) /* the others have none left */
        launch_own(streams[s], TUTTI_KERNEL_CHAIN, (uint64_t)s);
    assert_int_equal(fake->sets, sets + LAUNCHES + READY - LEFT - 1);
    assert_int_equal(fake->live(), live);
    refused(streams[1]); /* what it had is freed: each launch is two objects of the driver */
    assert_int_equal(fake->live(), live - 2);
    for (int s = 1; s < STREAMS; s++)
        assert_int_equal(device->stream.destroy(streams[s]), TUTTI_OK);
    assert_int_equal(fake->live(), live - 2 * (READY - LEFT - 1) - (STREAMS - 1));
    fake->reset(0); /* what the stream has goes with its context */
    fake->current(0);
    launch_own(streams[0], TUTTI_KERNEL_LL, 11);
    assert_int_equal(device->stream.destroy(streams[0]), TUTTI_OK);
    assert_int_equal(fake->stale, 0);
    fake->current(-1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept_again), cmocka_unit_test(test_closed),
                                       cmocka_unit_test(test_own)};
    if (argc != 2 || !(fake = fake_open(dlopen(argv[1], RTLD_NOW))))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

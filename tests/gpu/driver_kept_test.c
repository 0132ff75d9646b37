/* The CUDA device against a pretended driver: launches that are kept ready. */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/lives.h"
#include "core/status.h"
#include "core/types.h"
#include "device/device.h"
#include "fake_libcuda.h"
#include "kernels/args.h"
#include "kernels/fatbin.h"
#include "kernels/pack_args.h"

static const struct tutti_device *const device = &tutti_device_cuda;
static struct fake_control *fake;

/* A launch that is kept ready: the same kernel and arguments, until its context goes. */
static void test_kept(void **state)
{
    (void)state;
    struct tutti_stream *stream;
    struct tutti_flow_args flow = {.count = 5, .blocks = 2};
    struct tutti_launch what = {.kernel = TUTTI_KERNEL_LL,
                                .type = TUTTI_TYPE_I32,
                                .op = TUTTI_OP_MAX,
                                .blocks = 2,
                                .threads = 64,
                                .flow = &flow};
    struct tutti_prepared *kept = NULL;
    fake->current(0);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    unsigned long calls = fake->calls, one, none;
    uint32_t reduces = 0; /* the kernels of a pair */
    for (int kernel = 0; kernel < TUTTI_KERNELS; kernel++)
        reduces |= (uint32_t)!tutti_kernel_moves(kernel) << kernel;
    assert_int_equal(device->launch.prepare(0, UINT32_C(1) << TUTTI_KERNEL_LL, what.type, what.op), TUTTI_OK);
    one = fake->calls - calls;
    calls = fake->calls;
    assert_int_equal(device->launch.prepare(0, UINT32_C(1) << TUTTI_KERNEL_LL, what.type, what.op), TUTTI_OK);
    none = fake->calls - calls;
    calls = fake->calls;
    assert_int_equal(device->launch.prepare(0, reduces, what.type, what.op), TUTTI_OK);
    assert_true(one >= none + 3); /* loading costs three calls a kernel: none is loaded that was not asked for */
    /* And a call for the image of each other part, see fatbin.h. */
    assert_int_equal(fake->calls - calls - none, 3 * (__builtin_popcount(reduces) - 1) + 3);
    int before = fake->live();
    assert_int_equal(device->launch.keep(stream, &what, &kept), TUTTI_OK);
    assert_int_equal(fake->live(), before); /* one that was made with the kernels */
    memset(&flow, 0xff, sizeof flow);       /* copied */
    for (unsigned long i = 1; i <= 3; i++) {
        unsigned long replays = fake->replays;
        fake->blocks = 0;
        fake->sense[0] = 1;
        assert_int_equal(device->launch.kept(stream, kept), TUTTI_OK);
        assert_int_equal(fake->replays, replays + 1);
        assert_string_equal(fake->launched, "tutti_ll_U32_ORDER"); /* the least, of what is turned round */
        assert_int_equal(fake->sense[0], 0x7fffffff);
        assert_int_equal(fake->sense[1], 0);
        assert_int_equal(fake->blocks, 2);
        assert_int_equal(fake->threads, 64);
        uint64_t count;
        memcpy(&count, fake->arguments + offsetof(struct tutti_flow_args, count), sizeof count);
        assert_int_equal(count, 5);
    }
    device->launch.drop(kept);
    device->launch.drop(NULL);
    assert_int_equal(fake->live(), before);
    assert_int_equal(device->launch.keep(stream, &what, &kept), TUTTI_OK);
    fake->reset(0);
    fake->current(0);
    assert_int_equal(device->launch.kept(stream, kept), TUTTI_ERR_UNAVAILABLE);
    device->launch.drop(kept); /* says nothing, leaves nothing to the context that has gone */
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

/* Launches in rows: half the blocks, of two rows of half the threads. */
static void test_rows(void **state)
{
    (void)state;
    struct tutti_stream *stream;
    struct tutti_flow_args flow = {.count = 5, .blocks = 10};
    const struct tutti_launch what = {.kernel = TUTTI_KERNEL_CHAIN,
                                      .type = TUTTI_TYPE_F32,
                                      .op = TUTTI_OP_SUM,
                                      .blocks = 10,
                                      .rows = 2,
                                      .flow = &flow};
    struct tutti_prepared *kept = NULL;
    fake->current(0);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_int_equal(device->launch.prepare(0, UINT32_C(1) << TUTTI_KERNEL_CHAIN, what.type, what.op), TUTTI_OK);
    assert_int_equal(device->launch.keep(stream, &what, &kept), TUTTI_OK);
    for (int kind = 0; kind < 3; kind++) { /* kept, plain, and early */
        struct tutti_launch early = what;
        early.early = kind == 2;
        fake->blocks = fake->threads = fake->rows = 0;
        assert_int_equal(kind == 0 ? device->launch.kept(stream, kept) : device->launch.kernel(stream, &early),
                         TUTTI_OK);
        assert_string_equal(fake->launched, "tutti_chain_F32_SUM");
        assert_int_equal(fake->blocks, 5);
        assert_int_equal(fake->threads, TUTTI_FATBIN_THREADS / 2);
        assert_int_equal(fake->rows, 2);
    }
    device->launch.drop(kept);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

/* The same of the packing kernel. */
static void test_kept_pack(void **state)
{
    (void)state;
    static struct tutti_pack_args args;
    const struct tutti_pack_launch what = {.args = &args};
    struct tutti_stream *stream;
    struct tutti_prepared *kept = NULL;
    size_t room;
    uint64_t word;
    fake->current(0);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_int_equal(device->launch.prepare_pack(0, 0, &room), TUTTI_OK);
    args.head = (struct tutti_pack_head){.parts = 1, .blocks = 3, .bytes = 96};
    args.pool[1] = 77;
    const int before = fake->live();
    assert_int_equal(device->launch.keep_pack(stream, &what, &kept), TUTTI_OK);
    assert_int_equal(fake->live(), before);
    memset(&args, 0xff, sizeof args); /* copied */
    for (int i = 0; i < 3; i++) {
        const unsigned long replays = fake->replays;
        fake->blocks = 0;
        assert_int_equal(device->launch.kept(stream, kept), TUTTI_OK);
        assert_int_equal(fake->replays, replays + 1);
        assert_string_equal(fake->launched, "tutti_pack_few");
        assert_int_equal(fake->blocks, 3);
        assert_int_equal(fake->threads, TUTTI_PACK_THREADS);
        memcpy(&word, fake->arguments + offsetof(struct tutti_pack_args, pool) + 8, sizeof word);
        assert_int_equal(word, 77);
    }
    device->launch.drop(kept);
    assert_int_equal(fake->live(), before);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

/* The packing kernel that stays: as many blocks as its arguments hold, with all of them. */
static void test_stay_pack(void **state)
{
    (void)state;
    struct tutti_stream *stream;
    struct tutti_pack_stay_args args = {.stay = {.linger_ns = 7, .sequence = 8, .number = 9, .blocks = 4}};
    args.first.word[20] = 10;
    fake->current(0);
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    fake->blocks = 0;
    assert_int_equal(device->launch.stay_pack(stream, &args), TUTTI_OK);
    assert_string_equal(fake->launched, "tutti_pack_stay");
    assert_int_equal(fake->blocks, 4);
    assert_int_equal(fake->threads, TUTTI_PACK_THREADS);
    assert_memory_equal(fake->arguments, &args, offsetof(struct tutti_pack_stay_args, first.word[21]));
    assert_int_equal(fake->read, sizeof args);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_kept_pack), cmocka_unit_test(test_stay_pack)};
    if (argc != 2 || !(fake = fake_open(dlopen(argv[1], RTLD_NOW))))
        return 2;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Kernels that wait hold places on their GPU: with TUTTI_HOST_BLOCKS=6, on the host device. */
#include "kit.h"

#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/types.h"
#include "device/host/arena.h"

enum { PLACES = 6, COUNT = 2000, SLOT = 16384, WINDOW = sizeof(struct tutti_channel_flags) + 8 * SLOT };

/* One kernel that waits for a peer which is no kernel: release() writes what it waits for. */
struct job {
    struct tutti_stream *stream;
    struct kit_words *words, *seen;
    unsigned char *own, *peer;
    char *in, *out;
    struct tutti_kernel_args args;
};

static void job_make(struct job *job, int gpu, unsigned blocks)
{
    const uint64_t seconds = 1000000000;
    assert_int_equal(device->stream.create(gpu, &job->stream), TUTTI_OK);
    job->words = kit_words(&job->seen);
    job->own = kit_alloc(WINDOW);
    job->peer = kit_alloc(WINDOW);
    job->in = kit_alloc(COUNT * sizeof(int32_t));
    job->out = kit_alloc(COUNT * sizeof(int32_t));
    assert_int_equal(device->stream.fill(job->stream, job->own, 0, WINDOW), TUTTI_OK);
    assert_int_equal(device->stream.fill(job->stream, job->in, 1, COUNT * sizeof(int32_t)), TUTTI_OK);
    assert_int_equal(device->stream.sync(job->stream), TUTTI_OK);
    job->args = (struct tutti_kernel_args){.count = COUNT,
                                           .ranks = 2,
                                           .outs = 1,
                                           .gpus = 2,
                                           .locals = 1,
                                           .epoch = 1,
                                           .blocks = blocks,
                                           .finished = blocks,
                                           .slot_bytes = SLOT,
                                           .slots = sizeof(struct tutti_channel_flags),
                                           .abort = &job->seen->abort,
                                           .done = &job->seen->done,
                                           .where = &job->seen->where,
                                           .timeout_ns = KIT_SECONDS * seconds};
    job->args.in[0] = job->in;
    job->args.out[0] = job->out;
    job->args.window[0] = job->own;
    job->args.window[1] = job->peer;
}

static int job_launch(const struct job *job)
{
    const struct tutti_launch launch = {.kernel = TUTTI_KERNEL_ONESHOT,
                                        .type = TUTTI_TYPE_I32,
                                        .op = TUTTI_OP_MAX,
                                        .blocks = job->args.blocks,
                                        .args = &job->args};
    return device->launch.kernel(job->stream, &launch);
}

static void job_release(const struct job *job)
{
    struct tutti_channel_flags *flags = tutti_host_reach(job->own, sizeof *flags);
    assert_non_null(flags);
    for (int i = 0; i < PLACES; i++)
        __atomic_store_n(&flags->flag[0][1][i], 1, __ATOMIC_RELEASE);
}

static uint32_t now_in(const volatile uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void job_free(struct job *job)
{
    assert_int_equal(device->stream.sync(job->stream), TUTTI_OK);
    assert_int_equal(device->stream.destroy(job->stream), TUTTI_OK);
    kit_words_free(job->words);
    kit_free(job->own);
    kit_free(job->peer);
    kit_free(job->in);
    kit_free(job->out);
}

/* 1 if the kernel comes to wait for its peer. */
static int waits(const struct job *job)
{
    const uint64_t until = tutti_now_ns() + KIT_SECONDS * UINT64_C(1000000000);
    while (now_in(&job->words->where) == 0 && tutti_now_ns() < until)
        usleep(200);
    return now_in(&job->words->where) != 0;
}

/* 1 if it has not begun after a while. */
static int held_back(const struct job *job)
{
    usleep(30000);
    return now_in(&job->words->where) == 0 && device->stream.query(job->stream) == 0;
}

static void test_answers(void **state)
{
    (void)state;
    struct job job;
    assert_int_equal(device->gpu.blocks(0), PLACES);
    assert_int_equal(device->gpu.resident(0), PLACES);
    job_make(&job, 0, PLACES + 1);
    assert_int_equal(job_launch(&job), TUTTI_ERR_ARGUMENT);
    job_free(&job);
}

static void test_fit(void **state)
{
    (void)state;
    struct job one, two, other;
    job_make(&one, 0, 4);
    job_make(&two, 0, 2);
    job_make(&other, 1, PLACES);
    assert_int_equal(job_launch(&one), TUTTI_OK);
    assert_int_equal(job_launch(&two), TUTTI_OK);
    assert_int_equal(job_launch(&other), TUTTI_OK); /* another GPU has places of its own */
    assert_true(waits(&one) && waits(&two) && waits(&other));
    job_release(&two);
    assert_int_equal(device->stream.sync(two.stream), TUTTI_OK);
    assert_int_equal(now_in(&two.words->done), 1);
    assert_int_equal(now_in(&one.words->done), 0);
    job_release(&one);
    job_release(&other);
    job_free(&one);
    job_free(&two);
    job_free(&other);
}

static void test_one_after_the_other(void **state)
{
    (void)state;
    struct job one, two;
    job_make(&one, 0, 4);
    job_make(&two, 0, 3);
    assert_int_equal(job_launch(&one), TUTTI_OK);
    assert_true(waits(&one));
    assert_int_equal(job_launch(&two), TUTTI_OK);
    assert_true(held_back(&two));
    /* What it has got while it waits is kept back from others. */
    struct job three;
    job_make(&three, 0, 1);
    assert_int_equal(job_launch(&three), TUTTI_OK);
    assert_true(held_back(&three));
    job_release(&one);
    assert_int_equal(device->stream.sync(one.stream), TUTTI_OK);
    assert_int_equal(now_in(&one.words->done), 1);
    assert_true(waits(&two) && waits(&three));
    job_release(&two);
    job_release(&three);
    job_free(&one);
    job_free(&two);
    job_free(&three);
}

static int looked;
static int look(void *with)
{
    (void)with;
    return ++looked > 3;
}

static void test_leaves(void **state)
{
    (void)state;
    struct job one, two, three;
    job_make(&one, 0, PLACES);
    job_make(&two, 0, 2);
    job_make(&three, 0, 2);
    assert_int_equal(job_launch(&one), TUTTI_OK);
    assert_true(waits(&one));
    assert_int_equal(job_launch(&two), TUTTI_OK);
    assert_true(held_back(&two));
    __atomic_store_n(&two.words->abort, 1, __ATOMIC_RELEASE);
    assert_int_equal(device->stream.sync(two.stream), TUTTI_OK);
    assert_int_equal(now_in(&two.words->done), 0);
    three.args.host_wait = look;
    assert_int_equal(job_launch(&three), TUTTI_OK);
    assert_int_equal(device->stream.sync(three.stream), TUTTI_OK);
    assert_int_equal(now_in(&three.words->done), 0);
    assert_true(looked > 3);
    job_release(&one);
    assert_int_equal(device->stream.sync(one.stream), TUTTI_OK);
    assert_int_equal(now_in(&one.words->done), 1);
    job_free(&one);
    job_free(&two);
    job_free(&three);
}

/* A launch that is kept ready, of a flow kernel of two blocks on each of two GPUs. */
static void test_kept(void **state)
{
    (void)state;
    struct job one, pair[2];
    struct tutti_flow_args args[2];
    struct tutti_prepared *kept = NULL;
    job_make(&one, 0, PLACES - 1);
    for (int r = 0; r < 2; r++) {
        job_make(&pair[r], r, 2);
        assert_int_equal(device->stream.fill(pair[r].stream, pair[r].in, r + 1, COUNT * sizeof(int32_t)), TUTTI_OK);
        assert_int_equal(device->stream.sync(pair[r].stream), TUTTI_OK);
    }
    for (int r = 0; r < 2; r++) {
        args[r] = (struct tutti_flow_args){.in = pair[r].in,
                                           .out = pair[r].out,
                                           .count = COUNT,
                                           .ranks = 2,
                                           .rank = (uint32_t)r,
                                           .contributions = 2,
                                           .number = (uint32_t)r,
                                           .locals = 1,
                                           .outs = 1,
                                           .shape = TUTTI_SHAPE_ALL,
                                           .blocks = 2,
                                           .launch_number = 7,
                                           .bytes = WINDOW,
                                           .region = sizeof(struct tutti_channel_flags),
                                           .stride = 2 * SLOT,
                                           .packets = sizeof(struct tutti_channel_flags),
                                           .packets_stride = 2 * SLOT,
                                           .room = SLOT,
                                           .timeout_ns = KIT_SECONDS * UINT64_C(1000000000),
                                           .abort = &pair[r].seen->abort,
                                           .done = &pair[r].seen->done,
                                           .where = &pair[r].seen->where,
                                           .failed = &pair[r].seen->failed};
        args[r].window[0] = pair[0].own;
        args[r].window[1] = pair[1].own;
    }
    const struct tutti_launch launch[2] = {
        {.kernel = TUTTI_KERNEL_LL, .type = TUTTI_TYPE_U32, .op = TUTTI_OP_SUM, .blocks = 2, .flow = &args[0]},
        {.kernel = TUTTI_KERNEL_LL, .type = TUTTI_TYPE_U32, .op = TUTTI_OP_SUM, .blocks = 2, .flow = &args[1]}};
    assert_int_equal(job_launch(&one), TUTTI_OK);
    assert_true(waits(&one));
    assert_int_equal(device->launch.keep(pair[0].stream, &launch[0], &kept), TUTTI_OK);
    assert_int_equal(device->launch.kept(pair[0].stream, kept), TUTTI_OK);
    assert_int_equal(device->launch.kernel(pair[1].stream, &launch[1]), TUTTI_OK);
    assert_true(held_back(&pair[0]));
    job_release(&one);
    for (int r = 0; r < 2; r++) {
        int32_t got[COUNT], wanted[COUNT];
        assert_int_equal(device->stream.sync(pair[r].stream), TUTTI_OK);
        assert_int_equal(now_in(&pair[r].words->done), 7);
        assert_int_equal(device->memory.copy_now(got, pair[r].out, sizeof got), TUTTI_OK);
        memset(wanted, 3, sizeof wanted);
        assert_memory_equal(got, wanted, sizeof got);
    }
    device->launch.drop(kept);
    job_free(&one);
    job_free(&pair[0]);
    job_free(&pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_fit),  cmocka_unit_test(test_one_after_the_other),
        cmocka_unit_test(test_leaves),  cmocka_unit_test(test_kept),
    };
    int status = kit_open("host");
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}

/* Streams, events and launches of a device: order, asynchrony, kernels that wait. stream_test DEVICE */
#include "kit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/types.h"

enum { ROUNDS = 50, BYTES = 100003 };

static struct tutti_stream *make_stream(void)
{
    struct tutti_stream *stream = NULL;
    assert_int_equal(device->stream.create(0, &stream), TUTTI_OK);
    assert_non_null(stream);
    return stream;
}

static struct tutti_event *make_event(void)
{
    struct tutti_event *event = NULL;
    assert_int_equal(device->event.create(0, &event), TUTTI_OK);
    assert_non_null(event);
    return event;
}

/* 1 if all bytes are `byte`. */
static int all(const void *any, int byte, size_t bytes)
{
    unsigned char *host = malloc(bytes);
    size_t i = 0;
    assert_non_null(host);
    memset(host, ~byte, bytes);
    assert_int_equal(device->memory.copy_now(host, any, bytes), TUTTI_OK);
    while (i < bytes && host[i] == (unsigned char)byte)
        i++;
    if (i < bytes)
        fprintf(stderr, "byte %zu of %zu is %02x, not %02x\n", i, bytes, host[i], (unsigned)byte & 255);
    free(host);
    return i == bytes;
}

static void test_order(void **state)
{
    (void)state;
    struct tutti_stream *stream = make_stream();
    unsigned char *a = kit_alloc(BYTES), *b = kit_alloc(BYTES), *c = kit_alloc(BYTES);
    assert_int_equal(device->stream.query(stream), 1);
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(device->stream.fill(stream, a, i, BYTES), TUTTI_OK);
        assert_int_equal(device->stream.copy(stream, b, a, BYTES), TUTTI_OK);
        assert_int_equal(device->stream.fill(stream, a, i + 1, BYTES), TUTTI_OK);
        assert_int_equal(device->stream.copy(stream, c + 1, a + 3, BYTES - 3), TUTTI_OK);
        assert_int_equal(device->stream.fill(stream, c, i + 2, 1), TUTTI_OK);
        assert_int_equal(device->stream.sync(stream), TUTTI_OK);
        assert_int_equal(device->stream.query(stream), 1);
        assert_true(all(b, i, BYTES));
        assert_true(all(c, i + 2, 1));
        assert_true(all(c + 1, i + 1, BYTES - 3));
    }
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    kit_free(a);
    kit_free(b);
    kit_free(c);
}

/* More work than a bounded queue holds; destroying a stream lets it finish what it has. */
static void test_many(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    struct tutti_stream *stream = make_stream();
    unsigned char *a = kit_alloc(MANY + 1);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(device->stream.fill(stream, a + i, i % 251, (size_t)(MANY - i)), TUTTI_OK);
    assert_int_equal(device->stream.sync(stream), TUTTI_OK);
    for (int i = 0; i < MANY; i += 97)
        assert_true(all(a + i, i % 251, 1));
    kit_free(a);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    assert_int_equal(device->stream.destroy(NULL), TUTTI_OK);
}

static void test_events(void **state)
{
    (void)state;
    struct tutti_stream *one = make_stream(), *two = make_stream();
    struct tutti_event *there = make_event(), *back = make_event();
    unsigned char *a = kit_alloc(BYTES), *b = kit_alloc(BYTES);
    assert_int_equal(device->event.query(there), 1);            /* nothing was recorded */
    assert_int_equal(device->event.wait(two, there), TUTTI_OK); /* and so nothing is waited for */
    for (int i = 0; i < ROUNDS; i++) {
        assert_int_equal(device->stream.fill(one, a, i, BYTES), TUTTI_OK);
        assert_int_equal(device->event.record(there, one), TUTTI_OK);
        assert_int_equal(device->event.wait(two, there), TUTTI_OK);
        assert_int_equal(device->stream.copy(two, b, a, BYTES), TUTTI_OK);
        assert_int_equal(device->event.record(back, two), TUTTI_OK);
        assert_int_equal(device->event.wait(one, back), TUTTI_OK);
        assert_int_equal(device->stream.fill(one, a, 255, BYTES), TUTTI_OK); /* after `two` has read it */
        if (i % 3 == 0) { /* an event may go while work refers to it */
            assert_int_equal(device->event.destroy(there), TUTTI_OK);
            there = make_event();
        }
        assert_int_equal(device->stream.sync(two), TUTTI_OK);
        assert_int_equal(device->event.query(back), 1);
        assert_true(all(b, i, BYTES));
        assert_int_equal(device->stream.sync(one), TUTTI_OK);
        assert_true(all(a, 255, BYTES));
    }
    assert_int_equal(device->event.destroy(there), TUTTI_OK);
    assert_int_equal(device->event.destroy(back), TUTTI_OK);
    assert_int_equal(device->event.destroy(NULL), TUTTI_OK);
    assert_int_equal(device->stream.destroy(one), TUTTI_OK);
    assert_int_equal(device->stream.destroy(two), TUTTI_OK);
    kit_free(a);
    kit_free(b);
}

static void test_direct(void **state)
{
    (void)state;
    enum { COUNT = 10007, RANKS = 3 };
    static float in[RANKS][COUNT], wanted[COUNT], got[COUNT + 2];
    struct tutti_stream *stream = make_stream();
    struct kit_words *seen, *words = kit_words(&seen);
    float *from[RANKS], *out = kit_alloc(sizeof got);
    void *channel = kit_alloc(sizeof(struct tutti_channel_flags));
    uint32_t finished = 0;
    assert_int_equal(device->stream.fill(stream, channel, 0, sizeof(struct tutti_channel_flags)), TUTTI_OK);
    for (int r = 0; r < RANKS; r++) {
        for (int i = 0; i < COUNT; i++)
            in[r][i] = (float)((i * 37 + r * 11) % 1000) * (r == 1 ? 1e-3f : 1e5f) - 3.0f;
        from[r] = kit_alloc(sizeof in[r]);
        assert_int_equal(device->memory.copy_now(from[r], in[r], sizeof in[r]), TUTTI_OK);
    }
    for (int i = 0; i < COUNT; i++)
        wanted[i] = (in[0][i] + in[1][i]) + in[2][i];
    unsigned most = device->gpu.blocks(0);
    assert_true(most >= 1 && most <= TUTTI_MAX_BLOCKS);
    for (unsigned blocks = 1; blocks <= most && blocks <= 8; blocks *= 2) {
        for (uint32_t count = 1; count <= COUNT; count = count == 1 ? COUNT : COUNT + 1) {
            struct tutti_kernel_args args = {.count = count,
                                             .slice = count,
                                             .ranks = RANKS,
                                             .outs = 1,
                                             .gpus = 1,
                                             .epoch = finished + 1,
                                             .blocks = blocks,
                                             .abort = &seen->abort,
                                             .done = &seen->done,
                                             .where = &seen->where};
            struct tutti_launch launch = {.kernel = TUTTI_KERNEL_DIRECT,
                                          .type = TUTTI_TYPE_F32,
                                          .op = TUTTI_OP_SUM,
                                          .blocks = blocks,
                                          .args = &args};
            args.finished = finished += blocks;
            for (int r = 0; r < RANKS; r++)
                args.in[r] = from[r];
            args.out[0] = out + 1;
            args.window[0] = channel;
            assert_int_equal(device->stream.fill(stream, out, 0x5a, sizeof got), TUTTI_OK);
            assert_int_equal(device->launch.kernel(stream, &launch), TUTTI_OK);
            memset(&args, 0xff, sizeof args); /* was copied */
            assert_int_equal(device->stream.sync(stream), TUTTI_OK);
            assert_int_equal(device->memory.copy_now(got, out, sizeof got), TUTTI_OK);
            assert_memory_equal(got + 1, wanted, count * sizeof(float));
            assert_true(all(out, 0x5a, sizeof(float)));
            assert_true(all(out + 1 + count, 0x5a, (COUNT + 1 - count) * sizeof(float)));
            assert_int_equal(words->done, finished - blocks + 1);
        }
    }
    for (int r = 0; r < RANKS; r++)
        kit_free(from[r]);
    kit_free(out);
    kit_free(channel);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    kit_words_free(words);
}

/* A kernel that waits for a peer, launched by another thread, since launch() may run it on the caller's. */
struct waiting {
    struct tutti_stream *stream;
    struct tutti_launch launch;
    int status;
};

static void *launch_waiting(void *with)
{
    struct waiting *waiting = with;
    waiting->status = device->launch.kernel(waiting->stream, &waiting->launch);
    return NULL;
}

static uint32_t now_in(const volatile uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void wait_until_it_waits(const struct kit_words *words)
{
    const uint64_t end = tutti_now_ns() + (uint64_t)KIT_SECONDS * 1000000000u;
    while (now_in(&words->where) == 0) {
        if (tutti_now_ns() > end)
            fail_msg("the kernel was never seen waiting");
        usleep(100);
    }
}

static void peer_meets(void **state, int peer_comes)
{
    (void)state;
    enum { COUNT = 1000, SLOT = 4096, SIZE = sizeof(struct tutti_channel_flags) + 2 * SLOT };
    static int32_t mine[COUNT], theirs[COUNT], wanted[COUNT];
    struct kit_words *seen, *words = kit_words(&seen);
    struct tutti_stream *stream = make_stream();
    struct tutti_event *event = make_event();
    char *own = kit_alloc(SIZE), *peer = kit_alloc(SIZE);
    int32_t *in = kit_alloc(sizeof mine), *out = kit_alloc(sizeof mine), *after = kit_alloc(sizeof mine);
    /* All that may wait for the GPU is had before a kernel is at work on it. */
    struct kit_words *peer_seen, *peer_words = kit_words(&peer_seen);
    struct tutti_stream *peer_stream = make_stream();
    int32_t *peer_in = kit_alloc(sizeof theirs), *peer_out = kit_alloc(sizeof theirs);
    const uint32_t epoch = 7;
    pthread_t thread;
    for (int i = 0; i < COUNT; i++) {
        mine[i] = i * 3;
        theirs[i] = 1000000 - i;
        wanted[i] = mine[i] + theirs[i];
    }
    assert_int_equal(device->stream.fill(stream, own, 0, SIZE), TUTTI_OK);
    assert_int_equal(device->stream.fill(stream, peer, 0, SIZE), TUTTI_OK);
    assert_int_equal(device->stream.fill(stream, out, 0, sizeof mine), TUTTI_OK);
    assert_int_equal(device->stream.sync(stream), TUTTI_OK);
    assert_int_equal(device->memory.copy_now(in, mine, sizeof mine), TUTTI_OK);
    assert_int_equal(device->memory.copy_now(peer_in, theirs, sizeof theirs), TUTTI_OK);

    struct tutti_kernel_args args = {.count = COUNT,
                                     .ranks = 2,
                                     .outs = 1,
                                     .gpus = 2,
                                     .gpu = 0,
                                     .locals = 1,
                                     .epoch = epoch,
                                     .blocks = 1,
                                     .finished = 1,
                                     .slot_bytes = SLOT,
                                     .slots = sizeof(struct tutti_channel_flags),
                                     .abort = &seen->abort,
                                     .done = &seen->done,
                                     .where = &seen->where,
                                     .timeout_ns = (uint64_t)KIT_SECONDS * 1000000000u};
    args.in[0] = in;
    args.out[0] = out;
    args.window[0] = own;
    args.window[1] = peer;
    struct waiting waiting = {
        stream,
        {.kernel = TUTTI_KERNEL_ONESHOT, .type = TUTTI_TYPE_I32, .op = TUTTI_OP_SUM, .blocks = 1, .args = &args},
        1};
    words->where = 0;
    assert_int_equal(pthread_create(&thread, NULL, launch_waiting, &waiting), 0);
    wait_until_it_waits(words);
    assert_int_equal(now_in(&words->where), 0 << 16 | 1); /* in phase 0, for GPU 1 */
    assert_int_equal(device->stream.query(stream), 0);

    /* Work behind it does not overtake it. */
    assert_int_equal(device->stream.copy(stream, after, out, sizeof mine), TUTTI_OK);
    assert_int_equal(device->event.record(event, stream), TUTTI_OK);
    usleep(20000);
    assert_int_equal(device->event.query(event), 0);
    assert_int_equal(device->stream.query(stream), 0);
    assert_int_equal(now_in(&words->done), 0);

    if (peer_comes) {
        struct tutti_kernel_args peer_args = args;
        struct tutti_launch launch = {.kernel = TUTTI_KERNEL_ONESHOT,
                                      .type = TUTTI_TYPE_I32,
                                      .op = TUTTI_OP_SUM,
                                      .blocks = 1,
                                      .args = &peer_args};
        peer_args.gpu = 1;
        peer_args.local[0] = 1;
        peer_args.in[0] = NULL;
        peer_args.in[1] = peer_in;
        peer_args.out[0] = peer_out;
        peer_args.abort = &peer_seen->abort;
        peer_args.done = &peer_seen->done;
        peer_args.where = NULL;
        assert_int_equal(device->launch.kernel(peer_stream, &launch), TUTTI_OK);
    } else {
        __atomic_store_n(&words->abort, 1, __ATOMIC_RELEASE);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(waiting.status, TUTTI_OK);
    assert_int_equal(device->stream.sync(stream), TUTTI_OK);
    assert_int_equal(device->event.query(event), 1);
    assert_int_equal(words->done, peer_comes ? epoch : 0);
    assert_int_equal(device->stream.sync(peer_stream), TUTTI_OK);
    assert_int_equal(peer_words->done, peer_comes ? epoch : 0);
    int32_t got[COUNT];
    assert_int_equal(device->memory.copy_now(got, after, sizeof got), TUTTI_OK);
    if (peer_comes) {
        assert_memory_equal(got, wanted, sizeof got);
        assert_int_equal(device->memory.copy_now(got, peer_out, sizeof got), TUTTI_OK);
        assert_memory_equal(got, wanted, sizeof got);
    } else {
        assert_true(all(after, 0, sizeof got));
    }
    /* Its contribution went to the peer all the same. */
    assert_int_equal(device->memory.copy_now(got, peer + args.slots, sizeof got), TUTTI_OK);
    assert_memory_equal(got, mine, sizeof got);

    assert_int_equal(device->event.destroy(event), TUTTI_OK);
    assert_int_equal(device->stream.destroy(stream), TUTTI_OK);
    assert_int_equal(device->stream.destroy(peer_stream), TUTTI_OK);
    kit_words_free(words);
    kit_words_free(peer_words);
    kit_free(peer_in);
    kit_free(peer_out);
    kit_free(own);
    kit_free(peer);
    kit_free(in);
    kit_free(out);
    kit_free(after);
}

static void test_peer_comes(void **state)
{
    peer_meets(state, 1);
}

static void test_abort(void **state)
{
    peer_meets(state, 0);
}

/* Threads, each with its stream, and all with one more stream. */
struct crowd {
    struct tutti_stream *shared;
    unsigned char *memory;
    int number, failed;
};

static void *crowd_main(void *with)
{
    enum { PART = 10000, TIMES = 100 };
    struct crowd *crowd = with;
    struct tutti_stream *own;
    unsigned char *mine = crowd->memory + (size_t)crowd->number * 2 * PART;
    unsigned char got[PART];
    if (device->stream.create(0, &own) != TUTTI_OK) {
        crowd->failed = 1;
        return NULL;
    }
    for (int i = 0; i < TIMES; i++) {
        struct tutti_event *event;
        int byte = i + crowd->number, wrong = device->event.create(0, &event) != TUTTI_OK;
        wrong |= device->stream.fill(crowd->shared, mine, byte, PART) != TUTTI_OK;
        wrong |= device->event.record(event, crowd->shared) != TUTTI_OK;
        wrong |= device->event.wait(own, event) != TUTTI_OK;
        wrong |= device->stream.copy(own, mine + PART, mine, PART) != TUTTI_OK;
        wrong |= device->event.destroy(event) != TUTTI_OK;
        wrong |= device->stream.sync(own) != TUTTI_OK;
        wrong |= device->memory.copy_now(got, mine + PART, PART) != TUTTI_OK;
        for (int j = 0; j < PART; j++)
            wrong |= got[j] != (unsigned char)byte;
        crowd->failed += wrong;
    }
    crowd->failed += device->stream.destroy(own) != TUTTI_OK;
    return NULL;
}

static void test_crowd(void **state)
{
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    struct crowd crowds[THREADS];
    struct tutti_stream *shared = make_stream();
    unsigned char *memory = kit_alloc(THREADS * 20000);
    for (int t = 0; t < THREADS; t++) {
        crowds[t] = (struct crowd){shared, memory, t, 0};
        assert_int_equal(pthread_create(&threads[t], NULL, crowd_main, &crowds[t]), 0);
    }
    for (int t = 0; t < THREADS; t++) {
        assert_int_equal(pthread_join(threads[t], NULL), 0);
        assert_int_equal(crowds[t].failed, 0);
    }
    assert_int_equal(device->stream.destroy(shared), TUTTI_OK);
    kit_free(memory);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),  cmocka_unit_test(test_many),  cmocka_unit_test(test_events),
        cmocka_unit_test(test_direct), cmocka_unit_test(test_crowd), cmocka_unit_test(test_peer_comes),
        cmocka_unit_test(test_abort),
    };
    int status = kit_open(argc > 1 ? argv[1] : "host");
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}

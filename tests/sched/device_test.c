/* Copies and combinations in streams of a device, and elements packed and unpacked by tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/status.h"
#include "core/types.h"
#include "progress/engine.h"
#include "sched/tasks.h"

enum { WORDS = 10000, INPUTS = 3 };

struct on_device {
    const struct tutti_device *device;
    struct tutti_stream *stream;
    struct tutti_event *event[INPUTS + 2];
    void *memory[INPUTS], *out;
};

static void open_device(struct on_device *d)
{
    char why[160];
    d->device = tutti_device();
    assert_non_null(d->device);
    assert_int_equal(d->device->open(why, sizeof why), TUTTI_OK);
    assert_int_equal(d->device->stream.create(0, &d->stream), TUTTI_OK);
    for (int i = 0; i < INPUTS + 2; i++)
        assert_int_equal(d->device->event.create(0, &d->event[i]), TUTTI_OK);
    for (int i = 0; i < INPUTS; i++)
        assert_int_equal(d->device->memory.alloc(0, WORDS * sizeof(int32_t), &d->memory[i]), TUTTI_OK);
    assert_int_equal(d->device->memory.alloc(0, WORDS * sizeof(int32_t), &d->out), TUTTI_OK);
}

static void close_device(struct on_device *d)
{
    for (int i = 0; i < INPUTS + 2; i++)
        assert_int_equal(d->device->event.destroy(d->event[i]), TUTTI_OK);
    assert_int_equal(d->device->stream.destroy(d->stream), TUTTI_OK);
    for (int i = 0; i < INPUTS; i++)
        assert_int_equal(d->device->memory.free(d->memory[i]), TUTTI_OK);
    assert_int_equal(d->device->memory.free(d->out), TUTTI_OK);
}

/* Host to device, combined there, and back. */
static void combines_in_a_stream(void **state)
{
    static int32_t from[INPUTS][WORDS], to[WORDS];
    struct on_device d;
    struct tutti_sched *sched = tutti_sched_new("test");
    struct tutti_copy_task copy[INPUTS + 1];
    (void)state;
    open_device(&d);
    for (int i = 0; i < INPUTS; i++) {
        for (int w = 0; w < WORDS; w++)
            from[i][w] = (int32_t)(w * (i + 3)) ^ i;
        copy[i] = (struct tutti_copy_task){
            .job = {.direction = TUTTI_UNPACK, .memory = d.memory[i], .packed = from[i], .bytes = sizeof from[i]},
            .stream = d.stream,
            .event = d.event[i]};
        assert_int_equal(tutti_task_copy(sched, &copy[i], (uint64_t)i), i);
    }
    const void *in[INPUTS] = {d.memory[0], d.memory[1], d.memory[2]};
    struct tutti_combine_task combine = {.type = TUTTI_TYPE_I32,
                                         .op = TUTTI_OP_SUM,
                                         .inputs = INPUTS,
                                         .in = in,
                                         .out = d.out,
                                         .count = WORDS,
                                         .stream = d.stream,
                                         .event = d.event[INPUTS]};
    assert_int_equal(tutti_task_combine(sched, &combine, 0), INPUTS);
    copy[INPUTS] =
        (struct tutti_copy_task){.job = {.direction = TUTTI_PACK, .memory = d.out, .packed = to, .bytes = sizeof to},
                                 .stream = d.stream,
                                 .event = d.event[INPUTS + 1]};
    assert_int_equal(tutti_task_copy(sched, &copy[INPUTS], 9), INPUTS + 1);
    for (int i = 0; i < INPUTS; i++)
        assert_int_equal(tutti_sched_after(sched, INPUTS, i, TUTTI_AFTER_END), TUTTI_OK);
    assert_int_equal(tutti_sched_after(sched, INPUTS + 1, INPUTS, TUTTI_AFTER_END), TUTTI_OK);
    for (int run = 0; run < 3; run++) {
        memset(to, 0, sizeof to);
        tutti_sched_start(sched);
        assert_int_equal(tutti_sched_wait(sched, "for a test", 0), TUTTI_OK);
        for (int w = 0; w < WORDS; w++)
            assert_int_equal(to[w], from[0][w] + from[1][w] + from[2][w]);
    }
    tutti_sched_free(sched);
    close_device(&d);
    assert_false(tutti_progress_busy());
}

/* A copy of memory that kernels reach, there and back; its event is not used if a kernel makes it. 1 if the bytes are
 * right; *events: how many of the two used it. */
static int copies(const struct on_device *d, char *host, size_t bytes, int *events)
{
    static const enum tutti_direction way[] = {TUTTI_UNPACK, TUTTI_PACK};
    int right = 1;
    *events = 0;
    for (size_t i = 0; i < bytes + 1; i++)
        host[i] = (char)(i * 7 + bytes);
    for (int i = 0; i < 2; i++) {
        struct tutti_sched *sched = tutti_sched_new("test");
        struct tutti_copy_task copy = {
            .job = {.direction = way[i], .memory = d->memory[0], .packed = host, .bytes = bytes},
            .stream = d->stream,
            .event = d->event[0],
            .reached = 1};
        assert_int_equal(tutti_task_copy(sched, &copy, 0), 0);
        tutti_sched_start(sched);
        assert_int_equal(tutti_sched_wait(sched, "for a test", 0), TUTTI_OK);
        *events += copy.flight.device == NULL;
        tutti_sched_free(sched);
        if (i == 0)
            memset(host, 0, bytes);
    }
    for (size_t i = 0; i < bytes + 1; i++)
        right &= host[i] == (char)(i * 7 + bytes);
    return right;
}

static void copies_few_bytes_by_a_kernel(void **state)
{
    struct on_device d;
    void *host;
    int events;
    (void)state;
    open_device(&d);
    const size_t few = d.device->memory.few;
    assert_int_equal(d.device->memory.alloc_pinned(few + 2, &host), TUTTI_OK);
    assert_int_equal(tutti_pack_prepare(0, NULL), TUTTI_OK);
    for (size_t bytes = 1; bytes <= few; bytes += 1 + bytes / 8) {
        assert_true(copies(&d, host, bytes, &events));
        assert_int_equal(events, 0);
    }
    assert_true(copies(&d, host, few + 1, &events));
    assert_int_equal(events, 2);
    assert_int_equal(d.device->memory.free_pinned(host), TUTTI_OK);
    close_device(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(combines_in_a_stream),
                                       cmocka_unit_test(copies_few_bytes_by_a_kernel)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Copies by an engine that are queued, over a device that only records: an event belongs to one copy until that copy
 * was seen to end, at most four copies of a GPU are open, failures use nothing up, and what a GPU had before a reset is
 * freed when its last copy was seen to end. With a tutti_device() of its own in front of the core's. copy_queue_test
 * [seed] by TUTTI_TEST_SEED; TUTTI_TEST_ROUNDS */
#include <stdio.h>
#include <stdlib.h>

#include "core/lives.h"
#include "core/status.h"
#include "device/device.h"
#include "dtype/pack.h"
#include "progress/gate.h"
#include "support/check.h"
#include "support/random.h"

enum { GPUS = 2, DEPTH = 4, OPEN = 2 * GPUS * DEPTH, FAILURE = TUTTI_ERR_DEVICE };

struct tutti_stream {
    int gpu, last; /* the copy that was put there last */
};

struct tutti_event {
    int copy; /* that it is behind; 0: none */
};

static struct copy {
    int number, gpu, fails, over; /* over: the engine has ended it */
    unsigned life;
    struct tutti_queued_copy queued;
} copies[OPEN];
static int numbers, streams, events, open_copies;
static int copy_fails, record_fails;
static uint64_t state;

static unsigned drawn(unsigned n)
{
    return (unsigned)(random_next(&state) % n);
}

/* ---- the device ---- */

static int fake_current(int *gpu)
{
    *gpu = 1;
    return TUTTI_OK;
}

static int fake_stream(int gpu, struct tutti_stream **out)
{
    *out = calloc(1, sizeof **out);
    (*out)->gpu = gpu;
    streams++;
    return TUTTI_OK;
}

static int fake_stream_end(struct tutti_stream *stream)
{
    streams--;
    free(stream);
    return TUTTI_OK;
}

static int fake_event(int gpu, struct tutti_event **out)
{
    (void)gpu;
    *out = calloc(1, sizeof **out);
    events++;
    return TUTTI_OK;
}

static int fake_event_end(struct tutti_event *event)
{
    CHECK(event->copy == 0, "the event of copy %d is destroyed", event->copy);
    events--;
    free(event);
    return TUTTI_OK;
}

static int fake_copy(struct tutti_stream *stream, void *to, const void *from, size_t bytes)
{
    CHECK(to == copies && from == &numbers && bytes == 77, "another copy");
    if (copy_fails)
        return FAILURE;
    stream->last = numbers;
    return TUTTI_OK;
}

static int fake_record(struct tutti_event *event, struct tutti_stream *stream)
{
    CHECK(event->copy == 0, "the event of copy %d is used again", event->copy);
    if (record_fails)
        return FAILURE;
    CHECK(stream->last == numbers, "an event without its copy");
    event->copy = numbers;
    return TUTTI_OK;
}

static int fake_query(struct tutti_event *event)
{
    for (int i = 0; i < OPEN; i++) {
        if (copies[i].number != event->copy || !copies[i].number)
            continue;
        if (copies[i].over)
            event->copy = 0; /* its end is seen now */
        return !copies[i].over ? 0 : copies[i].fails ? FAILURE : 1;
    }
    CHECK(0, "an event without a copy is asked");
    return 1;
}

static const struct tutti_device fake = {
    .gpu = {.current = fake_current},
    .stream = {.create = fake_stream, .destroy = fake_stream_end, .copy = fake_copy},
    .event = {.create = fake_event, .destroy = fake_event_end, .record = fake_record, .query = fake_query}};

const struct tutti_device *tutti_device(void)
{
    return &fake;
}

/* ---- copies ---- */

static int open_on(int gpu)
{
    int n = 0;
    for (int i = 0; i < OPEN; i++)
        n += copies[i].number && copies[i].gpu == gpu && copies[i].life == tutti_gpu_life(gpu);
    return n;
}

static struct copy *unused(void)
{
    for (int i = 0; i < OPEN; i++) {
        if (!copies[i].number)
            return &copies[i];
    }
    return NULL;
}

static void start(void)
{
    struct copy *const c = unused();
    const int given = (int)drawn(GPUS + 1) - 1, gpu = given < 0 ? 1 : given, full = open_on(gpu) == DEPTH;
    if (!c)
        return;
    copy_fails = drawn(20) == 0;
    record_fails = drawn(20) == 0;
    numbers++;
    if (given >= 0)
        CHECK(tutti_copy_queue_is_full(gpu) == full, "%d copies are open: %s", open_on(gpu),
              full ? "full" : "not full");
    const int got = tutti_copy_queue_start(given, copies, &numbers, 77, 1, &c->queued),
              wanted = full                         ? 0
                       : copy_fails || record_fails ? FAILURE
                                                    : 1;
    CHECK(got == wanted && (c->queued.queue != NULL) == (got == 1), "start of copy %d returns %d, not %d", numbers, got,
          wanted);
    if (got == 1) {
        *c = (struct copy){numbers, gpu, drawn(12) == 0, 0, tutti_gpu_life(gpu), c->queued};
        open_copies++;
    }
}

/* The engine ends the first copy of a GPU. */
static void end_one(void)
{
    struct copy *first = NULL;
    const int gpu = (int)drawn(GPUS);
    for (int i = 0; i < OPEN; i++) {
        if (copies[i].number && !copies[i].over && copies[i].gpu == gpu && (!first || copies[i].number < first->number))
            first = &copies[i];
    }
    if (first)
        first->over = 1;
}

static void poll(void)
{
    struct copy *const c = &copies[drawn(OPEN)];
    if (!c->number)
        return;
    const int over = c->over, fails = c->fails, got = tutti_copy_queue_poll(&c->queued);
    CHECK(got == (!over   ? 0
                  : fails ? FAILURE
                          : 1) &&
              (c->queued.queue == NULL) == over,
          "copy %d: poll returns %d", c->number, got);
    if (over) {
        c->number = 0;
        open_copies--;
    }
}

static void first_ones(void)
{
    struct tutti_queued_copy none;
    CHECK(tutti_copy_queue_start(0, copies, &numbers, 77, 0, &none) == TUTTI_ERR_UNAVAILABLE && streams == 0,
          "a stream is made by a call that must not");
    tutti_gate_step(1);
    CHECK(tutti_copy_queue_start(0, copies, &numbers, 77, 1, &none) == TUTTI_ERR_UNAVAILABLE && streams == 0,
          "a stream is made while a stream waits for the host");
    tutti_gate_step(-1);
    CHECK(!tutti_copy_queue_is_full(0), "full before the first copy");
}

int main(void)
{
    state = check_seed();
    first_ones();
    const long rounds = check_many("TUTTI_TEST_ROUNDS", 80000);
    for (long i = 0; i < rounds; i++) {
        const unsigned what = drawn(32);
        if (what < 12)
            start();
        else if (what < 20)
            end_one();
        else if (what < 31)
            poll();
        else if (drawn(8) == 0)
            tutti_gpu_reset((int)drawn(GPUS));
    }
    while (open_copies > 0) {
        end_one();
        poll();
    }
    for (int gpu = 0; gpu < GPUS; gpu++)
        tutti_gpu_reset(gpu);
    struct tutti_queued_copy none;
    tutti_copy_queue_start(0, copies, &numbers, 77, 0, &none); /* frees what the GPUs had before */
    CHECK(streams == 0 && events == 0, "%d streams and %d events are left", streams, events);
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

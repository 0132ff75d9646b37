/* Steps of the host in the order of streams. In each stream the same step is launched again and again, as launches of a
 * graph do, between a store of its number and a copy of what the host has made of it: a stream that did not wait, a
 * step that was begun before the stream reached it, or one that was lost shows in the copies. In half of the streams
 * the step's kernel makes the copies. The steps of all streams end in any order. Then streams that still wait when the
 * last user leaves. */
#include "ring/host_step.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/status.h"
#include "device/device.h"
#include "device/host/program.h"
#include "progress/gate.h"
#include "support/check.h"
#include "support/random.h"

enum { STREAMS = 4, LAUNCHES = 200, MASK = 0x5a };

static const struct tutti_device *device;
static struct lane {
    struct tutti_host_step step; /* the first field */
    struct tutti_host_steps *steps;
    struct tutti_stream *stream;
    unsigned char *in, *out, *log; /* what the stream stores, what the host makes of it, and its copies */
    unsigned char *stored;         /* of a step that copies: what goes into `in` */
    int begun, over;               /* of the server's thread */
    atomic_int open;               /* 1: the stream waits */
} lane[STREAMS];
static atomic_int polls, ending, kept; /* kept: the step of stream 0 stays open */

static void begin(struct tutti_host_step *step)
{
    struct lane *const l = (struct lane *)step;
    CHECK(*l->in == (l->begun & 0xff), "step %d finds %d", l->begun, (int)*l->in);
    CHECK(l->begun == l->over && !atomic_load(&l->open), "a step begins while another one is open");
    l->begun++;
    atomic_store(&l->open, 1);
}

static void over(struct tutti_host_step *step)
{
    struct lane *const l = (struct lane *)step;
    l->over++;
}

static void poll_steps(void)
{
    atomic_fetch_add(&polls, 1);
}

/* Ends steps. */
static void *host(void *unused)
{
    uint64_t random = random_mix(check_seed());
    (void)unused;
    while (!atomic_load(&ending)) {
        struct lane *const l = &lane[random_next(&random) % STREAMS];
        if (!atomic_load(&l->open) || (l == lane && atomic_load(&kept))) {
            sched_yield();
            continue;
        }
        *l->out = *l->in ^ MASK;
        atomic_store(&l->open, 0);
        tutti_host_step_end(&l->step);
    }
    return NULL;
}

static void *pinned(size_t bytes)
{
    void *made = NULL;
    if (device->memory.alloc_pinned(bytes, &made) != TUTTI_OK)
        abort();
    return made;
}

static void open_lanes(void)
{
    for (int i = 0; i < STREAMS; i++) {
        struct lane *const l = &lane[i];
        *l = (struct lane){.step = {.begin = begin, .over = over}};
        CHECK(tutti_host_steps_open(device, 0, 1, poll_steps, &l->steps) == TUTTI_OK, "steps");
        CHECK(l->steps == lane[0].steps, "one server for a GPU");
        CHECK(device->stream.create(0, &l->stream) == TUTTI_OK, "a stream");
        l->in = pinned(1);
        l->out = pinned(1);
        l->log = pinned(LAUNCHES);
        l->stored = pinned(1);
        *l->in = *l->out = *l->stored = 0;
    }
}

static void close_lanes(int idle)
{
    for (int i = 0; i < STREAMS; i++)
        tutti_host_steps_close(lane[i].steps, idle);
    for (int i = 0; i < STREAMS; i++) {
        CHECK(device->stream.sync(lane[i].stream) == TUTTI_OK, "a stream goes on");
        CHECK(device->stream.destroy(lane[i].stream) == TUTTI_OK, "a stream");
        device->memory.free_pinned(lane[i].in);
        device->memory.free_pinned(lane[i].out);
        device->memory.free_pinned(lane[i].log);
        device->memory.free_pinned(lane[i].stored);
    }
}

static void launch(struct lane *l, int n)
{
    const int copies = (l - lane) % 2;
    struct tutti_host_copies made = {0};
    int status = device->stream.fill(l->stream, copies ? l->stored : l->in, n & 0xff, 1);
    if (copies)
        CHECK(tutti_host_copies_add(&made, TUTTI_HOST_BEFORE, l->in, l->stored, 1) &&
                  tutti_host_copies_add(&made, TUTTI_HOST_AFTER, l->log + n, l->out, 1),
              "a byte each");
    if (status == TUTTI_OK)
        status = tutti_host_step_enqueue(l->steps, l->stream, &l->step, &made);
    if (status == TUTTI_OK && !copies)
        status = device->stream.copy(l->stream, l->log + n, l->out, 1);
    CHECK(status == TUTTI_OK, "launch %d", n);
}

/* Copies of a step: as many as have room, all of them made, in both directions; none that is too long. */
static void many_copies(void)
{
    enum { RUNS = TUTTI_SHMEM_RUNS, EACH = 40, LONG = 1 << 20 };
    struct tutti_host_step step = {.begin = tutti_host_step_end};
    for (int before = 0; before <= RUNS; before++) {
        struct tutti_host_copies copies = {0};
        unsigned char *const from = pinned(LONG), *const to = pinned(RUNS * EACH);
        open_lanes();
        for (int i = 0; i < RUNS * EACH; i++) {
            from[i] = (unsigned char)(i * 7 + before);
            to[i] = 0;
        }
        CHECK(!tutti_host_copies_add(&copies, TUTTI_HOST_BEFORE, from, to, LONG), "a long run");
        CHECK(tutti_host_copies_add(&copies, TUTTI_HOST_AFTER, NULL, NULL, 0), "nothing");
        for (int i = 0; i < RUNS; i++) /* of 40 bytes and fewer, at all places */
            CHECK(tutti_host_copies_add(&copies, i < before ? TUTTI_HOST_BEFORE : TUTTI_HOST_AFTER, to + i * EACH,
                                        from + i * EACH, EACH - (size_t)i),
                  "copy %d", i);
        CHECK(!tutti_host_copies_add(&copies, TUTTI_HOST_BEFORE, to, from, 1), "one more");
        CHECK(tutti_host_step_enqueue(lane[0].steps, lane[0].stream, &step, &copies) == TUTTI_OK, "a step");
        CHECK(device->stream.sync(lane[0].stream) == TUTTI_OK, "a stream");
        for (int i = 0; i < RUNS * EACH; i++) {
            const int there = i % EACH < EACH - i / EACH;
            CHECK(to[i] == (there ? from[i] : 0), "%d runs before: byte %d", before, i);
        }
        close_lanes(1);
        device->memory.free_pinned(from);
        device->memory.free_pinned(to);
    }
}

static void in_order(void)
{
    pthread_t thread;
    open_lanes();
    atomic_store(&ending, 0);
    CHECK(pthread_create(&thread, NULL, host, NULL) == 0, "a thread");
    for (int n = 0; n < LAUNCHES; n++) {
        for (int i = 0; i < STREAMS; i++)
            launch(&lane[i], n);
    }
    for (int i = 0; i < STREAMS; i++)
        CHECK(device->stream.sync(lane[i].stream) == TUTTI_OK, "a stream");
    atomic_store(&ending, 1);
    pthread_join(thread, NULL);
    for (int i = 0; i < STREAMS; i++) {
        int wrong = 0;
        for (int n = 0; n < LAUNCHES; n++)
            wrong += lane[i].log[n] != ((n & 0xff) ^ MASK);
        CHECK(wrong == 0, "stream %d: %d of %d copies are wrong", i, wrong, LAUNCHES);
    }
    CHECK(atomic_load(&polls) > 0, "the server polls while streams wait");
    close_lanes(1);
    for (int i = 0; i < STREAMS; i++)
        CHECK(lane[i].begun == LAUNCHES && lane[i].over == LAUNCHES, "%d steps begun, %d over", lane[i].begun,
              lane[i].over);
}

/* The step of one stream stays open, as for a rank that is late: the other streams make all of theirs meanwhile, many
 * more than the ring has slots. */
static void one_waits(void)
{
    pthread_t thread;
    open_lanes();
    atomic_store(&ending, 0);
    atomic_store(&kept, 1);
    CHECK(pthread_create(&thread, NULL, host, NULL) == 0, "a thread");
    launch(&lane[0], 0);
    while (!atomic_load(&lane[0].open))
        sched_yield();
    for (int n = 0; n < LAUNCHES; n++) {
        for (int i = 1; i < STREAMS; i++)
            launch(&lane[i], n);
    }
    for (int i = 1; i < STREAMS; i++)
        CHECK(device->stream.sync(lane[i].stream) == TUTTI_OK && lane[i].begun == LAUNCHES, "stream %d waits, too", i);
    CHECK(lane[0].over == 0, "the step is open");
    atomic_store(&kept, 0);
    CHECK(device->stream.sync(lane[0].stream) == TUTTI_OK, "a stream");
    atomic_store(&ending, 1);
    pthread_join(thread, NULL);
    close_lanes(1);
}

/* Nothing ends the steps: the streams go on when the server has ended. */
static void left(void)
{
    open_lanes();
    for (int i = 0; i < STREAMS; i++)
        launch(&lane[i], 0);
    while (!atomic_load(&lane[0].open))
        sched_yield();
    close_lanes(0);
}

static atomic_int passed;

static void *give_memory_back(void *memory)
{
    device->memory.free_pinned(memory);
    atomic_store(&passed, 1);
    return NULL;
}

/* A call that the driver would block, on a thread that no step needs, waits for the step. Other threads continue. */
static void put_off(void)
{
    const struct timespec pause = {.tv_nsec = 50000000};
    pthread_t thread;
    open_lanes();
    launch(&lane[0], 0);
    while (!atomic_load(&lane[0].open))
        sched_yield();
    CHECK(pthread_create(&thread, NULL, give_memory_back, pinned(1)) == 0, "a thread");
    nanosleep(&pause, NULL);
    CHECK(device->stream.query(lane[1].stream) == 1, "a stream without work");
    CHECK(!atomic_load(&passed), "memory is freed while a stream waits");
    tutti_host_step_end(&lane[0].step);
    pthread_join(thread, NULL);
    CHECK(atomic_exchange(&passed, 0), "memory is freed when no stream waits");
    close_lanes(1);
}

static void *ask(void *unused)
{
    CHECK(device->stream.query(lane[1].stream) == 1, "a stream without work");
    atomic_store(&passed, 1);
    (void)unused;
    return NULL;
}

/* A call of the program that the driver blocks, and with it what other threads ask for, until the kernel has waited for
 * too long. */
static void blocked(void)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    pthread_t thread;
    void *memory = NULL;
    open_lanes();
    CHECK(tutti_host_program_alloc(1, &memory) == TUTTI_OK, "memory of the program");
    launch(&lane[0], 0);
    while (!atomic_load(&lane[0].open))
        sched_yield();
    CHECK(tutti_gate_closed(), "the gate knows the step");
    CHECK(!device->launch.apart_begin(), "apart_begin() returns 0 while a stream waits");
    CHECK(pthread_create(&thread, NULL, ask, NULL) == 0, "a thread");
    CHECK(tutti_host_program_free(memory) == TUTTI_OK,
          "the program's own call: Tutti does not wait for the step first");
    pthread_join(thread, NULL);
    CHECK(atomic_load(&passed), "others continue");
    CHECK(tutti_host_step_enqueue(lane[2].steps, lane[2].stream, &lane[2].step, NULL) == TUTTI_ERR_BROKEN,
          "there are no further steps");
    nanosleep(&pause, NULL);
    close_lanes(0);
    CHECK(!tutti_gate_closed(), "no stream waits");
}

int main(int argc, char **argv)
{
    char why[160];
    device = tutti_device();
    (void)argv;
    CHECK(device && device->open(why, sizeof why) == TUTTI_OK, "the host device");
    if (argc > 1) {
        put_off();
        blocked();
    } else {
        in_order();
        many_copies();
        one_waits();
        left();
    }
    printf("%ld checks, %ld failed\n", check_done(), check_failed());
    return check_failed() != 0;
}

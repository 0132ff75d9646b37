#include "ring/host_step.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/device.h"
#include "kernels/shmem_args.h"
#include "progress/gate.h"
#include "ring/server.h"

/* A request is taken out of its slot when it is read: while the step of one stream waits for other ranks, other streams
 * of the GPU make any number of steps. SLOTS: as many kernels as a GPU runs at a time. */
enum { STEP_OPERATION = 1, STEP_THREADS = 32, STEP_THREADS_WAITING = 128, STEP_SLOTS = 128 };

/* Bytes that a step's kernel copies before or after it: as many as the threads of a waiting kernel have under way at a
 * time. Of more than this a kernel of many blocks is as fast. */
enum { STEP_COPIES_MOST = STEP_THREADS_WAITING * 8 * 16 };

/* What kernels and the host both read. */
struct host_step_words {
    uint32_t abort, error;
};

struct tutti_host_steps {
    struct tutti_ring_server server;
    struct host_step_words *words;
    const struct tutti_device *device;
    void (*poll)(void);
    int gpu, users;
    atomic_int counted;              /* steps of which the gate knows */
    struct tutti_host_step *waiting; /* their streams wait; of the server's thread */
    struct tutti_host_steps *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the list and of `users` */
static struct tutti_host_steps *all;

/* A stream waits for a step, or will: the gate knows. */
static void step_count(struct tutti_host_steps *steps, int more)
{
    atomic_fetch_add(&steps->counted, more);
    tutti_gate_step(more);
}

/* ---- on the server's thread ---- */

static int step_begin(void *user, struct tutti_ring_request *request)
{
    struct tutti_host_steps *const steps = user;
    struct tutti_host_step *const step = (struct tutti_host_step *)(uintptr_t)request->value[0];
    if (request->tag == 0) { /* no stream waits */
        step->begin(step);
        return TUTTI_RING_DONE;
    }
    step->completion = request->completion;
    step->tag = request->tag;
    atomic_store_explicit(&step->ended, 0, memory_order_relaxed);
    if (atomic_load(&step->known) > 0)
        atomic_fetch_sub(&step->known, 1);
    else
        step_count(steps, 1); /* of a graph */
    step->next = steps->waiting;
    steps->waiting = step;
    step->begin(step);
    return TUTTI_RING_TAKEN;
}

static int steps_poll(void *user)
{
    struct tutti_host_steps *const steps = user;
    int ended = 0;
    steps->poll();
    for (struct tutti_host_step **at = &steps->waiting, *step; (step = *at) != NULL;) {
        if (!atomic_load_explicit(&step->ended, memory_order_acquire)) {
            at = &step->next;
            continue;
        }
        *at = step->next;
        tutti_ring_answer(&steps->server.ring, step->completion, step->tag, 0);
        step_count(steps, -1);
        ended++;
        if (step->over)
            step->over(step);
    }
    return ended;
}

static const struct tutti_ring_operation operations[] = {{"a step of the host", step_begin}};

/* ---- life ---- */

/* Kernels that wait leave; their streams go on. */
static void steps_abort(struct tutti_host_steps *steps)
{
    __atomic_store_n(&steps->words->abort, 1, __ATOMIC_RELEASE);
}

static void steps_free(struct tutti_host_steps *steps)
{
    tutti_ring_server_close(&steps->server);
    if (steps->words)
        steps->device->memory.free_pinned(steps->words);
    free(steps);
}

static int steps_make_ring(struct tutti_host_steps *steps)
{
    const struct tutti_device *const device = steps->device;
    struct tutti_stream *stream = NULL;
    void *words = NULL;
    int status = device->memory.alloc_pinned(sizeof *steps->words, &words);
    if (status != TUTTI_OK)
        return status;
    steps->words = words;
    *steps->words = (struct host_step_words){0};
    steps->server.owner = (struct tutti_ring_owner){.name = "a stream", .abort = &steps->words->abort};
    status = device->stream.create(steps->gpu, &stream);
    if (status != TUTTI_OK)
        return status;
    status = tutti_ring_server_open(&steps->server, device, steps->gpu, stream, STEP_SLOTS);
    device->stream.destroy(stream);
    return status;
}

static int steps_make(const struct tutti_device *device, int gpu, int crowded, void (*poll)(void),
                      struct tutti_host_steps **out)
{
    struct tutti_host_steps *const steps = calloc(1, sizeof *steps);
    if (!steps)
        return TUTTI_ERR_MEMORY;
    steps->device = device;
    steps->gpu = gpu;
    steps->poll = poll;
    int status = device->launch.prepare_shmem ? device->launch.prepare_shmem(gpu, -1) : TUTTI_OK;
    if (status == TUTTI_OK)
        status = steps_make_ring(steps);
    const struct tutti_ring_user user = {
        .first = STEP_OPERATION, .count = 1, .operations = operations, .poll = steps_poll, .user = steps};
    if (status == TUTTI_OK)
        status = tutti_ring_server_register(&steps->server, &user);
    if (status == TUTTI_OK)
        status = tutti_ring_server_start(&steps->server, crowded);
    if (status != TUTTI_OK)
        steps_free(steps);
    else
        *out = steps;
    return status;
}

int tutti_host_steps_open(const struct tutti_device *device, int gpu, int crowded, void (*poll)(void),
                          struct tutti_host_steps **out)
{
    int status = TUTTI_OK;
    *out = NULL;
    if (!device->launch.shmem)
        return tutti_device_missing(device, "launch.shmem");
    pthread_mutex_lock(&lock);
    for (struct tutti_host_steps *steps = all; steps && !*out; steps = steps->next)
        *out = steps->device == device && steps->gpu == gpu ? steps : NULL;
    if (!*out && (status = steps_make(device, gpu, crowded, poll, out)) == TUTTI_OK) {
        (*out)->next = all;
        all = *out;
    }
    if (status == TUTTI_OK)
        (*out)->users++;
    pthread_mutex_unlock(&lock);
    return status;
}

void tutti_host_steps_close(struct tutti_host_steps *steps, int idle)
{
    struct tutti_host_steps **at = &all;
    if (!steps)
        return;
    pthread_mutex_lock(&lock);
    const int last = --steps->users == 0;
    while (last && *at != steps)
        at = &(*at)->next;
    if (last)
        *at = steps->next;
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    steps_abort(steps);
    tutti_ring_server_stop(&steps->server);
    tutti_gate_step(-atomic_load(&steps->counted)); /* their streams continue */
    if (idle)
        steps_free(steps);
}

/* ---- steps ---- */

/* Longer than a call usually takes: for a call of the driver by the program that waits for the kernel, and keeps back
 * the calls of the step. */
static uint64_t step_limit(void)
{
    return (uint64_t)tutti_settings()->timeout_seconds * 2 * UINT64_C(1000000000);
}

int tutti_host_copies_add(struct tutti_host_copies *copies, enum tutti_host_when when, void *to, const void *from,
                          size_t bytes)
{
    struct tutti_shmem_runs *const runs = &copies->runs;
    size_t *const sum = when == TUTTI_HOST_BEFORE ? &copies->before : &copies->after;
    if (bytes == 0)
        return 1;
    if (bytes > STEP_COPIES_MOST - *sum || runs->before + runs->after == TUTTI_SHMEM_RUNS)
        return 0;
    *sum += bytes;
    const uint32_t at = when == TUTTI_HOST_BEFORE ? runs->before++ : TUTTI_SHMEM_RUNS - ++runs->after;
    runs->run[at] = (struct tutti_shmem_run){to, from, bytes};
    return 1;
}

/* One thread asks; copies are made by as many as have 16 bytes each, of a kernel that waits by few: it leaves room on
 * its multiprocessor for kernels of other streams. */
static unsigned step_threads(const struct tutti_host_copies *copies, int waits)
{
    const size_t bytes = !copies ? 0 : copies->before > copies->after ? copies->before : copies->after;
    const size_t threads = (bytes / 16 + STEP_THREADS - 1) / STEP_THREADS * STEP_THREADS;
    const size_t most = waits ? STEP_THREADS_WAITING : TUTTI_SHMEM_THREADS;
    return (unsigned)(threads > most ? most : threads > STEP_THREADS ? threads : STEP_THREADS);
}

/* waits: 1: the stream waits for the end of the step. */
static int step_launch(struct tutti_host_steps *steps, struct tutti_stream *stream, struct tutti_host_step *step,
                       int waits, const struct tutti_host_copies *copies)
{
    const struct tutti_ring_kernel_view view = tutti_ring_server_view(&steps->server);
    const struct tutti_shmem_args args = {.state = {.bytes = sizeof args.state,
                                                    .version = TSHMEM_STATE_VERSION,
                                                    .pes = 1,
                                                    .abort = &steps->words->abort,
                                                    .limit_ns = step_limit(),
                                                    .ring = {.slots = view.slots,
                                                             .shift = view.shift,
                                                             .request = view.slot,
                                                             .completion = view.completion,
                                                             .progress = view.progress,
                                                             .own = view.counters}},
                                          .what = TUTTI_SHMEM_DO_ASK,
                                          .part = (uint32_t)waits,
                                          .blocks = 1,
                                          .asked = {.operation = STEP_OPERATION, .value = (uint64_t)(uintptr_t)step},
                                          .runs = copies ? copies->runs : (struct tutti_shmem_runs){0},
                                          .error = &steps->words->error};
    return steps->device->launch.shmem(stream, &args, step_threads(copies, waits));
}

static int steps_are_lost(struct tutti_host_steps *steps)
{
    return __atomic_load_n(&steps->words->abort, __ATOMIC_RELAXED) ||
           __atomic_load_n(&steps->words->error, __ATOMIC_RELAXED);
}

int tutti_host_step_enqueue(struct tutti_host_steps *steps, struct tutti_stream *stream, struct tutti_host_step *step,
                            const struct tutti_host_copies *copies)
{
    if (steps_are_lost(steps))
        return TUTTI_ERR_BROKEN;
    const int captured = steps->device->stream.capturing ? steps->device->stream.capturing(stream) : 0;
    if (captured < 0)
        return captured;
    if (!captured) {
        step_count(steps, 1);
        atomic_fetch_add(&step->known, 1);
    }
    const int status = step_launch(steps, stream, step, 1, copies);
    if (status != TUTTI_OK && !captured) {
        atomic_fetch_sub(&step->known, 1);
        step_count(steps, -1);
    }
    return status;
}

int tutti_host_step_post(struct tutti_host_steps *steps, struct tutti_stream *stream, struct tutti_host_step *step,
                         const struct tutti_host_copies *copies)
{
    return steps_are_lost(steps) ? TUTTI_ERR_BROKEN : step_launch(steps, stream, step, 0, copies);
}

void tutti_host_step_end(struct tutti_host_step *step)
{
    atomic_store_explicit(&step->ended, 1, memory_order_release);
}

/* Attached memory that a rank could not map, after its owner had shown it: the owner reads and writes it for that rank.
 * A thread of the owner serves one box in memory that the ranks share. It sleeps until an origin asks, so the
 * owner's program may compute meanwhile. The origin reads the bytes that the operation spans, makes the operation on
 * them in host memory, and gives those that have changed to the owner. */
#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/rma/attachments.h"
#include "mpi/rma/mapped.h"
#include "progress/beside.h"
#include "progress/engine.h"

enum { RUNS = 512, DATA = 256 << 10 };

struct box_run {
    uint64_t at; /* in the region */
    uint64_t bytes;
};

/* Of a target. */
struct tutti_mapped_box {
    _Alignas(128) _Atomic uint32_t holder; /* 1 + the origin that asks; 0: none */
    _Atomic uint32_t serves;               /* 1: `asked` is valid and the thread is there; 2: it ends; 0: no thread */
    sem_t asked;
    _Atomic uint32_t answers;
    /* The request; the data of the runs lie one behind the other. */
    uint32_t row, generation, writes, runs;
    int32_t status;
    struct box_run run[RUNS];
    char data[DATA];
};

_Static_assert(TUTTI_ATTACHED_ROWS *(sizeof(struct tutti_attached_row) + sizeof(struct tutti_share)) +
                       sizeof(struct tutti_mapped_box) <=
                   TUTTI_WINDOW_ROWS,
               "rows and the box fit");

/* Of all windows of the target. */
static struct tutti_mapped_box *mapped_owner_box_of(const struct tutti_mapped *mapped, int target)
{
    return tutti_mapped_box_memory(mapped->peer[target].node);
}

/* ---- the owner ---- */

struct serving {
    struct tutti_stream *stream;
    int gpu; /* of the stream */
};

/* The stream of the region's GPU. A status. */
static int owner_serving_stream(struct serving *s, const void *base)
{
    struct tutti_memory memory;
    tutti_door.device->memory.classify(base, &memory);
    const int gpu = memory.gpu < 0 ? 0 : memory.gpu;
    if (s->stream && s->gpu == gpu)
        return TUTTI_OK;
    if (s->stream)
        tutti_door.device->stream.destroy(s->stream);
    s->stream = NULL;
    s->gpu = gpu;
    return tutti_door.device->stream.create(gpu, &s->stream);
}

static int owner_serve(struct serving *s, struct tutti_mapped_box *box)
{
    struct tutti_attachment region;
    uint64_t in_data = 0;
    if (!tutti_attachments_own(box->row, &region) || region.generation != box->generation || !region.mapped ||
        box->runs > RUNS)
        return TUTTI_ERR_ARGUMENT;
    char *base = (char *)(uintptr_t)region.base, *data = box->data;
    int status = owner_serving_stream(s, base);
    for (uint32_t i = 0; i < box->runs && status == TUTTI_OK; i++) {
        const struct box_run run = box->run[i];
        if (run.at > region.bytes || run.bytes > region.bytes - run.at || run.bytes > DATA - in_data)
            return TUTTI_ERR_ARGUMENT;
        char *there = base + run.at, *here = data + in_data;
        status = tutti_door.device->stream.copy(s->stream, box->writes ? there : here, box->writes ? here : there,
                                                (size_t)run.bytes);
        in_data += run.bytes;
    }
    return status == TUTTI_OK ? tutti_door.device->stream.sync(s->stream) : status;
}

static void owner_serve_all(void *with)
{
    struct serving s = {.stream = NULL};
    struct tutti_mapped_box *box = with;
    for (;;) {
        while (sem_wait(&box->asked) != 0 && errno == EINTR)
            ;
        if (atomic_load(&box->serves) != 1)
            break;
        box->status = owner_serve(&s, box);
        atomic_fetch_add(&box->answers, 1);
    }
    if (s.stream)
        tutti_door.device->stream.destroy(s.stream);
    atomic_store(&box->serves, 0); /* the window may go */
}

static pthread_mutex_t serving_lock = PTHREAD_MUTEX_INITIALIZER;
static int serving_windows; /* that the thread serves */

void tutti_mapped_serve(struct tutti_mapped *mapped)
{
    struct tutti_mapped_box *box = mapped_owner_box_of(mapped, mapped->rank);
    if (mapped->serves)
        return;
    pthread_mutex_lock(&serving_lock);
    mapped->serves = 1;
    serving_windows++;
    if (atomic_load(&box->serves) == 0 && sem_init(&box->asked, 1, 0) == 0) {
        atomic_store(&box->serves, 1);
        if (tutti_beside_start(owner_serve_all, box) != TUTTI_OK)
            atomic_store(&box->serves, 0);
    }
    pthread_mutex_unlock(&serving_lock);
}

static int mapped_serve_ended(void *with)
{
    const struct tutti_mapped_box *box = with;
    return atomic_load(&box->serves) == 0;
}

void tutti_mapped_serve_end(struct tutti_mapped *mapped)
{
    if (!mapped->serves)
        return;
    struct tutti_mapped_box *box = mapped_owner_box_of(mapped, mapped->rank);
    pthread_mutex_lock(&serving_lock);
    if (--serving_windows == 0 && atomic_load(&box->serves) != 0) {
        atomic_store(&box->serves, 2);
        sem_post(&box->asked);
        (void)tutti_progress_wait(&(const struct tutti_wait){.done = mapped_serve_ended, .with = box, .quiet = 1});
        sem_destroy(&box->asked);
    }
    pthread_mutex_unlock(&serving_lock);
}

/* ---- the origin ---- */

struct asking {
    struct tutti_mapped_box *box;
    uint32_t mine, answers;
};

static int owner_is_holder(void *with)
{
    const struct asking *a = with;
    uint32_t none = 0;
    return atomic_compare_exchange_strong(&a->box->holder, &none, a->mine);
}

static int mapped_owner_is_answered(void *with)
{
    const struct asking *a = with;
    return atomic_load(&a->box->answers) != a->answers;
}

static int owner_wait(int (*done)(void *with), struct asking *asking)
{
    return tutti_progress_wait(
        &(const struct tutti_wait){.done = done, .with = asking, .what = "the owner of attached memory", .watched = 1});
}

/* The runs and the data are in the box. A status. */
static int owner_does(struct asking *asking, int writes)
{
    struct tutti_mapped_box *box = asking->box;
    box->writes = (uint32_t)writes;
    asking->answers = atomic_load(&box->answers);
    sem_post(&box->asked);
    const int status = owner_wait(mapped_owner_is_answered, asking);
    return status == TUTTI_OK ? box->status : status;
}

/* `bytes` bytes of the region from `at` on. */
static int owner_reads(struct asking *asking, uint64_t at, uint64_t bytes, char *to)
{
    int status = TUTTI_OK;
    for (uint64_t done = 0; done < bytes && status == TUTTI_OK; done += DATA) {
        const uint64_t n = bytes - done < DATA ? bytes - done : DATA;
        asking->box->run[0] = (struct box_run){at + done, n};
        asking->box->runs = 1;
        status = owner_does(asking, 0);
        if (status == TUTTI_OK)
            memcpy(to + done, asking->box->data, (size_t)n);
    }
    return status;
}

/* Bytes [*i, bytes) of which the first run has changed: its length, at *i. 0: none has. */
static uint64_t owner_changed_run(const char *was, const char *is, uint64_t bytes, uint64_t *i)
{
    uint64_t end;
    while (*i < bytes && was[*i] == is[*i])
        (*i)++;
    for (end = *i; end < bytes && was[end] != is[end]; end++)
        ;
    return end - *i;
}

/* What `is` has changed, and nothing else: other ranks may write the bytes between. */
static int owner_writes(struct asking *asking, uint64_t at, uint64_t bytes, const char *was, const char *is)
{
    struct tutti_mapped_box *box = asking->box;
    uint64_t i = 0, run = owner_changed_run(was, is, bytes, &i);
    int status = TUTTI_OK;
    while (run > 0 && status == TUTTI_OK) {
        uint64_t room = DATA;
        for (box->runs = 0; run > 0 && room > 0 && box->runs < RUNS; box->runs++) {
            const uint64_t n = run < room ? run : room;
            memcpy(box->data + (DATA - room), is + i, (size_t)n);
            box->run[box->runs] = (struct box_run){at + i, n};
            room -= n;
            i += n;
            run = owner_changed_run(was, is, bytes, &i);
        }
        status = owner_does(asking, 1);
    }
    return status;
}

/* The origin has the box, and is the target's updater if the operation accumulates. */
static int owner_operation(struct asking *asking, struct tutti_mapped *mapped, const struct tutti_rma *rma,
                           const struct tutti_by_owner *what)
{
    char *was = malloc((size_t)what->span), *is = malloc((size_t)what->span);
    int status = was && is ? TUTTI_OK : TUTTI_ERR_MEMORY;
    if (status == TUTTI_OK)
        status = owner_reads(asking, what->at, what->span, was);
    if (status == TUTTI_OK) {
        memcpy(is, was, (size_t)what->span);
        status = tutti_mapped_long(mapped, rma, is - what->lower, what->bytes, 0);
    }
    if (status == TUTTI_OK && rma->kind != TUTTI_RMA_GET)
        status = owner_writes(asking, what->at, what->span, was, is);
    free(was);
    free(is);
    return status;
}

int tutti_mapped_by_owner(struct tutti_mapped *mapped, const struct tutti_rma *rma, const struct tutti_by_owner *what)
{
    struct asking asking = {.box = mapped_owner_box_of(mapped, rma->target), .mine = (uint32_t)mapped->rank + 1};
    const int updates = rma->kind != TUTTI_RMA_PUT && rma->kind != TUTTI_RMA_GET;
    if (atomic_load(&asking.box->serves) != 1)
        return TUTTI_ERR_UNAVAILABLE;
    int status = tutti_mapped_flush(mapped);
    if (status == TUTTI_OK && updates)
        status = tutti_mapped_update_begin(mapped, rma->target);
    if (status != TUTTI_OK)
        return status;
    status = owner_wait(owner_is_holder, &asking);
    if (status == TUTTI_OK) {
        asking.box->row = what->row;
        asking.box->generation = what->generation;
        status = owner_operation(&asking, mapped, rma, what);
        atomic_store(&asking.box->holder, 0);
    }
    if (updates)
        tutti_mapped_update_end(mapped, rma->target);
    return status;
}

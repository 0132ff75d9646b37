/* Jobs between runs of bytes by the device's copy engines, which take no multiprocessor. */
#include <pthread.h>
#include <stdlib.h>

#include "bounce/bounce.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "device/stream_sets.h"
#include "dtype/pack.h"
#include "progress/engine.h"
#include "progress/gate.h"

enum { STREAMS = 2, SPINS = 16 /* of a wait, between looks at the clock: each asks the device */ };
#define FILLS (UINT64_C(16) << 20) /* bytes of a copy that keeps the link busy by itself */

/* Streams of copies. A thread has one of a GPU's sets as long as its call lasts. */
struct tutti_copy_streams {
    struct tutti_copy_streams *next;
    int gpu;
    unsigned life; /* of the GPU */
    struct tutti_stream *stream[STREAMS];
    unsigned used, ended; /* of the call: streams that have copies; how many of them have ended */
};
static struct tutti_copy_streams *idle;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- sets of streams ---- */

static struct tutti_copy_streams *copies_make(int gpu)
{
    struct tutti_copy_streams *copies = calloc(1, sizeof *copies);
    if (!copies)
        return NULL;
    copies->gpu = gpu;
    copies->life = tutti_gpu_life(gpu);
    if (tutti_streams_make(gpu, copies->stream, STREAMS, NULL, 0) == TUTTI_OK)
        return copies;
    free(copies);
    return NULL;
}

/* Those of an earlier life of the GPU are destroyed: their streams have gone. */
static struct tutti_copy_streams *copies_find(int gpu)
{
    struct tutti_copy_streams *found = NULL, *stale = NULL;
    pthread_mutex_lock(&lock);
    for (struct tutti_copy_streams **at = &idle; *at && !found;) {
        struct tutti_copy_streams *one = *at;
        const int is_stale = one->life != tutti_gpu_life(one->gpu);
        if (!is_stale && one->gpu != gpu) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = is_stale ? stale : NULL;
        *(is_stale ? &stale : &found) = one;
    }
    pthread_mutex_unlock(&lock);
    while (stale) {
        struct tutti_copy_streams *next = stale->next;
        tutti_streams_end(stale->stream, STREAMS, NULL, 0);
        free(stale);
        stale = next;
    }
    return found;
}

static void copies_give(struct tutti_copy_streams *copies)
{
    pthread_mutex_lock(&lock);
    copies->next = idle;
    idle = copies;
    pthread_mutex_unlock(&lock);
}

/* ---- jobs ---- */

static int pack_copies_can(const struct tutti_pack_job *job)
{
    return tutti_plan_is_run(job->plan, job->count) &&
           (job->direction != TUTTI_RELAYOUT || tutti_plan_is_run(job->to_plan, job->to_count));
}

static char *copies_to(const struct tutti_pack_job *job)
{
    return job->direction == TUTTI_PACK     ? job->packed
           : job->direction == TUTTI_UNPACK ? (char *)job->memory + job->plan->true_lower + job->first
                                            : (char *)job->to + job->to_plan->true_lower + job->first;
}

static const char *copies_from(const struct tutti_pack_job *job)
{
    return job->direction == TUTTI_UNPACK ? job->packed : (char *)job->memory + job->plan->true_lower + job->first;
}

static int copies_start(struct tutti_stream *stream, const struct tutti_pack_job *job)
{
    return job->bytes ? tutti_device()->stream.copy(stream, copies_to(job), copies_from(job), job->bytes) : TUTTI_OK;
}

static int copies_have_ended(void *with)
{
    struct tutti_copy_streams *copies = with;
    while (copies->ended < copies->used) {
        const int state = tutti_device()->stream.query(copies->stream[copies->ended]);
        if (state != 1)
            return state;
        copies->ended++;
    }
    return 1;
}

/* Streams of the call: small copies overlap their starts, large ones in two streams would only share the link. */
static unsigned copies_streams(const struct tutti_pack_job *jobs, unsigned n)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < n; i++)
        bytes += jobs[i].bytes;
    return n < 2 || bytes / n >= FILLS ? 1 : STREAMS;
}

/* A set of streams for the jobs. NULL: they are not between runs of bytes, or no set is idle and none may be made. */
static struct tutti_copy_streams *copies_open(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make)
{
    const struct tutti_device *device = tutti_device();
    if (!device || !device->stream.copy || !device->stream.query || (gpu < 0 && device->gpu.current(&gpu) != TUTTI_OK))
        return NULL;
    gpu = gpu < 0 ? 0 : gpu; /* memory that belongs to no GPU in particular */
    for (unsigned i = 0; i < n; i++) {
        if (!pack_copies_can(&jobs[i]))
            return NULL;
    }
    struct tutti_copy_streams *copies = copies_find(gpu);
    return copies || !may_make || tutti_gate_closed() ? copies : copies_make(gpu);
}

/* The set is left as it is: its copies may still run. */
static int copies_leave(const struct tutti_copy_streams *copies, int status, int why)
{
    tutti_error("copies by the engines of GPU %d: %s", copies->gpu, tutti_status_text(why));
    return status == TUTTI_OK ? why : status;
}

/* Waits for what has been started, which needs no other rank; status: of the starts. 1 in *over: nothing
 * runs any more. */
static int copies_close(struct tutti_copy_streams *copies, int status, int *over)
{
    copies->ended = 0;
    const int ended = tutti_progress_wait(&(const struct tutti_wait){.done = copies_have_ended,
                                                                     .with = copies,
                                                                     .seconds = tutti_settings()->timeout_seconds,
                                                                     .quiet = 1,
                                                                     .spins = SPINS});
    *over = ended == TUTTI_OK;
    if (!*over)
        return copies_leave(copies, status, ended);
    copies_give(copies);
    return status;
}

int tutti_pack_copies_begin(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make,
                            struct tutti_copy_flight *out)
{
    struct tutti_copy_streams *copies = copies_open(gpu, jobs, n, may_make);
    int status = TUTTI_OK;
    if (!copies)
        return TUTTI_ERR_UNAVAILABLE;
    copies->used = copies_streams(jobs, n);
    copies->ended = 0;
    for (unsigned i = 0; i < n && status == TUTTI_OK; i++)
        status = copies_start(copies->stream[i % copies->used], &jobs[i]);
    *out = (struct tutti_copy_flight){copies, status};
    return TUTTI_OK;
}

int tutti_pack_copies_poll(struct tutti_copy_flight *flight)
{
    const int ended = copies_have_ended(flight->streams);
    if (ended < 0)
        return copies_leave(flight->streams, flight->status, ended);
    if (ended == 0)
        return 0;
    copies_give(flight->streams);
    return flight->status == TUTTI_OK ? 1 : flight->status;
}

int tutti_pack_copies_end(struct tutti_copy_flight *flight)
{
    int over;
    return copies_close(flight->streams, flight->status, &over);
}

int tutti_pack_copies(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make)
{
    struct tutti_copy_flight flight;
    const int status = tutti_pack_copies_begin(gpu, jobs, n, may_make, &flight);
    return status == TUTTI_OK ? tutti_pack_copies_end(&flight) : status;
}

/* ---- through pinned memory ---- */

/* Pieces of a job are in the two streams in turn: one leaves the GPU while the one before comes back. */
enum { PIECE = 512 << 10, ALIGN = 256, THROUGH_MOST = 16 << 20 };

static size_t through_room(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int through_piece(struct tutti_stream *stream, char *to, const char *from, char *pinned, uint64_t bytes)
{
    const struct tutti_device *device = tutti_device();
    const int status = device->stream.copy(stream, pinned, from, bytes);
    if (status != TUTTI_OK)
        return status;
    return (device->stream.copy_in ? device->stream.copy_in : device->stream.copy)(stream, to, pinned, bytes);
}

int tutti_pack_through(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make)
{
    uint64_t room = 0;
    int status = TUTTI_OK, over;
    for (unsigned i = 0; i < n; i++)
        room += through_room(jobs[i].bytes);
    struct tutti_copy_streams *copies = room <= THROUGH_MOST ? copies_open(gpu, jobs, n, may_make) : NULL;
    if (!copies)
        return TUTTI_ERR_UNAVAILABLE;
    struct tutti_bounce *pinned = may_make ? tutti_bounce_take(&tutti_bounce_pinned, -1, room)
                                           : tutti_bounce_take_kept(&tutti_bounce_pinned, -1, room);
    if (!pinned) {
        copies_give(copies);
        return TUTTI_ERR_UNAVAILABLE;
    }
    char *by = pinned->memory;
    unsigned pieces = 0;
    for (unsigned i = 0; i < n; by += through_room(jobs[i++].bytes)) {
        for (uint64_t at = 0; at < jobs[i].bytes && status == TUTTI_OK; at += PIECE) {
            const uint64_t rest = jobs[i].bytes - at;
            status = through_piece(copies->stream[pieces++ % STREAMS], copies_to(&jobs[i]) + at,
                                   copies_from(&jobs[i]) + at, by + at, rest < PIECE ? rest : PIECE);
        }
    }
    copies->used = pieces < STREAMS ? pieces : STREAMS;
    status = copies_close(copies, status, &over);
    if (over)
        tutti_bounce_give(pinned);
    return status;
}

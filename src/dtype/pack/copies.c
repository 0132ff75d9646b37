/* Jobs between runs of bytes by the device's copy engines, which take no multiprocessor. */
#include <pthread.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "progress/engine.h"
#include "progress/gate.h"

enum { STREAMS = 2, SPINS = 16 };
#define FILLS (UINT64_C(16) << 20) /* bytes of a copy that keeps the link busy by itself */

/* Streams of copies. A thread has one of a GPU's sets as long as its call lasts. */
struct copies {
    struct copies *next;
    int gpu;
    unsigned life; /* of the GPU */
    struct tutti_stream *stream[STREAMS];
    unsigned used, ended; /* of the call: streams that have copies; how many of them have ended */
};
static struct copies *idle;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- sets of streams ---- */

static void copies_destroy(struct copies *copies)
{
    for (int i = 0; i < STREAMS; i++) {
        if (copies->stream[i])
            tutti_device()->stream.destroy(copies->stream[i]);
    }
    free(copies);
}

static struct copies *copies_make(int gpu)
{
    struct copies *copies = calloc(1, sizeof *copies);
    if (!copies)
        return NULL;
    copies->gpu = gpu;
    copies->life = tutti_gpu_life(gpu);
    for (int i = 0; i < STREAMS; i++) {
        if (tutti_device()->stream.create(gpu, &copies->stream[i]) != TUTTI_OK) {
            copies_destroy(copies);
            return NULL;
        }
    }
    return copies;
}

/* Those of an earlier life of the GPU are destroyed: their streams have gone. */
static struct copies *copies_find(int gpu)
{
    struct copies *found = NULL, *stale = NULL;
    pthread_mutex_lock(&lock);
    for (struct copies **at = &idle; *at && !found;) {
        struct copies *one = *at;
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
        struct copies *next = stale->next;
        copies_destroy(stale);
        stale = next;
    }
    return found;
}

static void copies_give(struct copies *copies)
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

static int copies_start(struct tutti_stream *stream, const struct tutti_pack_job *job)
{
    const struct tutti_device *device = tutti_device();
    char *memory = (char *)job->memory + job->plan->true_lower + job->first;
    if (job->bytes == 0)
        return TUTTI_OK;
    if (job->direction == TUTTI_PACK)
        return device->stream.copy(stream, job->packed, memory, job->bytes);
    if (job->direction == TUTTI_UNPACK)
        return device->stream.copy(stream, memory, job->packed, job->bytes);
    return device->stream.copy(stream, (char *)job->to + job->to_plan->true_lower + job->first, memory, job->bytes);
}

static int copies_have_ended(void *with)
{
    struct copies *copies = with;
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

int tutti_pack_copies(int gpu, const struct tutti_pack_job *jobs, unsigned n, int may_make)
{
    const struct tutti_device *device = tutti_device();
    if (!device || !device->stream.copy || !device->stream.query || (gpu < 0 && device->gpu.current(&gpu) != TUTTI_OK))
        return TUTTI_ERR_UNAVAILABLE;
    gpu = gpu < 0 ? 0 : gpu; /* memory that belongs to no GPU in particular */
    for (unsigned i = 0; i < n; i++) {
        if (!pack_copies_can(&jobs[i]))
            return TUTTI_ERR_UNAVAILABLE;
    }
    struct copies *copies = copies_find(gpu);
    if (!copies && may_make && !tutti_gate_closed())
        copies = copies_make(gpu);
    if (!copies)
        return TUTTI_ERR_UNAVAILABLE;
    int status = TUTTI_OK;
    copies->used = copies_streams(jobs, n);
    for (unsigned i = 0; i < n && status == TUTTI_OK; i++)
        status = copies_start(copies->stream[i % copies->used], &jobs[i]);
    copies->ended = 0;
    const int ended = tutti_progress_wait(&(const struct tutti_wait){.done = copies_have_ended,
                                                                     .with = copies,
                                                                     .seconds = tutti_settings()->timeout_seconds,
                                                                     .quiet = 1,
                                                                     .spins = SPINS});
    if (ended != TUTTI_OK) { /* the set is left as it is: its copies may still run */
        tutti_error("copies by the engines of GPU %d: %s", gpu, tutti_status_text(ended));
        return status == TUTTI_OK ? ended : status;
    }
    copies_give(copies);
    return status;
}

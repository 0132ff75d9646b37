/* Protocol `engines`: a rendezvous get as `direct`, of a message that is one run of bytes on both sides. Copy engines
 * of the receiver's GPU fetch it: they move large messages faster than kernels do, and take no multiprocessors. A
 * receiver that cannot use them fetches the message as `direct` does. */
#include <pthread.h>
#include <stdlib.h>

#include "core/counters.h"
#include "core/log.h"
#include "core/settings.h"
#include "p2p/own.h"
#include "progress/engine.h"
#include "team/deferred_free.h"

enum { STREAMS = 4, SPINS = 16 };

/* ---- sender ---- */

/* An agreed message goes by this row though it has gaps: its buffer is shown, and the receiver fetches it as `direct`
 * does. Other messages with gaps are not shown here: the next row does it, and takes the lease. */
static int engines_can(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    if (!send->elements.whole && !send->agreed)
        return 0;
    return tutti_direct_ops.can(worker, send) && send->elements.whole;
}

static enum tutti_protocol_cost engines_cost(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send)
{
    return tutti_direct_ops.cost(worker, send);
}

static int engines_post(struct tutti_p2p_worker *worker, struct tutti_p2p_send *send, struct tutti_pack_job *job)
{
    send->rndv->engines = 1;
    return tutti_direct_ops.post(worker, send, job);
}

const struct tutti_protocol_ops tutti_engines_ops = {.can = engines_can,
                                                     .cost = engines_cost,
                                                     .post = engines_post,
                                                     .cancel = tutti_rndv_cancel,
                                                     .instead = TUTTI_PROTOCOL_packed};

/* ---- receiver ---- */

int tutti_engines_take(const struct tutti_p2p_fetch *f)
{
    return __atomic_load_n(&f->rndv->engines, __ATOMIC_RELAXED) && !f->from && f->recv->elements.whole &&
           tutti_fetch_is_near(f);
}

/* Streams of copies. A thread has one of a GPU's sets as long as its call lasts. */
struct engines {
    struct engines *next;
    int gpu;
    unsigned life; /* of the GPU */
    struct tutti_stream *stream[STREAMS];
};
static struct engines *idle;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void engines_destroy(struct engines *engines)
{
    for (int i = 0; i < STREAMS; i++) {
        if (engines->stream[i])
            tutti_device()->stream.destroy(engines->stream[i]);
    }
    free(engines);
}

static struct engines *engines_make(int gpu)
{
    struct engines *engines = calloc(1, sizeof *engines);
    if (!engines)
        return NULL;
    engines->gpu = gpu;
    engines->life = tutti_gpu_life(gpu);
    for (int i = 0; i < STREAMS; i++) {
        if (tutti_device()->stream.create(gpu, &engines->stream[i]) != TUTTI_OK) {
            engines_destroy(engines);
            return NULL;
        }
    }
    return engines;
}

/* Those of an earlier life of the GPU are destroyed: their streams have gone. */
static struct engines *engines_find(int gpu)
{
    struct engines *found = NULL, *stale = NULL;
    pthread_mutex_lock(&lock);
    for (struct engines **at = &idle; *at && !found;) {
        struct engines *one = *at;
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
        struct engines *next = stale->next;
        engines_destroy(stale);
        stale = next;
    }
    return found;
}

/* NULL: no set is idle, and no stream may be made now. Making a stream may wait for running kernels, and kernels in
 * stream order may wait for this process. */
static struct engines *engines_get(const struct tutti_node *node, int gpu)
{
    struct engines *engines = engines_find(gpu);
    return engines || tutti_deferred_free_held(node) ? engines : engines_make(gpu);
}

static void engines_give(struct engines *engines)
{
    pthread_mutex_lock(&lock);
    engines->next = idle;
    idle = engines;
    pthread_mutex_unlock(&lock);
}

/* A wait for the first `used` streams, of which `ended` have nothing to do any more. */
struct copying {
    const struct engines *engines;
    unsigned used, ended;
};

static int has_ended(void *with)
{
    struct copying *c = with;
    while (c->ended < c->used) {
        const int state = tutti_device()->stream.query(c->engines->stream[c->ended]);
        if (state != 1)
            return state;
        c->ended++;
    }
    return 1;
}

/* A status. After a failure no stream copies any more. */
static int engines_wait(const struct engines *engines, unsigned used, int status)
{
    struct copying copying = {.engines = engines, .used = used};
    if (status == TUTTI_OK)
        status = tutti_progress_wait(&(const struct tutti_wait){.done = has_ended,
                                                                .with = &copying,
                                                                .seconds = tutti_settings()->timeout_seconds,
                                                                .quiet = 1,
                                                                .spins = SPINS});
    if (status == TUTTI_ERR_TIMEOUT)
        tutti_error("copies of messages on GPU %d have not ended after %u seconds (TUTTI_TIMEOUT_SECONDS)",
                    engines->gpu, (unsigned)tutti_settings()->timeout_seconds);
    for (unsigned i = 0; i < used && status != TUTTI_OK; i++)
        tutti_device()->stream.sync(engines->stream[i]);
    return status;
}

int tutti_engines_copy(const struct tutti_node *node, int gpu, const struct tutti_pack_job *jobs, unsigned n)
{
    struct engines *engines = engines_get(node, gpu);
    if (!engines)
        return tutti_pack_reached(gpu, jobs, n, TUTTI_PACK_NEAR);
    int status = TUTTI_OK;
    for (unsigned i = 0; i < n && status == TUTTI_OK; i++) {
        char *to = (char *)jobs[i].memory + jobs[i].plan->true_lower + jobs[i].first;
        tutti_count("copies of messages", TUTTI_OUTCOME_LAUNCHED, "copy engines");
        status = tutti_device()->stream.copy(engines->stream[i % STREAMS], to, jobs[i].packed, jobs[i].bytes);
    }
    status = engines_wait(engines, n < STREAMS ? n : STREAMS, status);
    engines_give(engines);
    return status;
}

#include "p2p/fragments.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/settings.h"
#include "core/status.h"
#include "device/stream_sets.h"

enum { GPUS = 64, IDLE = 1024 };

struct tutti_fragments {
    pthread_mutex_t lock;
    struct tutti_fragment *idle;
    int idles;
    struct tutti_stream *streams[GPUS][2]; /* of each direction */
    unsigned lives[GPUS][2];               /* of the fragments' GPUs */
};

struct tutti_fragments *tutti_fragments_new(void)
{
    struct tutti_fragments *fragments = calloc(1, sizeof *fragments);
    if (fragments)
        pthread_mutex_init(&fragments->lock, NULL);
    return fragments;
}

static void fragment_destroy(struct tutti_fragment *fragment, int alive)
{
    if (alive)
        tutti_streams_end(NULL, 0, &fragment->event, 1);
    free(fragment);
}

void tutti_fragments_free(struct tutti_fragments *fragments, int alive)
{
    if (!fragments)
        return;
    while (fragments->idle) {
        struct tutti_fragment *fragment = fragments->idle;
        fragments->idle = fragment->next;
        fragment_destroy(fragment, alive);
    }
    for (int g = 0; g < GPUS && alive; g++)
        tutti_streams_end(fragments->streams[g], 2, NULL, 0);
    pthread_mutex_destroy(&fragments->lock);
    free(fragments);
}

static struct tutti_fragment *new_fragment(int gpu)
{
    struct tutti_fragment *fragment = calloc(1, sizeof *fragment);
    if (!fragment)
        return NULL;
    fragment->gpu = gpu;
    fragment->life = tutti_gpu_life(gpu);
    if (tutti_streams_make(gpu, NULL, 0, &fragment->event, 1) == TUTTI_OK)
        return fragment;
    free(fragment);
    return NULL;
}

/* One without memory. */
static struct tutti_fragment *fragments_take_idle(struct tutti_fragments *fragments, int gpu)
{
    pthread_mutex_lock(&fragments->lock);
    struct tutti_fragment **at = &fragments->idle, *found = NULL;
    while (*at && ((*at)->gpu != gpu || (*at)->life != tutti_gpu_life(gpu)))
        at = &(*at)->next;
    if ((found = *at) != NULL) {
        *at = found->next;
        fragments->idles--;
    }
    pthread_mutex_unlock(&fragments->lock);
    return found ? found : new_fragment(gpu);
}

void tutti_fragment_give(struct tutti_fragments *fragments, struct tutti_fragment *fragment)
{
    tutti_bounce_give(fragment->bounce);
    pthread_mutex_lock(&fragments->lock);
    const int keeps = fragments->idles < IDLE && fragment->life == tutti_gpu_life(fragment->gpu);
    if (keeps) {
        fragment->next = fragments->idle;
        fragments->idle = fragment;
        fragments->idles++;
    }
    pthread_mutex_unlock(&fragments->lock);
    if (!keeps)
        fragment_destroy(fragment, 1);
}

/* All have the usual length at least, so that other messages can use them again. */
struct tutti_fragment *tutti_fragment_take(struct tutti_fragments *fragments, size_t bytes, int gpu)
{
    const size_t usual = (size_t)tutti_settings()->message_chunk;
    struct tutti_fragment *fragment = fragments_take_idle(fragments, gpu);
    if (!fragment)
        return NULL;
    fragment->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, bytes < usual ? usual : bytes);
    if (!fragment->bounce) {
        tutti_fragment_give(fragments, fragment);
        return NULL;
    }
    fragment->memory = fragment->bounce->memory;
    return fragment;
}

int tutti_fragment_gpu(const struct tutti_places *places)
{
    int gpu = places->gpu;
    if (gpu < 0 && tutti_device()->gpu.current(&gpu) != TUTTI_OK)
        gpu = -1;
    return gpu < 0 || gpu >= GPUS ? 0 : gpu;
}

static int fragments_stream_of(struct tutti_fragments *fragments, int gpu, enum tutti_direction direction,
                               struct tutti_stream **out)
{
    int status = TUTTI_OK;
    pthread_mutex_lock(&fragments->lock);
    struct tutti_stream **at = &fragments->streams[gpu][direction == TUTTI_UNPACK];
    unsigned *life = &fragments->lives[gpu][direction == TUTTI_UNPACK];
    if (*life != tutti_gpu_life(gpu))
        tutti_streams_end(at, 1, NULL, 0);
    *life = tutti_gpu_life(gpu);
    if (!*at)
        status = tutti_streams_make(gpu, at, 1, NULL, 0);
    *out = *at;
    pthread_mutex_unlock(&fragments->lock);
    return status;
}

int tutti_fragment_copy(struct tutti_fragments *fragments, enum tutti_direction direction, int gpu,
                        const struct tutti_elements *elements, uint64_t first, uint64_t bytes,
                        const struct tutti_fragment *fragment, struct tutti_copy_task *task)
{
    task->job = tutti_elements_job(direction, elements, first, bytes, fragment->memory);
    if (elements->whole) {
        task->job.plan = NULL;
        task->job.memory = tutti_elements_run(elements) + first;
    }
    task->gpu = gpu;
    task->event = fragment->event;
    return fragments_stream_of(fragments, gpu, direction, &task->stream);
}

/* Copies of pieces beside the MPI's calls: by a launch of the packing kernel, or in a stream that the copy has to
 * itself. Streams live as long as the process. */
#include <pthread.h>
#include <stdlib.h>

#include "core/lives.h"
#include "core/log.h"
#include "core/settings.h"
#include "mpi/io/files.h"
#include "progress/engine.h"

struct tutti_file_stream {
    struct tutti_file_stream *next;
    int gpu;
    unsigned life; /* of the GPU */
    struct tutti_stream *stream;
};

static struct tutti_file_stream *idle;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One of the GPU that is idle; those whose GPU was reset go. */
static struct tutti_file_stream *stream_find(int gpu)
{
    pthread_mutex_lock(&lock);
    struct tutti_file_stream **at = &idle, *found = NULL;
    while (*at && !found) {
        struct tutti_file_stream *one = *at;
        const int lives = one->life == tutti_gpu_life(one->gpu);
        if (lives && one->gpu != gpu) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        if (lives) {
            found = one;
        } else {
            tutti_door.device->stream.destroy(one->stream);
            free(one);
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* NULL: none can be had. */
static struct tutti_file_stream *stream_take(int gpu)
{
    struct tutti_file_stream *one = stream_find(gpu);
    if (one)
        return one;
    one = calloc(1, sizeof *one);
    if (!one)
        return NULL;
    *one = (struct tutti_file_stream){.gpu = gpu, .life = tutti_gpu_life(gpu)};
    if (tutti_door.device->stream.create(gpu, &one->stream) == TUTTI_OK)
        return one;
    free(one);
    return NULL;
}

/* Nothing is under way in it. */
static void stream_give(struct tutti_file_stream *one)
{
    pthread_mutex_lock(&lock);
    one->next = idle;
    idle = one;
    pthread_mutex_unlock(&lock);
}

static int stream_is_done(void *with)
{
    const struct tutti_file_stream *one = with;
    return tutti_door.device->stream.query(one->stream);
}

static int stream_wait(struct tutti_file_stream *one)
{
    enum { SPINS = 64 };
    return tutti_progress_wait(&(const struct tutti_wait){.done = stream_is_done,
                                                          .with = one,
                                                          .what = "in a file access, for a copy",
                                                          .seconds = tutti_settings()->timeout_seconds,
                                                          .spins = SPINS});
}

/* ---- copies ---- */

static int copy_now(struct tutti_stage *stage, MPI_Count bytes)
{
    return stage->way & TUTTI_STAGE_IN ? tutti_stage_in(stage) : tutti_stage_out(stage, bytes);
}

/* In a stream; TUTTI_ERR_UNAVAILABLE: none can be had. */
static int copy_in_stream(struct tutti_file_copy *copy, struct tutti_stage *stage, int gpu, MPI_Count bytes)
{
    copy->stream = stream_take(gpu);
    if (!copy->stream)
        return TUTTI_ERR_UNAVAILABLE;
    return stage->way & TUTTI_STAGE_IN ? tutti_stage_begin_in(stage, copy->stream->stream, gpu)
                                       : tutti_stage_begin_out(stage, copy->stream->stream, gpu, bytes);
}

int tutti_file_copy_begin(struct tutti_file_copy *copy, struct tutti_stage *stage, int how, MPI_Count bytes)
{
    int gpu, status = TUTTI_ERR_UNAVAILABLE;
    copy->moving = 0;
    copy->stream = NULL;
    if (how == TUTTI_FILE_COPY_NOW || !tutti_stage_streams(stage, &gpu))
        return copy_now(stage, bytes);
    if (how == TUTTI_FILE_COPY_KERNEL)
        status = tutti_stage_launch(stage, gpu, bytes, &copy->flight);
    if (status == TUTTI_ERR_UNAVAILABLE)
        status = copy_in_stream(copy, stage, gpu, bytes);
    if (status == TUTTI_ERR_UNAVAILABLE)
        return copy_now(stage, bytes);
    copy->moving = status == TUTTI_OK || copy->stream;
    return status;
}

int tutti_file_copy_wait(struct tutti_file_copy *copy, struct tutti_stage *stage, const char *call)
{
    if (!copy->moving)
        return TUTTI_OK;
    const int status = copy->stream ? stream_wait(copy->stream) : tutti_pack_end(&copy->flight);
    copy->moving = 0;
    if (status != TUTTI_OK) {
        stage->staged = 0;
        tutti_error("%s: a copy between the GPU and pinned memory has failed: %s", call, tutti_status_text(status));
    } else if (copy->stream) {
        stream_give(copy->stream);
    }
    copy->stream = NULL;
    return status;
}

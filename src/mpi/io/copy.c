/* Copies of pieces beside the MPI's calls. A copy has a stream to itself; streams live as long as the process. */
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
    struct tutti_event *behind; /* of the program's default stream; NULL: none was needed yet */
};

static struct tutti_file_stream *idle;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* One of the GPU that is idle; those whose GPU was reset go. */
static struct tutti_file_stream *copy_stream_find(int gpu)
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
            if (one->behind)
                tutti_door.device->event.destroy(one->behind);
            free(one);
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* NULL: none can be had. */
static struct tutti_file_stream *copy_stream_take(int gpu)
{
    struct tutti_file_stream *one = copy_stream_find(gpu);
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
static void copy_stream_give(struct tutti_file_stream *one)
{
    pthread_mutex_lock(&lock);
    one->next = idle;
    idle = one;
    pthread_mutex_unlock(&lock);
}

static int copy_stream_is_done(void *with)
{
    const struct tutti_file_stream *one = with;
    return tutti_door.device->stream.query(one->stream);
}

static int copy_stream_wait(struct tutti_file_stream *one)
{
    enum { SPINS = 64 };
    return tutti_progress_wait(&(const struct tutti_wait){.done = copy_stream_is_done,
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

/* Later work of the stream waits for what the program's default stream has to do now. */
static int copy_stream_follow(struct tutti_file_stream *one)
{
    const struct tutti_device *device = tutti_door.device;
    if (!device->event.record_default)
        return TUTTI_OK;
    int status = one->behind ? TUTTI_OK : device->event.create(one->gpu, &one->behind);
    if (status == TUTTI_OK)
        status = device->event.record_default(one->behind);
    return status == TUTTI_OK ? device->event.wait(one->stream, one->behind) : status;
}

int tutti_file_copy_begin(struct tutti_file_copy *copy, struct tutti_stage *stage, int first, MPI_Count bytes)
{
    int gpu;
    copy->stream = tutti_stage_streams(stage, &gpu) ? copy_stream_take(gpu) : NULL;
    if (copy->stream && first && copy_stream_follow(copy->stream) != TUTTI_OK) {
        copy_stream_give(copy->stream);
        copy->stream = NULL;
    }
    if (!copy->stream)
        return copy_now(stage, bytes);
    return stage->way & TUTTI_STAGE_IN ? tutti_stage_begin_in(stage, copy->stream->stream, gpu)
                                       : tutti_stage_begin_out(stage, copy->stream->stream, gpu, bytes);
}

int tutti_file_copy_wait(struct tutti_file_copy *copy, struct tutti_stage *stage, const char *call)
{
    struct tutti_file_stream *one = copy->stream;
    copy->stream = NULL;
    if (!one)
        return TUTTI_OK;
    const int status = copy_stream_wait(one);
    if (status == TUTTI_OK) {
        copy_stream_give(one);
        return TUTTI_OK;
    }
    stage->staged = 0;
    tutti_error("%s: a copy on GPU %d has failed: %s", call, one->gpu, tutti_status_text(status));
    return status;
}

/* Streams in which pieces of file accesses are copied: an access has one to itself, and gives it back. They live as
 * long as the process. */
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

struct tutti_file_stream *tutti_file_stream_take(int gpu)
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

void tutti_file_stream_give(struct tutti_file_stream *one)
{
    if (!one)
        return;
    pthread_mutex_lock(&lock);
    one->next = idle;
    idle = one;
    pthread_mutex_unlock(&lock);
}

int tutti_file_stream_in(struct tutti_file_stream *one, struct tutti_stage *stage)
{
    return tutti_stage_begin_in(stage, one->stream, one->gpu);
}

int tutti_file_stream_out(struct tutti_file_stream *one, struct tutti_stage *stage, MPI_Count bytes)
{
    return tutti_stage_begin_out(stage, one->stream, one->gpu, bytes);
}

static int stream_is_done(void *with)
{
    const struct tutti_file_stream *one = with;
    return tutti_door.device->stream.query(one->stream);
}

int tutti_file_stream_wait(struct tutti_file_stream *one, const char *call)
{
    enum { SPINS = 64 };
    const int status = tutti_progress_wait(&(const struct tutti_wait){.done = stream_is_done,
                                                                      .with = one,
                                                                      .what = "in a file access, for a copy",
                                                                      .seconds = tutti_settings()->timeout_seconds,
                                                                      .spins = SPINS});
    if (status != TUTTI_OK)
        tutti_error("%s: a copy on GPU %d has failed: %s", call, one->gpu, tutti_status_text(status));
    return status;
}

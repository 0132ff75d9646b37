/* Kernels of updates: their stream, and the pinned memory in which the host sees their end. */
#include <string.h>

#include "bounce/bounce.h"
#include "mpi/rma/mapped.h"
#include "progress/engine.h"

enum { LOOKS = 1024 };

int tutti_mapped_words_can(void)
{
    return tutti_door.device->launch.kernel && tutti_door.device->stream.query;
}

int tutti_mapped_words_gpu(const struct tutti_mapped *mapped)
{
    return mapped->gpu < 0 ? 0 : mapped->gpu;
}

int tutti_mapped_words_open(struct tutti_mapped *mapped)
{
    if (!mapped->bounce && (mapped->bounce = tutti_bounce_take(&tutti_bounce_pinned, -1, sizeof *mapped->words))) {
        mapped->words = mapped->bounce->memory;
        memset(mapped->words, 0, sizeof *mapped->words);
    }
    if (!mapped->bounce)
        return TUTTI_ERR_MEMORY;
    return mapped->stream ? TUTTI_OK
                          : tutti_door.device->stream.create(tutti_mapped_words_gpu(mapped), &mapped->stream);
}

struct words_wait {
    const struct tutti_mapped *mapped;
    unsigned looks;
};

static int words_are_done(void *with)
{
    struct words_wait *w = with;
    const struct tutti_mapped_words *words = w->mapped->words;
    if (__atomic_load_n(&words->done, __ATOMIC_ACQUIRE) == words->launches)
        return 1;
    if (++w->looks % LOOKS != 0)
        return 0;
    const int state = tutti_door.device->stream.query(w->mapped->stream);
    return state < 0 ? state : 0;
}

int tutti_mapped_words_launch(struct tutti_mapped *mapped, const struct tutti_launch *launch)
{
    struct words_wait w = {.mapped = mapped};
    const int status = tutti_door.device->launch.kernel(mapped->stream, launch);
    return status == TUTTI_OK ? tutti_progress_wait(&(const struct tutti_wait){
                                    .done = words_are_done, .with = &w, .quiet = 1, .what = "the kernel of an update"})
                              : status;
}

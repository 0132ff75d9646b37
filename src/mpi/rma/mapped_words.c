/* Kernels of updates: their stream, the pinned memory in which the host sees their end, and a launch that is kept
 * ready: a program often updates the same elements from the same buffer again. */
#include <string.h>

#include "bounce/bounce.h"
#include "core/counters.h"
#include "mpi/rma/mapped.h"
#include "progress/engine.h"
#include "team/deferred_free.h"

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
    if (__atomic_load_n(&words->done, __ATOMIC_ACQUIRE) == TUTTI_MAPPED_DONE)
        return 1;
    if (++w->looks % LOOKS != 0)
        return 0;
    const int state = tutti_door.device->stream.query(w->mapped->stream);
    return state < 0 ? state : 0;
}

/* ---- the launch that is kept ready ---- */

static int is_kept(const struct tutti_mapped_kept *kept, const struct tutti_launch *launch)
{
    const struct tutti_update_item *is = &kept->args.item, *wanted = &launch->update->item;
    return kept->calls > 0 && kept->launch.type == launch->type && kept->launch.op == launch->op &&
           kept->launch.threads == launch->threads && is->from == wanted->from && is->to == wanted->to &&
           is->n == wanted->n;
}

static void kept_drop(struct tutti_mapped_kept *kept)
{
    tutti_deferred_free_launch(tutti_door.node, kept->prepared);
    kept->prepared = NULL;
}

/* A launch replaces another one that was as rare. */
static void kept_meet(struct tutti_mapped_kept *kept, const struct tutti_launch *launch)
{
    if (is_kept(kept, launch)) {
        kept->calls += kept->calls < TUTTI_LAUNCH_SEEN;
        return;
    }
    if (kept->calls > 1) {
        kept->calls--;
        return;
    }
    kept_drop(kept);
    kept->args = *launch->update;
    kept->launch = *launch;
    kept->calls = 1;
}

/* After the kernel has ended. It only saves time. */
static void kept_fill(struct tutti_mapped *mapped, const struct tutti_launch *launch)
{
    struct tutti_mapped_kept *kept = &mapped->kept;
    if (kept->prepared || kept->calls < TUTTI_LAUNCH_SEEN || !is_kept(kept, launch) ||
        !tutti_door.device->launch.keep || !tutti_deferred_free_may_load(tutti_door.node))
        return;
    kept->launch.update = &kept->args;
    if (tutti_door.device->launch.keep(mapped->stream, &kept->launch, &kept->prepared) != TUTTI_OK)
        kept->prepared = NULL;
}

static int words_begin(struct tutti_mapped *mapped, const struct tutti_launch *launch)
{
    struct tutti_mapped_kept *kept = &mapped->kept;
    int status = TUTTI_ERR_UNAVAILABLE;
    if (launch->update)
        kept_meet(kept, launch);
    if (launch->update && kept->prepared && is_kept(kept, launch)) {
        status = tutti_door.device->launch.kept(mapped->stream, kept->prepared);
        if (status == TUTTI_ERR_UNAVAILABLE)
            kept_drop(kept);
        else
            tutti_count("kernels of updates", TUTTI_OUTCOME_LAUNCHED, "kept ready");
    }
    return status == TUTTI_ERR_UNAVAILABLE ? tutti_door.device->launch.kernel(mapped->stream, launch) : status;
}

int tutti_mapped_words_launch(struct tutti_mapped *mapped, const struct tutti_launch *launch)
{
    struct words_wait w = {.mapped = mapped};
    mapped->words->done = 0; /* no kernel of the stream runs */
    int status = words_begin(mapped, launch);
    if (status == TUTTI_OK)
        status = tutti_progress_wait(&(const struct tutti_wait){
            .done = words_are_done, .with = &w, .quiet = 1, .what = "the kernel of an update"});
    if (status == TUTTI_OK && launch->update)
        kept_fill(mapped, launch);
    return status;
}

/* Messages of several stages, copied to a GPU together: by one kernel, or by copies that are all begun before one is
 * waited for. A call that completes several receives waits once. */
#include <string.h>

#include "core/counters.h"
#include "core/lives.h"
#include "core/status.h"
#include "dtype/pack.h"
#include "mpi/bounce/stage.h"

enum { EACH_MOST = 64 << 10, ALIGN = 256 };

struct together {
    int gpu;
    unsigned n;
    size_t moved; /* bytes of those whose memory is not pinned */
    struct tutti_pack_job job[TUTTI_TOGETHER];
    const struct tutti_stage *stage[TUTTI_TOGETHER];
    unsigned of[TUTTI_TOGETHER];
};

static size_t together_room(size_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static int together_is_pinned(const struct tutti_stage *stage)
{
    return !stage->lazy && !stage->ordinary;
}

/* 1 if the message is stored as it is, in one run in memory of one GPU, *gpu. */
static int together_fits(const struct tutti_stage *stage, size_t bytes, int *gpu)
{
    return stage->staged && stage->way & TUTTI_STAGE_OUT && !stage->packed && !stage->plan && !stage->image &&
           !stage->scratch.on_device && bytes > 0 && bytes <= EACH_MOST && tutti_stage_is_run(stage, gpu);
}

static void together_add(struct together *all, const struct tutti_stage *stage, MPI_Count bytes, unsigned i)
{
    const size_t n = tutti_stage_filled(stage, bytes);
    int gpu;
    if (!together_fits(stage, n, &gpu) || (all->n > 0 && gpu != all->gpu))
        return;
    all->gpu = gpu;
    all->job[all->n] = tutti_pack_run(stage->user, stage->memory, n);
    all->stage[all->n] = stage;
    all->of[all->n++] = i;
    all->moved += together_is_pinned(stage) ? 0 : together_room(n);
}

/* Moves what is in ordinary memory into pinned memory. NULL without memory. */
static struct tutti_bounce *together_pin(struct together *all)
{
    struct tutti_bounce *const pinned = tutti_bounce_take(&tutti_bounce_pinned, -1, all->moved);
    char *at = pinned ? pinned->memory : NULL;
    for (unsigned i = 0; i < all->n && pinned; i++) {
        if (together_is_pinned(all->stage[i]))
            continue;
        memcpy(at, all->job[i].memory, all->job[i].bytes);
        all->job[i].memory = at;
        at += together_room(all->job[i].bytes);
    }
    return pinned;
}

/* A status. One after the other they wait for no turn on a GPU that ranks share. */
static int together_run(const struct together *all)
{
    const unsigned keeps = tutti_stage_keeps();
    if (tutti_gpu_takes_turns(all->gpu))
        return TUTTI_ERR_UNAVAILABLE;
    if (tutti_pack_state(all->gpu) == TUTTI_PACK_READY)
        return tutti_pack_reached(all->gpu, all->job, all->n, TUTTI_PACK_NEAR | keeps);
    return tutti_pack_copies(all->gpu, all->job, all->n, keeps != 0);
}

void tutti_stages_out(struct tutti_stage *const stages[], const MPI_Count bytes[], unsigned n, unsigned char done[])
{
    struct together all;
    struct tutti_bounce *pinned = NULL;
    all.n = 0;
    all.moved = 0;
    for (unsigned i = 0; i < n; i++) {
        done[i] = 0;
        together_add(&all, stages[i], bytes[i], i);
    }
    if (all.n < 2 || !all.job[0].plan || (all.moved > 0 && !(pinned = together_pin(&all))))
        return;
    if (together_run(&all) == TUTTI_OK) {
        tutti_count("copies of staged messages", TUTTI_OUTCOME_LAUNCHED, "of several messages at once");
        for (unsigned i = 0; i < all.n; i++) {
            done[all.of[i]] = 1;
            if (all.stage[i]->lazy)
                tutti_stage_came_whole(all.job[i].bytes);
        }
    }
    tutti_bounce_give(pinned);
}

/* Launches of the lane kernels, and descriptions of messages for them. */
#include "core/status.h"
#include "device/host/work.h"
#include "device/host/work_reach.h"

static int reach_match(int gpu, struct tutti_lane_match *match)
{
    void *at[4] = {match->own, match->far, match->from, match->to};
    const size_t bytes[4] = {sizeof *match->own, sizeof *match->far, match->send ? match->bytes : 0,
                             match->send ? match->bytes : 0};
    for (int i = 0; i < 4; i++) {
        const int status = tutti_work_reach(gpu, "matched message in stream order", at[i], bytes[i], &at[i]);
        if (status != TUTTI_OK)
            return status;
    }
    match->own = at[0];
    match->far = at[1];
    match->from = at[2];
    match->to = at[3];
    return TUTTI_OK;
}

static int reach_message(int gpu, const void *buffer, uint64_t bytes, void **out)
{
    return tutti_work_reach(gpu, "message in stream order", buffer, (size_t)bytes, out);
}

int tutti_work_lane(struct tutti_work *work, int gpu, const struct tutti_lane_args *args)
{
    struct tutti_lane_args *made = &work->lane;
    void *at;
    int status = TUTTI_OK;
    work->kind = TUTTI_WORK_LANE;
    work->gpu = gpu;
    work->blocks = args->blocks;
    work->jitter = 0;
    if (args->ranks > TUTTI_MAX_GPUS || args->awaited > TUTTI_LANE_AWAITED || args->matches > TUTTI_LANE_MATCHES ||
        args->parts > TUTTI_LANE_PARTS || args->threads > TUTTI_LANE_THREADS || args->blocks == 0)
        return TUTTI_ERR_ARGUMENT;
    *made = *args;
    made->in_turn = 1;
    for (uint32_t r = 0; r < args->ranks && status == TUTTI_OK; r++) {
        status = tutti_work_reach(gpu, "lanes of a rank", args->area[r], tutti_lane_area_bytes(args->ranks), &at);
        made->area[r] = at;
    }
    for (uint32_t i = 0; i < args->parts && status == TUTTI_OK; i++)
        status = reach_message(gpu, args->part[i].buffer, args->part[i].bytes, &made->part[i].buffer);
    if (status == TUTTI_OK && args->parts == 0 && (args->what == TUTTI_LANE_POST || args->what == TUTTI_LANE_DO))
        status = reach_message(gpu, args->buffer, args->bytes, &made->buffer);
    for (uint32_t i = 0; i < args->matches && status == TUTTI_OK; i++)
        status = reach_match(gpu, &made->match[i]);
    return status;
}

int tutti_work_lane_start(int gpu, struct tutti_lane_start *to, const struct tutti_lane_start *start)
{
    *to = *start;
    return start->matched ? reach_match(gpu, &to->message)
                          : reach_message(gpu, start->message.from, start->message.bytes, &to->message.from);
}

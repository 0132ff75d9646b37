/* Matched messages: starting them, and lanes for nothing else, which a rank opens without any other. */
#include <string.h>

#include "core/status.h"
#include "p2p/lanes/lanes_own.h"
#include "team/deferred_free.h"
#include "team/sm_budget.h"
#include "team/watcher.h"

/* BLOCKS: most of launches in the stream, and two beside it. CHANNEL: the team's own, which nothing uses. */
enum { BLOCKS = 34, CHANNEL = 1 << 20 };

int tutti_lanes_open_alone(struct tutti_team *team, int gpu, struct tutti_lanes **out, const char **why)
{
    *why = "the GPU's memory cannot be shared, or too little is free for a queue";
    team->channel_most = CHANNEL;
    team->blocks_most = BLOCKS;
    int status = tutti_team_open(team, gpu);
    if (status != TUTTI_OK || team->state != TUTTI_TEAM_OPEN)
        return status != TUTTI_OK ? status : TUTTI_ERR_UNAVAILABLE;
    if ((status = tutti_watcher_add(team)) != TUTTI_OK)
        return status;
    tutti_deferred_free_hold(team->node);
    team->share = tutti_sm_budget_share(team, team->blocks, 0);
    if (team->share == 0) {
        *why = "the GPU has no room for the kernels of one more queue: free other queues, or communicators with a "
               "stream";
        tutti_watcher_remove(team);
        tutti_deferred_free_release(team->node);
        return TUTTI_ERR_UNAVAILABLE;
    }
    team->blocks = team->share;
    return tutti_lanes_open(team, out, why);
}

/* Up to TUTTI_LANE_MATCHES of them in one launch. */
static int lanes_post(struct tutti_lanes *lanes, struct tutti_stream *stream, int n,
                      const struct tutti_lane_match matches[], const int ops[])
{
    struct tutti_lane_args args;
    uint64_t bytes = 0;
    size_t wanted = 0;
    tutti_lanes_fill(lanes, &args);
    args.what = TUTTI_LANE_POST;
    args.matches = (uint32_t)n;
    memcpy(args.match, matches, (size_t)n * sizeof *matches);
    for (int i = 0; i < n; i++) {
        args.match[i].op = (uint32_t)ops[i];
        lanes->lane[ops[i]] = 0;
        lanes->bytes[ops[i]] = matches[i].send ? matches[i].bytes : 0;
        if (!matches[i].send)
            continue;
        args.await[args.awaited++] = (uint16_t)ops[i];
        bytes += matches[i].bytes;
        wanted += tutti_lanes_blocks(matches[i].bytes, 0);
    }
    tutti_lanes_start_moves(lanes, &args, bytes, wanted);
    return tutti_lanes_launch(lanes, stream, &args);
}

int tutti_lanes_start_matched(struct tutti_lanes *lanes, struct tutti_stream *stream, int captured, int n,
                              const struct tutti_lane_match matches[], int ops[], const char **why)
{
    int taken = 0, sends = 0, status = tutti_team_fault(lanes->team);
    if (status != TUTTI_OK)
        return status;
    for (; taken < n && (ops[taken] = tutti_lanes_take_op(lanes, captured)) != 0; taken++)
        sends |= matches[taken].send != 0;
    if (taken < n) {
        while (taken > 0)
            tutti_lanes_give_op(lanes, ops[--taken]);
        *why = tutti_lanes_why_open;
        return TUTTI_ERR_UNAVAILABLE;
    }
    lanes->captured += captured ? n : 0;
    for (int at = 0; at < n && status == TUTTI_OK; at += TUTTI_LANE_MATCHES) {
        const int some = n - at < TUTTI_LANE_MATCHES ? n - at : TUTTI_LANE_MATCHES;
        status = lanes_post(lanes, stream, some, matches + at, ops + at);
    }
    return status == TUTTI_OK && sends && !lanes->forked ? tutti_lanes_fork(lanes, stream, captured) : status;
}

/* What all launches of the lane kernels share: their args and blocks, launches beside the stream, and captures. */
#include <string.h>

#include "core/settings.h"
#include "core/status.h"
#include "p2p/lanes/lanes_own.h"

/* BLOCKS_MOST: of a launch. A block that moves one chunk after the other waits for each to arrive, so that it fills a
 * small part of the link: messages of several chunks a block get more blocks, BLOCKS_LONG, or TUTTI_BLOCKS.
 *
 * MOVED_BY_START: a start moves messages of so many bytes itself. A wait moves longer ones with more blocks, or a
 * launch beside the stream while later work of the stream runs. */
enum { BLOCKS_MOST = 32, BLOCKS_LONG = 64, MOVED_BY_START = 256 << 10 };

void tutti_lanes_fill(const struct tutti_lanes *lanes, struct tutti_lane_args *args)
{
    const struct tutti_team *team = lanes->team;
    *args = (struct tutti_lane_args){
        .ranks = (uint32_t)team->size,
        .rank = (uint32_t)team->rank,
        .blocks = 1,
        .abort = &team->words_device->abort,
        .where = &team->words_device->where,
        .failed = &team->words_device->failed,
        .timeout_ns = (uint64_t)tutti_settings()->timeout_seconds * 1000000000u,
        .host_wait = tutti_team_host_wait,
        .host_wait_with = lanes->team,
    };
    memcpy(args->area, lanes->area.device, sizeof args->area);
}

size_t tutti_lanes_blocks(size_t bytes, int lane)
{
    const size_t chunk = TUTTI_LANE_CHUNK_OF(lane);
    return bytes == 0 ? 1 : (bytes + chunk - 1) / chunk;
}

static unsigned launch_blocks(const struct tutti_lanes *lanes, size_t wanted, unsigned most)
{
    most = lanes->team->blocks < most ? lanes->team->blocks : most;
    return wanted < most ? (unsigned)wanted : most;
}

unsigned tutti_lanes_blocks_direct(const struct tutti_lanes *lanes, size_t bytes, unsigned lane)
{
    const int set = tutti_settings()->blocks;
    if (bytes <= TUTTI_LANE_PACKETS_OF(lane))
        return 1;
    return launch_blocks(lanes, tutti_lanes_blocks(bytes << TUTTI_LANE_SHIFT_OF(lane, bytes), (int)lane),
                         lane != 0 ? BLOCKS_MOST
                         : set > 0 ? (unsigned)set
                                   : BLOCKS_LONG);
}

unsigned tutti_lanes_blocks_most(const struct tutti_lanes *lanes, size_t wanted)
{
    return launch_blocks(lanes, wanted, wanted > 2 * BLOCKS_MOST ? BLOCKS_LONG : BLOCKS_MOST);
}

void tutti_lanes_start_moves(const struct tutti_lanes *lanes, struct tutti_lane_args *args, uint64_t bytes,
                             size_t wanted)
{
    if (bytes > MOVED_BY_START)
        args->awaited = 0;
    else if (wanted > 0)
        args->blocks = tutti_lanes_blocks_most(lanes, wanted);
}

int tutti_lanes_launch(struct tutti_lanes *lanes, struct tutti_stream *stream, const struct tutti_lane_args *args)
{
    const int status = lanes->team->device->launch.lane(stream, args);
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(lanes->team, status);
}

int tutti_lanes_fork(struct tutti_lanes *lanes, struct tutti_stream *stream, int captured)
{
    const struct tutti_device *device = lanes->team->device;
    struct tutti_lane_args args;
    tutti_lanes_fill(lanes, &args);
    args.what = captured ? TUTTI_LANE_BESIDE_GRAPH : TUTTI_LANE_BESIDE;
    int status = device->event.record(lanes->fork, stream);
    if (status == TUTTI_OK)
        status = device->event.wait(lanes->beside.stream, lanes->fork);
    if (status != TUTTI_OK)
        return tutti_team_break(lanes->team, status);
    lanes->forked = captured;
    return tutti_lanes_launch(lanes, lanes->beside.stream, &args);
}

int tutti_lanes_captured(struct tutti_lanes *lanes, struct tutti_stream *stream)
{
    const struct tutti_device *device = lanes->team->device;
    const int captured = device->stream.capturing(stream);
    int given_up = captured == 0 && (lanes->forked || lanes->captured);
    if (captured == 1 && lanes->forked) { /* the stream beside it takes part in the same capture, or that has ended */
        const int beside = device->stream.capturing(lanes->beside.stream);
        if (beside < 0)
            return beside;
        given_up = beside == 0;
    }
    if (given_up) {
        lanes->forked = lanes->captured = 0;
        lanes->gathered = lanes->gathered_captured ? 0 : lanes->gathered;
        tutti_lanes_scratch_forget(lanes);
        memset(&lanes->used[TUTTI_LANE_EAGER / 64], 0, (TUTTI_LANE_OPS - TUTTI_LANE_EAGER) / 8);
    }
    return captured;
}

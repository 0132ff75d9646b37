/* Opening and closing lanes. */
#include <stdlib.h>
#include <string.h>

#include "bounce/bounce.h"
#include "core/log.h"
#include "core/settings.h"
#include "core/status.h"
#include "p2p/lanes/lanes_own.h"
#include "progress/engine.h"

/* Blocks of launches beside the stream: one of an uncaptured call and one of a graph may run at once. */
enum { BESIDE_BLOCKS = 2, SHARE_LEAST = BESIDE_BLOCKS + 1 };

static int make_stream(struct tutti_lanes *lanes)
{
    const struct tutti_device *device = lanes->team->device;
    int status = tutti_own_stream_create(device, lanes->team->gpu, &lanes->beside);
    if (status == TUTTI_OK)
        status = device->event.create(lanes->team->gpu, &lanes->fork);
    if (status == TUTTI_OK)
        status = device->event.create(lanes->team->gpu, &lanes->join);
    return status;
}

static int lanes_prepare(struct tutti_lanes *lanes)
{
    const struct tutti_device *device = lanes->team->device;
    if (!device->launch.lane || !device->event.create)
        return TUTTI_ERR_UNAVAILABLE;
    lanes->report = tutti_bounce_take(&tutti_bounce_pinned, -1, TUTTI_LANE_OPS * sizeof(struct tutti_lane_report));
    const int status = device->launch.prepare_lane ? device->launch.prepare_lane(lanes->team->gpu) : TUTTI_OK;
    return status == TUTTI_OK ? make_stream(lanes) : status;
}

int tutti_lanes_open(struct tutti_team *team, struct tutti_lanes **out, const char **why)
{
    uint32_t all;
    struct tutti_lanes *lanes = calloc(1, sizeof *lanes);
    *out = NULL;
    *why = "the GPU has no room for messages in stream order beside other communicators: free some of them first";
    const int counted = team->device->gpu.resident && team->device->gpu.resident(team->gpu) > 0;
    if (counted && team->share < SHARE_LEAST) { /* the same on all ranks */
        free(lanes);
        return TUTTI_ERR_UNAVAILABLE;
    }
    if (lanes)
        lanes->team = team;
    *why = "a rank could not load the kernel of messages in stream order";
    int status = tutti_team_vote(team, lanes && lanes_prepare(lanes) == TUTTI_OK, &all);
    if (status == TUTTI_OK && all) {
        *why = "a rank has no memory for messages in stream order, or cannot map that of another";
        status = tutti_area_open(team, tutti_lane_area_bytes((unsigned)team->size), &lanes->area);
    }
    if (status == TUTTI_OK && !all)
        status = TUTTI_ERR_UNAVAILABLE;
    if (status != TUTTI_OK) {
        tutti_lanes_close(lanes, 1, 1);
        return status;
    }
    lanes->used[0] = 1; /* operation 0 is for blocking calls */
    if (counted)
        team->blocks = team->share - BESIDE_BLOCKS;
    *out = lanes;
    return TUTTI_OK;
}

static int is_idle(void *with)
{
    const struct tutti_lanes *lanes = with;
    return lanes->team->device->stream.query(lanes->beside.stream);
}

int tutti_lanes_settle(struct tutti_lanes *lanes)
{
    uint32_t all;
    const int status = tutti_progress_wait(&(const struct tutti_wait){.done = is_idle, .with = lanes});
    if (status != TUTTI_OK)
        return status;
    const int fault = tutti_team_fault(lanes->team);
    return fault != TUTTI_OK ? fault : tutti_team_vote(lanes->team, 1, &all);
}

void tutti_lanes_close(struct tutti_lanes *lanes, int alive, int settled)
{
    if (!lanes)
        return;
    const struct tutti_device *device = lanes->team->device;
    tutti_lanes_scratch_close(lanes, alive && settled);
    tutti_area_close(lanes->team, &lanes->area, alive, !settled);
    if (alive && settled) {
        if (lanes->fork)
            device->event.destroy(lanes->fork);
        if (lanes->join)
            device->event.destroy(lanes->join);
        tutti_own_stream_destroy(device, &lanes->beside);
    }
    free(lanes);
}

/* Starts without a launch, see kernels/lane_start.inc: the host writes what is started into pinned memory and puts a
 * store into the stream, which tells kernels that the stream has got there. A launch beside the stream, one for all
 * starts up to a wait, posts and serves them; so does the launch of the wait itself. */
#include <string.h>

#include "core/status.h"
#include "p2p/lanes/lanes_own.h"

static struct tutti_lane_starts *starts_of(const struct tutti_lanes *lanes)
{
    return lanes->starts->memory;
}

void tutti_lanes_announce_open(struct tutti_lanes *lanes)
{
    if (!lanes->team->device->stream.write)
        return;
    lanes->starts = tutti_bounce_take(&tutti_bounce_pinned, -1, sizeof(struct tutti_lane_starts));
    if (lanes->starts)
        memset(lanes->starts->memory, 0, offsetof(struct tutti_lane_starts, start));
}

static int lane_start_put(const struct tutti_lanes *lanes, uint32_t number, const struct tutti_lane_start *start)
{
    const struct tutti_device *device = lanes->team->device;
    struct tutti_lane_start *const to = &starts_of(lanes)->start[number % TUTTI_LANE_STARTS];
    if (device->launch.lane_start)
        return device->launch.lane_start(lanes->team->gpu, to, start);
    *to = *start;
    return TUTTI_OK;
}

/* 1 if there are places for n more. */
static int has_room(const struct tutti_lanes *lanes, int n)
{
    const uint32_t taken = __atomic_load_n(&starts_of(lanes)->taken, __ATOMIC_ACQUIRE);
    return lanes->announced - taken + (uint32_t)n <= TUTTI_LANE_STARTS;
}

/* Announces what the stream will reach; then 1 if a launch beside the stream is needed for it. */
static int needs_launch(struct tutti_lanes *lanes)
{
    __atomic_store_n(&starts_of(lanes)->announced, lanes->announced, __ATOMIC_SEQ_CST);
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* see lane_start.inc */
    return !lanes->beside_since_wait || __atomic_load_n(&starts_of(lanes)->left, __ATOMIC_SEQ_CST) == lanes->launched;
}

void tutti_lanes_announce_launch(struct tutti_lanes *lanes, uint32_t first)
{
    struct tutti_lane_starts *const starts = starts_of(lanes);
    lanes->launched++;
    starts->first[lanes->launched % TUTTI_LANE_STARTS] = first;
    __atomic_store_n(&starts->launched, lanes->launched, __ATOMIC_SEQ_CST);
    lanes->beside_since_wait = 1;
}

int tutti_lanes_announce(struct tutti_lanes *lanes, struct tutti_stream *stream, int n,
                         const struct tutti_lane_start starts[])
{
    const struct tutti_device *device = lanes->team->device;
    struct tutti_lane_area *const own = lanes->area.device[lanes->team->rank];
    int status = TUTTI_OK;
    if (!lanes->starts || !has_room(lanes, n))
        return TUTTI_ERR_UNAVAILABLE;
    for (int i = 0; i < n && status == TUTTI_OK; i++)
        status = lane_start_put(lanes, lanes->announced + (uint32_t)i, &starts[i]);
    if (status == TUTTI_OK)
        status = device->stream.write(stream, &own->reached, lanes->announced + (uint32_t)n);
    if (status != TUTTI_OK)
        return status == TUTTI_ERR_UNAVAILABLE ? status : tutti_team_break(lanes->team, status);
    lanes->announced += (uint32_t)n;
    for (int i = 0; i < n; i++) {
        const uint32_t op = starts[i].message.op;
        lanes->is_announced[op / 64] |= UINT64_C(1) << op % 64;
    }
    return needs_launch(lanes) ? tutti_lanes_fork(lanes, stream, 0, lanes->announced - (uint32_t)n) : TUTTI_OK;
}

int tutti_lanes_announced_end(struct tutti_lanes *lanes, int op)
{
    if (op >= TUTTI_LANE_EAGER)
        return 0;
    const int was = (int)(lanes->is_announced[op / 64] >> op % 64 & 1);
    lanes->is_announced[op / 64] &= ~(UINT64_C(1) << op % 64);
    return was;
}

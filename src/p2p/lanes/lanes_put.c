/* Launches of the lane kernel.
 *
 * A blocking call is one launch. A call that starts a message posts it in the stream, so that messages keep the
 * order of the stream. It also forks a launch beside the stream that serves the message: the peer's receive may then
 * end independent of later work in this rank's stream. Outside of a capture such a launch leaves when no operation
 * is open, and the next one runs behind it. In a capture one launch serves all started messages until a wait stops
 * it. The wait joins it, and forks another one if operations are still open, so captures end with all their branches
 * joined. */
#include <string.h>

#include "core/status.h"
#include "p2p/lanes/lanes_own.h"

static const char why_tags[] =
    "this rank and its peer use 64 tags in stream order on the communicator that may be in use still, and there are no "
    "more: receive what was sent before, use fewer tags in graphs and where receives name no tag or no source, or "
    "another "
    "communicator for some of them";
const char tutti_lanes_why_open[] =
    "511 messages in stream order are under way on the communicator: wait for some of them "
    "by MPIX_Waitall_enqueue";
static const char why_capture[] = "the request was made by a call that was captured and is waited for by one that is "
                                  "not, or the other way round: make both in one capture";

/* What a receive from any source or with any tag accepts. From any source with one tag, each source has a lane for it,
 * unless all lanes of that source keep other tags: then it sends none with this one. A status. */
static int lanes_accept(struct tutti_lanes *lanes, const struct tutti_lane_message *message,
                        struct tutti_lane_args *args)
{
    struct tutti_lane_use stays = {.stays = 1};
    struct tutti_lane_message one = *message;
    int some = 0, status = TUTTI_OK;
    memset(args->accepts, TUTTI_LANE_NONE, sizeof args->accepts);
    for (one.peer = 0; one.peer < lanes->team->size && status == TUTTI_OK; one.peer++) {
        int lane = TUTTI_LANE_ALL;
        if (message->peer != TUTTI_LANES_ANY && message->peer != one.peer)
            continue;
        status = message->tag == TUTTI_LANES_ANY ? tutti_lanes_keep_tags(lanes, one.peer)
                                                 : tutti_lanes_find(lanes, &one, &stays, &lane);
        if (status == TUTTI_OK && lane < 0 && tutti_lanes_frees(lanes, one.peer))
            return TUTTI_ERR_UNAVAILABLE;
        args->accepts[one.peer] = lane < 0 ? TUTTI_LANE_NONE : (unsigned char)lane;
        some |= lane >= 0;
    }
    return status == TUTTI_OK && !some ? TUTTI_ERR_UNAVAILABLE : status;
}

/* Peer and lane of the message, or what a receive accepts. TUTTI_ERR_UNAVAILABLE: no lane is left. */
static int lanes_name(struct tutti_lanes *lanes, struct tutti_stream *stream, const struct tutti_lane_message *message,
                      struct tutti_lane_args *args)
{
    struct tutti_lane_use use = {message->send ? 1 : -1, message->captured, stream};
    int lane;
    args->any = message->peer == TUTTI_LANES_ANY || message->tag == TUTTI_LANES_ANY;
    args->peer = message->peer == TUTTI_LANES_ANY ? TUTTI_LANE_ANY_PEER : (uint32_t)message->peer;
    if (args->any)
        return lanes_accept(lanes, message, args);
    const int status = tutti_lanes_find(lanes, message, &use, &lane);
    args->lane = (uint32_t)lane;
    return status == TUTTI_OK && lane < 0 ? TUTTI_ERR_UNAVAILABLE : status;
}

/* The args of a launch that posts the message. A status. */
static int lanes_describe(struct tutti_lanes *lanes, struct tutti_stream *stream,
                          const struct tutti_lane_message *message, struct tutti_lane_args *args, const char **why)
{
    int status = tutti_team_fault(lanes->team);
    if (status == TUTTI_OK && lanes->team->state != TUTTI_TEAM_OPEN)
        status = TUTTI_ERR_BROKEN;
    if (status != TUTTI_OK)
        return status;
    tutti_lanes_fill(lanes, args);
    args->send = (uint32_t)message->send;
    args->buffer = message->buffer;
    args->bytes = message->bytes;
    args->awaited = 1;
    status = lanes_name(lanes, stream, message, args);
    if (status == TUTTI_ERR_UNAVAILABLE)
        *why = why_tags;
    return status;
}

/* Threads of a block that has so many bytes to move: one for each packet, as far as a block has them. */
static uint32_t lanes_threads(size_t bytes, unsigned lane)
{
    enum { WARP = 32, LEAST = 2 * WARP };
    const uint32_t packets = bytes > TUTTI_LANE_PACKETS_OF(lane) ? TUTTI_LANE_THREADS : (uint32_t)(bytes / 4 + 2);
    const uint32_t whole = (packets + WARP - 1) / WARP * WARP;
    return whole < LEAST ? LEAST : whole > TUTTI_LANE_THREADS ? TUTTI_LANE_THREADS : whole;
}

int tutti_lanes_do(struct tutti_lanes *lanes, struct tutti_stream *stream, const struct tutti_lane_message *message,
                   const char **why)
{
    struct tutti_lane_args args;
    int status = message->captured == TUTTI_LANES_ASK ? tutti_lanes_flush(lanes, stream, why)
                                                      : tutti_lanes_flush_known(lanes, stream, message->captured, why);
    if (status == TUTTI_OK)
        status = lanes_describe(lanes, stream, message, &args, why);
    if (status != TUTTI_OK)
        return status;
    args.what = TUTTI_LANE_DO;
    args.reports = message->reports ? lanes->report->memory : NULL;
    args.blocks = tutti_lanes_blocks_direct(lanes, message->bytes, args.lane);
    args.threads = lanes_threads(message->bytes, args.lane);
    return tutti_lanes_launch(lanes, stream, &args);
}

int tutti_lanes_take_op(struct tutti_lanes *lanes, int captured)
{
    const int from = captured ? TUTTI_LANE_EAGER : 0, end = captured ? TUTTI_LANE_OPS : TUTTI_LANE_EAGER;
    for (int word = from / 64; word < end / 64; word++) {
        if (~lanes->used[word] == 0)
            continue;
        const int bit = __builtin_ctzll(~lanes->used[word]);
        lanes->used[word] |= UINT64_C(1) << bit;
        return word * 64 + bit;
    }
    return 0;
}

void tutti_lanes_give_op(struct tutti_lanes *lanes, int op)
{
    lanes->used[op / 64] &= ~(UINT64_C(1) << op % 64);
}

/* The previous wait has stopped the launch beside the stream. */
static int join_beside(struct tutti_lanes *lanes, struct tutti_stream *stream)
{
    const struct tutti_device *device = lanes->team->device;
    int status = device->event.record(lanes->join, lanes->beside.stream);
    if (status == TUTTI_OK)
        status = device->event.wait(stream, lanes->join);
    lanes->forked = 0;
    return status == TUTTI_OK ? TUTTI_OK : tutti_team_break(lanes->team, status);
}

int tutti_lanes_start(struct tutti_lanes *lanes, struct tutti_stream *stream, const struct tutti_lane_message *message,
                      int *op, const char **why)
{
    struct tutti_lane_args args;
    const int captured = message->captured;
    int status;
    *op = tutti_lanes_take_op(lanes, captured);
    if (*op == 0) {
        *why = tutti_lanes_why_open;
        return TUTTI_ERR_UNAVAILABLE;
    }
    if ((status = lanes_describe(lanes, stream, message, &args, why)) != TUTTI_OK) {
        tutti_lanes_give_op(lanes, *op);
        return status;
    }
    lanes->captured += captured;
    lanes->bytes[*op] = message->bytes;
    lanes->lane[*op] = (int)args.lane;
    args.what = TUTTI_LANE_POST;
    args.op = (uint32_t)*op;
    args.await[0] = (uint16_t)*op;
    if (tutti_lanes_gather(lanes, &args, captured))
        return TUTTI_OK;
    if ((status = tutti_lanes_flush_known(lanes, stream, captured, why)) != TUTTI_OK) {
        tutti_lanes_uncount(lanes, &args);
        tutti_lanes_give_op(lanes, *op);
        lanes->captured -= captured;
        return status;
    }
    tutti_lanes_start_moves(lanes, &args, args.bytes, tutti_lanes_blocks(args.bytes, (int)args.lane));
    status = tutti_lanes_launch(lanes, stream, &args);
    return status == TUTTI_OK && !lanes->forked ? tutti_lanes_fork(lanes, stream, captured) : status;
}

int tutti_lanes_wait(struct tutti_lanes *lanes, struct tutti_stream *stream, int captured, int n, const int ops[],
                     int reports, int *together, const char **why)
{
    int status = tutti_team_fault(lanes->team);
    struct tutti_lane_args args;
    for (int i = 0; i < n && status == TUTTI_OK; i++) {
        if ((ops[i] >= TUTTI_LANE_EAGER) != captured) {
            *why = why_capture;
            return TUTTI_ERR_UNAVAILABLE;
        }
    }
    *together = status == TUTTI_OK && tutti_lanes_group(lanes, stream, n, ops, reports, &status);
    if (status == TUTTI_OK && !*together)
        status = tutti_lanes_flush_known(lanes, stream, captured, why);
    for (int at = 0; at < n && status == TUTTI_OK && !*together; at += TUTTI_LANE_AWAITED) {
        size_t wanted = 0;
        tutti_lanes_fill(lanes, &args);
        args.what = TUTTI_LANE_WAIT;
        args.reports = reports ? lanes->report->memory : NULL;
        for (int i = at; i < n && i < at + TUTTI_LANE_AWAITED; i++) {
            args.await[args.awaited++] = (uint16_t)ops[i];
            wanted += tutti_lanes_blocks(lanes->bytes[ops[i]], lanes->lane[ops[i]]);
        }
        args.blocks = tutti_lanes_blocks_most(lanes, wanted);
        args.stops = lanes->forked && n - at <= TUTTI_LANE_AWAITED;
        status = tutti_lanes_launch(lanes, stream, &args);
    }
    if (status != TUTTI_OK)
        return status;
    for (int i = 0; i < n; i++)
        tutti_lanes_give_op(lanes, ops[i]);
    lanes->captured -= captured ? n : 0;
    if (!lanes->forked)
        return TUTTI_OK;
    status = join_beside(lanes, stream);
    return status == TUTTI_OK && lanes->captured > 0 ? tutti_lanes_fork(lanes, stream, captured) : status;
}

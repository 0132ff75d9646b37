/* Messages that are started together. Where the program asks for it, a call that starts a message launches nothing. The
 * wait for all of them is one launch, whose blocks are divided over the messages: each is a direct launch of its
 * blocks. Any other call on the lanes launches what waits, by one launch that posts all of it. */
#include "core/status.h"
#include "p2p/lanes/lanes_own.h"

static const char why_gathered[] = "messages that were started before the capture wait for their launch, or the other "
                                   "way round: wait for them before";

void tutti_lanes_group_starts(struct tutti_lanes *lanes, int on)
{
    lanes->groups = on; /* what waits for its launch goes with the next call */
}

int tutti_lanes_groups(const struct tutti_lanes *lanes)
{
    return lanes->groups;
}

/* Messages of one lane come one after the other, so a group has one of them. Receives that match have no lane yet. */
int tutti_lanes_gather(struct tutti_lanes *lanes, const struct tutti_lane_args *args, int captured)
{
    if (!lanes->groups || args->any || lanes->gathered == TUTTI_LANE_PARTS ||
        (lanes->gathered > 0 && lanes->gathered_captured != captured))
        return 0;
    for (int i = 0; i < lanes->gathered; i++) {
        const struct tutti_lane_part *one = &lanes->part[i];
        if (one->send == args->send && one->peer == args->peer && one->lane == args->lane)
            return 0;
    }
    lanes->gathered_captured = captured;
    lanes->part[lanes->gathered++] = (struct tutti_lane_part){.buffer = args->buffer,
                                                              .bytes = args->bytes,
                                                              .op = args->op,
                                                              .send = args->send,
                                                              .peer = args->peer,
                                                              .lane = args->lane};
    return 1;
}

/* The launch of all that waits, which does not wait any more. */
static void group_fill(struct tutti_lanes *lanes, struct tutti_lane_args *args)
{
    tutti_lanes_fill(lanes, args);
    args->parts = args->awaited = (uint32_t)lanes->gathered;
    for (int i = 0; i < lanes->gathered; i++) {
        args->part[i] = lanes->part[i];
        args->await[i] = (uint16_t)lanes->part[i].op;
    }
    lanes->gathered = 0;
}

int tutti_lanes_flush(struct tutti_lanes *lanes, struct tutti_stream *stream, const char **why)
{
    if (lanes->gathered == 0)
        return TUTTI_OK;
    const int captured = tutti_lanes_captured(lanes, stream);
    return captured < 0 ? captured : tutti_lanes_flush_known(lanes, stream, captured, why);
}

int tutti_lanes_flush_known(struct tutti_lanes *lanes, struct tutti_stream *stream, int captured, const char **why)
{
    struct tutti_lane_args args;
    if (lanes->gathered == 0)
        return TUTTI_OK;
    if (captured != lanes->gathered_captured) {
        *why = why_gathered;
        return TUTTI_ERR_UNAVAILABLE;
    }
    group_fill(lanes, &args);
    args.what = TUTTI_LANE_POST;
    uint64_t bytes = 0;
    size_t wanted = 0;
    for (uint32_t i = 0; i < args.parts; i++) {
        bytes += args.part[i].bytes;
        wanted += tutti_lanes_blocks(args.part[i].bytes, (int)args.part[i].lane);
    }
    tutti_lanes_start_moves(lanes, &args, bytes, wanted);
    const int status = tutti_lanes_launch(lanes, stream, &args);
    return status == TUTTI_OK && !lanes->forked ? tutti_lanes_fork(lanes, stream, captured) : status;
}

/* 1 if these are the operations that wait. */
static int is_group(const struct tutti_lanes *lanes, int n, const int ops[])
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < lanes->gathered; j++)
            found += lanes->part[j].op == (uint32_t)ops[i];
    }
    return found == n && n == lanes->gathered;
}

/* Each send knows which one it is among those to its peer. */
static void group_order(struct tutti_lane_args *args)
{
    for (uint32_t i = 0; i < args->parts; i++) {
        struct tutti_lane_part *one = &args->part[i];
        for (uint32_t j = 0; j < args->parts && one->send; j++) {
            const struct tutti_lane_part *other = &args->part[j];
            if (!other->send || other->peer != one->peer)
                continue;
            one->nth += j < i;
            one->sends++;
            one->lanes = other->lane + 1 > one->lanes ? other->lane + 1 : one->lanes;
        }
    }
}

/* Divides the blocks over the messages, in the measure in which each could use them. With too few blocks each of them
 * serves all messages, which the launch posts. */
static void group_divide(const struct tutti_lanes *lanes, struct tutti_lane_args *args)
{
    const unsigned most = tutti_lanes_blocks_direct(lanes, SIZE_MAX / 2, 0);
    unsigned wanted[TUTTI_LANE_PARTS], all = 0;
    args->in_turn = most < args->parts;
    args->blocks = most;
    if (args->in_turn)
        return;
    args->blocks = 0;
    for (uint32_t i = 0; i < args->parts; i++)
        all += wanted[i] = tutti_lanes_blocks_direct(lanes, args->part[i].bytes, args->part[i].lane);
    const unsigned spare = most - args->parts; /* beyond one for each */
    for (uint32_t i = 0; i < args->parts; i++) {
        struct tutti_lane_part *one = &args->part[i];
        one->first = args->blocks;
        one->blocks = all <= most ? wanted[i] : 1 + (wanted[i] - 1) * spare / all;
        args->blocks += one->blocks;
    }
}

int tutti_lanes_group(struct tutti_lanes *lanes, struct tutti_stream *stream, int n, const int ops[], int reports,
                      int *status)
{
    struct tutti_lane_args args;
    if (n == 0 || lanes->forked || !is_group(lanes, n, ops))
        return 0;
    group_fill(lanes, &args);
    args.what = TUTTI_LANE_GROUP;
    args.reports = reports ? lanes->report->memory : NULL;
    group_order(&args);
    group_divide(lanes, &args);
    *status = tutti_lanes_launch(lanes, stream, &args);
    return 1;
}

/* Private to lanes*.c. */
#ifndef TUTTI_P2P_LANES_OWN_H
#define TUTTI_P2P_LANES_OWN_H

#include "kernels/lane_args.h"
#include "p2p/lanes.h"
#include "team/area.h"

struct tutti_lanes {
    struct tutti_team *team;
    struct tutti_area area;
    struct tutti_stream *made, *beside; /* one stream; `beside` is how work is put into it */
    struct tutti_event *fork, *join;
    int forked; /* 1: the capture under way holds a launch beside the stream that no wait has joined yet */
    uint64_t used[TUTTI_LANE_OPS / 64]; /* bit o: operation o is in use */
    int captured;                       /* operations of the current capture that no wait has ended yet */
    size_t bytes[TUTTI_LANE_OPS];       /* of their buffers */
    int lane[TUTTI_LANE_OPS];
};

/* Local, never waits. The lane of the message's tag; -1 if other tags have claimed all lanes. */
int tutti_lanes_find(struct tutti_lanes *lanes, const struct tutti_lane_message *message);

#endif

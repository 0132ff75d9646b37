/* Private to lanes*.c. */
#ifndef TUTTI_P2P_LANES_OWN_H
#define TUTTI_P2P_LANES_OWN_H

#include "bounce/bounce.h"
#include "kernels/lane_args.h"
#include "p2p/lanes.h"
#include "team/area.h"

struct tutti_lanes {
    struct tutti_team *team;
    struct tutti_area area;
    struct tutti_own_stream beside;
    struct tutti_event *fork, *join;
    int forked; /* 1: the capture under way holds a launch beside the stream that no wait has joined yet */
    uint64_t used[TUTTI_LANE_OPS / 64]; /* bit o: operation o is in use */
    int groups;                         /* 1: messages that calls start wait for their launch, lanes_group.c: */
    int gathered, gathered_captured;
    struct tutti_lane_part part[TUTTI_LANE_PARTS];
    int captured;                 /* operations of the current capture that no wait has ended yet */
    size_t bytes[TUTTI_LANE_OPS]; /* of their buffers */
    int lane[TUTTI_LANE_OPS];
    struct tutti_lanes_scratch *scratch; /* all of them */
    const struct tutti_plan **plan;      /* that are held */
    size_t plans;
    struct tutti_bounce *report; /* of each operation, written by launches; NULL: no memory */
    struct tutti_lanes_kept {
        void (*drop)(void *memory);
        void *memory;
    } * kept;
    size_t kepts;
};

/* lanes_tags.c. All local. */

/* What a call does with a lane: `change` is added to its count of messages; stays: it keeps its tag. TUTTI_LANES_ASK:
 * it does if `stream` is captured; the driver is asked unless the lane keeps its tag anyway, and `stays` is its answer.
 */
struct tutti_lane_use {
    int change, stays;
    struct tutti_stream *stream;
};
/* *lane: the lane of the message's tag; -1 if all lanes have other tags that are in use. A status. */
int tutti_lanes_find(struct tutti_lanes *lanes, const struct tutti_lane_message *message, struct tutti_lane_use *use,
                     int *lane);
/* 1 if a message from `source` may have this tag later, though no lane has it now. */
int tutti_lanes_frees(const struct tutti_lanes *lanes, int source);
/* All lanes of messages from this source keep their tags from now on. A status. */
int tutti_lanes_keep_tags(struct tutti_lanes *lanes, int source);
/* The message of these args, which was counted, is not put into the stream. */
void tutti_lanes_uncount(struct tutti_lanes *lanes, const struct tutti_lane_args *args);

/* lanes_launch.c and lanes_put.c. All local. */

/* What all launches have in common: one block that does nothing. */
void tutti_lanes_fill(const struct tutti_lanes *lanes, struct tutti_lane_args *args);
/* Blocks for so many bytes through this lane: a chunk each, at most. */
size_t tutti_lanes_blocks(size_t bytes, int lane);
/* The same of a direct launch, as many as it may have. */
unsigned tutti_lanes_blocks_direct(const struct tutti_lanes *lanes, size_t bytes, unsigned lane);
/* As many of them as a launch may have. */
unsigned tutti_lanes_blocks_most(const struct tutti_lanes *lanes, size_t wanted);
/* Of a launch that starts the messages in `await`, of so many bytes and blocks together: whether it moves them. */
void tutti_lanes_start_moves(const struct tutti_lanes *lanes, struct tutti_lane_args *args, uint64_t bytes,
                             size_t wanted);
int tutti_lanes_launch(struct tutti_lanes *lanes, struct tutti_stream *stream, const struct tutti_lane_args *args);
/* An operation that is free, of those for captures or of the others; 0: none is. */
int tutti_lanes_take_op(struct tutti_lanes *lanes, int captured);
void tutti_lanes_give_op(struct tutti_lanes *lanes, int op);
extern const char tutti_lanes_why_open[]; /* no operation is free */
/* lanes_scratch.c. A capture was given up: what it has taken is free. */
void tutti_lanes_scratch_forget(struct tutti_lanes *lanes);
void tutti_lanes_scratch_close(struct tutti_lanes *lanes, int alive);
/* lanes_group.c. tutti_lanes_flush() of a call that knows whether the stream is captured. */
int tutti_lanes_flush_known(struct tutti_lanes *lanes, struct tutti_stream *stream, int captured, const char **why);
/* 1: the message that `args` describe waits for its launch, with the others of a group. */
int tutti_lanes_gather(struct tutti_lanes *lanes, const struct tutti_lane_args *args, int captured);
/* 1: these operations are all that wait for a launch, which has been made and waits for them; *status is its own. */
int tutti_lanes_group(struct tutti_lanes *lanes, struct tutti_stream *stream, int n, const int ops[], int reports,
                      int *status);

/* A launch beside the stream, behind what the stream holds. */
int tutti_lanes_fork(struct tutti_lanes *lanes, struct tutti_stream *stream, int captured);

#endif
